//! Whether a live deployment gives what leases need of it.

use lease_core::checkup::{self, Check, Checkup, Finding, Guarantee, scratch_name};
use lease_core::clock::wall_clock_for_display;
use lease_core::{Error, Jitter, Name, Result};
use mongodb::bson::{Document, doc};

use crate::error::{KIND, code, nonsense};
use crate::probe::{self, Topology};
use crate::record::{number, says};
use crate::store::{Place, check, concern};
use crate::{Options, connect};

const SERVER: Guarantee = Guarantee::new(
    "server",
    "the server answers, lets this user in, and knows what leases are made of",
);
const TOPOLOGY: Guarantee =
    Guarantee::new("topology", "one primary judges all leases, and another member can follow it");
const MEMBERS: Guarantee =
    Guarantee::new("members", "when one member is away, a majority that holds data is left");
const ELECTIONS: Guarantee =
    Guarantee::new("elections", "a new primary is there before the usual ttl of 15 s is over");
const NOW: Guarantee = Guarantee::new("server-clock", "updates judge by the server's own clock");
const RIGHTS: Guarantee = Guarantee::new("rights", "this user may find, insert and update leases");
const COLLECTION: Guarantee =
    Guarantee::new("collection", "every lease document is let in, and stays until it is removed");
const INDEXES: Guarantee =
    Guarantee::new("indexes", "no index deletes lease documents or refuses them");
const STORAGE: Guarantee =
    Guarantee::new("storage", "what the server acknowledged it keeps when it restarts");
const DURABLE: Guarantee =
    Guarantee::new("majority-writes", "a majority acknowledges writes, from its journals");
const TRIAL: Guarantee = Guarantee::new("opens", "a lease store can be opened here");
const CLEAN: Guarantee = Guarantee::new("clean-up", "nothing of this checkup is left");

/// What whoever holds leases does, the first also who looks only.
const HOLDERS: [&str; 3] = ["find", "insert", "update"];

/// The longest election timeout with which a new primary is mostly there before the usual ttl is
/// over.
const ELECTION_MS: i64 = 5_000;

/// Asks a live deployment for each guarantee that leases need of it.
///
/// It writes a document of a name that is nobody's, in a collection of its own where that of the
/// leases is not there yet, and removes it again; other leases are not touched. What is wrong, or
/// that nobody answers, is a finding and no error. It takes some seconds, and up to a minute where
/// the server is slow.
///
/// # Cancel safety
///
/// Safe, but what was written stays: the name, or the collection, has `doctor-` in it.
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
    let (_home, place) = crate::connect::reach(options).await.map_err(failed(SERVER))?;
    let sent = options.clock.now();
    let hello = probe::hello(&place).await.map_err(failed(SERVER))?;
    let took = options.clock.now().since(sent);
    let version = place.run(doc! { "buildInfo": 1 }).await.ok();
    let version = version.as_ref().and_then(|info| info.get_str("version").ok());
    let topology = probe::kind_of(&hello, options).map_err(failed(SERVER))?;
    checks.push(SERVER.holds(format!("MongoDB {}", version.unwrap_or("of an unknown version"))));
    checks.push(topology_of(topology));
    if topology == Topology::ReplicaSet {
        checks.push(members(&hello));
        checks.push(elections(&place).await);
    }
    let now = probe::clock(&place).await.map(|()| "an aggregation was told the time".to_owned());
    rights(&place, options, &now, checks).await?;
    checks.push(NOW.judged(&now));
    if let Ok(time) = hello.get_datetime("localTime") {
        checks.push(checkup::clock(time.to_system_time(), wall_clock_for_display(), took));
    }
    let described = probe::described(&place).await.map_err(failed(COLLECTION))?;
    let suits = described.as_ref().map_or(Ok(()), probe::suits);
    let seen = if described.is_some() { "it is an ordinary one" } else { "it is not there yet" };
    checks.push(COLLECTION.judged(&suits.map(|()| seen.to_owned())));
    if described.is_some() {
        let judged = probe::indexes(&place).await.map(|()| "none of them does".to_owned());
        checks.push(INDEXES.judged(&judged));
    }
    checks.push(storage(&place).await);
    if checks.iter().any(|check| matches!(check.finding, Finding::Broken { .. })) {
        return Ok(());
    }
    if options.read_only {
        return Err(TRIAL.unknown("the URL says readOnly: nothing was written"));
    }
    let scratch = Scratch::of(options, &place, described.is_some()).map_err(failed(TRIAL))?;
    scratch.try_out(checks).await
}

