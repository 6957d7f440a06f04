//! `lease completions` and `lease man`: what a package of the command installs beside it.

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::exit::{self, Failure};
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

/// How that section of a page begins.
const SYNOPSIS: &str = ".SH SYNOPSIS\n";

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
    let mut page = of.and_then(|name| whole.find_subcommand(name).cloned()).unwrap_or(whole);
    let usage = page.render_usage().to_string();
    // The page would fill them into one paragraph.
    let page = page.after_help(Resettable::Reset);
    let mut text = Vec::new();
    let source = concat!("lease ", env!("CARGO_PKG_VERSION"));
    let written = Man::new(page).source(source).render(&mut text);
    written.map_err(|error| Failure::system("the page cannot be written", error))?;
    let text = with_usage(&String::from_utf8_lossy(&text), usage.trim_start_matches("Usage: "));
    print(text.trim_end())?;
    print(exit_status(of.unwrap_or_default()))?;
    Ok(0)
}

/// The page with its usage in place of a synopsis that lists options without their values.
fn with_usage(page: &str, usage: &str) -> String {
    let Some((before, rest)) = page.split_once(SYNOPSIS) else { return page.to_owned() };
    let after = rest.split_once("\n.SH ").map_or("", |(_, after)| after);
    format!("{before}{SYNOPSIS}{}\n.SH {after}", plain(usage))
}

/// Each code with what it means beside it.
fn exit_status(of: &str) -> String {
    let rows = exit::codes(of)
        .map(|(code, meaning)| format!(".TP\n\\fB{}\\fR\n{}", plain(code), plain(meaning)));
    [".SH \"EXIT STATUS\"".to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

/// A line that a page shows as it is.
fn plain(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    // What begins with one of these would be taken for an order.
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
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
    seen.version(env!("CARGO_PKG_VERSION")).about(about)
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

    #[test]
    fn each_page_tells_the_exit_codes_of_its_subcommand() {
        for name in PAGES {
            assert!(exit::codes(name).any(|(code, _)| code == "64"), "{name}");
        }
    }
}
