//! Stops, kills and breaks.

use std::sync::Arc;
use std::time::Duration;

use super::history::Happening;
use super::world::World;
use crate::clock::{Clock, Moment, within};
use crate::{BreakNote, backend};

/// Strikes one client after another until `end`.
pub(super) async fn strike(world: &World, end: Moment) {
    let shared = &world.shared;
    let mut may_crash = world.clients.len() - 1;
    while shared.clock.now() < end {
        shared.pass(shared.chance.milliseconds(200, 3000)).await;
        let victim = usize::try_from(shared.chance.below(world.clients.len() as u64)).unwrap_or(0);
        let victim = &world.clients[victim];
        match shared.chance.below(12) {
            0..6 => {
                let time = shared.chance.milliseconds(10, 9000);
                shared.history.add(victim.number, Happening::Stops(time));
                victim.stop_for(time);
            }
            6 if may_crash > 0 && !victim.is_crashed() => {
                may_crash -= 1;
                shared.history.add(victim.number, Happening::Crashes);
                victim.crash();
            }
            7 => {
                // An operator has patience for so long, whatever became of the request.
                let clock: Arc<dyn Clock> = Arc::new(shared.clock);
                within(&clock, Duration::from_secs(2), break_somebody(world)).await;
            }
            _ => {}
        }
    }
}

/// An operator breaks whoever is there, right or wrong.
async fn break_somebody(world: &World) {
    let shared = &world.shared;
    let name = World::name();
    let operator = &world.operator;
    let Ok(seen) = operator.observe(&name).await else { return };
    let records: Vec<_> = seen.exclusive.iter().chain(&seen.writers).collect();
    let Some(record) = records.first() else { return };
    // Before it is done: from then on the holder may believe beside its successor.
    shared.judge.broken(record.nonce);
    let note = BreakNote::new("the operator", "the nemesis wants it");
    let broken = operator.break_record(&name, record.nonce, &note).await;
    if let Ok(backend::Broken::Broken { epoch }) = broken {
        shared.history.add(usize::MAX, Happening::Broken(epoch));
    }
}
