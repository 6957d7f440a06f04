//! The examples do what they say, on files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rstest::rstest;
use serde_json::Value;

/// Cargo builds the examples with the tests, beside the folder that those are in.
fn example(name: &str) -> Command {
    let this = std::env::current_exe().unwrap();
    let built: PathBuf = this.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(built.exists(), "{} is not built: run all tests, not --test examples", built.display());
    Command::new(built)
}

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/leases", folder.path().display());
    (folder, url)
}

#[rstest]
#[case("leader_election", &["one leads, token", "two leads, token"])]
#[case("cron_guard", &["another machine does it", "the report is written", "1 of 2 ran it"])]
#[case("drained_maintenance", &["maintenance waits for 2 writers", "ann: last piece", "bob: last piece", "maintenance is alone"])]
#[case("fenced_writer", &["written by the first", "written by the second"])]
#[case("fenced_object", &[])]
#[case("watch_for_loss", &["stopped: the lease was displaced"])]
fn an_example_tells_what_it_shows(#[case] name: &str, #[case] told: &[&str]) {
    let (_folder, url) = folder();
    let output = example(name).arg(url).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
    for line in told {
        assert!(text.contains(line), "`{line}` is not told:\n{text}");
    }
}

/// A service that is ended with its test.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(url: &str) -> Self {
        let mut child = example("axum_service").arg(url).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Self { child, address }
    }

    fn get(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let host = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        serde_json::from_str(body).unwrap_or(Value::Null)
    }

    fn leads(&self) -> bool {
        self.get("/leader")["it_is_me"] == true
    }

    fn done(&self) -> u64 {
        self.get("/job")["mails"].as_u64().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two instances: one runs the job. It is interrupted, and the other goes on.
#[test]
fn a_service_hands_its_job_on() {
    let (_folder, url) = folder();
    let mut first = Service::start(&url);
    let soon = |what: &str, condition: &dyn Fn() -> bool| {
        let found = (0..200).any(|_| {
            let holds = condition();
            if !holds {
                std::thread::park_timeout(Duration::from_millis(100));
            }
            holds
        });
        assert!(found, "{what}");
    };
    soon("the first leads", &|| first.leads() && first.done() > 0);
    let second = Service::start(&url);
    assert!(!second.leads() && second.done() == 0);
    assert_eq!(second.get("/leader")["leader"], first.get("/leader")["leader"]);

    kill(Pid::from_raw(i32::try_from(first.child.id()).unwrap()), Signal::SIGINT).unwrap();
    assert!(first.child.wait().unwrap().success());
    soon("the second leads", &|| second.leads() && second.done() > 0);
}
