//! What is known of mongod and of its driver, and what the code looks like that does not know it.

use super::Fact;
use crate::rules::edits::edit;

const PACKAGE: &str = "lease-mongo";

const STORIES: &[&str] = &["--test", "stories"];
const CONFORMANCE: &[&str] = &["--test", "conformance"];
const FAILOVER: &[&str] = &["--test", "failover"];

const EXPR: &str = "lease-mongo/src/pipelines/expr.rs";
const RECORD: &str = "lease-mongo/src/record.rs";
const STORE: &str = "lease-mongo/src/store.rs";
const CONNECT: &str = "lease-mongo/src/connect.rs";
const HOME: &str = "lease-mongo/src/home.rs";
const PROBE: &str = "lease-mongo/src/probe.rs";
const TRANSACTION: &str = "lease-mongo/src/transaction.rs";

pub(super) const FACTS: &[Fact] = &[
    // In a pipeline, a string that begins with a dollar is an expression.
    Fact {
        id: "M1",
        edits: &[edit(
            RECORD,
            r#""info": { "$literal": info_to_bson(&claim.info) },"#,
            r#""info": info_to_bson(&claim.info),"#,
        )],
        package: PACKAGE,
        target: CONFORMANCE,
        test: "limits::odd_metadata_is_kept",
    },
    // What is no date, or missing, sorts below every date, and so below every deadline.
    Fact {
        id: "M2",
        edits: &[
            edit(
                EXPR,
                r#"doc! { "$eq": [{ "$type": of("at") }, "date"] },
        doc! { "$gt": [of("ttl"), 0] },
        doc! { "$lte": [of("ttl"), longest] },
        doc! { "$lte": [{ "$subtract": [of("at"), "$$NOW"] }, longest] },"#,
                r#"doc! { "$gt": [of("ttl"), 0] },
        doc! { "$lte": [of("ttl"), longest] },"#,
            ),
            edit(
                EXPR,
                r#"let lived = doc! { "$subtract": ["$$NOW", of("at")] };
    let lives"#,
                "let lives",
            ),
            edit(
                EXPR,
                r#"{ "case": { "$gte": [lived, lives] }, "then": "stale" },"#,
                r#"{ "case": { "$lte": [of("at"), { "$subtract": ["$$NOW", lives] }] },
          "then": "stale" },"#,
            ),
        ],
        package: PACKAGE,
        target: STORIES,
        test: "clock::impossible_times_are_told_and_can_be_broken",
    },
    // An upsert whose filter has a condition inserts where the condition fails: a duplicate key.
    Fact {
        id: "M3",
        edits: &[edit(
            STORE,
            r#""query": { "_id": name.as_str() },"#,
            r#""query": if step.creates {
                    doc! { "_id": name.as_str(), "x": { "$not": { "$type": "object" } } }
                } else {
                    doc! { "_id": name.as_str() }
                },"#,
        )],
        package: PACKAGE,
        target: CONFORMANCE,
        test: "exclusion::a_second_exclusive_is_refused",
    },
    // What one member has acknowledged, the next primary may take back.
    Fact {
        id: "M4",
        edits: &[edit(STORE, r#"doc! { "w": "majority", "j": true }"#, r#"doc! { "w": 1 }"#)],
        package: PACKAGE,
        target: STORIES,
        test: "budget::a_weaker_url_changes_nothing::case_1",
    },
    // That the majority did not acknowledge is said inside an answer that is `ok`.
    Fact {
        id: "M5",
        edits: &[edit(
            STORE,
            r#"check(&answer)?;
        match answer.remove("value") {"#,
            r#"match answer.remove("value") {"#,
        )],
        package: PACKAGE,
        target: STORIES,
        test: "errors::each_failure_says_what_to_do",
    },
    // A primary that was stopped and goes on answers majority reads from before its successor.
    Fact {
        id: "M6",
        edits: &[edit(STORE, r#"_ => "linearizable","#, r#"_ => "majority","#)],
        package: PACKAGE,
        target: FAILOVER,
        test: "a_primary_that_was_stopped_confirms_nothing",
    },
    // The driver repeats a command that an overloaded server refused, unless all retries are off.
    Fact {
        id: "M7",
        edits: &[edit(
            CONNECT,
            "driver.retry_reads = Some(false);
    driver.retry_writes = Some(false);
    // Each request sets its own.",
            "// Each request sets its own.",
        )],
        package: PACKAGE,
        target: STORIES,
        test: "lost_answers::nothing_is_repeated_behind_the_callers_back",
    },
    // The first answer to a `find` has 101 documents at the most, where nothing else is asked.
    Fact {
        id: "M8",
        edits: &[edit(
            STORE,
            r#""singleBatch": true,
                "batchSize": i32::MAX,
                "maxTimeMS""#,
            r#""maxTimeMS""#,
        )],
        package: PACKAGE,
        target: STORIES,
        test: "batch::of_many_each_has_its_own_answer",
    },
    // A TTL index removes a whole document: the writers beside the exclusive, and the epoch.
    Fact {
        id: "M9",
        edits: &[edit(
            PROBE,
            r#"if index.contains_key("expireAfterSeconds") {
        return Err(Error::misconfigured(
            "the lease collection has a TTL index, which would delete leases and their epochs",
            "drop that index: leases end by themselves, and what is left of a name is small",
        ));
    }
    if says(index, "unique") {"#,
            r#"if says(index, "unique") {"#,
        )],
        package: PACKAGE,
        target: STORIES,
        test: "connecting::a_ttl_index_is_refused",
    },
    // A transaction is not in the way of anybody who changes what it has only read.
    Fact {
        id: "M10",
        edits: &[edit(
            TRANSACTION,
            r#"let touched = leases.update_one(filter, doc! { "$inc": { counter: 1_i64 } });
        Ok(touched.session(session).await?.matched_count == 1)"#,
            "let _ = counter;
        Ok(leases.find_one(filter).session(session).await?.is_some())",
        )],
        package: PACKAGE,
        target: STORIES,
        test: "fencing::a_takeover_waits_for_a_transaction_that_is_under_way",
    },
    // A commit that was sent goes on when nobody waits for its answer any more.
    Fact {
        id: "M11",
        edits: &[edit(
            TRANSACTION,
            r#"None if committing.load(Ordering::SeqCst) => {
                    return Err(nonsense("the commit was not answered before the lease ended"));
                }
                // The belief is over"#,
            "// The belief is over",
        )],
        package: PACKAGE,
        target: STORIES,
        test: "fencing::a_commit_that_was_not_answered_in_time_may_have_got_through",
    },
    // The driver's connections are served by the runtime in which its client was made.
    Fact {
        id: "M12",
        edits: &[edit(
            HOME,
            "let run = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(async {
                let client = Client::with_options(options);
                if tell",
            "let client = Client::with_options(options);
        let run = move || match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime.block_on(async {
                if tell",
        )],
        package: PACKAGE,
        target: STORIES,
        test: "blocked::a_blocked_runtime_does_not_keep_renewals_waiting",
    },
    // An update that stores what is there already writes nothing, and is in nobody's way.
    Fact {
        id: "M13",
        edits: &[edit(
            TRANSACTION,
            r#"doc! { "$inc": { counter: 1_i64 } }"#,
            r#"doc! { "$set": { counter: 1_i64 } }"#,
        )],
        package: PACKAGE,
        target: STORIES,
        test: "fencing::a_takeover_waits_for_a_transaction_that_is_under_way",
    },
];
