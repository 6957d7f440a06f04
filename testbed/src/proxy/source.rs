//! Who opened a connection: which process has the socket at its other end.

use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::sync::OnceLock;

use super::Weather;

/// Processes that are cut off.
#[derive(Debug, Default)]
pub(super) struct Cut {
    processes: Vec<u32>,
    /// Where their connections come from that were there when it began.
    ports: HashSet<u16>,
}

impl Cut {
    pub(super) fn of(processes: impl IntoIterator<Item = u32>) -> Self {
        let processes: Vec<u32> = processes.into_iter().collect();
        let ports = ports(&processes);
        Self { processes, ports }
    }
}

/// Who opened one connection.
#[derive(Debug)]
pub(super) struct Source {
    peer: SocketAddr,
    /// How many cuts there had been when it was opened.
    cuts: u64,
    /// Whether it is of the cut during which it was opened.
    is_of: OnceLock<bool>,
}

impl Source {
    /// Of a connection that comes from there now.
    pub(super) fn of(peer: SocketAddr, weather: &Weather) -> Self {
        Self { peer, cuts: weather.cuts, is_of: OnceLock::new() }
    }

    /// Whether it is cut off.
    pub(super) fn is_cut(&self, weather: &Weather) -> bool {
        let port = self.peer.port();
        if weather.cut.processes.is_empty() {
            false
        } else if self.cuts < weather.cuts {
            weather.cut.ports.contains(&port)
        } else {
            *self.is_of.get_or_init(|| ports(&weather.cut.processes).contains(&port))
        }
    }
}

/// The ports of all sockets that these processes have, as far as the system tells.
fn ports(processes: &[u32]) -> HashSet<u16> {
    if processes.is_empty() {
        return HashSet::new();
    }
    let files = processes.iter().filter_map(|id| fs::read_dir(format!("/proc/{id}/fd")).ok());
    let links = files.flatten().flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let sockets: HashSet<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    // A row's second column is the address, in hexadecimal, and its tenth the socket's number.
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let port = |row: &str| {
        let columns: Vec<&str> = row.split_ascii_whitespace().collect();
        let (_, port) = columns.get(1)?.split_once(':')?;
        let is_theirs = sockets.contains(&format!("socket:[{}]", columns.get(9)?));
        u16::from_str_radix(port, 16).ok().filter(|_| is_theirs)
    };
    table.lines().filter_map(port).collect()
}
