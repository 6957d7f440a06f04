//! Every lease of a history: who believed in it, from when to when.

use std::collections::{HashMap, HashSet};

use leasehold::{Epoch, Mode, Nonce};

use crate::event::{Answer, Event, What, Who};

/// Every lease that was granted.
#[derive(Debug, Default)]
pub(super) struct Book {
    leases: Vec<Lease>,
    by_nonce: HashMap<Nonce, usize>,
}

/// A lease that was granted.
#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub(super) who: Who,
    pub(super) name: String,
    pub(super) mode: Mode,
    pub(super) epoch: Epoch,
    pub(super) nonce: Nonce,
    pub(super) asked: u64,
    pub(super) granted: u64,
    /// When its holder surely believed in it, up to the moment that somebody set out to break it:
    /// after that the holder may believe beside its successor for a while, and only the token keeps
    /// them apart. Nothing where it is not certain that it believed at all.
    pub(super) belief: Option<Span>,
    /// When somebody set out to break it.
    pub(super) broken: Option<u64>,
    /// When its holder let go of it.
    pub(super) let_go: Option<u64>,
    /// When its holder was told, without having asked, that it is lost.
    pub(super) told: Option<u64>,
    /// When its own check, or whoever told of the loss, said first that nobody has renewed it in time.
    pub(super) expired: Option<u64>,
}

/// Part of the line of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Book {
    pub(super) fn of(events: &[Event]) -> Self {
        let mut book = Self::default();
        let mut asked = HashMap::new();
        for event in events {
            match &event.what {
                What::Asks { call, .. } => drop(asked.insert((event.who, *call), event.at)),
                What::Granted { call, name, mode, epoch, nonce, .. } => {
                    let asked = asked.get(&(event.who, *call)).copied().unwrap_or(event.at);
                    book.by_nonce.insert(*nonce, book.leases.len());
                    book.leases.push(Lease {
                        who: event.who,
                        name: name.clone(),
                        mode: *mode,
                        epoch: *epoch,
                        nonce: *nonce,
                        asked,
                        granted: event.at,
                        belief: None,
                        broken: None,
                        let_go: None,
                        told: None,
                        expired: None,
                    });
                }
                _ => {}
            }
        }
        let vain = breaks_in_vain(events);
        // A break may come before the answer that tells of the grant.
        events.iter().for_each(|event| book.note(event, &vain));
        book.leases.iter_mut().for_each(Lease::end_where_it_was_broken);
        book
    }

    fn note(&mut self, event: &Event, vain: &HashSet<(Who, u64)>) {
        match &event.what {
            What::Held { nonce, from, to } => self.with(*nonce, |lease| {
                let known = lease.belief.get_or_insert(Span { from: *from, to: *to });
                known.from = known.from.min(*from);
                known.to = known.to.max(*to);
            }),
            What::Lost { nonce, reason } => self.with(*nonce, |lease| {
                lease.told = lease.told.or(Some(event.at));
                lease.expired = match reason.as_str() {
                    "expired" => lease.expired.or(Some(event.at)),
                    // It was not the clock that its check went by.
                    _ => None,
                };
            }),
            What::Over { nonce } => self.with(*nonce, |lease| {
                lease.expired = lease.expired.or(Some(event.at).filter(|_| lease.told.is_none()));
            }),
            What::LetsGo { nonce } => self.with(*nonce, |lease| lease.let_go = Some(event.at)),
            What::Breaks { nonce, call, .. } if !vain.contains(&(event.who, *call)) => {
                self.with(*nonce, |lease| lease.broken = lease.broken.or(Some(event.at)));
            }
            _ => {}
        }
    }

    fn with(&mut self, nonce: Nonce, change: impl FnOnce(&mut Lease)) {
        if let Some(index) = self.by_nonce.get(&nonce) {
            change(&mut self.leases[*index]);
        }
    }

    pub(super) fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.iter()
    }

    pub(super) fn lease(&self, nonce: Nonce) -> Option<&Lease> {
        self.by_nonce.get(&nonce).map(|index| &self.leases[*index])
    }

    /// The leases of each name that were believed in, in the order of the beliefs. Where no beliefs
    /// overlap this is the order of the grants, though answers may have come in another.
    pub(super) fn believed(&self) -> Vec<Vec<(&Lease, Span)>> {
        let mut names: HashMap<&str, Vec<(&Lease, Span)>> = HashMap::new();
        for lease in &self.leases {
            if let Some(belief) = lease.belief {
                names.entry(&lease.name).or_default().push((lease, belief));
            }
        }
        let mut names: Vec<_> = names.into_values().collect();
        names.iter_mut().for_each(|name| name.sort_by_key(|(_, belief)| belief.from));
        names.sort_by(|a, b| a[0].0.name.cmp(&b[0].0.name));
        names
    }
}

/// The breaks that surely changed nothing.
fn breaks_in_vain(events: &[Event]) -> HashSet<(Who, u64)> {
    let vain = |event: &Event| match event.what {
        What::Broke { call, answer: Answer::NotDone, .. } => Some((event.who, call)),
        _ => None,
    };
    events.iter().filter_map(vain).collect()
}

impl Lease {
    pub(super) fn conflicts_with(&self, other: &Self) -> bool {
        self.mode == Mode::Exclusive || other.mode == Mode::Exclusive
    }

    fn end_where_it_was_broken(&mut self) {
        let Some(belief) = &mut self.belief else { return };
        belief.to = belief.to.min(self.broken.unwrap_or(u64::MAX));
        if belief.from >= belief.to {
            self.belief = None;
        }
    }
}

impl std::fmt::Display for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { who, name, mode, epoch, nonce, .. } = self;
        write!(f, "{who:?} {mode} of {name}, epoch {epoch}, {nonce}")
    }
}
