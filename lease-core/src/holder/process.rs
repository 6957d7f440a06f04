//! Which process holds, exactly enough to know that it is gone.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

/// One process of one boot of one machine: what a pid alone is not.
///
/// A pid is used again after a restart, every container has a pid 1, and two machines may share a
/// host name. So a process counts as dead only where boot and pid namespace are this process's own
/// and no process with that pid *and* start time is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProcessId {
    /// The kernel's random id of this boot.
    pub boot: String,
    /// The pid namespace, by its inode.
    pub namespace: u64,
    /// The pid within that namespace.
    pub pid: u32,
    /// When the process started, in the kernel's ticks since boot.
    pub started: u64,
}

/// What can be said of a process from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It ran here, in this boot and pid namespace, and is gone.
    Dead,
    /// It belongs to another machine, boot or pid namespace, or the system does not tell.
    Unknown,
}

impl ProcessId {
    /// This process, where the system tells (Linux).
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// The process that has this pid now, where there is one and the system tells (Linux).
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        sees_itself().then_some(())?;
        Some(Self { boot: boot()?, namespace: namespace()?, pid, started: started(pid).ok()?? })
    }

    /// Whether that process still runs, as far as it can be told from this one.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        let here = boot().zip(namespace()).filter(|_| sees_itself());
        if here != Some((self.boot.clone(), self.namespace)) {
            return Liveness::Unknown;
        }
        match started(self.pid) {
            Ok(Some(started)) if started == self.started => Liveness::Alive,
            Ok(_) => Liveness::Dead,
            Err(_) => Liveness::Unknown,
        }
    }
}

fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// The text of the link is `pid:[4026531836]`.
fn namespace() -> Option<u64> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// Whether `/proc` counts pids as this process does: it may have been mounted for the namespace that
/// this one was made in, and shows other processes under our numbers then.
fn sees_itself() -> bool {
    let itself = std::fs::read_link("/proc/self");
    itself.is_ok_and(|pid| pid.as_os_str() == std::process::id().to_string().as_str())
}

/// When the process with this pid started, `None` if there is none or it is a zombie: its work is
/// over though its parent has not asked for its exit status yet.
///
/// An error means that the system does not tell.
fn started(pid: u32) -> io::Result<Option<u64>> {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => started_in(&stat),
        // Processes of others may be hidden from this one; only a signal that finds nobody tells.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match id(pid).map(test_kill_process) {
                Some(Err(Errno::SRCH)) => Ok(None),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

fn id(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// The same, from the text of `/proc/<pid>/stat`.
fn started_in(stat: &str) -> io::Result<Option<u64>> {
    let missing = || io::Error::new(io::ErrorKind::InvalidData, "stat has no such field");
    // The second field is the command in brackets and may itself contain brackets and spaces.
    let fields: Vec<&str> = stat.rsplit_once(") ").ok_or_else(missing)?.1.split(' ').collect();
    // Their numbers in the manual, which counts from one and the whole line.
    let field = |number: usize| fields.get(number - 3).copied().ok_or_else(missing);
    let number = |which| field(which)?.parse::<u64>().map_err(|_| missing());
    let ended = match field(3)? {
        "X" => true,
        // Its first thread has ended; the others may go on without it.
        "Z" => number(20)? <= 1,
        _ => false,
    };
    if ended { Ok(None) } else { number(22).map(Some) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive() {
        let me = ProcessId::of_this_process().unwrap();
        assert_eq!(me.liveness(), Liveness::Alive);
    }

    #[test]
    fn a_reused_pid_is_not_the_old_process() {
        let mut earlier = ProcessId::of_this_process().unwrap();
        earlier.started -= 1;
        assert_eq!(earlier.liveness(), Liveness::Dead);
    }

    #[test]
    fn a_pid_of_another_boot_or_namespace_proves_nothing() {
        let me = ProcessId::of_this_process().unwrap();
        let other_boot = ProcessId { boot: "another".into(), pid: 999_999, ..me.clone() };
        assert_eq!(other_boot.liveness(), Liveness::Unknown);
        let other_namespace = ProcessId { namespace: 1, pid: 999_999, ..me };
        assert_eq!(other_namespace.liveness(), Liveness::Unknown);
    }

    #[test]
    fn a_process_lives_as_long_as_any_of_its_threads() {
        let stat = |state: &str, threads: u32| {
            format!("7 (a) b) {state} 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 0 0")
        };
        assert_eq!(started_in(&stat("S", 1)).unwrap(), Some(4711));
        assert_eq!(started_in(&stat("Z", 2)).unwrap(), Some(4711));
        assert_eq!(started_in(&stat("Z", 1)).unwrap(), None);
        assert!(started_in("7 (cut off) S 1").is_err());
    }

    #[test]
    fn a_process_that_ended_is_dead_also_before_it_is_reaped() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let me = ProcessId::of_this_process().unwrap();
        let started = started(child.id()).unwrap().unwrap();
        let its = ProcessId { pid: child.id(), started, ..me };
        assert_eq!(its.liveness(), Liveness::Alive);

        child.kill().unwrap();
        while its.liveness() == Liveness::Alive {
            std::thread::yield_now();
        }
        assert_eq!(its.liveness(), Liveness::Dead);
        child.wait().unwrap();
        assert_eq!(its.liveness(), Liveness::Dead);
    }
}
