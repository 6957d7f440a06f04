//! What the URL of a store may say. Parsing asks nobody and touches nothing.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lease_core::{Error, Result};

/// Where leases are kept, as a URL says it.
///
/// | URL | store |
/// |---|---|
/// | `file:///mnt/shared/leases` | a folder, local or shared; its path is absolute |
/// | `s3://bucket/prefix`, `s3a:` | a bucket of Amazon S3, or of a store that speaks its protocol: feature `aws` |
/// | `gs://bucket/prefix` | a bucket of Google Cloud Storage: feature `gcp` |
/// | `az://container/prefix`, `azure:`, `abfs:`, `abfss:` | a container of Azure Blob Storage: feature `azure` |
/// | `mongodb://…`, `mongodb+srv://…` | a MongoDB deployment: see the page of `lease-mongo` |
/// | `nats://…`, `tls://…` | a NATS JetStream bucket: see the page of `lease-nats` |
/// | `memory:` | this process, for tests and for trying things out |
///
/// The options of buckets (`?region=…&endpoint=…`) are on the page of `lease-objstore`. Their
/// credentials are never in the URL: they come from the environment, or from the machine's role.
///
/// Bytes that mean something in a URL are written as `%` and two hex digits, as everywhere:
/// `file:///mnt/100%25` is the folder `/mnt/100%`.
///
/// ```
/// use leasehold::StoreUrl;
///
/// assert!(StoreUrl::parse("file:///mnt/shared/leases").is_ok());
/// let error = StoreUrl::parse("leases").unwrap_err();
/// assert!(error.to_string().contains("file:///"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl {
    place: Place,
}

/// What a URL leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Memory,
    Folder(PathBuf),
    /// The URL as a whole: its backend reads the rest.
    Bucket(Secret),
    Mongo(Secret),
    Nats(Secret),
}

/// A URL that may have a password in it: shown in no log.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a URL)")
    }
}

/// What works, for whoever wrote something else.
const KNOWN: &str = "use file:///path/of/a/folder, s3://, gs://, az://, mongodb://, nats://, or memory: within one \
     program";

impl StoreUrl {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`] with what to write instead: no scheme, an unknown one, one that
    /// this version has no store for, a path that is not absolute, an unknown option, or no database.
    pub fn parse(text: &str) -> Result<Self> {
        let Some((scheme, rest)) = split_scheme(text) else { return Err(no_scheme(text)) };
        let place = match scheme.to_ascii_lowercase().as_str() {
            "memory" => memory(rest)?,
            "file" => Place::Folder(folder(rest)?),
            "mongodb" | "mongodb+srv" => mongo(text)?,
            "nats" | "tls" => nats(text)?,
            "s3" | "s3a" | "gs" | "az" | "azure" | "abfs" | "abfss" => bucket(text)?,
            unknown => {
                return Err(Error::misconfigured(
                    format!("the store's URL has an unknown scheme, scheme=`{unknown}`"),
                    KNOWN,
                ));
            }
        };
        Ok(Self { place })
    }

    /// The URL as it may be shown in logs and lists of processes: without user, password and options.
    ///
    /// ```
    /// use leasehold::StoreUrl;
    ///
    /// let url = StoreUrl::parse("mongodb://ann:secret@db1,db2/jobs?replicaSet=rs0")?;
    /// assert_eq!(url.without_password(), "mongodb://db1,db2/jobs");
    /// # Ok::<(), leasehold::Error>(())
    /// ```
    #[must_use]
    pub fn without_password(&self) -> String {
        let text = self.to_string();
        let Some((scheme, rest)) = text.split_once("://") else { return text };
        let rest = rest.split('?').next().unwrap_or(rest);
        let place = match (&self.place, rest.rsplit_once('@')) {
            (Place::Mongo(_) | Place::Nats(_), Some((_, place))) => place,
            // The container of an account has no colon.
            (Place::Bucket(_), Some((login, place))) if login.contains(':') => place,
            _ => rest,
        };
        format!("{scheme}://{place}")
    }

