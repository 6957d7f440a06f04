//! Who is over, who is stale, who still holds. Nothing here asks the store.

use std::time::Duration;

use lease_core::{Freshness, Holding, LossReason, Mode};

use crate::listing::{Listing, Seen};
use crate::revision::At;
use crate::time::StoreTime;

/// The ttl of the claim that raises the epoch when a granted exclusive is broken: time enough to
/// release it.
pub(crate) const RAISING_TTL: Duration = Duration::from_secs(5);

/// What the store's clock shows now, as far as this client can tell: not earlier than `from`, not
/// later than `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Now {
    pub(crate) from: StoreTime,
    pub(crate) to: StoreTime,
}

impl Now {
    /// How old a write is at the least. A time in the store's future has no age.
    pub(crate) fn age(self, modified: StoreTime, resolution: Duration) -> Duration {
        self.from.since(modified).saturating_sub(resolution)
    }

    pub(crate) fn freshness(
        self,
        modified: StoreTime,
        ttl: Duration,
        resolution: Duration,
    ) -> Freshness {
        match ttl.saturating_sub(self.age(modified, resolution)) {
            Duration::ZERO => Freshness::Stale,
            left => Freshness::Fresh { left },
        }
    }

    /// Whether a closer look at the store's clock could change that.
    pub(crate) fn is_close(self, modified: StoreTime, ttl: Duration, resolution: Duration) -> bool {
        self.age(modified, resolution) < ttl
            && self.to.since(modified).saturating_sub(resolution) >= ttl
    }
}

/// Whether a killed claim is over: it was condemned a whole ttl after its last heartbeat.
///
/// Judged by the two files alone, so every reader judges alike and no reader's clock is asked. A
/// heartbeat that lands after the mark makes the claim count again, until somebody kills it again;
/// its owner's check found the mark and stopped.
pub(crate) fn is_over(record: &Seen, killed: &Seen, ttl: Duration, resolution: Duration) -> bool {
    killed.modified.since(record.modified) >= ttl.saturating_add(resolution)
}

/// What a listing says of one's own claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) seen: Seen,
    /// For a writer: whether an exclusive waits for it to end.
    pub(crate) drain: bool,
}

/// Whether one's own claim still counts, by a listing that was asked for after one's last write.
pub(crate) fn own(listing: &Listing, mine: &Holding, at: &At) -> Result<Own, LossReason> {
    if at.genesis.is_none() || listing.genesis() != at.genesis {
        return Err(LossReason::StateGone);
    }
    let files = match mine.mode {
        Mode::Writer => listing.writers.get(&mine.nonce),
        Mode::Exclusive => at.n.and_then(|n| listing.exclusives.get(&n)),
    };
    if mine.mode == Mode::Exclusive && at.n.is_none_or(|n| listing.is_passed(n)) {
        return Err(LossReason::Displaced);
    }
    let files = files.ok_or(LossReason::Displaced)?;
    // An adoption takes the record as it stood at one write. Whoever knows of no later one has lost
    // it to the adopter.
    if files.adopted.iter().any(|beat| *beat >= mine.acknowledged) {
        return Err(LossReason::HandedOver);
    }
    if files.is_condemned() || files.released {
        return Err(LossReason::Displaced);
    }
    // Somebody deleted the mark by hand: the epoch would be given again.
    let granted = mine.mode == Mode::Exclusive && mine.epoch.is_some();
    if granted && !is_granted(listing, at) {
        return Err(LossReason::StateGone);
    }
    let seen = files.record.clone().ok_or(LossReason::Displaced)?;
    let drain = mine.mode == Mode::Writer && listing.in_the_way().next().is_some();
    Ok(Own { seen, drain })
}

/// Whether one's own exclusive claim is there as a granted one.
fn is_granted(listing: &Listing, at: &At) -> bool {
    at.n.is_some_and(|n| listing.is_granted(n, at.at_once))
}

/// Whether a heartbeat seems to have brought one's own file back after all the state was erased, so
/// that removing it takes nobody's protection away.
///
/// An exclusive that is still there as a granted one was not erased, only `genesis` was; and where
/// an exclusive waits, a writer's file is left to expire, since it may be what that one waits for.
pub(crate) fn is_resurrected(listing: &Listing, mine: &Holding, at: &At) -> bool {
    match mine.mode {
        Mode::Exclusive => !is_granted(listing, at),
        Mode::Writer => listing.in_the_way().next().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: f64) -> StoreTime {
        StoreTime::since_1970(Duration::from_secs_f64(seconds))
    }

    fn seen(seconds: f64) -> Seen {
        Seen { stamp: "1".into(), modified: at(seconds), size: 1, tagged: true }
    }

    #[rstest]
    #[case::young(105.0, Freshness::Fresh { left: SECOND * 6 })]
    #[case::within_the_resolution(110.5, Freshness::Fresh { left: SECOND / 2 })]
    #[case::past_it(111.0, Freshness::Stale)]
    #[case::written_in_the_future(90.0, Freshness::Fresh { left: SECOND * 10 })]
    fn a_record_is_stale_once_it_is_surely_older_than_its_ttl(
        #[case] now: f64,
        #[case] expected: Freshness,
    ) {
        let now = Now { from: at(now), to: at(now) };
        assert_eq!(now.freshness(at(100.0), SECOND * 10, SECOND), expected);
    }

    #[test]
    fn a_closer_look_is_worth_it_only_where_it_could_change_something() {
        let close =
            |from, to| Now { from: at(from), to: at(to) }.is_close(at(100.0), SECOND * 10, SECOND);
        assert!(!close(105.0, 106.0));
        assert!(close(110.9, 111.1));
        assert!(!close(111.0, 112.0));
    }

    #[rstest]
    #[case::condemned_too_early(105.0, false)]
    #[case::within_the_resolution(110.9, false)]
    #[case::condemned_when_it_was_stale(111.0, true)]
    #[case::renewed_since(99.0, false)]
    fn a_condemned_claim_is_over_by_its_two_files_alone(
        #[case] killed: f64,
        #[case] expected: bool,
    ) {
        assert_eq!(is_over(&seen(100.0), &seen(killed), SECOND * 10, SECOND), expected);
    }
}
