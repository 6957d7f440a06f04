//! Which names a store holds.

use futures::{StreamExt, TryStreamExt, stream};
use lease_core::{Jitter, Name, Nonce, Result};
use object_store::path::Path;
use serde::{Deserialize, Serialize};

use crate::body::VERSION;
use crate::error::{Doing, translate};
use crate::key::Key;
use crate::listing::Listing;
use crate::store::ObjStore;

/// How many folders are looked into at a time.
const AT_A_TIME: usize = 16;

/// What stands in a `genesis`: the name, since the folder of a long one does not tell it.
///
/// And a nonce: where a store's entity tags are hashes of what is in a file, it tells a `genesis`
/// that was made anew after an erasure from the one that was erased.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Origin {
    v: u64,
    name: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nonce: Option<Nonce>,
}

impl Origin {
    pub(crate) fn of(name: &Name) -> Self {
        Self { v: VERSION, name: name.clone(), nonce: Some(Jitter::system().nonce()) }
    }
}

impl ObjStore {
    pub(crate) async fn all_names(&self) -> Result<Vec<Name>> {
        let listed = self.objects.loose.list_with_delimiter(Some(&self.objects.root)).await;
        let listed = listed.map_err(|error| translate(error, Doing::Reading))?;
        stream::iter(listed.common_prefixes)
            .map(|folder| self.name_of(folder))
            .buffer_unordered(AT_A_TIME)
            .try_filter_map(|name| async { Ok(name) })
            .try_collect()
            .await
    }

    /// The name whose files are in `folder`; nothing if it is a stray of somebody else's.
    async fn name_of(&self, folder: Path) -> Result<Option<Name>> {
        let Some(portable) = folder.filename() else { return Ok(None) };
        let genesis = folder.clone().join(Key::Genesis.to_string());
        if let Some((_, body)) = self.objects.read(&genesis).await?
            && let Ok(origin) = serde_json::from_slice::<Origin>(&body)
        {
            return Ok((origin.name.portable() == portable).then_some(origin.name));
        }
        // Its `genesis` was deleted or spoilt by hand: the claims still hold.
        let Some(name) = Name::from_portable(portable) else { return Ok(None) };
        let listing = Listing::of(self.objects.list(&name).await?);
        Ok((listing.genesis.is_some() || listing.has_claims()).then_some(name))
    }
}
