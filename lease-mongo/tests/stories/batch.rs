//! Many renewals in one command: which of them were lost is found out exactly.

use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Joined, Renewed, Taken};
use lease_core::clock::SystemClock;
use lease_core::{
    Backend, BreakNote, Clock, Coordinator, Holding, LossReason, Mode, Policy, Timing,
};
use mongodb::bson::{Document, doc};

use crate::support::wire::{claim, overheard};
use crate::support::{fresh_database, options, shell, url};

/// Two hundred leases, of which some were released, broken, erased, handed over or are asked to end.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_each_has_its_own_answer() {
    let database = fresh_database();
    let (options, wire) = overheard(options(&database));
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");
    let mut mine = Vec::new();
    for i in 0..200 {
        let name = format!("lease {i}");
        mine.push(match i % 4 {
            0 => match mongo.join(&claim(&name, Mode::Writer), &Policy::expired()).await {
                Ok(Joined::Granted(grant)) => grant.holding,
                other => panic!("it is free: {other:?}"),
            },
            _ => match mongo.take(&claim(&name, Mode::Exclusive), None, &Policy::expired()).await {
                Ok(Taken::Granted(grant)) => grant.holding,
                other => panic!("it is free: {other:?}"),
            },
        });
    }

    let mut expected = vec!["renewed"; mine.len()];
    for i in [3, 40, 199] {
        mongo.withdraw(&mine[i]).await.expect("an answer");
        expected[i] = "lost: displaced";
    }
    let note = BreakNote::new("operator", "to see");
    for i in [5, 44] {
        mongo.break_record(&mine[i].name, mine[i].nonce, &note).await.expect("an answer");
        expected[i] = "lost: displaced";
    }
    let by_hand = shell(&url(&database).replace("&timeoutMS=10000", "")).await;
    let leases = by_hand.database(&database).collection::<Document>("leases");
    for i in [7, 48] {
        leases.delete_one(doc! { "_id": mine[i].name.as_str() }).await.expect("an answer");
        expected[i] = "lost: state gone";
    }
    for i in [9, 52] {
        let info = claim("x", Mode::Writer).info;
        mongo.adopt(&mine[i].next_beat(), &info).await.expect("an answer");
        expected[i] = "lost: handed over";
    }
    for i in [100, 104] {
        let drain = claim(mine[i].name.as_str(), Mode::Exclusive);
        mongo.take(&drain, None, &Policy::expired()).await.expect("an answer");
        expected[i] = "renewed, drain";
    }

    wire.sent();
    let next: Vec<Holding> = mine.iter().map(Holding::next_beat).collect();
    let told: Vec<_> =
        mongo.renew(&next).await.into_iter().map(|it| said(it.expect("one"))).collect();
    assert_eq!(told, expected);
    assert_eq!(wire.names(), ["update", "find"], "a second look only where something is amiss");
}

/// As many are lost as are asked to end: the counts add up, and the answers are right all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_loss_and_a_drain_do_not_hide_each_other() {
    let mongo = crate::support::connected(&fresh_database()).await;
    let mut mine = Vec::new();
    for name in ["lost", "drained"] {
        match mongo.join(&claim(name, Mode::Writer), &Policy::expired()).await {
            Ok(Joined::Granted(grant)) => mine.push(grant.holding.next_beat()),
            other => panic!("it is free: {other:?}"),
        }
    }
    mongo.withdraw(&mine[0]).await.expect("an answer");
    let drain = claim("drained", Mode::Exclusive);
    mongo.take(&drain, None, &Policy::expired()).await.expect("an answer");
    let told: Vec<_> =
        mongo.renew(&mine).await.into_iter().map(|it| said(it.expect("one"))).collect();
    assert_eq!(told, ["lost: displaced", "renewed, drain"]);
}

/// A process with sixty leases of both modes, acquired one after the other: those that are due within
/// a tenth of an interval go together, so that there are never more commands than tenths.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_holds_is_renewed_by_few_commands() {
    const HELD: usize = 60;
    let (options, wire) = overheard(options(&fresh_database()));
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");
    let timing = Timing::with_ttl(Duration::from_secs(15)).build().expect("possible");
    let process = Coordinator::builder(Arc::new(mongo)).timing(timing).build();
    let asked = (0..HELD).map(|i| {
        let mode = if i % 2 == 0 { Mode::Writer } else { Mode::Exclusive };
        process.ask(format!("lease {i}"), mode).acquire()
    });
    let held = futures::future::try_join_all(asked).await.expect("free");
    wire.sent();
    let intervals = timing.renew_every() * 3;
    SystemClock.sleep_until(SystemClock.now().plus(intervals)).await;

    let sent = wire.sent();
    let commands: Vec<_> = sent.iter().filter_map(|sent| sent.get_array("updates").ok()).collect();
    let statements: usize = commands.iter().map(|statements| statements.len()).sum();
    // A statement for each lease, and at times one more for each name with a writer.
    assert!(statements >= HELD * 2, "each is renewed in each interval: {statements} statements");
    assert!(commands.len() <= 3 * 11, "{} commands for {statements} statements", commands.len());
    for lease in &held {
        lease.check().expect("it is renewed");
    }
}

fn said(answer: Renewed) -> &'static str {
    match answer {
        Renewed::Renewed { drain: false, .. } => "renewed",
        Renewed::Renewed { drain: true, .. } => "renewed, drain",
        Renewed::Lost(LossReason::Displaced) => "lost: displaced",
        Renewed::Lost(LossReason::StateGone) => "lost: state gone",
        Renewed::Lost(LossReason::HandedOver) => "lost: handed over",
        Renewed::Lost(_) => "lost otherwise",
    }
}
