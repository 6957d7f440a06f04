//! Opening a deployment: what is wrong with it is told here, not in the night.

use std::time::Duration;

use lease_core::clock::within;
use lease_core::{Capabilities, Error, Result, TimeAuthority};
use mongodb::options::ClientOptions;
use std::sync::Arc;

use crate::Options;
use crate::error::{nonsense, translate};
use crate::home::Home;
use crate::probe::{self, Topology};
use crate::renew::BATCH;
use crate::store::{Inner, Mongo, Place};
use crate::watch::Watches;

/// The step of a BSON date.
const RESOLUTION: Duration = Duration::from_millis(1);

/// Below that the round trips of a majority decide who holds.
const MIN_TTL: Duration = Duration::from_millis(100);

/// Connections at the most, where the URL does not say.
const POOL: u32 = 32;
/// Whatever the URL says: the stream of changes that waiters share keeps one for as long as somebody
/// waits, and renewals would not get their turn.
const LEAST_POOL: u32 = 2;

/// Opens a deployment and checks what leases need of it.
///
/// Unless it is opened to look only, the collection is made if it is not there; of many clients
/// that do so at once each succeeds. The client is one of our own, on a thread of its own, so that
/// neither a busy pool nor a blocked runtime of the program keeps a renewal waiting.
///
/// # Errors
///
/// [`Error::Misconfigured`], with what to do: the URL or a parameter is not valid or names no
/// database; the login is refused, or lacks a right; the server is older than 5.0, or another
/// product; it is a router and that was not allowed; the URL leads only to a secondary; the
/// collection has a TTL index or a collation, is capped, or is no collection.
/// [`Error::Unavailable`] if no primary answers within [`Options::timeout`]: try again.
///
/// # Cancel safety
///
/// Safe: nothing is held yet.
pub async fn connect(options: Options) -> Result<Mongo> {
    let (home, place) = reach(&options).await?;
    let topology = probe::topology(&place, &options).await?;
    probe::clock(&place).await?;
    probe::rights(&place, options.read_only).await?;
    probe::collection(&place, options.read_only).await?;
    let capabilities = capabilities(topology, &options);
    let watches = Watches::default();
    Ok(Mongo { inner: Arc::new(Inner { home, place, topology, capabilities, watches }) })
}

pub(crate) fn no_database() -> Error {
    Error::misconfigured(
        "the MongoDB URL names no database",
        "add it after the hosts: mongodb://host/database; if the users are kept in another one, add \
         ?authSource=admin",
    )
}

/// A client, and where the leases are. Nothing is asked of the server yet.
pub(crate) async fn reach(options: &Options) -> Result<(Home, Place)> {
    let driver = driver_options(options).await?;
    let database = driver.default_database.clone().ok_or_else(no_database)?;
    let home = Home::start(driver).await?;
    let place = Place {
        database: home.client.database(&database),
        collection: options.collection.clone(),
        timeout: options.timeout,
        clock: Arc::clone(&options.clock),
    };
    Ok((home, place))
}

fn capabilities(topology: Topology, options: &Options) -> Capabilities {
    let resolution = RESOLUTION.saturating_add(options.clock_skew);
    Capabilities::reference()
        .with_time(TimeAuthority::Store)
        .with_clock_resolution(resolution)
        .with_min_ttl(MIN_TTL.max(resolution.saturating_mul(4)))
        .with_push(topology != Topology::Standalone)
        .with_epoch_survives_erasure(true)
        .with_renew_batch(BATCH)
}

/// What the URL says, with timeouts that tell of an outage in time, and without retries: patience is
/// the caller's, and each attempt counts its belief from before its own request.
async fn driver_options(options: &Options) -> Result<ClientOptions> {
    let parsed = async { ClientOptions::parse(&options.url).await };
    let parsed = within(&options.clock, options.timeout, parsed).await;
    let mut driver = match parsed {
        Some(parsed) => parsed.map_err(translate)?,
        None => return Err(nonsense("the name servers did not answer in time")),
    };
    driver.app_name.get_or_insert_with(|| "leasehold".to_owned());
    if let Some(adjust) = &options.adjust {
        adjust(&mut driver);
    }
    // Zero is the driver's word for any number.
    let pool = driver.max_pool_size.unwrap_or(POOL);
    driver.max_pool_size = Some(if pool == 0 { 0 } else { pool.max(LEAST_POOL) });
    let at_most = |given: Option<Duration>, limit: Duration| {
        Some(given.map_or(limit, |given| given.min(limit)))
    };
    driver.server_selection_timeout =
        at_most(driver.server_selection_timeout, options.timeout * 3 / 4);
    // A member that hangs is noticed after these two together; a new primary makes itself known.
    driver.connect_timeout = at_most(driver.connect_timeout, options.timeout / 2);
    let beat = Duration::from_secs(1).min(options.timeout / 4).max(Duration::from_millis(500));
    driver.heartbeat_freq = at_most(driver.heartbeat_freq, beat);
    driver.retry_reads = Some(false);
    driver.retry_writes = Some(false);
    // Each request sets its own.
    driver.write_concern = None;
    driver.read_concern = None;
    driver.selection_criteria = None;
    Ok(driver)
}
