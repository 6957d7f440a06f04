//! What the first version wrote, byte by byte: every later one must read it, and this one writes it.

use super::*;

const ANCHOR: &str = r#"{"v":1,"name":"stores/7/repo","epoch":1790000000000007,"shared":true,"spent":["cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"],"x":{"state":"granted","nonce":"abababababababababababababababab","ttl":15000000000,"beat":3,"adopted":2,"info":{"label":"ann","host":"h1","since_ms":1790000000000}}}"#;

const WRITER: &str = r#"{"v":1,"name":"stores/7/repo","nonce":"abababababababababababababababab","ttl":15000000000,"beat":3,"adopted":null,"info":{"label":"ann","host":"h1","since_ms":1790000000000}}"#;

const NONCE: Nonce = Nonce::from_bytes([0xab; 16]);
const SPENT: Nonce = Nonce::from_bytes([0xcd; 16]);

fn name() -> Name {
    Name::parse("stores/7/repo").unwrap()
}

fn is_anns(holder: &Holder, adopted: Option<u64>) {
    assert_eq!(holder.nonce, NONCE);
    assert_eq!((holder.ttl(), holder.beat), (Duration::from_secs(15), 3));
    assert_eq!(holder.adopted, adopted);
    assert_eq!((&*holder.info.label, &*holder.info.host), ("ann", "h1"));
    assert_eq!(holder.info.since_ms, 1_790_000_000_000);
}

#[test]
fn an_anchor_is_written_and_read_alike() {
    let anchor = Anchor::decode(ANCHOR.as_bytes(), Some(&name())).unwrap();
    assert_eq!((anchor.epoch, anchor.shared), (1_790_000_000_000_007, true));
    assert!(anchor.is_spent(SPENT) && !anchor.is_spent(NONCE));
    let x = anchor.held_by(NONCE).unwrap();
    assert_eq!(x.state, State::Granted);
    is_anns(&x.holder, Some(2));
    assert_eq!(anchor.encode(), ANCHOR);
}

#[test]
fn a_writer_is_written_and_read_alike() {
    let writer = Writer::decode(WRITER.as_bytes(), &name(), NONCE).unwrap();
    is_anns(&writer.holder, None);
    assert_eq!(writer.encode(), WRITER);
}
