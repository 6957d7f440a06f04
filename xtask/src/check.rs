//! Chores that are one or two commands.

use crate::step::{Failure, cargo, heading, is_installed, run};

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
pub(crate) fn deny(if_installed: bool) -> Result<(), Failure> {
    heading("dependencies");
    if is_installed("deny") {
        return run(cargo(&["deny", "--all-features", "check"]));
    }
    let missing = "cargo-deny is not installed; get it with `cargo install --locked cargo-deny`";
    if if_installed {
        println!("{missing}");
        return Ok(());
    }
    Err(Failure::Rule(missing.to_owned()))
}
