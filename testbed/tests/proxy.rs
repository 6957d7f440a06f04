//! The proxy spoils what it was told to spoil, and nothing else.

#![expect(
    clippy::disallowed_methods,
    reason = "a real network is tested, for which only real time passes"
)]
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "helpers of tests: a failure is the test's failure"
)]

use std::io;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use testbed::{FaultProxy, Flow, Spoil};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

/// Far above what the loopback interface takes, for a machine that is busy.
const SOON: Duration = Duration::from_secs(20);
/// Long enough that an answer would have come.
const A_WHILE: Duration = Duration::from_millis(200);

#[tokio::test]
async fn what_nobody_spoils_goes_through() {
    let mut net = Net::new().await;
    assert_eq!(net.client.ask("one").await.unwrap(), "one");
    assert_eq!(net.heard().await, "one");
    net.client.stream.shutdown().await.unwrap();
    assert_eq!(net.client.hear().await.unwrap(), "", "the end goes through too");
}

#[tokio::test]
async fn a_black_hole_swallows_both_directions_and_resets_when_it_heals() {
    let mut net = Net::new().await;
    net.client.ask("one").await.unwrap();
    net.heard().await;
    net.proxy.black_hole();
    net.client.say("two").await;
    net.client.hears_nothing().await;
    assert!(net.requests.is_empty(), "the request vanished");
    net.proxy.heal();
    net.client.hear().await.unwrap_err();
    assert_eq!(net.connect().await.ask("three").await.unwrap(), "three");
}

#[tokio::test]
async fn a_new_connection_reaches_nobody_in_a_black_hole() {
    let mut net = Net::new().await;
    net.proxy.black_hole();
    let mut late = net.connect().await;
    late.say("one").await;
    late.hears_nothing().await;
    net.proxy.heal();
    assert_eq!(late.hear().await.unwrap(), "one", "as if its connecting had been repeated");
    assert_eq!(net.heard().await, "one");
}

/// By who opened a connection: here that is this process.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn who_is_cut_off_reaches_nobody_and_everybody_else_does() {
    let mut net = Net::new().await;
    let (us, others) = (std::process::id(), std::os::unix::process::parent_id());
    net.proxy.cut_off([others]);
    assert_eq!(net.client.ask("one").await.unwrap(), "one");
    net.heard().await;
    net.proxy.cut_off([others, us]);
    net.client.say("two").await;
    net.client.hears_nothing().await;
    let mut late = net.connect().await;
    late.say("three").await;
    // It is not what a heal is for.
    net.proxy.heal();
    late.hears_nothing().await;
    assert!(net.requests.is_empty());
    net.proxy.rejoin();
    net.client.hear().await.unwrap_err();
    assert_eq!(late.hear().await.unwrap(), "three");
}

#[tokio::test]
async fn one_direction_alone_can_be_cut() {
    let mut net = Net::new().await;
    net.proxy.set(Flow::Pass, Flow::Swallow);
    net.client.say("one").await;
    assert_eq!(net.heard().await, "one", "the request arrives");
    net.client.hears_nothing().await;
}

#[tokio::test]
async fn held_bytes_arrive_late() {
    let mut net = Net::new().await;
    net.proxy.set(Flow::Hold, Flow::Pass);
    net.client.say("one").await;
    net.client.hears_nothing().await;
    assert!(net.requests.is_empty());
    net.proxy.heal();
    assert_eq!(net.client.hear().await.unwrap(), "one");
}

#[tokio::test]
async fn a_delay_is_felt_in_both_directions() {
    let mut net = Net::new().await;
    let delay = Duration::from_millis(100);
    net.proxy.delay(delay);
    let sent = Instant::now();
    assert_eq!(net.client.ask("one").await.unwrap(), "one");
    assert!(sent.elapsed() >= 2 * delay, "{:?}", sent.elapsed());
}

#[tokio::test]
async fn a_long_delay_ends_with_the_heal() {
    let mut net = Net::new().await;
    net.proxy.delay(Duration::from_secs(3600));
    net.client.say("one").await;
    net.client.hears_nothing().await;
    net.proxy.heal();
    assert_eq!(net.client.hear().await.unwrap(), "one");
}

