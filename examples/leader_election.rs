//! Several instances stand for one office. One leads; when it steps down, or dies, the next one does.
//!
//! `cargo run --example leader_election -- file:///tmp/leases`, in two shells or in one.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use leasehold::{Coordinator, Election, HolderInfo, Name};

#[tokio::main(flavor = "current_thread")]
async fn main() -> leasehold::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let leases = leasehold::connect(&url).await?;
    tokio::try_join!(instance(&leases, "one"), instance(&leases, "two"), onlooker(&leases))?;
    Ok(())
}

/// Leads for one term. Most programs never return from `lead`.
async fn instance(leases: &Coordinator, name: &str) -> leasehold::Result<()> {
    let who = HolderInfo::of_this_process().label(name).build()?;
    let election = Election::new(leases, Name::parse("scheduler")?).candidate(who);
    // Called at the start of each term, and dropped when the term is over before its time.
    let work = |fence: leasehold::Fence| async move {
        // Send the token along with what the leader writes: it is higher in each term.
        println!("{name} leads, token {}", fence.token());
    };
    election.lead(work).await
}

/// Anybody may look who leads.
async fn onlooker(leases: &Coordinator) -> leasehold::Result<()> {
    let mut leaders = Election::new(leases, Name::parse("scheduler")?).leaders();
    match leaders.next().await? {
        Some(leader) => println!("the leader is {}", leader.info.label),
        None => println!("nobody leads yet"),
    }
    Ok(())
}
