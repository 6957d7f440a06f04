//! A folder is asked for what leases need of it: what is wrong is found, and nothing is left.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use lease_core::Backend;
use lease_core::backend::Confirmed;
use lease_core::checkup::{Checkup, Finding, Verdict};
use lease_objstore::{Options, Probe, WithoutCreate, connect, examine};
use object_store::memory::InMemory;

use crate::again::{as_nobody, inside, with_mounts};
use crate::people::{RESOLUTION, SECOND, acquire, exclusive, name, writer};
use crate::store::{Op, Then, Watched};

/// The finding of a check that was made.
#[track_caller]
fn found<'c>(checkup: &'c Checkup, check: &str) -> &'c Finding {
    &checkup.check(check).unwrap_or_else(|| panic!("no {check} in {checkup:#?}")).finding
}

/// What is wrong or in doubt, and what to do about it.
#[track_caller]
fn told(checkup: &Checkup, check: &str, verdict: Verdict) -> String {
    let finding = found(checkup, check);
    assert_eq!(finding.verdict(), verdict, "{checkup:#?}");
    match finding {
        Finding::Broken { what, fix } | Finding::Doubtful { what, fix } => format!("{what}; {fix}"),
        other => panic!("{other:?}"),
    }
}

/// All that is not found to hold, but for what depends on the machine.
fn flaws(checkup: &Checkup) -> Vec<&str> {
    let machine = ["file-system", "round-trip"];
    let checks = checkup.checks().iter().filter(|check| !machine.contains(&check.name));
    let flaws = checks.filter(|check| !matches!(check.finding, Finding::Holds { .. }));
    flaws.map(|check| check.name).collect()
}

/// All files and folders, with what is in them.
fn everything(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            all.insert(path.display().to_string(), fs::read(&path).unwrap_or_default());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    all
}

/// A folder with a live lease in it is found to be right; the lease is as it was, and so is the rest.
#[tokio::test]
async fn a_folder_in_use_is_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = connect(Options::local(folder.path())).await.unwrap();
    let mine = acquire(&store, &exclusive()).await.holding;
    let before = everything(folder.path());

    let checkup = examine(Options::local(folder.path())).await;

    assert_eq!(flaws(&checkup), [""; 0], "{checkup:#?}");
    assert!(checkup.check("writers-first").is_some(), "{checkup:#?}");
    assert_eq!(everything(folder.path()), before);
    assert!(matches!(store.confirm(&mine).await, Ok(Confirmed::Held { .. })));
    assert_eq!(store.names().await.unwrap(), [name()]);
}

/// Nobody has held leases there yet: nobody has afterwards.
#[tokio::test]
async fn an_empty_folder_stays_empty() {
    let folder = tempfile::tempdir().unwrap();
    let checkup = examine(Options::local(folder.path())).await;
    assert_eq!(flaws(&checkup), [""; 0], "{checkup:#?}");
    assert!(everything(folder.path()).is_empty());
}

/// A folder that is missing may be one that was not mounted: it is told, and not made.
#[tokio::test]
async fn a_folder_that_is_missing_is_not_made() {
    let parent = tempfile::tempdir().unwrap();
    let leases = parent.path().join("leases");
    let checkup = examine(Options::local(&leases)).await;
    assert!(told(&checkup, "place", Verdict::Doubtful).contains("mount"), "{checkup:#?}");
    assert_eq!(flaws(&checkup), ["place"], "{checkup:#?}");
    assert!(everything(parent.path()).is_empty());

    let checkup = examine(Options::local(leases.join("below"))).await;
    assert!(told(&checkup, "place", Verdict::Broken).contains("does not exist"), "{checkup:#?}");
    assert_eq!(checkup.checks().len(), 1);
    fs::write(&leases, "a file").unwrap();
    let checkup = examine(Options::local(&leases)).await;
    assert!(told(&checkup, "place", Verdict::Broken).contains("no folder"), "{checkup:#?}");
}

