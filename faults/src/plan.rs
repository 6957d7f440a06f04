//! What the nemesis will do, as its seed says: pure, so that a seed repeats it. When each step
//! comes true depends on the machine; the order in each lane, the choices and the lengths do not.

use std::time::Duration;

use crate::chance::Chance;

/// What is done to a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientFault {
    /// It is stopped for so long.
    Stop(Duration),
    /// It is killed; another comes after so long, with this seed and a wall clock so far ahead.
    Kill {
        /// How long nobody is there.
        away: Duration,
        /// The seed of whoever comes.
        seed: u64,
        /// Its wall clock, in seconds.
        ahead_s: i64,
    },
}

/// What is done to a way through the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkFault {
    /// Nothing gets through in either direction.
    BlackHole,
    /// Requests arrive, answers vanish.
    AnswersVanish,
    /// Requests wait, and arrive late.
    RequestsWait,
    /// All takes so much longer.
    Delay(Duration),
    /// Every connection is reset.
    Reset,
    /// One answer is lost, and then its connection is reset, or silent.
    OneAnswer {
        /// Which of both.
        silently: bool,
    },
}

/// What is done to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// It is killed and started again.
    Restart,
    /// It is stopped and goes on.
    Pause,
    /// Its ways to the other members are cut, and their ways to it.
    Isolate,
}

/// One step of a lane: after a pause, something is done to one of several for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<F> {
    /// After this much time.
    pub after: Duration,
    /// To which one.
    pub whom: usize,
    /// What.
    pub fault: F,
    /// For how long, where it has a length.
    pub time: Duration,
}

/// The steps that hit the clients in places `from..to`.
pub fn clients(
    seed: u64,
    places: std::ops::Range<usize>,
    ttl: Duration,
    wall_clocks: Duration,
) -> impl Iterator<Item = Step<ClientFault>> {
    let chance = Chance::of(seed, 1000 + places.start as u64);
    std::iter::repeat_with(move || {
        let after = chance.up_to(60, ttl);
        let whom = places.start + below(&chance, places.len());
        let stop = chance.up_to(220, ttl);
        let away = chance.up_to(150, ttl);
        let (seed, ahead_s) = (chance.below(u64::MAX / 2), ahead(&chance, wall_clocks));
        let fault = match chance.below(3) {
            0 => ClientFault::Kill { away, seed, ahead_s },
            _ => ClientFault::Stop(stop),
        };
        Step { after, whom, fault, time: Duration::ZERO }
    })
}

/// A wall clock: true for two in three.
pub fn ahead(chance: &Chance, at_most: Duration) -> i64 {
    let seconds = i64::try_from(chance.below(2 * at_most.as_secs() + 1)).unwrap_or(0);
    let most = i64::try_from(at_most.as_secs()).unwrap_or(0);
    if chance.one_in(3) { seconds - most } else { 0 }
}

/// The steps that hit the ways through the network.
pub fn links(seed: u64, links: usize, ttl: Duration) -> impl Iterator<Item = Step<LinkFault>> {
    let chance = Chance::of(seed, 2000);
    std::iter::repeat_with(move || {
        let after = chance.up_to(100, ttl);
        let whom = below(&chance, links);
        let (time, by) = (chance.up_to(180, ttl), chance.up_to(40, ttl));
        let fault = match chance.below(8) {
            0 => LinkFault::BlackHole,
            1 => LinkFault::AnswersVanish,
            2 => LinkFault::RequestsWait,
            3 => LinkFault::Delay(by),
            4 => LinkFault::Reset,
            5 => LinkFault::OneAnswer { silently: true },
            _ => LinkFault::OneAnswer { silently: false },
        };
        Step { after, whom, fault, time }
    })
}

/// The steps that hit the servers, one at a time: most of them always live. Where they can be
/// cut off from each other they are, too.
pub fn servers(
    seed: u64,
    servers: usize,
    ttl: Duration,
    isolates: bool,
) -> impl Iterator<Item = Step<ServerFault>> {
    let chance = Chance::of(seed, 3000);
    std::iter::repeat_with(move || {
        let after = ttl + chance.up_to(200, ttl);
        let whom = below(&chance, servers);
        let time = chance.up_to(200, ttl);
        let fault = match chance.below(if isolates { 3 } else { 2 }) {
            0 => ServerFault::Restart,
            1 => ServerFault::Pause,
            _ => ServerFault::Isolate,
        };
        Step { after, whom, fault, time }
    })
}

/// The steps at which the disk runs full.
pub fn disk(seed: u64, ttl: Duration) -> impl Iterator<Item = Step<()>> {
    let chance = Chance::of(seed, 4000);
    std::iter::repeat_with(move || {
        let after = ttl + chance.up_to(400, ttl);
        let time = chance.up_to(200, ttl);
        Step { after, whom: 0, fault: (), time }
    })
}

fn below(chance: &Chance, end: usize) -> usize {
    usize::try_from(chance.below(end as u64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(4);

    #[test]
    fn a_seed_repeats_its_plan() {
        let of = |seed| {
            let clients = clients(seed, 0..3, TTL, TTL).take(50);
            let (links, servers) =
                (links(seed, 6, TTL).take(50), servers(seed, 3, TTL, true).take(50));
            let all = (clients.collect::<Vec<_>>(), links.collect::<Vec<_>>());
            (all, servers.collect::<Vec<_>>())
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn a_plan_has_faults_of_each_kind_and_hits_everybody() {
        let clients: Vec<_> = clients(1, 3..6, TTL, TTL).take(200).collect();
        let hit = |place| clients.iter().any(|step| step.whom == place);
        assert!((3..6).all(hit) && !hit(2) && !hit(6));
        let kills = clients.iter().filter(|step| matches!(step.fault, ClientFault::Kill { .. }));
        assert!((30..120).contains(&kills.count()));
        let shifted = |ahead_s: i64| ahead_s != 0 && ahead_s.abs() <= 4;
        assert!(clients.iter().any(|step| {
            matches!(step.fault, ClientFault::Kill { ahead_s, .. } if shifted(ahead_s))
        }));
        let links: Vec<_> = links(1, 2, TTL).take(200).collect();
        assert!(links.iter().any(|step| step.fault == LinkFault::BlackHole));
        assert!(links.iter().any(|step| step.fault == LinkFault::OneAnswer { silently: true }));
    }
}