    /// Whether the leases are in this process's own memory, where no other process sees them.
    #[must_use]
    pub const fn is_memory(&self) -> bool {
        matches!(self.place, Place::Memory)
    }

    /// The folder that the leases are in, if they are in one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder(path) => Some(path),
            _ => None,
        }
    }

    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }
}

/// The part before the colon, if it has the form of a scheme.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some((scheme, rest))
}

fn no_scheme(text: &str) -> Error {
    if text.starts_with('/') {
        return Error::misconfigured(
            "the store is a path and not a URL",
            format!("write file://{}", encode(Path::new(text))),
        );
    }
    Error::misconfigured("the store's URL has no scheme", KNOWN)
}

/// A typing error in the URL is told before anything is asked of the store.
fn bucket(text: &str) -> Result<Place> {
    #[cfg(feature = "objstore")]
    lease_objstore::Options::parse(text)?;
    Ok(Place::Bucket(Secret(text.to_owned())))
}

fn mongo(text: &str) -> Result<Place> {
    #[cfg(feature = "mongo")]
    lease_mongo::Options::parse(text)?.check()?;
    Ok(Place::Mongo(Secret(text.to_owned())))
}

fn nats(text: &str) -> Result<Place> {
    #[cfg(feature = "nats")]
    lease_nats::Options::parse(text)?;
    Ok(Place::Nats(Secret(text.to_owned())))
}

fn memory(rest: &str) -> Result<Place> {
    match rest {
        "" | "//" => Ok(Place::Memory),
        _ => Err(Error::misconfigured(
            "a store in memory has no name or path",
            "write memory: alone; each connection is a store of its own",
        )),
    }
}

fn folder(rest: &str) -> Result<PathBuf> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(authority) if authority.starts_with('/') => authority,
        Some(authority) => match authority.strip_prefix("localhost/") {
            Some(_) => &authority["localhost".len()..],
            None => "",
        },
    };
    if !path.starts_with('/') {
        return Err(Error::misconfigured(
            "the path of a file URL is not absolute",
            "write file:// and the whole path: file:///mnt/shared/leases (three slashes)",
        ));
    }
    if let Some(found) = path.chars().find(|c| matches!(c, '?' | '#')) {
        return Err(Error::misconfigured(
            format!("a file URL takes no options, found=`{found}`"),
            "leave them out; where the path itself has a ? or a #, write %3F or %23",
        ));
    }
    let bytes = decode(path)?;
    if bytes.contains(&0) {
        return Err(Error::misconfigured("a path contains a NUL", "remove the %00"));
    }
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

/// The bytes that `%` and two hex digits stand for.
fn decode(text: &str) -> Result<Vec<u8>> {
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => bytes.extend(u8::try_from(16 * high + low)),
            _ => {
                return Err(Error::misconfigured(
                    "a % in the store's URL is not followed by two hex digits",
                    "write %25 for the character % itself",
                ));
            }
        }
    }
    Ok(bytes)
}

