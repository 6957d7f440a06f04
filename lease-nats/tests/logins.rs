//! Every way into a server that a URL can say: user, token, credentials file, and certificates.
//!
//! What is in `logins/` was made for these tests, opens nothing else, and never expires.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use lease_core::{Backend, Error, Mode};
use lease_nats::{Options, connect};
use rstest::rstest;

use support::server::{JETSTREAM, Server, ports};
use support::{TTL, acquire, claim, eventually, name};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logins");

/// A server that shows a certificate, and asks for one where `verify` says so.
fn encrypted(verify: bool) -> String {
    format!(
        "tls {{ cert_file: \"{FILES}/server.pem\", key_file: \"{FILES}/server.key\", \
         ca_file: \"{FILES}/ca.pem\", verify: {verify} }}\n"
    )
}

fn users() -> String {
    "authorization { user: ann, password: \"p@ss word\" }".to_owned()
}

fn token() -> String {
    "authorization { token: s3cret }".to_owned()
}

fn accounts() -> String {
    std::fs::read_to_string(format!("{FILES}/operator.conf")).unwrap()
}

/// The URL, with the server's address in its place.
fn at(url: &str, port: u16) -> String {
    url.replace("SERVER", &format!("127.0.0.1:{port}")).replace("FILES", FILES)
}

#[rstest]
#[case::a_user(users(), "nats://ann:p%40ss%20word@SERVER/leases")]
#[case::a_token_before_the_host(token(), "nats://s3cret@SERVER/leases")]
#[case::a_token_as_a_parameter(token(), "nats://SERVER/leases?token=s3cret")]
#[case::a_credentials_file(accounts(), "nats://SERVER/leases?credentials=FILES/ann.creds")]
#[case::encrypted(encrypted(false), "tls://SERVER/leases?ca=FILES/ca.pem")]
#[case::encrypted_by_parameter(encrypted(false), "nats://SERVER?tls=true&ca=FILES/ca.pem")]
#[case::certificates_of_both(
    encrypted(true),
    "tls://SERVER/leases?ca=FILES/ca.pem&cert=FILES/client.pem&key=FILES/client.key"
)]
#[case::all_at_once(
    encrypted(true) + &accounts(),
    "tls://SERVER?credentials=FILES/ann.creds&ca=FILES/ca.pem&cert=FILES/client.pem\
     &key=FILES/client.key"
)]
#[tokio::test]
async fn a_login_that_is_right_gets_leases(#[case] config: String, #[case] url: &str) {
    let port = ports::<1>()[0];
    let _server = Server::on(None, port, &format!("{JETSTREAM}{config}"));
    let options = Options::parse(at(url, port)).unwrap();
    let store = eventually(|| async {
        match connect(options.clone()).await {
            // It has not started yet.
            Err(Error::Unavailable { .. }) => None,
            told => Some(told),
        }
    });
    let store = store.await.unwrap();
    let job = name("job");
    let grant = acquire(&store, &claim(&job, Mode::Exclusive, TTL)).await;
    store.withdraw(&grant.holding).await.unwrap();
}

#[rstest]
#[case::nobody_where_a_user_is_wanted(users(), "nats://SERVER")]
#[case::a_wrong_password(users(), "nats://ann:guess@SERVER")]
#[case::a_wrong_token(token(), "nats://guess@SERVER")]
#[case::no_credentials(accounts(), "nats://SERVER")]
#[case::credentials_that_are_not_there(accounts(), "nats://SERVER?credentials=FILES/bob.creds")]
#[case::an_unknown_authority(encrypted(false), "tls://SERVER")]
#[case::no_certificate_of_ones_own(encrypted(true), "tls://SERVER?ca=FILES/ca.pem")]
#[tokio::test]
async fn a_login_that_is_wrong_is_for_a_person_to_see_to(
    #[case] config: String,
    #[case] url: &str,
) {
    let port = ports::<1>()[0];
    let _server = Server::on(None, port, &format!("{JETSTREAM}{config}"));
    let options = Options::parse(at(url, port)).unwrap();
    // Once it listens, what it says is about the login.
    eventually(|| async { tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok() }).await;
    let error = connect(options).await.unwrap_err();
    assert!(matches!(error, Error::Misconfigured { .. }), "{error:?}");
}