#[test]
fn a_folder_that_may_only_be_read_is_found_out() {
    const THIS: &str = "examined::a_folder_that_may_only_be_read_is_found_out";
    let Some(folder) = inside() else {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        as_nobody(THIS, folder.path());
        return fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let checkup = runtime.block_on(examine(Options::local(folder)));
    assert!(told(&checkup, "may-write", Verdict::Broken).contains("right"), "{checkup:#?}");
}

/// What is in memory is gone with the machine: that is told of a file system that is.
#[test]
fn a_folder_in_memory_is_doubtful() {
    const THIS: &str = "examined::a_folder_in_memory_is_doubtful";
    let Some(folder) = inside() else {
        let folder = tempfile::tempdir().unwrap();
        return with_mounts(THIS, folder.path(), "mount -t tmpfs none \"$0\"");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let checkup = runtime.block_on(examine(Options::local(folder)));
    assert!(told(&checkup, "file-system", Verdict::Doubtful).contains("tmpfs"), "{checkup:#?}");
    assert_eq!(flaws(&checkup), [""; 0], "{checkup:#?}");
}

/// A folder of a newer version is none of ours.
#[tokio::test]
async fn a_newer_folder_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let marker = r#"{"v":3,"id":"abababababababababababababababab"}"#;
    fs::write(folder.path().join("leasehold.json"), marker).unwrap();
    let checkup = examine(Options::local(folder.path())).await;
    assert!(told(&checkup, "place", Verdict::Broken).contains("newer version"), "{checkup:#?}");
    assert_eq!(everything(folder.path()).len(), 1);
}

/// An object store that a test spoils, and how it is opened.
fn spoilt(hook: impl Fn(Op, &str) -> Then + Send + Sync + 'static) -> (Watched, Options) {
    let store = Watched::over(Arc::new(InMemory::new()));
    let view = store.another();
    view.hook(move |op, path| hook(op, path.as_ref()));
    (store, Options::store(Arc::new(view)).resolution(RESOLUTION, SECOND))
}

#[tokio::test]
async fn a_disk_without_hard_links_is_found_out() {
    const EPERM: i32 = 1;
    let (store, options) = spoilt(|op, _| match op {
        Op::Create => Then::Fail(object_store::Error::Generic {
            store: "Watched",
            source: io::Error::from_raw_os_error(EPERM).into(),
        }),
        _ => Then::Go,
    });
    let checkup = examine(options).await;
    let told = told(&checkup, "conditional-create", Verdict::Broken);
    assert!(told.contains("hard links"), "{told}");
    assert!(store.files().await.is_empty());
}

/// A store that writes over what is there is bearable where files are created by election, and not
/// where others trust it, or nobody wants that.
#[tokio::test]
async fn a_store_that_overwrites_is_found_out() {
    let store = Watched::over(Arc::new(InMemory::new()));
    let options = |store: Watched| Options::store(Arc::new(store)).resolution(RESOLUTION, SECOND);
    let careless = || options(store.clone().without_create());

    let refusing = careless().without_create(WithoutCreate::Refuse);
    let told_of = |checkup: &Checkup, verdict| told(checkup, "conditional-create", verdict);
    let checkup = examine(refusing).await;
    assert!(told_of(&checkup, Verdict::Broken).contains("two exclusives"), "{checkup:#?}");
    assert!(checkup.check("one-holder").is_none(), "nothing rests on that: {checkup:#?}");
    let checkup = examine(careless()).await;
    assert!(told_of(&checkup, Verdict::Doubtful).contains("election"), "{checkup:#?}");
    assert!(store.files().await.is_empty(), "{:?}", store.files().await.keys());

    connect(options(store.clone())).await.unwrap();
    let checkup = examine(careless()).await;
    assert!(told_of(&checkup, Verdict::Broken).contains("two exclusives"), "{checkup:#?}");
    assert_eq!(store.files().await.len(), 1, "the marker of those who trust it");
}

/// A listing from a cache shows what is no longer there: a lease that has ended would hold on.
#[tokio::test]
async fn a_listing_that_lags_behind_is_found_out() {
    let (_, options) = spoilt(|op, _| if op == Op::List { Then::Stale } else { Then::Go });
    let checkup = examine(options).await;
    assert!(told(&checkup, "listing", Verdict::Broken).contains("lookupcache"), "{checkup:#?}");
}

/// Files that are stamped in whole seconds cannot be judged by hundredths.
#[tokio::test]
async fn coarse_times_are_found_out() {
    let store = Watched::over(Arc::new(InMemory::new())).with_whole_seconds();
    let options = Options::store(Arc::new(store)).resolution(RESOLUTION, SECOND);
    let checkup = examine(options).await;
    assert!(
        told(&checkup, "file-times", Verdict::Broken).contains("whole seconds"),
        "{checkup:#?}"
    );
}

/// A store that does not answer is no store that is wrong.
#[tokio::test]
async fn a_store_that_does_not_answer_is_told_as_such() {
    let away = |op: Op| object_store::Error::Generic {
        store: "Watched",
        source: format!("{op:?} timed out").into(),
    };
    let (_, options) = spoilt(move |op, _| Then::Fail(away(op)));
    let checkup = examine(options).await;
    assert_eq!(checkup.verdict(), Verdict::Unanswered, "{checkup:#?}");
    let (_, options) = spoilt(move |op, path| match (op, path.contains("/doctor/")) {
        (Op::Create, true) => Then::Fail(away(op)),
        _ => Then::Go,
    });
    let checkup = examine(options).await;
    assert_eq!(checkup.verdict(), Verdict::Unanswered, "{checkup:#?}");
}

/// Who may look only is told what can be seen, and writes nothing.
#[tokio::test]
async fn who_looks_only_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = connect(Options::local(folder.path()).probe(Probe::Skip)).await.unwrap();
    acquire(&store, &writer()).await;
    let before = everything(folder.path());
    let checkup = examine(Options::local(folder.path()).read_only()).await;
    assert!(matches!(found(&checkup, "opens"), Finding::Unknown { .. }), "{checkup:#?}");
    assert_eq!(everything(folder.path()), before);
}
