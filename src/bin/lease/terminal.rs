//! Which process group reads the terminal.

use std::fs::File;
use std::io::stdout;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};

/// Whether what this process writes goes to the rest of a pipeline, which may need the terminal itself
/// as `less` does.
pub(crate) fn is_shared() -> bool {
    let kind = |mode| SFlag::from_bits_truncate(mode) & SFlag::S_IFMT;
    fstat(stdout()).is_ok_and(|stat| kind(stat.st_mode) == SFlag::S_IFIFO)
}

/// The terminal that this process belongs to, wherever its input and output go: a command asks for
/// a password there though its input is a pipe.
#[derive(Debug)]
pub(crate) struct Terminal(File);

impl Terminal {
    /// The terminal; nothing if there is none, as for a service.
    pub(crate) fn of_this_process() -> Option<Self> {
        File::options().read(true).write(true).open("/dev/tty").ok().map(Self)
    }

    /// Whether `group` is the one that reads it and gets its Ctrl-C.
    pub(crate) fn is_read_by(&self, group: Pid) -> bool {
        tcgetpgrp(&self.0).is_ok_and(|reader| reader == group)
    }

    /// Whether this process's own group is.
    pub(crate) fn is_ours(&self) -> bool {
        self.is_read_by(getpgrp())
    }

    /// Makes `group` the one that reads it.
    ///
    /// A group in the background that does so is stopped, unless it blocks the signal that says so.
    pub(crate) fn give(&self, group: Pid) -> nix::Result<()> {
        let mut stops = SigSet::empty();
        stops.add(Signal::SIGTTOU);
        let before = stops.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let given = tcsetpgrp(&self.0, group);
        before.thread_set_mask()?;
        given
    }

    /// Makes this process's own group the one that reads it, if it is `group` so far.
    pub(crate) fn take_back(&self, group: Pid) {
        if self.is_read_by(group) {
            // Without a terminal any more there is nothing to take.
            let _ = self.give(getpgrp());
        }
    }
}
