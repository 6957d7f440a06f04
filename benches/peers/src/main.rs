//! Leases and locks of other makers, driven by orders from standard input.
//!
//! `peers PEER PLACE` takes one order a line, `MODE COUNT`, the mode being `exclusive` or `writer`
//! (shared), and answers each with the mean seconds of a cycle of acquire and release, or with
//! `none` where the peer has no such mode. It ends when its input ends. README.md tells the peers.

use std::io::Write;
use std::process::ExitCode;

mod etcd;
mod file;
mod flock;
mod handover;
mod mongo;
mod orders;

use orders::{Failure, answer};

const USAGE: &str = "\
usage: peers mongo-lock URL | file-lock DIR | etcd-lock ENDPOINT | etcd-handover ENDPOINT | flock FILE
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [peer, place] = arguments.as_slice() else {
        return fail(64, USAGE);
    };
    match drive(peer, place) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => fail(64, USAGE),
        Err(failure) => fail(1, &format!("peers: {peer}: {failure}\n")),
    }
}

/// False if there is no such peer.
fn drive(peer: &str, place: &str) -> Result<bool, Failure> {
    // The drivers work on a thread beside the one that measures, as in the benches of our own.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        match peer {
            "mongo-lock" => answer(&mut mongo::Lock::connect(place).await?).await?,
            "file-lock" => answer(&mut file::Lock::open(place)?).await?,
            "etcd-lock" => answer(&mut etcd::Lock::connect(place).await?).await?,
            "etcd-handover" => answer(&mut handover::Handover::connect(place).await?).await?,
            "flock" => answer(&mut flock::Lock::new(place)).await?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}

fn fail(code: u8, message: &str) -> ExitCode {
    // Nobody is left to be told that standard error is closed.
    let _ = std::io::stderr().write_all(message.as_bytes());
    code.into()
}
