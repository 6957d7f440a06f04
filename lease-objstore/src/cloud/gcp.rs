//! Google Cloud Storage.

use std::sync::Arc;

use lease_core::Result;
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};
use object_store::{ObjectStore, StaticCredentialProvider};

use super::{Connector, sent_once, unbuilt};
use crate::bucket::Bucket;

/// Credentials come from `GOOGLE_…` in the environment, the application default credentials, or the
/// machine's service account; what the URL says goes before.
pub(super) fn open(bucket: &Bucket, connector: Connector) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(&bucket.name)
        .with_retry(sent_once(bucket))
        .with_http_connector(connector);
    if let Some(endpoint) = &bucket.endpoint {
        builder = builder.with_base_url(endpoint);
    }
    if bucket.anonymous {
        // The driver asks for a token all the same, unless it has one.
        let nobody = StaticCredentialProvider::new(GcpCredential { bearer: String::new() });
        builder = builder.with_skip_signature(true).with_credentials(Arc::new(nobody));
    }
    Ok(Arc::new(builder.build().map_err(unbuilt)?))
}
