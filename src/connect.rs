//! From a URL to a store: one match.

use std::sync::Arc;

use lease_core::checkup::{self, Checkup};
use lease_core::clock::SystemClock;
use lease_core::memory::Memory;
use lease_core::{Backend, Clock, Coordinator, Result};

use crate::StoreUrl;
use crate::url::Place;

/// Opens the store that `url` names, and gives a coordinator with default durations and policy.
///
/// For others, open the store by [`StoreUrl::open`] and build with [`Coordinator::builder`]. The URLs
/// are listed at [`StoreUrl`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> leasehold::Result<()> {
/// let leases = leasehold::connect("memory:").await?;
/// let lease = leases.exclusive("nightly-report").acquire().await?;
/// lease.release().await?;
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`Error::Misconfigured`](crate::Error::Misconfigured) with what to change: the URL, the feature
/// to switch on, the folder or its permissions. [`Error::Unavailable`](crate::Error::Unavailable) if
/// the store does not answer: try again.
///
/// # Cancel safety
///
/// Safe: nothing is held yet.
pub async fn connect(url: &str) -> Result<Coordinator> {
    Ok(Coordinator::new(StoreUrl::parse(url)?.open().await?))
}

impl StoreUrl {
    /// Opens the store, and tries out what leases need of it.
    ///
    /// # Errors
    ///
    /// As of [`connect`].
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing is held yet.
    pub async fn open(&self) -> Result<Arc<dyn Backend>> {
        self.open_for(Use::Holding).await
    }

    /// Opens the store to look only: nothing is written, and read rights are enough.
    ///
    /// # Errors
    ///
    /// As of [`connect`]; a store that was never used may not be there to look at.
    ///
    /// # Cancel safety
    ///
    /// Safe: it writes nothing.
    pub async fn open_to_look(&self) -> Result<Arc<dyn Backend>> {
        self.open_for(Use::Looking).await
    }

    /// Asks the live store for each guarantee that leases need of it, and tells which is gone and what
    /// to change.
    ///
    /// It writes where nobody else does, and removes it again; leases that are held there are not
    /// touched. It takes some seconds, and a minute on a slow store. What is wrong with the store, or
    /// that it does not answer, is a finding and no error.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> leasehold::Result<()> {
    /// use leasehold::{StoreUrl, checkup::Verdict};
    ///
    /// let checkup = StoreUrl::parse("memory:")?.examine().await?;
    /// assert_eq!(checkup.verdict(), Verdict::Sound);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Misconfigured`](crate::Error::Misconfigured) if the URL is not valid, or its feature
    /// is switched off.
    ///
    /// # Cancel safety
    ///
    /// Safe, but what it has written may stay: records end a minute later.
    pub async fn examine(&self) -> Result<Checkup> {
        match self.place() {
            Place::Memory => {
                let (store, clock) = (Memory::new(), Arc::new(SystemClock) as Arc<dyn Clock>);
                let name = checkup::scratch_name()?;
                let checks = checkup::try_out([&store, &store], &clock, &name).await;
                Ok(Checkup::new(store.kind(), checks))
            }
            #[cfg(feature = "objstore")]
            Place::Folder(path) => {
                Ok(lease_objstore::examine(lease_objstore::Options::local(path)).await)
            }
            #[cfg(feature = "objstore")]
            Place::Bucket(url) => {
                Ok(lease_objstore::examine(lease_objstore::Options::parse(&url.0)?).await)
            }
            #[cfg(not(feature = "objstore"))]
            Place::Folder(_) | Place::Bucket(_) => Err(feature_off("file", "objstore")),
            #[cfg(feature = "mongo")]
            Place::Mongo(url) => {
                Ok(lease_mongo::examine(lease_mongo::Options::parse(&url.0)?).await)
            }
            #[cfg(not(feature = "mongo"))]
            Place::Mongo(_) => Err(feature_off("mongodb", "mongo")),
            #[cfg(feature = "nats")]
            Place::Nats(url) => Ok(lease_nats::examine(lease_nats::Options::parse(&url.0)?).await),
            #[cfg(not(feature = "nats"))]
            Place::Nats(_) => Err(feature_off("nats", "nats")),
        }
    }

    async fn open_for(&self, what: Use) -> Result<Arc<dyn Backend>> {
        match self.place() {
            Place::Memory => Ok(Arc::new(Memory::new())),
            #[cfg(feature = "objstore")]
            Place::Folder(path) => open_files(lease_objstore::Options::local(path), what).await,
            #[cfg(feature = "objstore")]
            Place::Bucket(url) => open_files(lease_objstore::Options::parse(&url.0)?, what).await,
            #[cfg(not(feature = "objstore"))]
            Place::Folder(_) | Place::Bucket(_) => {
                let _ = what;
                Err(feature_off("file", "objstore"))
            }
            #[cfg(feature = "mongo")]
            Place::Mongo(url) => {
                let options = lease_mongo::Options::parse(&url.0)?;
                let options = match what {
                    Use::Holding => options,
                    Use::Looking => options.read_only(),
                };
                Ok(Arc::new(lease_mongo::connect(options).await?))
            }
            #[cfg(not(feature = "mongo"))]
            Place::Mongo(_) => Err(feature_off("mongodb", "mongo")),
            // What this may do is the server's to say, by the rights of the user.
            #[cfg(feature = "nats")]
            Place::Nats(url) => {
                let options = lease_nats::Options::parse(&url.0)?;
                Ok(Arc::new(lease_nats::connect(options).await?))
            }
            #[cfg(not(feature = "nats"))]
            Place::Nats(_) => Err(feature_off("nats", "nats")),
        }
    }
}

#[cfg(feature = "objstore")]
async fn open_files(options: lease_objstore::Options, what: Use) -> Result<Arc<dyn Backend>> {
    let options = match what {
        Use::Holding => options,
        Use::Looking => options.read_only(),
    };
    Ok(Arc::new(lease_objstore::connect(options).await?))
}

/// What a store is opened for.
#[derive(Clone, Copy)]
enum Use {
    Holding,
    Looking,
}

#[cfg(any(test, not(all(feature = "objstore", feature = "mongo", feature = "nats"))))]
fn feature_off(scheme: &str, feature: &str) -> lease_core::Error {
    lease_core::Error::misconfigured(
        format!("this build has no store for `{scheme}:` URLs: its feature is switched off"),
        format!("build leasehold with the feature `{feature}`"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_is_off_is_named() {
        let error = feature_off("file", "objstore");
        assert!(error.to_string().contains("feature `objstore`"), "{error}");
    }

    #[cfg(all(feature = "objstore", not(feature = "aws")))]
    #[tokio::test]
    async fn a_bucket_whose_driver_is_off_says_which_feature() {
        let error = connect("s3://bucket/leases").await.unwrap_err();
        assert!(error.to_string().contains("feature `aws`"), "{error}");
    }

    #[cfg(not(feature = "objstore"))]
    #[tokio::test]
    async fn a_scheme_whose_feature_is_off_says_which() {
        let error = connect("file:///leases").await.unwrap_err();
        assert!(error.to_string().contains("feature `objstore`"), "{error}");
    }
}
