//! `lease completions` and `lease man`: what a package of the command installs beside it.

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::exit::Failure;
use crate::tell::print;

/// The subcommands that have a page of their own.
pub(crate) const PAGES: [&str; 13] = [
    "run",
    "status",
    "list",
    "watch",
    "break",
    "bench",
    "acquire",
    "renew",
    "check",
    "release",
    "doctor",
    "completions",
    "man",
];

/// Prints what a shell needs to complete the command's words.
pub(crate) fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut seen(), "lease", &mut script);
    print(String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// Prints the page of the command, or that of one of its subcommands.
pub(crate) fn man(of: Option<&str>) -> Result<u8, Failure> {
    let mut whole = seen();
    whole.build();
    // The command line lets no other name in than those that have a page.
    let page = of.and_then(|name| whole.find_subcommand(name).cloned()).unwrap_or(whole);
    // As the lines stand: the page would fill them anew.
    let codes = page.get_after_help().map(ToString::to_string).unwrap_or_default();
    let page = page.after_help(Resettable::Reset);
    let mut text = Vec::new();
    let source = concat!("lease ", env!("CARGO_PKG_VERSION"));
    let written = Man::new(page).source(source).render(&mut text);
    written.map_err(|error| Failure::system("the page cannot be written", error))?;
    print(String::from_utf8_lossy(&text).trim_end())?;
    if !codes.is_empty() {
        print(format!(".SH \"EXIT STATUS\"\n.nf\n{}\n.fi", unfilled(&codes)))?;
    }
    Ok(0)
}

/// Lines that a page shows as they are.
fn unfilled(lines: &str) -> String {
    let shown = |line: &str| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // What begins with one of these would be taken for an order.
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    };
    lines.lines().map(shown).collect::<Vec<_>>().join("\n")
}

/// The command without what it calls only itself by.
fn seen() -> Command {
    let whole = Cli::command();
    let parts: Vec<_> =
        whole.get_subcommands().filter(|part| !part.is_hide_set()).cloned().collect();
    let mut seen = Command::new("lease").disable_help_subcommand(true);
    for part in parts {
        seen = seen.subcommand(part);
    }
    let about = whole.get_about().cloned().unwrap_or_default();
    let after = whole.get_after_help().cloned().unwrap_or_default();
    seen.version(env!("CARGO_PKG_VERSION")).about(about).after_help(after)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_subcommand_has_its_page() {
        let shown = seen();
        let shown: BTreeSet<_> = shown.get_subcommands().map(Command::get_name).collect();
        assert_eq!(shown, BTreeSet::from(PAGES));
    }
}
