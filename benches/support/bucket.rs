//! Leases in a bucket of a server of the testbed.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]

use leasehold::objstore::Options;
use testbed::s3::S3;

/// What opens them; the bucket is made.
pub(crate) fn options(server: &S3, bucket: &str) -> Options {
    server.create_bucket(bucket).unwrap();
    let (region, endpoint) = (server.region(), server.url());
    let url = format!("s3://{bucket}/leases?region={region}&endpoint={endpoint}&timeout_ms=5000");
    Options::parse(&url).unwrap().credentials(server.key_id(), server.secret()).unwrap()
}
