//! The thing that the leases protect: far away, and with a gate.

use async_trait::async_trait;

use super::link::{Link, Unanswered};
use super::world::Shared;
use crate::{Admission, DurableGate, Error, Result, Token};
use std::sync::Arc;

/// A resource behind a link of its own.
pub(super) struct Resource {
    world: Arc<Shared>,
    link: Link,
}

impl Resource {
    pub(super) const fn new(world: Arc<Shared>, link: Link) -> Self {
        Self { world, link }
    }

    /// Writes with this token. It may arrive late, twice or never.
    pub(super) async fn write(
        &self,
        token: Token,
        arrived: impl Fn(Admission) + Clone + Send + Sync + 'static,
    ) -> Result<(), Unanswered> {
        let world = self.world.clone();
        let request = move || -> futures::future::BoxFuture<'static, ()> {
            let (world, arrived) = (world.clone(), arrived.clone());
            Box::pin(async move { arrived(world.gate.admit_token(token)) })
        };
        self.link.send("write", request).await
    }
}

#[async_trait]
impl DurableGate for Resource {
    async fn admit(&self, token: Token) -> Result<Admission> {
        let world = self.world.clone();
        let request = move || -> futures::future::BoxFuture<'static, Admission> {
            let world = world.clone();
            Box::pin(async move { world.gate.admit_token(token) })
        };
        let answer = self.link.send("announce", request).await;
        answer.map_err(|Unanswered| Error::unclear("resource", "the announcement was lost"))
    }
}
