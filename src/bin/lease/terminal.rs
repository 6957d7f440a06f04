//! Which process group reads the terminal.

use std::io::{IsTerminal, stdin};
use std::os::fd::AsFd;

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};

/// Whether this process may read the terminal: then its command gets it, and Ctrl-C with it.
pub(crate) fn is_ours() -> bool {
    stdin().is_terminal() && tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
}

/// Makes `group` the one that reads the terminal and gets its Ctrl-C.
///
/// A group in the background that does so is stopped, unless it blocks the signal that says so.
pub(crate) fn give(terminal: &impl AsFd, group: Pid) -> nix::Result<()> {
    let mut stops = SigSet::empty();
    stops.add(Signal::SIGTTOU);
    let before = stops.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)?;
    let given = tcsetpgrp(terminal, group);
    before.thread_set_mask()?;
    given
}

/// Takes the terminal back for this process, if it was given away.
#[derive(Debug)]
pub(crate) struct TakeBack(pub(crate) bool);

impl Drop for TakeBack {
    fn drop(&mut self) {
        if self.0 {
            // Without a terminal any more there is nothing to take.
            let _ = give(&stdin(), getpgrp());
        }
    }
}
