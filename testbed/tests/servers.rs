//! Every server is really had, starts, answers, and comes back after a crash.

use std::net::{SocketAddr, TcpStream};
use std::thread;

use testbed::azure::Azure;
use testbed::gcs::Gcs;
use testbed::mongo::{self, ReplicaSet};
use testbed::nats::{self, Cluster};
use testbed::s3::S3;
use testbed::{FaultProxy, Result, Server};

#[test]
fn mongod_alone_starts_again_after_a_crash() -> Result<()> {
    comes_back_after_a_crash(&mut mongo::standalone()?)
}

#[test]
fn one_mongod_is_a_replica_set_with_a_primary() -> Result<()> {
    let set = ReplicaSet::start(1)?;
    assert_eq!(set.primary()?, 0);
    assert!(set.url().ends_with("/?replicaSet=rs0"), "{}", set.url());
    Ok(())
}

#[test]
fn three_mongods_elect_another_primary_when_theirs_dies() -> Result<()> {
    let mut set = ReplicaSet::start(3)?;
    let first = set.primary()?;
    set.member(first).unwrap().kill()?;
    let second = set.primary()?;
    assert_ne!(first, second);
    set.member(first).unwrap().restart()?;
    set.settled()
}

/// In both directions, though all members live and are reached by everybody else: each way tells by who
/// opened a connection.
#[cfg(target_os = "linux")]
#[test]
fn a_primary_that_is_cut_off_from_the_others_alone_steps_down_and_follows_when_it_is_back()
-> Result<()> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut ways = Vec::new();
    let set = ReplicaSet::start_behind(3, |member| {
        let way = runtime.block_on(FaultProxy::start(member))?;
        let address = way.address();
        ways.push(way);
        Ok(address)
    })?;
    let first = set.primary()?;
    let processes = set.members().map(Server::process).collect::<Result<Vec<_>>>()?;
    for (member, way) in ways.iter().enumerate() {
        let is_cut = |(other, _): &(usize, &u32)| (*other == first) != (member == first);
        way.cut_off(processes.iter().enumerate().filter(is_cut).map(|(_, process)| *process));
    }
    let is_another = || set.primary().is_ok_and(|now| now != first);
    assert!((0..100_000).any(|_| is_another()), "it is still the primary");
    ways.iter().for_each(FaultProxy::rejoin);
    set.settled()
}

#[test]
fn nats_alone_starts_again_after_a_crash() -> Result<()> {
    comes_back_after_a_crash(&mut nats::single()?)
}

#[test]
fn a_nats_cluster_takes_a_killed_node_back() -> Result<()> {
    let mut cluster = Cluster::start()?;
    assert_eq!(cluster.url().split(',').count(), cluster.nodes().len());
    comes_back_after_a_crash(cluster.node(0).unwrap())
}

#[test]
fn seaweedfs_makes_buckets() -> Result<()> {
    let s3 = S3::start()?;
    s3.create_bucket("leases")?;
    s3.create_bucket("leases")
}

#[test]
fn s3s_fs_makes_buckets() -> Result<()> {
    S3::careless()?.create_bucket("leases")
}

#[test]
fn azurite_makes_containers() -> Result<()> {
    let azure = Azure::start()?;
    azure.create_container("leases")?;
    azure.create_container("leases")
}

#[test]
fn fake_gcs_server_makes_buckets() -> Result<()> {
    let gcs = Gcs::start()?;
    gcs.create_bucket("leases")?;
    gcs.create_bucket("leases")
}

#[test]
fn a_server_ends_with_its_handle_also_in_a_panic() -> Result<()> {
    let server = nats::single()?;
    let address = address_of(&server);
    TcpStream::connect(address).expect("it answers");
    let panicking = thread::spawn(move || {
        assert!(!server.is_ours(), "this fails, with the server in the frame");
    });
    panicking.join().expect_err("it panicked");
    TcpStream::connect(address).expect_err("it is gone");
    Ok(())
}

#[expect(clippy::expect_used, reason = "a helper of tests: a failure is the test's failure")]
fn comes_back_after_a_crash(server: &mut Server) -> Result<()> {
    let address = address_of(server);
    TcpStream::connect(address).expect("it answers");
    server.kill()?;
    TcpStream::connect(address).expect_err("it is gone");
    server.restart()?;
    TcpStream::connect(address).expect("it answers again");
    server.stop()
}

#[expect(clippy::unwrap_used, reason = "the testbed's own servers have plain addresses")]
fn address_of(server: &Server) -> SocketAddr {
    let (_, rest) = server.url().split_once("://").unwrap();
    rest.split('/').next().unwrap().parse().unwrap()
}
