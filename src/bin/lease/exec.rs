//! Becomes the command: what stands between `run` and the command for a moment.
//!
//! Setting the parent-death signal needs code in the child before it becomes the command. A hidden
//! subcommand is that code, so that nothing unsafe is needed.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, getppid};

use crate::args::Exec;
use crate::exit::{Cause, Failure};
use crate::gate;
use crate::itself::{NAME, itself};
use crate::terminal::Terminal;

/// Lets this process die of the Ctrl-C at the terminal that ended its command or its wait.
///
/// Shells leave a loop or a script only if what they ran has died of it, and a program that handles
/// the signal no longer does. What is started in its place does. The exit code, as shells tell it, is
/// 130 either way. Returns only if that cannot be done.
fn as_if_interrupted() {
    if let Ok(itself) = itself() {
        let _ = Command::new(itself).arg0(NAME).arg("__interrupted").exec();
    }
}

/// Leaves as shells expect it, with this code.
pub(crate) fn leave_with(code: u8) -> u8 {
    let interrupted = code == Cause::Signal(Signal::SIGINT).code();
    if interrupted && Terminal::of_this_process().is_some_and(|terminal| terminal.is_ours()) {
        as_if_interrupted();
    }
    code
}

/// Dies of an interrupt.
pub(crate) fn die_of_ctrl_c() -> u8 {
    let _ = nix::sys::signal::raise(Signal::SIGINT);
    Cause::Signal(Signal::SIGINT).code()
}

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
    if let Err(failure) = gate::pass(exec.gate) {
        return failure;
    }
    if let Some(terminal) = Terminal::of_this_process().filter(|_| exec.foreground) {
        // A terminal that has gone away meanwhile is nothing to fail for.
        let _ = terminal.give(getpid());
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
