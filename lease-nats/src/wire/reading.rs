//! What JetStream answers to a request: what was asked for, or an error.

use serde::Deserialize;

use crate::error::{ApiError, Failure};

/// The answer, or the error that it is.
pub(super) fn parse<T: for<'de> Deserialize<'de>>(answer: &[u8]) -> Result<T, Failure> {
    #[derive(Deserialize)]
    struct Refusal {
        error: Option<ApiError>,
    }
    match read(answer)? {
        Refusal { error: Some(error) } => Err(error.into()),
        Refusal { error: None } => read(answer),
    }
}

/// Which write it became. Read in one pass: each step of a lease waits for it.
pub(super) fn acknowledged(answer: &[u8]) -> Result<u64, Failure> {
    #[derive(Deserialize)]
    struct Acknowledged {
        error: Option<ApiError>,
        seq: Option<u64>,
    }
    match read(answer)? {
        Acknowledged { error: Some(error), .. } => Err(error.into()),
        Acknowledged { error: None, seq } => seq
            // The first is 1: zero stands for a key that has none.
            .filter(|seq| *seq > 0)
            .ok_or_else(|| Failure::Nonsense("an acknowledgement without a number".into())),
    }
}

fn read<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(answer).map_err(|error| Failure::Nonsense(error.to_string()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn an_acknowledgement_says_which_write_it_became() {
        let answer = br#"{"stream":"KV_leases","domain":"hub","seq":7}"#;
        assert_eq!(acknowledged(answer).unwrap(), 7);
    }

    #[rstest]
    #[case::alone(
        r#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"}}"#
    )]
    #[case::beside_a_number(
        r#"{"stream":"KV_leases","seq":7,"error":{"code":400,"err_code":10071,"description":"wrong"}}"#
    )]
    fn an_error_is_one_whatever_stands_beside_it(#[case] answer: &str) {
        let failure = acknowledged(answer.as_bytes()).unwrap_err();
        assert!(
            matches!(&failure, Failure::JetStream(error) if error.is_lost_race()),
            "{failure:?}"
        );
    }

    /// Whether it was written is not known then.
    #[rstest]
    #[case::nothing("")]
    #[case::no_number("{}")]
    #[case::null(r#"{"seq":null}"#)]
    #[case::zero(r#"{"seq":0}"#)]
    #[case::below(r#"{"seq":-1}"#)]
    #[case::text(r#"{"seq":"7"}"#)]
    #[case::half(r#"{"seq":7"#)]
    #[case::two(r#"{"seq":7}{"seq":8}"#)]
    fn nonsense_is_no_acknowledgement(#[case] answer: &str) {
        let failure = acknowledged(answer.as_bytes()).unwrap_err();
        assert!(matches!(failure, Failure::Nonsense(_)), "{failure:?}");
    }
}
