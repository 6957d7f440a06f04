//! What a deployment gives of what leases need: one check for each guarantee.
//!
//! A backend offers `examine(options)`, which asks the live store and tells a [`Checkup`]. What is
//! the same for all stores is tried out by [`try_out`], over the [contract](crate::Backend) alone.

use std::time::{Duration, SystemTime};

use crate::{Error, Result};

mod trial;

pub use trial::{scratch_name, try_out};

/// What leases need of their store: a name that stays, and the promise in a sentence.
///
/// ```
/// use lease_core::checkup::{Finding, Guarantee};
///
/// const FILE_STORAGE: Guarantee = Guarantee::new("storage", "a restart forgets no lease");
/// let check = FILE_STORAGE.broken("it is kept in memory", "make it anew with file storage");
/// assert!(matches!(check.finding, Finding::Broken { .. }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarantee {
    name: &'static str,
    promise: &'static str,
}

/// One guarantee, and what was found of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Which guarantee, as scripts know it: `conditional-create`. It is never renamed.
    pub name: &'static str,
    /// What it stands for, in a sentence.
    pub guarantee: &'static str,
    /// What was found.
    pub finding: Finding,
}

/// What was found of a guarantee. The texts are for people and may change in any release.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// It is there.
    Holds {
        /// What was seen of it.
        seen: String,
    },
    /// It is there, and something may take it away or makes it weaker.
    Doubtful {
        /// What is in doubt.
        what: String,
        /// What to change.
        fix: String,
    },
    /// It is not there: leases are wrong here, or cannot be taken at all.
    Broken {
        /// What is wrong.
        what: String,
        /// What to change.
        fix: String,
    },
    /// Nobody can tell from outside, or it was not tried.
    Unknown {
        /// Why.
        why: String,
    },
    /// The store did not answer: look again.
    Unanswered {
        /// What happened instead.
        why: String,
    },
}

/// What a checkup comes to, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing was found that leases need and do not get.
    Sound,
    /// Something is in doubt.
    Doubtful,
    /// The store did not answer all that was asked, so that nobody knows.
    Unanswered,
    /// A guarantee is not there.
    Broken,
}

/// All that was found of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkup {
    backend: &'static str,
    checks: Vec<Check>,
}

impl Checkup {
    /// What was found of a store of this kind.
    #[must_use]
    pub const fn new(backend: &'static str, checks: Vec<Check>) -> Self {
        Self { backend, checks }
    }

    /// Which kind of store it is, as [`Backend::kind`](crate::Backend::kind) says it.
    #[must_use]
    pub const fn backend(&self) -> &'static str {
        self.backend
    }

    /// The checks, in the order in which they were made. Where one is broken on which others rest,
    /// those are missing.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// The check of this name, if it was made.
    #[must_use]
    pub fn check(&self, name: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// What it comes to: the worst of all findings.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let of = |check: &Check| check.finding.verdict();
        self.checks.iter().map(of).max().unwrap_or(Verdict::Sound)
    }
}

impl Finding {
    /// What it comes to, were it the only one. What cannot be known is no reason for doubt.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        match self {
            Self::Holds { .. } | Self::Unknown { .. } => Verdict::Sound,
            Self::Doubtful { .. } => Verdict::Doubtful,
            Self::Broken { .. } => Verdict::Broken,
            Self::Unanswered { .. } => Verdict::Unanswered,
        }
    }
}

impl Guarantee {
    /// A name in small letters and hyphens, and what it stands for.
    #[must_use]
    pub const fn new(name: &'static str, promise: &'static str) -> Self {
        Self { name, promise }
    }

    const fn found(self, finding: Finding) -> Check {
        Check { name: self.name, guarantee: self.promise, finding }
    }

    /// It is there, as this shows.
    pub fn holds(self, seen: impl Into<String>) -> Check {
        self.found(Finding::Holds { seen: seen.into() })
    }

    /// It is there, but.
    pub fn doubtful(self, what: impl Into<String>, fix: impl Into<String>) -> Check {
        self.found(Finding::Doubtful { what: what.into(), fix: fix.into() })
    }

    /// It is not there.
    pub fn broken(self, what: impl Into<String>, fix: impl Into<String>) -> Check {
        self.found(Finding::Broken { what: what.into(), fix: fix.into() })
    }

    /// Nobody can tell, or it was not tried.
    pub fn unknown(self, why: impl Into<String>) -> Check {
        self.found(Finding::Unknown { why: why.into() })
    }

