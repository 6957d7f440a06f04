//! Leaving a server that gets nothing done for another one of its cluster.
//!
//! It may have stopped, or be cut off from the others; and it may know that or not. The driver would
//! stay with it for as long as it answers pings, and come back to it: it prefers servers that never
//! refused it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ReconnectToServer, Server};
use lease_core::{Clock, Jitter, Moment};

use crate::error::Failure;

/// How long a server has nobody to ask before it is rather cut off than in the middle of an election.
const STUCK: Duration = Duration::from_secs(2);
/// How long it is not left again: the others may be no better.
const AGAIN: Duration = Duration::from_secs(3);
/// Within this time a new connection has told whose it is.
const TOLD: Duration = Duration::from_millis(500);
/// How long another server is looked for.
const LOOKS: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(20);

/// When the server is left, and for which one. Clones are of one connection.
#[derive(Clone)]
pub(crate) struct Leave {
    clock: Arc<dyn Clock>,
    jitter: Arc<Jitter>,
    state: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    /// Since when the server has had nobody to ask.
    stuck: Option<Moment>,
    /// When it was last left.
    left: Option<Moment>,
    /// Where the search was so far, while there is one.
    tried: Option<Vec<String>>,
}

impl Leave {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, jitter: Arc::new(Jitter::system()), state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, Known> {
        // Each change is one assignment, so a panic elsewhere leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what a request came to: whether the server is to be left.
    pub(crate) fn is_due<T>(&self, answer: &Result<T, Failure>) -> bool {
        let mut state = self.state();
        match answer {
            // It may have stopped, or not know yet that it is cut off.
            Err(Failure::TimedOut(_)) => true,
            Err(failure) if failure.is_nobody_there() => {
                let now = self.clock.now();
                now.since(*state.stuck.get_or_insert(now)) >= STUCK
            }
            // These say nothing of the cluster, the last of them nothing yet.
            Err(Failure::Disconnected | Failure::Closed) => false,
            Err(Failure::JetStream(error)) if error.is_in_flight() => false,
            _ => {
                state.stuck = None;
                false
            }
        }
    }

    /// Whether to begin: not while it is being done, and not again soon.
    pub(crate) fn begin(&self) -> bool {
        let now = self.clock.now();
        let mut state = self.state();
        let lately = state.left.is_some_and(|at| now.since(at) < AGAIN);
        if lately || state.tried.is_some() {
            return false;
        }
        *state = Known { stuck: None, left: Some(now), tried: Some(Vec::new()) };
        true
    }

    /// Goes from server to server until it is another one than now, or all were tried.
    pub(crate) async fn run(&self, client: &Client) {
        let left = client.server_info().server_id;
        let until = self.clock.now().plus(LOOKS);
        // An error ends it with the connection, which is being closed.
        let pool = client.server_pool().await.map_or(0, |pool| pool.len());
        if pool > 1 {
            tracing::debug!(server = left, "leaving a server that gets nothing done");
            while self.has_more(pool)
                && client.force_reconnect().await.is_ok()
                && !self.has_arrived(client, &left, until).await
            {}
        }
        self.end();
    }

    fn has_more(&self, pool: usize) -> bool {
        self.state().tried.as_ref().is_some_and(|tried| tried.len() < pool)
    }

    fn end(&self) {
        let mut state = self.state();
        state.tried = None;
        state.left = Some(self.clock.now());
    }

    /// Whether the next connection is to another server than the one that was `left`, or none can be had.
    async fn has_arrived(&self, client: &Client, left: &str, until: Moment) -> bool {
        // It is the one on which it stands until the driver has done what it was told.
        let mut connected = Duration::ZERO;
        while connected < TOLD && self.clock.now() < until {
            self.clock.sleep_until(self.clock.now().plus(STEP)).await;
            if client.connection_state() == State::Connected {
                if client.server_info().server_id != left {
                    return true;
                }
                connected += STEP;
            }
        }
        self.clock.now() >= until
    }

    /// The server that the driver is to connect to; nothing while none is being left, or when all were
    /// tried: the driver then goes by its own ways.
    pub(crate) fn choose(&self, pool: &[Server]) -> Option<ReconnectToServer> {
        let mut state = self.state();
        let tried = state.tried.as_mut()?;
        let new = |server: &&Server| !tried.iter().any(|there| there == server.addr.as_url_str());
        let left: Vec<_> = pool.iter().filter(new).collect();
        // By chance, so that all clients of a server do not go to the same one.
        let at = usize::from(self.jitter.nonce().as_bytes()[0]).checked_rem(left.len())?;
        let addr = left.get(at)?.addr.clone();
        tried.push(addr.as_url_str().to_owned());
        Some(ReconnectToServer { addr, delay: Some(STEP) })
    }
}

impl fmt::Debug for Leave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leave").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use lease_core::clock::ManualClock;
    use rstest::rstest;

    use super::*;
    use crate::error::{ApiError, code};

    const SECOND: Duration = Duration::from_secs(1);

    fn api(err_code: u32) -> Failure {
        ApiError { code: 400, err_code, description: String::new() }.into()
    }

    fn leave() -> (Leave, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new());
        (Leave::new(Arc::clone(&clock) as Arc<dyn Clock>), clock)
    }

    /// A server that led the bucket and is cut off says by turns that a write is on its way, for ever, and
    /// that there is no cluster.
    #[rstest]
    #[case::on_its_way(Err(api(code::WRITE_IN_FLIGHT)), true)]
    #[case::the_connection_broke(Err(Failure::Closed), true)]
    #[case::an_answer(Ok(()), false)]
    #[case::a_refusal(Err(api(code::WRONG_LAST_SEQUENCE)), false)]
    fn a_server_that_has_nobody_to_ask_is_left(
        #[values(Failure::NoResponders, api(code::UNAVAILABLE))] nobody: Failure,
        #[case] between: Result<(), Failure>,
        #[case] due: bool,
    ) {
        let (leave, clock) = leave();
        let nobody = Err(nobody);
        assert!(!leave.is_due::<()>(&nobody), "an election");
        clock.advance(SECOND);
        assert!(!leave.is_due(&between));
        clock.advance(SECOND);
        assert_eq!(leave.is_due::<()>(&nobody), due);
    }

    #[test]
    fn a_silent_one_is_left_at_once_and_not_again_soon() {
        let (leave, clock) = leave();
        assert!(leave.is_due::<()>(&Err(Failure::TimedOut(SECOND))));
        assert!(leave.begin());
        clock.advance(SECOND * 10);
        assert!(!leave.begin(), "it is being left");
        leave.end();
        clock.advance(AGAIN / 2);
        assert!(!leave.begin());
        clock.advance(AGAIN);
        assert!(leave.begin());
    }

    #[test]
    fn each_server_is_tried_once() {
        let (leave, _) = leave();
        let server = |host: &str, failed_attempts| Server {
            addr: format!("nats://{host}:4222").parse().unwrap(),
            failed_attempts,
            did_connect: true,
            is_discovered: false,
            last_error: None,
        };
        // The driver would never go to the one that failed once while the others do not.
        let pool = [server("a", 0), server("b", 0), server("c", 1)];
        assert!(leave.choose(&pool).is_none(), "the driver chooses");
        assert!(leave.begin());
        let chosen = (0..3).map(|_| leave.choose(&pool).unwrap().addr.host().to_owned());
        let mut chosen: Vec<_> = chosen.collect();
        chosen.sort();
        assert_eq!(chosen, ["a", "b", "c"]);
        assert!(leave.choose(&pool).is_none());
    }
}
