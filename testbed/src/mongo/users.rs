//! A mongod that asks who is there.

use std::net::SocketAddr;

use super::wire::Value;
use super::{answers, command, recipe};
use crate::error::{OrRemedy, Result};
use crate::http;
use crate::port::Port;
use crate::server::Server;

/// Names it.
const VARIABLE: &str = "LEASE_TEST_MONGO_USERS_URL";
/// The password of every user: one that has to be escaped in a URL.
const PASSWORD: &str = "pass%word";
/// Each user and its role in every database; the last one has none.
const USERS: [(&str, Option<&str>); 4] = [
    ("root", Some("root")),
    ("writer", Some("readWriteAnyDatabase")),
    ("reader", Some("readAnyDatabase")),
    ("stranger", None),
];

/// One mongod with four users: `root`, `writer`, `reader`, and `stranger`, who may do nothing.
#[derive(Debug)]
pub struct Users {
    /// Kept: it ends with this value.
    _server: Server,
    address: SocketAddr,
}

impl Users {
    /// The one that `LEASE_TEST_MONGO_USERS_URL` names, or a new one.
    ///
    /// # Errors
    ///
    /// When mongod cannot be had or started, or does not let users be made.
    pub fn shared() -> Result<Self> {
        match Server::named_by(VARIABLE) {
            Some(server) => {
                Ok(Self { address: http::resolve(http::authority(server.url()))?, _server: server })
            }
            None => Self::start(),
        }
    }

    /// What makes [`shared`](Self::shared) use this one, in another process.
    #[must_use]
    pub fn variable(&self) -> (&'static str, String) {
        (VARIABLE, format!("mongodb://{}", self.address))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of this user for this database.
    #[must_use]
    pub fn url(&self, user: &str, database: &str) -> String {
        let password = PASSWORD.replace('%', "%25");
        format!("mongodb://{user}:{password}@{}/{database}?authSource=admin", self.address)
    }

    /// The URL of nobody.
    #[must_use]
    pub fn anonymous(&self, database: &str) -> String {
        format!("mongodb://{}/{database}", self.address)
    }

    fn start() -> Result<Self> {
        // Before it asks for logins anybody may make users: so it is started twice.
        let port = Port::free()?;
        let address = port.address();
        let url = format!("mongodb://{address}/?directConnection=true");
        let mut server =
            Server::start(recipe(port, url, &[], Box::new(move || answers(address)))?)?;
        for (user, role_of) in USERS {
            let role = |role: &str| {
                let role = ("role", Value::Text(role.to_owned()));
                Value::document([role, ("db", Value::Text("admin".to_owned()))])
            };
            let fields = [
                ("createUser", Value::Text(user.to_owned())),
                ("pwd", Value::Text(PASSWORD.to_owned())),
                ("roles", Value::array(role_of.map(role))),
            ];
            command(address, fields).or_remedy(format!("user {user}"), "see the server's log")?;
        }
        server.restart_with(&["--auth"])?;
        Ok(Self { _server: server, address })
    }
}