/// A path as it stands in a URL.
fn encode(path: &Path) -> String {
    let mut text = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(*byte)),
            b'/' | b'-' | b'_' | b'.' | b'~' | b'+' | b',' | b':' | b'@' | b'=' => {
                text.push(char::from(*byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

impl FromStr for StoreUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Memory => f.write_str("memory:"),
            Place::Folder(path) => write!(f, "file://{}", encode(path)),
            Place::Bucket(url) | Place::Mongo(url) | Place::Nats(url) => f.write_str(&url.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn folder_of(url: &str) -> PathBuf {
        match StoreUrl::parse(url).unwrap().place {
            Place::Folder(path) => path,
            other => panic!("{url} is a folder, not {other:?}"),
        }
    }

    #[rstest]
    #[case("file:///mnt/leases", "/mnt/leases")]
    #[case("FILE:///mnt/leases/", "/mnt/leases/")]
    #[case("file:/mnt/leases", "/mnt/leases")]
    #[case("file://localhost/mnt/leases", "/mnt/leases")]
    #[case("file:///mnt/a%20b/%25", "/mnt/a b/%")]
    #[case("file:///mnt/%C3%A9t%c3%a9", "/mnt/été")]
    #[case("file:///mnt/été und mehr", "/mnt/été und mehr")]
    fn a_file_url_is_an_absolute_path(#[case] url: &str, #[case] path: &str) {
        assert_eq!(folder_of(url), Path::new(path));
    }

    #[test]
    fn a_path_need_not_be_text() {
        let path = PathBuf::from(OsString::from_vec(vec![b'/', 0xff]));
        assert_eq!(folder_of("file:///%FF"), path);
    }

    #[rstest]
    #[case("", "file:///")]
    #[case("leases", "file:///")]
    #[case("./leases", "file:///")]
    #[case("/mnt/my leases", "file:///mnt/my%20leases")]
    #[case("file:leases", "three slashes")]
    #[case("file://leases/here", "three slashes")]
    #[case("file:", "three slashes")]
    #[case("file://", "three slashes")]
    #[case("file:///a?durable=no", "%3F")]
    #[case("file:///a#b", "%23")]
    #[case("file:///100%", "%25")]
    #[case("file:///100%zz", "%25")]
    #[case("file:///a%00b", "%00")]
    #[case("memory:mine", "memory: alone")]
    #[case("redis://host", "file:///")]
    fn another_url_is_told_what_to_write(#[case] url: &str, #[case] fix: &str) {
        let error = StoreUrl::parse(url).unwrap_err();
        let Error::Misconfigured { fix: told, .. } = &error else { panic!("{error:?}") };
        assert!(told.contains(fix), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[cfg(feature = "objstore")]
    #[rstest]
    #[case("s3://key:secret@bucket/leases", "environment")]
    #[case("gs://bucket?colour=secret", "anonymous")]
    fn a_bucket_with_a_typing_error_is_told_at_once(#[case] url: &str, #[case] fix: &str) {
        let error = StoreUrl::parse(url).unwrap_err();
        let Error::Misconfigured { fix: told, .. } = &error else { panic!("{error:?}") };
        assert!(told.contains(fix) && !error.to_string().contains("secret"), "{error}");
    }

    #[rstest]
    fn a_bucket_is_shown_as_it_was_given(
        #[values(
            "s3://leases/ci?region=here",
            "gs://leases",
            "az://leases/ci",
            "abfss://c@a.host/ci"
        )]
        url: &str,
    ) {
        assert_eq!(StoreUrl::parse(url).unwrap().to_string(), url);
    }

    #[test]
    fn a_password_is_in_no_log() {
        let url = StoreUrl::parse("mongodb://user:secret@host/db").unwrap();
        assert!(!format!("{url:?}").contains("secret"));
    }

    #[rstest]
    #[case("file:///mnt/a@b", "file:///mnt/a@b")]
    #[case("s3://bucket/ci?region=eu-central-1", "s3://bucket/ci")]
    #[case("abfss://c@a.host/ci", "abfss://c@a.host/ci")]
    #[case("mongodb://u:se%40cret@a,b/jobs?w=1", "mongodb://a,b/jobs")]
    #[case("nats://s3cret@a:4222/leases?token=s3cret", "nats://a:4222/leases")]
    #[case("memory:", "memory:")]
    fn a_place_is_shown_without_its_password(#[case] url: &str, #[case] shown: &str) {
        assert_eq!(StoreUrl::parse(url).unwrap().without_password(), shown);
    }

    #[rstest]
    fn a_url_is_shown_as_it_could_be_written(
        #[values("memory:", "file:///mnt/leases", "file:///mnt/a%20b/%25", "file:///%FF")]
        url: &str,
    ) {
        assert_eq!(StoreUrl::parse(url).unwrap().to_string(), url);
    }
}
