//! The server is killed with a request in its hands, and comes back.

use std::time::Duration;

use lease_core::backend::{Renewed, Taken, Withdrawn};
use lease_core::clock::SystemClock;
use lease_core::{Backend, Clock, Mode, Policy};
use lease_mongo::Options;
use mongodb::bson::doc;
use tokio::task::block_in_place;

use crate::lost_answers::{again, is_unclear};
use crate::support::wire::{claim, fail, reached};
use crate::support::{fresh_database, shell, url_of};

/// `kill -9` while a take, a renewal and a release are each held inside the server: the caller is told in
/// time that nothing is known, the same attempt counts once when the server is back, and what was
/// acknowledged before is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_loses_nothing_that_was_acknowledged() {
    let mut server = block_in_place(testbed::mongo::standalone).expect("a server");
    let database = fresh_database();
    let url = url_of(server.url(), &database, "&timeoutMS=10000&appName=ann");
    let mongo = lease_mongo::connect(Options::parse(&url).expect("a URL")).await.expect("there");
    let policy = Policy::expired();
    let kept = claim("kept", Mode::Writer);
    let joined = mongo.join(&kept, &policy).await;
    let Ok(lease_core::backend::Joined::Granted(kept)) = joined else { panic!("free: {joined:?}") };

    let claim = claim("a", Mode::Exclusive);
    let take = || mongo.take(&claim, None, &policy);
    is_killed(&mut server, "findAndModify", take()).await;
    let Taken::Granted(grant) = again(take).await else { panic!("it is hers") };
    let seen = mongo.observe(&claim.name).await.expect("an answer");
    assert_eq!((seen.epoch, seen.exclusive.expect("hers").nonce), (grant.epoch, claim.nonce));

    let next = grant.holding.next_beat();
    let renew = || async { mongo.renew(std::slice::from_ref(&next)).await.remove(0) };
    is_killed(&mut server, "update", renew()).await;
    let renewed = again(renew).await;
    assert!(matches!(renewed, Renewed::Renewed { .. }), "nobody took it: {renewed:?}");

    is_killed(&mut server, "update", mongo.withdraw(&grant.holding)).await;
    let withdrawn = again(|| mongo.withdraw(&grant.holding)).await;
    assert_eq!(withdrawn, Withdrawn::Removed, "it was not removed before");

    let again_kept = mongo.renew(&[kept.holding.next_beat()]).await.remove(0).expect("an answer");
    assert!(matches!(again_kept, Renewed::Renewed { .. }), "it was acknowledged: {again_kept:?}");
    let Ok(Taken::Granted(later)) =
        mongo.take(&crate::support::wire::claim("a", Mode::Exclusive), None, &policy).await
    else {
        panic!("it is free")
    };
    assert!(later.epoch > grant.epoch, "epochs go on after it");
}

/// Kills the server when it has the request, and starts it again when the caller was told.
async fn is_killed<T: std::fmt::Debug>(
    server: &mut testbed::Server,
    command: &str,
    asked: impl Future<Output = lease_core::Result<T>>,
) {
    let shell = shell(server.url()).await;
    let holds = doc! { "failCommands": [command], "blockConnection": true, "blockTimeMS": 60_000 };
    fail(&shell, "ann", 1, holds).await;
    let start = SystemClock.now();
    let kills = async {
        reached(&shell, 1).await;
        block_in_place(|| server.kill()).expect("it dies");
    };
    let (answer, ()) = tokio::join!(asked, kills);
    is_unclear(&answer);
    let took = SystemClock.now().since(start);
    assert!(took < Duration::from_secs(11), "it must be told in time, not after {took:?}");
    block_in_place(|| server.restart()).expect("it comes back");
}
