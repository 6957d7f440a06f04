//! One process holds 10 000 leases: what one keeper costs in memory and processor time.
//!
//! Prints a line; the goal is under 50 MB and under 5 % of a core at a ttl of 15 s.
#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nothing to say")]
#![expect(clippy::print_stdout, reason = "its result is a line")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use leasehold::memory::Memory;
use leasehold::{Coordinator, Status};

const LEASES: usize = 10_000;
const WATCHED: Duration = Duration::from_secs(20);

fn main() {
    // `cargo test --benches` runs this too; it is measured only when it is asked for.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let before = resident_kb();
    let leases = Coordinator::new(Arc::new(Memory::new()));
    let held: Vec<_> = runtime.block_on(async {
        let mut held = Vec::with_capacity(LEASES);
        for n in 0..LEASES {
            held.push(leases.exclusive(format!("shard {n}")).acquire().await.unwrap());
        }
        held
    });
    let megabytes = (resident_kb() - before) as f64 / 1024.0;

    let (cpu, start) = (processor_time(), Instant::now());
    std::thread::sleep(WATCHED);
    let share = (processor_time() - cpu).as_secs_f64() / start.elapsed().as_secs_f64();

    assert!(held.iter().all(|lease| lease.status() == Status::Held), "a lease was lost");
    println!(
        "{LEASES} leases, ttl 15 s: {megabytes:.1} MB with the store's own records, \
         {:.2} % of a core",
        share * 100.0
    );
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// User and system time of this process; the kernel counts in hundredths of a second.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
