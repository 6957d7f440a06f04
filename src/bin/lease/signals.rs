//! The signals that are meant for the command.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Failure;

/// What is passed on to the command.
const PASSED_ON: [Signal; 6] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// Whether whoever sends it wants the command to end.
pub(crate) const fn asks_to_end(signal: Signal) -> bool {
    matches!(signal, Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT)
}

/// The signals that this process has got and not yet dealt with.
pub(crate) struct Signals {
    all: Vec<(Signal, tokio::signal::unix::Signal)>,
}

impl Signals {
    /// Listens from now on to what is passed on, except to what whoever started this process wants
    /// ignored, as `nohup` does with the hangup.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let ignored = ignored();
        let all = PASSED_ON.into_iter().filter(|which| !ignored.contains(which)).map(hear);
        Ok(Self { all: all.collect::<Result<_, _>>()? })
    }

    /// Listens to this one signal.
    pub(crate) fn only(which: Signal) -> Result<Self, Failure> {
        Ok(Self { all: vec![hear(which)?] })
    }

    /// The next one.
    ///
    /// Cancel-safe: what was not returned is returned next time.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|context| match self.ready(context) {
            Some(which) => Poll::Ready(which),
            None => Poll::Pending,
        })
        .await
    }

    /// One that came and was not taken yet.
    pub(crate) fn pending(&mut self) -> Option<Signal> {
        self.ready(&mut Context::from_waker(Waker::noop()))
    }

    fn ready(&mut self, context: &mut Context<'_>) -> Option<Signal> {
        let ready = |(which, listener): &mut (Signal, tokio::signal::unix::Signal)| {
            listener.poll_recv(context).is_ready().then_some(*which)
        };
        self.all.iter_mut().find_map(ready)
    }
}

fn hear(which: Signal) -> Result<(Signal, tokio::signal::unix::Signal), Failure> {
    let listener = signal(SignalKind::from_raw(which as i32));
    let listener = listener.map_err(|error| Failure::system("cannot listen to signals", error))?;
    Ok((which, listener))
}

/// What this process was told to ignore by whoever started it, where the system tells (Linux).
fn ignored() -> Vec<Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    Signal::iterator().filter(|which| mask & (1 << (*which as i32 - 1)) != 0).collect()
}
