//! Those who are measured beside ours, as far as they can be had here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::aside;
use super::etcd::Etcd;
use crate::step::{Failure, cargo};

/// The leases of the Python package of that name, in the version that was looked at, and the driver that
/// it leaves to its users to install.
const SEED: [&str; 2] = ["httk-store==2.1.4", "pymongo"];
/// What names a Python that has both, to its bench and to us.
const SEED_VARIABLE: &str = "LEASE_BENCH_SEED";
/// Pythons that it runs with.
const PYTHONS: [&str; 4] = ["python3.14", "python3.13", "python3.12", "python3"];

/// Programs and servers of others.
#[derive(Default)]
pub(super) struct Others {
    seed: Option<PathBuf>,
    peers: Option<PathBuf>,
    etcd: Option<Etcd>,
}

impl Others {
    /// Builds and installs them, and says of each that cannot be had why.
    pub(super) fn prepare(target: &Path) -> Self {
        let seed = seed(&target.join("bench").join("httk-store"));
        if seed.is_none() {
            eprintln!(
                "httk-store is not measured: it needs Python 3.12 or later, with venv, or \
                 {SEED_VARIABLE} to name a Python that has it"
            );
        }
        let etcd = Etcd::start();
        if etcd.is_none() {
            eprintln!(
                "etcd is not measured: there is none on PATH (Debian: etcd-server), or it does not start"
            );
        }
        let peers = peers(target);
        if let Err(why) = &peers {
            eprintln!("the locks of benches/peers are not measured: {why}");
        }
        Self { seed, peers: peers.ok(), etcd }
    }

    /// What tells the benches of them.
    pub(super) fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let seed = self.seed.iter().map(|python| (SEED_VARIABLE, python.clone()));
        let etcd = self.etcd.iter().map(|etcd| ("LEASE_BENCH_ETCD", etcd.endpoint.clone().into()));
        let peers = self.peers.iter().map(|peers| ("LEASE_BENCH_PEERS", peers.clone()));
        seed.chain(etcd).chain(peers).collect()
    }
}

/// The locks of other makers: a workspace of their own, so that they never enter our lock file.
fn peers(target: &Path) -> Result<PathBuf, Failure> {
    let target = target.join("peers");
    let manifest = ["--manifest-path", "benches/peers/Cargo.toml"];
    let mut command = cargo(&[&["build", "--release", "--locked"], &manifest[..]].concat());
    aside(command.env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("release").join("peers"))
}

/// An interpreter that has the seed's package: the one that is named, or one that is made.
fn seed(folder: &Path) -> Option<PathBuf> {
    let has_it =
        |python: &Path| succeeds(Command::new(python).args(["-c", "import httk.store, pymongo"]));
    if let Some(python) = std::env::var_os(SEED_VARIABLE).map(PathBuf::from) {
        return has_it(&python).then_some(python);
    }
    let python = folder.join("bin").join("python");
    if has_it(&python) {
        return Some(python);
    }
    let fits = "import sys; sys.exit(sys.version_info < (3, 12))";
    let known = PYTHONS.into_iter().find(|it| succeeds(Command::new(it).args(["-c", fits])))?;
    aside(Command::new(known).args(["-m", "venv"]).arg(folder)).ok()?;
    aside(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(SEED)).ok()?;
    has_it(&python).then_some(python)
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
