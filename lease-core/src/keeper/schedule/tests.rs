//! The schedule, told the time.

use std::time::Duration;

use rstest::rstest;

use super::*;
use crate::{Epoch, Mode, Name, Nonce, Revision};

const SECOND: Duration = Duration::from_secs(1);
const START: Moment = Moment::after_origin(Duration::from_secs(100));
const ID: LeaseId = LeaseId(1);

/// A ttl of 15 s: renewed every 4.5 to 5 s, believed in for 14.25 s.
fn timing() -> Timing {
    Timing::default()
}

fn belief() -> Duration {
    timing().ttl() - timing().margin()
}

/// A ttl of half an hour: renewed every ten minutes.
fn long_timing() -> Timing {
    Timing::with_ttl(SECOND * 1800).build().unwrap()
}

fn record() -> Holding {
    Holding {
        name: Name::parse("job").unwrap(),
        mode: Mode::Exclusive,
        nonce: Nonce::from_bytes([1; 16]),
        ttl: timing().ttl(),
        epoch: Epoch::new(7),
        revision: Revision::new("0"),
        acknowledged: 0,
        beat: 0,
    }
}

fn one_lease() -> Schedule {
    let mut schedule = Schedule::new(Jitter::seeded(1));
    schedule.add(ID, record(), timing(), belief(), START);
    schedule
}

fn renewed(revision: &str) -> Result<Renewed> {
    Ok(Renewed::Renewed { revision: Revision::new(revision), drain: false })
}

fn unanswered() -> Result<Renewed> {
    Err(Error::unclear("test", "nothing came back"))
}

#[test]
fn a_renewal_is_due_at_a_third_of_the_ttl() {
    let mut schedule = one_lease();
    assert!(schedule.renewals(START.plus(SECOND * 4)).is_empty());

    let due = schedule.renewals(START.plus(SECOND * 5));
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].1.acknowledged, due[0].1.beat), (0, 1));
}

/// R4: the answer took four seconds, and the belief is not longer for it.
#[test]
fn the_belief_counts_from_the_send() {
    let mut schedule = one_lease();
    let sent = START.plus(SECOND * 5);
    schedule.renewals(sent);

    let verdict = schedule.answered(ID, sent, &renewed("1"), sent.plus(SECOND * 4));

    assert_eq!(verdict, Verdict::Held { until: sent.plus(belief()), drain: false });
}

#[test]
fn only_one_renewal_is_in_flight() {
    let mut schedule = one_lease();
    let sent = START.plus(SECOND * 5);
    assert_eq!(schedule.renewals(sent).len(), 1);
    assert!(schedule.renewals(sent.plus(SECOND * 6)).is_empty());
}

/// After a stall there is one renewal, not one for each that was missed.
#[test]
fn a_stall_is_not_caught_up() {
    let mut schedule = one_lease();
    let late = START.plus(SECOND * 14);
    assert_eq!(schedule.renewals(late).len(), 1);
    schedule.answered(ID, late, &renewed("1"), late);
    assert!(schedule.renewals(late.plus(SECOND * 4)).is_empty());
}

#[test]
fn an_answer_after_the_end_of_the_belief_revives_nothing() {
    let mut schedule = one_lease();
    let sent = START.plus(SECOND * 14);
    schedule.renewals(sent);
    let late = START.plus(belief());
    assert_eq!(
        schedule.answered(ID, sent, &renewed("1"), late),
        Verdict::Lost(LossReason::Expired)
    );
    assert!(schedule.is_empty());
}

#[test]
fn a_lease_expires_without_any_answer() {
    let mut schedule = one_lease();
    schedule.renewals(START.plus(SECOND * 5));
    assert_eq!(schedule.wake_at(), Some(START.plus(belief())));
    assert!(schedule.expired(START.plus(belief()).minus(Duration::from_nanos(1))).is_empty());
    assert_eq!(schedule.expired(START.plus(belief())), [ID]);
    assert_eq!(schedule.wake_at(), None);
}

/// Each try comes sooner after the last, until the belief is over.
#[test]
fn a_failed_renewal_is_tried_more_and_more_often() {
    let mut schedule = one_lease();
    let mut now = START.plus(SECOND * 5);
    let mut pauses = Vec::new();
    while schedule.expired(now).is_empty() {
        if !schedule.renewals(now).is_empty() {
            assert_eq!(schedule.answered(ID, now, &unanswered(), now), Verdict::Doubtful);
        }
        let next = schedule.wake_at().unwrap();
        pauses.push(next.since(now));
        now = next;
    }
    assert!(pauses.len() > 8, "{pauses:?}");
    assert!(pauses[..5].is_sorted_by(|a, b| a > b), "{pauses:?}");
}

/// R8: the beat of a renewal that was not answered is never used again.
#[test]
fn an_unanswered_renewal_leaves_its_beat_behind() {
    let mut schedule = one_lease();
    let first = START.plus(SECOND * 5);
    schedule.renewals(first);
    schedule.answered(ID, first, &unanswered(), first.plus(SECOND));

    let second = schedule.wake_at().unwrap();
    let due = schedule.renewals(second);

    assert_eq!((due[0].1.acknowledged, due[0].1.beat), (0, 2));
    schedule.answered(ID, second, &renewed("2"), second);
    assert_eq!(schedule.holding(ID).unwrap().acknowledged, 2);
}

