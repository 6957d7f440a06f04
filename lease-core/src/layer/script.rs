//! Which call is struck by which fault.

use super::{Fault, Method};

/// The calls so far, and the faults that are still to strike.
#[derive(Debug, Default)]
pub(super) struct Script {
    calls: [u64; Method::ALL.len()],
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    /// Any method, if none is named.
    method: Option<Method>,
    /// The number of the call that it strikes; every one, if none is named.
    call: Option<u64>,
    fault: Fault,
}

impl Script {
    pub(super) fn strike(&mut self, method: Option<Method>, call: Option<u64>, fault: Fault) {
        self.lines.push(Line { method, call, fault });
    }

    /// Strikes the next call that nothing is written for yet.
    pub(super) fn strike_next(&mut self, method: Method, fault: Fault) {
        let (method, mut call) = (Some(method), self.calls(method) + 1);
        while self.lines.iter().any(|line| (line.method, line.call) == (method, Some(call))) {
            call += 1;
        }
        self.strike(method, Some(call), fault);
    }

    pub(super) fn heal(&mut self) {
        self.lines.clear();
    }

    pub(super) const fn calls(&self, method: Method) -> u64 {
        self.calls[method as usize]
    }

    /// Counts a call of `method`; the fault that strikes it, the first that was written.
    pub(super) fn due(&mut self, method: Method) -> Option<Fault> {
        self.calls[method as usize] += 1;
        let call = self.calls[method as usize];
        let due = self.lines.iter().position(|line| {
            line.method.is_none_or(|m| m == method) && line.call.is_none_or(|n| n == call)
        })?;
        match self.lines[due].call {
            Some(_) => Some(self.lines.remove(due).fault),
            None => Some(self.lines[due].fault.clone()),
        }
    }
}
