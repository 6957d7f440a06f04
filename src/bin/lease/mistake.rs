//! A command line that cannot be read, in one sentence that says what to write.

use std::error::Error as _;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::show::plain;

/// How much is shown of a value that is wrong.
const SHOWN: usize = 60;

/// The sentence, where there is a better one than the parser's own words.
pub(crate) fn sentence(error: &Error, subcommand: &str) -> Option<String> {
    let sentence = match error.kind() {
        ErrorKind::UnknownArgument => unknown(error, subcommand),
        ErrorKind::MissingRequiredArgument => missing(error, subcommand),
        ErrorKind::ValueValidation => not_valid(error),
        ErrorKind::InvalidSubcommand => no_subcommand(error),
        _ => None,
    };
    sentence.map(|sentence| plain(&sentence))
}

fn unknown(error: &Error, subcommand: &str) -> Option<String> {
    let [word] = texts(error, ContextKind::InvalidArg)[..] else { return None };
    if subcommand.is_empty() {
        return Some(
            "write the subcommand first, as in `lease status --on URL NAME`; `lease --help` tells \
             them"
                .to_owned(),
        );
    }
    if word.contains("://") {
        // It may have a password in it, so it is not told again.
        return Some("a URL stands where none is looked for: write it after `--on`".to_owned());
    }
    let is_option = word.starts_with('-');
    if let [meant] = texts(error, ContextKind::SuggestedArg)[..] {
        return Some(format!("`lease {subcommand}` has no option `{word}`: write `{meant}`"));
    }
    Some(match (subcommand, is_option) {
        ("run", true) => format!(
            "`lease run` has no option `{word}`: put the command and its own options after `--`, \
             as in `lease run NAME -- COMMAND {word}`; `lease run --help` tells the options of \
             `lease run`"
        ),
        ("run", false) => format!(
            "`{word}` stands where only one NAME may: put the command after `--`, as in `lease run \
             NAME -- {word}`"
        ),
        (_, true) => format!(
            "`lease {subcommand}` has no option `{word}`: `lease {subcommand} --help` tells those \
             that it has"
        ),
        (_, false) => format!(
            "`{word}` is more than `lease {subcommand}` takes: put a name with blanks into quotes"
        ),
    })
}

/// Where a URL stands in place of a subcommand; other words the parser tells well.
fn no_subcommand(error: &Error) -> Option<String> {
    let [word] = texts(error, ContextKind::InvalidSubcommand)[..] else { return None };
    word.contains("://").then(|| {
        "a URL stands where a subcommand is looked for: write it after `--on`, as in `lease status \
         --on URL NAME`"
            .to_owned()
    })
}

fn missing(error: &Error, subcommand: &str) -> Option<String> {
    let missing = texts(error, ContextKind::InvalidArg);
    let advice = missing.iter().map(|what| match (subcommand, *what) {
        (_, "--on <URL>") => Some(
            "say where the leases are by `--on URL` or LEASE_URL, as in `--on \
             file:///mnt/shared/leases`",
        ),
        ("run", "<COMMAND>...") => {
            Some("put the command after `--`, as in `lease run NAME -- COMMAND`")
        }
        ("run", "<NAME>") => {
            Some("write what to hold before the `--`, as in `lease run NAME -- COMMAND`")
        }
        _ => None,
    });
    let advice: Vec<_> = advice.collect::<Option<_>>()?;
    (!advice.is_empty()).then(|| advice.join("; and "))
}

fn not_valid(error: &Error) -> Option<String> {
    let [option] = texts(error, ContextKind::InvalidArg)[..] else { return None };
    let [value] = texts(error, ContextKind::InvalidValue)[..] else { return None };
    let why = error.source()?;
    // A URL may have a password in it, so it is not told again.
    Some(match option {
        "--on <URL>" => format!("the URL of --on, or LEASE_URL, is wrong: {why}"),
        _ => format!("`{}` cannot be {option}: {why}", shown(value)),
    })
}

/// As much of a value as tells which it is.
fn shown(value: &str) -> String {
    let start: String = value.chars().take(SHOWN).collect();
    let more = if start == value { "" } else { "…" };
    format!("{start}{more}")
}

/// What the parser tells of its error.
fn texts(error: &Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text],
        Some(ContextValue::Strings(texts)) => texts.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}
