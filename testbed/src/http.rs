//! As much of an HTTP client as asking a server for a bucket needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::error::{Error, OrRemedy, Result};

/// A server that is starting may accept and then not answer; the next look asks again.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to send. The connection is closed after the one answer.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) host: &'a str,
    pub(crate) headers: &'a [(&'a str, String)],
    pub(crate) body: &'a str,
}

impl Request<'_> {
    /// Sends it, and fails unless the status is 2xx or one of `also_fine`.
    pub(crate) fn send(
        &self,
        to: SocketAddr,
        also_fine: &[u16],
    ) -> std::result::Result<(), String> {
        let answer = self.exchange(to).map_err(|failure| failure.to_string())?;
        let text = String::from_utf8_lossy(&answer);
        let status = text.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
        match status {
            Some(status) if (200..300).contains(&status) || also_fine.contains(&status) => Ok(()),
            _ => Err(format!("{} {}: {}", self.method, self.path, text.trim())),
        }
    }

    fn exchange(&self, to: SocketAddr) -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(self.text().as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }

    fn text(&self) -> String {
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{}",
            self.method,
            self.path,
            self.host,
            self.body.len(),
            self.body
        )
    }
}

/// What stands between the scheme and the path of a URL.
pub(crate) fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// The address of `HOST:PORT`.
pub(crate) fn resolve(host: &str) -> Result<SocketAddr> {
    let remedy = "write the variable as SCHEME://HOST:PORT, with a host that resolves";
    let mut addresses = host.to_socket_addrs().or_remedy(host, remedy)?;
    addresses.next().ok_or_else(|| Error::new(format!("{host} has no address"), remedy))
}
