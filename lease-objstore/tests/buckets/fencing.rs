//! A fenced object under attack: what a superseded holder sends is refused, however it comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;
use lease_core::{BreakNote, Coordinator, Error, Lease, Name};
use lease_objstore::{Fenced, FencedWrite, connect};
use object_store::client::{HttpClient, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::sync::{Mutex, Notify};

use crate::place::{Azurite, FakeGcs, Place, Seaweed, Server};
use crate::spoil::{Fate, Spoilt, is_write};

const OBJECT: &str = "snapshots/latest";

async fn place<S: Server>() -> Place {
    tokio::task::spawn_blocking(Place::on::<S>).await.unwrap()
}

/// The object in a place, as one more client has it.
async fn object<S: Server>(place: &Place) -> Fenced {
    object_through::<S>(place, |client| client).await
}

async fn object_through<S: Server>(
    place: &Place,
    layer: impl Fn(object_store::client::HttpClient) -> object_store::client::HttpClient
    + Send
    + Sync
    + 'static,
) -> Fenced {
    let options = place.options.clone().through(move |client| layer(S::layer(client)));
    Fenced::new(options.object_store().await.unwrap(), at(place))
}

fn at(place: &Place) -> String {
    format!("{}/{OBJECT}", place.prefix())
}

async fn holds(place: &Place) -> Lease {
    let leases = Coordinator::new(Arc::new(connect(place.options.clone()).await.unwrap()));
    leases.exclusive("backup").acquire().await.unwrap()
}

/// An operator takes the holder for dead; it does not know.
async fn breaks(place: &Place, lease: &Lease) {
    let note = BreakNote::new("op", "dead");
    let store = connect(place.options.clone()).await.unwrap();
    let name = Name::parse("backup").unwrap();
    lease_core::Backend::break_record(&store, &name, lease.nonce(), &note).await.unwrap();
}

/// Ann stalls between her proof and her write. Bob follows and announces himself. Hers is refused.
async fn a_stalled_holder_is_refused<S: Server>() {
    let place = place::<S>().await;
    let (anns, bobs) = (object::<S>(&place).await, object::<S>(&place).await);
    assert_eq!(anns.read().await.unwrap(), None);

    let ann = holds(&place).await;
    ann.announce(&anns).await.unwrap();
    let stale = ann.confirm().await.unwrap();
    assert_eq!(anns.write(&stale, "ann's").await.unwrap(), FencedWrite::Done);
    assert_eq!(anns.write(&stale, "ann's second").await.unwrap(), FencedWrite::Done);
    breaks(&place, &ann).await;

    let bob = holds(&place).await;
    bob.announce(&bobs).await.unwrap();
    assert_eq!(bobs.read().await.unwrap().unwrap(), "ann's second", "it is only announced");
    let late = anns.write(&stale, "ann's, late").await.unwrap();
    assert_eq!(late, FencedWrite::Refused { highest: bob.token() });
    let announced = ann.announce(&anns).await;
    assert!(matches!(announced, Err(Error::Lost { .. })), "{announced:?}");
    let written = bobs.write(&bob.confirm().await.unwrap(), "bob's").await.unwrap();
    assert_eq!(written, FencedWrite::Done);
    assert_eq!(anns.read().await.unwrap().unwrap(), "bob's");
}

#[tokio::test]
async fn a_stalled_holder_is_refused_on_s3() {
    a_stalled_holder_is_refused::<Seaweed>().await;
}

#[tokio::test]
async fn a_stalled_holder_is_refused_on_azure() {
    a_stalled_holder_is_refused::<Azurite>().await;
}

#[tokio::test]
async fn a_stalled_holder_is_refused_on_gcs() {
    a_stalled_holder_is_refused::<FakeGcs>().await;
}

/// A way to the store on which writes wait at a door.
#[derive(Clone, Debug)]
struct Door {
    inner: HttpClient,
    door: Arc<Mutex<()>>,
    arrived: Arc<Notify>,
}

#[async_trait]
impl HttpService for Door {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if is_write(&request) {
            self.arrived.notify_one();
            drop(self.door.lock().await);
        }
        self.inner.execute(request).await
    }
}

