//! As much of the NATS protocol as asking JetStream for a stream needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A node without a leader does not answer at all; the next look asks again.
const PATIENCE: Duration = Duration::from_secs(3);
/// Error code "stream name already in use": another node's look was first, and is as good.
const IN_USE: &str = "\"err_code\":10058";

/// Whether JetStream places a stream of that many replicas. It is deleted again.
///
/// Nothing less tells that a cluster is ready: its nodes answer, and even agree on a leader,
/// before they know of each other as places for replicas.
pub(super) fn places_a_stream(address: SocketAddr, replicas: usize) -> Result<(), String> {
    let name = format!("testbed-ready-{}", address.port());
    let mut session = Session::open(address).map_err(|failure| failure.to_string())?;
    let config = format!(
        r#"{{"name":"{name}","subjects":["{name}"],"num_replicas":{replicas},"storage":"memory"}}"#
    );
    let made = session.request(&format!("$JS.API.STREAM.CREATE.{name}"), &config)?;
    if made.contains("\"error\"") && !made.contains(IN_USE) {
        return Err(made);
    }
    let deleted = session.request(&format!("$JS.API.STREAM.DELETE.{name}"), "")?;
    if deleted.contains("\"success\":true") { Ok(()) } else { Err(deleted) }
}

struct Session {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Session {
    fn open(address: SocketAddr) -> std::io::Result<Self> {
        let mut writer = TcpStream::connect_timeout(&address, PATIENCE)?;
        writer.set_read_timeout(Some(PATIENCE))?;
        let reader = BufReader::new(writer.try_clone()?);
        let options = r#"{"verbose":false,"pedantic":false,"headers":true,"no_responders":true}"#;
        write!(writer, "CONNECT {options}\r\nSUB _INBOX.testbed 1\r\n")?;
        Ok(Self { reader, writer })
    }

    fn request(&mut self, subject: &str, body: &str) -> Result<String, String> {
        self.exchange(subject, body).map_err(|failure| format!("{subject}: {failure}"))
    }

    fn exchange(&mut self, subject: &str, body: &str) -> std::io::Result<String> {
        write!(self.writer, "PUB {subject} _INBOX.testbed {}\r\n{body}\r\n", body.len())?;
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Err(std::io::Error::other("the server closed the connection"));
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["PING", ..] => self.writer.write_all(b"PONG\r\n")?,
                // With headers: only "no responders" has them here, and JetStream is not up.
                ["HMSG", ..] => return Err(std::io::Error::other("JetStream does not answer")),
                ["MSG", .., length] => {
                    let length: usize = length.parse().map_err(std::io::Error::other)?;
                    let mut payload = vec![0; length + 2];
                    self.reader.read_exact(&mut payload)?;
                    return Ok(String::from_utf8_lossy(&payload).trim().to_owned());
                }
                ["-ERR", ..] => return Err(std::io::Error::other(line)),
                _ => {}
            }
        }
    }
}