#[tokio::test]
async fn a_reset_ends_the_connections_of_now_and_not_later_ones() {
    let mut net = Net::new().await;
    net.client.ask("one").await.unwrap();
    net.proxy.reset();
    let told = net.client.hear().await.unwrap_err();
    assert_eq!(told.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(net.connect().await.ask("two").await.unwrap(), "two");
}

#[tokio::test]
async fn the_next_answer_is_lost_after_its_request_arrived() {
    let mut net = Net::new().await;
    net.proxy.lose_next_answer(Spoil::Silence);
    net.client.say("one").await;
    assert_eq!(net.heard().await, "one");
    net.client.hears_nothing().await;
    assert!(!net.proxy.is_armed(), "one answer, and no more");
    assert_eq!(net.connect().await.ask("two").await.unwrap(), "two");
    net.proxy.heal();
    net.client.hear().await.unwrap_err();
}

#[tokio::test]
async fn a_reset_in_place_of_the_next_answer() {
    let mut net = Net::new().await;
    net.proxy.lose_next_answer(Spoil::Reset);
    net.client.ask("one").await.unwrap_err();
    assert_eq!(net.heard().await, "one", "the request arrived all the same");
}

#[tokio::test]
async fn the_answer_to_one_request_is_lost_and_others_are_not() {
    let mut net = Net::new().await;
    net.proxy.lose_answer_to("renew", Spoil::Reset);
    assert_eq!(net.client.ask("install").await.unwrap(), "install");
    net.client.ask("renew").await.unwrap_err();
    assert_eq!((net.heard().await, net.heard().await), ("install".into(), "renew".into()));
}

#[tokio::test]
async fn a_server_that_is_gone_is_a_reset() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let proxy = FaultProxy::start(nobody).await.unwrap();
    let mut client = Client::connect(&proxy).await;
    client.hear().await.unwrap_err();
}

#[tokio::test]
async fn connections_end_with_the_proxy() {
    let mut net = Net::new().await;
    net.client.ask("one").await.unwrap();
    drop(net.proxy);
    assert_eq!(net.client.hear().await.unwrap_or_default(), "");
}

/// A client, the proxy, and a server that answers each line with the same line.
struct Net {
    proxy: FaultProxy,
    client: Client,
    requests: UnboundedReceiver<String>,
}

impl Net {
    async fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let server = listener.local_addr().unwrap();
        let (sender, requests) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sender = sender.clone();
                tokio::spawn(async move {
                    let (read, mut write) = stream.into_split();
                    let mut lines = BufReader::new(read).lines();
                    while let Ok(Some(line)) = lines.next_line().await {
                        let _ = sender.send(line.clone());
                        let _ = write.write_all(format!("{line}\n").as_bytes()).await;
                    }
                });
            }
        });
        let proxy = FaultProxy::start(server).await.unwrap();
        let client = Client::connect(&proxy).await;
        Self { proxy, client, requests }
    }

    async fn connect(&self) -> Client {
        Client::connect(&self.proxy).await
    }

    /// The next line that the server got.
    async fn heard(&mut self) -> String {
        timeout(SOON, self.requests.recv()).await.unwrap().unwrap()
    }
}

struct Client {
    stream: TcpStream,
}

impl Client {
    async fn connect(proxy: &FaultProxy) -> Self {
        Self { stream: TcpStream::connect(proxy.address()).await.unwrap() }
    }

    async fn ask(&mut self, line: &str) -> io::Result<String> {
        self.say(line).await;
        self.hear().await
    }

    async fn say(&mut self, line: &str) {
        self.stream.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// What the server says next; nothing if it said farewell.
    async fn hear(&mut self) -> io::Result<String> {
        let mut piece = [0; 64];
        let size = timeout(SOON, self.stream.read(&mut piece)).await.expect("in time")?;
        Ok(String::from_utf8_lossy(&piece[..size]).trim().to_owned())
    }

    async fn hears_nothing(&mut self) {
        let mut piece = [0; 64];
        timeout(A_WHILE, self.stream.read(&mut piece)).await.expect_err("silence");
    }
}
