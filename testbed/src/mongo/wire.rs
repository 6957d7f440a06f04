//! As much of MongoDB's protocol as initiating a replica set needs: one command, one answer.
//!
//! A driver would do it too, but the testbed would then build it for every test of every
//! backend. The message is `OP_MSG` with one document; see the server's manual.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const OP_MSG: i32 = 2013;
/// Message length, request id, id answered to, operation: four little-endian numbers.
const HEADER: usize = 16;
/// After the header: four bytes of flags, and one that says "a single document follows".
const BEFORE_DOCUMENT: usize = 5;
/// No answer here is larger; a length beyond it is not a MongoDB server's.
const LARGEST: usize = 1 << 20;
/// `replSetInitiate` asks the other members, and answers within a second or two.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a command can carry.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Int(i32),
    Text(String),
    /// Encoded already; the first byte pair tells documents and arrays apart.
    Document(Vec<u8>),
    Array(Vec<u8>),
}

impl Value {
    pub(super) fn document<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Document(encode(fields))
    }

    pub(super) fn array(items: impl IntoIterator<Item = Self>) -> Self {
        let named: Vec<(String, Self)> =
            items.into_iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect();
        Self::Array(encode(named.iter().map(|(name, item)| (name.as_str(), item.clone()))))
    }

    /// The type's byte in BSON, and the value's bytes.
    fn parts(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Int(number) => (0x10, number.to_le_bytes().to_vec()),
            Self::Document(bytes) => (0x03, bytes.clone()),
            Self::Array(bytes) => (0x04, bytes.clone()),
            Self::Text(text) => {
                let mut bytes = length(text.len() + 1).to_vec();
                bytes.extend(text.as_bytes());
                bytes.push(0);
                (0x02, bytes)
            }
        }
    }
}

/// The document that the server answered with.
#[derive(Debug)]
pub(super) struct Reply(Vec<u8>);

impl Reply {
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let (0x01, value) = self.field(name)? else { return None };
        Some(f64::from_le_bytes(value.try_into().ok()?))
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.field(name), Some((0x08, [1])))
    }

    pub(super) fn text(&self, name: &str) -> String {
        match self.field(name) {
            Some((0x02, value)) => String::from_utf8_lossy(&value[4..value.len() - 1]).into_owned(),
            _ => format!("no {name} in {:?}", self.0),
        }
    }

    /// The type and the bytes of a field of the outermost document.
    fn field(&self, wanted: &str) -> Option<(u8, &[u8])> {
        let mut rest = self.0.get(4..)?;
        loop {
            let (&kind, after) = rest.split_first()?;
            let end = after.iter().position(|&byte| byte == 0)?;
            let (name, value) = (&after[..end], &after[end + 1..]);
            let size = size_of_value(kind, value)?;
            if name == wanted.as_bytes() {
                return Some((kind, value.get(..size)?));
            }
            rest = value.get(size..)?;
        }
    }
}

/// Sends one command on a connection of its own.
pub(super) fn call(to: SocketAddr, command: &Value) -> io::Result<Reply> {
    let (_, document) = command.parts();
    let mut message = length(HEADER + BEFORE_DOCUMENT + document.len()).to_vec();
    message.extend(1_i32.to_le_bytes());
    message.extend(0_i32.to_le_bytes());
    message.extend(OP_MSG.to_le_bytes());
    message.extend([0; BEFORE_DOCUMENT]);
    message.extend(document);

    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&message)?;
    let mut header = [0; HEADER];
    stream.read_exact(&mut header)?;
    let total = header.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize;
    if !(HEADER + BEFORE_DOCUMENT..=LARGEST).contains(&total) {
        return Err(io::Error::other("this is not a MongoDB server"));
    }
    let mut body = vec![0; total - HEADER];
    stream.read_exact(&mut body)?;
    Ok(Reply(body.split_off(BEFORE_DOCUMENT)))
}

fn encode<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        let (kind, bytes) = value.parts();
        body.push(kind);
        body.extend(name.as_bytes());
        body.push(0);
        body.extend(bytes);
    }
    let mut document = length(4 + body.len() + 1).to_vec();
    document.extend(body);
    document.push(0);
    document
}

/// How many bytes a value takes; `None` for a type that no answer here has.
fn size_of_value(kind: u8, value: &[u8]) -> Option<usize> {
    let counted = || value.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize);
    match kind {
        0x01 | 0x09 | 0x11 | 0x12 => Some(8),
        0x02 => Some(4 + counted()?),
        0x03 | 0x04 => counted(),
        0x05 => Some(5 + counted()?),
        0x07 => Some(12),
        0x08 => Some(1),
        0x0a => Some(0),
        0x10 => Some(4),
        _ => None,
    }
}

/// What is sent here is far below the limit of the type.
fn length(bytes: usize) -> [u8; 4] {
    i32::try_from(bytes).unwrap_or(i32::MAX).to_le_bytes()
}
