//! A bucket as its owner sees it: around the backend.

use std::sync::Mutex;
use std::time::Duration;

use async_nats::Client;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lease_conformance::Damage;
use lease_core::{Name, Nonce};
use lease_nats::{Nats, Options};
use serde_json::{Value, json};
use testbed::FaultProxy;

use super::fresh;

/// A bucket that the tests may look into and damage.
pub struct Bucket {
    pub client: Client,
    pub options: Options,
    pub bucket: String,
    url: String,
    proxies: Mutex<Vec<FaultProxy>>,
}

impl Bucket {
    /// A new one, which the first client makes with so many replicas.
    pub async fn at(url: &str, replicas: u8) -> Self {
        let bucket = format!("leases-{}", fresh());
        let options = Options::new(url.split(','), &bucket).replicas(replicas);
        let client = super::server::answers(url).await;
        let url = url.split(',').next().unwrap().to_owned();
        Self { client, options, bucket, url, proxies: Mutex::default() }
    }

    /// One that somebody made by hand, as the usual tool makes it but for `edit`.
    pub async fn by_hand(edit: Value) -> Self {
        let bucket = Self::at(super::server::shared().url(), 1).await;
        let mut config = json!({
            "name": bucket.stream(),
            "subjects": [bucket.subject(">")],
            "max_msgs_per_subject": 1,
            "discard": "new",
            "allow_direct": true,
            "allow_rollup_hdrs": true,
            "deny_delete": true,
            "allow_msg_ttl": true,
            "num_replicas": 1,
            "max_msgs": -1,
            "max_bytes": -1,
        });
        for (key, value) in edit.as_object().unwrap() {
            config[key] = value.clone();
        }
        let made = bucket.api(&format!("STREAM.CREATE.{}", bucket.stream()), &config).await;
        assert!(made.get("error").is_none(), "{made}");
        bucket
    }

    /// How many messages the bucket has, marks of an end too; nothing if there is no such bucket.
    pub async fn messages(&self) -> Option<u64> {
        let info = self.api(&format!("STREAM.INFO.{}", self.stream()), &Value::Null).await;
        info["state"]["messages"].as_u64()
    }

    pub async fn connect(&self) -> Nats {
        super::eventually(|| async { lease_nats::connect(self.options.clone()).await.ok() }).await
    }

    /// A client whose requests vanish from now on.
    pub async fn unreachable(&self) -> Nats {
        let (nats, proxy) = self.behind_a_proxy(Duration::from_millis(300)).await;
        proxy.black_hole();
        self.proxies.lock().unwrap().push(proxy);
        nats
    }

    /// A client, and what is between it and the server.
    pub async fn behind_a_proxy(&self, timeout: Duration) -> (Nats, FaultProxy) {
        let server = self.url.trim_start_matches("nats://").parse().unwrap();
        let proxy = FaultProxy::start(server).await.unwrap();
        let url = format!("nats://{}", proxy.address());
        let options = Options::new([url], &self.bucket).timeout(timeout);
        (lease_nats::connect(options).await.unwrap(), proxy)
    }

    pub async fn api(&self, what: &str, request: &Value) -> Value {
        let subject = format!("$JS.API.{what}");
        let body = if request.is_null() { String::new() } else { request.to_string() };
        let answer = self.client.request(subject, body.into()).await.unwrap();
        serde_json::from_slice(&answer.payload).unwrap()
    }

    pub fn stream(&self) -> String {
        format!("KV_{}", self.bucket)
    }

