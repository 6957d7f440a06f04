//! Buckets through their clouds' drivers.

mod connector;
mod thread;

#[cfg(feature = "aws")]
mod aws;
#[cfg(feature = "azure")]
mod azure;
#[cfg(feature = "gcp")]
mod gcp;

use std::sync::Arc;
use std::time::Duration;

use lease_core::{Error, Result};
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use crate::bucket::{Bucket, Cloud};

use connector::Connector;
pub(crate) use connector::Watch;

/// Opens a bucket, without asking it anything.
pub(crate) fn open(bucket: &Bucket, watch: Option<Watch>) -> Result<Arc<dyn ObjectStore>> {
    let connector = Connector::new(bucket, watch);
    match bucket.cloud {
        #[cfg(feature = "aws")]
        Cloud::Aws => aws::open(bucket, connector),
        #[cfg(feature = "azure")]
        Cloud::Azure => azure::open(bucket, connector),
        #[cfg(feature = "gcp")]
        Cloud::Gcp => gcp::open(bucket, connector),
        #[cfg(not(all(feature = "aws", feature = "azure", feature = "gcp")))]
        other => Err(crate::connect::feature_off(other)),
    }
}

/// The driver sends nothing twice by itself. It would repeat a conditional write whose answer was
/// lost, and tell that it failed because of its own first try; and a repetition that comes late
/// brings back what was removed meanwhile (rule R19). Who holds a lease repeats what is worth it.
fn sent_once(bucket: &Bucket) -> RetryConfig {
    const SHORT: Duration = Duration::from_millis(50);
    RetryConfig {
        max_retries: 0,
        retry_timeout: bucket.timeout,
        backoff: BackoffConfig { init_backoff: SHORT, max_backoff: SHORT, base: 2.0 },
    }
}

/// What the driver could not even be built of: a setting in the environment, or none of them.
fn unbuilt(error: object_store::Error) -> Error {
    Error::Misconfigured {
        problem: "the bucket cannot be opened with these settings".into(),
        fix: "see the reason; region, endpoint and account may stand in the URL, credentials in \
              the environment"
            .into(),
        source: Some(error.into()),
    }
}
