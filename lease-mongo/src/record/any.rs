//! Whatever a document holds, it is read without a panic, and means one thing.

use lease_core::HolderInfo;
use mongodb::bson::oid::ObjectId;
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;

const KEYS: [&str; 20] = [
    "sound",
    "v",
    "epoch",
    "x",
    "w",
    "odd",
    "now",
    "freed",
    "ttl",
    "beat",
    "at",
    "info",
    "nonce",
    "granted",
    "k",
    "label",
    "since",
    "process",
    "metadata",
    "abababababababababababababababab",
];

const TEXTS: [&str; 5] = ["", "job", "abababababababababababababababab", "AB", "ann"];

/// Values as a holder, a newer version, another program or a person with a shell would write them.
fn values() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        Just(Bson::Null),
        Just(Bson::MinKey),
        Just(Bson::ObjectId(ObjectId::from_bytes([7; 12]))),
        any::<bool>().prop_map(Bson::from),
        any::<i32>().prop_map(Bson::from),
        (-1_i32..3).prop_map(Bson::from),
        any::<i64>().prop_map(Bson::from),
        any::<f64>().prop_map(Bson::from),
        any::<i64>().prop_map(|at| DateTime::from_millis(at).into()),
        prop::sample::select(&TEXTS[..]).prop_map(Bson::from),
        ".{0,12}".prop_map(Bson::from),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Bson::from),
            documents(inner).prop_map(Bson::from),
        ]
    })
}

fn documents(values: impl Strategy<Value = Bson>) -> impl Strategy<Value = Document> {
    let entry = (prop::sample::select(&KEYS[..]).prop_map(str::to_owned), values);
    prop::collection::vec(entry, 0..8).prop_map(|entries| entries.into_iter().collect())
}

/// A sound answer with some of its fields spoilt, at either depth.
fn answers() -> impl Strategy<Value = Document> {
    let at = DateTime::from_millis(1_790_000_000_000);
    let record = doc! {
        "v": 1, "ttl": 5000_i64, "beat": 3_i64, "at": at,
        "nonce": "abababababababababababababababab", "info": { "label": "ann", "since": at },
    };
    (documents(values()), documents(values()), documents(values())).prop_map(
        move |(of_x, of_w, all)| {
            let (mut x, mut w) = (record.clone(), record.clone());
            x.extend(of_x);
            w.extend(of_w);
            let mut answer = doc! {
                "sound": true, "v": 1, "epoch": 7_i64, "now": at, "x": x,
                "w": { "abababababababababababababababab": w },
            };
            answer.extend(all);
            answer
        },
    )
}

proptest! {
    #![proptest_config(Config { cases: 4000, failure_persistence: None, ..Config::default() })]

    /// It is read, or a person is told what to do; and what cannot be read is never taken for stale.
    #[test]
    fn answer_is_read_or_told(answer in prop_oneof![answers(), documents(values())]) {
        let name = Name::parse("job").unwrap();
        let told = |error: &Error| matches!(error, Error::Misconfigured { fix, .. } if !fix.is_empty());
        let lease = match Lease::read(&name, &answer) {
            Ok(lease) => lease,
            Err(error) => {
                prop_assert!(told(&error), "{error}");
                return Ok(());
            }
        };
        match lease.snapshot() {
            Ok(snapshot) => {
                for record in snapshot.exclusive.iter().chain(&snapshot.writers) {
                    let odd = record.unreadable.is_some();
                    prop_assert_eq!(odd, record.revision.as_str() == ODD_REVISION);
                    prop_assert!(!odd || record.freshness == Freshness::Unknown);
                    prop_assert!(odd || parse_revision(&record.revision).is_some());
                }
            }
            Err(error) => prop_assert!(told(&error), "{error}"),
        }
    }

    /// What a holder tells of itself is shown to others as it is.
    #[test]
    fn info_comes_back(
        label in ".{0,20}",
        host in ".{0,20}",
        stable in prop::option::of(".{1,20}"),
        since in 0..i64::MAX as u64,
        metadata in prop::collection::btree_map(".{1,10}", ".{0,10}", 0..4),
    ) {
        let mut info = HolderInfo::default();
        info.label = label;
        info.host = host;
        info.stable_name = stable;
        info.since_ms = since;
        info.metadata = metadata;
        prop_assert_eq!(info::from_bson(&info_to_bson(&info)), info);
    }
}
