//! Opening a bucket: what is wrong with it is told here, not in the night.

use async_nats::{ConnectError, ConnectErrorKind};
use lease_core::clock::wall_clock_for_display;
use lease_core::{Error, Jitter, Result};
use serde_json::{Value, json};

use crate::Options;
use crate::error::{KIND, wrong};
use crate::link::Link;
use crate::probe;
use crate::store::Nats;
use crate::wire::{Info, Wire};

/// Connects to the servers and opens the bucket, which is created if it is not there.
///
/// The server's version and the bucket's settings are judged. What makes leases wrong is refused;
/// what only makes them weaker is told by `tracing` and by [`Nats::warnings`].
///
/// # Errors
///
/// [`Error::Misconfigured`], with what to do: a login that is refused, a server before 2.11.2,
/// JetStream that is off, a bucket that is not there and shall not be created, or one whose
/// settings lose records. [`Error::Unavailable`] if no server answers: try again.
///
/// # Cancel safety
///
/// Safe: a bucket that was created holds nothing.
pub async fn connect(options: Options) -> Result<Nats> {
    options.check()?;
    let wire = reach(&options).await?;
    probe::version(&wire.link.server().version)?;
    let info = explained(&wire, open(&wire, &options).await)?;
    let warnings = probe::settings(&info, &options)?;
    for warning in &warnings {
        tracing::warn!(bucket = options.bucket, "{warning}");
    }
    Ok(Nats::new(wire, &info, warnings, options.clock_skew, Jitter::system().nonce()))
}

/// A connection. Nothing is asked of the bucket yet.
pub(crate) async fn reach(options: &Options) -> Result<Wire> {
    let link = Link::open(options).await?;
    Ok(Wire::new(link, options.bucket.clone()))
}

/// What was told of the bucket; where nobody answered for it, whether JetStream is off.
pub(crate) fn explained<T>(wire: &Wire, told: Result<T>) -> Result<T> {
    match told {
        Err(Error::Unavailable { source, .. })
            if !wire.link.server().jetstream && wire.link.is_connected() =>
        {
            Err(wrong(
                "JetStream is off on the server that answers",
                "start nats-server with -js, or with a jetstream block in its configuration",
                source,
            ))
        }
        told => told,
    }
}

/// What the server says of the bucket, which is created if that is wanted.
async fn open(wire: &Wire, options: &Options) -> Result<Info> {
    match wire.info(None).await {
        Err(error) if probe::is_missing(&error) => {
            if options.read_only || !options.create {
                return Err(no_bucket(options));
            }
            // False if somebody else was first, with the settings that we judge next.
            wire.create(&settings(wire, options)).await?;
            // A cluster that has agreed on it has it a moment later: nobody deleted anything.
            let not_yet = |error| match probe::is_missing(&error) {
                true => Error::unreached(KIND, error),
                false => error,
            };
            wire.info(None).await.map_err(not_yet)
        }
        opened => opened,
    }
}

/// It is not there and shall not be created.
pub(crate) fn no_bucket(options: &Options) -> Error {
    Error::misconfigured(
        format!("there is no lease bucket, bucket=`{}`", options.bucket),
        "check the name, or let whoever holds leases there connect first: that creates it",
    )
}

/// The bucket as it is created.
fn settings(wire: &Wire, options: &Options) -> Value {
    /// What the server takes for a time without end in a list of limits.
    const UNLIMITED: i64 = -1;
    // A bucket that is made again goes on above the numbers of the one that was lost, so that no
    // write that was meant for that one finds its condition true in this one. Only the uniqueness
    // of revisions rests on it; epochs go by the server's clock.
    let first = wall_clock_for_display().duration_since(std::time::UNIX_EPOCH);
    let first = first.map_or(1, |time| u64::try_from(time.as_micros()).unwrap_or(1));
    json!({
        "name": wire.stream(),
        "description": "leases of leasehold",
        "subjects": [wire.subject(">")],
        "retention": "limits",
        "storage": if options.in_memory { "memory" } else { "file" },
        "num_replicas": options.replicas.unwrap_or(1),
        "discard": "new",
        "max_msgs_per_subject": 1,
        "max_age": 0,
        "max_msgs": UNLIMITED,
        "max_bytes": UNLIMITED,
        "max_msg_size": UNLIMITED,
        "max_consumers": UNLIMITED,
        "allow_direct": true,
        "allow_msg_ttl": true,
        "allow_rollup_hdrs": true,
        "deny_delete": true,
        "first_seq": first,
    })
}

/// Why there is no connection.
pub(crate) fn refused(error: ConnectError) -> Error {
    match error.kind() {
        ConnectErrorKind::Io if !is_about_encryption(&error) => Error::unreached(KIND, error),
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => wrong(
            "the server refuses the login",
            "check the user, token or credentials, and whether the server knows them",
            error,
        ),
        ConnectErrorKind::Io | ConnectErrorKind::Tls => wrong(
            "the encryption of the connection fails",
            "check the certificates, one's own too, and the name that the server's is made out to",
            error,
        ),
        ConnectErrorKind::ServerParse => {
            wrong("this is no address of a server", "give nats://host:4222", error)
        }
        _ => Error::unreached(KIND, error),
    }
}

/// Whether the connection was there and its encryption failed: the driver tells that as any other
/// failure to read or write.
fn is_about_encryption(error: &ConnectError) -> bool {
    let source = std::error::Error::source(error).and_then(|s| s.downcast_ref::<std::io::Error>());
    let inner = source.and_then(std::io::Error::get_ref);
    inner.is_some_and(|inner| inner.is::<async_nats::rustls::Error>())
}
