//! What a client really sends, and servers that fail on purpose.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use lease_core::{Claim, HolderInfo, Jitter, Mode, Name};
use lease_mongo::Options;
use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use mongodb::options::ClientOptions;

/// Every command that a client has sent, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire(Arc<Mutex<Vec<Document>>>);

impl Wire {
    /// A client's last word on its options: it lets us listen.
    pub(crate) fn listen(&self, options: &mut ClientOptions) {
        let sent = Arc::clone(&self.0);
        options.command_event_handler = Some(EventHandler::callback(move |event| {
            if let CommandEvent::Started(event) = event {
                sent.lock().unwrap_or_else(PoisonError::into_inner).push(event.command);
            }
        }));
    }

    /// What was sent since the last call.
    pub(crate) fn sent(&self) -> Vec<Document> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The names of the commands that were sent since the last call.
    pub(crate) fn names(&self) -> Vec<String> {
        let sent = self.sent();
        sent.iter().filter_map(|command| command.keys().next().cloned()).collect()
    }
}

/// The same options, overheard.
pub(crate) fn overheard(options: Options) -> (Options, Wire) {
    let wire = Wire::default();
    let listener = wire.clone();
    (options.driver(move |driver| listener.listen(driver)), wire)
}

/// Held by whoever makes the shared servers fail: they have one such order at a time, and the tests
/// that share them may be processes.
pub(crate) async fn alone() -> File {
    let lock = || {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failing");
        let file = File::create(path).expect("cargo has made the folder");
        file.lock().expect("a file of ours can be locked");
        file
    };
    tokio::task::spawn_blocking(lock).await.expect("it does not panic")
}

/// Makes the server fail as `data` says, the next `times` times that the client with this name asks.
pub(crate) async fn fail(shell: &Client, app: &str, times: i32, mut data: Document) {
    data.insert("appName", app);
    let mode = doc! { "times": times };
    let order = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
    shell.database("admin").run_command(order).await.expect("it can be told to fail");
}

/// Waits until the server has failed, or holds back, so many requests since it was started.
pub(crate) async fn reached(shell: &Client, times: i64) {
    let order = doc! {
        "waitForFailPoint": "failCommand", "timesEntered": times, "maxTimeMS": 30_000,
    };
    shell.database("admin").run_command(order).await.expect("it is asked");
}

/// Lets the server work again.
pub(crate) async fn mend(shell: &Client) {
    let order = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    shell.database("admin").run_command(order).await.expect("it can be told to work");
}

/// An attempt to hold `name`.
pub(crate) fn claim(name: &str, mode: Mode) -> Claim {
    Claim {
        name: Name::parse(name).expect("a name"),
        nonce: Jitter::system().nonce(),
        mode,
        ttl: std::time::Duration::from_secs(60),
        info: Arc::new(HolderInfo::of_this_process().label("ann").build().expect("short")),
    }
}
