//! What there is: the store, the clients, the requests that are late, the resource.

use crate::list::List;

/// Whether a client asks to share or to be alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Shares with other writers.
    Writer,
    /// Alone.
    Exclusive,
}

/// Which attempt of which client.
///
/// The attempt that a client is in has the number 0; older ones are numbered as they are met, so
/// that any number of attempts makes finitely many states. See `canonical`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nonce {
    /// The client.
    pub owner: u8,
    /// The attempt.
    pub attempt: u8,
}

impl Nonce {
    /// A left record that nobody will ever mention again.
    pub const NOBODYS: Self = Self { owner: u8::MAX, attempt: 0 };

    /// The attempt that `owner` is in.
    #[must_use]
    pub const fn current(owner: usize) -> Self {
        Self { owner: owner as u8, attempt: 0 }
    }
}

/// What the store keeps of one holder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    /// Whose it is.
    pub nonce: Nonce,
    /// Its revision: which of the owner's writes it carries.
    pub beat: u8,
    /// For how long it is still fresh; 0 is stale.
    pub left: u8,
    /// Of an exclusive: whether it was committed.
    pub granted: bool,
}

/// A record that was seen, as far as a later request asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Whose it was.
    pub nonce: Nonce,
    /// At which revision.
    pub beat: u8,
}

/// From what state an install goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Over {
    /// No exclusive is there, or a stale one at this step, or a dead process's of one's own name.
    FreeOrStale,
    /// No exclusive is there.
    Free,
    /// Exactly this one is there.
    Exactly(Target),
    /// Whatever is there: what breaks rule R12.
    Anything,
}

/// A request that changes the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Create a writer's record.
    Register {
        /// Whose.
        nonce: Nonce,
    },
    /// Make this the exclusive record.
    Install {
        /// Whose.
        nonce: Nonce,
        /// From what state.
        over: Over,
    },
    /// Renew a record that is at an own write from `from` on.
    Renew {
        /// Whose.
        nonce: Nonce,
        /// The last acknowledged write.
        from: u8,
        /// This write.
        beat: u8,
        /// The ttl from now on.
        ttl: u8,
        /// Whether it is an exclusive's; for a renewal that creates what it does not find.
        exclusive: bool,
    },
    /// Grant the exclusive.
    Commit {
        /// Whose.
        nonce: Nonce,
    },
    /// Remove one's own record.
    Withdraw {
        /// Whose.
        nonce: Nonce,
        /// Whether it is an exclusive's.
        exclusive: bool,
    },
    /// Remove somebody's stale record.
    Evict {
        /// Whose.
        target: Target,
        /// Whether it is an exclusive's.
        exclusive: bool,
    },
}

impl Default for Request {
    fn default() -> Self {
        Self::Register { nonce: Nonce::NOBODYS }
    }
}

/// Where a client stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// In no attempt.
    #[default]
    Idle,
    /// About to look whether an exclusive is there.
    Look,
    /// Saw none.
    Looked,
    /// A change is on its way, and this comes after it.
    Sent(Request),
    /// A writer that registered is about to read the anchor.
    Check,
    /// An exclusive that installed is about to list the writers.
    List,
    /// It saw writers that live, and waits.
    Draining,
    /// It has no answer to its commit, and is about to look.
    LookUpCommit,
    /// The answer says yes; the client has not taken it in yet.
    Granting,
    /// It holds.
    Held,
    /// The answer to a renewal is there; the client has not taken it in yet.
    Renewed(bool),
    /// It has no answer to its renewal, and is about to look.
    ReadBack,
    /// Its token is on its way to the resource, for the first time.
    Announce,
    /// It is about to confirm at the store that it holds.
    Confirm,
    /// The store said so, or not; the client has not taken it in yet.
    Confirmed(bool),
    /// It had its turn, and wants no other.
    Done,
    /// It will never do anything again.
    Dead,
}

/// One client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client {
    /// Where it stands.
    pub step: Step,
    /// Its last acknowledged write.
    pub acked: u8,
    /// Its last write.
    pub sent: u8,
    /// How long it may still believe that it holds, once it is granted.
    pub rest: u8,
    /// How long it may believe if the renewal on its way is acknowledged.
    pub next_rest: u8,
    /// The epoch that it was granted.
    pub epoch: u8,
    /// Whether it was granted and has not given up since.
    pub holds: bool,
    /// Whether it has announced itself and confirmed after that.
    pub at_work: bool,
    /// In a run without pauses: it has nothing to do before time passes.
    pub waits: bool,
}

/// What orders grants at a resource: the exclusive of an epoch before its writers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The epoch.
    pub epoch: u8,
    /// Whether it is a writer's.
    pub writer: bool,
}

/// A write that is on its way to the resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Write {
    /// The token that it carries.
    pub token: Token,
    /// Whose; nobody's at a fence, which knows only tokens.
    pub owner: u8,
    /// For how long, at a resource without a fence.
    pub age: u8,
}

/// What was there before the anchor last changed, for stale reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Before {
    /// Whether an exclusive was there.
    pub blocked: bool,
    /// The epoch.
    pub epoch: u8,
}

/// A property that fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Two clients that exclude each other believe at once that they hold.
    Overlap,
    /// A grant does not come after the earlier ones in the order of epochs.
    EpochOrder,
    /// Two writers believe at once under different epochs.
    EpochShared,
    /// The resource took a lower token after a higher one.
    GateBack,
    /// The resource took a write of a holder whose successor was already at work.
    LateWrite,
    /// The resource refused somebody who holds.
    ValidRefused,
    /// A claim was withdrawn, and the answer said so, but its record is still there.
    Leftover,
}

/// All there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The clients.
    pub clients: List<Client, 4>,
    /// The anchor's epoch.
    pub epoch: u8,
    /// The anchor's exclusive record.
    pub exclusive: Option<Record>,
    /// The writers' records, in order.
    pub writers: List<Record, 8>,
    /// Requests that nobody waits for any more, in order; each may still be applied.
    pub late: List<Request, 3>,
    /// How many more requests may stay without an answer.
    pub unclear: u8,
    /// How many more clients may die.
    pub deaths: u8,
    /// The time within one step of the store's clock.
    pub phase: u8,
    /// The anchor before its last change.
    pub before: Before,
    /// The highest grant so far.
    pub top: Token,
    /// The highest token that the resource has seen.
    pub gate: Token,
    /// The highest token whose holder is or was at work.
    pub at_work: Token,
    /// Writes on their way to the resource, in order.
    pub writes: List<Write, 6>,
    /// What fell on the way here.
    pub fault: Option<Fault>,
}

impl State {
    /// The record with this nonce.
    #[must_use]
    pub fn record(&self, nonce: Nonce) -> Option<&Record> {
        let all = self.exclusive.iter().chain(self.writers.iter());
        all.into_iter().find(|record| record.nonce == nonce)
    }
}
