//! Another process of ours, as a test sees it: its lines, and its life and death.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, OrRemedy, Result};
use crate::process::Process;

/// A running child whose lines a test reads, and which it pauses, resumes and kills.
///
/// It is killed when this value drops, and also when the test process itself is killed.
#[derive(Debug)]
pub struct Helper {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Helper {
    /// Starts it with its input and output connected to the test; errors go where the test's go.
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    pub fn spawn(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::spawn(&mut command, None)?;
        let stdin = process.take_stdin();
        let stdout = process.take_stdout();
        let (sender, lines) = channel();
        // A thread, since a read of a pipe cannot be given a deadline. It ends with the pipe.
        thread::spawn(move || {
            let Some(stdout) = stdout else { return };
            let texts = BufReader::new(stdout).lines().map_while(std::result::Result::ok);
            texts.take_while(|text| sender.send(text.clone()).is_ok()).for_each(drop);
        });
        Ok(Self { process, stdin, lines, seen: Vec::new() })
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the next line of its output.
    ///
    /// # Errors
    ///
    /// When none came in time, or the output ended; the message shows the lines before.
    pub fn line(&mut self, within: Duration) -> Result<String> {
        self.line_with("", within)
    }

    /// Waits for a line that contains `part`, passing over others.
    ///
    /// # Errors
    ///
    /// As for [`line`](Self::line).
    pub fn line_with(&mut self, part: &str, within: Duration) -> Result<String> {
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(why) => return Err(self.silent(part, within, why)),
            };
            self.seen.push(line.clone());
            if line.contains(part) {
                return Ok(line);
            }
        }
    }

    /// Writes a line to its input.
    ///
    /// # Errors
    ///
    /// When it no longer reads.
    pub fn say(&mut self, line: &str) -> Result<()> {
        let pipe = self.stdin.as_mut().ok_or("closed");
        let pipe = pipe.or_remedy("its input", "do not say anything after close_input")?;
        writeln!(pipe, "{line}").or_remedy("its input", "see whether the process still lives")
    }

    /// Closes its input.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Stops it where it stands (`SIGSTOP`), as a suspended laptop or a starved host would.
    ///
    /// Signals reach this process only; what it started goes on, until this value drops.
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub fn pause(&self) -> Result<()> {
        self.process.pause()
    }

    /// Lets it go on (`SIGCONT`).
    ///
    /// # Errors
    ///
    /// When it has ended.
    pub fn resume(&self) -> Result<()> {
        self.process.resume()
    }

    /// Kills it with no chance to clean up (`SIGKILL`), and waits for its end.
    ///
    /// # Errors
    ///
    /// When the system does not let us.
    pub fn kill(&self) -> Result<()> {
        self.process.kill()
    }

    /// Asks it to end (`SIGTERM`) and waits for that.
    ///
    /// # Errors
    ///
    /// When it goes on for longer than `within`.
    pub fn terminate(&self, within: Duration) -> Result<ExitStatus> {
        self.process.terminate(within)
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    ///
    /// When it goes on for longer than `within`.
    pub fn wait(&self, within: Duration) -> Result<ExitStatus> {
        self.process.wait(within)
    }

    fn silent(&self, part: &str, within: Duration, why: RecvTimeoutError) -> Error {
        let why = match why {
            RecvTimeoutError::Timeout => format!("none came within {within:?}"),
            RecvTimeoutError::Disconnected => "the output ended".to_owned(),
        };
        Error::new(
            format!("waited for a line with {part:?}: {why}; lines before: {:?}", self.seen),
            "see what the helper waits for",
        )
    }
}
