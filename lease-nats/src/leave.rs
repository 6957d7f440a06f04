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
use lease_core::clock::within;
use lease_core::{Clock, Jitter, Moment};

/// How long a server has nobody to ask before it is rather cut off than in the middle of an election:
/// most elections are over by then, and something of the default ttl is left.
const STUCK: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(7)];
/// What is further apart than this is no one trouble.
const GAP: Duration = Duration::from_secs(10);
/// How long it is not left again, for the others may be no better; twice as long each time that
/// nothing was decided since.
const AGAIN: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(60)];
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

struct Known {
    stuck: Option<Stuck>,
    /// When the last search ended.
    left: Option<Moment>,
    /// How long after that none begins.
    again: Duration,
    /// Where the search was so far, while there is one.
    tried: Option<Vec<String>>,
}

/// A server through which nothing is decided.
struct Stuck {
    server: String,
    since: Moment,
    /// When that was last seen.
    last: Moment,
    /// For how long that is borne.
    patience: Duration,
}

impl Leave {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let known = Known { stuck: None, left: None, again: AGAIN[0], tried: None };
        let (jitter, state) = (Arc::new(Jitter::system()), Arc::new(Mutex::new(known)));
        Self { clock, jitter, state }
    }

    fn state(&self) -> MutexGuard<'_, Known> {
        // Whatever a panic leaves of it is a state that may be.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bucket's leader has acknowledged a write by way of the server.
    pub(crate) fn decided(&self) {
        let mut state = self.state();
        state.stuck = None;
        state.again = AGAIN[0];
    }

    /// Nothing was decided by way of this server since then: whether that has been so for too long.
    pub(crate) fn undecided(&self, server: &str, since: Moment) -> bool {
        let now = self.clock.now();
        let mut state = self.state();
        let is_one = |stuck: &Stuck| stuck.server == server && now.since(stuck.last) <= GAP;
        let stuck = match state.stuck.take().filter(is_one) {
            Some(stuck) => Stuck { since: stuck.since.min(since), last: now, ..stuck },
            None => {
                let patience = self.jitter.between(STUCK[0], STUCK[1]);
                Stuck { server: server.to_owned(), since, last: now, patience }
            }
        };
        let is_long = now.since(stuck.since) >= stuck.patience;
        state.stuck = Some(stuck);
        is_long
    }

    /// Whether to look for another server: not while that is being done, and not again soon.
    pub(crate) fn begin(&self) -> bool {
        let now = self.clock.now();
        let mut state = self.state();
        let again = state.again;
        if state.tried.is_some() || state.left.is_some_and(|at| now.since(at) < again) {
            return false;
        }
        state.again = (again * 2).min(AGAIN[1]);
        state.tried = Some(Vec::new());
        true
    }

    /// Goes from server to server until it is another one than that which is `left`, or all were tried.
    pub(crate) async fn run(self, client: Client, left: String) {
        let search = Search(self);
        let going = search.0.go(&client, &left);
        within(&search.0.clock, LOOKS, going).await.unwrap_or_default();
    }

    async fn go(&self, client: &Client, left: &str) {
        // An error ends it with the connection, which is being closed.
        let pool = client.server_pool().await.map_or(0, |pool| pool.len());
        // The driver may have left it by itself meanwhile.
        let is_there = || client.server_info().server_id == left;
        while pool > 1 && is_there() && self.has_more(pool) {
            tracing::debug!(server = left, "leaving a server that gets nothing done");
            if client.force_reconnect().await.is_err() {
                return;
            }
            // It is the one on which it stands until the driver has done what it was told.
            let mut connected = Duration::ZERO;
            while is_there() && connected < TOLD {
                self.clock.sleep_until(self.clock.now().plus(STEP)).await;
                if client.connection_state() == State::Connected {
                    connected += STEP;
                }
            }
        }
    }

    fn has_more(&self, pool: usize) -> bool {
        self.state().tried.as_ref().is_some_and(|tried| tried.len() < pool)
    }

    /// The server that the driver is to connect to; nothing while none is looked for, or when all were
    /// tried: the driver then goes by its own ways.
    pub(crate) fn choose(&self, pool: &[Server]) -> Option<ReconnectToServer> {
        let mut state = self.state();
        let tried = state.tried.as_mut()?;
        let is_new = |server: &&Server| !tried.iter().any(|it| it == server.addr.as_url_str());
        let mut left: Vec<_> = pool.iter().filter(is_new).collect();
        // Those that are away come last, and what servers said of each other after what a person said:
        // it may not be reached from here. And by chance, so that all clients of a server do not go to
        // the same one.
        let rank = |server: &Server| (server.failed_attempts, server.is_discovered);
        let best = left.iter().map(|server| rank(server)).min()?;
        left.retain(|server| rank(server) == best);
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

/// A search, which ends when this drops.
struct Search(Leave);

impl Drop for Search {
    fn drop(&mut self) {
        let now = self.0.clock.now();
        let mut state = self.0.state();
        (state.tried, state.stuck, state.left) = (None, None, Some(now));
    }
}

#[cfg(test)]
mod tests {
    use lease_core::clock::ManualClock;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn leave() -> (Leave, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new());
        (Leave::new(Arc::clone(&clock) as Arc<dyn Clock>), clock)
    }

    /// Nothing is decided at this server from now on, as is seen each second.
    fn is_left_within(leave: &Leave, clock: &ManualClock, server: &str, seconds: u32) -> bool {
        (0..=seconds).any(|_| {
            let now = clock.now();
            clock.advance(SECOND);
            leave.undecided(server, now)
        })
    }

    #[test]
    fn a_server_through_which_nothing_is_decided_is_left() {
        let (leave, clock) = leave();
        assert!(!is_left_within(&leave, &clock, "a", 3), "an election");
        leave.decided();
        assert!(!is_left_within(&leave, &clock, "a", 3), "another one");
        assert!(is_left_within(&leave, &clock, "a", 4));
    }

    #[test]
    fn each_has_its_own_time_and_one_trouble_is_no_other() {
        let (leave, clock) = leave();
        assert!(!is_left_within(&leave, &clock, "a", 3));
        assert!(!is_left_within(&leave, &clock, "b", 3), "the driver went there");
        clock.advance(GAP + SECOND);
        assert!(!is_left_within(&leave, &clock, "b", 3), "an hour later");
    }

    #[test]
    fn a_request_without_an_answer_counts_from_when_it_was_sent() {
        let (leave, clock) = leave();
        let sent = clock.now();
        clock.advance(STUCK[1]);
        assert!(leave.undecided("a", sent));
    }

    #[test]
    fn it_is_left_less_and_less_often_while_that_does_not_help() {
        let (leave, clock) = leave();
        let searches = |leave: &Leave, seconds: u32| {
            let begins = (0..seconds).filter(|_| {
                clock.advance(SECOND);
                let begins = leave.begin();
                assert!(!begins || !leave.begin(), "it is being looked for another one");
                if begins {
                    drop(Search(leave.clone()));
                }
                begins
            });
            begins.count()
        };
        assert!((5..=7).contains(&searches(&leave, 120)));
        assert!((1..=2).contains(&searches(&leave, 60)));
        leave.decided();
        assert_eq!(searches(&leave, 5), 1);
    }

    #[test]
    fn each_server_is_tried_once_and_those_that_are_away_last() {
        let (leave, _) = leave();
        let server = |host: &str, failed_attempts, is_discovered| Server {
            addr: format!("nats://{host}:4222").parse().unwrap(),
            failed_attempts,
            did_connect: true,
            is_discovered,
            last_error: None,
        };
        let pool = [
            server("told", 0, true),
            server("away", 3, false),
            server("b", 0, false),
            server("a", 0, false),
        ];
        assert!(leave.choose(&pool).is_none(), "the driver chooses");
        assert!(leave.begin());
        let mut chosen: Vec<_> =
            (0..4).map(|_| leave.choose(&pool).unwrap().addr.host().to_owned()).collect();
        chosen[..2].sort();
        assert_eq!(chosen, ["a", "b", "told", "away"]);
        assert!(leave.choose(&pool).is_none());
    }
}
