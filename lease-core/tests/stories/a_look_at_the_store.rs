//! A person or a tool that looks at who holds what.

use crate::world::{SECOND, World};

/// All names that were ever used, in their order, held or not.
#[tokio::test(start_paused = true)]
async fn shows_all_names_in_their_order() {
    let world = World::new();
    let ann = world.person("ann", SECOND * 2);
    assert_eq!(ann.names().await.unwrap(), []);

    let held = ann.writer("press").acquire().await.unwrap();
    ann.exclusive("archive").acquire().await.unwrap().release().await.unwrap();

    let names = ann.names().await.unwrap();
    assert_eq!(names.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["archive", "press"]);
    drop(held);
}