#[test]
fn another_holder_is_lost_to_at_once() {
    let mut schedule = one_lease();
    let sent = START.plus(SECOND * 5);
    schedule.renewals(sent);
    let answer = Ok(Renewed::Lost(LossReason::Displaced));
    assert_eq!(schedule.answered(ID, sent, &answer, sent), Verdict::Lost(LossReason::Displaced));
    assert_eq!(schedule.wake_at(), None);
}

#[test]
fn an_answer_to_a_lease_that_is_not_kept_is_ignored() {
    let mut schedule = one_lease();
    let sent = START.plus(SECOND * 5);
    schedule.renewals(sent);
    schedule.remove(ID);
    assert_eq!(schedule.answered(ID, sent, &renewed("1"), sent), Verdict::Unknown);
    assert_eq!(one_lease().answered(ID, sent, &renewed("1"), sent), Verdict::Unknown);
}

/// R17: the store may judge by the shorter ttl from the moment it has it.
#[test]
fn a_shorter_ttl_cuts_the_belief_when_it_is_sent() {
    let mut schedule = one_lease();
    let short = Timing::with_ttl(SECOND * 3).build().unwrap();
    let now = START.plus(SECOND);
    schedule.retime(ID, short, SECOND * 2, now);

    let due = schedule.renewals(now);

    assert_eq!(due[0].1.ttl, SECOND * 3);
    assert_eq!(schedule.believed_until(ID), Some(now.plus(SECOND * 2)));
}

/// A renewal with the old ttl is on its way when the ttl is lengthened: its answer gives the old
/// belief, since the store judges by the old ttl, and the next renewal is due at once.
#[test]
fn a_longer_ttl_counts_only_for_the_renewal_that_carries_it() {
    let mut schedule = one_lease();
    let sent = START.plus(SECOND * 5);
    schedule.renewals(sent);
    let long = Timing::with_ttl(SECOND * 600).build().unwrap();
    schedule.retime(ID, long, SECOND * 570, sent.plus(SECOND));

    let answered = sent.plus(SECOND * 2);
    let verdict = schedule.answered(ID, sent, &renewed("1"), answered);

    assert_eq!(verdict, Verdict::Held { until: sent.plus(belief()), drain: false });
    assert_eq!(schedule.wake_at(), Some(answered));
    assert_eq!(schedule.renewals(answered)[0].1.ttl, SECOND * 600);
}

/// One request carries those that are due and those that are due soon, and no others.
#[test]
fn leases_that_are_due_about_now_go_together() {
    let mut schedule = Schedule::new(Jitter::seeded(2));
    assert!(schedule.is_empty());
    for (id, second) in [(1, 0), (2, 0), (3, 3)] {
        let sent = START.plus(SECOND * second);
        schedule.add(LeaseId(id), record(), timing(), belief(), sent);
    }
    assert_eq!((schedule.len(), schedule.is_empty()), (3, false));
    let first = schedule.wake_at().unwrap();
    let ids: Vec<_> = schedule.renewals(first).into_iter().map(|(id, _, _)| id).collect();
    assert_eq!(ids.len(), 2);
    assert!(!ids.contains(&LeaseId(3)));
}

/// A tenth of its own interval is how early a lease is renewed at the most, whatever is due beside
/// it: of these two the one has half a second, the other a minute.
#[rstest]
#[case::within_its_own(SECOND / 2, true)]
#[case::a_little_before(SECOND / 2 + Duration::from_nanos(1), false)]
fn no_lease_is_renewed_much_too_early(#[case] early: Duration, #[case] goes_along: bool) {
    let mut schedule = one_lease();
    let (now, long, other) = (START.plus(SECOND), long_timing(), LeaseId(2));
    schedule.add(other, record(), long, long.ttl() - long.margin(), START);
    // One is due now and the other so much later, to the nanosecond.
    schedule.retime(other, long, long.ttl() - long.margin(), now);
    schedule.retime(ID, timing(), belief(), now.plus(early));

    let ids: Vec<_> = schedule.renewals(now).into_iter().map(|(id, _, _)| id).collect();

    assert_eq!(ids, if goes_along { vec![other, ID] } else { vec![other] });
}

/// The lease that is due says how far ahead is looked: many others, of days, are left alone.
#[test]
fn a_short_lease_does_not_bring_a_long_one_along() {
    let mut schedule = one_lease();
    let (now, long) = (START.plus(SECOND * 5), long_timing());
    schedule.add(LeaseId(2), record(), long, long.ttl() - long.margin(), START);
    schedule.retime(LeaseId(2), long, long.ttl() - long.margin(), now.plus(SECOND));

    assert_eq!(schedule.renewals(now).len(), 1);
}

/// One that waits for its answer is left alone to the end of its belief, also while others are due.
#[test]
fn a_renewal_in_flight_is_not_sent_beside_another() {
    let mut schedule = one_lease();
    schedule.renewals(START.plus(SECOND * 5));
    let almost_over = START.plus(belief()).minus(SECOND / 10);
    schedule.add(LeaseId(2), record(), timing(), belief(), almost_over.minus(SECOND * 5));

    let ids: Vec<_> = schedule.renewals(almost_over).into_iter().map(|(id, _, _)| id).collect();

    assert_eq!(ids, [LeaseId(2)]);
}
