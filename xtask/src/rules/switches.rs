//! Each rule of the protocol, and what the code looks like without it.

use super::edits::{Edit, edit};

/// One rule and how it is switched off.
#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) rule: &'static str,
    pub(crate) edits: &'static [Edit],
}

impl Switch {
    /// Whether the files' own package keeps this rule.
    pub(crate) fn is_of_files(&self) -> bool {
        self.edits.iter().any(|edit| edit.file.starts_with("lease-objstore/"))
    }
}

const JOIN: &str = "lease-core/src/handshake/join.rs";
const TAKE: &str = "lease-core/src/handshake/take.rs";
const ATTEMPT: &str = "lease-core/src/acquire/attempt.rs";
const COORDINATOR: &str = "lease-core/src/coordinator.rs";
const SCHEDULE: &str = "lease-core/src/keeper/schedule.rs";
const LEASE: &str = "lease-core/src/lease.rs";
const POLICY: &str = "lease-core/src/policy.rs";
const TIMING: &str = "lease-core/src/timing.rs";
const EPOCH: &str = "lease-core/src/epoch.rs";
const MEMORY: &str = "lease-core/src/memory.rs";
const ENTRY: &str = "lease-core/src/memory/entry.rs";

/// The rules that the core keeps. R3 is not among them: the reference store has no read that could be
/// stale, and a mutant of the suite has.
pub(crate) const OF_THE_CORE: &[Switch] = &[
    Switch {
        rule: "R1",
        edits: &[edit(
            JOIN,
            "if seen.exclusive.is_some() {\n        backend.withdraw(&shown)",
            "if false {\n        backend.withdraw(&shown)",
        )],
    },
    Switch {
        rule: "R2",
        edits: &[edit(
            MEMORY,
            "fn renew_one(&self, mine: &Holding) -> Renewed {",
            "fn renew_one(&self, mine: &Holding) -> Renewed {
        self.step(&mine.name, |entry, now| {
            if entry.kept_mut(mine.nonce).is_none() {
                let mut kept = Kept::new(
                    &Claim {
                        name: mine.name.clone(),
                        nonce: mine.nonce,
                        mode: mine.mode,
                        ttl: mine.ttl,
                        info: Arc::default(),
                    },
                    now,
                );
                kept.beat = mine.acknowledged;
                kept.granted = mine.epoch;
                match mine.mode {
                    crate::Mode::Exclusive => entry.exclusive = Some(kept),
                    crate::Mode::Writer => drop(entry.writers.insert(mine.nonce, kept)),
                }
            }
            Step::same(())
        });",
        )],
    },
    Switch {
        rule: "R4",
        edits: &[
            edit(
                ATTEMPT,
                "Some(Ok(Joined::Granted(grant))) => self.granted(grant, sent),",
                "Some(Ok(Joined::Granted(grant))) => self.granted(grant, sent.max(parts.clock.now())),",
            ),
            edit(
                ATTEMPT,
                "return self.granted(grant, sent),",
                "return self.granted(grant, sent.max(parts.clock.now())),",
            ),
            edit(
                SCHEDULE,
                "self.believed_until = sent.plus(self.asked_belief);",
                "self.believed_until = sent.max(now).plus(self.asked_belief);",
            ),
        ],
    },
    Switch {
        rule: "R5",
        edits: &[edit(
            COORDINATOR,
            "if now >= until {",
            "if now >= until && grant.holding.mode == Mode::Exclusive {",
        )],
    },
    Switch {
        rule: "R6",
        edits: &[edit(
            COORDINATOR,
            "if now >= until {",
            "if now >= until && grant.holding.mode == Mode::Writer {",
        )],
    },
    Switch {
        rule: "R7",
        edits: &[edit(
            ATTEMPT,
            "nonce: self.coordinator.parts().jitter.nonce(),",
            "nonce: {
                let mut bits = [0; 16];
                let label = self.ask.info_ref().label.as_bytes();
                bits.iter_mut().zip(label).for_each(|(bit, byte)| *bit = *byte);
                crate::Nonce::from_bytes(bits)
            },",
        )],
    },
    Switch {
        rule: "R8",
        edits: &[edit(
            MEMORY,
            "if kept.beat < mine.acknowledged || kept.beat > mine.beat {",
            "if false {",
        )],
    },
    Switch {
        rule: "R9",
        edits: &[edit(
            ENTRY,
            "Judged::ByStore => self.is_stale(now),",
            "Judged::ByStore => self.unreadable.is_none() || self.is_stale(now),",
        )],
    },
    Switch {
        rule: "R10",
        edits: &[edit(
            TAKE,
            "if seen.writers.is_empty() {",
            "if seen.writers.iter().all(|writer| policy.judge(writer, claim.ttl).is_some()) {",
        )],
    },
    Switch {
        rule: "R11",
        edits: &[
            edit(
                JOIN,
                "if !clear(backend, claim, exclusive, policy).await? {",
                "if policy.judge(exclusive, claim.ttl).is_none() {",
            ),
            edit(
                JOIN,
                "if seen.exclusive.is_some() {\n        backend.withdraw(&shown)",
                "if seen.exclusive.as_ref().is_some_and(|x| policy.judge(x, claim.ttl).is_none()) {
        backend.withdraw(&shown)",
            ),
        ],
    },
    Switch { rule: "R12", edits: &[edit(MEMORY, "if !judged {", "if !judged && over.is_none() {")] },
    Switch {
        rule: "R13",
        edits: &[edit(
            MEMORY,
            "let there = entry.kept_mut(target.nonce).map(|kept| &*kept);
            if !there.is_some_and(|kept| kept.is_condemned_by(target, judged, now)) {",
            "let place = match (target.mode, &entry.exclusive) {
                (crate::Mode::Exclusive, Some(there)) => there.claim.nonce,
                _ => target.nonce,
            };
            let blind = target.mode == crate::Mode::Exclusive;
            let target = &Target { nonce: place, ..target.clone() };
            let there = entry.kept_mut(target.nonce).map(|kept| &*kept);
            if !there.is_some_and(|kept| blind || kept.is_condemned_by(target, judged, now)) {",
        )],
    },
    Switch {
        rule: "R14",
        edits: &[edit(
            MEMORY,
            "match entry.remove(mine.nonce, now) {",
            "match entry.remove(
            match (mine.mode, &entry.exclusive) {
                (crate::Mode::Exclusive, Some(there)) => there.claim.nonce,
                _ => mine.nonce,
            },
            now,
        ) {",
        )],
    },
    Switch {
        rule: "R15",
        edits: &[edit(
            TAKE,
            "(evicted, took_over) = (true, true);",
            "(evicted, took_over) = (true, true);
        if seen.writers.iter().all(|writer| policy.judge(writer, claim.ttl).is_some()) {
            break;
        }",
        )],
    },
    Switch {
        rule: "R16",
        edits: &[edit(
            POLICY,
            "(process.liveness() == Liveness::Dead).then_some(",
            "(own_name || process.liveness() == Liveness::Dead).then_some(",
        )],
    },
    Switch {
        rule: "R17",
        edits: &[edit(
            SCHEDULE,
            "kept.believed_until = kept.believed_until.min(now.plus(kept.belief));",
            "",
        )],
    },
    Switch {
        rule: "R18",
        edits: &[edit(
            TIMING,
            "self.ttl.saturating_sub(self.margin).saturating_sub(capabilities.clock_resolution)",
            "self.ttl.max(capabilities.clock_resolution)",
        )],
    },
    Switch {
        rule: "R19",
        edits: &[edit(
            ENTRY,
            "self.spent.get(&nonce).is_some_and(|forgotten| *forgotten > now)",
            "self.spent.get(&nonce).is_some_and(|forgotten| *forgotten < now)",
        )],
    },
    Switch {
        rule: "R20",
        edits: &[
            edit(
                MEMORY,
                "let kept = entry.exclusive.insert(Kept::new(claim, now));",
                "entry.epoch += 1;
            let kept = entry.exclusive.insert(Kept::new(claim, now));",
            ),
            edit(
                MEMORY,
                "let epoch = entry.next_epoch();",
                "let epoch = Some(entry.shown_epoch());",
            ),
        ],
    },
    Switch {
        rule: "R21",
        edits: &[edit(
            EPOCH,
            "Mode::Writer => Self(2 * epoch.0 + 1),",
            "Mode::Writer => Self(2 * epoch.0),",
        )],
    },
    Switch {
        rule: "R22",
        edits: &[edit(
            LEASE,
            "let admission = within(self.shared.clock(), self.remaining(), gate.admit(self.token()));
        match admission",
            "let admission = async { Some(Ok(Admission::Admitted)) };
        let _ = (gate, self.token());
        match admission",
        )],
    },
    Switch {
        rule: "R23",
        edits: &[
            edit(
                LEASE,
                "self.check()?;\n        let holding = self.shared.holding();\n        let budget",
                "let old = self.check()?;\n        let holding = self.shared.holding();\n        let budget",
            ),
            edit(
                LEASE,
                "self.shared.set_drain(drain);
                self.check()",
                "self.shared.set_drain(drain);
                Ok(old)",
            ),
        ],
    },
    Switch {
        rule: "R24",
        edits: &[edit(
            JOIN,
            "if !clear(backend, claim, exclusive, policy).await? {
            return Ok(Joined::Refused(seen.standing()));
        }",
            "clear(backend, claim, exclusive, policy).await?;",
        )],
    },
];
