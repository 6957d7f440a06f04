//! What cargo knows of the workspace, as far as a chore asks.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::step::{Failure, cargo, output_of, workspace};

/// The package at the root of the workspace and its features.
#[derive(Debug)]
pub(crate) struct RootPackage {
    pub(crate) name: String,
    /// The oldest Rust that builds it, as its manifest says.
    pub(crate) rust_version: String,
    features: BTreeMap<String, Vec<String>>,
}

/// All packages of the workspace, as cargo tells them.
pub(crate) fn packages() -> Result<Vec<Value>, Failure> {
    let output = output_of(cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let mut metadata: Value = serde_json::from_slice(&output)
        .map_err(|failure| Failure::Io("cargo metadata".to_owned(), failure.into()))?;
    Ok(metadata["packages"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

impl RootPackage {
    /// Asks cargo.
    pub(crate) fn read() -> Result<Self, Failure> {
        let manifest = workspace().join("Cargo.toml");
        let packages = packages()?;
        let root = packages
            .iter()
            .find(|package| package["manifest_path"].as_str() == manifest.to_str())
            .ok_or_else(|| Failure::Rule("there is no package at the workspace's root".into()))?;
        let text = |field: &str| root[field].as_str().unwrap_or_default().to_owned();
        let features = root["features"].as_object().into_iter().flatten();
        let features = features.map(|(feature, enables)| (feature.clone(), texts(enables)));
        let (name, rust_version) = (text("name"), text("rust_version"));
        Ok(Self { name, rust_version, features: features.collect() })
    }

    /// All features but the default ones, which only name others.
    pub(crate) fn features(&self) -> impl Iterator<Item = &str> {
        self.features.keys().map(String::as_str).filter(|feature| *feature != "default")
    }

    /// A feature and all those of the same package that it turns on.
    pub(crate) fn closure<'a>(&'a self, feature: &'a str) -> BTreeSet<&'a str> {
        let mut closure = BTreeSet::new();
        let mut open = vec![feature];
        while let Some(feature) = open.pop() {
            let Some(enables) = self.features.get(feature) else { continue };
            if closure.insert(feature) {
                open.extend(enables.iter().map(String::as_str));
            }
        }
        closure
    }
}

fn texts(array: &Value) -> Vec<String> {
    let texts = array.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
