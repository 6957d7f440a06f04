//! A Google Cloud Storage endpoint: fake-gcs-server.

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::{OrRemedy, Result};
use crate::folder;
use crate::http::{self, Request};
use crate::port::Port;
use crate::program::Program;
use crate::server::{Recipe, Server};

/// It is there at once, on a machine that is busy after some seconds.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// Made while waiting for readiness, and kept, since deleting it tells nothing more.
const FIRST_BUCKET: &str = "testbed-ready";
/// The bucket is there: made by us before, or by somebody else.
const ALREADY_THERE: &[u16] = &[409];

/// Names the one that tests share.
const VARIABLE: &str = "LEASE_TEST_GCS_URL";

/// A running GCS endpoint. It asks nobody for credentials and keeps everything in memory.
///
/// Its JSON interface honours `ifGenerationMatch` in multipart uploads only, and it has no
/// plain XML PUT: a client that uses one needs a translation in the test.
#[derive(Debug)]
pub struct Gcs {
    server: Server,
    address: SocketAddr,
}

impl Gcs {
    /// The one that `LEASE_TEST_GCS_URL` names as `http://HOST:PORT`, or a new one: for tests that leave
    /// it as it is.
    ///
    /// # Errors
    ///
    /// When fake-gcs-server cannot be had or started.
    pub fn shared() -> Result<Self> {
        let Some(server) = Server::named_by(VARIABLE) else { return Self::start() };
        let address = http::resolve(http::authority(server.url()))?;
        Ok(Self { server, address })
    }

    /// What makes [`shared`](Self::shared) use this one, in another process.
    #[must_use]
    pub fn variable(&self) -> (&'static str, String) {
        (VARIABLE, self.url().to_owned())
    }

    /// A new one.
    ///
    /// # Errors
    ///
    /// When fake-gcs-server cannot be had or started.
    pub fn start() -> Result<Self> {
        let port = Port::free()?;
        let address = port.address();
        let url = format!("http://{address}");
        let number = port.number().to_string();
        let mut arguments = ["-scheme", "http", "-backend", "memory"].map(Into::into).to_vec();
        arguments.extend(["-host", "127.0.0.1", "-port", &number].map(Into::into));
        // It answers only requests that are addressed to this name, and links to this address.
        arguments.extend(["-public-host", &address.to_string()].map(Into::into));
        arguments.extend(["-external-url", &url].map(Into::into));
        let server = Server::start(Recipe {
            program: Program::FAKE_GCS,
            url,
            arguments,
            folder: folder::temporary("gcs")?,
            ports: vec![port],
            probe: Box::new(move || create_bucket(address, FIRST_BUCKET)),
            within: STARTS_WITHIN,
        })?;
        Ok(Self { server, address })
    }

    /// The server, to pause or kill it. A restart begins with nothing in it.
    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Where a client connects.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Makes a bucket, unless it is there.
    ///
    /// # Errors
    ///
    /// When the server refuses.
    pub fn create_bucket(&self, name: &str) -> Result<()> {
        create_bucket(self.address, name)
            .or_remedy(format!("bucket {name}"), "see the server's answer above")
    }
}

fn create_bucket(address: SocketAddr, name: &str) -> std::result::Result<(), String> {
    let host = address.to_string();
    let headers = [("Content-Type", "application/json".to_owned())];
    let body = format!(r#"{{"name":"{name}"}}"#);
    let path = "/storage/v1/b?project=testbed";
    Request { method: "POST", path, host: &host, headers: &headers, body: &body }
        .send(address, ALREADY_THERE)
}
