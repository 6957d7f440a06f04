//! Many keys in one answer.

use serde_json::json;

use super::{Kept, Wire, time};
use crate::error::{Doing, Failure, translate};
use crate::hearing::Asks;

/// The last message of each key that was asked for.
#[derive(Clone, Debug)]
pub(crate) enum Listed {
    /// All of them, as of this write of the bucket. Any replica may have answered.
    All(Vec<(String, Kept)>, u64),
    /// There is none, as of some write that the answer does not tell.
    Nothing,
    /// One of them was written meanwhile, or the replica is not ready: ask again.
    Again,
    /// There are more than the server gives in one answer.
    TooMany,
}

/// The end of a list.
const END: u16 = 204;
/// Nothing matches; or one of the messages went before it could be sent.
const NOT_FOUND: u16 = 404;
const TOO_MANY: u16 = 413;

impl Wire {
    /// The last messages of the keys that these filters match.
    pub(crate) async fn list(&self, filters: &[&str]) -> lease_core::Result<Listed> {
        let subjects: Vec<String> = filters.iter().map(|filter| self.subject(filter)).collect();
        let request = json!({ "multi_last": subjects }).to_string();
        let subject = format!("$JS.API.DIRECT.GET.{}", self.stream());
        let listed = self.link.hear(Asks::Copy, async {
            let mut answers = self.link.send(subject, None, request.into()).await?;
            let mut found = Vec::new();
            loop {
                let message = self.link.next(&mut answers).await?;
                let headers = message.headers.unwrap_or_default();
                let header = |name: &str| headers.get(name).map(|value| value.as_str());
                let number = |name| header(name).and_then(|text| text.parse::<u64>().ok());
                match message.status.map(|status| status.as_u16()) {
                    None => {
                        let place = (header("Nats-Subject"), number("Nats-Sequence"));
                        let at = header("Nats-Time-Stamp").and_then(time);
                        let ((Some(subject), Some(seq)), Some(at)) = (place, at) else {
                            return Err(Failure::Nonsense("a message without its place".into()));
                        };
                        if let Some(key) = self.key(subject) {
                            let kept = Kept::new(seq, at, header, message.payload);
                            found.push((key.to_owned(), kept));
                        }
                    }
                    Some(END) => {
                        let up_to = number("Nats-UpTo-Sequence").unwrap_or(0);
                        return Ok(match number("Nats-Num-Pending") {
                            None | Some(0) => Listed::All(found, up_to),
                            // It was too much at once.
                            Some(_) => Listed::TooMany,
                        });
                    }
                    Some(TOO_MANY) => return Ok(Listed::TooMany),
                    Some(NOT_FOUND)
                        if found.is_empty()
                            && message.description.as_deref() == Some("No Results") =>
                    {
                        return Ok(Listed::Nothing);
                    }
                    Some(_) => return Ok(Listed::Again),
                }
            }
        });
        listed.await.map_err(|failure| translate(failure, Doing::Reading))
    }
}
