//! The smallest settings, in seconds: the protocol holds, and a rule that is left out is caught.

use protocol_model::files;
use protocol_model::general::{self, Mode};
use protocol_model::report::Tally;
use protocol_model::rules::Rule;
use protocol_model::run::{LIVENESS, Run, Verdict};

const W: Mode = Mode::Writer;
const X: Mode = Mode::Exclusive;

/// Far more than these settings have.
const STEPS: usize = 10_000_000;

fn general_form() -> general::Setting {
    general::Setting::new("WX", &[W, X])
}

fn file_form() -> files::Setting {
    files::Setting::new("XX", &[X, X])
}

fn holds(run: Run) -> Verdict {
    let verdict = run.verdict(STEPS);
    assert!(verdict.complete && verdict.finding.is_none(), "{verdict:#?}");
    verdict
}

#[test]
fn the_protocol_holds() {
    holds(Run::General(general_form()));
    holds(Run::Files(file_form()));
}

#[test]
fn everybody_gets_their_turn() {
    holds(Run::General(general::Setting { fair: true, deaths: 1, ..general_form() }));
    holds(Run::Files(files::Setting { fair: true, deaths: 1, ..file_form() }));
}

/// The shortest traces are known; a longer one would mean that the search is none, a shorter one
/// that the model was given a step that the protocol has not.
#[test]
fn a_rule_that_is_left_out_is_caught_by_its_shortest_trace() {
    let xx = general::Setting::new("XX", &[X, X]);
    let caught = [
        (Run::General(general_form()).without(Rule::R1), 10),
        (Run::General(xx).without(Rule::R12), 12),
        (Run::Files(file_form()).without(Rule::F6), 18),
    ];
    for (run, steps) in caught {
        let finding = run.verdict(STEPS).finding.expect("a rule is left out");
        assert_eq!(finding.way.len(), steps, "{finding:#?}");
        assert!(finding.way.iter().all(|words| !words.is_empty()), "{finding:#?}");
    }
}

#[test]
fn writers_that_do_not_look_keep_an_exclusive_waiting() {
    let fair = general::Setting { fair: true, ..general_form() };
    let finding = Run::General(fair).without(Rule::R24).verdict(STEPS).finding.unwrap();
    assert_eq!(finding.property, LIVENESS[1]);
    assert!(!finding.circle.is_empty());
}

/// Whoever refuses every takeover wants an operator to end what a crash left behind, and whoever
/// allows only a part of it gets the same.
#[test]
fn a_policy_that_refuses_waits_for_an_operator() {
    let dies = general::Setting { fair: true, deaths: 1, ..general_form() };
    let partly = [(false, false, false), (true, false, true), (true, true, false)];
    for (takeover, clear, evict) in partly {
        let refuses = general::Setting { takeover, clear, evict, ..dies };
        let finding = Run::General(refuses).verdict(STEPS).finding.expect("it waits for ever");
        assert_eq!(finding.property, LIVENESS[0], "{finding:#?}");
    }
}

#[test]
fn the_sum_says_what_was_caught() {
    let mut tally = Tally::default();
    let mut out = Vec::new();
    let run = Run::General(general_form());
    tally.correct(&[run], &mut out).unwrap();
    tally.broken(&[(Rule::R1, run.without(Rule::R1))], &mut out).unwrap();
    assert!(tally.is_as_it_should_be());
    assert!(tally.sum().starts_with("1 rules, 1 caught, 4 properties hold, "), "{}", tally.sum());

    tally.broken(&[(Rule::R24, run.without(Rule::R24))], &mut out).unwrap();
    assert!(!tally.is_as_it_should_be(), "a look is not what makes an overlap impossible");
}
