//! Becomes the command: what stands between `run` and the command for a moment.
//!
//! Setting the parent-death signal needs code in the child before it becomes the command. A hidden
//! subcommand is that code, so that nothing unsafe is needed.

use std::io::{ErrorKind, stdin};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, getppid};

use crate::args::Exec;
use crate::exit::{Cause, Failure};
use crate::terminal;

/// Returns only if the command cannot be run.
pub(crate) fn become_the_command(exec: &Exec) -> Failure {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_pdeathsig(Signal::SIGTERM) {
        return Failure::system("cannot ask to end with the lease", error);
    }
    // If the parent died before that, nobody will tell any more.
    if getppid() != Pid::from_raw(exec.parent) {
        return Failure::new(Cause::Signal(Signal::SIGTERM), "the lease's process has ended");
    }
    if exec.foreground
        && let Err(error) = terminal::give(&stdin(), getpid())
    {
        return Failure::system("cannot take the terminal", error);
    }
    let Some((program, arguments)) = exec.command.split_first() else {
        return Failure::new(Cause::Usage, "no command was given");
    };
    let error = Command::new(program).args(arguments).exec();
    let cause = match error.kind() {
        ErrorKind::NotFound => Cause::NotFound,
        _ => Cause::NotExecutable,
    };
    Failure::new(cause, format!("cannot run {}: {error}", program.to_string_lossy()))
}
