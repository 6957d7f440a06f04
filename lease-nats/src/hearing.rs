//! What the answers to requests, and their absence, tell of the server that they go through.

use std::pin::pin;
use std::time::Duration;

use lease_core::Moment;
use lease_core::clock::within;

use crate::error::Failure;
use crate::link::Link;

/// A server from which nothing at all has come for so long is left for another one.
const SILENCE: Duration = Duration::from_secs(3);
/// A request that is dropped without an answer after so long tells as much as one that times out: its
/// caller has less patience.
const SLOW: Duration = Duration::from_secs(2);
/// And after so long, if nothing else has come meanwhile.
const SHORT: Duration = Duration::from_millis(250);

/// Whom a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Whoever leads the bucket, to write.
    Leader,
    /// Who leads, or a server that was cut off with what it has: that it answers shows nothing.
    Anybody,
    /// A copy, which a bucket need not offer: only silence tells something.
    Copy,
    /// Another stream's servers, or a second question about a first failure: they tell nothing.
    Elsewhere,
}

/// A request that waits for its answer.
struct Pending<'l> {
    link: &'l Link,
    asks: Asks,
    sent: Moment,
    heard: u64,
    answered: bool,
}

impl Link {
    /// Waits for the answers to a request, within the time that a request may take, and takes note of
    /// what they tell.
    pub(crate) async fn hear<T>(
        &self,
        asks: Asks,
        request: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let (sent, heard) = (self.clock().now(), self.heard());
        let mut pending = Pending { link: self, asks, sent, heard, answered: false };
        let answer = pending.wait(request).await;
        pending.answered = true;
        match Tells::of(&answer).from(asks) {
            Tells::Nobody => self.undecided(self.clock().now()),
            Tells::Decision => self.decided(),
            Tells::Silence => self.suspect(),
            Tells::Nothing => {}
        }
        answer
    }
}

impl Pending<'_> {
    async fn wait<T>(
        &self,
        request: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let (clock, patience) = (self.link.clock(), self.link.patience());
        let mut request = pin!(request);
        let silence = patience.min(SILENCE);
        if let Some(answer) = within(clock, silence, &mut request).await {
            return answer;
        }
        // What is on its way ends without an answer when a server is left.
        if self.asks != Asks::Elsewhere && self.is_all_silent() {
            self.link.suspect();
        }
        let answer = within(clock, patience.saturating_sub(silence), request).await;
        answer.unwrap_or(Err(Failure::TimedOut(patience)))
    }

    /// Whether nothing at all has come since it was sent.
    fn is_all_silent(&self) -> bool {
        self.link.heard() == self.heard
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if self.answered || self.asks == Asks::Elsewhere {
            return;
        }
        let waited = self.link.clock().now().since(self.sent);
        if waited >= SLOW || waited >= SHORT && self.is_all_silent() {
            self.link.undecided(self.sent);
        }
    }
}

/// What an answer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    /// There is somebody who decides: a write was acknowledged. A leader that is cut off still refuses
    /// writes and gives out messages, by what it has, for as long as it does not know.
    Decision,
    /// There is nobody.
    Nobody,
    /// It did not come in time.
    Silence,
    /// Nothing of the servers, or nothing yet: a leader that is cut off says of each write for ever that
    /// another one is on its way.
    Nothing,
}

impl Tells {
    fn of<T>(answer: &Result<T, Failure>) -> Self {
        match answer {
            Ok(_) => Self::Decision,
            Err(Failure::TimedOut(_)) => Self::Silence,
            Err(failure) if failure.is_nobody_there() => Self::Nobody,
            Err(_) => Self::Nothing,
        }
    }

    /// The same where it was for these.
    const fn from(self, asks: Asks) -> Self {
        match (asks, self) {
            (Asks::Anybody, Self::Decision)
            | (Asks::Copy, Self::Decision | Self::Nobody)
            | (Asks::Elsewhere, _) => Self::Nothing,
            (_, told) => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::error::{ApiError, code};

    fn api(err_code: u32) -> Result<(), Failure> {
        Err(ApiError { code: 400, err_code, description: String::new() }.into())
    }

    #[rstest]
    #[case::stored(Ok(()), Tells::Decision)]
    #[case::a_lost_race(api(code::WRONG_LAST_SEQUENCE), Tells::Nothing)]
    #[case::a_race_that_is_not_over(api(code::WRITE_IN_FLIGHT), Tells::Nothing)]
    #[case::no_cluster(api(code::UNAVAILABLE), Tells::Nobody)]
    #[case::nobody_listens(Err(Failure::NoResponders), Tells::Nobody)]
    #[case::silence(Err(Failure::TimedOut(SLOW)), Tells::Silence)]
    #[case::the_connection_broke(Err(Failure::Closed), Tells::Nothing)]
    #[case::none_was_there(Err(Failure::Disconnected), Tells::Nothing)]
    fn an_answer_tells_of_the_servers(#[case] answer: Result<(), Failure>, #[case] tells: Tells) {
        assert_eq!(Tells::of(&answer).from(Asks::Leader), tells);
    }

    /// A server that is cut off gives its own copy of what the bucket is like, for as long as it is.
    #[rstest]
    #[case::its_own_copy(Asks::Anybody, Ok(()), Tells::Nothing)]
    #[case::it_has_nobody_to_ask(Asks::Anybody, Err(Failure::NoResponders), Tells::Nobody)]
    #[case::it_offers_no_copies(Asks::Copy, Err(Failure::NoResponders), Tells::Nothing)]
    #[case::another_stream(Asks::Elsewhere, Err(Failure::NoResponders), Tells::Nothing)]
    #[case::another_streams_leader(Asks::Elsewhere, Ok(()), Tells::Nothing)]
    fn what_does_not_come_from_the_leader_tells_less(
        #[case] asks: Asks,
        #[case] answer: Result<(), Failure>,
        #[case] tells: Tells,
    ) {
        assert_eq!(Tells::of(&answer).from(asks), tells);
    }
}
