//! A thread of its own for the connections.
//!
//! A connection lives in the runtime that first used it. If an application blocks that runtime,
//! renewals from elsewhere would wait for it too, and the lease would be lost.

use std::sync::Arc;
use std::thread;

use async_trait::async_trait;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Sends requests from a thread of its own, which ends with the last clone.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    client: HttpClient,
    runtime: Arc<Runtime>,
}

#[derive(Debug)]
struct Runtime {
    handle: Handle,
    /// The thread ends when this is dropped.
    _alive: oneshot::Sender<()>,
}

impl Thread {
    /// Starts it.
    pub(super) fn start(client: HttpClient) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, dead) = oneshot::channel::<()>();
        thread::Builder::new().name("lease-objstore".into()).spawn(move || {
            // Nothing is ever sent: it ends with its sender.
            runtime.block_on(dead).ok();
        })?;
        Ok(Self { client, runtime: Arc::new(Runtime { handle, _alive: alive }) })
    }
}

#[async_trait]
impl HttpService for Thread {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let client = self.client.clone();
        let request = self.runtime.handle.spawn(async move {
            let (parts, body) = client.execute(request).await?.into_parts();
            // Lease files are small, and a body that is read elsewhere would be read over there.
            Ok(HttpResponse::from_parts(parts, body.bytes().await?.into()))
        });
        match request.await {
            Ok(answer) => answer,
            Err(error) => Err(HttpError::new(HttpErrorKind::Unknown, error)),
        }
    }
}
