//! A server that was left behind tells a name as it was: that counts for nothing, however good its
//! answers look and however often it gives them (rule R3).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::Message;
use futures::StreamExt;
use lease_core::{Backend, Error, Mode, Name, Policy};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use support::bucket::{Bucket, stem};
use support::server::Server;
use support::{acquire, claim, drain, name};

const TTL: Duration = Duration::from_secs(60);

/// What a server told of a name at one moment, and tells from then on.
struct LeftBehind {
    stream: String,
    /// What the leader says of the bucket.
    info: Vec<u8>,
    /// Each message of a list, with its headers, as the protocol has them.
    list: Vec<(String, Vec<u8>)>,
    asked: Arc<[AtomicUsize; 2]>,
}

impl LeftBehind {
    /// As of now.
    async fn with(bucket: &Bucket, name: &Name) -> Self {
        let all = bucket.subject(&format!("{}.>", stem(name)));
        let what = format!("STREAM.INFO.{}", bucket.stream());
        let info = bucket.api(&what, &json!({ "subjects_filter": all, "offset": 0 })).await;
        assert!(info["state"]["subjects"].is_object(), "{info}");

        let client = &bucket.client;
        let inbox = client.new_inbox();
        let mut answers = client.subscribe(inbox.clone()).await.unwrap();
        let filters = ["x", "w.*"].map(|key| bucket.subject(&format!("{}.{key}", stem(name))));
        let asks = format!("$JS.API.DIRECT.GET.{}", bucket.stream());
        let request = json!({ "multi_last": filters }).to_string();
        client.publish_with_reply(asks, inbox, request.into()).await.unwrap();
        let mut list = Vec::new();
        loop {
            let message = answers.next().await.unwrap();
            list.push((headers(&message), message.payload.to_vec()));
            if message.status.is_some() {
                break;
            }
        }
        assert!(list.len() > 1, "there is something to list");
        let (stream, asked) = (bucket.stream(), Arc::default());
        Self { stream, info: info.to_string().into_bytes(), list, asked }
    }

    /// From here on it answers in the place of whoever else would. It speaks the protocol itself, for
    /// the driver sends no status.
    async fn answers(self, server: &Server) -> Arc<[AtomicUsize; 2]> {
        let asked = Arc::clone(&self.asked);
        let address = server.url().trim_start_matches("nats://");
        let (reader, mut writer) = TcpStream::connect(address).await.unwrap().into_split();
        let hello = "CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB old.* 1\r\nPING\r\n";
        writer.write_all(hello.as_bytes()).await.unwrap();
        let mut reader = BufReader::new(reader);
        // Its subscription is there when this is answered.
        while line(&mut reader).await.unwrap() != "PONG" {}
        let mapped = json!({
            format!("$JS.API.STREAM.INFO.{}", self.stream): "old.info",
            format!("$JS.API.DIRECT.GET.{}", self.stream): "old.list",
        });
        tokio::spawn(async move {
            while let Some(line) = line(&mut reader).await {
                let words: Vec<&str> = line.split(' ').collect();
                let answer = match words[..] {
                    ["PING"] => b"PONG\r\n".to_vec(),
                    ["MSG", subject, _, reply, size] => {
                        let mut body = vec![0; size.parse::<usize>().unwrap() + 2];
                        reader.read_exact(&mut body).await.unwrap();
                        self.answer(subject, reply)
                    }
                    _ => continue,
                };
                writer.write_all(&answer).await.unwrap();
            }
        });
        server.reload(&format!("mappings = {mapped}\n")).await;
        asked
    }

    fn answer(&self, subject: &str, reply: &str) -> Vec<u8> {
        let is_list = subject == "old.list";
        self.asked[usize::from(is_list)].fetch_add(1, Ordering::SeqCst);
        let mut bytes = Vec::new();
        if !is_list {
            bytes.extend(format!("PUB {reply} {}\r\n", self.info.len()).into_bytes());
            bytes.extend_from_slice(&self.info);
            bytes.extend_from_slice(b"\r\n");
            return bytes;
        }
        for (headers, body) in &self.list {
            let sizes = (headers.len(), headers.len() + body.len());
            bytes.extend(format!("HPUB {reply} {} {}\r\n{headers}", sizes.0, sizes.1).into_bytes());
            bytes.extend_from_slice(body);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes
    }
}

/// The headers of a message as they stood on the wire, its status too.
fn headers(message: &Message) -> String {
    let status = message.status.map_or(String::new(), |status| format!(" {}", status.as_u16()));
    let mut text = format!("NATS/1.0{status}\r\n");
    for (name, values) in message.headers.iter().flat_map(|headers| headers.iter()) {
        for value in values {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
    }
    text + "\r\n"
}

/// The next line; nothing when the connection is over.
async fn line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line).await {
        Ok(1..) => Some(line.trim_end().to_owned()),
        _ => None,
    }
}

/// Ann writes. The server that answers Bob's questions has not heard of her, nor of him: it knows the
/// name as it was before, free and whole. To the end he is told by nobody that he holds, nor what is
/// there: a list counts only if it shows one's own last write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_without_ones_own_last_write_counts_for_nothing() {
    let server = Server::start(None, "");
    let bucket = Bucket::at(server.url(), 1).await;
    let (ann, bob) = (bucket.connect().await, bucket.connect().await);
    let repo = name("repo");
    let before = acquire(&ann, &claim(&repo, Mode::Writer, TTL)).await;
    ann.withdraw(&before.holding).await.unwrap();
    let left_behind = LeftBehind::with(&bucket, &repo).await;

    acquire(&ann, &claim(&repo, Mode::Writer, TTL)).await;
    // As long as the server is not behind she is seen.
    let draining = drain(&bob, &claim(&repo, Mode::Exclusive, TTL)).await;
    bob.withdraw(&draining.holding).await.unwrap();
    assert_eq!(bob.observe(&repo).await.unwrap().writers.len(), 1);

    let asked = left_behind.answers(&server).await;
    let exclusive = claim(&repo, Mode::Exclusive, TTL);
    let taken = bob.take(&exclusive, None, &Policy::expired()).await;
    assert!(matches!(taken, Err(Error::Unavailable { .. })), "Ann holds: {taken:?}");
    let seen = bob.observe(&repo).await;
    assert!(matches!(seen, Err(Error::Unavailable { .. })), "Ann is there: {seen:?}");
    let asked = asked.each_ref().map(|count| count.load(Ordering::SeqCst));
    assert!(asked.iter().all(|count| *count > 0), "else this says nothing: {asked:?}");
}
