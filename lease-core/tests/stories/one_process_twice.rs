//! Two holders in one process, or under one label, are two holders.

use lease_core::{Error, Policy};

use crate::world::{JOB, SECOND, World, held_by};

/// The same label, the same process, and still only one of them holds. (Case 32.)
#[tokio::test(start_paused = true)]
async fn is_two_holders() {
    let world = World::new();
    let (one, two) = (world.person("node-1", SECOND * 2), world.person("node-1", SECOND * 2));
    let ten = world.person("node-10", SECOND * 2);

    let lease = one.exclusive(JOB).acquire().await.unwrap();
    assert_eq!(held_by(two.exclusive(JOB).acquire().await), "node-1");
    assert_eq!(held_by(ten.exclusive(JOB).acquire().await), "node-1");
    assert_eq!(held_by(one.exclusive(JOB).acquire().await), "node-1");
    lease.confirm().await.unwrap();
}

/// There is no upgrade in place: whoever holds as a writer and asks for the same name alone would
/// wait for itself, and is told at once. (Case 41.)
#[tokio::test(start_paused = true)]
async fn does_not_wait_for_itself() {
    let world = World::new();
    let (ann, bob) = (world.person("ann", SECOND * 2), world.person("bob", SECOND * 2));
    let (anns, bobs) =
        (ann.writer(JOB).acquire().await.unwrap(), bob.writer(JOB).acquire().await.unwrap());
    let start = world.now();

    for person in [&ann, &bob] {
        let refused = person.exclusive(JOB).wait(SECOND * 5).acquire().await.unwrap_err();
        assert!(matches!(refused, Error::WouldDeadlock { .. }), "{refused}");
    }
    assert_eq!(world.now(), start);

    anns.release().await.unwrap();
    bobs.release().await.unwrap();
    drop(ann.exclusive(JOB).acquire().await.unwrap());
}

/// The same for one of many names, and where another lease on the same name has come and gone.
#[tokio::test(start_paused = true)]
async fn does_not_wait_for_itself_on_any_of_its_names() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 2);
    let mut held = Vec::new();
    for n in 0..50 {
        let name = format!("name {n}");
        held.push(ann.writer(&name).acquire().await.unwrap());
        ann.writer(&name).acquire().await.unwrap().release().await.unwrap();
    }

    for lease in &held {
        let refused =
            ann.exclusive(lease.name().as_str()).wait(SECOND * 5).acquire().await.unwrap_err();
        assert!(matches!(refused, Error::WouldDeadlock { .. }), "{refused}");
    }
}

/// A fresh record of one's own stable name is taken back only if its process is proven dead: here
/// it is this very process, which lives. (Rule R16.)
#[tokio::test(start_paused = true)]
async fn does_not_take_its_own_name_back_while_it_lives() {
    let world = World::new();
    let info = |label: &str| {
        lease_core::HolderInfo::of_this_process()
            .label(label)
            .stable_name("node-7")
            .build()
            .unwrap()
    };
    let ann = world.person("ann", SECOND * 60);
    let readopting = || Policy::refuse().readopting("node-7");
    let old = ann.exclusive(JOB).info(info("old")).acquire().await.unwrap();

    let again = ann.exclusive(JOB).info(info("new")).policy(readopting()).acquire().await;
    assert_eq!(held_by(again), "old");

    // Once it has expired it is taken back, though the policy refuses everybody else's.
    let epoch = old.epoch();
    let (frozen, _hand) = world.frozen("frozen", SECOND * 2);
    old.release().await.unwrap();
    let stale = frozen.exclusive(JOB).info(info("stale")).acquire().await.unwrap();
    world.pass(SECOND * 3).await;
    let other = world.person("other", SECOND * 2);
    let refused = other.exclusive(JOB).policy(Policy::refuse()).acquire().await;
    assert_eq!(held_by(refused), "stale");
    let another = Policy::refuse().readopting("node-8");
    let refused = other.exclusive(JOB).policy(another).acquire().await;
    assert_eq!(held_by(refused), "stale");
    let back = ann.exclusive(JOB).info(info("new")).policy(readopting()).acquire().await.unwrap();
    assert!(back.epoch() > epoch);
    drop(stale);
}
