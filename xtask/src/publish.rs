//! Whether each published package can be published, and has what its readers look for.

use serde_json::Value;

use crate::metadata::packages;
use crate::step::{Failure, cargo, heading, output_of, run};

/// What the page of a package at the registry shows.
const FIELDS: [&str; 8] = [
    "categories",
    "description",
    "documentation",
    "keywords",
    "license",
    "readme",
    "repository",
    "rust_version",
];

/// Files that go with every package: it is unpacked without its neighbours.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Nothing is asked of the registry and nothing built: what a package is made of has been built
/// here, and the lint has fetched what it depends on.
const HOW: [&str; 3] = ["--allow-dirty", "--offline", "--no-verify"];

/// Packs all that are published, and looks for what is missing in them.
pub(crate) fn check() -> Result<(), Failure> {
    heading("packages");
    let (published, kept): (Vec<_>, Vec<_>) = packages()?.into_iter().partition(is_published);
    let excluded = kept.iter().flat_map(|package| ["--exclude", name(package)]);
    let excluded: Vec<&str> = excluded.collect();
    run(cargo(&[&["package", "--quiet", "--workspace"], &HOW[..], &excluded].concat()))?;
    let mut missing = Vec::new();
    for package in &published {
        let list = ["package", "--list", "--package", name(package)];
        let listed = output_of(cargo(&[&list, &HOW[..]].concat()))?;
        let lacks = lacks(package, &String::from_utf8_lossy(&listed));
        missing.extend(lacks.into_iter().map(|what| format!("{} lacks {what}", name(package))));
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failure::Rule(missing.join(", "))),
    }
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

/// One that may go to no registry has an empty list of those it may go to.
fn is_published(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

fn lacks(package: &Value, listed: &str) -> Vec<&'static str> {
    let is_said = |field: &&str| match &package[field] {
        Value::Array(texts) => !texts.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => false,
    };
    let is_packed = |file: &&str| listed.lines().any(|line| line == *file);
    let fields = FIELDS.into_iter().filter(|field| !is_said(field));
    fields.chain(FILES.into_iter().filter(|file| !is_packed(file))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_published, lacks};

    #[test]
    fn what_is_missing_is_named() {
        let mut package = json!({
            "categories": ["concurrency"], "description": "d", "documentation": "https://docs.rs/d",
            "keywords": ["lease"], "license": "MIT", "publish": null, "readme": "README.md",
            "repository": "https://github.com/d", "rust_version": "1.95",
        });
        let listed = "Cargo.toml\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\nsrc/lib.rs\n";
        assert_eq!(lacks(&package, listed), [""; 0]);
        assert!(is_published(&package));
        package["keywords"] = json!([]);
        package["documentation"] = json!(null);
        package["publish"] = json!([]);
        let listed = "docs/LICENSE-MIT\nLICENSE-APACHE\nREADME.md\n";
        assert_eq!(lacks(&package, listed), ["documentation", "keywords", "LICENSE-MIT"]);
        assert!(!is_published(&package));
    }
}
