//! Leases of another maker, in a process of its own.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A process that goes through as many cycles of acquire and release as it is told, and says how
/// long each took: it reads `MODE COUNT`, and answers with the seconds of one cycle.
#[derive(Debug)]
pub struct Other {
    name: &'static str,
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Other {
    /// Starts the program that a variable names; nothing if none is named.
    #[must_use]
    pub fn start(name: &'static str, variable: &str, arguments: &[&str]) -> Option<Self> {
        let Some(program) = env::var_os(variable) else {
            println!("{name} is not measured: {variable} names no program");
            return None;
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{variable}: {error}"));
        let orders = process.stdin.take().unwrap_or_else(|| panic!("{name}: no pipe to it"));
        let answers = process.stdout.take().unwrap_or_else(|| panic!("{name}: no pipe from it"));
        Some(Self { name, process, orders, answers: BufReader::new(answers) })
    }

    /// What it is called.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The mean of so many cycles in this mode; nothing if it does not have the mode.
    pub fn cycles(&mut self, mode: &str, count: usize) -> Option<Duration> {
        let wrong = |error| panic!("{}: {error}", self.name);
        writeln!(self.orders, "{mode} {count}").unwrap_or_else(wrong);
        let mut answer = String::new();
        self.answers
            .read_line(&mut answer)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        match answer.trim() {
            "none" => None,
            seconds => Some(Duration::from_secs_f64(
                seconds.parse().unwrap_or_else(|_| panic!("{}: it says {answer:?}", self.name)),
            )),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
