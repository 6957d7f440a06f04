//! What happened, as data: one line of a history.

use leasehold::{Epoch, Mode, Nonce, Token};
use serde::{Deserialize, Serialize};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When, in nanoseconds of this machine's clock since it was started, suspend included. All
    /// processes read the same clock, so that their events lie on one line.
    pub at: u64,
    /// To whom.
    pub who: Who,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// To whom something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// Whoever started it all.
    Harness,
    /// Whoever breaks things.
    Nemesis,
    /// The resources that are written to.
    Resource,
    /// A client process. One that is started again is another.
    Client(u32),
}

/// A resource that the leases protect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// It keeps the highest token that it has seen, and refuses lower ones.
    Fenced,
    /// It takes whatever comes.
    Unfenced,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are what their names say")]
pub enum What {
    /// A run begins. The ttl is the longest that any lease has.
    Began { backend: String, seed: u64, ttl_ms: u64, names: Vec<String> },
    /// The faults are over.
    Calm,
    /// At the end a newcomer asked for the name alone: nothing where it got it, else why not.
    Newcomer { name: String, problem: Option<String> },
    /// What the store still had of a name, after the newcomer had let it go.
    Left { name: String, holders: Vec<String> },
    /// The names that the store knew at the end.
    Knows { names: Vec<String> },
    /// All that was in the store at the end, whatever it is.
    Remains { things: Vec<Thing> },
    /// How a client that was told to end has ended: nothing where it ended well.
    ClientEnded { client: u32, problem: Option<String> },

    /// A client process is started, with a wall clock that is so many seconds ahead.
    Starts { client: u32, ahead_s: i64 },
    /// A client process is stopped.
    Stops { client: u32 },
    /// It goes on.
    GoesOn { client: u32 },
    /// It is killed.
    Kills { client: u32 },
    /// A server or the network is spoiled.
    Spoils { fault: String },
    /// It is well again.
    Mends { fault: String },

    /// A client has opened the store.
    Ready,
    /// It could not.
    NotReady { why: String },
    /// It asks for a lease.
    Asks { call: u64, name: String, mode: Mode, wait_ms: u64 },
    /// It was granted.
    Granted { call: u64, name: String, mode: Mode, epoch: Epoch, token: Token, nonce: Nonce },
    /// It was not.
    NotGranted { call: u64, why: String },
    /// The caller went away before there was an answer.
    GaveUp { call: u64 },
    /// The client's own check said *held* at `from` and at `to`: the ends are the moments after the
    /// first such answer and before the question of the last one, so that the belief is no shorter.
    Held { nonce: Nonce, from: u64, to: u64 },
    /// The check said for the first time that it is over.
    Over { nonce: Nonce },
    /// The client was told of the loss, without having asked.
    Lost { nonce: Nonce, reason: String },
    /// It is about to let go: it will not ask any more.
    LetsGo { nonce: Nonce },
    /// What came of the release.
    Released { nonce: Nonce, answer: String },
    /// It changes the ttl of a lease that it holds.
    Retimes { nonce: Nonce, ttl_ms: u64 },
    /// As an operator, it is about to break a lease.
    Breaks { call: u64, name: String, nonce: Nonce },
    /// What came of it.
    Broke { call: u64, answer: Answer, said: String },
    /// What came of a write that was sent at `sent`: nothing where there was no answer.
    Wrote { nonce: Nonce, resource: Resource, sent: u64, admitted: Option<bool> },
    /// A guard refused before anything was written.
    NotWritten { nonce: Nonce, why: String },
    /// The last turn, after the faults: alone, once. Nothing where it had it, else why not.
    Turn { name: String, problem: Option<String> },
    /// Its loop of events, or the harness's, went on so much later than it was to: the machine has more
    /// to do than it can, or the process was stopped.
    Late { by_ms: u64 },
    /// How many threads its process had before its first lease, and after its last one.
    Threads { before: usize, after: usize },

    /// A request arrived at a resource, in this order.
    Arrived {
        nonce: Nonce,
        name: String,
        resource: Resource,
        kind: Kind,
        token: Token,
        admitted: bool,
    },
}

/// A file, an object, a document, a message or whatever else a store keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thing {
    /// Its name in the store, from where the leases are on.
    pub key: String,
    /// How long ago it was written last, where the store tells.
    pub age_ms: u64,
    /// How large it is, where the store tells.
    pub bytes: u64,
}

/// Whether something took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It did.
    Done,
    /// It did not, surely.
    NotDone,
    /// It may have.
    Unclear,
}

/// What a request to a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A new holder announces itself.
    Announcement,
    /// A write.
    Write,
}

impl What {
    /// Whether it is something that went wrong on purpose.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        match self {
            Self::Stops { .. } | Self::Kills { .. } | Self::Spoils { .. } => true,
            Self::Starts { ahead_s, .. } => *ahead_s != 0,
            Self::Broke { answer, .. } => matches!(answer, Answer::Done),
            _ => false,
        }
    }
}
