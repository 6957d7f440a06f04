//! What there is: the files, the clients, the requests that are late.

use crate::general::{Nonce, Token};
use crate::list::List;

/// The fate of an exclusive's claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// It raises the epoch.
    Granted,
    /// It never will.
    Void,
}

/// The files of one claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Files {
    /// The age of the claim's own file, if it is there.
    pub record: Option<u8>,
    /// `.granted`
    pub mark: Option<Mark>,
    /// `.rel`
    pub released: bool,
    /// `.kil`, and how much later than the claim's own file it was written.
    pub killed: Option<u8>,
    /// How long none of these was written.
    pub quiet: u8,
}

/// An exclusive's claim, `x-<n>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Claim {
    /// Its number.
    pub n: u8,
    /// Whose it is, as its file says.
    pub nonce: Nonce,
    /// Whether its file says that it is granted by being there.
    pub at_once: bool,
    /// Its files.
    pub files: Files,
}

/// A writer's claim, `s-<nonce>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share {
    /// Whose it is.
    pub nonce: Nonce,
    /// Its files.
    pub files: Files,
}

/// Which claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// An exclusive's.
    Exclusive {
        /// Its number.
        n: u8,
        /// Who means it.
        nonce: Nonce,
    },
    /// A writer's.
    Writer(Nonce),
}

/// A request that changes the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Create a claim's file if it is absent.
    Create(Key),
    /// The same of an exclusive's that is granted by being there.
    AtOnce(Key),
    /// Create the claim with this number if it is absent, as a void one that has ended: a writer
    /// may be there from now on.
    Open(u8),
    /// Overwrite it in place.
    Beat(Key),
    /// Create its mark if it is absent.
    Mark(u8, Mark),
    /// Put `.rel`.
    Release(Key),
    /// Put `.fin`.
    LetGo(Key),
    /// Put `.kil`.
    Kill(Key),
    /// Delete a writer's file.
    Delete(Nonce),
}

impl Default for Request {
    fn default() -> Self {
        Self::Delete(Nonce::NOBODYS)
    }
}

/// What a client does once its request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Then {
    /// A writer lists, to see whether it was the first.
    Check,
    /// A writer is granted if it was it that opened the name, else it lists again.
    Opened,
    /// An exclusive lists, to see whether writers live.
    List,
    /// It deletes the writer's file that it killed, if that is over.
    Clear(Nonce),
    /// Its claim's mark is there: it kills.
    Kill,
    /// It looks again.
    LookAgain,
    /// It lists once more, if its mark says granted.
    Last,
    /// Its mark is void: it releases.
    Release,
    /// It is out.
    Out,
    /// A holder lists, to see whether it was killed.
    BeatCheck,
    /// A holder that has checked before holds on: what breaks rule F1.
    Beaten,
}

/// Where a client stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// In no attempt.
    #[default]
    Idle,
    /// About to look whether an exclusive is there.
    Look,
    /// Saw none; an exclusive will take its own number.
    Looked,
    /// A change is on its way, and what comes after it.
    Sent(Request, Then),
    /// A writer is about to list.
    Check,
    /// An exclusive is about to list.
    List,
    /// It saw writers that live, and waits.
    Draining,
    /// It has no answer about its mark, and is about to look.
    LookUpMark,
    /// Its mark says granted, and it is about to list once more.
    Last,
    /// The answer says yes; the client has not taken it in yet.
    Granting,
    /// It holds.
    Held,
    /// Its heartbeat is written, and it is about to list.
    BeatCheck,
    /// It is about to list before its heartbeat: what breaks rule F1.
    CheckFirst,
    /// The answer is there; the client has not taken it in yet.
    Checked(bool),
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
    /// Of an exclusive: the number of its claim.
    pub n: u8,
    /// Of an exclusive: whether its claim is granted by being there.
    pub at_once: bool,
    /// How long it may still believe that it holds, once it is granted.
    pub rest: u8,
    /// How long it may believe if the heartbeat on its way counts.
    pub next_rest: u8,
    /// The epoch that it was granted.
    pub epoch: u8,
    /// Whether it was granted and has not given up since.
    pub holds: bool,
    /// In a run without pauses: it has nothing to do before time passes.
    pub waits: bool,
    /// In a run without pauses: it held.
    pub had_its_turn: bool,
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
    /// A claim was withdrawn, and the answer said so, but it still counts.
    Leftover,
}

/// All there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The clients.
    pub clients: List<Client, 4>,
    /// The exclusives' claims, by number.
    pub claims: List<Claim, 8>,
    /// The writers' claims, in order.
    pub shares: List<Share, 8>,
    /// Requests that nobody waits for any more, in order; each may still be applied.
    pub late: List<Request, 3>,
    /// How many more requests may stay without an answer.
    pub unclear: u8,
    /// How many more clients may die.
    pub deaths: u8,
    /// The highest grant so far.
    pub top: Token,
    /// What fell on the way here.
    pub fault: Option<Fault>,
}
