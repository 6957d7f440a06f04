//! Stories of people who share a store, told on time that is held in the hand.
#![expect(clippy::unwrap_used, reason = "a story fails by panicking")]

mod world;

mod a_broken_lease;
mod a_checkup;
mod a_dead_process;
mod a_dead_writer;
mod a_flaky_store;
mod a_guarded_write;
mod a_leader;
mod a_look_at_the_store;
mod a_patient_waiter;
mod a_paused_holder;
mod a_release;
mod a_stream_of_writers;
mod a_ticket;
mod a_waiter_that_goes;
mod an_erased_store;
mod an_onlooker;
mod an_unclear_answer;
mod many_leases;
mod many_waiters;
mod odd_settings;
mod one_process_twice;
mod work_under_a_lease;
mod writers_and_an_exclusive;
