//! How the watchdog hears what the holder says.

use std::io::stdin;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::read;

use crate::order::Order;

/// The watchdog's end of the holder's pipe, which is its standard input.
#[derive(Debug, Default)]
pub(crate) struct Ears {
    /// What was read and is not a whole line yet.
    heard: Vec<u8>,
    closed: bool,
}

/// What was heard.
#[derive(Debug)]
pub(crate) enum Heard {
    Order(Order),
    /// The holder has ended. Told once.
    Gone,
    /// The pipe was empty at the end.
    Nothing,
}

impl Ears {
    /// The next thing that is said, if it is said within `patience`.
    pub(crate) fn hear(&mut self, patience: Duration) -> Heard {
        loop {
            while let Some(line) = self.take_line() {
                if let Some(order) = Order::parse(&line) {
                    return Heard::Order(order);
                }
            }
            if self.closed {
                let _ = poll(&mut [], timeout(patience));
                return Heard::Nothing;
            }
            let stdin = stdin();
            let mut pipe = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
            match poll(&mut pipe, timeout(patience)) {
                Ok(0) => return Heard::Nothing,
                Err(Errno::EINTR) => continue,
                Ok(_) | Err(_) => {}
            }
            let mut part = [0; 1024];
            match read(&stdin, &mut part) {
                Ok(count) if count > 0 => self.heard.extend_from_slice(&part[..count]),
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => {
                    self.closed = true;
                    return Heard::Gone;
                }
            }
        }
    }

    fn take_line(&mut self) -> Option<String> {
        let end = self.heard.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.heard.drain(..=end).take(end).collect();
        Some(String::from_utf8_lossy(&line).into_owned())
    }
}

/// The same in whole milliseconds, rounded up: nobody is woken before the time.
fn timeout(patience: Duration) -> PollTimeout {
    let up = patience + Duration::from_nanos(999_999);
    PollTimeout::try_from(up.as_millis()).unwrap_or(PollTimeout::MAX)
}
