//! What is known of nats-server and its driver, and what the code looks like that does not know it.

use super::Fact;
use crate::rules::edits::edit;

const BREAKING: &str = "lease-nats/src/steps/breaking.rs";
const CONNECT: &str = "lease-nats/src/connect.rs";
const HEARING: &str = "lease-nats/src/hearing.rs";
const LINK: &str = "lease-nats/src/link.rs";
const LOOK: &str = "lease-nats/src/steps/look.rs";
const PROBE: &str = "lease-nats/src/probe.rs";
const RENEW: &str = "lease-nats/src/steps/renew.rs";
const STORE: &str = "lease-nats/src/store.rs";
const WIRE: &str = "lease-nats/src/wire.rs";
const WITHDRAW: &str = "lease-nats/src/steps/withdraw.rs";

const PACKAGE: &str = "lease-nats";
const BUCKETS: &[&str] = &["--test", "buckets"];
const CONTENTION: &[&str] = &["--test", "contention"];
const LIB: &[&str] = &["--lib"];
const LOST_ANSWERS: &[&str] = &["--test", "lost_answers"];
const RESTARTS: &[&str] = &["--test", "restarts"];
const SERVERS: &[&str] = &["--test", "servers"];
const TIMES: &[&str] = &["--test", "times"];

pub(super) const FACTS: &[Fact] = &[
    Fact {
        id: "N1",
        edits: &[edit(
            WIRE,
            "Err(Failure::JetStream(error)) if error.is_in_flight() => Ok(Put::Busy),",
            "",
        )],
        package: PACKAGE,
        target: CONTENTION,
        test: "at_three_of_the_newest",
    },
    Fact {
        id: "N2",
        edits: &[edit(
            WIRE,
            "let whole = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    whole.max(1).to_string()",
            "time.as_secs().to_string()",
        )],
        package: PACKAGE,
        target: LIB,
        test: "wire::tests::a_time_to_live_is_never_cut_short",
    },
    Fact {
        id: "N3",
        edits: &[edit(
            WIRE,
            "in_order(|| {
                    let mut headers = leaves.headers();
                    headers.insert(EXPECTED, seq.to_string());
                    headers.insert(EXPECTED_OF, other.as_str());
                    headers
                })",
            "let mut headers = leaves.headers();
                headers.insert(EXPECTED, seq.to_string());
                headers.insert(EXPECTED_OF, other.as_str());
                headers",
        )],
        package: PACKAGE,
        target: SERVERS,
        test: "one_of_the_oldest_passes",
    },
    Fact {
        id: "N4",
        edits: &[edit(CONNECT, "\"first_seq\": first,", "")],
        package: PACKAGE,
        target: RESTARTS,
        test: "in_memory_the_bucket_is_gone_and_not_free_and_a_new_one_counts_on",
    },
    Fact {
        id: "N5",
        edits: &[edit(
            STORE,
            "let kept = self.wire.last(&Keys::of(name).anchor()).await?;",
            "let kept = match self.wire.last(&Keys::of(name).anchor()).await {
            Err(error) if crate::probe::is_missing(&error) => {
                let settings = serde_json::json!({
                    \"name\": self.wire.stream(),
                    \"subjects\": [self.wire.subject(\">\")],
                    \"max_msgs_per_subject\": 1,
                    \"discard\": \"new\",
                    \"allow_direct\": true,
                    \"allow_msg_ttl\": true,
                });
                self.wire.create(&settings).await?;
                None
            }
            read => read?,
        };",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "a_deleted_bucket_is_no_free_name",
    },
    Fact {
        id: "N6",
        edits: &[edit(
            STORE,
            "Ok(info.created == self.opened.created && info.last_seq < acknowledged)",
            "Ok(info.last_seq < acknowledged)",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "a_bucket_that_is_made_again_goes_on_above_the_old_one::is_by_hand_2_true",
    },
    Fact {
        id: "N7",
        edits: &[edit(
            PROBE,
            "; 13] = [
        (
            found.max_age > 0,
            KEEPS,
            format!(\"the bucket deletes what is older than {} s\", found.max_age / 1_000_000_000),
            \"set max_age to 0: epochs must outlive every lease\",
        ),",
            "; 12] = [",
        )],
        package: PACKAGE,
        target: BUCKETS,
        test: "a_bucket_that_would_lose_leases_is_refused::case_01_an_age",
    },
    Fact {
        id: "N8",
        edits: &[edit(CONNECT, "probe::version(&wire.link.server().version)?;", "")],
        package: PACKAGE,
        target: BUCKETS,
        test: "an_old_server_is_refused_and_told_why",
    },
    Fact {
        id: "N9",
        edits: &[edit(LINK, "false => Err(Failure::Disconnected),", "false => Ok(()),")],
        package: PACKAGE,
        target: RESTARTS,
        test: "what_is_asked_meanwhile_is_never_sent",
    },
    Fact {
        id: "N10",
        edits: &[edit(
            HEARING,
            "Err(_) => Self::Nothing,",
            "Err(Failure::JetStream(_)) => Self::Decision,
            Err(_) => Self::Nothing,",
        )],
        package: PACKAGE,
        target: LIB,
        test: "hearing::tests::an_answer_tells_of_the_servers::case_3_a_race_that_is_not_over",
    },
    Fact {
        id: "N11",
        edits: &[
            edit(
                WITHDRAW,
                "let (mut void, mut refused) = (false, false);",
                "let mut refused = false;",
            ),
            edit(
                WITHDRAW,
                "_ if !void => {
                        self.void_joins(mine).await?;
                        void = true;
                        continue;
                    }",
                "",
            ),
        ],
        package: PACKAGE,
        target: LOST_ANSWERS,
        test: "a_withdrawal_by_an_old_memory_voids_the_join_as_well::held_1_false",
    },
    Fact {
        id: "N12",
        edits: &[edit(
            RENEW,
            "self.rewrite(&found, holder.renewed(mine), Leaves::Quiet)",
            "self.rewrite(&found, holder.renewed(mine), Leaves::Passing(mine.ttl))",
        )],
        package: PACKAGE,
        target: TIMES,
        test: "a_record_that_ran_out_is_still_there::mode_2_Mode__Exclusive::is_renewed_2_true",
    },
    Fact {
        id: "N13",
        edits: &[edit(LINK, "if options.own_thread {", "if false {")],
        package: PACKAGE,
        target: &["--test", "guarded_writes"],
        test: "a_blocked_runtime_does_not_keep_renewals_waiting",
    },
    // For a moment after a split, two servers answer one write; the first to say no may be the one
    // that was left behind.
    Fact {
        id: "N14",
        edits: &[
            edit(
                WITHDRAW,
                "if refused && there.is_free_under(mine.epoch) {
                return Ok(Withdrawn::Removed);
            }",
                "",
            ),
            edit(
                WITHDRAW,
                "Some(kept) if refused && kept.body == by_this_call => {
                        self.memo.forget_writer(mine.nonce);
                        return Ok(Withdrawn::Removed);
                    }",
                "",
            ),
            edit(BREAKING, "Some(_) => Err(two_minds()),", "Some(_) => Ok(Broken::NotThere),"),
        ],
        package: PACKAGE,
        target: &["--test", "two_minds"],
        test: "a_refusal_is_no_proof_that_nothing_was_stored",
    },
    // What a mark had replaced may be shown again, when the mark is over, by a server that was killed.
    Fact {
        id: "N15",
        edits: &[
            edit(WITHDRAW, "ttl.clamp(AT_LEAST, Timing::MAX_TTL)", "AT_LEAST"),
            edit(
                BREAKING,
                "map_or(REMOVED, |writer| brief(writer.holder.ttl()).max(REMOVED))",
                "map_or(REMOVED, |_| REMOVED)",
            ),
        ],
        package: PACKAGE,
        target: TIMES,
        test: "the_mark_of_an_end_lasts_no_shorter_than_what_has_ended::is_broken_1_false::\
               ttl_2_Timing__MAX_TTL",
    },
    // Any replica may answer, and a leader that was cut off does: only one's own last write in an answer
    // shows that it is not from before.
    Fact {
        id: "N16",
        edits: &[
            edit(
                LOOK,
                "if info.last_seq < since {
                continue;
            }",
                "",
            ),
            edit(
                LOOK,
                "Ok(Listed::All(found, up_to)) if up_to >= since => found,",
                "Ok(Listed::All(found, _)) => found,",
            ),
            edit(
                LOOK,
                "Some(witness) => found.get(witness.key).filter(|kept| kept.seq >= witness.seq)?.at,",
                "Some(witness) => found.get(witness.key).map_or(info.now, |kept| kept.at),",
            ),
        ],
        package: PACKAGE,
        target: &["--test", "left_behind"],
        test: "a_list_without_ones_own_last_write_counts_for_nothing",
    },
];
