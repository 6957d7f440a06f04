//! What a URL may say.

use lease_core::{Error, Result};
use url::form_urlencoded;

use super::Options;

/// How such a URL looks, for whoever wrote another one.
const FORM: &str = "write nats://host:4222/bucket?replicas=3";

pub(super) fn parse(url: &str) -> Result<Options> {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme @ ("nats" | "tls"), rest)) => (scheme, rest),
        _ => return Err(Error::misconfigured("this is no URL of a NATS server", FORM)),
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    if place.contains("://") {
        let fix = "write the login once, before all hosts: nats://user:password@host,host/bucket";
        return Err(Error::misconfigured("the URL has other URLs in it", fix));
    }
    let (authority, bucket) = place.split_once('/').unwrap_or((place, ""));
    if bucket.contains('@') {
        let fix = "write / as %2F, ? as %3F and @ as %40 in a user, a password or a token";
        return Err(Error::misconfigured("the URL has an @ after its hosts", fix));
    }
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (Some(login), hosts),
        None => (None, authority),
    };
    let hosts: Vec<&str> = hosts.split(',').filter(|host| !host.is_empty()).collect();
    if hosts.is_empty() {
        return Err(Error::misconfigured("the URL names no server", FORM));
    }
    let servers = hosts.iter().map(|host| format!("{scheme}://{host}"));
    let bucket = if bucket.is_empty() { Options::DEFAULT_BUCKET } else { bucket };
    let mut options = Options::new(servers, decoded(bucket));
    if scheme == "tls" {
        options = options.tls();
    }
    options = match login.map(|login| login.split_once(':').ok_or(login)) {
        None => options,
        Some(Ok((user, password))) => options.user(decoded(user), decoded(password)),
        Some(Err(token)) => options.token(decoded(token)),
    };
    let (mut certificate, mut key) = (None, None);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "cert" => certificate = Some(value.into_owned()),
            "key" => key = Some(value.into_owned()),
            _ => options = set(options, &name, &value)?,
        }
    }
    options = match (certificate, key) {
        (None, None) => options,
        (Some(certificate), Some(key)) => options.identity(certificate, key),
        _ => return Err(Error::misconfigured("the URL has one of cert and key", "give both")),
    };
    options.check()?;
    Ok(options)
}

fn set(options: Options, name: &str, value: &str) -> Result<Options> {
    let wrong = |fix: &'static str| {
        // The value is not told again: it may be a secret, and so may be what is no name of ours.
        let is_a_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let name = if is_a_name { name } else { "?" };
        Error::misconfigured(format!("the URL says something odd, parameter=`{name}`"), fix)
    };
    let yes = || match value {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(wrong("use true or false")),
    };
    let duration =
        || humantime::parse_duration(value).map_err(|_| wrong("use a duration such as 2s"));
    Ok(match name {
        "replicas" => options.replicas(value.parse().map_err(|_| wrong("use 1, 3 or 5"))?),
        "storage" => match value {
            "file" => options,
            "memory" => options.in_memory(),
            _ => return Err(wrong("use file or memory")),
        },
        "create" => options.create(yes()?),
        "read_only" if yes()? => options.read_only(),
        "tls" if yes()? => options.tls(),
        "read_only" | "tls" => options,
        "timeout" => options.timeout(duration()?),
        "clock_skew" => options.clock_skew(duration()?),
        "token" => options.token(value),
        "credentials" => options.credentials(value),
        "ca" => options.authorities(value),
        _ => {
            return Err(wrong(
                "known are replicas, storage, create, read_only, timeout, clock_skew, credentials, \
                 token, tls, ca, cert and key",
            ));
        }
    })
}

/// Without percent signs.
fn decoded(text: &str) -> String {
    // As a form value, in which only a plus has a meaning that it has not here.
    let form = text.replace('+', "%2B").replace('&', "%26");
    let mut pairs = form_urlencoded::parse(form.as_bytes());
    pairs.next().map_or_else(String::new, |(name, value)| match value.is_empty() {
        true => name.into_owned(),
        false => format!("{name}={value}"),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_url_says_all_that_the_builder_does() {
        let url = "tls://ann:p%40ss@a:4222,b/my-leases?replicas=5&storage=memory&create=false\
                   &read_only=true&timeout=300ms&clock_skew=1s&ca=/ca.pem&cert=/c.pem&key=/k.pem";
        let built = Options::new(["tls://a:4222", "tls://b"], "my-leases")
            .user("ann", "p@ss")
            .replicas(5)
            .in_memory()
            .create(false)
            .read_only()
            .timeout(std::time::Duration::from_millis(300))
            .clock_skew(std::time::Duration::from_secs(1))
            .tls()
            .authorities("/ca.pem")
            .identity("/c.pem", "/k.pem");
        let parsed = parse(url).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{built:?}"));
        assert!(parsed.login == built.login);
    }

    #[test]
    fn the_bucket_and_the_login_may_be_left_out() {
        let options = parse("nats://localhost").unwrap();
        assert_eq!(options.bucket, Options::DEFAULT_BUCKET);
        assert_eq!(options.servers, ["nats://localhost"]);
    }

    #[rstest]
    #[case::before_the_host("nats://s3cret@localhost")]
    #[case::as_a_parameter("nats://localhost?token=s3cret")]
    #[case::as_a_password("nats://ann:s3cret@localhost")]
    fn a_secret_is_never_shown(#[case] url: &str) {
        let options = parse(url).unwrap();
        assert!(!format!("{options:?}").contains("s3cret"), "{options:?}");
    }

    #[rstest]
    #[case::of_a_second_server("nats://ann:s3cret@a:4222,nats://ann:s3cret@b:4222/leases")]
    #[case::with_a_slash("nats://ann:a/s3cret@localhost")]
    #[case::with_a_question_mark("nats://ann:a?s3cret@localhost")]
    #[case::a_token_with_a_slash("nats://a/s3cret@localhost")]
    fn a_secret_is_in_no_refusal(#[case] url: &str) {
        let error = parse(url).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }

    #[rstest]
    #[case::another_scheme("http://localhost")]
    #[case::no_scheme("localhost:4222")]
    #[case::no_host("nats:///leases")]
    #[case::a_bucket_with_dots("nats://localhost/a.b")]
    #[case::a_bucket_with_slashes("nats://localhost/a/b")]
    #[case::no_replicas("nats://localhost?replicas=0")]
    #[case::too_many_replicas("nats://localhost?replicas=7")]
    #[case::odd_replicas("nats://localhost?replicas=three")]
    #[case::an_odd_storage("nats://localhost?storage=tape")]
    #[case::an_odd_duration("nats://localhost?timeout=2")]
    #[case::no_time("nats://localhost?timeout=0s")]
    #[case::half_an_identity("nats://localhost?cert=/c.pem")]
    #[case::unheard_of("nats://localhost?replica=3")]
    #[case::neither_yes_nor_no("nats://localhost?create=maybe")]
    fn what_makes_no_sense_is_refused_with_a_remedy(#[case] url: &str) {
        let error = parse(url).unwrap_err();
        assert!(matches!(error, Error::Misconfigured { .. }), "{error}");
    }
}