/// Ends it where nothing may be read: nobody has logged in, or the user may not.
async fn rights(
    place: &Place,
    options: &Options,
    read: &Result<String>,
    checks: &mut Vec<Check>,
) -> Result<(), Check> {
    /// Unauthorized.
    const DENIED: i32 = 13;

    let needed = if options.read_only { &HOLDERS[..1] } else { &HOLDERS };
    let missing = probe::missing_rights(place, needed).await;
    let missing = missing.map_err(|error| RIGHTS.failed(&error))?;
    let judged = match read {
        _ if !missing.is_empty() => RIGHTS.broken(
            format!("it may not {}", missing.join(", ")),
            "grant it readWrite on the leases' database; to look only, read is enough",
        ),
        Err(error) if code(error) == Some(DENIED) => RIGHTS.failed(error),
        _ => RIGHTS.holds(format!("it may {}", needed.join(", "))),
    };
    match read {
        Err(error) if code(error) == Some(DENIED) => Err(judged),
        _ => {
            checks.push(judged);
            Ok(())
        }
    }
}

fn topology_of(topology: Topology) -> Check {
    match topology {
        Topology::ReplicaSet => TOPOLOGY.holds("a replica set"),
        Topology::Standalone => TOPOLOGY.doubtful(
            "it is one server alone: while it is away nobody gets a lease, what its disk loses is \
             lost, and waiters are not woken",
            "make it a replica set of three members; of one, for waiters to be woken: start it with \
             --replSet and initiate it",
        ),
        Topology::Mongos => TOPOLOGY.doubtful(
            "it is a router of a sharded cluster: leases are judged by the clock of whichever router \
             is asked",
            "name the members of one replica set in the URL, or keep the routers' clocks together \
             and give their difference as clockSkewMS",
        ),
    }
}

fn members(hello: &Document) -> Check {
    let count = |field: &str| hello.get_array(field).map_or(0, Vec::len);
    let (data, arbiters) = (count("hosts") + count("passives"), count("arbiters"));
    if data >= 3 {
        return MEMBERS.holds(format!("{data} members hold data"));
    }
    MEMBERS.doubtful(
        format!(
            "{data} of its members can hold data and vote, beside {arbiters} arbiters: when one \
                 is away nothing is acknowledged by a majority"
        ),
        "give it three members that hold data",
    )
}

async fn elections(place: &Place) -> Check {
    let asked = place.database.client().database("admin");
    let admin = Place { database: asked, ..place.clone() };
    let config = match admin.run(doc! { "replSetGetConfig": 1 }).await {
        Ok(config) => config,
        Err(Error::Misconfigured { .. }) => {
            return ELECTIONS.unknown(
                "this user may not read the set's configuration; by default an election begins \
                 after 10 s, for which a ttl of 30 s is enough",
            );
        }
        Err(error) => return ELECTIONS.failed(&error),
    };
    let settings = config.get_document("config").and_then(|config| config.get_document("settings"));
    let timeout = settings.ok().and_then(|settings| number(settings, "electionTimeoutMillis"));
    match timeout {
        None => ELECTIONS.unknown("the set's configuration tells no electionTimeoutMillis"),
        Some(timeout) if timeout <= ELECTION_MS => {
            ELECTIONS.holds(format!("an election begins after {timeout} ms"))
        }
        Some(timeout) => ELECTIONS.doubtful(
            format!(
                "an election begins after {timeout} ms only: with the usual ttl, healthy holders \
                     lose their leases in a failover"
            ),
            "use a ttl of 30 s, or set electionTimeoutMillis to 2000 to 5000",
        ),
    }
}

async fn storage(place: &Place) -> Check {
    let asked = doc! { "serverStatus": 1, "metrics": 0, "locks": 0, "wiredTiger": 0, "repl": 0 };
    match place.run(asked).await {
        Ok(status) => match status.get_document("storageEngine") {
            Ok(engine) if says(engine, "persistent") => {
                STORAGE.holds(engine.get_str("name").unwrap_or("a persistent engine"))
            }
            Ok(engine) if engine.contains_key("persistent") => STORAGE.doubtful(
                "the storage engine keeps nothing when the server restarts",
                "use a member with the engine wiredTiger",
            ),
            _ => STORAGE.unknown("the server does not tell its storage engine"),
        },
        Err(Error::Misconfigured { .. }) => {
            STORAGE.unknown("this user may not ask for the server's status")
        }
        Err(error) => STORAGE.failed(&error),
    }
}

