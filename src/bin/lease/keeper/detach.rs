//! How a keeper leaves the script behind that has started it.

use std::io::{BufRead, stdin};

use nix::unistd::{close, setsid};

use super::Order;
use crate::exit::Failure;
use crate::gate::FILES;

/// Leaves the terminal and all files of the script, and hears what to do.
///
/// A pipe of the script that stayed open here would keep its reader waiting, and a lock on a file of
/// its would stay taken.
pub(crate) fn detach() -> Result<Order, Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::system("cannot detach", error);
    setsid().map_err(|error| cannot(&error))?;
    let open = std::fs::read_dir(FILES).map_err(|error| cannot(&error))?;
    let numbers = open.filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok());
    for number in numbers.collect::<Vec<i32>>() {
        if number > 2 {
            // The folder that was just read is closed already.
            let _ = close(number);
        }
    }
    let mut line = String::new();
    stdin().lock().read_line(&mut line).map_err(|error| cannot(&error))?;
    serde_json::from_str(&line).map_err(|error| cannot(&error))
}
