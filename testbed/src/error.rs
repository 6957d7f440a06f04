//! What went wrong, and what to do about it.

use std::fmt::Display;

/// A server or process could not be had, or does not do what it was told.
#[derive(Debug, thiserror::Error)]
#[error("{problem}\n  remedy: {remedy}")]
pub struct Error {
    problem: String,
    remedy: String,
}

/// What everything in this crate answers with.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(problem: impl Display, remedy: impl Display) -> Self {
        Self { problem: problem.to_string(), remedy: remedy.to_string() }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

/// Turns any failure into an [`Error`], at the place that knows the remedy.
pub(crate) trait OrRemedy<T> {
    /// `problem` comes first in the message, the failure itself after it.
    fn or_remedy(self, problem: impl Display, remedy: impl Display) -> Result<T>;
}

impl<T, E: Display> OrRemedy<T> for std::result::Result<T, E> {
    fn or_remedy(self, problem: impl Display, remedy: impl Display) -> Result<T> {
        self.map_err(|failure| Error::new(format!("{problem}: {failure}"), remedy))
    }
}
