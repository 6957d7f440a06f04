//! The files of a lease name, read and spoilt by hand.

use std::collections::BTreeMap;

use lease_conformance::Damage;
use lease_core::Nonce;

/// The files of one name and what is in them.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

fn is_record(file: &str) -> bool {
    !file.contains('.') && (file.starts_with("x-") || file.starts_with("s-"))
}

/// How many records were neither ended nor removed.
pub(crate) fn unended(files: &Files) -> usize {
    let ended = |file: &str| {
        ["rel", "fin", "brk", "kil"].iter().any(|end| files.contains_key(&format!("{file}.{end}")))
    };
    files.keys().filter(|file| is_record(file) && !ended(file)).count()
}

/// The records of this nonce as they are once they are spoilt.
pub(crate) fn damaged(files: &Files, nonce: Nonce, damage: Damage) -> Files {
    let nonce = nonce.to_string();
    let of_nonce = |body: &[u8]| String::from_utf8_lossy(body).contains(&nonce);
    let records = files.iter().filter(|(file, body)| is_record(file) && of_nonce(body));
    records.map(|(file, body)| (file.clone(), spoil(body, damage))).collect()
}

fn spoil(body: &[u8], damage: Damage) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    match damage {
        Damage::Empty => Vec::new(),
        Damage::Truncated => body[..body.len() / 2].to_vec(),
        Damage::NewerVersion => text.replacen("\"v\":1", "\"v\":99", 1).into_bytes(),
        Damage::UnknownField => text.replacen('{', "{\"colour\":\"blue\",", 1).into_bytes(),
    }
}
