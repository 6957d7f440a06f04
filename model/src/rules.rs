//! The protocol's rules, each of which can be switched off.

/// One rule. `R…` are those of the general form, `F…` those that only the file form has.
///
/// The general form's numbers are the project's, wherever a rule is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is said in words by `text`")]
pub enum Rule {
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    R16,
    R17,
    R18,
    R19,
    R20,
    R21,
    R22,
    R23,
    R24,
    F1,
    F2,
    F3,
    F4,
    F5,
    F6,
    F7,
    F8,
    F9,
    F10,
    F11,
    F12,
    F13,
}

impl Rule {
    /// What it asks.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::R1 => "a writer inserts before it checks",
            Self::R2 => "a renewal is conditional, never an upsert",
            Self::R3 => "a read that decides is not stale",
            Self::R4 => "a belief counts from the send",
            Self::R5 => "a writer checks its belief at the grant",
            Self::R6 => "an exclusive checks its belief at the grant",
            Self::R7 => "each attempt has a fresh nonce",
            Self::R8 => "a renewal's read-back asks for that write, not for the nonce",
            Self::R9 => "only what is stale at that very step is evicted",
            Self::R10 => "stale writers are removed, not ignored",
            Self::R11 => "a stale exclusive blocks a writer too",
            Self::R12 => "a takeover is a compare-and-swap",
            Self::R13 => "clearing a stale exclusive is a compare-and-swap",
            Self::R14 => "a release is conditional on the nonce",
            Self::R15 => "after evicting, the exclusive lists again",
            Self::R16 => "a fresh record of one's own name is taken back only from a dead process",
            Self::R17 => "a shortened ttl cuts the belief at the send",
            Self::R18 => "the margin covers clocks that are late and the store's granularity",
            Self::R19 => "what was removed stays removed, also when its creation is repeated",
            Self::R20 => "the epoch rises at the commit, not at the install",
            Self::R21 => "tokens order an exclusive before the writers of its epoch",
            Self::R22 => "both modes announce themselves at the resource before they work",
            Self::R23 => "the belief is checked again after the confirmation",
            Self::R24 => "a writer looks before it inserts",
            Self::F1 => "a refresh is put first and checked for .kil after",
            Self::F2 => "a killed claim counts until it is older than its ttl",
            Self::F3 => "a refresh counts only if its check is answered before the old deadline",
            Self::F4 => "garbage is collected only when it is four ttl old",
            Self::F5 => "the highest granted mark is never collected",
            Self::F6 => "a release puts .rel; a claim's number is never free again",
            Self::F7 => "whoever kills an unmarked exclusive first makes its mark void",
            Self::F8 => "no .rel while one's own mark is unresolved",
            Self::F9 => "a claim must be the highest to be granted",
            Self::F10 => "a claim's mark is created, never overwritten",
            Self::F11 => "a writer is granted only where the highest claim is not",
            Self::F12 => "a claim is granted by its creation only right above a granted one",
            Self::F13 => "whoever kills a claim that its creation granted seals it as granted",
        }
    }
}

/// The rules that a run keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    broken: u64,
}

impl Rules {
    /// All of them.
    #[must_use]
    pub const fn correct() -> Self {
        Self { broken: 0 }
    }

    /// All but one more.
    #[must_use]
    pub const fn without(self, rule: Rule) -> Self {
        Self { broken: self.broken | 1 << rule as u32 }
    }

    /// Whether it is kept.
    #[must_use]
    pub const fn keep(self, rule: Rule) -> bool {
        self.broken & 1 << rule as u32 == 0
    }

    /// Whether it is switched off.
    #[must_use]
    pub const fn lack(self, rule: Rule) -> bool {
        !self.keep(rule)
    }
}
