//! The leases of `httk-store`, in its own language, on the same server.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use lease_core::Mode;

/// A process that goes through as many cycles as it is told, and says how long each took.
pub(crate) struct Seed {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Seed {
    /// Starts it if an interpreter is named.
    pub(crate) fn start(url: &str) -> Option<Self> {
        let python = std::env::var_os("LEASE_BENCH_SEED")?;
        let mut process = Command::new(python)
            .args(["-c", include_str!("seed.py"), url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Some(Self { process, orders, answers })
    }

    /// The mean of so many cycles of acquire and release.
    pub(crate) fn cycle(&mut self, mode: Mode, count: usize) -> Duration {
        writeln!(self.orders, "{mode} {count}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        Duration::from_secs_f64(answer.trim().parse().unwrap())
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
