//! A good history is clean, and each rule catches the history that breaks it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use faults::event::{Answer, Event, Kind, Resource, Thing, What, Who};
use faults::judge::{Rule, Verdict, judge};
use leasehold::{Epoch, Mode, Nonce, Token};
use rstest::rstest;

const SECOND: u64 = 1_000_000_000;
const ANN: Who = Who::Client(1);
const BOB: Who = Who::Client(2);

/// A history under construction.
#[derive(Default)]
struct Story {
    events: Vec<Event>,
    calls: u64,
}

impl Story {
    fn tell(&mut self, at: u64, who: Who, what: What) {
        self.events.push(Event { at, who, what });
    }

    /// `who` asks just before `from`, is granted, believes and lets go at `to`.
    fn holds(&mut self, who: Who, mode: Mode, epoch: u64, from: u64, to: u64) -> Nonce {
        let nonce = self.believes(who, mode, epoch, from, to);
        self.tell(to + 1, who, What::LetsGo { nonce });
        nonce
    }

    fn believes(&mut self, who: Who, mode: Mode, epoch: u64, from: u64, to: u64) -> Nonce {
        self.calls += 1;
        let (call, name, epoch) = (self.calls, "job".to_owned(), Epoch::new(epoch).unwrap());
        let nonce: Nonce = format!("{call:032x}").parse().unwrap();
        let token = Token::new(mode, epoch);
        let asks = What::Asks { call, name: name.clone(), mode, wait_ms: 0 };
        self.tell(from - 10, who, asks);
        self.tell(from - 5, who, What::Granted { call, name, mode, epoch, token, nonce });
        self.tell(to, who, What::Held { nonce, from, to });
        nonce
    }

    fn arrives(&mut self, at: u64, nonce: Nonce, number: u64, kind: Kind, admitted: bool) {
        let token = Token::from_number(number);
        let name = "job".to_owned();
        let resource = Resource::Fenced;
        let what = What::Arrived { nonce, name, resource, kind, token, admitted };
        self.tell(at, Who::Resource, what);
    }

    /// Frames it as a whole run is.
    fn verdict(mut self) -> Verdict {
        let names = vec!["job".to_owned()];
        let job = || names[0].clone();
        let backend = "toy".to_owned();
        let began = What::Began { backend, seed: 1, ttl_ms: 2000, names: names.clone() };
        self.tell(0, Who::Harness, began);
        self.tell(1, Who::Nemesis, What::Spoils { fault: "a server".into() });
        self.tell(2, Who::Nemesis, What::Mends { fault: "a server".into() });
        let end = 1000 * SECOND;
        self.tell(end, Who::Harness, What::Calm);
        self.tell(end, ANN, What::Turn { name: job(), problem: None });
        self.tell(end, Who::Harness, What::ClientEnded { client: 1, problem: None });
        self.tell(end, Who::Harness, What::Newcomer { name: job(), problem: None });
        self.tell(end, Who::Harness, What::Left { name: job(), holders: vec![] });
        self.tell(end, Who::Harness, What::Knows { names });
        self.tell(end, Who::Harness, What::Remains { things: vec![] });
        self.events.sort_by_key(|event| event.at);
        judge(&self.events)
    }

    /// Two turns, one after the other, and a write.
    fn good() -> Self {
        let mut story = Self::default();
        let anns = story.holds(ANN, Mode::Exclusive, 1, SECOND, 2 * SECOND);
        story.arrives(SECOND + 1, anns, 2, Kind::Announcement, true);
        let bobs = story.holds(BOB, Mode::Exclusive, 2, 3 * SECOND, 4 * SECOND);
        story.arrives(3 * SECOND + 1, bobs, 4, Kind::Announcement, true);
        story
    }
}

#[track_caller]
fn breaks(story: Story, rule: Rule) {
    let verdict = story.verdict();
    assert!(!verdict.violations.is_empty(), "it is taken for clean");
    assert!(verdict.violations.iter().all(|violation| violation.rule == rule), "{verdict:#?}");
}

