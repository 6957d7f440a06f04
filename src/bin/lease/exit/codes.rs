//! The exit codes of each subcommand: one table, for `--help` and for the pages.

use std::fmt::Write as _;

/// How wide a line of help is, so that it fits every terminal.
const WIDTH: usize = 80;

/// Where what a code means begins.
const INDENT: usize = 9;

/// What all of them may mean, for the help of the whole command.
const ALL: &[&str] = &[""];

/// Who carries on with a lease by its ticket.
const TICKETS: &[&str] = &["renew", "check", "release"];

/// Who only looks at a store.
const LOOKS: &[&str] = &["status", "list", "watch", "break", "bench", "doctor"];

/// A code, what it means, and of which subcommands.
struct Row(&'static str, &'static str, &'static [&'static str]);

/// In the order of the codes. A code has several rows where it does not mean the same everywhere.
const ROWS: [Row; 48] = [
    Row("0", "it went well", ALL),
    Row("0", "who holds was told, or that nobody does", &["status"]),
    Row("0", "all names were told", &["list"]),
    Row("0", "it was broken", &["break"]),
    Row("0", "all was measured", &["bench"]),
    Row("0", "it was printed", &["completions", "man"]),
    Row("0", "it is held, and the ticket was given", &["acquire"]),
    Row("0", "it is held for one more ttl", &["renew"]),
    Row("0", "it is held", &["check"]),
    Row("0", "it was freed", &["release"]),
    Row("0", "nothing is broken, nor in doubt with --strict", &["doctor"]),
    Row(
        "0-255",
        "the command's own, or 128+n if signal n killed it; a message tells where it exits with 64 \
         to 79, 126 or 127 itself",
        &["run"],
    ),
    Row("64", "the command line, the store's URL or a ticket is wrong", ALL),
    Row("64", "the command line, the store's URL or the ticket is wrong", &["run"]),
    Row("64", "the command line or the store's URL is wrong", &["acquire"]),
    Row("64", "the command line, the store's URL or the ticket is wrong", TICKETS),
    Row("64", "the command line or the store's URL is wrong", LOOKS),
    Row("64", "the command line is wrong", &["completions", "man"]),
    Row("66", "no such holder; nothing was changed", &["", "break"]),
    Row("69", "the store, or a keeper, does not answer", ALL),
    Row("69", "the store, or the keeper of a --ticket, does not answer", &["run"]),
    Row(
        "69",
        "the store, or the keeper of a --ticket that is there, does not answer",
        &["acquire"],
    ),
    Row("69", "the store, or the keeper of the ticket, does not answer", TICKETS),
    Row("69", "the store does not answer", LOOKS),
    Row("71", "the system refused something that is needed", ALL),
    Row(
        "71",
        "the system refused something that the command needs, or its watchdogs were killed",
        &["run"],
    ),
    Row("71", "the ticket cannot be written, or a keeper cannot be started", &["acquire"]),
    Row("71", "the next ticket cannot be written, or the keeper cannot be asked", &["renew"]),
    Row("71", "the answer cannot be written, or the keeper cannot be asked", &["check"]),
    Row("71", "the keeper cannot be asked", &["release"]),
    Row("71", "the answer cannot be written", LOOKS),
    Row("71", "it cannot be written", &["completions", "man"]),
    Row("75", "another holds it", ALL),
    Row(
        "75",
        "another holds it (--conflict-exit-code sets another code); the command was not started",
        &["run"],
    ),
    Row(
        "75",
        "another holds it (--conflict-exit-code sets another code), or the file of --ticket has the \
         ticket of a lease that may be held; nothing is held",
        &["acquire"],
    ),
    Row("75", "another holds the name that it measures on", &["bench"]),
    Row(
        "78",
        "the store's set-up is wrong: a folder, a permission, a setting",
        &[
            "", "run", "acquire", "renew", "check", "release", "status", "list", "watch", "break",
            "bench",
        ],
    ),
    Row("78", "something is broken, or in doubt with --strict", &["doctor"]),
    Row("79", "a lease was lost, or a ticket was used before", ALL),
    Row(
        "79",
        "the lease was lost, could not be renewed in time or was held for --max-hold, and the \
         command has been ended (or goes on without it, with --on-lost); or it had been taken away \
         when the command ended by itself; or it was taken away while it waited for writers to end, \
         and the command was not started; or its ticket was used before, or the lease of a ticket \
         has ended",
        &["run"],
    ),
    Row(
        "79",
        "it was taken away while it waited for writers to end; nothing is held",
        &["acquire"],
    ),
    Row("79", "the lease is not held any more, or the ticket was used before", TICKETS),
    Row("126", "the command cannot be executed", &["", "run"]),
    Row("127", "the command was not found", &["", "run"]),
    Row("128+n", "signal n ended it", ALL),
    Row("128+n", "signal n ended the wait; the command was not started", &["run"]),
    Row("128+n", "signal n ended the wait; nothing is held", &["acquire"]),
    Row("128+n", "signal n came meanwhile; the next ticket was given all the same", &["renew"]),
];

/// The codes that a subcommand can exit with, and what each means there; of the whole command where
/// no subcommand is named.
pub(crate) fn codes(of: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.iter().filter(move |row| row.2.contains(&of)).map(|row| (row.0, row.1))
}

/// The end of a subcommand's `--help`.
pub(crate) fn help(of: &str) -> String {
    let mut help = match of {
        "" => "Exit codes (`lease COMMAND --help` tells those of each):".to_owned(),
        _ => "Exit codes:".to_owned(),
    };
    for (code, meaning) in codes(of) {
        let _ = write!(help, "\n  {code:<width$}", width = INDENT - 3);
        let mut column = INDENT - 1;
        for word in meaning.split(' ') {
            if column + 1 + word.len() > WIDTH {
                let _ = write!(help, "\n{:INDENT$}{word}", "");
                column = INDENT + word.len();
            } else {
                let _ = write!(help, " {word}");
                column += 1 + word.len();
            }
        }
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Cause;

    #[test]
    fn the_help_of_the_whole_command_has_every_code() {
        let told: Vec<_> = codes("").map(|(code, _)| code.to_owned()).collect();
        for cause in Cause::ALL {
            assert!(told.contains(&cause.code().to_string()), "{cause:?}");
        }
    }

    #[test]
    fn codes_of_subcommands_are_all_told_of_the_whole() {
        let whole: Vec<_> = codes("").map(|(code, _)| code).collect();
        for Row(code, _, of) in &ROWS {
            assert!(whole.contains(code) || *of == ["run"], "{code}");
        }
    }

    #[test]
    fn lines_of_help_fit_and_hang() {
        let help = help("run");
        let lines: Vec<_> = help.lines().skip(1).collect();
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{help}");
        let begin = lines.iter().filter(|line| !line.starts_with(&" ".repeat(INDENT))).count();
        assert_eq!(begin, codes("run").count(), "{help}");
    }
}
