//! A bucket is asked for what leases need of it: what is wrong is found, and nothing is left.

use lease_core::Backend;
use lease_core::backend::Confirmed;
use lease_core::checkup::{Checkup, Finding, Verdict};
use lease_core::{Jitter, Mode};
use lease_objstore::{Options, WithoutCreate, examine};
use object_store::client::HttpRequest;
use testbed::FaultProxy;
use testbed::s3::S3;

use crate::people::{acquire, claim};
use crate::place::{Azurite, BUCKET, FakeGcs, Place, Seaweed, Server, s3};
use crate::spoil::{Fate, Spoilt, is_create, is_delete, is_list, is_update, is_write};

async fn place<S: Server>() -> Place {
    tokio::task::spawn_blocking(Place::on::<S>).await.unwrap()
}

/// What is wrong or in doubt, and what to do about it.
#[track_caller]
fn told(checkup: &Checkup, check: &str, verdict: Verdict) -> String {
    let check = checkup.check(check).unwrap_or_else(|| panic!("no {check} in {checkup:#?}"));
    assert_eq!(check.finding.verdict(), verdict, "{checkup:#?}");
    match &check.finding {
        Finding::Broken { what, fix } | Finding::Doubtful { what, fix } => format!("{what}; {fix}"),
        other => panic!("{other:?}"),
    }
}

/// All that is not found to hold, but for what depends on the machine, and what nobody can see.
fn flaws(checkup: &Checkup) -> Vec<&str> {
    let besides = ["lifecycle", "round-trip"];
    let checks = checkup.checks().iter().filter(|check| !besides.contains(&check.name));
    let flaws = checks.filter(|check| !matches!(check.finding, Finding::Holds { .. }));
    flaws.map(|check| check.name).collect()
}

/// What becomes of an examination whose requests are spoilt on their way.
async fn spoilt(
    options: &Options,
    judge: impl Fn(&HttpRequest) -> Fate + Clone + Send + Sync + 'static,
) -> Checkup {
    examine(options.clone().through(move |client| Spoilt::over(client, judge.clone()))).await
}

/// A place with a live lease in it is found to be right; the lease and all else is as it was.
async fn is_right_and_stays_as_it_was(place: Place) {
    let store = place.connect().await;
    let mine = acquire(&store, &claim(Mode::Exclusive)).await.holding;
    let before = place.all().await;

    let checkup = examine(place.options.clone()).await;

    assert_eq!(flaws(&checkup), [""; 0], "{checkup:#?}");
    for check in ["conditional-create", "conditional-overwrite", "one-holder", "writers-first"] {
        assert!(checkup.check(check).is_some(), "{check} of {checkup:#?}");
    }
    let lifecycle = checkup.check("lifecycle").map(|check| &check.finding);
    let Some(Finding::Unknown { why }) = lifecycle else { panic!("{checkup:#?}") };
    assert!(why.contains("rules"), "{why}");
    assert_eq!(place.all().await, before);
    assert!(matches!(store.confirm(&mine).await, Ok(Confirmed::Held { .. })));
}

#[tokio::test]
async fn a_real_s3_is_right() {
    is_right_and_stays_as_it_was(place::<Seaweed>().await).await;
}

#[tokio::test]
async fn a_real_azure_is_right() {
    is_right_and_stays_as_it_was(place::<Azurite>().await).await;
}

#[tokio::test]
async fn a_real_gcs_is_right() {
    is_right_and_stays_as_it_was(place::<FakeGcs>().await).await;
}

/// Nobody has held leases there yet: nobody has afterwards.
#[tokio::test]
async fn a_bucket_that_nobody_used_stays_so() {
    let place = place::<Seaweed>().await;
    assert_eq!(flaws(&examine(place.options.clone()).await), [""; 0]);
    assert!(place.all().await.is_empty(), "{:?}", place.all().await);
}

/// A server that looks whether an object is there and then creates it: several create one.
#[tokio::test(flavor = "multi_thread")]
async fn a_careless_server_is_found_out() {
    let start = || {
        let server = S3::careless().unwrap();
        server.create_bucket(BUCKET).unwrap();
        server
    };
    let server = tokio::task::spawn_blocking(start).await.unwrap();
    let prefix = || Jitter::system().nonce().to_string();
    let options = || s3(&server, BUCKET, &prefix(), None).without_create(WithoutCreate::Refuse);
    // Some of its listings fail while others write: then it is asked again.
    for _ in 0..20 {
        let checkup = examine(options()).await;
        let check = checkup.check("conditional-create");
        if check.is_some_and(|check| check.finding.verdict() != Verdict::Unanswered) {
            let wrong = told(&checkup, "conditional-create", Verdict::Broken);
            return assert!(wrong.contains("two exclusives could hold"), "{wrong}");
        }
    }
    panic!("it never answers");
}

