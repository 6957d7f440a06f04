//! All kinds of stores at once: they mostly wait.

use std::process::{Child, Command, Stdio};

use faults::backends::Kind;

use crate::{Anything, Arguments};

/// Runs each kind in a process of its own; whether nothing was broken in any.
pub(crate) fn run(arguments: &Arguments, seed: u64) -> Result<bool, Anything> {
    let program = std::env::current_exe()?;
    let start = |kind: Kind| -> std::io::Result<(Kind, Child)> {
        let mut command = Command::new(&program);
        command.args(["--backend", kind.name(), "--seed", &seed.to_string()]);
        command.args(["--minutes", &arguments.minutes.to_string()]);
        command.args(["--clients", &arguments.clients.to_string()]);
        command.arg("--out").arg(&arguments.out);
        Ok((kind, command.stdout(Stdio::piped()).spawn()?))
    };
    let started = Kind::ALL.into_iter().map(start).collect::<std::io::Result<Vec<_>>>()?;
    let mut sums = Vec::new();
    let mut is_clean = true;
    for (kind, child) in started {
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        print!("{said}");
        is_clean &= output.status.success();
        // One that was not judged has no sum.
        let sum = said.lines().last().filter(|line| line.contains(" grants, "));
        sums.push(sum.map_or(format!("{}: did not come to its end", kind.name()), str::to_owned));
    }
    println!("\n{}", sums.join("\n"));
    Ok(is_clean)
}
