//! What `lease run` tells while it goes: lines for people, or JSON for machines.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::{Lease, LossReason, Name, Released, Status, Waiting};
use serde::Serialize;

use crate::args::OnLost;
use crate::exit::{Failure, with_sources};
use crate::show::{RecordView, span, standing};
use crate::voice::Voice;

/// One thing that happened, as a JSON line. Fields are added in later versions, never renamed.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event<'a> {
    Waiting {
        name: &'a str,
        waited_ms: u128,
        draining: bool,
        holder: Option<Box<RecordView>>,
        writers: usize,
        problem: Option<String>,
    },
    Granted {
        name: &'a str,
        mode: &'a str,
        epoch: u64,
        token: u64,
        id: String,
    },
    Doubtful {
        name: &'a str,
        remaining_ms: u128,
    },
    Lost {
        name: &'a str,
        reason: String,
    },
    HeldTooLong {
        name: &'a str,
    },
    KilledTheRest {
        name: &'a str,
    },
    Released {
        name: &'a str,
        freed: bool,
    },
    NotReleased {
        name: &'a str,
        problem: &'a str,
    },
    Exit {
        name: &'a str,
        code: u8,
        cause: &'a str,
        message: Option<&'a str>,
    },
}

/// Tells what happens.
#[derive(Clone, Debug)]
pub(crate) struct Teller {
    json: bool,
    name: Name,
    voice: Voice,
    /// Whom the last line was about, and whether it is still open on the terminal.
    last: Arc<Mutex<Last>>,
}

#[derive(Debug, Default)]
struct Last {
    about: String,
    open: bool,
}

impl Teller {
    pub(crate) fn new(json: bool, name: Name) -> Result<Self, Failure> {
        Ok(Self { json, name, voice: Voice::start()?, last: Arc::default() })
    }

    pub(crate) fn waiting(&self, waiting: &Waiting<'_>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if self.json {
            let about = in_the_way(waiting);
            if last.about != about {
                self.waiting_event(waiting);
                last.about = about;
            }
            return;
        }
        let (about, text) = match (waiting.problem, waiting.standing) {
            (Some(problem), _) => ("store".to_owned(), with_sources(problem)),
            (None, Some(by)) => {
                let id = by.holder.as_ref().map(|holder| holder.nonce.to_string());
                (id.unwrap_or_default(), standing(by))
            }
            (None, None) => return,
        };
        let line = format!("lease: waiting for `{}` ({}): {text}", self.name, span(waiting.waited));
        if stderr().is_terminal() {
            // One line that is written over.
            self.voice.say(format!("\r\x1b[2K{}", cut(&line, width())));
            last.open = true;
        } else if last.about != about {
            self.say(&line);
        }
        last.about = about;
    }

    fn waiting_event(&self, waiting: &Waiting<'_>) {
        let holder = waiting.standing.and_then(|by| by.holder.as_ref());
        self.event(&Event::Waiting {
            name: self.name.as_str(),
            waited_ms: waiting.waited.as_millis(),
            draining: waiting.draining,
            holder: holder.map(RecordView::new).map(Box::new),
            writers: waiting.standing.map_or(0, |by| by.writers),
            problem: waiting.problem.map(with_sources),
        });
    }

    /// The wait is over: the line that was written over is closed.
    pub(crate) fn waited(&self) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut last.open) {
            self.voice.say("\r\x1b[2K".to_owned());
        }
    }

    pub(crate) fn granted(&self, lease: &Lease) {
        if self.json {
            self.event(&Event::Granted {
                name: self.name.as_str(),
                mode: lease.mode().as_str(),
                epoch: lease.epoch().get(),
                token: lease.token().get(),
                id: lease.nonce().to_string(),
            });
        }
    }

    pub(crate) fn doubtful(&self, lease: &Lease) {
        let remaining = lease.remaining();
        if self.json {
            let (name, remaining_ms) = (self.name.as_str(), remaining.as_millis());
            return self.event(&Event::Doubtful { name, remaining_ms });
        }
        let why = match lease.status() {
            Status::Doubtful => "cannot be renewed",
            _ => "was not looked after while this process stood still",
        };
        let left = span(remaining);
        self.say(&format!(
            "lease: `{}` {why} and runs out in {left}: ending the command",
            self.name
        ));
    }

    pub(crate) fn held_too_long(&self, grace: Duration) {
        if self.json {
            return self.event(&Event::HeldTooLong { name: self.name.as_str() });
        }
        let (name, left) = (&self.name, span(grace));
        self.say(&format!(
            "lease: `{name}` may be held for no more than {left} now, by --max-hold: ending the command"
        ));
    }

    pub(crate) fn lost(&self, lease: &Lease, reason: LossReason, on_lost: OnLost) {
        if self.json {
            let (name, reason) = (self.name.as_str(), reason.to_string());
            return self.event(&Event::Lost { name, reason });
        }
        let then = match on_lost {
            OnLost::Kill => "ending the command",
            OnLost::Term => "asking the command to end",
            OnLost::Keep => "the command goes on without it",
        };
        self.say(&format!("lease: `{}` was lost ({reason}): {then}", lease.name()));
    }

    pub(crate) fn released(&self, released: Released) {
        if self.json {
            let freed = released == Released::Freed;
            self.event(&Event::Released { name: self.name.as_str(), freed });
        }
    }

    pub(crate) fn not_released(&self, problem: &str) {
        if self.json {
            return self.event(&Event::NotReleased { name: self.name.as_str(), problem });
        }
        self.say(&format!(
            "lease: `{}` was not released ({problem}): it ends with its ttl",
            self.name
        ));
    }

    /// The command's own code could be taken for one of ours.
    pub(crate) fn command_exited(&self, code: u8) {
        if !self.json {
            self.say(&format!("lease: the command itself exited with {code}"));
        }
    }

    /// The last thing that is told: waits a little for all of it to be read.
    pub(crate) async fn exited(&self, code: u8, failure: Option<&Failure>) {
        if self.json {
            self.event(&Event::Exit {
                name: self.name.as_str(),
                code,
                cause: failure.map_or("command", |failure| failure.cause.word()),
                message: failure.map(|failure| failure.message.as_str()),
            });
        } else if let Some(failure) = failure {
            self.say(&format!("lease: {}", failure.message));
        }
        self.finish().await;
    }

    /// Waits a little for all that was told to be read.
    pub(crate) async fn finish(&self) {
        self.voice.finish().await;
    }

    /// The command has ended, and what it had left running was killed.
    pub(crate) fn killed_the_rest(&self) {
        if self.json {
            return self.event(&Event::KilledTheRest { name: self.name.as_str() });
        }
        self.say("lease: killed what the command had left running");
    }

    fn say(&self, line: &str) {
        self.voice.say(format!("{line}\n"));
    }

    fn event(&self, event: &Event<'_>) {
        if let Ok(line) = serde_json::to_string(event) {
            self.say(&line);
        }
    }
}