/// A server that ignores the condition of a create is bearable where files are created by election,
/// and not where others trust it, or nobody wants that.
#[tokio::test]
async fn a_server_that_ignores_conditions_is_found_out() {
    let place = place::<FakeGcs>().await;
    let through = |options: Options| {
        options.through(|client| {
            Spoilt::over(FakeGcs::layer(client), |request| match is_create(request) {
                true => Fate::Unconditional,
                false => Fate::Pass,
            })
        })
    };
    let careless = through(place.options.clone());
    let checkup = examine(careless.clone().without_create(WithoutCreate::Refuse)).await;
    let wrong = told(&checkup, "conditional-create", Verdict::Broken);
    assert!(wrong.contains("two exclusives could hold"), "{wrong}");
    assert!(place.all().await.is_empty(), "{:?}", place.all().await);

    place.connect().await;
    let checkup = examine(careless).await;
    let wrong = told(&checkup, "conditional-create", Verdict::Broken);
    assert!(wrong.contains("two exclusives could hold"), "{wrong}");
    assert_eq!(place.all().await.len(), 1, "the marker of those who trust it");
}

/// Leases are right without it; a fenced object is not.
#[tokio::test]
async fn a_server_that_overwrites_whatever_is_there_is_doubtful() {
    let place = place::<FakeGcs>().await;
    let careless = place.options.clone().through(|client| {
        Spoilt::over(FakeGcs::layer(client), |request| match is_update(request) {
            true => Fate::Unconditional,
            false => Fate::Pass,
        })
    });
    let checkup = examine(careless).await;
    let doubt = told(&checkup, "conditional-overwrite", Verdict::Doubtful);
    assert!(doubt.contains("went through") && doubt.contains("If-Match"), "{doubt}");
    assert_eq!(flaws(&checkup), ["conditional-overwrite"], "{checkup:#?}");
}

#[tokio::test]
async fn each_right_that_is_missing_is_named() {
    let place = place::<Seaweed>().await;
    type Is = fn(&HttpRequest) -> bool;
    let is_get: Is = |request| request.method() == http::Method::GET && !is_list(request);
    let is_put: Is = |request| request.method() == http::Method::PUT;
    for (is, check, verb) in [
        (is_list as Is, "may-list", "list"),
        (is_put, "may-write", "create"),
        (is_get, "may-read", "read"),
    ] {
        let refuse = move |request: &HttpRequest| match is(request) {
            true => Fate::Refused(403),
            false => Fate::Pass,
        };
        let checkup = spoilt(&place.options, refuse).await;
        let wrong = told(&checkup, check, Verdict::Broken);
        assert!(wrong.contains(&format!("the right to {verb}")), "{wrong}");
        assert_eq!(flaws(&checkup), [check], "{checkup:#?}");
        assert!(place.all().await.is_empty(), "{:?}", place.all().await);
    }
    let refuse = |request: &HttpRequest| match is_delete(request) {
        true => Fate::Refused(403),
        false => Fate::Pass,
    };
    let checkup = spoilt(&place.options, refuse).await;
    assert!(told(&checkup, "may-delete", Verdict::Doubtful).contains("stays"), "{checkup:#?}");
    let doubt = told(&checkup, "clean-up", Verdict::Doubtful);
    let left = place.all().await;
    let folder = left.first().and_then(|file| file.rsplit_once('/')).unwrap().0;
    assert!(doubt.contains(&format!("`{folder}`")), "{doubt}: {left:?}");
    assert_eq!(flaws(&checkup), ["may-delete", "clean-up"], "{checkup:#?}");
    let read_only = |request: &HttpRequest| match is_write(request) {
        true => Fate::Refused(403),
        false => Fate::Pass,
    };
    assert_eq!(spoilt(&place.options, read_only).await.verdict(), Verdict::Broken);
}

/// A listing that is always an old one shows no holder.
#[tokio::test]
async fn a_listing_that_shows_nothing_is_found_out() {
    let place = place::<Seaweed>().await;
    let checkup = spoilt(&place.options, |request| match is_list(request) {
        true => Fate::Nothing,
        false => Fate::Pass,
    })
    .await;
    assert!(told(&checkup, "listing", Verdict::Broken).contains("listing"), "{checkup:#?}");
}

#[tokio::test]
async fn a_bucket_that_keeps_versions_is_doubtful() {
    let place = place::<Seaweed>().await;
    let checkup = spoilt(&place.options, |_| Fate::Versioned).await;
    assert!(told(&checkup, "versions", Verdict::Doubtful).contains("lifecycle"), "{checkup:#?}");
}

#[tokio::test]
async fn wrong_credentials_are_told_as_such() {
    let place = place::<Seaweed>().await;
    let options = place.options.clone().credentials("testbed", "not-the-secret").unwrap();
    let checkup = examine(options).await;
    let wrong = told(&checkup, "login", Verdict::Broken);
    assert!(wrong.contains("credentials") && !wrong.contains("not-the-secret"), "{wrong}");
    assert_eq!(checkup.checks().len(), 1, "{checkup:#?}");
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_not_made() {
    place::<Seaweed>().await;
    for _ in 0..2 {
        let checkup = examine(Seaweed::options("no-such-bucket", "p", None)).await;
        assert!(told(&checkup, "place", Verdict::Broken).contains("create the bucket"));
    }
}

#[tokio::test]
async fn a_network_that_is_dark_is_no_finding() {
    let server = tokio::task::spawn_blocking(Seaweed::address).await.unwrap();
    let proxy = FaultProxy::start(server).await.unwrap();
    proxy.black_hole();
    let checkup = examine(Seaweed::options(BUCKET, "p", Some(proxy.address()))).await;
    assert_eq!(checkup.verdict(), Verdict::Unanswered, "{checkup:#?}");
}
