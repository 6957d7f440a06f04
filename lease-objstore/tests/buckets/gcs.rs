//! What the GCS emulator lacks: it has no PUT. The same is asked of its JSON interface here, whose
//! preconditions are exact.

use std::net::SocketAddr;

use async_trait::async_trait;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method};
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
    HttpResponseBody, HttpService,
};

/// Asks for each PUT in the way that the emulator understands, and for everything by the name that
/// it listens to, also through a proxy.
#[derive(Debug)]
pub(crate) struct Translated {
    pub(crate) inner: HttpClient,
    pub(crate) host: SocketAddr,
}

const BOUNDARY: &str = "a-boundary-that-is-in-no-lease";

#[async_trait]
impl HttpService for Translated {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let host = self.host.to_string().parse().expect("a header's value");
        request.headers_mut().insert("host", host);
        if *request.method() != Method::PUT {
            return self.inner.execute(request).await;
        }
        let (parts, body) = request.into_parts();
        let body = HttpResponseBody::new(body).bytes().await?;
        let answer = self.inner.execute(upload(parts, &body)).await?;
        if !answer.status().is_success() {
            return Ok(answer);
        }
        let (mut parts, body) = answer.into_parts();
        let body = body.bytes().await?;
        let object: serde_json::Value =
            serde_json::from_slice(&body).map_err(|e| HttpError::new(HttpErrorKind::Decode, e))?;
        for (header, field) in [("etag", "etag"), ("x-goog-generation", "generation")] {
            let value = object[field].as_str().unwrap_or_default();
            let value = HeaderValue::from_str(value).expect("a header's value");
            parts.headers.insert(HeaderName::from_static(header), value);
        }
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

/// The PUT as an upload of two parts: what the object is called, and what is in it.
fn upload(mut parts: Parts, body: &[u8]) -> HttpRequest {
    let path = parts.uri.path().trim_start_matches('/').to_owned();
    let (bucket, key) = path.split_once('/').expect("a bucket and a key");
    let condition = parts.headers.remove("x-goog-if-generation-match");
    let condition = condition
        .map(|value| format!("&ifGenerationMatch={}", value.to_str().expect("a generation")));
    let uri = format!(
        "{}://{}/upload/storage/v1/b/{bucket}/o?uploadType=multipart{}",
        parts.uri.scheme_str().expect("a scheme"),
        parts.uri.authority().expect("an authority"),
        condition.unwrap_or_default(),
    );
    let name = serde_json::json!({ "name": percent_decoded(key) });
    let mut multipart = format!(
        "--{BOUNDARY}\r\nContent-Type: application/json\r\n\r\n{name}\r\n\
         --{BOUNDARY}\r\nContent-Type: application/octet-stream\r\n\r\n"
    )
    .into_bytes();
    multipart.extend_from_slice(body);
    multipart.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());

    parts.method = Method::POST;
    parts.uri = uri.parse().expect("a URI");
    parts.headers.remove("content-length");
    let kind = format!("multipart/related; boundary={BOUNDARY}");
    parts.headers.insert("content-type", kind.parse().expect("a header's value"));
    HttpRequest::from_parts(parts, HttpRequestBody::from(multipart))
}

fn percent_decoded(key: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = key.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next(), rest.next()].map(|d| char::from(d.expect("a digit")));
            let digits = String::from_iter(digits);
            bytes.push(u8::from_str_radix(&digits, 16).expect("two digits"));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).expect("a key is text")
}
