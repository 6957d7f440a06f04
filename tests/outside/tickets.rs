//! Tickets: they come back from wherever they were sent to.

use leasehold::{Coordinator, Error, Lease, StoreUrl, Ticket};
use proptest::prelude::*;
use serde_json::Value;

/// What the first version wrote, byte by byte: every later one must read it. A ticket may wait in a queue
/// while whoever redeems it is replaced by another version.
const GOLDEN: &str = concat!(
    r#"{"v":1,"holding":{"name":"job","mode":"exclusive","nonce":"abababababababababababababababab","#,
    r#""ttl":{"secs":15,"nanos":0},"epoch":7,"revision":"3.1","acknowledged":3,"beat":3},"#,
    r#""timing":{"ttl":{"secs":15,"nanos":0},"renew_every":{"secs":5,"nanos":0},"#,
    r#""margin":{"secs":0,"nanos":750000000},"#,
    r#""poll":[{"secs":0,"nanos":50000000},{"secs":1,"nanos":0}],"#,
    r#""call_timeout":{"secs":3,"nanos":750000000},"grace":{"secs":0,"nanos":0}}}"#,
);

/// What somebody may have put in the place of something.
fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[0-9a-f]{32}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::from),
    ]
}

/// The pointers to all that is in it, itself included.
fn places(value: &Value) -> Vec<String> {
    let mut places = vec![String::new()];
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, v)| (key.clone(), v)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    for (key, inner) in below {
        places.extend(places_below(&key, inner));
    }
    places
}

fn places_below(key: &str, inner: &Value) -> Vec<String> {
    places(inner).into_iter().map(|place| format!("/{key}{place}")).collect()
}

async fn handed_over() -> (Coordinator, String) {
    let url = StoreUrl::parse("memory:").unwrap();
    let leases = Coordinator::new(url.open().await.unwrap());
    let lease: Lease = leases.exclusive("job").acquire().await.unwrap();
    let ticket = lease.into_ticket().await.unwrap();
    (leases, serde_json::to_string(&ticket).unwrap())
}

proptest! {
    #![proptest_config(crate::cases(300))]

    /// A ticket that was changed is no ticket, is refused, or still is the lease of that name; and
    /// whatever it says is written as it was read.
    #[test]
    fn that_were_changed_are_refused_or_what_they_say(
        which in any::<prop::sample::Index>(),
        value in values(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (leases, text) = handed_over().await;
            let mut json: Value = serde_json::from_str(&text).unwrap();
            let places = places(&json);
            *json.pointer_mut(which.get::<String>(&places)).unwrap() = value;
            let Ok(ticket) = serde_json::from_value::<Ticket>(json) else { return };
            let written = serde_json::to_string(&ticket).unwrap();
            let again: Ticket = serde_json::from_str(&written).unwrap();
            assert_eq!(serde_json::to_string(&again).unwrap(), written);
            match leases.redeem(&ticket).await {
                Ok(lease) => assert_eq!(lease.name(), ticket.name()),
                Err(error) => assert!(
                    matches!(error, Error::Lost { .. }) || crate::tells_what_to_do(&error),
                    "{error}"
                ),
            }
        });
    }

    /// What is no ticket at all is told as that.
    #[test]
    fn are_not_read_from_anything(text in any::<String>()) {
        prop_assert!(serde_json::from_str::<Ticket>(&text).is_err());
    }
}

/// One that nobody changed is the lease, once.
#[tokio::test]
async fn that_nobody_changed_are_the_lease() {
    let (leases, text) = handed_over().await;
    let ticket: Ticket = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&ticket).unwrap(), text);
    let lease = leases.redeem(&ticket).await.unwrap();
    assert_eq!(lease.name().as_str(), "job");
    assert!(matches!(leases.redeem(&ticket).await, Err(Error::Lost { .. })));
}

/// One of the first version is read, says what it said, and is written alike. Its lease is over: that is
/// told of it, and not that it is none.
#[tokio::test]
async fn of_the_first_version_are_read_and_written_alike() {
    let ticket: Ticket = serde_json::from_str(GOLDEN).unwrap();
    assert_eq!(serde_json::to_string(&ticket).unwrap(), GOLDEN);
    assert_eq!(ticket.name().as_str(), "job");
    let leases = Coordinator::new(StoreUrl::parse("memory:").unwrap().open().await.unwrap());
    let redeemed = leases.redeem(&ticket).await;
    assert!(matches!(redeemed, Err(Error::Lost { .. })), "{redeemed:?}");
}
