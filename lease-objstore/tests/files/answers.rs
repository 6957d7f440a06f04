//! Stores that tell the same thing differently from one answer to the next.

use std::sync::Arc;

use lease_core::backend::{Confirmed, Renewed};
use lease_core::{Backend, Claim, Effect, Error, Mode, Name};
use lease_objstore::{Options, connect};

use crate::people::{RESOLUTION, SECOND, TTL, World, acquire, claim};
use crate::store::{Op, Then, no_answer};

/// Some show the milliseconds of a file's time in a listing, and not to whoever asks for the file: a
/// name that is used for the first time is held all the same, in either mode.
#[tokio::test]
async fn whole_seconds_in_some_and_more_in_others() {
    let world = World::new();
    world.pass(SECOND / 3);
    let store = world.store.another().with_whole_seconds();
    let options = Options::store(Arc::new(store))
        .clock(Arc::new(world.clock.clone()))
        .resolution(RESOLUTION, SECOND);
    let store = connect(options).await.unwrap();
    for (name, mode) in [("alone", Mode::Exclusive), ("shared", Mode::Writer)] {
        for _ in 0..2 {
            let name = Name::parse(name).unwrap();
            let grant = acquire(&store, &Claim { name, ..claim(mode, TTL) }).await;
            let mine = grant.holding.next_beat();
            let renewed = store.renew(std::slice::from_ref(&mine)).await.remove(0).unwrap();
            assert!(matches!(renewed, Renewed::Renewed { .. }), "{mode:?}: {renewed:?}");
            let confirmed = store.confirm(&mine).await.unwrap();
            assert!(matches!(confirmed, Confirmed::Held { .. }), "{mode:?}: {confirmed:?}");
            store.withdraw(&mine).await.unwrap();
        }
    }
}

/// The look beside a release fails, and the release was made: nobody is told that nothing happened.
#[tokio::test]
async fn a_look_that_fails_beside_a_write() {
    for mode in [Mode::Exclusive, Mode::Writer] {
        let world = World::new();
        let (store, view) = world.connect().await;
        let mine = acquire(&store, &claim(mode, TTL)).await.holding;
        view.hook(|op, _| if op == Op::List { Then::Fail(no_answer()) } else { Then::Go });
        let answer = store.withdraw(&mine).await;
        let effect = match answer {
            Err(Error::Unavailable { effect, .. }) => effect,
            other => panic!("{mode:?}: {other:?}"),
        };
        assert_eq!(effect, Effect::Unknown, "{mode:?}");
    }
}
