//! A MongoDB URL, and what of it is ours and not the driver's.

use std::time::Duration;

use lease_core::{Error, Result};
use url::form_urlencoded;

/// What our own parameters say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ours {
    pub(crate) collection: Option<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) clock_skew: Option<Duration>,
    pub(crate) allow_mongos: bool,
    pub(crate) read_only: bool,
}

/// Takes our parameters out of a URL; the rest is the driver's.
pub(crate) fn split(url: &str) -> Result<(String, Ours)> {
    if !["mongodb://", "mongodb+srv://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(Error::misconfigured(
            "this is not a MongoDB URL",
            "write mongodb://host,host/database or mongodb+srv://host/database",
        ));
    }
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    escapes_are_whole(place)?;
    let mut ours = Ours::default();
    let mut theirs = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, _) = pair.split_once('=').unwrap_or((pair, ""));
        let value = || {
            let mut decoded = form_urlencoded::parse(pair.as_bytes());
            decoded.next().map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        match key.to_ascii_lowercase().as_str() {
            "collection" => ours.collection = Some(value()),
            "timeoutms" => ours.timeout = Some(millis(key, &value())?),
            "clockskewms" => ours.clock_skew = Some(millis(key, &value())?),
            "allowmongos" => ours.allow_mongos = truth(key, &value())?,
            "readonly" => ours.read_only = truth(key, &value())?,
            _ => theirs.push(pair),
        }
    }
    let theirs = match theirs.join("&") {
        query if query.is_empty() => place.to_owned(),
        query => format!("{place}?{query}"),
    };
    Ok((theirs, ours))
}

/// The driver takes the two bytes after a `%` for two characters, and panics where a longer one
/// stands there.
fn escapes_are_whole(place: &str) -> Result<()> {
    let is_whole = |rest: &str| {
        let mut bytes = rest.bytes();
        let mut is_digit = || bytes.next().is_some_and(|byte| byte.is_ascii_hexdigit());
        is_digit() && is_digit()
    };
    if place.split('%').skip(1).all(is_whole) {
        return Ok(());
    }
    Err(Error::misconfigured(
        "a % of the URL has no two hexadecimal digits after it",
        "write %25 for a % itself, in a password too",
    ))
}

/// The URL without its user and password, to be shown.
pub(crate) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "no URL".to_owned() };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let hosts = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{hosts}{}", rest[authority.len()..].split('?').next().unwrap_or_default())
}

fn millis(key: &str, value: &str) -> Result<Duration> {
    match value.parse() {
        Ok(millis) => Ok(Duration::from_millis(millis)),
        Err(_) => Err(not_valid(key, value, "a whole number of milliseconds")),
    }
}

fn truth(key: &str, value: &str) -> Result<bool> {
    value.parse().map_err(|_| not_valid(key, value, "true or false"))
}

fn not_valid(key: &str, value: &str, wanted: &str) -> Error {
    Error::misconfigured(
        format!("a parameter of the URL is not valid, {key}=`{value}`"),
        format!("give it {wanted}"),
    )
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn our_parameters_are_taken_out_and_the_others_left() {
        let url = "mongodb://u:p%40ss@a:1,b:2/jobs?w=1&collection=my%20leases&timeoutMS=1500\
                   &replicaSet=rs0&allowMongos=true&clockSkewMS=200&readOnly=true";
        let (theirs, ours) = split(url).unwrap();
        assert_eq!(theirs, "mongodb://u:p%40ss@a:1,b:2/jobs?w=1&replicaSet=rs0");
        assert_eq!(
            ours,
            Ours {
                collection: Some("my leases".to_owned()),
                timeout: Some(Duration::from_millis(1500)),
                clock_skew: Some(Duration::from_millis(200)),
                allow_mongos: true,
                read_only: true,
            }
        );
        let (theirs, _) = split("mongodb+srv://cluster.example.net/jobs?collection=x").unwrap();
        assert_eq!(theirs, "mongodb+srv://cluster.example.net/jobs");
    }

    #[rstest]
    #[case::another_scheme("nats://localhost")]
    #[case::no_number("mongodb://h/d?timeoutMS=soon")]
    #[case::neither_true_nor_false("mongodb://h/d?allowMongos=perhaps")]
    #[case::half_an_escape("mongodb://u:secret%4@h/d")]
    #[case::no_escape_but_a_long_letter("mongodb://u:%\u{1899}W@h/d")]
    #[case::no_escape_at_the_end("mongodb://h/d%")]
    fn what_is_not_valid_is_refused_with_a_remedy(#[case] url: &str) {
        assert!(matches!(split(url), Err(Error::Misconfigured { .. })));
    }

    #[rstest]
    #[case("mongodb://u:secret@a:1,b:2/jobs?w=1", "mongodb://a:1,b:2/jobs")]
    #[case("mongodb://a/?x=y@z", "mongodb://a/")]
    #[case("mongodb://u:se@cret@a", "mongodb://a")]
    fn a_password_is_never_shown(#[case] url: &str, #[case] expected: &str) {
        assert_eq!(shown(url), expected);
    }
}
