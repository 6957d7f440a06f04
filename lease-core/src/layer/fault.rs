//! What can go wrong with one call to a store, and the gate that a test holds one at.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::{Effect, Error};

/// What goes wrong with one call to a store.
#[derive(Clone)]
pub struct Fault(pub(super) Kind);

#[derive(Clone)]
pub(super) enum Kind {
    /// Waits before the request, after the answer, or both.
    Waits { before: Option<Wait>, after: Option<Wait> },
    /// The request does not take place.
    Fails(Make),
    /// It does, and then its answer is lost.
    AnswerLost,
}

pub(super) type Wait = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;
pub(super) type Make = Arc<dyn Fn() -> Error + Send + Sync>;

impl Fault {
    /// The request never takes place; the caller is told `effect`, which may be the wrong one only
    /// on the safe side.
    #[must_use]
    pub fn fails(effect: Effect) -> Self {
        Self::error(move || Error::Unavailable {
            backend: "faulty",
            effect,
            source: "the test let this request fail".into(),
        })
    }

    /// The request never takes place and fails with this error.
    #[must_use]
    pub fn error(make: impl Fn() -> Error + Send + Sync + 'static) -> Self {
        Self(Kind::Fails(Arc::new(make)))
    }

    /// The request takes place and its answer is lost: an [`Effect::Unknown`] that happened.
    #[must_use]
    pub const fn answer_lost() -> Self {
        Self(Kind::AnswerLost)
    }

    /// The request arrives this much later.
    #[must_use]
    pub fn late_request(clock: Arc<dyn Clock>, by: Duration) -> Self {
        Self::before(move || clock.sleep_until(clock.now().plus(by)))
    }

    /// The request takes place at once and the answer comes this much later.
    #[must_use]
    pub fn late_answer(clock: Arc<dyn Clock>, by: Duration) -> Self {
        Self::after(move || clock.sleep_until(clock.now().plus(by)))
    }

    /// The request never arrives, and no answer ever comes.
    #[must_use]
    pub fn hangs() -> Self {
        Self::before(|| Box::pin(std::future::pending()))
    }

    /// The request takes place, and no answer ever comes.
    #[must_use]
    pub fn hangs_after() -> Self {
        Self::after(|| Box::pin(std::future::pending()))
    }

    /// The request waits for this before it is sent.
    #[must_use]
    pub fn before(wait: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Kind::Waits { before: Some(Arc::new(wait)), after: None })
    }

    /// The answer waits for this before it is told.
    #[must_use]
    pub fn after(wait: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Kind::Waits { before: None, after: Some(Arc::new(wait)) })
    }

    /// Both the request and its answer wait for this.
    #[must_use]
    pub fn around(wait: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        let wait: Wait = Arc::new(wait);
        Self(Kind::Waits { before: Some(Arc::clone(&wait)), after: Some(wait) })
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Kind::Waits { before: Some(_), .. } => "Fault(waits before)",
            Kind::Waits { .. } => "Fault(waits after)",
            Kind::Fails(_) => "Fault(fails)",
            Kind::AnswerLost => "Fault(answer lost)",
        })
    }
}

/// Where a call is parked until the test lets it on.
#[derive(Clone, Debug)]
pub struct Gate {
    reached: watch::Sender<bool>,
    open: watch::Sender<bool>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self { reached: watch::Sender::new(false), open: watch::Sender::new(false) }
    }

    /// Waits until a call has come to the gate. For ever, if none does.
    ///
    /// # Cancel safety
    ///
    /// Safe: it takes nothing, and the next call ends at once if a call has come meanwhile.
    pub async fn reached(&self) {
        is_true(&self.reached).await;
    }

    /// Lets the call on, and all that come later.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    pub(super) fn wait(&self) -> BoxFuture<'static, ()> {
        let gate = self.clone();
        Box::pin(async move {
            gate.reached.send_replace(true);
            is_true(&gate.open).await;
        })
    }
}

async fn is_true(flag: &watch::Sender<bool>) {
    // The sender is right here, so the channel cannot close.
    let _ = flag.subscribe().wait_for(|set| *set).await;
}
