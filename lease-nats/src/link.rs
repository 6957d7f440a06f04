//! The connection: requests and answers, on a thread that nobody else can block.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Event, HeaderMap, Message, ServerError, ServerInfo, Subscriber};
use bytes::Bytes;
use futures::StreamExt;
use lease_core::clock::within;
use lease_core::{Clock, Error, Moment, Result};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::Options;
use crate::connect::refused;
use crate::error::{Failure, KIND};
use crate::leave::Leave;
use crate::replies::{Answers, Replies};

/// What a server answers where nobody listens.
const NO_RESPONDERS: u16 = 503;

/// How long a connection that is given up may take to send what is on its way.
const FLUSH: Duration = Duration::from_secs(1);

/// A connection to the servers, which comes back by itself when it is lost.
pub(crate) struct Link {
    client: Client,
    inbox: String,
    replies: Arc<Replies>,
    clock: Arc<dyn Clock>,
    patience: Duration,
    runtime: Handle,
    leave: Leave,
    /// Dropped with the link: the connection's thread then ends.
    _stop: oneshot::Sender<()>,
}

/// A subscription to a subject that nobody else knows.
pub(crate) struct Inbox {
    pub(crate) inbox: String,
    pub(crate) subscriber: Subscriber,
}

/// What the connection's own thread made.
struct Opened {
    client: Client,
    inbox: String,
    runtime: Handle,
}

impl Link {
    /// Connects, to whichever of the servers answers first.
    pub(crate) async fn open(options: &Options) -> Result<Self> {
        let replies = Arc::new(Replies::default());
        let (opened, ready) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let leave = Leave::new(Arc::clone(&options.clock));
        let living = live(options.clone(), Arc::clone(&replies), leave.clone(), opened, stopped);
        if options.own_thread {
            start_thread(living)?;
        } else {
            tokio::spawn(living);
        }
        let Opened { client, inbox, runtime } =
            ready.await.map_err(|gone| Error::unreached(KIND, gone))??;
        Ok(Self {
            client,
            inbox,
            replies,
            clock: Arc::clone(&options.clock),
            patience: options.timeout,
            runtime,
            leave,
            _stop: stop,
        })
    }

