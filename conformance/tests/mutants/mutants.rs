//! The one list of mutants: what each does wrong, and the case that must fail for it.

/// Makes the switches of the toy, and the table of what must notice each.
macro_rules! mutants {
    ($($(#[doc = $why:literal])+ $fault:ident => $case:literal,)*) => {
        /// What a store does wrong. One at a time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Fault {
            $($(#[doc = $why])+ $fault,)*
        }

        /// Each fault, and the case that it must not survive.
        pub(crate) const MUTANTS: &[(Fault, &str)] = &[$((Fault::$fault, $case),)*];
    };
}

mutants! {
    // The handshake.
    /// R1: a writer checks, and only then inserts.
    WritersCheckBeforeTheyInsert => "races::a_writer_and_an_exclusive_never_both_hold",
    /// R24: a writer inserts without having looked, and retries.
    WritersInsertBeforeTheyLook => "handshake::a_refused_writer_is_never_seen",
    /// A refused writer does not take its record out.
    ARefusedWriterStays => "handshake::a_refusal_leaves_nothing_behind",
    /// R11: a stale exclusive counts as none.
    StaleExclusivesDoNotBlock => "takeover::a_stale_exclusive_blocks_until_it_is_cleared",
    /// An exclusive is granted beside writers.
    ExclusivesDoNotDrain => "exclusion::a_writer_keeps_an_exclusive_waiting",
    /// R10: a drain leaves stale writers where they are and goes on.
    StaleWritersAreIgnored => "races::a_revived_writer_and_its_evictor_never_both_hold",
    /// R15: a drain does not look again after it has cleared.
    DrainsDoNotLookAgain => "races::a_revived_writer_and_its_evictor_never_both_hold",
    /// A listing ends after its first page.
    ListingsEndAtPageOne => "handshake::a_drain_waits_for_every_writer",
    /// R3: reads lag one read behind.
    ReadsAreStale => "handshake::an_observer_sees_what_was_acknowledged",
    /// All clients but the first read from a copy that lags one read behind.
    OthersReadACopy => "handshake::an_observer_sees_what_was_acknowledged",

    // One exclusive.
    /// It installs over whoever is there.
    InstallsOverAnybody => "exclusion::only_one_racer_wins",
    /// The condition and the write are two steps.
    InstallsInTwoSteps => "exclusion::only_one_taker_is_granted",
    /// R7: who asks is known by label.
    LabelsAreIdentity => "exclusion::only_one_racer_wins",
    /// R12: a takeover does not ask whether the judged record is still there.
    TakeoversAreBlind => "eviction::by_a_takeover_needs_the_judged_record",
    /// R9: an eviction asks for no evidence.
    EvictsTheLiving => "eviction::of_a_living_record_is_refused",
    /// R9: an observer's evidence counts for any revision.
    EvictsAnyRevision => "eviction::of_a_record_that_was_renewed_since_is_refused",
    /// R13: an eviction removes whatever stands in that place.
    EvictsByPlace => "eviction::of_a_predecessor_does_not_hit_its_successor",

    // Epochs.
    /// A release deletes the name with its epoch.
    EpochIsLostOnRelease => "epoch::rises_across_release",
    /// So does the removal of an expired record.
    EpochIsLostOnExpiry => "eviction::removes_an_expired_exclusive",
    /// So does the clean-up of a name that nobody uses.
    EpochIsCleanedUp => "epoch::rises_across_a_long_silence",
    /// Epochs start at one when the state was erased, though more is promised.
    EpochGoesWithTheState => "epoch::outlives_erasure_exactly_where_promised",
    /// Epochs are counted by each client for itself.
    EachClientCountsEpochs => "epoch::rises_for_every_client",
    /// R20: the epoch rises at the installation.
    EpochRisesAtTheInstall => "epoch::a_withdrawn_exclusive_does_not_raise_it",
    /// Every write raises the epoch.
    EpochRisesAtARenewal => "epoch::stands_still_while_a_lease_is_held",
    /// A commit whose answer was lost is another one.
    ARepeatedCommitIsAnother => "ambiguity::a_repeated_commit_gives_the_same_epoch",
    /// A commit asks for no record.
    CommitsNothing => "ambiguity::a_commit_of_nothing_is_lost",

    // Time.
    /// Ages are judged by each client's own clock.
    ClientClocksJudge => "expiry::an_exclusive_gives_way_at_its_ttl",
    /// A record is judged by the ttl of whoever asks.
    TheReadersTtlCounts => "expiry::a_holder_is_judged_by_its_own_ttl",
    /// A record gives way after half its ttl.
    ExpiresTooEarly => "expiry::an_exclusive_gives_way_at_its_ttl",
    /// A record never gives way.
    NothingExpires => "expiry::a_drain_gives_way_at_its_ttl",
    /// A writer never gives way.
    WritersNeverExpire => "expiry::a_writer_gives_way_at_its_ttl",
    /// The ttl of the claim counts for ever.
    RenewalsKeepTheFirstTtl => "expiry::a_renewal_may_lengthen_the_ttl",
    /// Ttls are kept in few bits.
    LongTtlsWrap => "limits::the_longest_ttl_is_kept",
    /// Ttls are cut to whole seconds.
    TtlsAreWholeSeconds => "limits::the_shortest_ttl_is_kept",

    // Renewals.
    /// R2: a renewal creates what is not there.
    RenewalsCreate => "renewal::never_creates_a_record",
    /// A renewal brings a released record back.
    LateRenewalsRevive => "renewal::never_revives_a_released_lease",
    /// A renewal takes the name back from the next holder.
    RenewalsTakeBack => "renewal::never_brings_back_a_lost_lease",
    /// R8: a renewal asks for the nonce alone.
    RenewalsGoByTheNonce => "renewal::goes_on_only_from_ones_own_last_write",
    /// A renewal is acknowledged and does nothing.
    RenewalsDoNothing => "renewal::extends_a_lease",
    /// A renewal overwrites who holds.
    RenewalsForgetWho => "renewal::changes_nothing_but_the_revision",
    /// A renewal keeps the revision.
    RevisionsStandStill => "renewal::changes_nothing_but_the_revision",
    /// Writers are not told of a drain.
    WritersHearOfNoDrain => "renewal::tells_writers_of_a_drain",
    /// The same renewal extends twice.
    TheSameBeatCountsTwice => "ambiguity::a_repeated_renewal_counts_once",
    /// A renewal that was overtaken counts when it comes at last.
    OvertakenRenewalsCount => "ambiguity::an_overtaken_renewal_changes_nothing",
    /// A renewal whose answer was lost loses the lease.
    UnansweredRenewalsLose => "ambiguity::an_unanswered_renewal_is_followed_by_the_next",
    /// One lost lease fails the whole batch.
    ABatchIsAllOrNothing => "batch::answers_each_for_itself",
    /// The answers come in another order.
    ABatchIsOutOfOrder => "batch::answers_each_for_itself",
    /// A batch of nothing is an error.
    AnEmptyBatchFails => "batch::of_nothing_is_nothing",
    /// The first ttl counts for all.
    ABatchHasOneTtl => "batch::keeps_each_ones_own_ttl",
    /// A confirmation extends.
    ConfirmationsRenew => "confirmation::is_no_renewal",
    /// A confirmation remembers that it was fine once.
    ConfirmsFromACache => "confirmation::fails_at_once_when_the_lease_is_gone",

    // Ends.
    /// R14: a release removes whoever holds the name.
    ReleasesGoByName => "release::by_a_stale_holder_hits_nobody",
    /// A release finds only the last acknowledged revision.
    ReleasesNeedTheRevision => "release::goes_by_the_nonce_alone",
    /// A release leaves the record to its ttl.
    ReleasesWait => "release::frees_at_once",
    /// A release of one writer ends them all.
    OneWriterReleasesAll => "release::of_one_writer_leaves_the_others",
    /// A release of nothing is told as one of something.
    ReleasesOfNothingSucceed => "release::twice_is_an_answer",
    /// So is a release of what was never there.
    ReleasesOfTheUnknownSucceed => "release::of_nothing_is_an_answer",
    /// R19: a registration that comes late brings a removed record back.
    LateRegistrationsRevive => "ambiguity::a_late_registration_revives_nothing",
    /// So does an installation.
    LateInstallationsRevive => "ambiguity::a_late_installation_revives_nothing",
    /// A registration that is repeated is another write.
    ARepeatedRegisterIsAnotherWrite => "ambiguity::a_repeated_register_is_the_same_one",
    /// A break of a granted exclusive leaves the epoch.
    ABreakDoesNotFence => "breaking::fences_a_granted_exclusive",
    /// A break of one writer fences the others.
    ABreakOfAWriterFences => "breaking::of_a_writer_raises_no_epoch",
    /// A break of a drain raises the epoch.
    ABreakOfADrainFences => "breaking::of_a_drain_raises_no_epoch",
    /// A break of one writer ends them all.
    ABreakEndsEveryWriter => "breaking::of_a_writer_raises_no_epoch",
    /// A break ends whoever holds by now.
    BreaksGoByName => "breaking::of_a_previous_holder_changes_nothing",
    /// A break of nothing is told as one of something.
    BreaksOfNothingSucceed => "breaking::of_a_wrong_nonce_changes_nothing",
    /// Nobody can find out who broke it.
    BreaksKeepNoNote => "breaking::ends_a_lease_at_once",
    /// A ticket is good for several.
    TicketsWorkTwice => "adoption::goes_through_once_for_each_revision",
    /// A ticket is good though the lease has moved on.
    OldTicketsWork => "adoption::needs_the_revision_of_the_ticket",
    /// The process that handed the lease over goes on as well.
    TheOldProcessGoesOn => "adoption::moves_a_lease",
    /// An adopted lease is shown as the old process's.
    AdoptionKeepsTheOldInfo => "adoption::moves_a_lease",

    // Trouble.
    /// A listing that failed is an empty one.
    AnOutageLooksFree => "outage::an_outage_is_never_an_answer",
    /// A confirmation that failed is a loss.
    AnOutageIsALoss => "outage::an_outage_is_never_an_answer",
    /// A release that failed found nothing.
    AnOutageIsARelease => "outage::an_outage_is_never_an_answer",
    /// A batch that did not arrive has no answers.
    AnOutageHasNoAnswers => "outage::a_batch_fails_for_each",
    /// A lack of rights is told as an outage, and retried for a night.
    RightsAreRetried => "permissions::reading_needs_no_right_to_write",
    /// A call that is dropped blocks the client.
    ADroppedCallJamsTheClient => "cancellation::an_abandoned_step_expires",
    /// A record that cannot be read is skipped.
    UnreadableIsFree => "erasure::an_empty_record_is_held_for_a_ttl",
    /// A record that cannot be read cannot be broken.
    UnreadableIsUnbreakable => "erasure::a_newer_record_is_respected",
    /// A record of a newer version is taken for rubbish.
    NewerIsCorrupt => "erasure::a_newer_record_is_respected",
    /// So is one with a field more.
    UnknownFieldsAreCorrupt => "erasure::an_unknown_field_does_no_harm",

    // Names and what is told.
    /// Names differ in more than case only.
    NamesFoldCase => "names::are_kept_apart_and_listed_as_given",
    /// Names are cut to what a file name may have.
    NamesAreCut => "names::are_kept_apart_and_listed_as_given",
    /// A slash is an underscore.
    NamesLoseTheirSlashes => "names::are_kept_apart_and_listed_as_given",
    /// Spaces around a name are no part of it.
    NamesAreTrimmed => "names::are_kept_apart_and_listed_as_given",
    /// Names are listed as they are stored.
    NamesAreListedAsKeys => "names::are_kept_apart_and_listed_as_given",
    /// A dot in a key is a path.
    KeysAreCutAtDots => "limits::odd_metadata_is_kept",
    /// Long values are dropped.
    InfoIsCut => "limits::the_largest_info_is_kept",
    /// A refusal describes the asker.
    RefusalsNameTheAsker => "exclusion::a_second_exclusive_is_refused",
    /// A drain is shown as a grant.
    DrainsAreShownAsGrants => "inspection::a_drain_is_shown_as_one",
    /// Looking counts as a sign of life.
    InspectionRenews => "inspection::looking_changes_nothing",
    /// Looking makes the name known.
    InspectionCreates => "inspection::looking_creates_nothing",
    /// Looking clears away what has expired.
    InspectionCleansUp => "inspection::an_expired_record_is_shown_as_expired",
    /// Looking needs the right to write.
    InspectionNeedsRights => "permissions::reading_needs_no_right_to_write",
    /// Two clients say different things of one store.
    CapabilitiesDiffer => "capabilities::are_the_same_for_every_client",
    /// Push is promised and refused.
    WatchingIsRefused => "capabilities::watching_is_refused_exactly_where_it_is_not_promised",
    /// Push is promised and never comes.
    WatchesNeverWake => "push::wakes_on_a_release",
    /// Only one waiter is woken.
    OneWatchWakes => "push::wakes_everybody",
    /// What changes before the wait is not told.
    WatchesForget => "push::forgets_no_change",
}
