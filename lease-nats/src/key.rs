//! Where in the bucket the records of a name are.

use lease_core::{Name, Nonce};

/// The keys of one name: `r.<name>.x`, `r.<name>.b` and `r.<name>.w.<nonce>`.
///
/// The name is one part of a subject, whatever it contains: [`Name::portable`] has no letter with
/// a meaning there, but for the dot before the hash of a long one.
#[derive(Clone, Debug)]
pub(crate) struct Keys(String);

/// What a key below a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Anchor,
    Writer(Nonce),
}

/// Of all names: what a watch and a list look at.
pub(crate) const ALL: &str = "r.>";
/// The anchors of all names.
pub(crate) const ANCHORS: &str = "r.*.x";
/// In place of the dot, which [`Name::portable`] never writes itself.
const CUT: &str = "=";

impl Keys {
    pub(crate) fn of(name: &Name) -> Self {
        Self(format!("r.{}", name.portable().replace('.', CUT)))
    }

    /// What all of them begin with.
    pub(crate) fn stem(&self) -> &str {
        &self.0
    }

    /// The anchor: the last epoch, and the exclusive.
    pub(crate) fn anchor(&self) -> String {
        format!("{}.x", self.0)
    }

    /// One writer.
    pub(crate) fn writer(&self, nonce: Nonce) -> String {
        format!("{}.w.{nonce}", self.0)
    }

    /// All writers.
    pub(crate) fn writers(&self) -> String {
        format!("{}.w.*", self.0)
    }

    /// Who broke the last record that was broken.
    pub(crate) fn broken(&self) -> String {
        format!("{}.b", self.0)
    }

    /// All of the name.
    pub(crate) fn all(&self) -> String {
        format!("{}.>", self.0)
    }

    /// What this key is, if it is one of the name's.
    pub(crate) fn part(&self, key: &str) -> Option<Part> {
        let rest = key.strip_prefix(&self.0)?.strip_prefix('.')?;
        match rest.strip_prefix("w.") {
            Some(nonce) => nonce.parse().ok().map(Part::Writer),
            None => (rest == "x").then_some(Part::Anchor),
        }
    }
}

/// What the keys of this one's name begin with.
pub(crate) fn stem_of(key: &str) -> &str {
    let end = key.match_indices('.').nth(1).map_or(key.len(), |(at, _)| at);
    &key[..end]
}

/// A name as a key tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Name(Name),
    /// It is a long one and was cut; the record tells it whole.
    Cut,
    /// It is no key of a name.
    Nothing,
}

/// Whose key this is.
pub(crate) fn name_of(key: &str) -> Told {
    let mut parts = key.split('.');
    let (Some("r"), Some(name)) = (parts.next(), parts.next()) else { return Told::Nothing };
    match Name::from_portable(name) {
        Some(name) => Told::Name(name),
        None if name.contains(CUT) => Told::Cut,
        None => Told::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    fn a_name_is_one_part_of_a_subject(
        #[values("a.b", "..", "*", ">", "a b", "a\u{a0}", "$x", "A", "имя", "a:b", "=", "a=b")]
        text: &str,
    ) {
        let name = Name::parse(text).unwrap();
        let key = Keys::of(&name).anchor();
        assert_eq!(key.split('.').count(), 3, "{key}");
        assert!(key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=.".contains(&b)), "{key}");
        assert_eq!(name_of(&key), Told::Name(name));
    }

    #[test]
    fn a_long_name_is_cut_and_still_one_part() {
        let key = Keys::of(&Name::parse("k".repeat(1000)).unwrap()).anchor();
        assert_eq!(key.split('.').count(), 3, "{key}");
        assert_eq!(name_of(&key), Told::Cut);
    }

    #[test]
    fn each_key_says_what_it_is() {
        let keys = Keys::of(&Name::parse("job").unwrap());
        let nonce = Nonce::from_bytes([7; 16]);
        assert_eq!(keys.part(&keys.anchor()), Some(Part::Anchor));
        assert_eq!(keys.part(&keys.writer(nonce)), Some(Part::Writer(nonce)));
        for other in [keys.broken(), "r.job2.x".into(), "r.job.w.x".into(), "p.job".into()] {
            assert_eq!(keys.part(&other), None, "{other}");
        }
    }
}