#[track_caller]
fn is_clean(story: Story) -> Verdict {
    let verdict = story.verdict();
    assert!(verdict.is_clean(), "{verdict:#?}");
    verdict
}

#[test]
fn a_good_history_is_clean_and_counted() {
    let verdict = is_clean(Story::good());
    assert_eq!(
        verdict.to_string(),
        "toy: 2 grants, 1 faults, 0 overlaps, 0 epoch regressions, 0 stale writes accepted, \
         longest outage 0.0 s"
    );
}

#[rstest]
#[case(Mode::Exclusive, Mode::Exclusive)]
#[case(Mode::Exclusive, Mode::Writer)]
#[case(Mode::Writer, Mode::Exclusive)]
fn beliefs_that_exclude_each_other_do_not_overlap(#[case] first: Mode, #[case] second: Mode) {
    let mut story = Story::good();
    story.holds(ANN, first, 7, 10 * SECOND, 12 * SECOND);
    // One that ends before does not hide the one that lasts.
    story.holds(ANN, first, if first == Mode::Writer { 7 } else { 8 }, 13 * SECOND, 20 * SECOND);
    story.holds(BOB, second, if second == Mode::Writer { 8 } else { 9 }, 19 * SECOND, 21 * SECOND);
    breaks(story, Rule::Overlap);
}

#[test]
fn writers_hold_beside_each_other() {
    let mut story = Story::good();
    story.holds(ANN, Mode::Writer, 2, 10 * SECOND, 12 * SECOND);
    story.holds(BOB, Mode::Writer, 2, 11 * SECOND, 13 * SECOND);
    is_clean(story);
}

#[test]
fn a_broken_lease_may_be_believed_in_beside_its_successor_and_one_that_was_not_may_not() {
    for answer in [Answer::Done, Answer::Unclear, Answer::NotDone] {
        let mut story = Story::good();
        let nonce = story.holds(ANN, Mode::Exclusive, 3, 10 * SECOND, 13 * SECOND);
        let name = "job".to_owned();
        story.tell(11 * SECOND, BOB, What::Breaks { call: 99, name, nonce });
        let said = String::new();
        story.tell(11 * SECOND + 5, BOB, What::Broke { call: 99, answer, said });
        story.holds(BOB, Mode::Exclusive, 5, 12 * SECOND, 14 * SECOND);
        if answer == Answer::NotDone {
            breaks(story, Rule::Overlap);
        } else {
            is_clean(story);
        }
    }
}

#[rstest]
#[case::falls(Mode::Exclusive, 5, Mode::Exclusive, 4)]
#[case::repeats(Mode::Exclusive, 5, Mode::Exclusive, 5)]
#[case::an_exclusive_as_the_writer_before(Mode::Writer, 5, Mode::Exclusive, 5)]
#[case::a_writer_below_the_exclusive_before(Mode::Exclusive, 5, Mode::Writer, 4)]
#[case::a_writer_below_the_writer_before(Mode::Writer, 5, Mode::Writer, 4)]
fn epochs_do_not_fall(
    #[case] first: Mode,
    #[case] one: u64,
    #[case] second: Mode,
    #[case] other: u64,
) {
    let mut story = Story::good();
    story.holds(ANN, first, one, 10 * SECOND, 11 * SECOND);
    story.holds(BOB, second, other, 12 * SECOND, 13 * SECOND);
    breaks(story, Rule::Epochs);
}

#[test]
fn writers_beside_each_other_share_their_epoch() {
    let mut story = Story::good();
    story.holds(ANN, Mode::Writer, 5, 10 * SECOND, 12 * SECOND);
    story.holds(BOB, Mode::Writer, 6, 11 * SECOND, 13 * SECOND);
    breaks(story, Rule::Epochs);
}

#[test]
fn an_epoch_is_not_given_twice_even_where_nobody_believed() {
    let mut story = Story::good();
    // Its holder was stopped when the answer came: its check has never said that it holds.
    story.holds(ANN, Mode::Exclusive, 2, 9 * SECOND, 9 * SECOND);
    breaks(story, Rule::Epochs);
}

