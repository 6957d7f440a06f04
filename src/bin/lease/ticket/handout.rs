//! How a ticket is given to whoever asked for it.

use std::fmt::Write as _;
use std::io::{Write, stdout};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::{Carried, Slot};
use crate::args::Form;
use crate::exit::Failure;

/// A ticket and its lease, as `--json` shows them. Fields are added in later versions, never renamed.
#[derive(Debug, Serialize)]
pub(crate) struct TicketView<'a> {
    name: &'a str,
    mode: &'static str,
    epoch: u64,
    token: u64,
    id: String,
    ttl_ms: u128,
    pub(crate) held: bool,
    /// How long it may be believed in if it is not renewed, where that is known.
    pub(crate) remaining_ms: Option<u128>,
    /// The pid of its keeper.
    keeper: Option<u32>,
    /// Of a writer: whether an exclusive waits for it to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) drain: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl<'a> TicketView<'a> {
    pub(crate) fn new(carried: &'a Carried, remaining: Option<Duration>) -> Self {
        let ticket = &carried.ticket;
        Self {
            name: ticket.name().as_str(),
            mode: ticket.mode().as_str(),
            epoch: ticket.epoch().get(),
            token: ticket.token().get(),
            id: ticket.nonce().to_string(),
            ttl_ms: ticket.timing().ttl().as_millis(),
            held: true,
            remaining_ms: remaining.map(|left| left.as_millis()),
            keeper: carried.keeper().map(|keeper| keeper.pid()),
            drain: None,
            ticket: None,
            file: None,
        }
    }
}

/// Gives a ticket to whoever asked for it: on standard output, or in a file.
#[derive(Debug)]
pub(crate) struct Handout {
    pub(crate) form: Form,
    pub(crate) slot: Option<Slot>,
}

impl Handout {
    /// Gives it. An error means that nobody has got it, whoever was to read it included; where it goes
    /// into a file, what else was to be told is not worth the ticket.
    pub(crate) fn give(self, carried: &Carried, remaining: Duration) -> Result<(), Failure> {
        let text = carried.text()?;
        let file = self.slot.as_ref().map(|slot| slot.path().to_owned());
        let told = self.told(carried, &text, file.as_deref(), remaining)?;
        let in_file = self.slot.is_some();
        if let Some(slot) = self.slot {
            slot.fill(&text)?;
        }
        if told.is_empty() {
            return Ok(());
        }
        let mut out = stdout().lock();
        match writeln!(out, "{told}").and_then(|()| out.flush()) {
            Err(error) if !in_file => Err(Failure::system("nobody reads the ticket", error)),
            _ => Ok(()),
        }
    }

    fn told(
        &self,
        carried: &Carried,
        text: &str,
        file: Option<&Path>,
        remaining: Duration,
    ) -> Result<String, Failure> {
        if self.form.json {
            let mut view = TicketView::new(carried, Some(remaining));
            view.ticket = file.is_none().then_some(text);
            view.file = file.map(|file| file.display().to_string());
            let json = serde_json::to_string_pretty(&view);
            return json.map_err(|error| Failure::system("cannot write JSON", error));
        }
        if self.form.env {
            let file = file.map(|file| file.display().to_string());
            return Ok(lines(carried, file.as_deref().unwrap_or(text)));
        }
        Ok(if file.is_none() { text.to_owned() } else { String::new() })
    }
}

/// What a shell evaluates.
fn lines(carried: &Carried, at: &str) -> String {
    let ticket = &carried.ticket;
    let variables = [
        ("NAME", ticket.name().to_string()),
        ("MODE", ticket.mode().as_str().to_owned()),
        ("EPOCH", ticket.epoch().to_string()),
        ("TOKEN", ticket.token().to_string()),
        ("TICKET", at.to_owned()),
    ];
    let mut lines = String::new();
    for (name, value) in variables {
        let end = if lines.is_empty() { "" } else { "\n" };
        // Writing to a string does not fail.
        let _ = write!(lines, "{end}export LEASE_{name}={}", quoted(&value));
    }
    lines
}

/// A word that a shell takes as it is.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_word_as_it_is() {
        assert_eq!(quoted("$HOME `x` \"y\""), "'$HOME `x` \"y\"'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
