//! Whether live servers and their bucket give what leases need of them.

use std::time::{Duration, SystemTime};

use lease_core::checkup::{self, Check, Checkup, Finding, Guarantee, scratch_name};
use lease_core::clock::wall_clock_for_display;
use lease_core::{Error, Jitter, Name, Result};

use crate::connect::{explained, no_bucket, reach};
use crate::error::{KIND, is_denied};
use crate::key::Keys;
use crate::probe::{self, needs};
use crate::store::Nats;
use crate::wire::{Info, Leaves, When, Wire};
use crate::{Options, connect};

const SERVER: Guarantee = Guarantee::new(
    "server",
    "a server answers, lets this user in, and is of a version that leases can be kept on",
);
const JETSTREAM: Guarantee =
    Guarantee::new("jetstream", "JetStream is on for this user, and answers for the bucket");
const SYNCED: Guarantee = Guarantee::new(
    "sync-interval",
    "what was acknowledged survives a power loss of all servers at once",
);
const TRIAL: Guarantee = Guarantee::new("opens", "a lease store can be opened here");
const CLEAN: Guarantee = Guarantee::new("clean-up", "nothing of this checkup is left");

/// Asks live servers for each guarantee that leases need of them and of their bucket.
///
/// It writes keys of a name that is nobody's, in a bucket of its own where that of the leases is
/// not there yet, and removes them again; other leases are not touched. The consumer by which it
/// was woken goes within half a minute. What is wrong, or that nobody answers, is a finding and no
/// error. It takes some seconds, and up to a minute where the servers are slow.
///
/// # Cancel safety
///
/// Safe, but what was written stays: the name, or the bucket, has `doctor-` in it.
pub async fn examine(options: Options) -> Checkup {
    let mut checks = Vec::new();
    if let Err(check) = look_over(&options, &mut checks).await {
        checks.push(check);
    }
    Checkup::new(KIND, checks)
}

/// Ends with the first finding that leaves nothing more to find.
async fn look_over(options: &Options, checks: &mut Vec<Check>) -> Result<(), Check> {
    let failed = |guarantee: Guarantee| move |error: Error| guarantee.failed(&error);
    options.check().map_err(failed(SERVER))?;
    let wire = reach(options).await.map_err(failed(SERVER))?;
    let version = wire.link.server().version;
    probe::version(&version).map_err(failed(SERVER))?;
    checks.push(SERVER.holds(format!("nats-server {version}")));

    let sent = options.clock.now();
    let info = match explained(&wire, wire.info(None).await) {
        Ok(info) => Some(info),
        Err(error) if probe::is_missing(&error) && options.create && !options.read_only => None,
        Err(error) if probe::is_missing(&error) => {
            return Err(JETSTREAM.failed(&no_bucket(options)));
        }
        Err(error) => return Err(JETSTREAM.failed(&error)),
    };
    let took = options.clock.now().since(sent);
    match &info {
        Some(info) => {
            checks.push(JETSTREAM.holds("the bucket is there"));
            checks.extend(settings(info, options));
            checks.push(clock(info, took));
        }
        None => checks.push(JETSTREAM.holds("the bucket is not there yet: a new one was tried")),
    }
    checks.push(SYNCED.unknown(
        "clients are not told sync_interval: without `jetstream { sync_interval: always }` in the \
         servers' configuration, those that lose power together may forget grants",
    ));
    if checks.iter().any(|check| matches!(check.finding, Finding::Broken { .. })) {
        return Ok(());
    }
    if options.read_only {
        return Err(TRIAL.unknown("it was opened to look only: nothing was written"));
    }
    match info {
        Some(_) => beside_the_leases(options, checks).await,
        None => in_a_new_bucket(options, checks).await,
    }
}

/// Each need of a bucket's settings, and what is wrong or weak with it.
fn settings(info: &Info, options: &Options) -> Vec<Check> {
    let faults = probe::faults(&info.settings, options);
    let weaknesses = probe::weaknesses(info);
    let judge = |need: Guarantee| {
        if let Some(fault) = faults.iter().find(|flaw| flaw.of == need) {
            return need.broken(&*fault.what, &*fault.fix);
        }
        if need == needs::REPLICAS && !info.away.is_empty() {
            return need.doubtful(
                format!("a replica is away or behind: {}", info.away.join(", ")),
                "start its server again, and let it catch up before another one goes",
            );
        }
        match weaknesses.iter().find(|flaw| flaw.of == need) {
            Some(weak) => need.doubtful(&*weak.what, &*weak.fix),
            None => need.holds(shown(need, info)),
        }
    };
    needs::ALL.into_iter().map(judge).collect()
}

