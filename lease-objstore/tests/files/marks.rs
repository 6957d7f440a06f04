//! How long the marks of what has ended are kept.

use lease_core::{Backend, BreakNote, Holding, Revision};

use crate::people::{SECOND, TTL, World, acquire, exclusive, file, name, writer};
use crate::store::{Op, Then, no_answer};

async fn marks(world: &World, end: &str) -> usize {
    let files = world.store.files().await;
    files.keys().filter(|path| path.starts_with(&file("s-")) && path.ends_with(end)).count()
}

/// Ann's requests to join are never answered, one after another, on a name that only writers use. Each
/// attempt is marked as ended, and the marks go when nothing of it can be on its way any more: they
/// are in everybody's listings.
#[tokio::test]
async fn of_attempts_that_were_never_answered_they_go_after_a_few_ttls() {
    let world = World::new();
    let (ann, bob) = (world.client().await, world.client().await);
    let bobs = acquire(&bob, &writer()).await;
    bob.withdraw(&bobs.holding).await.unwrap();
    let gives_up = async || {
        let unanswered = Holding::created(&writer(), Revision::new(""));
        ann.withdraw(&unanswered).await.unwrap();
    };
    for _ in 0..9 {
        gives_up().await;
    }
    assert_eq!(marks(&world, ".rel").await, 9);

    world.pass(TTL * 4 - SECOND);
    gives_up().await;
    assert_eq!(marks(&world, ".rel").await, 10, "something of them may still be on its way");
    world.pass(SECOND * 60);
    gives_up().await;
    gives_up().await;
    assert!(marks(&world, ".rel").await <= 3, "the old ones are over");
}

/// A writer is broken, finds out and removes its file. The mark goes after a few of its ttls too.
#[tokio::test]
async fn of_a_broken_writer_they_go_after_a_few_of_its_ttls() {
    let world = World::new();
    let (ann, (operator, view)) = (world.client().await, world.connect().await);
    let anns = acquire(&ann, &writer()).await;
    let note = BreakNote::new("op", "it hangs");
    operator.break_record(&name(), anns.holding.nonce, &note).await.unwrap();
    ann.withdraw(&anns.holding).await.unwrap();
    assert_eq!(marks(&world, ".brk").await, 1);
    let comes_and_goes = async || {
        let held = acquire(&operator, &exclusive()).await;
        operator.withdraw(&held.holding).await.unwrap();
    };
    comes_and_goes().await;
    assert_eq!(marks(&world, ".brk").await, 1, "a late renewal of hers must find it");

    world.pass(SECOND * 60 + TTL);
    view.hook(|op, path| match op {
        Op::Get if path.as_ref().ends_with(".brk") => Then::Fail(no_answer()),
        _ => Then::Go,
    });
    comes_and_goes().await;
    assert_eq!(marks(&world, ".brk").await, 1, "how long it has to stay is not known");
    view.unhook();
    comes_and_goes().await;
    assert_eq!(marks(&world, ".brk").await, 0);
    assert_eq!(operator.last_break(&name()).await.unwrap(), Some(note), "the note stays");
}
