//! All that is in a store, whatever it is: what a lease leaves behind shows in no answer of the library.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use leasehold::mongo::mongodb;
use leasehold::objstore::Options;
use mongodb::bson::{DateTime, Document, doc};
use object_store::path::Path as ObjectPath;
use serde_json::{Value, json};

use crate::event::Thing;

type Anything = Box<dyn std::error::Error>;

/// What is in the store behind this URL.
///
/// # Errors
///
/// When it cannot be looked at.
pub async fn of(url: &str) -> Result<Vec<Thing>, Anything> {
    let (scheme, rest) = url.split_once("://").ok_or("a URL has a scheme")?;
    let mut things = match scheme {
        "file" => of_folder(Path::new(rest))?,
        "mongodb" => of_database(url).await?,
        "nats" => of_stream(rest).await?,
        _ => of_bucket(url, rest).await?,
    };
    things.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(things)
}

/// Each file below it: also those that no listing of the library shows.
fn of_folder(root: &Path) -> Result<Vec<Thing>, Anything> {
    let (mut things, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let meta = match fs::symlink_metadata(&path) {
                // Somebody cleared it away meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            if meta.is_dir() {
                folders.push(path);
            } else {
                let key = path.strip_prefix(root)?.to_string_lossy().into_owned();
                things.push(Thing { key, age_ms: since(meta.modified()?), bytes: meta.len() });
            }
        }
    }
    Ok(things)
}

/// Each object under the prefix.
async fn of_bucket(url: &str, rest: &str) -> Result<Vec<Thing>, Anything> {
    let path = rest.split('?').next().unwrap_or_default();
    let prefix = ObjectPath::from(path.split_once('/').map_or("", |(_, prefix)| prefix));
    let store = Options::parse(url)?.object_store().await?;
    let objects: Vec<_> = store.list(Some(&prefix)).try_collect().await?;
    let thing = |object: object_store::ObjectMeta| {
        let inside = object.location.prefix_match(&prefix).into_iter().flatten();
        let key: Vec<_> = inside.map(|part| part.as_ref().to_owned()).collect();
        let age_ms = since(object.last_modified.into());
        Thing { key: key.join("/"), age_ms, bytes: object.size }
    };
    Ok(objects.into_iter().map(thing).collect())
}

/// Each document of each collection.
async fn of_database(url: &str) -> Result<Vec<Thing>, Anything> {
    let client = mongodb::Client::with_uri_str(url).await?;
    let database = client.default_database().ok_or("the URL names a database")?;
    let mut things = Vec::new();
    for collection in database.list_collection_names().await? {
        let of = database.collection::<Document>(&collection);
        let bytes = doc! { "bytes": { "$bsonSize": "$$ROOT" } };
        let mut found = of.aggregate([doc! { "$project": bytes }]).await?;
        while let Some(one) = found.try_next().await? {
            let id = one.get("_id").map(|id| id.as_str().map_or(id.to_string(), str::to_owned));
            let key = format!("{collection}/{}", id.unwrap_or_default());
            let bytes = u64::try_from(one.get_i32("bytes")?)?;
            things.push(Thing { key, age_ms: 0, bytes });
        }
    }
    Ok(things)
}

/// The last message of each subject, marks of what has ended included, and each consumer.
async fn of_stream(rest: &str) -> Result<Vec<Thing>, Anything> {
    let (hosts, bucket) = rest.split_once('/').ok_or("the URL names a bucket")?;
    let stream = format!("KV_{}", bucket.split('?').next().unwrap_or_default());
    let hosts: Vec<&str> = hosts.split(',').collect();
    let client = async_nats::connect(hosts).await?;
    let ask = async |what: &str, body: Value| -> Result<Value, Anything> {
        let subject = format!("$JS.API.{what}.{stream}");
        let answer = client.request(subject, body.to_string().into()).await?;
        let answer: Value = serde_json::from_slice(&answer.payload)?;
        match &answer["error"] {
            Value::Null => Ok(answer),
            error => Err(format!("{what}: {error}").into()),
        }
    };
    let mut things = Vec::new();
    let info = ask("STREAM.INFO", json!({ "subjects_filter": ">" })).await?;
    let now = time(&info["ts"])?;
    for subject in info["state"]["subjects"].as_object().into_iter().flat_map(|all| all.keys()) {
        // It is gone meanwhile where there is none.
        let Ok(last) = ask("STREAM.MSG.GET", json!({ "last_by_subj": subject })).await else {
            continue;
        };
        let message = &last["message"];
        let written = time(&message["time"])?;
        let bytes = message["data"].as_str().map_or(0, |data| data.len() as u64 * 3 / 4);
        let key = subject.splitn(3, '.').last().unwrap_or_default().to_owned();
        things.push(Thing { key, age_ms: now.saturating_sub(written), bytes });
    }
    let listed = ask("CONSUMER.LIST", json!({ "offset": 0 })).await?;
    for consumer in listed["consumers"].as_array().into_iter().flatten() {
        let key = format!("consumer/{}", consumer["name"].as_str().unwrap_or_default());
        let age_ms = now.saturating_sub(time(&consumer["created"])?);
        things.push(Thing { key, age_ms, bytes: 0 });
    }
    Ok(things)
}

/// A server's time, in milliseconds.
fn time(text: &Value) -> Result<u64, Anything> {
    let text = text.as_str().ok_or("an answer without a time")?;
    Ok(u64::try_from(DateTime::parse_rfc3339_str(text)?.timestamp_millis())?)
}

fn since(written: SystemTime) -> u64 {
    let age = SystemTime::now().duration_since(written).unwrap_or(Duration::ZERO);
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}
