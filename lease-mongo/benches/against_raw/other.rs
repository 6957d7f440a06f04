//! Leases of another maker, in a process of its own, on the same server.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use lease_core::Mode;

/// A process that goes through as many cycles as it is told, and says how long each took.
pub(crate) struct Other {
    /// What it is called.
    pub(crate) name: &'static str,
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Other {
    /// The leases of `httk-store`, if an interpreter that has them is named.
    pub(crate) fn seed(url: &str) -> Option<Self> {
        let script = ["-c", include_str!("seed.py")];
        Self::start("httk-store", "LEASE_BENCH_SEED", &script, url)
    }

    fn start(name: &'static str, variable: &str, arguments: &[&str], url: &str) -> Option<Self> {
        let program = std::env::var_os(variable)?;
        let mut process = Command::new(program)
            .args(arguments)
            .arg(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Some(Self { name, process, orders, answers })
    }

    /// The mean of so many cycles of acquire and release.
    pub(crate) fn cycle(&mut self, mode: Mode, count: usize) -> Duration {
        writeln!(self.orders, "{mode} {count}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        Duration::from_secs_f64(answer.trim().parse().unwrap())
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