    /// What the server that it is connected to says of itself.
    pub(crate) fn server(&self) -> ServerInfo {
        self.client.server_info()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Where the connection lives, and what goes with it.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// How many requests were sent so far.
    pub(crate) fn requests(&self) -> u64 {
        self.replies.asked()
    }

    /// How long a request may take.
    pub(crate) const fn patience(&self) -> Duration {
        self.patience
    }

    /// How many messages came to requests so far.
    pub(crate) fn heard(&self) -> u64 {
        self.replies.heard()
    }

    /// The one answer to a request.
    ///
    /// # Cancel safety
    ///
    /// Safe, but the request may still arrive.
    pub(crate) async fn ask(
        &self,
        subject: String,
        headers: Option<HeaderMap>,
        body: Bytes,
    ) -> std::result::Result<Message, Failure> {
        let mut answers = self.send(subject, headers, body).await?;
        self.next(&mut answers).await
    }

    /// The bucket's leader has acknowledged a write.
    pub(crate) fn decided(&self) {
        self.leave.decided();
    }

    /// Nothing was decided by way of the server since then. If that lasts it is left.
    pub(crate) fn undecided(&self, since: Moment) {
        if self.leave.undecided(&self.server().server_id, since) {
            self.suspect();
        }
    }

    /// Leaves a server that gets nothing done for another one, if there is one.
    pub(crate) fn suspect(&self) {
        if self.is_connected() && self.leave.begin() {
            let left = self.server().server_id;
            self.runtime.spawn(self.leave.clone().run(self.client.clone(), left));
        }
    }

    /// The next of several answers.
    pub(crate) async fn next(
        &self,
        answers: &mut Answers,
    ) -> std::result::Result<Message, Failure> {
        let message = answers.next().await?;
        match message.status {
            Some(status) if status.as_u16() == NO_RESPONDERS => Err(Failure::NoResponders),
            _ => Ok(message),
        }
    }

    /// Sends a request; its answers are waited for until they are dropped.
    pub(crate) async fn send(
        &self,
        subject: String,
        headers: Option<HeaderMap>,
        body: Bytes,
    ) -> std::result::Result<Answers, Failure> {
        self.can_send()?;
        let limit = self.client.max_payload();
        if body.len() > limit {
            return Err(Failure::TooLarge { bytes: body.len(), limit });
        }
        let answers = self.replies.expect(&subject);
        // Once more, for a connection that was lost meanwhile: who waits by now is told of a later loss.
        self.can_send()?;
        let inbox = self.address(&answers);
        let sent = match headers {
            Some(headers) => {
                self.client.publish_with_reply_and_headers(subject, inbox, headers, body).await
            }
            None => self.client.publish_with_reply(subject, inbox, body).await,
        };
        sent.map_err(|_| Failure::Closed)?;
        Ok(answers)
    }

    /// Without a connection the driver would keep it and send it when that is back: long after the caller
    /// has given up, and perhaps after its lease.
    fn can_send(&self) -> std::result::Result<(), Failure> {
        match self.is_connected() {
            true => Ok(()),
            false => Err(Failure::Disconnected),
        }
    }

    /// A place that a consumer's messages may be sent to.
    pub(crate) async fn subscribe(&self) -> Result<Inbox> {
        let inbox = self.client.new_inbox();
        let subscriber = self.client.subscribe(inbox.clone()).await;
        let subscriber = subscriber.map_err(|gone| Error::unreached(KIND, gone))?;
        Ok(Inbox { inbox, subscriber })
    }

    /// The subject that these answers come to.
    fn address(&self, answers: &Answers) -> String {
        format!("{}.{}", self.inbox, answers.number())
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("state", &self.client.connection_state())
            .finish_non_exhaustive()
    }
}

/// Starts a thread for the connection: an application that blocks its own runtime does not keep
/// renewals from being sent.
fn start_thread(living: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let cannot = |error: std::io::Error| Error::Misconfigured {
        problem: "the connection's thread cannot be started".into(),
        fix: "raise the limit on threads of this process".into(),
        source: Some(error.into()),
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let run = move || runtime.block_on(living);
    std::thread::Builder::new().name("lease-nats".into()).spawn(run).map_err(cannot)?;
    Ok(())
}

/// The life of a connection, from the attempt to connect until the link is dropped.
async fn live(
    options: Options,
    replies: Arc<Replies>,
    leave: Leave,
    opened: oneshot::Sender<Result<Opened>>,
    stopped: oneshot::Receiver<()>,
) {
    let (client, inbox) = match connect(&options, &replies, leave).await {
        Ok(connected) => connected,
        Err(error) => {
            let _ = opened.send(Err(error));
            return;
        }
    };
    let runtime = Handle::current();
    if opened.send(Ok(Opened { client: client.clone(), inbox, runtime })).is_err() {
        return;
    }
    // Ends with the link, which never sends.
    let _ = stopped.await;
    let _ = within(&options.clock, FLUSH, client.flush()).await;
}

async fn connect(
    options: &Options,
    replies: &Arc<Replies>,
    leave: Leave,
) -> Result<(Client, String)> {
    let inbox: Arc<OnceLock<String>> = Arc::default();
    let (events, name) = (Arc::clone(replies), Arc::clone(&inbox));
    let driver = options.driver().await?.event_callback(move |event| {
        match &event {
            Event::ServerError(ServerError::Other(said)) => {
                events.refused(said, name.get().map_or("_INBOX", String::as_str));
            }
            // What was asked on that connection is not answered on the next one.
            Event::Disconnected => events.give_up(),
            _ => {}
        }
        tracing::debug!(%event, "connection");
        std::future::ready(())
    });
    let driver =
        driver.reconnect_to_server_callback(move |pool, _| std::future::ready(leave.choose(&pool)));
    let client = driver.connect(options.addresses()?).await.map_err(refused)?;
    let name = inbox.get_or_init(|| client.new_inbox()).clone();
    let mut subscription =
        client.subscribe(format!("{name}.*")).await.map_err(|gone| Error::unreached(KIND, gone))?;
    let replies = Arc::clone(replies);
    tokio::spawn(async move {
        while let Some(message) = subscription.next().await {
            replies.deliver(message);
        }
    });
    Ok((client, name))
}
