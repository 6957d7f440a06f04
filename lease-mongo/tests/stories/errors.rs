//! Every failure that a server can be made to show, and what a caller is told to do about it.

use lease_core::{Backend, Effect, Error, Mode, Policy};
use lease_mongo::Options;
use mongodb::bson::{Document, doc};

use crate::support::wire::{alone, claim, fail, mend};
use crate::support::{fresh_database, shell, url};

/// What a caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Try again; it may have happened.
    Unclear,
    /// A person has to change something.
    Person,
}

/// Failures of a write, as a command that was refused or as one whose majority was not reached.
const TABLE: &[(i32, &str, Told)] = &[
    (6, "host unreachable", Told::Unclear),
    (7, "host not found", Told::Unclear),
    (11, "user not found", Told::Unclear),
    (13, "unauthorized", Told::Person),
    (18, "authentication failed", Told::Person),
    (50, "out of time", Told::Unclear),
    (59, "no such command", Told::Person),
    (64, "majority not reached", Told::Unclear),
    (72, "invalid options", Told::Person),
    (79, "no such write concern", Told::Person),
    (89, "network timeout", Told::Unclear),
    (91, "shutdown in progress", Told::Unclear),
    (100, "majority impossible", Told::Person),
    (112, "write conflict", Told::Unclear),
    (115, "not supported", Told::Person),
    (133, "no primary found", Told::Unclear),
    (189, "primary stepped down", Told::Unclear),
    (262, "exceeded time limit", Told::Unclear),
    (9001, "socket exception", Told::Unclear),
    (10107, "not the primary", Told::Unclear),
    (10334, "document too large", Told::Person),
    (11000, "duplicate key", Told::Unclear),
    (11600, "interrupted at shutdown", Told::Unclear),
    (11602, "interrupted by an election", Told::Unclear),
    (13435, "not primary, no secondary ok", Told::Unclear),
    (13436, "recovering", Told::Unclear),
    (17276, "unknown variable NOW", Told::Person),
    (17280, "key too large", Told::Unclear),
    (17419, "update too large", Told::Person),
    (31325, "unknown expression", Told::Person),
    (40324, "unknown stage", Told::Person),
    (40415, "unknown field", Told::Person),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_failure_says_what_to_do() {
    let _alone = alone().await;
    let name = fresh_database();
    let shell = shell(&url(&name).replace("&timeoutMS=10000", "")).await;
    let options = Options::parse(&format!("{}&appName={name}", url(&name))).expect("a URL");
    let mongo = lease_mongo::connect(options).await.expect("the replica set is there");

    for (code, what, told) in TABLE {
        let data = doc! { "failCommands": ["findAndModify"], "errorCode": code };
        fail(&shell, &name, 1, data).await;
        let claim = claim(&format!("refused {code}"), Mode::Exclusive);
        let taken = mongo.take(&claim, None, &Policy::expired()).await;
        let error = taken.expect_err("it was made to fail");
        is_told_in_a_sentence(&error, "the server says");
        assert_eq!(said(error), *told, "{code}: {what}");
        mend(&shell).await;
    }
    for (code, what) in [(64, "majority not reached"), (91, "shutdown"), (11602, "an election")] {
        let failure = doc! { "code": code, "errmsg": what };
        let data = doc! { "failCommands": ["findAndModify", "update"],
        "writeConcernError": failure };
        fail(&shell, &name, 2, data).await;
        let claim = claim(&format!("applied {code}"), Mode::Exclusive);
        let taken = mongo.take(&claim, None, &Policy::expired()).await;
        assert_eq!(said(taken.expect_err("nobody may rely on it")), Told::Unclear, "{what}");
        // It was applied all the same: the same attempt finds its own grant.
        let mine = lease_core::Holding::created(&claim, lease_core::Revision::new("0.1"));
        let renewed = mongo.renew(&[mine.next_beat()]).await.remove(0);
        assert_eq!(said(renewed.expect_err("nobody may rely on it")), Told::Unclear, "{what}");
        mend(&shell).await;
        let taken = mongo.take(&claim, None, &Policy::expired()).await;
        assert!(matches!(taken, Ok(lease_core::backend::Taken::Granted(_))), "{taken:?}");
    }
}

/// One statement of a batch that the server fails fails the batch, and is no loss.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_document_is_no_loss() {
    let name = fresh_database();
    let shell = shell(&url(&name).replace("&timeoutMS=10000", "")).await;
    let mongo = crate::support::connected(&name).await;
    let claim = claim("a", Mode::Exclusive);
    mongo.take(&claim, None, &Policy::expired()).await.expect("an answer");
    let never = doc! { "collMod": "leases", "validator": { "never": true } };
    shell.database(&name).run_command(never).await.expect("a validator");
    let mine = lease_core::Holding::created(&claim, lease_core::Revision::new("0.1"));
    let renewed = mongo.renew(&[mine.next_beat()]).await.remove(0);
    assert_eq!(said(renewed.expect_err("it was not written")), Told::Person);
    let taken = mongo.withdraw(&mine).await;
    assert_eq!(said(taken.expect_err("it was not written")), Told::Person);
    let document: Option<Document> =
        shell.database(&name).collection("leases").find_one(doc! {}).await.expect("an answer");
    assert!(document.is_some_and(|it| it.get_document("x").is_ok()), "it is still held");
}

/// Without a server there is no code, but the reason that the system gives.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_told_in_a_sentence() {
    let options = Options::parse("mongodb://127.0.0.1:9/jobs?timeoutMS=1000").expect("a URL");
    let error = lease_mongo::connect(options).await.expect_err("nobody listens");
    is_told_in_a_sentence(&error, "refused");
}

/// What a person reads has the cause in it, and nothing of the driver's insides.
fn is_told_in_a_sentence(error: &Error, cause: &str) {
    let mut told = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(source) = next {
        told = format!("{told}: {source}");
        next = source.source();
    }
    assert!(told.contains(cause), "the cause is missing: {told}");
    for inside in ["RawDocument", "server response", "labels:", "Kind:"] {
        assert!(!told.contains(inside), "this is the driver's: {told}");
    }
}

fn said(error: Error) -> Told {
    match error {
        Error::Unavailable { effect: Effect::Unknown, .. } => Told::Unclear,
        Error::Misconfigured { .. } => Told::Person,
        other => panic!("neither one nor the other: {other:?}"),
    }
}
