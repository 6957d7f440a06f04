//! What the URL of a bucket may say. Parsing asks nobody.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use lease_core::{Error, Result};
use object_store::path::Path;
use url::Url;

use crate::options::WithoutCreate;

/// Which cloud's protocol a bucket speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cloud {
    /// Amazon S3, and all that speak like it.
    Aws,
    Azure,
    Gcp,
}

/// A bucket, the folder in it, and how to reach it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) cloud: Cloud,
    pub(crate) name: String,
    pub(crate) prefix: Path,
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) virtual_hosted: bool,
    pub(crate) anonymous: bool,
    pub(crate) without_create: WithoutCreate,
    /// How long one request may take.
    pub(crate) timeout: Duration,
    /// An identity and its secret, where the environment's are not meant.
    pub(crate) credentials: Option<(String, String)>,
}

/// How long one request may take where nothing else is said. A renewal that was lost is sent again
/// several times within the shortest ttl.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// The longest that may be asked for: with more an outage is noticed when it is too late.
const TIMEOUT_AT_MOST: Duration = Duration::from_secs(30);

/// Options that each of the clouds knows.
const COMMON: [&str; 3] = ["endpoint", "timeout_ms", "without_create"];

impl Cloud {
    fn of(scheme: &str) -> Option<Self> {
        Some(match scheme {
            "s3" | "s3a" => Self::Aws,
            "az" | "azure" | "abfs" | "abfss" => Self::Azure,
            "gs" => Self::Gcp,
            _ => return None,
        })
    }

    /// The cargo feature that brings its driver.
    #[cfg(not(all(feature = "aws", feature = "azure", feature = "gcp")))]
    pub(crate) const fn feature(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
        }
    }

    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Aws => &["region", "virtual_hosted", "anonymous"],
            Self::Azure => &["account"],
            Self::Gcp => &["anonymous"],
        }
    }
}

impl Bucket {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        // The text is repeated in no error: it may have a secret in it.
        let url = Url::parse(text).map_err(|error| {
            wrong(format!("the bucket's URL cannot be read: {error}"), "write s3://bucket/prefix")
        })?;
        let cloud = Cloud::of(url.scheme()).ok_or_else(|| {
            wrong(
                format!("no object store has this scheme, scheme=`{}`", url.scheme()),
                "use s3://, gs:// or az://",
            )
        })?;
        if url.password().is_some() || (cloud != Cloud::Azure && !url.username().is_empty()) {
            return Err(wrong(
                "the bucket's URL has credentials in it",
                "leave them out: they are read from the environment, as the cloud's tools do",
            ));
        }
        if url.fragment().is_some() {
            return Err(wrong("the bucket's URL has a #", "write %23 for the character itself"));
        }
        let (name, account) = place(&url, cloud)?;
        let prefix = Path::from_url_path(url.path()).map_err(|error| {
            wrong(format!("the prefix cannot be used: {error}"), "use letters, digits, - and /")
        })?;
        let mut options = options(&url, cloud)?;
        let bucket = Self {
            cloud,
            name,
            prefix,
            region: options.remove("region"),
            endpoint: options.remove("endpoint").map(endpoint).transpose()?,
            account: options.remove("account").or(account),
            virtual_hosted: yes_or_no(options.remove("virtual_hosted"), "virtual_hosted")?,
            anonymous: yes_or_no(options.remove("anonymous"), "anonymous")?,
            without_create: without_create(options.remove("without_create").as_deref())?,
            timeout: timeout(options.remove("timeout_ms"))?,
            credentials: None,
        };
        Ok(bucket)
    }

    /// How long it may take to get a connection.
    #[cfg(feature = "cloud")]
    pub(crate) fn connect_timeout(&self) -> Duration {
        self.timeout.min(Duration::from_secs(1))
    }
}

/// The bucket's name, and an account that stands beside it, as in `abfss://container@account.host`.
fn place(url: &Url, cloud: Cloud) -> Result<(String, Option<String>)> {
    let host = url.host_str().unwrap_or_default();
    let (name, account) = match url.username() {
        "" => (host, None),
        container => (container, host.split('.').next()),
    };
    if url.port().is_some() || name.is_empty() {
        let fix = match cloud {
            Cloud::Aws => "write s3://bucket/prefix, and a server of your own as ?endpoint=",
            Cloud::Azure => "write az://container/prefix?account=name",
            Cloud::Gcp => "write gs://bucket/prefix",
        };
        return Err(wrong("the URL names no bucket", fix));
    }
    Ok((name.to_owned(), account.map(str::to_owned)))
}

fn options(url: &Url, cloud: Cloud) -> Result<BTreeMap<String, String>> {
    let mut options = BTreeMap::new();
    for (key, value) in url.query_pairs() {
        let known = || COMMON.iter().chain(cloud.options());
        if !known().any(|known| *known == key) {
            let known: Vec<_> = known().copied().collect();
            return Err(wrong(
                format!("the bucket's URL has an unknown option, option=`{key}`"),
                format!("leave it out; there are {}", known.join(", ")),
            ));
        }
        if value.is_empty() || options.insert(key.to_string(), value.into_owned()).is_some() {
            return Err(wrong(
                format!("an option has no value, or two, option=`{key}`"),
                "give it once, with a value",
            ));
        }
    }
    Ok(options)
}

