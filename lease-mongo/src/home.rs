//! Where the driver lives: a thread of its own, so that it is served whatever the program does.

use std::fmt;
use std::thread;

use lease_core::{Error, Result};
use mongodb::Client;
use mongodb::options::ClientOptions;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::error::{KIND, translate};

/// A driver's client and the runtime that serves its connections.
///
/// A runtime that is blocked by the program, or ends before the leases do, would leave the
/// connections that belong to it unserved, and with them the renewals on the keeper's thread.
pub(crate) struct Home {
    pub(crate) client: Client,
    handle: Handle,
    /// Ends the thread when it is dropped.
    _open: oneshot::Sender<()>,
}

impl Home {
    /// Starts the thread, and a client on it.
    pub(crate) async fn start(options: ClientOptions) -> Result<Self> {
        let (open, closed) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        let run = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(async {
                let client = Client::with_options(options);
                if tell.send((client, Handle::current())).is_ok() {
                    let _ = closed.await;
                }
            }),
            Err(error) => tracing::debug!(%error, "no runtime for the MongoDB driver"),
        };
        let thread = thread::Builder::new().name("lease-mongo".to_owned()).spawn(run);
        thread.map_err(|error| Error::unreached(KIND, error))?;
        let (client, handle) = told.await.map_err(|gone| Error::unreached(KIND, gone))?;
        Ok(Self { client: client.map_err(translate)?, handle, _open: open })
    }

    /// Where tasks of the driver's kind belong.
    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl fmt::Debug for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Home").finish_non_exhaustive()
    }
}
