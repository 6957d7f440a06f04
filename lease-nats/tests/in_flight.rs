//! A replicated stream may say of a write that another one of its key is on its way, also where there
//! is none: by error 10164, not by that of a lost race. It is asked again; that is neither a loss nor
//! somebody who holds (case 21).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use async_nats::{Client, Subscriber};
use futures::StreamExt;
use lease_core::backend::Confirmed;
use lease_core::{Backend, Mode};
use rstest::rstest;

use support::bucket::Bucket;
use support::server::Server;
use support::{TTL, acquire, claim, name, renew};

/// What the stream says then.
const IN_FLIGHT: &str =
    r#"{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"seq":0}"#;

/// One server, some of whose writes somebody else answers.
struct Crossing {
    server: Server,
    bucket: Bucket,
    client: Client,
    writes: Subscriber,
}

impl Crossing {
    async fn start() -> Self {
        let server = Server::start(None, "");
        let bucket = Bucket::at(server.url(), 1).await;
        let client = bucket.client.clone();
        let writes = client.subscribe("crossing").await.unwrap();
        Self { server, bucket, client, writes }
    }

    /// Takes one step while the writes of these keys are told, twice, to be in flight.
    async fn tells_of_others<T>(&mut self, keys: &str, step: impl Future<Output = T>) -> T {
        let subject = self.bucket.subject(keys);
        self.server.reload(&format!("mappings: {{ \"{subject}\": \"crossing\" }}\n")).await;
        let crossing = async {
            for is_last in [false, true] {
                let write = self.writes.next().await.unwrap();
                if is_last {
                    // What is asked after this goes where it should.
                    self.server.reload("").await;
                }
                self.client.publish(write.reply.unwrap(), IN_FLIGHT.into()).await.unwrap();
            }
        };
        tokio::join!(step, crossing).0
    }
}

#[rstest]
#[case::an_exclusive(Mode::Exclusive, "r.job.x")]
#[case::a_writer(Mode::Writer, "r.job.w.*")]
#[tokio::test]
async fn a_write_that_waits_for_another_is_made_again(#[case] mode: Mode, #[case] keys: &str) {
    let mut crossing = Crossing::start().await;
    let ann = crossing.bucket.connect().await;
    let job = name("job");
    let before = acquire(&ann, &claim(&job, mode, TTL)).await;
    ann.withdraw(&before.holding).await.unwrap();

    let anns = claim(&job, mode, TTL);
    let grant = crossing.tells_of_others(keys, acquire(&ann, &anns)).await;
    let mine = crossing.tells_of_others(keys, renew(&ann, &grant.holding)).await;
    assert!(matches!(ann.confirm(&mine).await, Ok(Confirmed::Held { .. })));
    crossing.tells_of_others(keys, ann.withdraw(&mine)).await.unwrap();
    assert_eq!(crossing.bucket.records(&job).await, 0);
}
