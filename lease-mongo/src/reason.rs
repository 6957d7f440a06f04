//! What the driver says, as a sentence.

use std::fmt;

use mongodb::error::{Error as Driver, ErrorKind, WriteFailure};

/// Why a request failed: the source of the errors that come of the driver's.
///
/// The driver's own message shows its labels and the bytes of the answer. This one says what happened,
/// and [`driver`](Self::driver) has the rest.
#[derive(Clone, Debug)]
pub struct Reason(Driver);

impl Reason {
    /// The driver's own error, with its kind and labels.
    #[must_use]
    pub const fn driver(&self) -> &Driver {
        &self.0
    }
}

impl From<Driver> for Reason {
    fn from(error: Driver) -> Self {
        Self(error)
    }
}

/// No source: it is the driver's message that this one stands for.
impl std::error::Error for Reason {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind.as_ref() {
            ErrorKind::Command(it) => said(f, it.code, &it.code_name, &it.message),
            ErrorKind::Write(WriteFailure::WriteError(it)) => {
                said(f, it.code, it.code_name.as_deref().unwrap_or_default(), &it.message)
            }
            ErrorKind::Write(WriteFailure::WriteConcernError(it)) => {
                said(f, it.code, &it.code_name, &it.message)
            }
            kind => f.write_str(&without_details(kind.to_string())),
        }
    }
}

fn said(f: &mut fmt::Formatter<'_>, code: i32, name: &str, message: &str) -> fmt::Result {
    match name {
        "" => write!(f, "the server says {code}: {message}"),
        name => write!(f, "the server says {code} ({name}): {message}"),
    }
}

/// Some messages quote others of the driver's: `Kind: …, labels: {…}, source: …, server response: …`,
/// of which only the first says what happened.
fn without_details(text: String) -> String {
    const LAST: &str = "server response: ";
    let mut text = text.replace("Kind: ", "");
    while let Some(start) = text.find(", labels: {") {
        let Some(last) = text[start..].find(LAST) else { break };
        let last = start + last + LAST.len();
        let length = match text[last..].starts_with("Some(") {
            true => text[last..].find(')').map(|end| end + 1),
            false => Some("None".len()),
        };
        let end = (last + length.unwrap_or(0)).min(text.len());
        text.replace_range(start..end, "");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_quoted_message_is_told_without_its_details() {
        let quoted = Driver::from(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert!(quoted.to_string().contains("server response"), "the driver says more: {quoted}");
        let text = format!("no server, {quoted}; nor here, {quoted}.");
        let refused = "I/O error: connection refused";
        assert_eq!(without_details(text), format!("no server, {refused}; nor here, {refused}."));
    }

    #[test]
    fn the_bytes_of_an_answer_are_not_told() {
        let bytes = r#"Some(RawDocumentBuf { data: "0a0b" })"#;
        let text = format!("a, labels: {{\"b\"}}, source: None, server response: {bytes} }}");
        assert_eq!(without_details(text), "a }");
        let cut = "a, labels: {}, source: None, server response: Some(0a";
        assert_eq!(without_details(cut.to_owned()), "aSome(0a", "what is not known is left");
    }
}
