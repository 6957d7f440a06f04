//! What the answers to requests, and their absence, tell of the server that they go through.

use std::pin::pin;
use std::time::Duration;

use lease_core::Moment;
use lease_core::clock::within;

use crate::error::Failure;
use crate::link::Link;

/// A server that has not answered for so long is left for another one; the answer is still waited for.
const SILENCE: Duration = Duration::from_secs(3);
/// A request that is dropped without an answer after so long tells of a silent server as well: its
/// caller has less patience.
const SLOW: Duration = Duration::from_secs(2);

/// Whom a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Whoever leads the bucket: its answer shows that the server reaches it.
    Leader,
    /// Any server that keeps the bucket, be it cut off: only silence tells something.
    Anybody,
    /// Another stream's servers, or a second question about a first failure: they tell nothing.
    Elsewhere,
}

/// A request that waits for its answer.
struct Pending<'l> {
    link: &'l Link,
    asks: Asks,
    sent: Moment,
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
        let mut pending = Pending { link: self, asks, sent: self.clock().now(), answered: false };
        let answer = pending.wait(request).await;
        pending.answered = true;
        match Tells::of(&answer).from(asks) {
            Tells::Nobody => self.undecided(self.clock().now()),
            Tells::Decision => self.decided(),
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
        if self.asks != Asks::Elsewhere {
            self.link.suspect();
        }
        let answer = within(clock, patience.saturating_sub(silence), request).await;
        answer.unwrap_or(Err(Failure::TimedOut(patience)))
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        let slow = || self.link.clock().now().since(self.sent) >= SLOW;
        if !self.answered && self.asks != Asks::Elsewhere && slow() {
            self.link.undecided(self.sent);
        }
    }
}

/// What an answer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    /// There is somebody who decides, whatever he has decided.
    Decision,
    /// There is nobody.
    Nobody,
    /// Nothing of the servers, or nothing yet: a leader that is cut off says of each write for ever that
    /// another one is on its way.
    Nothing,
}

impl Tells {
    fn of<T>(answer: &Result<T, Failure>) -> Self {
        match answer {
            Err(failure) if failure.is_nobody_there() => Self::Nobody,
            Err(Failure::JetStream(error)) if error.is_in_flight() => Self::Nothing,
            Ok(_) | Err(Failure::JetStream(_)) => Self::Decision,
            Err(_) => Self::Nothing,
        }
    }

    /// The same where it was for these.
    const fn from(self, asks: Asks) -> Self {
        match asks {
            Asks::Leader => self,
            Asks::Anybody | Asks::Elsewhere => Self::Nothing,
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
    #[case::a_lost_race(api(code::WRONG_LAST_SEQUENCE), Tells::Decision)]
    #[case::no_such_key(api(code::NO_MESSAGE), Tells::Decision)]
    #[case::a_race_that_is_not_over(api(code::WRITE_IN_FLIGHT), Tells::Nothing)]
    #[case::no_cluster(api(code::UNAVAILABLE), Tells::Nobody)]
    #[case::nobody_listens(Err(Failure::NoResponders), Tells::Nobody)]
    #[case::silence(Err(Failure::TimedOut(SLOW)), Tells::Nothing)]
    #[case::the_connection_broke(Err(Failure::Closed), Tells::Nothing)]
    #[case::none_was_there(Err(Failure::Disconnected), Tells::Nothing)]
    fn an_answer_tells_of_the_servers(#[case] answer: Result<(), Failure>, #[case] tells: Tells) {
        assert_eq!(Tells::of(&answer).from(Asks::Leader), tells);
    }

    /// A server that is cut off gives its own copy of what the bucket is like, for as long as it is.
    #[rstest]
    fn what_does_not_come_from_the_leader_tells_nothing(
        #[values(Asks::Anybody, Asks::Elsewhere)] asks: Asks,
        #[values(Ok(()), Err(Failure::NoResponders))] answer: Result<(), Failure>,
    ) {
        assert_eq!(Tells::of(&answer).from(asks), Tells::Nothing);
    }
}
