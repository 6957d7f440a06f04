//! A ticket as scripts carry it: one word that survives quotes, pipes and environments.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use leasehold::{
    Coordinator, Error, HolderInfo, Lease, Moment, Name, ProcessId, StoreUrl, Ticket, Timing,
};
use serde::{Deserialize, Serialize};

use crate::exit::{Cause, Failure};
use crate::keeper::Address;
use crate::shared_clock;
use crate::show::span;
use crate::taking::Holder;

mod file;
mod handout;

pub(crate) use file::Slot;
pub(crate) use handout::{Handout, TicketView};

/// What each ticket begins with. A later form begins with another number.
const START: &str = "lease1.";

/// How much is shown of what may be a ticket.
const SHOWN: usize = 60;

/// A ticket, with what is known of its lease besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Carried {
    pub(crate) ticket: Ticket,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    believed: Option<Belief>,
    /// Which store it is of, as far as a sum of its place tells; nothing of the URL can be read in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    store: Option<String>,
    /// Who keeps the lease: then the ticket itself is used up, and all is asked of the keeper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keeper: Option<Address>,
}

/// Until when a lease may be believed in, for whoever has the same clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Belief {
    host: String,
    boot: String,
    until: String,
}

impl Carried {
    /// A ticket that was made by a renewal which may be believed in `until` then.
    pub(crate) fn new(ticket: Ticket, holder: Holder, until: Moment) -> Self {
        let store = None;
        let Holder { label, metadata } = holder;
        let believed = here().map(|(host, boot)| {
            let until = shared_clock::written(shared_clock::shared(until));
            Belief { host, boot, until }
        });
        Self { ticket, label, metadata, believed, store, keeper: None }
    }

    /// The same, with what tells this store from others.
    pub(crate) fn in_store(self, store: &StoreUrl) -> Self {
        Self { store: Some(place(store)), ..self }
    }

    /// The same, of the store that the ticket before was of.
    pub(crate) fn after(self, before: &Self) -> Self {
        Self { store: before.store.clone(), ..self }
    }

    /// Whether it was taken in this store, under the same URL.
    pub(crate) fn is_in(&self, store: &StoreUrl) -> bool {
        self.store.as_ref() == Some(&place(store))
    }

    /// The same, from now on kept by this keeper.
    pub(crate) fn kept_by(self, keeper: Address) -> Self {
        Self { believed: None, keeper: Some(keeper), ..self }
    }

    pub(crate) const fn name(&self) -> &Name {
        self.ticket.name()
    }

    pub(crate) const fn timing(&self) -> &Timing {
        self.ticket.timing()
    }

    pub(crate) const fn keeper(&self) -> Option<&Address> {
        self.keeper.as_ref()
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder { label: self.label.clone(), metadata: self.metadata.clone() }
    }

    /// How long the lease may be believed in if it is not renewed; nothing where the ticket was made
    /// by another clock.
    pub(crate) fn believed_for(&self) -> Option<Duration> {
        let belief = self.believed.as_ref()?;
        let (host, boot) = here()?;
        let until = shared_clock::read(&belief.until)?;
        (belief.host == host && belief.boot == boot).then(|| until.since(shared_clock::now()))
    }

    /// The ticket in one word.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        let json = serde_json::to_string(self);
        let json = json.map_err(|error| Failure::system("cannot write the ticket", error))?;
        Ok(format!("{START}{}.{:016x}", URL_SAFE_NO_PAD.encode(&json), sum(json.as_bytes())))
    }

    fn parse(text: &str) -> Option<Self> {
        let (code, told) = text.strip_prefix(START)?.split_once('.')?;
        let json = URL_SAFE_NO_PAD.decode(code).ok()?;
        let whole = told == format!("{:016x}", sum(&json));
        whole.then(|| serde_json::from_slice(&json).ok())?
    }

    /// What it means that a request failed that would have used the ticket up.
    pub(crate) fn not_used(&self, error: Error, not_done: &str) -> Failure {
        let name = self.name();
        match error {
            Error::Lost { reason, .. } => {
                let message = format!(
                    "the ticket for `{name}` does not work any more: it was used before, or its \
                     lease has ended, or --on names another store ({reason}); {not_done}"
                );
                Failure::new(Cause::Lost, message)
            }
            error @ Error::Unavailable { .. } => {
                let Failure { cause, message } = error.into();
                let ttl = span(self.timing().ttl());
                let message = format!(
                    "{message}; {not_done}. Try again: if that finds the ticket used up, the lease \
                     on `{name}` ends with its ttl of {ttl}"
                );
                Failure { cause, message }
            }
            error => error.into(),
        }
    }
}

/// Which clock this is.
fn here() -> Option<(String, String)> {
    let host = HolderInfo::of_this_process().build().ok()?.host;
    Some((host, ProcessId::of_this_process()?.boot))
}

/// What of a URL's options tells one store from another.
const TELLING: [&str; 4] = ["account=", "collection=", "credentials=", "endpoint="];

/// A sum of what tells a store from others: no user, no password.
fn place(store: &StoreUrl) -> String {
    let (url, mut place) = (store.to_string(), store.without_password());
    let options = url.split_once('?').map_or("", |(_, options)| options);
    let tells = |option: &&str| {
        let option = option.to_ascii_lowercase();
        TELLING.iter().any(|telling| option.starts_with(telling))
    };
    // A user belongs to an account of the server, which has buckets of its own.
    let user = url.strip_prefix("nats://").or_else(|| url.strip_prefix("tls://"));
    let user = user.and_then(|rest| rest.split_once('@')?.0.split_once(':')).map(|(user, _)| user);
    for option in user.into_iter().chain(options.split('&').filter(tells)) {
        place.push('&');
        place.push_str(option);
    }
    if store.folder().is_none() {
        place.extend(surroundings());
    }
    format!("{:016x}", sum(place.as_bytes()))
}