/// Who or what is in the way, as far as machines are told of a change.
fn in_the_way(waiting: &Waiting<'_>) -> String {
    // Its text tells times and places that differ from one look to the next.
    let problem = waiting.problem.map(std::mem::discriminant);
    let by = waiting.standing.map(|by| {
        let holder = by.holder.as_ref();
        let holder = holder.map(|holder| (holder.nonce, holder.state, by.is_expired()));
        (holder, by.writers)
    });
    format!("{:?}", (by, waiting.draining, problem))
}

/// How many characters a line of the terminal has.
fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(stderr());
    size.map_or(0, |size| usize::from(size.ws_col))
}

/// As much of `line` as one line of the terminal has room for, since only one can be written over.
/// Nothing is cut where the terminal does not tell its width.
fn cut(line: &str, width: usize) -> &str {
    let mut room = if width > 1 { width - 1 } else { usize::MAX };
    for (at, c) in line.char_indices() {
        // What is not ASCII may take two columns.
        let columns = if c.is_ascii() { 1 } else { 2 };
        if room < columns {
            return &line[..at];
        }
        room -= columns;
    }
    line
}

/// Says a line on standard error at once.
pub(crate) fn say(line: &str) {
    let _ = stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Prints lines on standard output, for as long as somebody reads them.
///
/// # Errors
///
/// When they are lost, as on a full disk: a script must not take what is there for the answer.
pub(crate) fn print(lines: impl Display) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match writeln!(out, "{lines}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::system("cannot write to standard output", error))
        }
        _ => Ok(()),
    }
}

/// Prints one JSON value in a line.
///
/// # Errors
///
/// As for [`print()`].
pub(crate) fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value);
    print(text.map_err(|error| Failure::system("cannot write JSON", error))?)
}

/// Prints one JSON value.
///
/// # Errors
///
/// As for [`print()`].
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value);
    print(text.map_err(|error| Failure::system("cannot write JSON", error))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_the_width_of_the_terminal() {
        assert_eq!(cut("waiting", 80), "waiting");
        assert_eq!(cut("waiting", 5), "wait");
        assert_eq!(cut("имя", 6), "им");
        assert_eq!(cut("waiting", 0), "waiting");
    }
}
