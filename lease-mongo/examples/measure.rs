//! Measures what leases cost on a deployment, beside the bare commands of the driver.
//!
//! `cargo run --release --package lease-mongo --example measure -- mongodb://host/database`

#![expect(clippy::print_stdout, reason = "printing is what it is for")]

use std::sync::Arc;
use std::time::Duration;

use lease_core::backend::{Joined, Taken};
use lease_core::clock::SystemClock;
use lease_core::{Backend, Claim, Clock, Error, HolderInfo, Jitter, Mode, Name, Policy};
use lease_mongo::{Mongo, Options};
use mongodb::bson::{Document, doc};
use mongodb::{Client, Collection};

type Anything = Box<dyn std::error::Error>;

/// Cycles of each kind.
const CYCLES: usize = 400;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Anything> {
    let url = std::env::args().nth(1).ok_or("give the URL of a database")?;
    let mongo = lease_mongo::connect(Options::parse(&url)?).await?;
    let client = Client::with_uri_str(&url).await?;
    let (database, _) = mongo.namespace();
    let bare = client.database(database).collection::<Document>("bare");

    // Twice, in turns: what the machine does besides hits both.
    for _ in 0..2 {
        tell("bare: two updates by majority", CYCLES, || two_updates(&bare)).await?;
        tell("writer: join and release", CYCLES, || writes(&mongo)).await?;
        tell("exclusive: take and release", CYCLES, || excludes(&mongo)).await?;
    }
    bare.drop().await?;
    Ok(())
}

async fn two_updates(bare: &Collection<Document>) -> Result<(), Anything> {
    for value in [doc! { "holder": "ann" }, doc! { "holder": null }] {
        let written = bare.find_one_and_update(doc! { "_id": "cycle" }, doc! { "$set": value });
        written.upsert(true).write_concern(majority()).await?;
    }
    Ok(())
}

fn majority() -> mongodb::options::WriteConcern {
    let majority = mongodb::options::Acknowledgment::Majority;
    mongodb::options::WriteConcern::builder().w(majority).journal(true).build()
}

async fn writes(mongo: &Mongo) -> Result<(), Anything> {
    match mongo.join(&claim(Mode::Writer)?, &Policy::expired()).await? {
        Joined::Granted(grant) => mongo.withdraw(&grant.holding).await?,
        Joined::Refused(by) => return Err(by.to_string().into()),
    };
    Ok(())
}

async fn excludes(mongo: &Mongo) -> Result<(), Anything> {
    match mongo.take(&claim(Mode::Exclusive)?, None, &Policy::expired()).await? {
        Taken::Granted(grant) => mongo.withdraw(&grant.holding).await?,
        other => return Err(format!("somebody else is there: {other:?}").into()),
    };
    Ok(())
}

fn claim(mode: Mode) -> Result<Claim, Error> {
    Ok(Claim {
        name: Name::parse("cycle")?,
        nonce: Jitter::system().nonce(),
        mode,
        ttl: Duration::from_secs(15),
        info: Arc::new(HolderInfo::of_this_process().build()?),
    })
}

async fn tell<W: Future<Output = Result<(), Anything>>>(
    what: &str,
    cycles: usize,
    cycle: impl Fn() -> W,
) -> Result<(), Anything> {
    let mut took = Vec::with_capacity(cycles);
    for _ in 0..cycles {
        let start = SystemClock.now();
        cycle().await?;
        took.push(SystemClock.now().since(start));
    }
    took.sort();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100];
    println!("{what}: p50={:?} p99={:?}", at(50), at(99));
    Ok(())
}
