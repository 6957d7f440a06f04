//! How large a run is, and what may go wrong in it.

use crate::general::Mode;
use crate::rules::Rules;

/// When a killed claim is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// When its `.kil` is a ttl later than its own file, whenever one looks: what lease-objstore
    /// does. A heartbeat that lands after the `.kil` asks for another one.
    ByGap,
    /// When its own file is older than a ttl.
    ByAge,
}

/// Until when a heartbeat counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Its check is answered before the belief ends that it prolongs: rule F3.
    Answered,
    /// It is sent before that.
    Sent,
}

/// One run of the model.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What it is called.
    pub name: &'static str,
    /// Who takes part.
    pub clients: &'static [Mode],
    /// The rules that are kept.
    pub rules: Rules,
    /// In ticks.
    pub ttl: u8,
    /// How many late requests there may be at once.
    pub late: u8,
    /// How many requests may stay without an answer; nothing is any number.
    pub unclear: Option<u8>,
    /// How many clients may die.
    pub deaths: u8,
    /// When a killed claim is over.
    pub over: Over,
    /// Until when a heartbeat counts.
    pub deadline: Deadline,
    /// Whether garbage is collected.
    pub collects: bool,
    /// Whether an exclusive may be granted by the creation of its claim: right above a granted one.
    pub at_once: bool,
    /// Whether holders renew.
    pub renew: bool,
    /// Nobody pauses, and each client wants one turn: who waits for whom?
    pub fair: bool,
}

impl Setting {
    /// Two ticks of ttl, and nothing that goes wrong but pauses.
    #[must_use]
    pub const fn new(name: &'static str, clients: &'static [Mode]) -> Self {
        Self {
            name,
            clients,
            rules: Rules::correct(),
            ttl: 2,
            late: 0,
            unclear: Some(0),
            deaths: 0,
            over: Over::ByGap,
            deadline: Deadline::Answered,
            collects: false,
            at_once: false,
            renew: true,
            fair: false,
        }
    }
}
