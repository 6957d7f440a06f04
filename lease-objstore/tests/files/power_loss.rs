//! What a power loss must not take back is on the disk before it is told: no answer shows that, so the
//! system calls are looked at.

use std::fs;
use std::path::Path;
use std::process::Command;

use lease_objstore::{Options, connect};
use rstest::rstest;

use crate::again::{again, inside};
use crate::people::{acquire, exclusive};

/// The calls that flush and that give a file its name.
const CALLS: &str = "--trace=fsync,fdatasync,link,linkat,rename,renameat,renameat2";

/// Runs the test of this name again and looks over its shoulder: its calls, one a line. Nothing where it
/// was said that nobody can look.
fn calls_of(test: &str, folder: &Path) -> Option<Vec<String>> {
    let told = folder.with_extension("calls");
    let wrapper = ["strace", "-f", "-y", "-s", "4096", CALLS, "-o", told.to_str().unwrap()];
    // Somebody has said so, and been told what is not run then.
    if std::env::var_os("LEASE_TEST_WITHOUT_STRACE").is_some() {
        return None;
    }
    let may = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    assert!(
        may.is_ok_and(|status| status.success()),
        "{test} needs strace, and this system has none or forbids it: install it (CONTRIBUTING.md tells more)"
    );
    let status = again(&wrapper, test, folder).status().unwrap();
    assert!(status.success(), "{test} failed when it was looked at: {status}");
    let calls = fs::read_to_string(&told).unwrap();
    fs::remove_file(told).unwrap();
    Some(calls.lines().map(str::to_owned).collect())
}

/// Whether a call of this kind is about exactly this path.
fn is_about(call: &str, kind: &str, path: &str) -> bool {
    call.contains(&format!("{kind}(")) && call.contains(&format!("<{path}>"))
}

/// Where a file below the folder was given its name.
fn named(calls: &[String], path: &str) -> usize {
    let named = |call: &String| call.contains("link") && call.contains(&format!("\"{path}\""));
    let at = calls.iter().position(|call| named(call) && !call.contains("EEXIST"));
    at.unwrap_or_else(|| panic!("{path} is made: {calls:#?}"))
}

/// The epochs of a folder rise across a power loss, unless somebody wants it otherwise: what gives one
/// out is flushed, its bytes before it has its name and the folder after that.
#[rstest]
#[case::durable("power_loss::what_gives_out_an_epoch_is_flushed::case_1_durable", true)]
#[case::not_durable("power_loss::what_gives_out_an_epoch_is_flushed::case_2_not_durable", false)]
fn what_gives_out_an_epoch_is_flushed(#[case] this: &str, #[case] durable: bool) {
    if let Some(folder) = inside() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(async {
            let options = Options::local(&folder).durable(durable);
            acquire(&connect(options).await.unwrap(), &exclusive()).await;
        });
    }
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().canonicalize().unwrap().join("leases");
    fs::create_dir(&folder).unwrap();
    let Some(calls) = calls_of(this, &folder) else { return };
    let (root, payroll) = (folder.to_str().unwrap(), folder.join("payroll"));
    let payroll = payroll.to_str().unwrap();
    let of_this_folder = |call: &&String| call.contains("sync(") && call.contains(root);
    if !durable {
        let flushed = calls.iter().filter(of_this_folder).count();
        assert_eq!(flushed, 0, "each costs a disk's turn: {calls:#?}");
        return;
    }
    let mark = fs::read_dir(payroll).unwrap().map(|entry| entry.unwrap().path());
    let mark = mark.into_iter().find(|path| path.extension().is_some_and(|e| e == "granted"));
    let mark = mark.unwrap().to_str().unwrap().to_owned();
    let (marker, genesis) = (format!("{root}/leasehold.json"), format!("{payroll}/genesis"));

    for file in [&marker, &genesis] {
        let before = &calls[..named(&calls, file)];
        let flushed = before.iter().any(|call| is_about(call, "fsync", &format!("{file}#1")));
        assert!(flushed, "{file} is there before its bytes are: {calls:#?}");
    }
    // A name's folder is a name in the folder above it.
    for (file, folder) in [(&marker, root), (&genesis, payroll), (&genesis, root), (&mark, payroll)]
    {
        let after = &calls[named(&calls, file)..];
        let flushed = after.iter().any(|call| is_about(call, "fsync", folder));
        assert!(flushed, "a power loss takes {file} back: {calls:#?}");
    }
}