#[test]
fn a_fence_takes_no_lower_token_after_a_higher_one() {
    let mut story = Story::good();
    let late = story.holds(ANN, Mode::Writer, 2, 10 * SECOND, 11 * SECOND);
    story.arrives(10 * SECOND + 1, late, 5, Kind::Announcement, true);
    let next = story.holds(BOB, Mode::Exclusive, 3, 12 * SECOND, 13 * SECOND);
    story.arrives(12 * SECOND + 1, next, 6, Kind::Announcement, true);
    story.arrives(12 * SECOND + 2, late, 5, Kind::Write, true);
    breaks(story, Rule::StaleWrite);
}

#[test]
fn a_fence_takes_nothing_of_a_superseded_holder_whatever_its_token() {
    let mut story = Story::good();
    let late = story.holds(ANN, Mode::Writer, 2, 10 * SECOND, 11 * SECOND);
    let next = story.holds(BOB, Mode::Exclusive, 3, 12 * SECOND, 13 * SECOND);
    story.arrives(12 * SECOND + 1, next, 6, Kind::Announcement, true);
    story.arrives(12 * SECOND + 2, late, 7, Kind::Write, true);
    breaks(story, Rule::StaleWrite);
}

#[test]
fn a_fence_that_refuses_a_late_write_is_right_and_one_that_refuses_a_holder_is_not() {
    let mut story = Story::good();
    let late = story.holds(ANN, Mode::Writer, 2, 10 * SECOND, 11 * SECOND);
    story.arrives(12 * SECOND, late, 5, Kind::Write, false);
    assert_eq!(is_clean(story).refused_writes, 1);

    let mut story = Story::good();
    let mine = story.holds(ANN, Mode::Writer, 2, 10 * SECOND, 11 * SECOND);
    story.arrives(10 * SECOND + 5, mine, 5, Kind::Write, false);
    breaks(story, Rule::ValidWrite);
}

#[test]
fn stale_writes_that_an_unfenced_resource_takes_are_counted() {
    let mut story = Story::good();
    let late = story.holds(ANN, Mode::Exclusive, 3, 10 * SECOND, 11 * SECOND);
    for (at, number) in [(12, 8), (13, 6), (14, 8)] {
        let (name, resource) = ("job".to_owned(), Resource::Unfenced);
        let (kind, token) = (Kind::Write, Token::from_number(number));
        let what = What::Arrived { nonce: late, name, resource, kind, token, admitted: true };
        story.tell(at * SECOND, Who::Resource, what);
    }
    assert_eq!(is_clean(story).unfenced_stale_writes, 1);
}

#[test]
fn a_loss_is_told_before_it_matters() {
    let told = |at: Option<u64>, more: &[What]| {
        let mut story = Story::good();
        let nonce = story.believes(ANN, Mode::Exclusive, 3, 10 * SECOND, 12 * SECOND);
        story.holds(BOB, Mode::Exclusive, 4, 13 * SECOND, 14 * SECOND);
        if let Some(at) = at {
            story.tell(at, ANN, What::Lost { nonce, reason: "displaced".into() });
        }
        more.iter().for_each(|what| story.tell(30 * SECOND, Who::Nemesis, what.clone()));
        story
    };
    is_clean(told(Some(12 * SECOND), &[]));
    breaks(told(Some(31 * SECOND), &[]), Rule::Notice);
    is_clean(told(Some(31 * SECOND), &[What::GoesOn { client: 1 }]));
    breaks(told(Some(31 * SECOND), &[What::GoesOn { client: 2 }]), Rule::Notice);
    breaks(told(None, &[]), Rule::Notice);
    is_clean(told(None, &[What::Kills { client: 1 }]));
}

