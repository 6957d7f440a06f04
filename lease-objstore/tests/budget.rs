//! placeholder
mod support;
use std::sync::Arc;
use lease_core::Backend;
use lease_objstore::{Options, connect};
use support::*;
use support::store::Watched;

#[tokio::test]
async fn show() {
    let watched = Watched::over(Arc::new(object_store::memory::InMemory::new()));
    let store = connect(Options::store(Arc::new(watched.clone()))).await.unwrap();
    println!("connect {:?}", watched.log());
    for _ in 0..2 {
        for c in [exclusive(), writer()] {
            let g = acquire(&store, &c).await;
            println!("acquire {:?} {:?}", c.mode, watched.log());
            let r = store.renew(&[g.holding.next_beat()]).await;
            println!("renew {:?} {:?}", r, watched.log());
            println!("confirm {:?} {:?}", store.confirm(&g.holding).await.unwrap(), watched.log());
            println!("{:?}", store.withdraw(&g.holding).await.unwrap());
            println!("release {:?}", watched.log());
        }
    }
    let dir = tempfile::tempdir().unwrap();
    for durable in [false, true] {
    let store = connect(Options::local(dir.path()).durable(durable)).await.unwrap();
    for m in [exclusive(), writer()] {
    let t = std::time::Instant::now();
    for _ in 0..200 {
        let mut c = m.clone(); c.nonce = lease_core::Jitter::system().nonce();
        let g = acquire(&store, &c).await;
        store.withdraw(&g.holding).await.unwrap();
    }
    println!("{durable} {:?} cycle {:?}", m.mode, t.elapsed()/200);
    }}
}