/// Where a checkup writes.
struct Scratch {
    options: Options,
    place: Place,
    name: Name,
    /// Whether the collection is that of the leases, and not one of its own.
    shared: bool,
}

impl Scratch {
    /// A document of its own beside the leases, where the same rights and rules hold. Where there is no
    /// collection yet, one of its own: nothing is made that others could begin to use.
    fn of(options: &Options, place: &Place, shared: bool) -> Result<Self> {
        let (mut options, mut place) = (options.clone(), place.clone());
        if !shared {
            let own = format!("{}.doctor-{}", options.collection, Jitter::system().nonce());
            options.collection.clone_from(&own);
            place.collection = own;
        }
        Ok(Self { options, place, name: scratch_name()?, shared })
    }

    async fn try_out(&self, checks: &mut Vec<Check>) -> Result<(), Check> {
        let wanted: &[&str] = match self.shared {
            true => &["remove"],
            false => &["createCollection", "dropCollection"],
        };
        match probe::missing_rights(&self.place, wanted).await {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => {
                return Err(TRIAL.unknown(format!(
                    "this user may not {}, so that something would stay: nothing was written",
                    missing.join(" and ")
                )));
            }
            Err(error) => return Err(TRIAL.failed(&error)),
        }
        let opened = async {
            Ok::<_, Error>((
                connect(self.options.clone()).await?,
                connect(self.options.clone()).await?,
            ))
        };
        let tried = match opened.await {
            Ok((ours, theirs)) => {
                let durable = self.durable().await;
                let holds = matches!(durable.finding, Finding::Holds { .. });
                checks.push(durable);
                // Every step is such a write: each of them would wait for as long in vain.
                match holds {
                    true => {
                        checkup::try_out([&ours, &theirs], &self.options.clock, &self.name).await
                    }
                    false => Vec::new(),
                }
            }
            Err(error) => vec![TRIAL.failed(&error)],
        };
        checks.extend(tried);
        self.clear().await.map_err(|error| {
            let place = match self.shared {
                true => {
                    let [lease, write] = self.ids();
                    format!("the documents `{lease}` and `{write}` of `{}`", self.place.collection)
                }
                false => format!("the collection `{}`", self.place.collection),
            };
            CLEAN.doubtful(
                format!("what this checkup wrote could not be removed: {error}"),
                format!("delete {place}: nobody uses it"),
            )
        })
    }

    /// The documents that are written: the name, and one that is no lease.
    fn ids(&self) -> [String; 2] {
        [self.name.to_string(), format!("{}/write", self.name)]
    }

    /// A write that the majority acknowledges from its journals.
    async fn durable(&self) -> Check {
        let mut concern = concern();
        // Shorter than the whole, so that the server says what it waited for in vain.
        concern.insert("wtimeout", self.place.max_time() * 3 / 4);
        let insert = doc! {
            "insert": &self.place.collection, "documents": [{ "_id": self.ids()[1].as_str() }],
            "writeConcern": concern, "maxTimeMS": self.place.max_time(),
        };
        let sent = self.options.clock.now();
        let written = async { check(&self.place.run(insert).await?) }.await;
        let took = self.options.clock.now().since(sent);
        DURABLE.judged(&written.map(|()| format!("acknowledged after {} ms", took.as_millis())))
    }

    async fn clear(&self) -> Result<()> {
        /// NamespaceNotFound.
        const NOT_THERE: i32 = 26;
        let collection = &self.place.collection;
        let command = match self.shared {
            true => doc! {
                "delete": collection,
                "deletes": [{ "q": { "_id": { "$in": self.ids().to_vec() } }, "limit": 0 }],
                "writeConcern": concern(),
                "maxTimeMS": self.place.max_time(),
            },
            false => doc! { "drop": collection, "writeConcern": concern() },
        };
        match self.place.run(command).await {
            Ok(answer) => check(&answer).map_err(|error| {
                tracing::debug!(%error, "a removal was not acknowledged");
                nonsense("the majority did not acknowledge the removal")
            }),
            Err(error) if code(&error) == Some(NOT_THERE) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