#[test]
fn a_lease_does_not_run_out_while_nothing_is_in_the_way_of_its_renewals() {
    let stops = |client| What::Stops { client };
    let goes_on = |client| What::GoesOn { client };
    let fault = || "a way".to_owned();
    let runs_out = |reason: &str, more: Vec<(u64, Who, What)>| {
        let mut story = Story::good();
        let nonce = story.believes(ANN, Mode::Exclusive, 3, 100 * SECOND, 110 * SECOND);
        story.tell(110 * SECOND + 1, ANN, What::Over { nonce });
        story.tell(110 * SECOND + 2, ANN, What::Lost { nonce, reason: reason.into() });
        more.into_iter().for_each(|(at, who, what)| story.tell(at * SECOND, who, what));
        story
    };
    let nemesis =
        |from, what, to, until| vec![(from, Who::Nemesis, what), (to, Who::Nemesis, until)];
    let spoils = || What::Spoils { fault: fault() };
    let mends = || What::Mends { fault: fault() };

    breaks(runs_out("expired", vec![]), Rule::Kept);
    is_clean(runs_out("displaced", vec![]));
    is_clean(runs_out("expired", nemesis(105, stops(1), 106, goes_on(1))));
    breaks(runs_out("expired", nemesis(105, stops(2), 106, goes_on(2))), Rule::Kept);
    is_clean(runs_out("expired", nemesis(105, spoils(), 106, mends())));
    // It is felt for a ttl longer.
    is_clean(runs_out("expired", nemesis(90, spoils(), 99, mends())));
    breaks(runs_out("expired", nemesis(90, spoils(), 97, mends())), Rule::Kept);
    // The machine had no time for anybody, or for one that was stopped.
    let late = |who| (106, who, What::Late { by_ms: 900 });
    is_clean(runs_out("expired", vec![late(BOB)]));
    let mut explained = nemesis(105, stops(2), 106, goes_on(2));
    explained.push(late(BOB));
    breaks(runs_out("expired", explained), Rule::Kept);
}

#[test]
fn leases_that_nothing_disturbs_are_counted() {
    let before = is_clean(Story::good()).undisturbed;
    let mut story = Story::good();
    story.holds(ANN, Mode::Exclusive, 3, 100 * SECOND, 103 * SECOND);
    story.holds(ANN, Mode::Exclusive, 4, 105 * SECOND, 105 * SECOND + SECOND / 2);
    assert_eq!(is_clean(story).undisturbed, before + 1);
}

#[test]
fn whoever_does_not_get_on_after_the_faults_is_told() {
    let problem = || Some("held".to_owned());
    for what in [
        What::Turn { name: "job".into(), problem: problem() },
        What::Newcomer { name: "job".into(), problem: problem() },
        What::ClientEnded { client: 9, problem: None },
    ] {
        let mut story = Story::good();
        story.tell(999 * SECOND, BOB, what);
        breaks(story, Rule::Progress);
    }
}

#[test]
fn what_is_left_behind_is_told() {
    for what in [
        What::Left { name: "job".into(), holders: vec!["somebody".into()] },
        What::Knows { names: vec!["another".into()] },
        What::ClientEnded { client: 1, problem: Some("it hangs".into()) },
        What::Threads { before: 5, after: 50 },
    ] {
        let mut story = Story::good();
        story.tell(999 * SECOND, Who::Harness, what);
        breaks(story, Rule::Leak);
    }
}

/// So many things, each with the number in its key, that were written so many seconds ago.
fn remains(count: u64, key: fn(u64) -> String, age: u64, bytes: u64) -> Story {
    let mut story = Story::good();
    let thing = |number| Thing { key: key(number), age_ms: age * 1000, bytes };
    let things = (0..count).map(thing).collect();
    story.tell(1000 * SECOND, Who::Harness, What::Remains { things });
    story
}

