//! The contract between a store and the rest of the library.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::record::{BreakNote, Claim, Holding, Judged, Snapshot, Target};
use crate::{Capabilities, Error, HolderInfo, Name, Policy, Result, handshake};

mod answers;

pub use answers::{
    Broken, Committed, Confirmed, Draining, Evicted, Installed, Joined, Registered, Renewed, Taken,
    Withdrawn,
};

/// A store that can hold leases.
///
/// This trait is the contract between a store and the rest of the library. Applications use
/// [`Coordinator`](crate::Coordinator); only a new store implements this. The crate
/// `lease-conformance` turns every promise below into a test, and the words after each `Case:` name
/// it. A backend that passes the suite may be used anywhere another one is.
///
/// The methods are the single steps of the protocol on one name. The two composite ones,
/// [`join`](Self::join) and [`take`](Self::take), are written once over the others in
/// [`handshake`]; a store that can do one of them in one atomic step overrides it.
///
/// # What every implementation promises
///
/// 1. **One exclusive.** While a name has an exclusive record, draining or granted, no other is
///    installed, unless over exactly the record that the caller judged.
///    (Case: `exclusion::only_one_racer_wins`.)
/// 2. **Epochs rise.** Each commit of a name gives a higher epoch than any before it, also after
///    release, expiry, break and clean-up. (Case: `epoch::rises_across_release`.)
/// 3. **A withdrawn exclusive leaves no epoch.** Only a commit raises it (rule R20).
///    (Case: `epoch::a_withdrawn_exclusive_does_not_raise_it`.)
/// 4. **Each change is one atomic conditional step at the store.** Reading, deciding here and
///    writing unconditionally is never correct. (Case: `renewal::never_brings_back_a_lost_lease`.)
/// 5. **Reads that decide are not stale.** [`observe`](Self::observe), [`confirm`](Self::confirm)
///    and every step see all that was acknowledged before they were called (rule R3).
///    (Case: `handshake::an_observer_sees_what_was_acknowledged`.)
/// 6. **No local clocks in shared records.** Ages are judged on the store's clock, or by
///    observation. (Case: `expiry::a_holder_is_judged_by_its_own_ttl`.)
/// 7. **Repeats are harmless.** The same step with the same nonce and beat changes nothing twice,
///    and answers as the first one did. (Case: `ambiguity::a_repeated_install_is_the_same_one`.)
/// 8. **What was removed stays removed.** A record's nonce, once withdrawn, evicted or broken,
///    never comes back, not even by a late repeat of its registration (rule R19).
///    (Case: `ambiguity::a_late_registration_revives_nothing`.)
/// 9. **Unreadable is held.** A record that cannot be read is shown, blocks, and can be broken.
///    (Case: `erasure::a_newer_record_is_respected`.)
///
/// # What an implementation must not do
///
/// Retry, sleep, or log above `debug`. Patience and policy live in the caller, which measures the
/// lease from *before* it calls; a retry hidden in here would spend time that the holder believes
/// it still has.
///
/// # Cancel safety
///
/// Any future returned here may be dropped at any await. The request may still reach the store; if
/// it does, its record ends one ttl later; and either way this value stays usable.
/// (Case: `cancellation::an_abandoned_step_expires`.)
///
/// # Errors
///
/// Being refused is an answer, not an error. The only errors are [`Error::Unavailable`],
/// [`Error::Unsupported`] and [`Error::Misconfigured`]. A request that left without an answer coming
/// back says [`Effect::Unknown`](crate::Effect::Unknown). A failed login, a missing bucket or a lack
/// of rights is `Misconfigured`, so that nobody retries it for a night.
/// (Case: `outage::an_outage_is_never_an_answer`.)
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// A short name for logs and errors, such as `"memory"`.
    fn kind(&self) -> &'static str;

    /// What this store can and cannot do. The same for the life of the value.
    fn capabilities(&self) -> Capabilities;

    /// Shows all that the store holds of `name`, as of no earlier than the call.
    ///
    /// The protocol decides by it, so it may write to the store (a probe of its clock). A name that
    /// was never used is no error: nothing is there, and the epoch is zero.
    ///
    /// Errors and cancellation: as of the [trait](Backend). It may be repeated.
    async fn observe(&self, name: &Name) -> Result<Snapshot>;

    /// Shows the same to people and tools, without writing anything; read rights are enough.
    ///
    /// It may be a little old, and ages may be unknown. Never act on it as if it were a lock.
    /// (Case: `inspection::looking_changes_nothing`.)
    ///
    /// Errors and cancellation: as of the [trait](Backend). It may be repeated.
    async fn inspect(&self, name: &Name) -> Result<Snapshot>;

    /// Creates a writer's record, whatever else is there (step W1).
    ///
    /// If the record is there already, an earlier call got through: answers with its revision. If
    /// it was there and was removed, answers [`Registered::Void`].
    ///
    /// Errors and cancellation: as of the [trait](Backend). After an unclear error or a drop the
    /// record may be there, or come yet: repeat it, or withdraw the nonce.
    async fn register(&self, claim: &Claim) -> Result<Registered>;

    /// Makes `claim` the exclusive record of its name, draining (step X1).
    ///
    /// Goes through only from the state that `seen` shows: no exclusive there, or, with `over`,
    /// exactly that one, judged as said ([`Judged::ByStore`] is judged again at this step). Repeated
    /// with the same nonce it answers with the record that is there.
    ///
    /// Errors and cancellation: as of [`register`](Self::register).
    async fn install(
        &self,
        claim: &Claim,
        seen: &Snapshot,
        over: Option<(&Target, Judged)>,
    ) -> Result<Installed>;

    /// Grants the exclusive that the caller installed and has drained for (step X3).
    ///
    /// Goes through only while the record is there with this nonce, and gives the next epoch.
    /// Repeated it answers with the epoch that was given.
    ///
    /// Errors and cancellation: as of the [trait](Backend). After an unclear error or a drop it may
    /// be granted: look, or repeat it.
    async fn commit(&self, mine: &Holding) -> Result<Committed>;

    /// Renews several records of one's own, each on its own condition; answers in the same order.
    ///
    /// A record is renewed only if it is there with this nonce, at the last acknowledged beat or at
    /// an unanswered one since; then it carries `beat`, `ttl` and a new revision. It is never
    /// created (rule R2). At most [`Capabilities::renew_batch`] at once.
    ///
    /// Errors and cancellation: as of the [trait](Backend), for each record by itself. After an
    /// unclear error or a drop it may be renewed: go on with the next beat (rule R8).
    async fn renew(&self, mine: &[Holding]) -> Vec<Result<Renewed>>;

    /// Proves that one's own record, `mine`, is still there, as of no earlier than the call.
    ///
    /// It is there until somebody removes, condemns or adopts it, expired or not. It is not
    /// renewed: its holder counts its belief from the last renewal, and looks at it once more after
    /// the answer.
    ///
    /// Errors and cancellation: as of the [trait](Backend). It may be repeated.
    async fn confirm(&self, mine: &Holding) -> Result<Confirmed>;

    /// Removes one's own record, granted or not, and keeps the epoch.
    ///
    /// By nonce alone: it never touches anybody else's record, however late it comes (rule R14).
    /// Removing what is not there is an answer, not an error.
    ///
    /// Errors and cancellation: as of the [trait](Backend). After an unclear error or a drop it may
    /// be removed, or be removed yet: repeat it, until the ttl is over.
    async fn withdraw(&self, mine: &Holding) -> Result<Withdrawn>;

    /// Removes somebody's stale record (rules R9, R10, R13).
    ///
    /// Goes through only if, at this step, the record is stale ([`Judged::ByStore`]), or is at
    /// exactly this revision ([`Judged::Observed`], [`Judged::DeadProcess`]). A store that cannot
    /// remove it at once may let it end a little later; the next snapshot tells.
    ///
    /// Errors and cancellation: as of the [trait](Backend). It may be repeated: it hits nothing but
    /// what was judged.
    async fn evict(&self, name: &Name, target: &Target, judged: Judged) -> Result<Evicted>;

    /// Removes exactly the record that an operator was shown, fresh or not.
    ///
    /// Of a granted exclusive it raises the epoch, so that the broken holder is fenced. Breaking
    /// one writer does not, since that would fence the other valid writers too. The note is kept.
    /// It goes by nonce: a holder that renews is still the holder that was shown.
    ///
    /// Errors and cancellation: as of the [trait](Backend). After an unclear error or a drop it may
    /// be broken: repeated it then answers [`Broken::NotThere`].
    async fn break_record(
        &self,
        name: &Name,
        nonce: crate::Nonce,
        note: &BreakNote,
    ) -> Result<Broken>;

    /// The note of the last break of `name`; nothing if it was never broken, or nobody can read the
    /// note. Read rights are enough.
    ///
    /// Errors and cancellation: as of the [trait](Backend). It may be repeated.
    async fn last_break(&self, name: &Name) -> Result<Option<BreakNote>>;

    /// Moves one's own record to another process, at most once for each revision.
    ///
    /// Goes through only at exactly `mine.revision`; then the record carries `info` and `beat`, which
    /// is the next one. From then on the process that it was taken from holds no more: whoever knows
    /// of no later write than `mine.acknowledged` is told [`Lost`](Renewed::Lost), also where it sends
    /// the same beat. For the same reason it cannot be repeated: after an unclear answer the ticket may
    /// be spent. (Case: `adoption::moves_a_lease`.)
    ///
    /// Errors and cancellation: as of the [trait](Backend). A record that was adopted for nobody
    /// ends with its ttl.
    async fn adopt(&self, mine: &Holding, info: &HolderInfo) -> Result<Renewed>;

    /// All names that the store knows, held or not, in no particular order. For people and tools:
    /// it may be a little old, and takes the longer the more there are. Read rights are enough.
    /// (Case: `names::of_all_that_is_held_are_listed`.)
    ///
    /// Errors and cancellation: as of the [trait](Backend). It may be repeated.
    async fn names(&self) -> Result<Vec<Name>>;

    /// Wakes waiters whenever something changes on `name`, where the store can.
    ///
    /// A wake-up says "look again" and nothing else; a missed one costs time, never safety.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] exactly where [`Capabilities::push`] is false: the caller polls.
    /// Else, and on cancellation, as of the [trait](Backend): it polls then as well.
    async fn watch(&self, name: &Name) -> Result<Box<dyn Watch>> {
        let _ = name;
        Err(Error::Unsupported { backend: self.kind(), feature: "watch" })
    }

    /// A writer's whole handshake: look, insert, then check (rules R1, R11, R24).
    ///
    /// The caller counts its belief from before this call, checks it at the grant (rules R4, R5)
    /// and, after an error or a dropped future, withdraws the nonce and starts again with another.
    /// `policy` says whether an exclusive that expired may be cleared away.
    ///
    /// Errors and cancellation: as of the [trait](Backend).
    async fn join(&self, claim: &Claim, policy: &Policy) -> Result<Joined> {
        handshake::join(self, claim, policy).await
    }

    /// One round of an exclusive's handshake: install or renew, drain, commit if drained.
    ///
    /// The first round has no `draining`; each next one gets what the last one answered, or after an
    /// error [`Draining::after_a_failed_round`]. The caller waits between rounds, counts its belief
    /// from before the last round's call, checks it at the grant (rules R4, R6), and withdraws the
    /// nonce when it gives up. `policy` says which expired records may be cleared away.
    ///
    /// Errors and cancellation: as of the [trait](Backend). After a first round that failed or was
    /// dropped, withdraw the nonce and start again with another; after a later one go on.
    async fn take(
        &self,
        claim: &Claim,
        draining: Option<&Draining>,
        policy: &Policy,
    ) -> Result<Taken> {
        handshake::take(self, claim, draining, policy).await
    }
}

/// Wakes a waiter.
#[async_trait]
pub trait Watch: Send + Debug {
    /// Ends when something may have changed since the last call, or since the watch began.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when the push is gone; the waiter then goes on polling.
    ///
    /// # Cancel safety
    ///
    /// Safe: a change is not forgotten.
    async fn changed(&mut self) -> Result<()>;
}
