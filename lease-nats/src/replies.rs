//! Which answer belongs to which request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::Message;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::Failure;

/// What comes back to a request: any number of messages, or the server's refusal to let it ask.
pub(crate) type Reply = std::result::Result<Message, Failure>;

/// The requests that wait for answers. All answers come to one subscription.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    asked: AtomicU64,
    heard: AtomicU64,
    waiting: Mutex<HashMap<u64, Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    subject: String,
    sender: UnboundedSender<Reply>,
}

/// The answers to one request. They are waited for until this drops.
#[derive(Debug)]
pub(crate) struct Answers {
    number: u64,
    replies: Arc<Replies>,
    receiver: UnboundedReceiver<Reply>,
}

impl Replies {
    /// A place for the answers to a request to `subject`.
    pub(crate) fn expect(self: &Arc<Self>, subject: &str) -> Answers {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = unbounded_channel();
        self.lock().insert(number, Waiting { subject: subject.to_owned(), sender });
        Answers { number, replies: Arc::clone(self), receiver }
    }

    /// How many requests there were.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// How many messages came, whoever waited for them.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// Takes an answer to whoever waits for it, if anybody still does.
    pub(crate) fn deliver(&self, message: Message) {
        self.heard.fetch_add(1, Ordering::Relaxed);
        let number = message.subject.rsplit('.').next().and_then(|token| token.parse().ok());
        let waiting = self.lock();
        if let Some(waiting) = number.and_then(|number: u64| waiting.get(&number)) {
            // Whoever stopped waiting this moment misses nothing.
            let _ = waiting.sender.send(Ok(message));
        }
    }

    /// Tells those who wait for what the server refused. It says so apart from the request.
    pub(crate) fn refused(&self, said: &str, inbox: &str) {
        if !said.to_ascii_lowercase().contains("permissions violation") {
            return;
        }
        let is_inbox = said.contains(inbox);
        for waiting in self.lock().values() {
            if is_inbox || said.contains(&format!("\"{}\"", waiting.subject)) {
                let _ = waiting.sender.send(Err(Failure::Denied(said.to_owned())));
            }
        }
    }

    /// Tells everybody who waits that no answer comes any more.
    pub(crate) fn give_up(&self) {
        for waiting in self.lock().values() {
            let _ = waiting.sender.send(Err(Failure::Closed));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        // Each change is one insertion or removal.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    /// The last part of the subject that answers come to.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// The next answer.
    ///
    /// # Cancel safety
    ///
    /// Safe: no answer is forgotten.
    pub(crate) async fn next(&mut self) -> Reply {
        // The sender lives in the table until this value drops.
        self.receiver.recv().await.unwrap_or(Err(Failure::Closed))
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.replies.lock().remove(&self.number);
    }
}
