//! Amazon S3, and stores that speak its protocol.

use std::sync::Arc;

use lease_core::Result;
use object_store::ObjectStore;
use object_store::aws::{AmazonS3Builder, S3ConditionalPut};

use super::{Connector, sent_once, unbuilt};
use crate::bucket::Bucket;

/// Credentials and settings come from `AWS_…` in the environment, from a web identity, or from the
/// machine's role; what the URL says goes before.
pub(super) fn open(bucket: &Bucket, connector: Connector) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(&bucket.name)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_retry(sent_once(bucket))
        .with_http_connector(connector);
    if let Some(region) = &bucket.region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = &bucket.endpoint {
        builder = builder.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http:"));
    }
    if bucket.virtual_hosted {
        builder = builder.with_virtual_hosted_style_request(true);
    }
    if bucket.anonymous {
        builder = builder.with_skip_signature(true);
    }
    if let Some((key_id, secret)) = &bucket.credentials {
        builder = builder.with_access_key_id(key_id).with_secret_access_key(secret);
    }
    Ok(Arc::new(builder.build().map_err(unbuilt)?))
}