    /// What a failure tells of it: a setting that a person has to change, or no answer.
    #[must_use]
    pub fn failed(self, error: &Error) -> Check {
        let told = |text: &str| match std::error::Error::source(error).map(ToString::to_string) {
            Some(source) if !text.contains(&source) => format!("{text}: {source}"),
            _ => text.to_owned(),
        };
        self.found(match error {
            Error::Misconfigured { problem, fix, .. } => {
                Finding::Broken { what: told(problem), fix: fix.to_string() }
            }
            Error::Unavailable { .. } => Finding::Unanswered { why: told(&error.to_string()) },
            other => Finding::Broken {
                what: told(&other.to_string()),
                fix: "use another store, or report this".to_owned(),
            },
        })
    }

    /// What a probe found: that it holds, as was seen, or why not.
    #[must_use]
    pub fn judged(self, probed: &Result<String>) -> Check {
        match probed {
            Ok(seen) => self.holds(seen),
            Err(error) => self.failed(error),
        }
    }
}

/// How far the clock of a store may be from this machine's before a correction is to be feared.
const APART: Duration = Duration::from_secs(5);

/// Compares the clock of a store, as an answer told it that took this long, with this machine's:
/// more than 5 s and the answer's time apart is doubtful.
///
/// Leases need no clock here. But where the two differ, one is wrong, and a store's clock that is
/// set right jumps: forward it ends the leases of healthy holders.
#[must_use]
pub fn clock(store: SystemTime, here: SystemTime, took: Duration) -> Check {
    const CLOCK: Guarantee = Guarantee::new(
        "clock",
        "the store's clock, which judges all leases, need not be set forward or back",
    );
    let (apart, which) = match store.duration_since(here) {
        Ok(ahead) => (ahead, "ahead of"),
        Err(behind) => (behind.duration(), "behind"),
    };
    if apart <= APART + took {
        return CLOCK.holds(format!("within {:.1} s of this machine's", apart.as_secs_f64()));
    }
    CLOCK.doubtful(
        format!("it is {:.0} s {which} this machine's: one of them is wrong", apart.as_secs_f64()),
        "see which, and keep it right by NTP; where the store's is set forward by more than a ttl, \
         holders are taken for expired, so stop them first",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Guarantee = Guarantee::new("a", "a promise");

    #[test]
    fn the_worst_finding_is_the_verdict() {
        let verdict = |checks: Vec<Check>| Checkup::new("test", checks).verdict();
        assert_eq!(verdict(vec![]), Verdict::Sound);
        assert_eq!(verdict(vec![A.holds("seen"), A.unknown("who knows")]), Verdict::Sound);
        let unanswered = A.failed(&Error::unreached("test", "nobody there"));
        let doubtful = A.doubtful("weak", "make it strong");
        assert_eq!(verdict(vec![doubtful.clone(), A.holds("seen")]), Verdict::Doubtful);
        assert_eq!(verdict(vec![unanswered.clone(), doubtful]), Verdict::Unanswered);
        let broken = A.failed(&Error::misconfigured("wrong", "right it"));
        assert_eq!(
            broken.finding,
            Finding::Broken { what: "wrong".into(), fix: "right it".into() }
        );
        assert_eq!(verdict(vec![broken, unanswered]), Verdict::Broken);
    }

    #[test]
    fn a_failure_tells_what_the_driver_said_once() {
        let error = Error::Misconfigured {
            problem: "the login is refused".into(),
            fix: "check it".into(),
            source: Some("code 18".into()),
        };
        let Finding::Broken { what, .. } = A.failed(&error).finding else { panic!("{error:?}") };
        assert_eq!(what, "the login is refused: code 18");
    }

    #[test]
    fn clocks_that_differ_are_doubtful() {
        let second = Duration::from_secs(1);
        let here = SystemTime::UNIX_EPOCH + second * 1000;
        let told = |store: SystemTime, took| clock(store, here, took).finding;
        assert!(matches!(told(here + second, second), Finding::Holds { .. }));
        assert!(matches!(told(here + second * 7, second * 2), Finding::Holds { .. }));
        for (store, way) in [(here + second * 60, "ahead"), (here - second * 60, "behind")] {
            let Finding::Doubtful { what, .. } = told(store, second) else { panic!("{store:?}") };
            assert!(what.contains(way) && what.contains("60 s"), "{what}");
        }
    }
}
