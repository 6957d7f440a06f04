//! Which names the bucket knows.

use futures::future::try_join_all;
use lease_core::{Name, Result};

use crate::key::{ANCHORS, Told, name_of};
use crate::record::Anchor;
use crate::store::Nats;

impl Nats {
    /// The names that have an anchor, which is every name that was ever held.
    pub(crate) async fn listed(&self) -> Result<Vec<Name>> {
        let info = self.info(ANCHORS).await?;
        let (mut names, mut cut) = (Vec::new(), Vec::new());
        for key in &info.keys {
            match name_of(key) {
                Told::Name(name) => names.push(name),
                Told::Cut => cut.push(key),
                Told::Nothing => {}
            }
        }
        // A long name stands whole in its record.
        let read = try_join_all(cut.into_iter().map(|key| self.wire.last(key))).await?;
        let anchors = read.into_iter().flatten().filter(|kept| !kept.ended);
        let told = anchors.filter_map(|kept| Anchor::decode(&kept.body, None).ok());
        names.extend(told.map(|anchor| anchor.name().clone()));
        Ok(names)
    }
}
