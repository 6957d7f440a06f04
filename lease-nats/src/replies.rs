//! Which answer belongs to which request.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use async_nats::Message;

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

/// A request that waits. A channel for each would cost more than all else that is done for an answer.
#[derive(Debug)]
struct Waiting {
    subject: String,
    came: VecDeque<Reply>,
    waker: Option<Waker>,
}

/// The answers to one request. They are waited for until this drops.
#[derive(Debug)]
pub(crate) struct Answers {
    number: u64,
    replies: Arc<Replies>,
}

impl Replies {
    /// A place for the answers to a request to `subject`.
    pub(crate) fn expect(self: &Arc<Self>, subject: &str) -> Answers {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let (subject, came) = (subject.to_owned(), VecDeque::new());
        self.lock().insert(number, Waiting { subject, came, waker: None });
        Answers { number, replies: Arc::clone(self) }
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
        let waiter = {
            let mut waiting = self.lock();
            let waiting = number.and_then(|number: u64| waiting.get_mut(&number));
            waiting.and_then(|waiting| waiting.take_in(Ok(message)))
        };
        // Without the lock, which whoever is woken takes at once.
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Tells those who wait for what the server refused. It says so apart from the request.
    pub(crate) fn refused(&self, said: &str, inbox: &str) {
        if !said.to_ascii_lowercase().contains("permissions violation") {
            return;
        }
        let is_inbox = said.contains(inbox);
        self.tell(&Failure::Denied(said.to_owned()), |subject| {
            is_inbox || said.contains(&format!("\"{subject}\""))
        });
    }

    /// Tells everybody who waits that no answer comes any more.
    pub(crate) fn give_up(&self) {
        self.tell(&Failure::Closed, |_| true);
    }

    /// Tells this to all who asked on such a subject.
    fn tell(&self, failure: &Failure, whom: impl Fn(&str) -> bool) {
        let waiters: Vec<Waker> = {
            let mut waiting = self.lock();
            let those = waiting.values_mut().filter(|waiting| whom(&waiting.subject));
            those.filter_map(|waiting| waiting.take_in(Err(failure.clone()))).collect()
        };
        waiters.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        // Each change leaves it whole: an entry comes or goes, and a reply or a waker in one.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Takes a reply in, and gives whoever waits for it, to be woken.
    fn take_in(&mut self, reply: Reply) -> Option<Waker> {
        self.came.push_back(reply);
        self.waker.take()
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
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &Context<'_>) -> Poll<Reply> {
        // What it takes the place of ends without the lock: with a waker a task may end that has answers
        // of its own.
        let (reply, _former) = self.look(context);
        reply
    }

    fn look(&mut self, context: &Context<'_>) -> (Poll<Reply>, Option<Waker>) {
        let mut waiting = self.replies.lock();
        // It is in the table until this value drops.
        let Some(waiting) = waiting.get_mut(&self.number) else {
            return (Poll::Ready(Err(Failure::Closed)), None);
        };
        match waiting.came.pop_front() {
            Some(reply) => (Poll::Ready(reply), None),
            None => (Poll::Pending, waiting.waker.replace(context.waker().clone())),
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        // It ends without the lock, as the waker in it must.
        let _gone = self.replies.lock().remove(&self.number);
    }
}
