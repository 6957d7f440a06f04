//! The resources that the leases protect: a server in the harness's process, and how clients reach
//! it. It is the same for all stores, and sees all writes in one order.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use leasehold::{Admission, DurableGate, Error, Gate, Nonce, Result, Token};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::event::{Kind, Resource, What, Who};
use crate::history::Recorder;

/// One request to a resource: one line on a connection of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Request {
    nonce: Nonce,
    name: String,
    resource: Resource,
    kind: Kind,
    token: Token,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Reply {
    admitted: bool,
    highest: Token,
}

/// The resources. They end with this value.
#[derive(Debug)]
pub struct Resources {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Resources {
    /// Starts them on a free port, empty.
    ///
    /// # Errors
    ///
    /// When there is no port to listen on.
    pub async fn start(recorder: Recorder) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let gates = Arc::new(Gates { gates: Mutex::default(), recorder });
        let serving = tokio::spawn(async move {
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    let gates = Arc::clone(&gates);
                    // Whoever goes away in the middle is not waited for.
                    tokio::spawn(async move { gates.serve(stream).await });
                }
            }
        });
        Ok(Self { address, serving })
    }

    /// Where clients reach them.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

struct Gates {
    gates: Mutex<HashMap<String, Gate>>,
    recorder: Recorder,
}

impl Gates {
    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let reply = self.decide(serde_json::from_str(&line)?);
        stream.write_all(&[&serde_json::to_vec(&reply)?[..], b"\n"].concat()).await
    }

    /// Decided and told in one step, so that the history has the order of the decisions.
    fn decide(&self, request: Request) -> Reply {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let Request { nonce, name, resource, kind, token } = request;
        let gate = gates.entry(name.clone()).or_default();
        let admitted = match resource {
            Resource::Fenced => gate.admit_token(token) == Admission::Admitted,
            Resource::Unfenced => true,
        };
        let reply = Reply { admitted, highest: gate.highest() };
        let what = What::Arrived { nonce, name, resource, kind, token, admitted };
        self.recorder.add(Who::Resource, what);
        reply
    }
}

/// The resources as the holder of one lease reaches them.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Where they are.
    pub address: SocketAddr,
    /// Whose writes these are.
    pub nonce: Nonce,
    /// The name of the lease.
    pub name: String,
}

impl Remote {
    /// Writes, and says whether the resource took it.
    ///
    /// # Errors
    ///
    /// When there was no answer.
    pub async fn write(&self, resource: Resource, token: Token) -> io::Result<bool> {
        self.ask(resource, Kind::Write, token).await.map(|reply| reply.admitted)
    }

    async fn ask(&self, resource: Resource, kind: Kind, token: Token) -> io::Result<Reply> {
        let Self { address, nonce, name } = self;
        let request = Request { nonce: *nonce, name: name.clone(), resource, kind, token };
        let mut stream = BufReader::new(TcpStream::connect(address).await?);
        stream.write_all(&[&serde_json::to_vec(&request)?[..], b"\n"].concat()).await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// The fenced one, to announce oneself at.
#[async_trait]
impl DurableGate for Remote {
    async fn admit(&self, token: Token) -> Result<Admission> {
        let reply = self.ask(Resource::Fenced, Kind::Announcement, token).await;
        let Reply { admitted, highest } = reply.map_err(|why| Error::unclear("resource", why))?;
        Ok(if admitted { Admission::Admitted } else { Admission::Refused { highest } })
    }
}

#[cfg(test)]
mod tests {
    use leasehold::Jitter;

    use super::*;
    use crate::history;

    #[tokio::test]
    async fn one_has_a_fence_and_one_has_none_and_both_tell_what_came() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let recorder = Recorder::open(&path).unwrap();
        let resources = Resources::start(recorder).await.unwrap();
        let nonce = Jitter::seeded(1).nonce();
        let mine = Remote { address: resources.address(), nonce, name: "job".into() };
        let (low, high) = (Token::from_number(4), Token::from_number(6));

        assert_eq!(mine.admit(high).await.unwrap(), Admission::Admitted);
        assert_eq!(mine.admit(low).await.unwrap(), Admission::Refused { highest: high });
        assert!(!mine.write(Resource::Fenced, low).await.unwrap());
        assert!(mine.write(Resource::Fenced, high).await.unwrap());
        assert!(mine.write(Resource::Unfenced, low).await.unwrap());
        let another = Remote { name: "another".into(), ..mine };
        assert!(another.write(Resource::Fenced, low).await.unwrap());

        let told = history::read(&path).unwrap();
        let admitted = told.iter().map(|event| match event.what {
            What::Arrived { admitted, .. } => admitted,
            _ => panic!("{event:?}"),
        });
        assert_eq!(admitted.collect::<Vec<_>>(), [true, false, false, true, true, true]);
    }
}