/// Ann's write is on its way while she is superseded. It arrives after Bob's announcement, which
/// wrote the same bytes again: a store that knows versions by what is in them must tell them apart.
async fn a_write_that_is_on_its_way_is_refused<S: Server>() {
    let place = place::<S>().await;
    let (door, arrived) = (Arc::new(Mutex::new(())), Arc::new(Notify::new()));
    let far = (Arc::clone(&door), Arc::clone(&arrived));
    let anns = object_through::<S>(&place, move |inner| {
        let (door, arrived) = far.clone();
        HttpClient::new(Door { inner, door, arrived })
    })
    .await;
    let bobs = object::<S>(&place).await;

    let ann = holds(&place).await;
    let fence = ann.announce(&anns).await.unwrap();
    assert_eq!(anns.write(&fence, "the same").await.unwrap(), FencedWrite::Done);
    breaks(&place, &ann).await;
    let bob = holds(&place).await;

    let closed = door.lock().await;
    // The two writes before have told as well.
    arrived.notified().await;
    let late = anns.write(&fence, "ann's, late");
    let meanwhile = async {
        arrived.notified().await;
        bob.announce(&bobs).await.unwrap();
        drop(closed);
    };
    let (late, ()) = futures::join!(late, meanwhile);
    assert_eq!(late.unwrap(), FencedWrite::Refused { highest: bob.token() });
    assert_eq!(bobs.read().await.unwrap().unwrap(), "the same");
}

#[tokio::test]
async fn a_write_that_is_on_its_way_is_refused_on_s3() {
    a_write_that_is_on_its_way_is_refused::<Seaweed>().await;
}

#[tokio::test]
async fn a_write_that_is_on_its_way_is_refused_on_azure() {
    a_write_that_is_on_its_way_is_refused::<Azurite>().await;
}

#[tokio::test]
async fn a_write_that_is_on_its_way_is_refused_on_gcs() {
    a_write_that_is_on_its_way_is_refused::<FakeGcs>().await;
}

/// Case 1: a write whose answer was lost is found by its nonce, and is not refused by itself.
#[tokio::test]
async fn a_write_whose_answer_is_lost_counts_once() {
    let place = place::<Seaweed>().await;
    let (loses, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (lost, counted) = (Arc::clone(&loses), Arc::clone(&writes));
    let object = object_through::<Seaweed>(&place, move |client| {
        let (loses, writes) = (Arc::clone(&loses), Arc::clone(&writes));
        Spoilt::over(client, move |request: &HttpRequest| {
            if !is_write(request) {
                return Fate::Pass;
            }
            writes.fetch_add(1, SeqCst);
            if loses.swap(false, SeqCst) { Fate::Lost } else { Fate::Pass }
        })
    })
    .await;
    let lease = holds(&place).await;
    let fence = lease.announce(&object).await.unwrap();
    counted.store(0, SeqCst);
    lost.store(true, SeqCst);
    assert_eq!(object.write(&fence, "once").await.unwrap(), FencedWrite::Done);
    assert_eq!(counted.load(SeqCst), 1, "it was there");
    assert_eq!(object.write(&fence, "twice").await.unwrap(), FencedWrite::Done);
    assert_eq!(counted.load(SeqCst), 2, "and the next one needs no look");
}

/// What was there before anybody had a lease is kept, and can be written by a holder.
#[tokio::test]
async fn an_object_without_a_token_is_taken_over() {
    let place = place::<Azurite>().await;
    let store: Arc<dyn ObjectStore> = place.options.object_store().await.unwrap();
    store.put(&at(&place).into(), "{\"snapshots\":[]}\n".into()).await.unwrap();
    let object = object::<Azurite>(&place).await;
    let lease = holds(&place).await;
    lease.announce(&object).await.unwrap();
    assert_eq!(object.read().await.unwrap().unwrap(), "{\"snapshots\":[]}\n");
    let fence = lease.confirm().await.unwrap();
    assert_eq!(object.write(&fence, "mine").await.unwrap(), FencedWrite::Done);
    assert_eq!(object.read().await.unwrap().unwrap(), "mine");
}
