//! Checks each feature of the root package alone, and that it brings no other store's driver.

use std::collections::BTreeSet;

use crate::metadata::RootPackage;
use crate::step::{Failure, cargo, heading, output_of, run};

/// Crates that come with these features only, for each is a build of minutes to whoever did not
/// ask for it.
const OWNED: [(&str, &[&str]); 7] = [
    ("mongodb", &["mongo"]),
    ("async-nats", &["nats"]),
    ("object_store", &["objstore"]),
    ("reqwest", &["aws", "azure", "gcp"]),
    ("clap", &["cli"]),
    ("metrics", &["metrics"]),
    ("pollster", &["blocking"]),
];

/// No feature at all, then each alone.
pub(crate) fn check() -> Result<(), Failure> {
    let root = RootPackage::read()?;
    heading("no features");
    check_one(&root, None)?;
    for feature in root.features() {
        heading(&format!("feature {feature} alone"));
        check_one(&root, Some(feature))?;
    }
    Ok(())
}

fn check_one(root: &RootPackage, feature: Option<&str>) -> Result<(), Failure> {
    let only = ["--package", &root.name, "--no-default-features"];
    let features: Vec<&str> = feature.into_iter().flat_map(|one| ["--features", one]).collect();
    run(cargo(&[&["check"], &only[..], &features].concat()))?;
    let tree = ["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let listed = output_of(cargo(&[&tree, &only[..], &features].concat()))?;
    let listed = String::from_utf8_lossy(&listed);
    let crates: BTreeSet<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    let enabled = feature.map(|one| root.closure(one)).unwrap_or_default();
    match strangers(&crates, &enabled).as_slice() {
        [] => Ok(()),
        strangers => Err(Failure::Rule(format!(
            "{} must not bring {}: see `cargo tree --invert` and OWNED in xtask/src/features.rs",
            feature.unwrap_or("a build without features"),
            strangers.join(" and ")
        ))),
    }
}

/// The crates whose feature is not enabled.
fn strangers<'a>(crates: &BTreeSet<&'a str>, enabled: &BTreeSet<&str>) -> Vec<&'a str> {
    let owner = |name: &str| OWNED.iter().find(|(owned, _)| *owned == name).map(|(_, of)| *of);
    let is_stranger = |name: &&str| {
        owner(name).is_some_and(|owners| !owners.iter().any(|feature| enabled.contains(feature)))
    };
    crates.iter().copied().filter(is_stranger).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::strangers;

    #[test]
    fn a_driver_comes_with_its_own_feature_only() {
        let crates = BTreeSet::from(["lease-core", "mongodb", "object_store"]);
        assert_eq!(strangers(&crates, &BTreeSet::from(["mongo"])), ["object_store"]);
        assert_eq!(strangers(&crates, &BTreeSet::from(["mongo", "objstore"])), [""; 0]);
        assert_eq!(strangers(&crates, &BTreeSet::new()), ["mongodb", "object_store"]);
        let crates = BTreeSet::from(["object_store", "reqwest"]);
        assert_eq!(strangers(&crates, &BTreeSet::from(["objstore"])), ["reqwest"]);
        assert_eq!(strangers(&crates, &BTreeSet::from(["objstore", "gcp"])), [""; 0]);
    }
}
