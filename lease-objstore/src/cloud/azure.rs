//! Azure Blob Storage.

use std::sync::Arc;

use lease_core::Result;
use object_store::ObjectStore;
use object_store::azure::MicrosoftAzureBuilder;

use super::{Connector, sent_once, unbuilt};
use crate::bucket::Bucket;

/// Credentials and settings come from `AZURE_…` in the environment, a workload identity, or the
/// machine's; what the URL says goes before.
pub(super) fn open(bucket: &Bucket, connector: Connector) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(&bucket.name)
        .with_retry(sent_once(bucket))
        .with_http_connector(connector);
    if let Some(account) = &bucket.account {
        builder = builder.with_account(account);
    }
    if let Some(endpoint) = &bucket.endpoint {
        builder =
            builder.with_endpoint(endpoint.clone()).with_allow_http(endpoint.starts_with("http:"));
    }
    if let Some((account, key)) = &bucket.credentials {
        builder = builder.with_account(account).with_access_key(key);
    }
    Ok(Arc::new(builder.build().map_err(unbuilt)?))
}