/// What the environment tells of where a bucket is.
fn surroundings() -> impl Iterator<Item = String> {
    let tells = |name: &str| {
        ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|cloud| name.starts_with(cloud))
            && (name.contains("ENDPOINT") || name.contains("ACCOUNT_NAME"))
    };
    let all = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| tells(name))?;
        Some(format!("&{name}={}", value.to_string_lossy()))
    });
    let mut all: Vec<String> = all.collect();
    all.sort();
    all.into_iter()
}

/// A checksum against cuts and typing errors (FNV-1a).
fn sum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A ticket that somebody gave.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) carried: Carried,
    /// The file that it was in.
    file: Option<PathBuf>,
}

impl Given {
    /// Reads a ticket, or the file that holds one.
    pub(crate) fn read(value: &str) -> Result<Self, Failure> {
        let usage = |message: String| Failure::new(Cause::Usage, message);
        let value = value.trim();
        if value.is_empty() {
            let message = "the ticket is empty: whatever should have printed it has failed, so \
                           look at its exit code";
            return Err(usage(message.to_owned()));
        }
        if is_ticket(value) {
            return Ok(Self { carried: readable(value, "the ticket")?, file: None });
        }
        let file = PathBuf::from(value);
        // Most of what is damaged is no file's name; as a whole it may still be somebody's lease.
        let shown: String = value.chars().take(SHOWN).collect();
        let more = if shown == value { "" } else { "…" };
        let text = file::read(&file)?.ok_or_else(|| {
            usage(format!(
                "there is no file `{shown}{more}`, and it is no ticket itself, which begins with \
                 `{START}`: give what `lease acquire` printed, or the file that it wrote; `lease \
                 release` and `lease run` remove the file of a ticket that they have used"
            ))
        })?;
        if text.trim().is_empty() {
            return Err(usage(format!(
                "the file `{shown}{more}` is empty: no ticket was written to it, so look at the exit \
                 code of the `lease acquire` that should have"
            )));
        }
        let carried = readable(text.trim(), &format!("the ticket in `{shown}{more}`"))?;
        Ok(Self { carried, file: Some(file) })
    }

    /// Where the next ticket goes, if this one came from a file. Nothing is used up as long as that
    /// cannot be written.
    pub(crate) fn slot(&self) -> Result<Option<Slot>, Failure> {
        self.file.as_deref().map(Slot::prepare).transpose()
    }

    /// The same, with the ticket that works: a keeper hands it over, and ends.
    pub(crate) fn without_keeper(self) -> Result<Self, Failure> {
        match self.carried.keeper() {
            Some(keeper) => {
                let carried = keeper.hand_over(self.carried.name())?;
                Ok(Self { carried, ..self })
            }
            None => Ok(self),
        }
    }

    /// Makes it a lease that this process keeps.
    pub(crate) async fn redeem(
        self,
        leases: &Coordinator,
        not_done: &str,
    ) -> Result<Lease, Failure> {
        let kept = self.carried.keeper().is_some();
        // Where the keeper's ticket goes if the store does not answer: it is the only one that works.
        let slot = if kept { self.slot()? } else { None };
        let given = self.without_keeper()?;
        match leases.redeem(&given.carried.ticket).await {
            Ok(lease) => {
                drop(slot);
                given.forget();
                Ok(lease)
            }
            Err(error) if kept && !matches!(error, Error::Lost { .. }) => {
                let failure = given.carried.not_used(error, not_done);
                given.saved(slot, failure)
            }
            Err(error) => Err(given.carried.not_used(error, not_done)),
        }
    }

    /// Keeps the ticket that works: in the file that the one before was in, or in the message.
    fn saved<T>(&self, slot: Option<Slot>, failure: Failure) -> Result<T, Failure> {
        let text = self.carried.text()?;
        let message = match slot {
            Some(slot) => {
                let path = slot.path().display().to_string();
                slot.fill(&text)?;
                format!(
                    "{}; its keeper has ended, and `{path}` has the new ticket",
                    failure.message
                )
            }
            None => format!(
                "{}; its keeper has ended, and this is the new ticket: {text}",
                failure.message
            ),
        };
        Err(Failure { message, ..failure })
    }

    /// Removes the file of a ticket that nobody needs any more.
    pub(crate) fn forget(&self) {
        if let Some(file) = &self.file {
            // What stays is a ticket that does not work, and is told so.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Whether it was meant as a ticket, and not as a file.
fn is_ticket(value: &str) -> bool {
    let number = value.strip_prefix("lease").and_then(|rest| rest.split_once('.'));
    number.is_some_and(|(number, _)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn readable(text: &str, what: &str) -> Result<Carried, Failure> {
    Carried::parse(text).ok_or_else(|| {
        let message = if is_ticket(text) && !text.starts_with(START) {
            format!("{what} was written by a newer version: update this program")
        } else if is_ticket(text) {
            format!("{what} is damaged: give it whole, as it was printed")
        } else {
            format!("{what} is none: give what `lease acquire` printed, or the file that it wrote")
        };
        Failure::new(Cause::Usage, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_known_one() {
        assert_eq!(sum(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(sum(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn a_ticket_is_told_from_a_file() {
        assert!(is_ticket("lease1.eyJ9.00"));
        assert!(is_ticket("lease22."));
        for file in ["/run/job.ticket", "lease.ticket", "./lease1.x", "lease1", "leases1.x"] {
            assert!(!is_ticket(file), "{file}");
        }
    }
}