    pub fn subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.bucket)
    }

    /// The last message of a key: its headers and its body.
    pub async fn last(&self, key: &str) -> Option<(String, Vec<u8>)> {
        let request = json!({ "last_by_subj": self.subject(key) });
        let answer = self.api(&format!("STREAM.MSG.GET.{}", self.stream()), &request).await;
        let message = answer.get("message")?;
        let text = |part| message.get(part).and_then(Value::as_str).unwrap_or_default();
        let headers = STANDARD.decode(text("hdrs")).unwrap();
        let body = STANDARD.decode(text("data")).unwrap();
        Some((String::from_utf8(headers).unwrap(), body))
    }

    /// Writes a key by hand, and waits until it is there.
    pub async fn put(&self, key: &str, body: Vec<u8>) {
        let answer = self.client.request(self.subject(key), body.into()).await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        assert!(answer.get("seq").is_some(), "{answer}");
    }

    /// Writes a key by hand while another one is at this write; whether it was stored.
    pub async fn put_if(&self, key: &str, body: Vec<u8>, other: &str, seq: u64) -> bool {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Expected-Last-Subject-Sequence", seq.to_string());
        headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", self.subject(other).as_str());
        let request = self.client.request_with_headers(self.subject(key), headers, body.into());
        let answer: Value = serde_json::from_slice(&request.await.unwrap().payload).unwrap();
        answer.get("error").is_none()
    }

    /// Which write the last one of a key is.
    pub async fn sequence(&self, key: &str) -> u64 {
        let request = json!({ "last_by_subj": self.subject(key) });
        let answer = self.api(&format!("STREAM.MSG.GET.{}", self.stream()), &request).await;
        answer["message"]["seq"].as_u64().unwrap()
    }

    /// Deletes all of a name by hand.
    pub async fn erase(&self, name: &Name) {
        let filter = self.subject(&format!("{}.>", stem(name)));
        let request = json!({ "filter": filter });
        let answer = self.api(&format!("STREAM.PURGE.{}", self.stream()), &request).await;
        assert_eq!(answer["success"], true, "{answer}");
    }

    /// All keys of a name that have not ended, with what stands in them.
    pub async fn kept(&self, name: &Name) -> Vec<(String, Vec<u8>)> {
        let request = json!({ "subjects_filter": self.subject(&format!("{}.>", stem(name))) });
        let info = self.api(&format!("STREAM.INFO.{}", self.stream()), &request).await;
        let subjects = info["state"]["subjects"].as_object().cloned().unwrap_or_default();
        let mut kept = Vec::new();
        for subject in subjects.keys() {
            let key = subject.strip_prefix(&self.subject("")).unwrap().to_owned();
            if let Some((headers, body)) = self.last(&key).await
                && !headers.contains("KV-Operation")
            {
                kept.push((key, body));
            }
        }
        kept
    }

    /// How many records of a name have not ended.
    pub async fn records(&self, name: &Name) -> usize {
        let holds = |(key, body): &(String, Vec<u8>)| match key.rsplit('.').next() {
            Some("b") => false,
            Some("x") => {
                serde_json::from_slice::<Value>(body).map_or(true, |anchor| !anchor["x"].is_null())
            }
            _ => true,
        };
        self.kept(name).await.iter().filter(|kept| holds(kept)).count()
    }

    /// Spoils the record of this nonce.
    pub async fn damage(&self, name: &Name, nonce: Nonce, damage: Damage) {
        let (writer, anchor) = (format!("{}.w.{nonce}", stem(name)), format!("{}.x", stem(name)));
        let kept = self.kept(name).await;
        let key = if kept.iter().any(|(key, _)| *key == writer) { writer } else { anchor };
        let (_, body) = kept.into_iter().find(|(found, _)| *found == key).unwrap();
        let edited = |edit: &dyn Fn(&mut Value)| {
            let mut value: Value = serde_json::from_slice(&body).unwrap();
            edit(&mut value);
            value.to_string().into_bytes()
        };
        let body = match damage {
            Damage::Empty => Vec::new(),
            Damage::Truncated => body[..body.len() / 2].to_vec(),
            Damage::NewerVersion => edited(&|value| value["v"] = 99.into()),
            Damage::UnknownField => edited(&|value| value["later"] = json!({ "a": [1] })),
        };
        self.put(&key, body).await;
    }
}

/// What the keys of a name begin with, as the README says.
pub fn stem(name: &Name) -> String {
    format!("r.{}", name.portable().replace('.', "="))
}
