//! Waking waiters: one consumer of the bucket for the whole process, however many wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_nats::{Message, Subscriber};
use async_trait::async_trait;
use futures::StreamExt;
use lease_core::backend::Watch;
use lease_core::clock::within;
use lease_core::{Clock, Error, Name, Result};
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::sync::watch::{Receiver, Sender};

use crate::error::{Doing, Failure, KIND, translate};
use crate::hearing::Asks;
use crate::key::{ALL, Keys, stem_of};
use crate::store::Nats;
use crate::wire::{QUIET, Wire};

/// How often the server says that it is still there when there is nothing to tell.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// After this silence the consumer is taken for lost, with its server or by it.
const SILENCE: Duration = Duration::from_secs(5);
/// How long the server keeps a consumer that nobody listens to.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// How long to wait before asking for a consumer again that could not be had.
const PAUSE: Duration = Duration::from_secs(1);

/// Who waits for what.
#[derive(Debug)]
pub(crate) struct Watches {
    wire: Weak<Wire>,
    /// Held while the consumer is made, so that it is made once.
    starting: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: bool,
    /// By what the keys of the name begin with.
    waiting: HashMap<String, Sender<u64>>,
}

impl Nats {
    /// Wakes whenever something other than a renewal is written to the name.
    pub(crate) async fn watched(&self, name: &Name) -> Result<Box<dyn Watch>> {
        if !self.wire.link.is_connected() {
            return Err(translate(Failure::Disconnected, Doing::Reading));
        }
        let changes = self.watches.subscribe(name);
        self.watches.run(&self.wire).await?;
        Ok(Box::new(Changes(changes)))
    }
}

impl Watches {
    pub(crate) fn new(wire: &Arc<Wire>) -> Self {
        let (wire, starting, state) = (Arc::downgrade(wire), Default::default(), Mutex::default());
        Self { wire, starting, state }
    }

    fn subscribe(&self, name: &Name) -> Receiver<u64> {
        let stem = Keys::of(name).stem().to_owned();
        let mut state = self.lock();
        state.waiting.entry(stem).or_insert_with(|| Sender::new(0)).subscribe()
    }

    /// Makes sure that the consumer is there: what is written after this is told.
    async fn run(self: &Arc<Self>, wire: &Wire) -> Result<()> {
        let _one = self.starting.lock().await;
        if self.lock().running {
            return Ok(());
        }
        let messages = consume(wire).await?;
        self.lock().running = true;
        let clock = Arc::clone(wire.link.clock());
        wire.link.runtime().spawn(follow(Arc::clone(self), messages, clock));
        Ok(())
    }

    /// Wakes those who wait for this message's name, if it is news.
    fn wake(&self, wire: &Wire, message: &Message) {
        let is_quiet = message.headers.as_ref().is_some_and(|h| h.get(QUIET).is_some());
        if let (Some(key), false) = (wire.key(&message.subject), is_quiet)
            && let Some(waiting) = self.lock().waiting.get(stem_of(key))
        {
            waiting.send_modify(|count| *count += 1);
        }
    }

    /// Wakes everybody: something may have been missed.
    fn wake_all(&self) {
        for waiting in self.lock().waiting.values() {
            waiting.send_modify(|count| *count += 1);
        }
    }

    /// Forgets those who have gone; false, and no longer running, if nobody is left.
    fn goes_on(&self) -> bool {
        let mut state = self.lock();
        state.waiting.retain(|_, waiting| waiting.receiver_count() > 0);
        state.running = !state.waiting.is_empty();
        state.running
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is one call on the table, or one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows the consumer for as long as anybody waits, making it anew when it is lost.
async fn follow(watches: Arc<Watches>, mut messages: Subscriber, clock: Arc<dyn Clock>) {
    let mut last = 0;
    loop {
        let message = within(&clock, SILENCE, messages.next()).await.flatten();
        let Some(wire) = watches.wire.upgrade() else { return };
        match message {
            // A message without a place is a sign of life that tells how many there were.
            Some(message) => {
                let number = numbered(&message);
                let expected = last + u64::from(message.status.is_none());
                if number.is_some_and(|number| number != expected) {
                    watches.wake_all();
                }
                last = number.unwrap_or(expected);
                if message.status.is_none() {
                    watches.wake(&wire, &message);
                    continue;
                }
            }
            None => {
                if let Ok(again) = consume(&wire).await {
                    (messages, last) = (again, 0);
                } else {
                    drop(wire);
                    clock.sleep_until(clock.now().plus(PAUSE)).await;
                }
                watches.wake_all();
            }
        }
        if !watches.goes_on() {
            return;
        }
    }
}

/// Makes a consumer that tells of each write from now on, without what was written.
async fn consume(wire: &Wire) -> Result<Subscriber> {
    let messages = wire.link.subscribe().await?;
    let name = messages.inbox.rsplit('.').next().unwrap_or_default().to_owned();
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let request = json!({
        "stream_name": wire.stream(),
        "config": {
            "name": name,
            "deliver_subject": messages.inbox,
            "deliver_policy": "new",
            "ack_policy": "none",
            "replay_policy": "instant",
            "filter_subject": wire.subject(ALL),
            "headers_only": true,
            "idle_heartbeat": nanos(HEARTBEAT),
            "inactive_threshold": nanos(FORGOTTEN),
            "max_deliver": 1,
            "mem_storage": true,
            "num_replicas": 1,
        },
    });
    let what = format!("CONSUMER.CREATE.{}.{name}", wire.stream());
    let answer = wire.api::<IgnoredAny>(Asks::Anybody, &what, &request).await;
    answer.map_err(|failure| translate(failure, Doing::Reading))?;
    Ok(messages.subscriber)
}

/// Which of the consumer's messages this is, or how many there were.
fn numbered(message: &Message) -> Option<u64> {
    if message.status.is_some() {
        let headers = message.headers.as_ref()?;
        return headers.get("Nats-Last-Consumer")?.as_str().parse().ok();
    }
    // Either $JS.ACK.<stream>.<consumer>.<times>.<stream seq>.<consumer seq>.<time>.<pending>, or
    // with a domain and an account before the stream, and a token at the end.
    let parts: Vec<&str> = message.reply.as_ref()?.split('.').collect();
    let at = if parts.len() == 9 { 6 } else { 8 };
    parts.get(at)?.parse().ok()
}

#[derive(Debug)]
struct Changes(Receiver<u64>);

#[async_trait]
impl Watch for Changes {
    async fn changed(&mut self) -> Result<()> {
        // The sender goes with the client, or when the last watch of its name has gone.
        self.0.changed().await.map_err(|gone| Error::unreached(KIND, gone))
    }
}
