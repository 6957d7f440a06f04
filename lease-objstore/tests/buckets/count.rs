//! A layer that counts what goes over the network.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use http::Method;
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};

/// The requests that went out, in order. Clones are one count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<Mutex<Vec<&'static str>>>);

impl Count {
    /// Counts what goes through.
    pub(crate) fn over(&self, client: HttpClient) -> HttpClient {
        HttpClient::new(Counted { inner: client, count: self.clone() })
    }

    /// The requests since the last call.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join(" ")
    }

    fn add(&self, request: &HttpRequest) {
        let query = request.uri().query().unwrap_or_default();
        let creates = ["if-none-match", "x-goog-if-generation-match"]
            .iter()
            .any(|header| request.headers().contains_key(*header));
        let kind = match *request.method() {
            Method::PUT if creates => "create",
            Method::PUT => "put",
            Method::HEAD => "head",
            Method::GET if query.contains("list") || query.contains("prefix=") => "list",
            Method::GET => "get",
            // Batches of deletions are posted.
            Method::DELETE | Method::POST => "delete",
            _ => "?",
        };
        self.0.lock().unwrap().push(kind);
    }
}

#[derive(Debug)]
struct Counted {
    inner: HttpClient,
    count: Count,
}

#[async_trait]
impl HttpService for Counted {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.count.add(&request);
        self.inner.execute(request).await
    }
}
