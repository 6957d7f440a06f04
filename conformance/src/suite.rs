//! The one list of cases, and the macro that makes tests of it.

use std::fmt;

use futures::future::BoxFuture;
use lease_core::{Jitter, Name};

use crate::{Fixture, cases};

/// Puts a [`Fixture`](crate::Fixture) through every case: one `#[test]` for each, in a module for
/// each concern, each with a store and a name of its own.
#[macro_export]
macro_rules! suite {
    ($fixture:ty) => {
        $crate::__list! { __tests $fixture }
    };
}

/// One `#[test]` for each case of the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ($fixture:ty; $($concern:ident { $($case:ident,)* })*) => {
        $(mod $concern {
            use super::*;
            $(#[test]
            fn $case() {
                $crate::run::<$fixture>(concat!(stringify!($concern), "::", stringify!($case)));
            })*
        })*
    };
}

/// The list as data.
#[doc(hidden)]
#[macro_export]
macro_rules! __table {
    ($unused:ty; $($concern:ident { $($case:ident,)* })*) => {
        /// Every case, in the order of the list.
        pub static CASES: &[Case] = &[$($(Case {
            name: concat!(stringify!($concern), "::", stringify!($case)),
            run: |store, name| Box::pin(cases::$concern::$case(store, name)),
        },)*)*];
    };
}

