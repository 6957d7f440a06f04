//! One run: a storm on one kind of store, and what came of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use testbed::{Helper, Shim};

use crate::backends::Kind;
use crate::chance::Chance;
use crate::client::ENDED;
use crate::event::{What, Who};
use crate::fleet::{Fleet, Outfit};
use crate::ground::Ground;
use crate::history::{self, Recorder};
use crate::judge::{Verdict, judge};
use crate::nemesis::Nemesis;
use crate::plan;
use crate::pulse;
use crate::resource::Resources;

/// What the leases are on.
const NAMES: [&str; 3] = ["stores/7", "night", "leader"];
/// For how many ttls everybody goes on after the faults.
const CALM: u32 = 8;
/// Longer than the newcomer may take in all.
const NEWCOMER_WITHIN: Duration = Duration::from_secs(300);

type Anything = Box<dyn std::error::Error>;

/// What a run is like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// On which kind of store.
    pub kind: Kind,
    /// For how long things are broken.
    pub storm: Duration,
    /// The seed of the nemesis's plan and of the clients' choices.
    pub seed: u64,
    /// How many client processes.
    pub clients: usize,
    /// The program whose other roles the clients play.
    pub program: PathBuf,
    /// Where the histories go.
    pub folder: PathBuf,
}

/// Runs it, and judges what happened. The history is in `history.jsonl` of the run's folder.
///
/// # Errors
///
/// When it could not be run, which says nothing about leases.
pub async fn run(settings: &Settings) -> Result<Verdict, Anything> {
    let folder = fresh(&settings.folder)?;
    let own = folder.join("harness.jsonl");
    let recorder = Recorder::open(&own)?;
    pulse::start(Who::Harness, recorder.clone());
    let tell = |what| recorder.add(Who::Harness, what);
    let names = NAMES.map(str::to_owned).to_vec();
    let ttl = settings.kind.ttl();
    let ttl_ms = u64::try_from(ttl.as_millis())?;
    let backend = settings.kind.name().to_owned();
    let (seed, longest) = (settings.seed, 2 * ttl_ms);
    tell(What::Began { backend, seed, ttl_ms: longest, names: names.clone() });

    let ground = Arc::new(Ground::start(settings.kind, settings.clients).await?);
    let resources = Resources::start(recorder.clone()).await?;
    let outfit = Outfit {
        program: settings.program.clone(),
        arguments: vec![
            format!("--names={}", names.join(",")),
            format!("--ttl-ms={ttl_ms}"),
            format!("--resources={}", resources.address()),
        ],
        urls: ground.urls.clone(),
        environment: ground.environment.clone(),
        folder: folder.clone(),
    };
    let fleet = Arc::new(Fleet::new(outfit, shim(), recorder.clone()));
    let chance = Chance::of(seed, 0);
    for place in 0..fleet.places() {
        let ahead_s = plan::ahead(&chance, settings.kind.wall_clocks());
        fleet.start(place, chance.below(u64::MAX / 2), ahead_s).await?;
    }
    let (kind, fleet_too) = (settings.kind, Arc::clone(&fleet));
    let nemesis = Nemesis {
        seed,
        kind,
        ground: Arc::clone(&ground),
        fleet: fleet_too,
        recorder: recorder.clone(),
    };
    nemesis.storm(settings.storm).await.map_err(|why| -> Anything { why })?;
    tell(What::Calm);
    // They go on as before: what is lost now, nothing excuses.
    tokio::time::sleep(ttl * CALM).await;
    fleet.end(&names).await;
    tokio::task::block_in_place(|| newcomer(settings, &ground, &names, &own))?;

    let parts = [&[own][..], &fleet.histories()].concat();
    let events = history::merge(&parts, &folder.join("history.jsonl"))?;
    Ok(judge(&events))
}

/// Wall clocks stay true where they cannot be set off, and that is told.
#[expect(clippy::print_stderr, reason = "what is not tried is told")]
fn shim() -> Option<Shim> {
    Shim::build().inspect_err(|why| eprintln!("wall clocks are not set off: {why}")).ok()
}

fn fresh(folder: &Path) -> std::io::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    folder.canonicalize()
}

/// In a process of its own, for what it must find in its environment.
fn newcomer(
    settings: &Settings,
    ground: &Ground,
    names: &[String],
    history: &Path,
) -> testbed::Result<()> {
    let mut command = Command::new(&settings.program);
    command.args(["newcomer", "--url", &ground.direct, "--names", &names.join(",")]);
    command.args(["--ttl-ms", &settings.kind.ttl().as_millis().to_string()]);
    command.arg("--history").arg(history);
    command.envs(ground.environment.iter().map(|(name, value)| (name, value)));
    Helper::spawn(command)?.line_with(ENDED, NEWCOMER_WITHIN).map(drop)
}
