//! S3 endpoints: SeaweedFS, whose conditional PUTs are exact, and s3s-fs, whose are not.

mod sign;

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use crate::error::{Error, OrRemedy, Result};
use crate::folder;
use crate::http::{self, Request};
use crate::port::{self, Port};
use crate::program::Program;
use crate::server::{Recipe, Server};
use sign::Credentials;

/// The gateway answers bucket creations with 500 for about ten seconds after the start.
const STARTS_WITHIN: Duration = Duration::from_secs(120);
/// The only identity of a started server.
const KEY: (&str, &str) = ("testbed", "testbed-secret");
/// Made while waiting for readiness, and kept, since deleting it tells nothing more.
const FIRST_BUCKET: &str = "testbed-ready";
/// The bucket is there: made by us before, or by somebody else.
const ALREADY_THERE: &[u16] = &[409];

/// Names the one that tests share.
const VARIABLE: &str = "LEASE_TEST_S3_URL";

/// A running S3 endpoint and the identity that may do everything in it.
#[derive(Debug)]
pub struct S3 {
    server: Server,
    address: SocketAddr,
    credentials: Credentials,
}

impl S3 {
    /// The one that `LEASE_TEST_S3_URL` names as `http://KEY:SECRET@HOST:PORT`, or a new one: for
    /// tests that leave it as it is.
    ///
    /// # Errors
    ///
    /// When SeaweedFS cannot be had or started, or the variable does not have this form.
    pub fn shared() -> Result<Self> {
        match Server::named_by(VARIABLE) {
            Some(named) => Self::named(named.url()),
            None => Self::start(),
        }
    }

    /// What makes [`shared`](Self::shared) use this one, in another process.
    #[must_use]
    pub fn variable(&self) -> (&'static str, String) {
        let login = format!("://{}:{}@", self.key_id(), self.secret());
        (VARIABLE, self.url().replacen("://", &login, 1))
    }

    /// A new one.
    ///
    /// # Errors
    ///
    /// When SeaweedFS cannot be had or started.
    pub fn start() -> Result<Self> {
        let (key_id, secret) = KEY;
        let credentials = Credentials { key_id: key_id.to_owned(), secret: secret.to_owned() };
        // Every one of them, for what is left out goes to a fixed port, or to its own + 10000.
        let ports = port::free::<8>()?;
        let [gateway, gateway_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc] =
            &ports;
        let folder = folder::temporary("seaweedfs")?;
        let here = folder.path();
        let identities = here.join("identities.json");
        fs::write(&identities, identity(&credentials))
            .or_remedy(identities.display(), "see whether the disk is full")?;
        let port_of = |flag: &str, port: &Port| format!("-{flag}={}", port.number());
        let arguments = [
            "server".to_owned(),
            format!("-dir={}", here.display()),
            "-ip=127.0.0.1".to_owned(),
            "-ip.bind=127.0.0.1".to_owned(),
            port_of("master.port", master),
            port_of("master.port.grpc", master_grpc),
            port_of("volume.port", volume),
            port_of("volume.port.grpc", volume_grpc),
            "-filer".to_owned(),
            port_of("filer.port", filer),
            port_of("filer.port.grpc", filer_grpc),
            format!("-filer.localSocket={}", here.join("filer.sock").display()),
            "-s3".to_owned(),
            port_of("s3.port", gateway),
            port_of("s3.port.grpc", gateway_grpc),
            "-s3.port.iceberg=0".to_owned(),
            "-s3.port.lance=0".to_owned(),
            format!("-s3.localSocket={}", here.join("s3.sock").display()),
            format!("-s3.config={}", identities.display()),
            // Small volumes, for each test bucket takes some of its own.
            "-master.volumeSizeLimitMB=64".to_owned(),
            "-volume.max=200".to_owned(),
            "-master.telemetry=false".to_owned(),
        ];
        let address = gateway.address();
        let known = credentials.clone();
        let server = Server::start(Recipe {
            program: Program::WEED,
            url: format!("http://{address}"),
            arguments: arguments.map(Into::into).into(),
            folder,
            ports: ports.into(),
            probe: Box::new(move || create_bucket(address, &known, FIRST_BUCKET)),
            within: STARTS_WITHIN,
        })?;
        Ok(Self { server, address, credentials })
    }

    /// A new one of another make, s3s-fs, which looks whether an object is there and then creates it:
    /// of those who create one at the same time several win. And some of its listings fail while
    /// others write.
    ///
    /// # Errors
    ///
    /// When s3s-fs cannot be had or started.
    pub fn careless() -> Result<Self> {
        let (key_id, secret) = KEY;
        let credentials = Credentials { key_id: key_id.to_owned(), secret: secret.to_owned() };
        let port = Port::free()?;
        let (address, number) = (port.address(), port.number().to_string());
        let folder = folder::temporary("s3s-fs")?;
        let options = ["--host", "127.0.0.1", "--port", &number];
        let identity = ["--access-key", key_id, "--secret-key", secret];
        let mut arguments: Vec<_> = options.into_iter().chain(identity).map(Into::into).collect();
        arguments.push(folder.path().into());
        let known = credentials.clone();
        let server = Server::start(Recipe {
            program: Program::S3S_FS,
            url: format!("http://{address}"),
            arguments,
            folder,
            ports: vec![port],
            probe: Box::new(move || create_bucket(address, &known, FIRST_BUCKET)),
            within: STARTS_WITHIN,
        })?;
        Ok(Self { server, address, credentials })
    }

    /// The server, to pause, kill or restart it.
    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Where a client connects, without the identity. Buckets are the first part of the path.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// The access key id of the identity.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.credentials.key_id
    }

    /// The secret access key of the identity.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.credentials.secret
    }

    /// The region that requests are signed for.
    #[must_use]
    pub fn region(&self) -> &'static str {
        sign::REGION
    }

    /// Makes a bucket, unless it is there.
    ///
    /// # Errors
    ///
    /// When the server refuses.
    pub fn create_bucket(&self, name: &str) -> Result<()> {
        create_bucket(self.address, &self.credentials, name)
            .or_remedy(format!("bucket {name}"), "see the server's answer above")
    }

    fn named(url: &str) -> Result<Self> {
        let form = || {
            Error::new(
                "LEASE_TEST_S3_URL is not understood",
                "write it as http://KEY:SECRET@HOST:PORT",
            )
        };
        let (identity, host) = http::authority(url).rsplit_once('@').ok_or_else(form)?;
        let (key_id, secret) = identity.split_once(':').ok_or_else(form)?;
        let credentials = Credentials { key_id: key_id.to_owned(), secret: secret.to_owned() };
        let address = http::resolve(host)?;
        Ok(Self { server: Server::at(format!("http://{host}")), address, credentials })
    }
}

/// SeaweedFS's own form, with every action on every bucket.
fn identity(credentials: &Credentials) -> String {
    let Credentials { key_id, secret } = credentials;
    format!(
        r#"{{"identities":[{{"name":"testbed","credentials":[{{"accessKey":"{key_id}","secretKey":"{secret}"}}],"actions":["Admin","Read","Write","List","Tagging"]}}]}}"#
    )
}

fn create_bucket(
    address: SocketAddr,
    credentials: &Credentials,
    name: &str,
) -> std::result::Result<(), String> {
    let host = address.to_string();
    let path = format!("/{name}");
    let headers = credentials.sign("PUT", &host, &path);
    Request { method: "PUT", path: &path, host: &host, headers: &headers, body: "" }
        .send(address, ALREADY_THERE)
}