/// The setting that shows it.
fn shown(need: Guarantee, info: &Info) -> String {
    let found = &info.settings;
    match need {
        needs::STORAGE => format!("{} storage", found.storage),
        needs::REPLICAS => format!("{} replicas", found.num_replicas),
        needs::KEEPS => "no max_age, and nothing is discarded".to_owned(),
        needs::HISTORY => format!("a history of {}", found.max_msgs_per_subject),
        needs::NUMBERS => "the bucket was created by this library".to_owned(),
        _ => "as it should be".to_owned(),
    }
}

fn clock(info: &Info, took: Duration) -> Check {
    let now = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(info.now));
    checkup::clock(now.unwrap_or(SystemTime::UNIX_EPOCH), wall_clock_for_display(), took)
}

/// Two clients hold a name of their own in the bucket of the leases.
async fn beside_the_leases(options: &Options, checks: &mut Vec<Check>) -> Result<(), Check> {
    let failed = |error: Error| TRIAL.failed(&error);
    let (ours, theirs) = two(options).await.map_err(failed)?;
    let name = scratch_name().map_err(failed)?;
    checks.extend(checkup::try_out([&ours, &theirs], &options.clock, &name).await);
    match forgotten(&ours, &theirs, &name).await {
        // Then nothing was written.
        Err(error) if is_denied(&error) => Ok(()),
        Err(error) => Err(CLEAN.doubtful(
            format!("keys of this checkup could not be removed: {error}"),
            format!("purge `$KV.{}.{}`: nobody uses it", options.bucket, Keys::of(&name).all()),
        )),
        Ok(()) => Ok(()),
    }
}

async fn two(options: &Options) -> Result<(Nats, Nats)> {
    Ok((connect(options.clone()).await?, connect(options.clone()).await?))
}

/// Removes all keys of the name, and those by which the clients asked for the time; and waits until
/// the marks of their end have gone as well.
async fn forgotten(ours: &Nats, theirs: &Nats, name: &Name) -> Result<()> {
    const LOOKS: usize = 50;
    const PAUSE: Duration = Duration::from_millis(100);

    let filters = [Keys::of(name).all(), ours.probe_key().into(), theirs.probe_key().into()];
    let keys = async || {
        let mut keys = Vec::new();
        for filter in &filters {
            keys.extend(ours.wire.info(Some(filter)).await?.keys);
        }
        Ok::<_, Error>(keys)
    };
    for key in keys().await? {
        forget(&ours.wire, &key).await?;
    }
    let clock = ours.wire.link.clock();
    for _ in 0..LOOKS {
        if keys().await?.is_empty() {
            break;
        }
        clock.sleep_until(clock.now().plus(PAUSE)).await;
    }
    Ok(())
}

async fn forget(wire: &Wire, key: &str) -> Result<()> {
    const SECOND: Duration = Duration::from_secs(1);

    let none = bytes::Bytes::new;
    // A bucket that allows no rollups keeps its history, if it has one.
    match wire.put(key, none(), When::Always, Leaves::Nothing).await {
        Ok(_) => Ok(()),
        Err(error) if is_denied(&error) => Err(error),
        Err(_) => wire.put(key, none(), When::Always, Leaves::End(SECOND)).await.map(drop),
    }
}

/// The same in a bucket as it would be made, which is deleted again.
async fn in_a_new_bucket(options: &Options, checks: &mut Vec<Check>) -> Result<(), Check> {
    let mut options = options.clone();
    options.bucket = format!("{}-doctor-{}", options.bucket, Jitter::system().nonce());
    let (ours, theirs) = match two(&options).await {
        Ok(opened) => opened,
        Err(error) if is_denied(&error) => {
            return Err(TRIAL.unknown(
                "the bucket is not there, and this user may not create another one to try: let whoever \
                 may create it connect first",
            ));
        }
        Err(error) => return Err(TRIAL.failed(&error)),
    };
    if let Ok(info) = ours.wire.info(None).await {
        checks.extend(settings(&info, &options));
        checks.push(clock(&info, Duration::ZERO));
    }
    let name = scratch_name().map_err(|error| TRIAL.failed(&error))?;
    checks.extend(checkup::try_out([&ours, &theirs], &options.clock, &name).await);
    ours.wire.delete().await.map_err(|error| {
        CLEAN.doubtful(
            format!("the bucket of this checkup could not be deleted: {error}"),
            format!("delete it: nats stream rm {}", ours.wire.stream()),
        )
    })
}
