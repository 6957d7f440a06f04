//! A machine that sleeps: the clock that decides counts that time.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a story fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the clock that is not to be used is compared with")]

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lease_core::clock::SystemClock;
use lease_core::memory::Memory;
use lease_core::{Clock, Coordinator, Moment, Timing};

/// Tells the second run that it is one.
const SLEPT: &str = "LEASE_TEST_SLEPT";
/// For how many seconds the machine seems to have slept since it was started.
const SECONDS: u64 = 1_000_000;

/// To the second run the machine has slept for days, which its monotonic clock does not count. Whoever
/// reckoned with that one would hold on to a lease of before.
#[tokio::test]
async fn counts_for_a_lease() {
    if env::var_os(SLEPT).is_some() {
        return as_if_the_machine_had_slept().await;
    }
    let asleep = ["--map-root-user", "--time", "--boottime", &SECONDS.to_string()];
    // Somebody has said so, and been told what is not run then.
    if env::var_os("LEASE_TEST_WITHOUT_NAMESPACES").is_some() {
        return;
    }
    let may = Command::new("unshare").args(asleep).arg("true").status();
    assert!(
        may.is_ok_and(|status| status.success()),
        "this needs a namespace with a clock of its own, and this system allows none: install util-linux, \
         let users have namespaces (CONTRIBUTING.md tells how), and use Linux 5.6 or later"
    );
    let mut again = Command::new("unshare");
    again.args(asleep).arg(env::current_exe().unwrap());
    again.args(["--exact", "counts_for_a_lease", "--nocapture"]).env(SLEPT, "1");
    assert!(again.status().unwrap().success());
}

async fn as_if_the_machine_had_slept() {
    let asleep = Duration::from_secs(SECONDS);
    let now = SystemClock.now();
    assert!(now.since(Moment::after_origin(asleep)) > Duration::ZERO, "{now:?}");

    let timing = Timing::with_ttl(Duration::from_secs(1)).build().unwrap();
    let leases = Coordinator::builder(Arc::new(Memory::new())).timing(timing).build();
    let lease = leases.exclusive("job").acquire().await.unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        lease.check().unwrap();
        SystemClock.sleep_until(SystemClock.now().plus(Duration::from_millis(100))).await;
    }
}