#[rstest]
#[case::documents(1, |_| "leases/job".to_owned(), 0, 5_000)]
#[case::anchors(1, |_| "r.job.x".to_owned(), 90_000, 100)]
#[case::a_genesis(1, |_| "job/genesis".to_owned(), 90_000, 0)]
#[case::claims_that_matter(10, |n| format!("job/x-{n:016}"), 90_000, 100)]
#[case::files_of_a_claim(30, |n| format!("job/x-0000000000000001.a{n}"), 90_000, 100)]
#[case::new_marks_in_a_folder(90, |n| format!("job/s-{n:032x}.kil"), 60, 10)]
#[case::new_marks_in_a_stream(90, |n| format!("r.job.w.{n:032x}"), 60, 0)]
#[case::marks_of_a_fault(2, |n| format!("r.job.w.{n:032x}"), 1_800, 0)]
#[case::scraps_of_a_fault(4, |n| format!("job/x-{n:016}#1"), 1_800, 0)]
#[case::looks_at_the_clock(9, |n| format!("p.{n}"), 60, 0)]
#[case::consumers(4, |n| format!("consumer/{n}"), 600, 0)]
fn what_a_store_keeps_by_its_page_is_no_leak(
    #[case] count: u64,
    #[case] key: fn(u64) -> String,
    #[case] age: u64,
    #[case] bytes: u64,
) {
    is_clean(remains(count, key, age, bytes));
}

#[rstest]
#[case::a_document_of_no_name(1, |_| "leases/other".to_owned(), 0, 100)]
#[case::a_document_that_grows(1, |_| "leases/job".to_owned(), 0, 100_000)]
#[case::a_strange_file(1, |_| "job/notes".to_owned(), 0, 0)]
#[case::a_strange_subject(1, |_| "r.other.x".to_owned(), 0, 0)]
#[case::claims_that_decide_nothing(11, |n| format!("job/x-{n:016}"), 1, 100)]
#[case::marks_in_a_folder(3, |n| format!("job/s-{n:032x}.kil"), 1_800, 10)]
#[case::marks_in_a_stream(3, |n| format!("r.job.w.{n:032x}"), 1_800, 0)]
#[case::a_mark_that_stays_for_ever(1, |n| format!("r.job.w.{n:032x}"), 9_000, 0)]
#[case::files_half_written(5, |n| format!("job/x-{n:016}#1"), 1, 0)]
#[case::looks_in_a_bucket(5, |n| format!("p-{n:032x}"), 1, 0)]
#[case::a_scrap_that_nobody_finds(1, |n| format!("p-{n:032x}"), 9_000, 0)]
#[case::looks_in_a_stream(1, |n| format!("p.{n}"), 600, 0)]
#[case::consumers(5, |n| format!("consumer/{n}"), 600, 0)]
fn what_a_store_keeps_beyond_that_is(
    #[case] count: u64,
    #[case] key: fn(u64) -> String,
    #[case] age: u64,
    #[case] bytes: u64,
) {
    breaks(remains(count, key, age, bytes), Rule::Leak);
}

#[test]
fn a_run_in_which_nothing_happened_proves_nothing() {
    breaks(Story::default(), Rule::Empty);
    assert!(!judge(&[]).is_clean());
}

#[test]
fn an_outage_is_the_time_that_somebody_asks_and_nobody_holds() {
    let mut story = Story::good();
    let ask = |call| What::Asks { call, name: "job".into(), mode: Mode::Writer, wait_ms: 0 };
    let refused = |call| What::NotGranted { call, why: "no server".into() };
    story.tell(10 * SECOND, ANN, ask(100));
    story.tell(17 * SECOND, ANN, refused(100));
    // The second one asks on, but is stopped for most of it.
    story.tell(16 * SECOND, BOB, ask(101));
    story.tell(18 * SECOND, Who::Nemesis, What::Stops { client: 2 });
    story.tell(60 * SECOND, Who::Nemesis, What::GoesOn { client: 2 });
    story.tell(61 * SECOND, BOB, refused(101));
    // Whoever waits for a holder is in no outage.
    story.tell(70 * SECOND, BOB, ask(102));
    story.holds(ANN, Mode::Exclusive, 3, 70 * SECOND + 10, 90 * SECOND);
    story.tell(90 * SECOND, BOB, refused(102));
    assert_eq!(is_clean(story).longest_outage, Duration::from_secs(8));
}
