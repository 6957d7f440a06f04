//! The suite, on each of the servers.

use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use lease_conformance::{Damage, Fixture};
use lease_core::{Backend, Name, Nonce};
use lease_objstore::{Options, Probe, connect};

use crate::by_hand::{damaged, unended};
use crate::place::{Azurite, BUCKET, FakeGcs, Place, Seaweed, Server};

/// A prefix of its own on one kind of server.
struct On<S> {
    place: Place,
    server: PhantomData<S>,
}

#[async_trait]
impl<S: Server> Fixture for On<S> {
    async fn start() -> Self {
        // Starting a server blocks.
        let place = tokio::task::spawn_blocking(Place::on::<S>).await.unwrap();
        Self { place, server: PhantomData }
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.place.connect().await)
    }

    async fn unreachable(&self) -> Arc<dyn Backend> {
        Arc::new(nowhere::<S>().await)
    }

    async fn read_only(&self) -> Option<Arc<dyn Backend>> {
        Some(Arc::new(connect(self.place.options.clone().read_only()).await.unwrap()))
    }

    async fn erase(&self, name: &Name) {
        self.place.erase(name).await;
    }

    async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        for (file, body) in damaged(&self.place.files(name).await, nonce, damage) {
            self.place.write(name, &file, body).await;
        }
    }

    async fn records(&self, name: &Name) -> usize {
        unended(&self.place.files(name).await)
    }

    /// A crowd of them is cleared away one by one over the network, while a writer of the shortest
    /// ttl lives beside it on a busy machine. More than one page is shown in `failures`.
    fn crowd(&self) -> usize {
        10
    }
}

/// A client that was connected through a proxy that is gone.
async fn nowhere<S: Server>() -> lease_objstore::ObjStore {
    let server = tokio::task::spawn_blocking(|| S::address()).await.unwrap();
    let proxy = testbed::FaultProxy::start(server).await.unwrap();
    let prefix = lease_core::Jitter::system().nonce().to_string();
    let options: Options = S::options(BUCKET, &prefix, Some(proxy.address()));
    let client = connect(options.probe(Probe::Skip)).await.unwrap();
    proxy.reset();
    client
}

mod s3_seaweedfs {
    use super::*;
    lease_conformance::suite!(On<Seaweed>);
}

mod azure_azurite {
    use super::*;
    lease_conformance::suite!(On<Azurite>);
}

mod gcs_fake {
    use super::*;
    lease_conformance::suite!(On<FakeGcs>);
}
