//! The client processes: some places, in each of which one runs.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use testbed::{Helper, Shim};
use tokio::sync::Mutex;
use tokio::task::block_in_place;

use crate::client::{ENDED, TURN};
use crate::event::{What, Who};
use crate::history::Recorder;

/// Longer than a client's last turn may take, and the stops of the others before it.
const ENDS_WITHIN: Duration = Duration::from_secs(150);

/// The client processes of a run.
#[derive(Debug)]
pub struct Fleet {
    places: Vec<Mutex<Option<Process>>>,
    next: AtomicU32,
    recorder: Recorder,
    shim: Option<Shim>,
    outfit: Outfit,
}

/// What all clients are told.
#[derive(Clone, Debug)]
pub struct Outfit {
    /// The program, which is this one.
    pub program: PathBuf,
    /// Arguments that are the same for all.
    pub arguments: Vec<String>,
    /// The URL of the store, for each place.
    pub urls: Vec<String>,
    /// What else must be in the environment, such as credentials.
    pub environment: Vec<(String, String)>,
    /// The folder for the histories.
    pub folder: PathBuf,
}

#[derive(Debug)]
struct Process {
    number: u32,
    helper: Helper,
}

impl Fleet {
    /// As many places as there are URLs; nobody runs yet.
    #[must_use]
    pub fn new(outfit: Outfit, shim: Option<Shim>, recorder: Recorder) -> Self {
        let places = outfit.urls.iter().map(|_| Mutex::new(None)).collect();
        Self { places, next: AtomicU32::new(1), recorder, shim, outfit }
    }

    /// How many places there are.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Starts a client in a place, with choices of its own and a wall clock so far ahead.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub async fn start(&self, place: usize, seed: u64, ahead_s: i64) -> testbed::Result<()> {
        let mut slot = self.places[place].lock().await;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Outfit { program, arguments, urls, environment, .. } = &self.outfit;
        let mut command = Command::new(program);
        command.arg("client").args(arguments).args(["--url", &urls[place]]);
        command.args(["--number", &number.to_string(), "--seed", &seed.to_string()]);
        command.arg("--history").arg(self.history(number));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let shifted = self.shim.as_ref().filter(|_| ahead_s != 0);
        if let Some(shim) = shifted {
            shim.shift(&mut command, ahead_s);
        }
        let ahead_s = shifted.map_or(0, |_| ahead_s);
        self.tell(What::Starts { client: number, ahead_s });
        let helper = block_in_place(|| Helper::spawn(command))?;
        *slot = Some(Process { number, helper });
        Ok(())
    }

    /// Stops a client for so long.
    ///
    /// # Errors
    ///
    /// When the system does not let us.
    pub async fn stop(&self, place: usize, time: Duration) -> testbed::Result<()> {
        let mut slot = self.places[place].lock().await;
        self.see_to_the_dead(&mut slot);
        let Some(Process { number, helper }) = slot.as_mut() else { return Ok(()) };
        // Told at the ends that excuse the client least: after it stands still, before it goes on.
        block_in_place(|| helper.pause())?;
        self.tell(What::Stops { client: *number });
        tokio::time::sleep(time).await;
        self.tell(What::GoesOn { client: *number });
        helper.resume()
    }

    /// Kills a client.
    ///
    /// # Errors
    ///
    /// When the system does not let us.
    pub async fn kill(&self, place: usize) -> testbed::Result<()> {
        let mut slot = self.places[place].lock().await;
        self.see_to_the_dead(&mut slot);
        let Some(Process { number, helper }) = slot.take() else { return Ok(()) };
        // Dropped, and so reaped: a process that is proven dead need not be waited for.
        let killed = block_in_place(move || helper.kill());
        // Told once it is over: until then it may still tell something itself.
        self.tell(What::Kills { client: number });
        killed
    }

    /// Nobody ends by itself before it is told to.
    fn see_to_the_dead(&self, slot: &mut Option<Process>) {
        let ended = |process: &mut Process| process.helper.wait(Duration::ZERO).ok();
        if let Some((number, status)) = slot.as_mut().and_then(|it| Some((it.number, ended(it)?))) {
            let problem = Some(format!("it ended by itself: {status}"));
            self.recorder.add(Who::Harness, What::ClientEnded { client: number, problem });
            *slot = None;
        }
    }

    /// Gives the client of each place its last turn, and waits until it has ended.
    pub async fn end(&self, names: &[String]) {
        let ends = self.places.iter().zip(names.iter().cycle()).map(|(place, name)| async move {
            let Some(Process { number, helper }) = place.lock().await.take() else { return };
            let problem = ended(helper, name.clone()).await;
            self.recorder.add(Who::Harness, What::ClientEnded { client: number, problem });
        });
        futures::future::join_all(ends).await;
    }

    /// The histories of all clients that ever ran.
    #[must_use]
    pub fn histories(&self) -> Vec<PathBuf> {
        let numbers = 1..self.next.load(Ordering::Relaxed);
        // One that was killed at once has written nothing.
        numbers.map(|number| self.history(number)).filter(|path| path.exists()).collect()
    }

    fn history(&self, number: u32) -> PathBuf {
        self.outfit.folder.join(format!("client-{number}.jsonl"))
    }

    fn tell(&self, what: What) {
        self.recorder.add(Who::Nemesis, what);
    }
}

async fn ended(mut helper: Helper, name: String) -> Option<String> {
    let end = move || {
        helper.say(&format!("{TURN}{name}"))?;
        helper.line_with(ENDED, ENDS_WITHIN)?;
        helper.wait(Duration::from_secs(10))
    };
    match tokio::task::spawn_blocking(end).await {
        Ok(Ok(status)) if status.success() => None,
        Ok(Ok(status)) => Some(status.to_string()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(panic) => Some(panic.to_string()),
    }
}
