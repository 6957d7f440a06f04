//! Says things on standard error without making anybody wait for whoever reads it.
//!
//! A pipe that nobody reads is full at some time, and a terminal may be held with Ctrl-S. The command
//! has to be ended in time all the same, so a thread of its own does the writing.

use std::io::{Write, stderr};
use std::sync::Arc;
use std::time::Duration;

use leasehold::Clock;
use leasehold::clock::{SystemClock, within};
use nix::sys::signal::{SigSet, Signal};
use tokio::sync::{mpsc, oneshot};

use crate::exit::Failure;

/// How much may wait to be written. What comes when there is no more room is not said.
const ROOM: usize = 256;

/// How long the end of the process waits for the last of it to be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says things, in their order. Clones are one voice.
#[derive(Clone, Debug)]
pub(crate) struct Voice(mpsc::Sender<Said>);

#[derive(Debug)]
enum Said {
    Text(String),
    /// Everything: tell whoever waits for it.
    All(oneshot::Sender<()>),
}

impl Voice {
    pub(crate) fn start() -> Result<Self, Failure> {
        let (voice, said) = mpsc::channel(ROOM);
        std::thread::Builder::new()
            .name("voice".into())
            .spawn(move || speak(said))
            .map_err(|error| Failure::system("cannot start a thread", error))?;
        Ok(Self(voice))
    }

    /// Says it as soon as somebody listens.
    pub(crate) fn say(&self, text: String) {
        let _ = self.0.try_send(Said::Text(text));
    }

    /// Waits a little until all has been written.
    pub(crate) async fn finish(&self) {
        let (tell, told) = oneshot::channel();
        let written = async {
            if self.0.send(Said::All(tell)).await.is_ok() {
                let _ = told.await;
            }
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        within(&clock, PATIENCE, written).await;
    }
}

fn speak(mut said: mpsc::Receiver<Said>) {
    // A terminal may stop whoever writes from the background; that would be all of this process.
    let mut stops = SigSet::empty();
    stops.add(Signal::SIGTTOU);
    let _ = stops.thread_block();
    while let Some(said) = said.blocking_recv() {
        match said {
            // Where nobody reads it any more, the work goes on all the same.
            Said::Text(text) => drop(stderr().lock().write_all(text.as_bytes())),
            Said::All(tell) => drop(tell.send(())),
        }
    }
}
