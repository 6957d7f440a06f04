//! How the command ends: one code for each thing that a script can do about it.

use std::error::Error as _;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use leasehold::Error;
use nix::sys::signal::Signal;

use crate::show;

mod codes;

pub(crate) use codes::{codes, help};

/// Why the command ends with a code of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Usage,
    NotThere,
    Unavailable,
    System,
    Busy,
    Misconfigured,
    Lost,
    HeldTooLong,
    NotExecutable,
    NotFound,
    Signal(Signal),
}

impl Cause {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Usage => 64,
            Self::NotThere => 66,
            Self::Unavailable => 69,
            Self::System => 71,
            Self::Busy => 75,
            Self::Misconfigured => 78,
            Self::Lost | Self::HeldTooLong => 79,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Signal(signal) => of_signal(signal as i32),
        }
    }

    /// One for each code; those of signals apart.
    const ALL: [Self; 9] = [
        Self::Usage,
        Self::NotThere,
        Self::Unavailable,
        Self::Busy,
        Self::Misconfigured,
        Self::Lost,
        Self::NotExecutable,
        Self::NotFound,
        Self::System,
    ];

    /// What another process of ours means by its code.
    pub(crate) fn of_code(code: u8) -> Self {
        Self::ALL.into_iter().find(|cause| cause.code() == code).unwrap_or(Self::System)
    }

    /// The word for it in JSON.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotThere => "not-there",
            Self::Unavailable => "unavailable",
            Self::System => "system",
            Self::Busy => "busy",
            Self::Misconfigured => "misconfigured",
            Self::Lost => "lost",
            Self::HeldTooLong => "held-too-long",
            Self::NotExecutable => "not-executable",
            Self::NotFound => "not-found",
            Self::Signal(_) => "signal",
        }
    }
}

/// The code by which shells tell how a command ended.
pub(crate) fn of_command(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code & 0xff).unwrap_or(u8::MAX),
        (None, Some(signal)) => of_signal(signal),
        (None, None) => u8::MAX,
    }
}

/// The code by which shells tell of a signal.
pub(crate) const fn of_signal(signal: i32) -> u8 {
    128 + (signal & 0x7f) as u8
}

/// Whether a command that exits with this code could be taken for us.
pub(crate) fn is_reserved(code: u8) -> bool {
    matches!(code, 64..=79 | 126 | 127)
}

/// What went wrong, for people, and what it means for the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) cause: Cause,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into() }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Cause::Usage, message)
    }

    /// The system refused what every program needs.
    pub(crate) fn system(what: &str, error: impl std::fmt::Display) -> Self {
        Self::new(Cause::System, format!("{what}: {error}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let cause = match &error {
            Error::Held { .. } | Error::WouldDeadlock { .. } | Error::NotYet { .. } => Cause::Busy,
            Error::Unavailable { .. } => Cause::Unavailable,
            Error::Lost { .. } => Cause::Lost,
            _ => Cause::Misconfigured,
        };
        let message = match &error {
            Error::Held { name, by } => format!("`{name}` is not free: {}", show::standing(by)),
            Error::Lost { name, reason, .. } => {
                format!("the lease on `{name}` was lost ({reason})")
            }
            error => with_sources(error),
        };
        Self { cause, message }
    }
}

/// An error and what is behind it, in one line.
pub(crate) fn with_sources(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let told = source.to_string();
        // Drivers like to repeat what they wrap.
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        next = source.source();
    }
    text
}
