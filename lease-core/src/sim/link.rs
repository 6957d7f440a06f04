//! A client's way to a store: where requests and answers get lost, late and doubled.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::oneshot;

use super::history::Happening;
use super::process::Process;
use super::world::Shared;
use crate::Clock;

/// A client's way to a store. Every request that is sent through it may be spoiled.
#[derive(Clone)]
pub struct Link {
    world: Arc<Shared>,
    client: usize,
    process: Arc<Process>,
}

/// What came of a request, for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered;

/// What becomes of one request.
struct Fate {
    request_lost: bool,
    answer_lost: bool,
    /// Whether a loss is told at once, as a reset connection, or never.
    told: bool,
    there: Duration,
    back: Duration,
    /// When it arrives a second time, if it does.
    repeated: Option<Duration>,
}

impl Link {
    pub(super) const fn new(world: Arc<Shared>, client: usize, process: Arc<Process>) -> Self {
        Self { world, client, process }
    }

    /// Sends a request, which takes effect even if nobody waits for it any more. `request` makes it
    /// each time that it arrives; `what` names it in the history.
    ///
    /// # Errors
    ///
    /// [`Unanswered`]: it took effect, or will, or never will. Tell it as
    /// [unclear](crate::Error::unclear).
    ///
    /// # Cancel safety
    ///
    /// As in the world: a request that was sent goes its way.
    pub async fn send<T: Send + 'static>(
        &self,
        what: &'static str,
        request: impl Fn() -> BoxFuture<'static, T> + Send + Sync + 'static,
    ) -> Result<T, Unanswered> {
        self.process.runs().await;
        let fate = self.fate();
        let (answer, answered) = oneshot::channel();
        let loses = fate.request_lost || fate.answer_lost;
        if loses || fate.repeated.is_some() {
            let fault = match (fate.request_lost, fate.answer_lost) {
                (true, _) => "request lost",
                (_, true) => "answer lost",
                _ => "request repeated",
            };
            self.world.history.add(self.client, Happening::Spoiled { what, fault });
        }
        let clock = self.world.clock;
        let after = move |time: Duration| clock.sleep_until(clock.now().plus(time));
        // Whoever was not told of the loss waits until its own patience ends.
        let silent = async {
            if !fate.told {
                std::future::pending::<()>().await;
            }
        };
        if fate.request_lost {
            after(fate.there).await;
            silent.await;
            return Err(Unanswered);
        }
        tokio::spawn(async move {
            after(fate.there).await;
            let reply = request().await;
            if let Some(later) = fate.repeated {
                tokio::spawn(async move {
                    after(later).await;
                    request().await;
                });
            }
            after(fate.back).await;
            if !fate.answer_lost {
                let _ = answer.send(reply);
            }
        });
        match answered.await {
            Ok(reply) => {
                self.process.runs().await;
                Ok(reply)
            }
            Err(_) => {
                silent.await;
                Err(Unanswered)
            }
        }
    }

    fn fate(&self) -> Fate {
        let chance = &self.world.chance;
        let quick = chance.milliseconds(0, 8);
        if !self.world.faults_are_on() {
            return Fate {
                request_lost: false,
                answer_lost: false,
                told: true,
                there: quick,
                back: chance.milliseconds(0, 8),
                repeated: None,
            };
        }
        // A late one may come after its sender gave up, and after the lease it was for has run out.
        let delay = |slow: bool| if slow { chance.milliseconds(0, 6000) } else { quick };
        Fate {
            request_lost: chance.one_in(25),
            answer_lost: chance.one_in(25),
            told: chance.one_in(2),
            there: delay(chance.one_in(25)),
            back: delay(chance.one_in(40)),
            repeated: chance.one_in(30).then(|| chance.milliseconds(0, 6000)),
        }
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link").field("client", &self.client).finish_non_exhaustive()
    }
}
