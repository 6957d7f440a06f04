//! The layer as a store like any other.

use std::fmt;

use async_trait::async_trait;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::ballot::{file_of, is_contested};
use super::{Elected, vanished};

impl fmt::Display for Elected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Elected({})", self.inner)
    }
}

#[async_trait]
impl ObjectStore for Elected {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        if options.mode == PutMode::Create {
            if is_contested(file_of(location)) {
                return self.create(location, payload, options).await;
            }
            // Its name has a nonce in it: nobody else writes it.
            options.mode = PutMode::Overwrite;
        }
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let plain = self.inner.get_opts(location, options.clone()).await;
        match plain {
            Err(Error::NotFound { .. }) if is_contested(file_of(location)) => {}
            answer => return answer,
        }
        let Some(meta) = self.find(location).await? else { return plain };
        if meta.location == *location {
            return self.inner.get_opts(location, options).await;
        }
        let mut got = self.inner.get_opts(&meta.location, options).await.map_err(vanished)?;
        got.meta = ObjectMeta { location: location.clone(), ..meta };
        Ok(got)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        stream::once(async move {
            let locations: Vec<Path> = locations.try_collect().await?;
            store.remove(locations.clone()).await?;
            let removed = locations.into_iter().map(Ok);
            Ok::<_, Error>(stream::iter(removed))
        })
        .try_flatten()
        .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, prefix) = (self.clone(), prefix.cloned());
        stream::once(async move { store.list_with_delimiter(prefix.as_ref()).await })
            .map_ok(|listed| stream::iter(listed.objects.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.list_decided(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
