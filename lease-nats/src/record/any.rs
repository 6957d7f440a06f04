//! Whatever stands in a key, it is read without a panic, and means one thing.

use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Map, Value};

use super::*;

const KEYS: [&str; 18] = [
    "v", "name", "epoch", "shared", "spent", "x", "state", "nonce", "ttl", "beat", "adopted",
    "info", "label", "host", "since_ms", "process", "metadata", "colour",
];

const TEXTS: [&str; 7] =
    ["", "job", "draining", "granted", "abababababababababababababababab", "AB", "stores/7/repo"];

/// Values as a holder, a newer version, another program or a typing error would write them.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0_u64..3).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(&TEXTS[..]).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            objects(inner).prop_map(Value::from),
        ]
    })
}

fn objects(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let entry = (prop::sample::select(&KEYS[..]).prop_map(str::to_owned), values);
    prop::collection::vec(entry, 0..8).prop_map(|entries| entries.into_iter().collect())
}

/// A record with some of its fields spoilt.
fn records() -> impl Strategy<Value = Value> {
    let sound = serde_json::json!({
        "v": 1, "name": "job", "epoch": 7, "shared": true, "spent": [],
        "nonce": "abababababababababababababababab", "ttl": 5_000_000_000_u64, "beat": 3, "info": {},
        "x": {
            "state": "granted", "nonce": "abababababababababababababababab", "ttl": 5_000_000_000_u64,
            "beat": 3, "info": { "label": "ann", "host": "h1", "since_ms": 1_790_000_000_000_u64 },
        },
    });
    (objects(values()), any::<bool>()).prop_map(move |(spoilt, within)| {
        let mut record = sound.clone();
        let at = if within { &mut record["x"] } else { &mut record };
        if let Value::Object(fields) = at {
            fields.extend(spoilt);
        }
        record
    })
}

fn bodies() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        values().prop_map(|value| value.to_string().into_bytes()),
        records().prop_map(|value| value.to_string().into_bytes()),
        (records(), 0.0..1.0).prop_map(|(value, part)| {
            let mut body = value.to_string().into_bytes();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of it"
            )]
            body.truncate((body.len() as f64 * part) as usize);
            body
        }),
    ]
}

proptest! {
    #![proptest_config(Config { cases: 4000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn anchor_is_read_or_held(body in bodies(), seq: u64, at: Option<u64>, now: Option<u64>) {
        let name = Name::parse("job").unwrap();
        match Anchor::decode(&body, Some(&name)) {
            Ok(anchor) => {
                prop_assert_eq!(anchor.name(), &name);
                let again = Anchor::decode(&anchor.encode(), Some(&name)).unwrap();
                prop_assert_eq!(again.encode(), anchor.encode());
                if let Some(x) = &anchor.x {
                    x.holder.record(Mode::Exclusive, x.state, seq, at, now);
                }
                anchor.without().encode();
            }
            Err(spoilt) => {
                let shown = spoilt.record(Mode::Exclusive, stand_in(seq), seq, at, now);
                prop_assert!(shown.unreadable.is_some());
                prop_assert_ne!(shown.freshness, Freshness::Stale);
            }
        }
    }

    #[test]
    fn writer_is_read_or_held(body in bodies(), seq: u64, at: Option<u64>, now: Option<u64>) {
        let (name, nonce) = (Name::parse("job").unwrap(), Nonce::from_bytes([0xab; 16]));
        match Writer::decode(&body, &name, nonce) {
            Ok(writer) => {
                prop_assert_eq!(writer.holder.nonce, nonce);
                let again = Writer::decode(&writer.encode(), &name, nonce).unwrap();
                prop_assert_eq!(again.encode(), writer.encode());
                writer.holder.record(Mode::Writer, State::Granted, seq, at, now);
            }
            Err(spoilt) => {
                let shown = spoilt.record(Mode::Writer, nonce, seq, at, now);
                prop_assert_ne!(shown.freshness, Freshness::Stale);
            }
        }
    }
}
