//! Chores that are one or two commands.

use std::process::Command;

use crate::metadata::RootPackage;
use crate::step::{Failure, cargo, heading, is_installed, output_of, run, workspace};

/// Formatting and clippy. A warning is a failure here and nowhere else, so that work in
/// progress can be compiled.
pub(crate) fn lint() -> Result<(), Failure> {
    heading("format");
    run(cargo(&["fmt", "--all", "--check"]))?;
    heading("clippy");
    let everything = ["clippy", "--workspace", "--all-targets", "--all-features"];
    run(cargo(&[&everything[..], &["--", "--deny", "warnings"]].concat()))
}

/// The documentation; broken links and missing docs are failures.
pub(crate) fn doc() -> Result<(), Failure> {
    heading("documentation");
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    command.env("RUSTDOCFLAGS", "--deny warnings");
    run(command)
}

/// Licences, advisories, bans and sources, as `deny.toml` wants them.
pub(crate) fn deny(if_installed: bool, which: &[&str]) -> Result<(), Failure> {
    heading("dependencies");
    if is_installed("deny") {
        return run(cargo(&[&["deny", "--all-features", "check"], which].concat()));
    }
    let missing = "cargo-deny is not installed; get it with `cargo install --locked cargo-deny`";
    if if_installed {
        println!("{missing}");
        return Ok(());
    }
    Err(Failure::Rule(missing.to_owned()))
}

/// Whether the oldest Rust that the manifest promises builds it all.
///
/// Where that is the one at work, whatever is built here shows it already.
pub(crate) fn oldest_rust(if_installed: bool) -> Result<(), Failure> {
    let promised = RootPackage::read()?.rust_version;
    heading(&format!("Rust {promised}, the oldest promised"));
    let running = text(output_of(here("rustc", &["--version"]))?);
    if running.split(' ').nth(1).is_some_and(|version| is_of(version, &promised)) {
        println!("it is the one at work: {}", running.trim());
        return Ok(());
    }
    let installed = text(output_of(here("rustup", &["toolchain", "list"])).unwrap_or_default());
    let toolchain = installed.lines().filter_map(|line| line.split(' ').next());
    let Some(toolchain) = { toolchain }.find(|name| is_of(name, &promised)) else {
        let missing = format!(
            "Rust {promised} is not installed; get it with \
             `rustup toolchain install --profile minimal {promised}`"
        );
        if if_installed {
            println!("NOT run: {missing}");
            return Ok(());
        }
        return Err(Failure::Rule(missing));
    };
    let check = ["run", toolchain, "cargo", "check", "--workspace", "--all-features"];
    run(here("rustup", &check))
}

/// Whether a version or a toolchain, such as `1.95.0-x86_64-unknown-linux-gnu`, is one of `1.95`.
fn is_of(version: &str, promised: &str) -> bool {
    let rest = version.strip_prefix(promised);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
        && !["-nightly", "-beta"].iter().any(|channel| version.contains(channel))
}

fn here(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace());
    command
}

fn text(output: Vec<u8>) -> String {
    String::from_utf8_lossy(&output).into_owned()
}

#[cfg(test)]
mod tests {
    use super::is_of;

    #[test]
    fn a_version_is_one_of_what_is_promised_whatever_its_patch() {
        for version in ["1.95", "1.95.0", "1.95.2-x86_64-unknown-linux-gnu", "1.95-aarch64-a-b"] {
            assert!(is_of(version, "1.95"), "{version}");
        }
        for version in ["1.9", "1.96.0", "1.950.0", "stable-x86_64", "1.95.0-nightly"] {
            assert!(!is_of(version, "1.95"), "{version}");
        }
        assert!(is_of("1.95.1", "1.95.1") && !is_of("1.95.0", "1.95.1"));
    }
}