fn endpoint(text: String) -> Result<String> {
    let url = Url::parse(&text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    match url {
        Some(url) if url.username().is_empty() && url.password().is_none() => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err(wrong(
            "the endpoint is no address of a server",
            "write endpoint=https://host:port, without credentials",
        )),
    }
}

fn yes_or_no(value: Option<String>, option: &str) -> Result<bool> {
    match value.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(wrong(
            format!("an option is neither true nor false, option=`{option}`"),
            "write true or false",
        )),
    }
}

fn without_create(value: Option<&str>) -> Result<WithoutCreate> {
    match value {
        None | Some("elect") => Ok(WithoutCreate::Elect),
        Some("refuse") => Ok(WithoutCreate::Refuse),
        Some(_) => Err(wrong(
            "what is done about a store without create-if-absent is not understood",
            "write without_create=elect or without_create=refuse",
        )),
    }
}

fn timeout(value: Option<String>) -> Result<Duration> {
    let Some(value) = value else { return Ok(TIMEOUT) };
    match value.parse().map(Duration::from_millis) {
        Ok(time) if !time.is_zero() && time <= TIMEOUT_AT_MOST => Ok(time),
        _ => Err(wrong(
            "the timeout of a request is no number of milliseconds from 1 to 30000",
            "write timeout_ms=1500, or leave it out",
        )),
    }
}

fn wrong(problem: impl Into<String>, fix: impl Into<String>) -> Error {
    Error::misconfigured(problem.into(), fix.into())
}

/// Without the credentials.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("cloud", &self.cloud)
            .field("name", &self.name)
            .field("prefix", &self.prefix.as_ref())
            .field("region", &self.region)
            .field("endpoint", &self.endpoint)
            .field("account", &self.account)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("s3://leases", Cloud::Aws, "leases", "")]
    #[case("s3://My_Bucket/", Cloud::Aws, "My_Bucket", "")]
    #[case("s3a://leases/ci/runners/", Cloud::Aws, "leases", "ci/runners")]
    #[case("gs://leases/a%20b", Cloud::Gcp, "leases", "a b")]
    #[case("az://leases/ci", Cloud::Azure, "leases", "ci")]
    #[case("abfss://leases@acme.dfs.core.windows.net/ci", Cloud::Azure, "leases", "ci")]
    fn a_url_names_a_bucket_and_a_prefix(
        #[case] url: &str,
        #[case] cloud: Cloud,
        #[case] name: &str,
        #[case] prefix: &str,
    ) {
        let bucket = Bucket::parse(url).unwrap();
        assert_eq!((bucket.cloud, bucket.name.as_str()), (cloud, name));
        assert_eq!(bucket.prefix.as_ref(), prefix);
    }

    #[test]
    fn options_are_read() {
        let url = "s3://b?region=eu-central-1&endpoint=http%3A%2F%2Fhost%3A9000%2F&timeout_ms=700";
        let bucket = Bucket::parse(url).unwrap();
        assert_eq!(bucket.region.as_deref(), Some("eu-central-1"));
        assert_eq!(bucket.endpoint.as_deref(), Some("http://host:9000"));
        assert_eq!(bucket.timeout, Duration::from_millis(700));
        // Unescaped is as good: nothing in an address needs it.
        let bucket = Bucket::parse("s3://b?endpoint=http://host:9000").unwrap();
        assert_eq!(bucket.endpoint.as_deref(), Some("http://host:9000"));
        let bucket = Bucket::parse("abfss://c@acme.dfs.core.windows.net").unwrap();
        assert_eq!(bucket.account.as_deref(), Some("acme"));
    }

    #[rstest]
    #[case("s3://", "s3://bucket/prefix")]
    #[case("s3:///leases", "s3://bucket/prefix")]
    #[case("gs://host:9000/leases", "gs://bucket/prefix")]
    #[case("s3://key:secret@leases", "from the environment")]
    #[case("s3://secret@leases", "from the environment")]
    #[case("s3://leases?colour=blue", "region")]
    #[case("gs://leases?region=here", "anonymous")]
    #[case("s3://leases?region=", "with a value")]
    #[case("s3://leases?region=a&region=b", "once")]
    #[case("s3://leases?endpoint=host:9000", "https://host:port")]
    #[case("s3://leases?endpoint=http://me:secret@host", "without credentials")]
    #[case("s3://leases?virtual_hosted=yes", "true or false")]
    #[case("s3://leases?without_create=maybe", "without_create=refuse")]
    #[case("s3://leases?timeout_ms=0", "timeout_ms=1500")]
    #[case("s3://leases?timeout_ms=31000", "timeout_ms=1500")]
    #[case("s3://leases#secret", "%23")]
    #[case("ftp://leases", "s3://")]
    fn another_url_is_told_what_to_write(#[case] url: &str, #[case] fix: &str) {
        let error = Bucket::parse(url).unwrap_err();
        let Error::Misconfigured { fix: told, .. } = &error else { panic!("{error:?}") };
        assert!(told.contains(fix), "{error}");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
    }

    #[test]
    fn credentials_are_in_no_log() {
        let mut bucket = Bucket::parse("s3://leases").unwrap();
        bucket.credentials = Some(("ann".into(), "secret".into()));
        assert!(!format!("{bucket:?}").contains("secret"));
    }
}
