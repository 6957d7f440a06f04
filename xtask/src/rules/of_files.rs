//! The rules of leases that are kept as files, and what the code looks like without each.

use super::edits::edit;
use super::switches::Switch;

const RENEW: &str = "lease-objstore/src/steps/renew.rs";
const EXCLUSIVE: &str = "lease-objstore/src/steps/exclusive.rs";
const WITHDRAW: &str = "lease-objstore/src/steps/withdraw.rs";
const EVICT: &str = "lease-objstore/src/steps/evict.rs";
const OPEN: &str = "lease-objstore/src/steps/open.rs";
const LISTING: &str = "lease-objstore/src/listing.rs";
const JUDGE: &str = "lease-objstore/src/judge.rs";
const GC: &str = "lease-objstore/src/gc.rs";
const SCHEDULE: &str = "lease-core/src/keeper/schedule.rs";

/// The rules of files, those of the model's file form.
pub(crate) const OF_FILES: &[Switch] = &[
    Switch {
        rule: "F1",
        edits: &[
            edit(
                RENEW,
                "let beats: Vec<Beat> = stream::iter(beats)",
                "let mut early = BTreeMap::new();
        for one in mine {
            early.insert(one.name.clone(), self.list(&one.name).await);
        }
        let beats: Vec<Beat> = stream::iter(beats)",
            ),
            edit(
                RENEW,
                "let listings: BTreeMap<_, _> = join_all(listed).await.into_iter().collect();",
                "drop(join_all(listed).await);
        let listings = early;",
            ),
        ],
    },
    Switch {
        rule: "F2",
        edits: &[edit(
            LISTING,
            "self.record.as_ref().filter(|_| !self.released && !self.broken)",
            "self.record.as_ref().filter(|_| !self.released && !self.broken && self.killed.is_none())",
        )],
    },
    Switch {
        rule: "F3",
        edits: &[edit(
            SCHEDULE,
            "let verdict = if now >= kept.believed_until {
            Verdict::Lost(LossReason::Expired)",
            "let verdict = if sent >= kept.believed_until {
            Verdict::Lost(LossReason::Expired)",
        )],
    },
    Switch {
        rule: "F4",
        edits: &[
            edit(
                GC,
                "let is_old = |files: &Files| now.from.since(files.newest) >= age;",
                "let is_old = |files: &Files| now.from.since(files.newest) >= age / 1000;",
            ),
            edit(
                GC,
                "age >= ttl.map_or(UNTOLD, |ttl| ttl.saturating_mul(TTLS))",
                "age >= ttl.map_or(Duration::ZERO, |_| Duration::ZERO)",
            ),
        ],
    },
    Switch {
        rule: "F5",
        edits: &[edit(
            GC,
            "listing.exclusives.range(..*kept).map(|(n, _)| ClaimId::Exclusive(*n)).collect()",
            "listing.exclusives.range(*kept..).map(|(n, _)| ClaimId::Exclusive(*n)).collect()",
        )],
    },
    Switch {
        rule: "F6",
        edits: &[edit(
            WITHDRAW,
            "self.mark(&mine.name, ClaimId::Exclusive(n), Part::Released, Bytes::new()).await?;
        Ok(if files",
            "for part in [Part::Record, Part::Mark] {
            let path = self.objects.path(&mine.name, ClaimId::Exclusive(n).key(part));
            self.objects.delete(&path).await?;
        }
        Ok(if files",
        )],
    },
    Switch {
        rule: "F7",
        edits: &[edit(
            EVICT,
            "if let (ClaimId::Exclusive(n), Some(listing)) = (id, &listing) {
            let Some(fate) = self.fate(name, n, listing, &got.body).await? else {
                return Ok(false);
            };
            self.seal(name, n, fate).await?;
        }
        // Now condemn it.",
            "// Now condemn it.",
        )],
    },
    Switch { rule: "F8", edits: &[edit(WITHDRAW, "if files.mark.is_none() {", "if false {")] },
    Switch {
        rule: "F9",
        edits: &[edit(
            JUDGE,
            "at.n.is_none_or(|n| listing.is_passed(n))",
            "at.n.is_none_or(|n| mine.epoch.is_some() && listing.is_passed(n))",
        )],
    },
    Switch {
        rule: "F10",
        edits: &[edit(
            EXCLUSIVE,
            "match self.objects.create(&path, Bytes::from_static(body), keep).await {",
            "let put = self.objects.put(&path, Bytes::from_static(body)).await;
            let _ = keep;
            match put.map(Created::Done) {",
        )],
    },
    Switch {
        rule: "F11",
        edits: &[edit(
            OPEN,
            "!registered || taken || !listing.is_closed()",
            "!registered || taken || listing.is_closed() || !listing.is_closed()",
        )],
    },
    Switch {
        rule: "F12",
        edits: &[
            edit(
                EXCLUSIVE,
                "self.claim(claim, genesis, highest, false).await",
                "self.claim(claim, genesis, highest, true).await",
            ),
            edit(
                LISTING,
                "before.is_some_and(|files| files.mark == Some(Mark::Granted))",
                "before.is_none_or(|_| true)",
            ),
        ],
    },
    Switch {
        rule: "F13",
        edits: &[edit(
            EXCLUSIVE,
            "Ok(Some(if is_granted {",
            "Ok(Some(if is_granted && listing.is_passed(n) {",
        )],
    },
];
