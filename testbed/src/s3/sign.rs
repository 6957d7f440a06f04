//! Signs a request without query and body as S3 wants it (AWS Signature Version 4).

use std::fmt::Write;
use std::time::SystemTime;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The one that S3-likes expect where nobody chose one.
pub(super) const REGION: &str = "us-east-1";

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SIGNED_HEADERS: &str = "host;x-amz-content-sha256;x-amz-date";

/// Who signs.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) key_id: String,
    pub(super) secret: String,
}

impl Credentials {
    /// The headers that make the request this identity's.
    pub(super) fn sign(&self, method: &str, host: &str, path: &str) -> [(&'static str, String); 3] {
        let time = now();
        let (day, _) = time.split_once('T').unwrap_or((&time, ""));
        let body = hex::encode(Sha256::digest(""));
        let mut canonical = format!("{method}\n{path}\n\n");
        // Writing to a string cannot fail.
        let _ = write!(canonical, "host:{host}\nx-amz-content-sha256:{body}\nx-amz-date:{time}\n");
        let _ = write!(canonical, "\n{SIGNED_HEADERS}\n{body}");
        let scope = format!("{day}/{REGION}/s3/aws4_request");
        let digest = hex::encode(Sha256::digest(canonical));
        let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{digest}");
        let secret = format!("AWS4{}", self.secret);
        let key = [day, REGION, "s3", "aws4_request"]
            .iter()
            .fold(secret.into_bytes(), |key, part| hmac(&key, part));
        let signature = hex::encode(hmac(&key, &to_sign));
        let key_id = &self.key_id;
        let authorization = format!(
            "{ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={SIGNED_HEADERS}, \
             Signature={signature}"
        );
        [("x-amz-date", time), ("x-amz-content-sha256", body), ("Authorization", authorization)]
    }
}

/// Such as `20150830T123600Z`.
fn now() -> String {
    let readable = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    readable.replace(['-', ':'], "")
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}
