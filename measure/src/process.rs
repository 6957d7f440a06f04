//! What this process costs its machine.

use std::fs;
use std::time::{Duration, Instant};

/// What this process has used so far, as the kernel counts it.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    at: Instant,
    processor: Duration,
    resident: u64,
}

impl Usage {
    /// As of now.
    #[must_use]
    pub fn now() -> Self {
        Self { at: Instant::now(), processor: processor_time(), resident: resident_kb() }
    }

    /// The share of one core that was used since then.
    #[must_use]
    pub fn share_since(self, earlier: Self) -> f64 {
        let used = self.processor.saturating_sub(earlier.processor);
        used.as_secs_f64() / self.at.duration_since(earlier.at).as_secs_f64()
    }

    /// How many megabytes of memory were added since then.
    #[must_use]
    pub fn megabytes_since(self, earlier: Self) -> f64 {
        self.resident.saturating_sub(earlier.resident) as f64 / 1024.0
    }
}

fn resident_kb() -> u64 {
    let field = |status: String| {
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let status = fs::read_to_string("/proc/self/status").ok();
    status.and_then(field).unwrap_or_else(|| panic!("this needs Linux's /proc"))
}

/// User and system time; the kernel counts in hundredths of a second.
fn processor_time() -> Duration {
    let ticks = |stat: String| {
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    let stat = fs::read_to_string("/proc/self/stat").ok();
    Duration::from_millis(
        stat.and_then(ticks).unwrap_or_else(|| panic!("this needs Linux's /proc")) * 10,
    )
}
