//! Free loopback ports that stay free until the server has taken them.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::error::{Error, OrRemedy, Result};
use crate::folder;

/// Below the ranges that systems hand out by themselves, so that no outgoing connection of a
/// test running beside this one sits on a port between our look and the server's start.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A port that no other test of this tree is given while this value lives.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _reserved: File,
}

impl Port {
    pub(crate) fn free() -> Result<Self> {
        let locks = folder::inside("ports")?;
        // Each process starts elsewhere, so that parallel tests seldom meet.
        let start = RandomState::new().hash_one(std::process::id());
        for step in 0..u64::from(COUNT) {
            let Ok(offset) = u16::try_from((start.wrapping_add(step)) % u64::from(COUNT)) else {
                continue;
            };
            let number = FIRST + offset;
            let path = locks.join(number.to_string());
            let file = File::create(&path)
                .or_remedy(path.display(), "remove target/testbed/ports and try again")?;
            if file.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Self { number, _reserved: file });
            }
        }
        Err(Error::new("no free loopback port", "end the servers that are left from other runs"))
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.number))
    }
}

/// Several at once.
pub(crate) fn free<const N: usize>() -> Result<[Port; N]> {
    let mut ports = Vec::with_capacity(N);
    for _ in 0..N {
        ports.push(Port::free()?);
    }
    ports.try_into().map_err(|_| Error::new("miscounted ports", "this is a bug of the testbed"))
}
