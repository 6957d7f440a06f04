//! One command of a chore: said, run, and judged.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

/// Why a chore failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A command said so; it has printed why.
    #[error("failed: {0}")]
    Command(String),
    /// A command could not be started or read.
    #[error("{0}: {1}")]
    Io(String, io::Error),
    /// A server could not be had.
    #[error(transparent)]
    Server(#[from] testbed::Error),
    /// Something is not as the project wants it.
    #[error("{0}")]
    Rule(String),
}

/// Sets the parts of a long output apart.
pub(crate) fn heading(text: &str) {
    println!("\n=== {text} ===");
}

/// A cargo command, in the workspace and with the cargo that runs this.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(workspace());
    command
}

/// The workspace's folder.
pub(crate) fn workspace() -> &'static Path {
    // The manifest of this package lies one folder below it.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Runs it with its output as it comes.
pub(crate) fn run(mut command: Command) -> Result<(), Failure> {
    let said = say(&command);
    let status = command.status().map_err(|failure| Failure::Io(said.clone(), failure))?;
    if status.success() { Ok(()) } else { Err(Failure::Command(said)) }
}

/// Runs it quietly and returns what it printed.
pub(crate) fn output_of(mut command: Command) -> Result<Vec<u8>, Failure> {
    let said = words(&command);
    let output = command.output().map_err(|failure| Failure::Io(said.clone(), failure))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(Failure::Rule(format!("{said}: {}", String::from_utf8_lossy(&output.stderr))))
}

/// Whether a tool answers to `--version`.
pub(crate) fn is_installed(cargo_command: &str) -> bool {
    let mut command = cargo(&[cargo_command, "--version"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What a shown command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) said: String,
    pub(crate) lines: Vec<String>,
    pub(crate) succeeded: bool,
}

/// Runs it with its output as it comes, and keeps the lines.
pub(crate) fn show(mut command: Command) -> Result<Shown, Failure> {
    let said = say(&command);
    // Through a pipe the tools would turn their colours off.
    if io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let wrong = |failure| Failure::Io(said.clone(), failure);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(wrong)?;
    let errors = child.stderr.take();
    let errors = thread::spawn(move || errors.map(|pipe| tee(pipe, io::stderr())));
    let lines = child.stdout.take().map(|pipe| tee(pipe, io::stdout()));
    let errors = errors.join().unwrap_or_default();
    let succeeded = child.wait().map_err(wrong)?.success();
    let lines = lines.into_iter().chain(errors).flatten().collect();
    Ok(Shown { said, lines, succeeded })
}

/// Copies each line as it comes; the copies are without colours.
fn tee(from: impl Read, mut to: impl Write) -> Vec<String> {
    let mut lines = Vec::new();
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        // A reader that went away does not stop the tests; their outcome still counts.
        let _ = to.write_all(&line).and_then(|()| to.write_all(b"\n"));
        lines.push(plain(&String::from_utf8_lossy(&line)));
    }
    lines
}

/// Without the escape sequences that colour it.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

fn say(command: &Command) -> String {
    let said = words(command);
    println!("$ {said}");
    said
}

fn words(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn colours_are_taken_out_and_nothing_else() {
        assert_eq!(plain("\u{1b}[32;1m  Summary\u{1b}[0m [0.1s] 3 m"), "  Summary [0.1s] 3 m");
    }
}
