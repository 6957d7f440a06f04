//! Kills a process group when the test process is gone, however it went.
//!
//! A destructor does not run when a test is killed or when a server sits in a `static`, and the
//! parent-death signal needs `unsafe`. A shell that reads from a pipe needs neither: the kernel
//! closes the pipe with the last process that holds it, and only the test does.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// First line: the group to watch. Second line: `done` if it has ended in good order.
/// The temporary directory is removed twice since the dying server may still write into it.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r group || exit 0
read -r verdict
test "$verdict" = done && exit 0
kill -s KILL -- "-$group"
test -n "$1" || exit 0
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"#;

/// The shell that watches one process group.
#[derive(Debug)]
pub(super) struct Leash {
    shell: Child,
}

impl Leash {
    /// Starts the shell, before the process that it shall watch. `litter` goes with the group.
    pub(super) fn new(litter: Option<&Path>) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "leash"]);
        command.arg(litter.unwrap_or(Path::new("")));
        // A group of its own: a signal to the test's group must not end the watcher first.
        command.process_group(0);
        // No stream of the test stays open, or its runner would wait for the shell.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { shell: command.spawn()? })
    }

    /// From here on the group dies with this process.
    pub(super) fn hold(&mut self, group: u32) -> io::Result<()> {
        self.tell(&group.to_string())
    }

    /// The group has ended and its number may be given to others: nothing is left to kill.
    pub(super) fn release(&mut self) {
        // A shell that is gone already is as good as one that was told.
        let _ = self.tell("done");
        self.shell.stdin = None;
        let _ = self.shell.wait();
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        match &mut self.shell.stdin {
            Some(pipe) => writeln!(pipe, "{line}"),
            None => Ok(()),
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // Closing the pipe lets the shell do its work; waiting for it leaves no zombie.
        self.shell.stdin = None;
        let _ = self.shell.wait();
    }
}
