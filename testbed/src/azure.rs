//! An Azure blob endpoint: Azurite, the vendor's emulator.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::error::{OrRemedy, Result};
use crate::folder;
use crate::http::{self, Request};
use crate::port::Port;
use crate::program::Program;
use crate::server::{Recipe, Server};

/// Node.js loads for some seconds, on a machine that is busy for longer.
const STARTS_WITHIN: Duration = Duration::from_secs(120);
/// The emulator's well-known account and key, the same in every installation.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
/// Made while waiting for readiness, and kept, since deleting it tells nothing more.
const FIRST_CONTAINER: &str = "testbed-ready";
/// Any version that knows container creation; the emulator knows more than one.
const API_VERSION: &str = "2021-08-06";
/// The container is there: made by us before, or by somebody else.
const ALREADY_THERE: &[u16] = &[409];

/// Names the one that tests share.
const VARIABLE: &str = "LEASE_TEST_AZURE_URL";

/// A running blob endpoint with the emulator's well-known account.
#[derive(Debug)]
pub struct Azure {
    server: Server,
    address: SocketAddr,
}

impl Azure {
    /// The one that `LEASE_TEST_AZURE_URL` names as `http://HOST:PORT`, or a new one: for tests that leave
    /// it as it is.
    ///
    /// # Errors
    ///
    /// When Azurite cannot be had or started.
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
    /// When Azurite cannot be had or started.
    pub fn start() -> Result<Self> {
        let port = Port::free()?;
        let address = port.address();
        let folder = folder::temporary("azurite")?;
        let number = port.number().to_string();
        let mut arguments = vec!["--location".into(), folder.path().into()];
        arguments.extend(["--blobHost", "127.0.0.1", "--blobPort", &number].map(Into::into));
        // Clients are newer than the emulator more often than not.
        arguments.extend(["--skipApiVersionCheck", "--disableTelemetry"].map(Into::into));
        let server = Server::start(Recipe {
            program: Program::AZURITE,
            url: format!("http://{address}"),
            arguments,
            folder,
            ports: vec![port],
            probe: Box::new(move || create_container(address, FIRST_CONTAINER)),
            within: STARTS_WITHIN,
        })?;
        Ok(Self { server, address })
    }

    /// The server, to pause, kill or restart it.
    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Where a client connects. The account is the first part of the path.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// The account.
    #[must_use]
    pub fn account(&self) -> &'static str {
        ACCOUNT
    }

    /// The account's key, in the base64 that clients take.
    #[must_use]
    pub fn key(&self) -> &'static str {
        KEY
    }

    /// Makes a container, unless it is there.
    ///
    /// # Errors
    ///
    /// When the server refuses.
    pub fn create_container(&self, name: &str) -> Result<()> {
        create_container(self.address, name)
            .or_remedy(format!("container {name}"), "see the server's answer above")
    }
}

fn create_container(address: SocketAddr, name: &str) -> std::result::Result<(), String> {
    let date = httpdate::fmt_http_date(SystemTime::now());
    // Twice the account: once for whose resource it is, once since it is part of the path.
    let resource = format!("/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container");
    // The empty lines are the standard headers, none of which is sent.
    let to_sign = format!(
        "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{date}\nx-ms-version:{API_VERSION}\n{resource}"
    );
    let headers = [
        ("Authorization", format!("SharedKey {ACCOUNT}:{}", signature(&to_sign))),
        ("x-ms-date", date),
        ("x-ms-version", API_VERSION.to_owned()),
    ];
    let host = address.to_string();
    let path = format!("/{ACCOUNT}/{name}?restype=container");
    Request { method: "PUT", path: &path, host: &host, headers: &headers, body: "" }
        .send(address, ALREADY_THERE)
}

#[expect(clippy::expect_used, reason = "the key is a constant above, and HMAC takes any key")]
fn signature(to_sign: &str) -> String {
    let key = STANDARD.decode(KEY).expect("base64");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
    mac.update(to_sign.as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}
