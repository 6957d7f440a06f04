//! A layer that spoils single requests as a server or a network would.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::{Method, Response, StatusCode};
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Pass,
    /// Answered with this status, and never sent on.
    Refused(u16),
    /// Sent on, and answered with this status all the same.
    AnsweredWith(u16),
    /// Sent on, and the answer is lost.
    Lost,
    /// Sent on without its condition.
    Unconditional,
    /// Answered with a listing in which nothing is, and never sent on.
    Nothing,
    /// Sent on; the answer names a version.
    Versioned,
}

/// The headers that make a write a create.
const CONDITIONS: [&str; 2] = ["if-none-match", "x-goog-if-generation-match"];

type Judge = dyn Fn(&HttpRequest) -> Fate + Send + Sync;

/// Lets `judge` decide what becomes of each request.
pub(crate) struct Spoilt {
    inner: HttpClient,
    judge: Arc<Judge>,
}

impl Spoilt {
    pub(crate) fn over(
        inner: HttpClient,
        judge: impl Fn(&HttpRequest) -> Fate + Send + Sync + 'static,
    ) -> HttpClient {
        HttpClient::new(Self { inner, judge: Arc::new(judge) })
    }
}

impl fmt::Debug for Spoilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spoilt")
    }
}

#[async_trait]
impl HttpService for Spoilt {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        match (self.judge)(&request) {
            Fate::Pass => self.inner.execute(request).await,
            Fate::Refused(status) => Ok(answer(status)),
            Fate::AnsweredWith(status) => {
                self.inner.execute(request).await?;
                Ok(answer(status))
            }
            Fate::Lost => {
                self.inner.execute(request).await?;
                let lost = std::io::Error::other("the answer was lost");
                Err(HttpError::new(HttpErrorKind::Interrupted, lost))
            }
            Fate::Nothing => Ok(Response::new("<ListBucketResult/>".to_owned().into())),
            Fate::Unconditional => {
                for condition in CONDITIONS {
                    request.headers_mut().remove(condition);
                }
                self.inner.execute(request).await
            }
            Fate::Versioned => {
                let mut answer = self.inner.execute(request).await?;
                answer.headers_mut().insert("x-amz-version-id", "v1".parse().unwrap());
                Ok(answer)
            }
        }
    }
}

fn answer(status: u16) -> HttpResponse {
    let mut answer = Response::new("<Error/>".to_owned().into());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer
}

/// Whether this asks to create the claim of an exclusive.
pub(crate) fn creates_claim(request: &HttpRequest) -> bool {
    let file = request.uri().path().rsplit('/').next().unwrap_or_default();
    is_create(request) && file.starts_with("x-") && !file.contains('.')
}

pub(crate) fn is_create(request: &HttpRequest) -> bool {
    let conditional = CONDITIONS.iter().any(|header| request.headers().contains_key(*header));
    request.method() == Method::PUT && conditional
}

/// Whether this asks GCS to write over a certain write.
pub(crate) fn is_update(request: &HttpRequest) -> bool {
    let condition = request.headers().get(CONDITIONS[1]);
    request.method() == Method::PUT && condition.is_some_and(|condition| condition != "0")
}

pub(crate) fn is_list(request: &HttpRequest) -> bool {
    request.method() == Method::GET
        && request.uri().query().is_some_and(|query| query.contains("list-type"))
}

pub(crate) fn is_delete(request: &HttpRequest) -> bool {
    matches!(*request.method(), Method::DELETE | Method::POST)
}

pub(crate) fn is_write(request: &HttpRequest) -> bool {
    request.method() == Method::PUT || is_delete(request)
}