/// The list: a line here gives the case to every backend.
#[doc(hidden)]
#[macro_export]
macro_rules! __list {
    ($make:ident $fixture:ty) => {
        $crate::$make! { $fixture;
            adoption {
                moves_a_lease,
                moves_a_writer,
                goes_through_once_for_each_revision,
                needs_the_revision_of_the_ticket,
                never_revives_a_released_lease,
            }
            ambiguity {
                a_repeated_register_is_the_same_one,
                a_repeated_install_is_the_same_one,
                a_repeated_commit_gives_the_same_epoch,
                a_commit_of_nothing_is_lost,
                a_repeated_renewal_counts_once,
                a_late_registration_revives_nothing,
                a_late_installation_revives_nothing,
                an_overtaken_renewal_changes_nothing,
                an_unanswered_renewal_is_followed_by_the_next,
                a_join_survives_a_lost_answer,
                a_take_survives_a_lost_installation,
                a_take_survives_a_lost_commit,
                a_failed_join_leaves_nothing,
            }
            batch {
                answers_each_for_itself,
                keeps_each_ones_own_ttl,
                of_one_name_renews_every_writer,
                of_nothing_is_nothing,
            }
            breaking {
                ends_a_lease_at_once,
                fences_a_granted_exclusive,
                of_a_writer_raises_no_epoch,
                of_a_drain_raises_no_epoch,
                of_a_wrong_nonce_changes_nothing,
                of_a_previous_holder_changes_nothing,
                reaches_a_holder_that_renews,
                reaches_a_holder_that_has_expired,
                twice_is_an_answer,
            }
            cancellation {
                an_abandoned_join_expires,
                an_abandoned_take_expires,
                an_abandoned_step_expires,
                an_abandoned_renewal_or_release_is_made_up_for,
                a_withdrawal_after_a_drop_frees_the_name,
            }
            capabilities {
                are_the_same_for_every_client,
                a_batch_is_as_large_as_promised,
                watching_is_refused_exactly_where_it_is_not_promised,
            }
            confirmation {
                holds_while_the_record_is_there,
                is_no_renewal,
                fails_at_once_when_the_lease_is_gone,
                fails_when_another_took_over,
                fails_for_what_was_never_there,
            }
            epoch {
                rises_across_release,
                rises_across_expiry,
                rises_across_a_long_silence,
                rises_across_break,
                rises_for_every_client,
                a_withdrawn_exclusive_does_not_raise_it,
                an_expired_drain_does_not_raise_it,
                writers_carry_the_epoch_that_they_joined_under,
                stands_still_while_a_lease_is_held,
                outlives_erasure_exactly_where_promised,
            }
            erasure {
                ends_every_lease,
                ends_a_drain,
                a_newer_record_is_respected,
                a_newer_writer_is_respected,
                an_empty_record_is_held_for_a_ttl,
                a_truncated_record_is_held_for_a_ttl,
                an_empty_writer_is_held_for_a_ttl,
                an_unknown_field_does_no_harm,
            }
            eviction {
                of_a_living_record_is_refused,
                of_a_record_that_was_renewed_since_is_refused,
                of_a_predecessor_does_not_hit_its_successor,
                removes_an_expired_writer,
                removes_an_expired_exclusive,
                removes_what_was_observed_at_its_revision,
                by_a_takeover_needs_the_judged_record,
            }
            exclusion {
                only_one_racer_wins,
                only_one_taker_is_granted,
                a_second_exclusive_is_refused,
                writers_share,
                an_exclusive_keeps_writers_out,
                a_writer_keeps_an_exclusive_waiting,
                a_label_is_no_identity,
            }
            expiry {
                an_exclusive_gives_way_at_its_ttl,
                a_writer_gives_way_at_its_ttl,
                a_drain_gives_way_at_its_ttl,
                a_holder_is_judged_by_its_own_ttl,
                a_short_lease_is_not_stretched_by_who_asks,
                a_renewal_may_lengthen_the_ttl,
                a_renewal_may_shorten_the_ttl,
                a_record_tells_how_long_it_lives,
            }
            handshake {
                an_observer_sees_what_was_acknowledged,
                a_writer_that_looked_too_early_is_refused,
                a_writer_that_comes_before_the_drain_is_refused,
                a_drain_keeps_everybody_new_out,
                a_refusal_leaves_nothing_behind,
                a_refused_writer_is_never_seen,
                a_withdrawn_drain_lets_writers_flow,
                a_drain_waits_for_every_writer,
                a_drain_tells_of_an_expired_writer_before_others,
                a_drain_looks_again_after_it_cleared,
            }
            inspection {
                looking_changes_nothing,
                looking_creates_nothing,
                a_holder_is_shown_as_it_is,
                a_drain_is_shown_as_one,
                an_expired_record_is_shown_as_expired,
            }
            limits {
                the_longest_ttl_is_kept,
                the_shortest_ttl_is_kept,
                odd_metadata_is_kept,
                the_largest_info_is_kept,
            }
            names {
                are_kept_apart_and_listed_as_given,
                do_not_contain_each_other,
                of_all_that_is_held_are_listed,
            }
            outage {
                an_outage_is_never_an_answer,
                a_batch_fails_for_each,
                a_handshake_that_loses_the_store_is_not_granted,
            }
            permissions {
                reading_needs_no_right_to_write,
            }
            push {
                wakes_on_a_release,
                wakes_both_sides_of_a_drain,
                wakes_when_a_record_is_removed,
                forgets_no_change,
                wakes_everybody,
            }
            races {
                a_writer_and_an_exclusive_never_both_hold,
                steps_of_two_handshakes_in_any_order_are_safe,
                a_revived_writer_and_its_evictor_never_both_hold,
                a_revived_exclusive_and_its_successor_never_both_hold,
                an_expired_exclusive_has_one_successor,
            }
            release {
                frees_at_once,
                twice_is_an_answer,
                of_nothing_is_an_answer,
                by_a_stale_holder_hits_nobody,
                keeps_the_epoch,
                of_one_writer_leaves_the_others,
                goes_by_the_nonce_alone,
            }
            renewal {
                extends_a_lease,
                extends_a_writer,
                a_drain_is_renewed_by_its_rounds,
                never_brings_back_a_lost_lease,
                never_creates_a_record,
                never_revives_a_released_lease,
                a_late_one_is_honest,
                goes_on_only_from_ones_own_last_write,
                tells_writers_of_a_drain,
                changes_nothing_but_the_revision,
            }
            takeover {
                a_stale_exclusive_blocks_until_it_is_cleared,
                a_takeover_is_told_as_one,
                a_writer_that_cannot_clear_does_not_insert,
                a_stale_writer_is_respected_where_the_policy_says_so,
            }
        }
    };
}

__list! { __table () }

/// One case of the suite: a story that fails on a store which breaks one promise.
pub struct Case {
    /// Its concern and its own name, such as `epoch::rises_across_release`.
    pub name: &'static str,
    run: for<'s> fn(&'s dyn Fixture, Name) -> BoxFuture<'s, ()>,
}

impl Case {
    /// The case of this name, if there is one.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name == name)
    }

    /// Tells the story on `store`, on a lease name that nobody else uses.
    ///
    /// # Panics
    ///
    /// If the store breaks the promise, or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Safe: what is left at the store ends with its ttl, which is long in some cases.
    pub async fn run(&self, store: &dyn Fixture) {
        let own = Jitter::system().nonce().to_string();
        let name = Name::parse(format!("{}-{}", self.name, &own[..8])).expect("a name");
        (self.run)(store, name).await;
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}

/// Starts a store, and tells the story of one case on it.
///
/// # Panics
///
/// If the store breaks the promise, or if there is no such case.
pub fn run<F: Fixture>(case: &str) {
    let case = Case::find(case).unwrap_or_else(|| panic!("no such case: {case}"));
    // Two threads, so that the racers of a case really meet.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async { case.run(&F::start().await).await });
}
