//! The process group of the command.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A process group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group(pub(crate) Pid);

impl Group {
    /// Sends a signal to all of it.
    pub(crate) fn signal(self, signal: Signal) {
        // A group that is gone needs no signal.
        let _ = killpg(self.0, signal);
    }

    /// Whether nobody of it works any more.
    pub(crate) fn is_gone(self) -> bool {
        killpg(self.0, None) == Err(Errno::ESRCH) || self.has_only_ended()
    }

    /// Whether all that is left has ended and waits to be asked for its exit status: in containers
    /// there is often nobody who asks.
    fn has_only_ended(self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let stats = processes.filter_map(|process| {
            let process = process.ok().filter(|process| is_number(&process.file_name()))?;
            fs::read_to_string(process.path().join("stat")).ok()
        });
        let members: Vec<char> = stats.filter_map(|stat| self.state_in(&stat)).collect();
        // Where none is found, /proc does not show all.
        !members.is_empty() && members.iter().all(|state| ['Z', 'X'].contains(state))
    }

    /// The state of the process with this `/proc/<pid>/stat`, if it is one of this group.
    fn state_in(self, stat: &str) -> Option<char> {
        // The program's name, in parentheses, may contain anything.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?.chars().next()?;
        let group: i32 = fields.nth(1)?.parse().ok()?;
        (group == self.0.as_raw()).then_some(state)
    }
}

fn is_number(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_known_by_its_group() {
        let group = Group(Pid::from_raw(42));
        assert_eq!(group.state_in("50 (sh) S 1 42 42 0 -1"), Some('S'));
        assert_eq!(group.state_in("50 (a) Z 42) Z 1 42 42 0 -1"), Some('Z'));
        assert_eq!(group.state_in("42 (sh) S 1 50 42 0 -1"), None);
        assert_eq!(group.state_in(""), None);
    }
}
