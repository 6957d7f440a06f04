//! Two clients, every request of each in every order.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use lease_core::{Backend, Claim, Mode, Token};
use lease_objstore::ObjStore;
use rstest::rstest;

use crate::people::{World, acquire, exclusive, info, try_acquire, writer};
use crate::store::{Op, Then, Watched};
use crate::turns::{Choices, Turns};

/// Who holds at this moment, and all grants so far.
#[derive(Default)]
struct Board {
    holding: Vec<Mode>,
    tokens: Vec<Token>,
}

/// Acquires once, and releases after one more turn, if it does.
fn actor(
    store: ObjStore,
    claim: Claim,
    turns: Turns,
    board: Arc<Mutex<Board>>,
) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let Some(grant) = try_acquire(&store, &claim).await else { return };
        {
            let mut board = board.lock().unwrap();
            board.tokens.push(Token::new(claim.mode, grant.epoch));
            board.holding.push(claim.mode);
        }
        turns.next().await;
        // Two exclusives that also release have too many orders for a test; see `torture`.
        if claim.info.label == "keeps it" {
            return;
        }
        board.lock().unwrap().holding.retain(|mode| *mode != claim.mode);
        store.withdraw(&grant.holding).await.unwrap();
    })
}

/// How often two exclusives, or an exclusive and a writer, held at once or in the wrong order of
/// their tokens, over all orders of their requests after `last`; and over how many orders.
async fn violations(
    last: fn() -> Claim,
    claims: fn() -> [Claim; 2],
    hook: fn(&Watched, Turns),
) -> (usize, usize) {
    let mut choices = Choices::default();
    let (mut violations, mut orders) = (0, 0);
    loop {
        let world = World::new();
        // The name was used before, so that the first use's requests are not counted again.
        let (ann, anns_view) = world.connect().await;
        for claim in [exclusive(), last()] {
            let before = acquire(&ann, &claim).await;
            ann.withdraw(&before.holding).await.unwrap();
        }

        let board = Arc::new(Mutex::new(Board::default()));
        let mut actors = Vec::new();
        let mut clients = vec![world.connect().await, (ann, anns_view)];
        for claim in claims() {
            let (store, view) = clients.pop().unwrap();
            // What a client does for the first time it has done.
            store.observe(&claim.name).await.unwrap();
            let turns = Turns::default();
            hook(&view, turns.clone());
            actors.push((turns.clone(), actor(store, claim, turns, Arc::clone(&board))));
        }
        while !actors.is_empty() {
            let picked = choices.pick(actors.len());
            let (turns, actor) = &mut actors[picked];
            if turns.give(actor) {
                drop(actors.remove(picked));
            }
            let board = board.lock().unwrap();
            let overlap = board.holding.len() > 1 && board.holding.contains(&Mode::Exclusive);
            if overlap || !board.tokens.is_sorted() {
                violations += 1;
                break;
            }
        }
        orders += 1;
        if !choices.advance() {
            return (violations, orders);
        }
    }
}

/// An exclusive that does not release.
fn keeping() -> Claim {
    Claim { info: info("keeps it"), ..exclusive() }
}

fn honest(view: &Watched, turns: Turns) {
    view.hook(move |_, _| Then::Wait(turns.next()));
}

/// The listing after one's own write shows what was there before it.
fn without_the_second_list(view: &Watched, turns: Turns) {
    let listings = Mutex::new(0);
    view.hook(move |op, _| {
        let mut listings = listings.lock().unwrap();
        *listings += usize::from(op == Op::List);
        if op == Op::List && *listings == 2 { Then::Stale } else { Then::Wait(turns.next()) }
    });
}

#[rstest]
#[case::a_writer_and_an_exclusive(writer, || [exclusive(), writer()], 500)]
#[case::where_the_writer_opens_the_name(exclusive, || [exclusive(), writer()], 500)]
#[case::two_exclusives(writer, || [keeping(), keeping()], 200)]
#[case::one_of_which_was_there_last(exclusive, || [keeping(), keeping()], 50)]
#[tokio::test]
async fn two_that_exclude_each_other_never_hold_at_once(
    #[case] last: fn() -> Claim,
    #[case] claims: fn() -> [Claim; 2],
    #[case] at_least: usize,
) {
    let (violations, orders) = violations(last, claims, honest).await;
    assert_eq!(violations, 0);
    assert!(orders > at_least, "{orders}");
}

/// The control: these tests see it when a client does not look again after its own write.
#[tokio::test]
async fn without_its_second_list_a_writer_holds_beside_an_exclusive() {
    let claims = || [exclusive(), writer()];
    let (violations, _) = violations(writer, claims, without_the_second_list).await;
    assert!(violations > 0);
}
