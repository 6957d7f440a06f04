//! The commands of a lease's life by hand: those that this crate sends, overheard once and sent again
//! for other nonces by the bare driver, and the least that any lease in a document would send.

use std::sync::{Arc, Mutex};

use lease_core::{Backend, Holding, Jitter, Mode};
use lease_mongo::{Options, connect};
use mongodb::bson::{Bson, Document, doc};
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use mongodb::options::{Acknowledgment, WriteConcern};
use mongodb::{Client, Collection, Database};

use measure::hands;

use crate::EACH;

/// The bare driver, and what it is to send.
pub(crate) struct Raw {
    database: Database,
    bare: Collection<Document>,
    writer: Overheard,
    exclusive: Overheard,
    renewal: Document,
    confirmation: Document,
}

/// The commands of one nonce.
struct Overheard {
    nonce: String,
    commands: Vec<Document>,
}

type Heard = Arc<Mutex<Vec<Document>>>;

impl Raw {
    /// Listens to one life of each mode, and tells how many requests each step was.
    pub(crate) async fn overhear(url: &str) -> Self {
        let heard = Heard::default();
        let listener = Arc::clone(&heard);
        let options = Options::parse(url).unwrap().driver(move |driver| {
            let heard = Arc::clone(&listener);
            driver.command_event_handler = Some(EventHandler::callback(move |event| {
                if let CommandEvent::Started(event) = event {
                    heard.lock().unwrap().push(event.command);
                }
            }));
        });
        let store = connect(options).await.unwrap();
        let sent = || std::mem::take(&mut *heard.lock().unwrap());
        let mut lives = Vec::new();
        let mut renewal = Document::new();
        for mode in [Mode::Writer, Mode::Exclusive] {
            let (holding, mut commands) = loop {
                sent();
                let holding = hands::acquire(&store, mode.as_str(), mode).await;
                // One join in sixteen is another one.
                if !holding.nonce.to_string().starts_with('0') {
                    break (holding, sent());
                }
                store.withdraw(&holding).await.unwrap();
            };
            let mut next = [holding.clone()];
            hands::renew(&store, &mut next).await;
            let renewals = sent();
            store.withdraw(&next[0]).await.unwrap();
            commands.extend(sent());
            println!(
                "requests of the mode `{mode}`: {} to acquire and release, {} to renew",
                commands.len(),
                renewals.len()
            );
            assert_eq!((commands.len(), renewals.len()), (2, 1), "each step is one request");
            renewal = renewals.into_iter().next().unwrap();
            let commands = commands.into_iter().map(ours_alone).collect();
            lives.push(Overheard { nonce: holding.nonce.to_string(), commands });
        }
        let looked_at = hands::acquire(&store, "looked at", Mode::Exclusive).await;
        sent();
        store.confirm(&looked_at).await.unwrap();
        let confirmation = ours_alone(sent().remove(0));
        let mut many = Vec::new();
        for i in 0..100 {
            many.push(hands::acquire(&store, &format!("many/{i}"), Mode::Writer).await.next_beat());
        }
        sent();
        assert!(store.renew(&many).await.iter().all(Result::is_ok));
        assert_eq!(sent().len(), 1, "many renewals are one request");
        println!("requests to renew 100 leases: 1");

        let database = Client::with_uri_str(url).await.unwrap().database("bench");
        let bare = database.collection("bare");
        let exclusive = lives.pop().unwrap();
        let writer = lives.pop().unwrap();
        Self { database, bare, writer, exclusive, renewal: ours_alone(renewal), confirmation }
    }

    /// So many lives, each with a nonce of its own.
    pub(crate) fn cycles(&self, mode: Mode, count: usize) -> Vec<Document> {
        let overheard = match mode {
            Mode::Writer => &self.writer,
            Mode::Exclusive => &self.exclusive,
        };
        let jitter = Jitter::system();
        let mut commands = Vec::with_capacity(count * overheard.commands.len());
        for _ in 0..count {
            let nonce = jitter.nonce().to_string();
            let renamed = overheard.commands.iter().map(|command| {
                renamed(&overheard.nonce, &nonce, Bson::Document(command.clone()))
                    .as_document()
                    .unwrap()
                    .clone()
            });
            commands.extend(renamed);
        }
        commands
    }

    /// So many renewals of what is held.
    pub(crate) fn renewals(&self, held: &Holding, count: usize) -> Vec<Document> {
        let mut held = held.clone();
        let mut commands = Vec::with_capacity(count);
        for _ in 0..count {
            let next = held.next_beat();
            let beat = |beat: u64| i64::try_from(beat).unwrap();
            let mut command = self.renewal.clone();
            let statement = command.get_array_mut("updates").unwrap()[0].as_document_mut().unwrap();
            let filter = statement.get_document_mut("q").unwrap();
            filter.insert("_id", held.name.as_str());
            filter.insert("x.nonce", held.nonce.to_string());
            let known = beat(next.acknowledged);
            filter.insert("x.beat", doc! { "$gte": known, "$lt": beat(next.beat) });
            filter.insert("x.from", doc! { "$not": { "$gte": known } });
            let update = statement.get_document_mut("u").unwrap();
            update.get_document_mut("$set").unwrap().insert("x.beat", beat(next.beat));
            commands.push(command);
            let revision = next.revision.clone();
            held = next.acknowledged(revision);
        }
        commands
    }

    /// Makes the name of this mode remember as many that were released as a busy name does in the mean: of
    /// its two halves one is full, and one fills. So ours and what is sent by hand find documents that
    /// are as large. Neither has to make room within its turn, which is one request more in 129 releases.
    pub(crate) async fn remember(&self, mode: Mode) {
        const HALF: usize = 128;
        let jitter = Jitter::system();
        let some = |count: usize| -> Document {
            (0..count)
                .map(|_| (jitter.nonce().to_string()[..16].to_owned(), Bson::Boolean(true)))
                .collect()
        };
        let first = (HALF - EACH) / 2;
        let count = i32::try_from(first).unwrap();
        let spent = doc! { "a": some(first), "b": some(HALF), "n": count };
        let again = doc! { "$set": { "spent": spent } };
        self.leases().update_one(doc! { "_id": mode.as_str() }, again).await.unwrap();
    }

    fn leases(&self) -> Collection<Document> {
        self.database.collection(Options::COLLECTION)
    }

    /// Sends them one after the other; each must have changed its document.
    pub(crate) async fn send(&self, commands: impl Iterator<Item = Document>) {
        for command in commands {
            let answer = self.database.run_command(command).await.unwrap();
            let changed = match answer.get_document("lastErrorObject") {
                Ok(last) => last.get_i32("n") == Ok(1),
                Err(_) => answer.get_i32("nModified") == Ok(1),
            };
            assert!(changed, "{answer}");
        }
    }

    /// Looks at a lease that somebody holds.
    pub(crate) async fn confirm(&self) {
        let answer = self.database.run_command(self.confirmation.clone()).await.unwrap();
        assert!(answer.get_document("cursor").is_ok(), "{answer}");
    }

    /// The least: a field is set if it is free, and freed again.
    pub(crate) async fn bare_cycle(&self) {
        let all = WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build();
        for (seen, next) in [(Bson::Null, Bson::from("ann")), (Bson::from("ann"), Bson::Null)] {
            let found = self.bare.find_one_and_update(
                doc! { "_id": "bare", "holder": seen },
                doc! { "$set": { "holder": next }, "$currentDate": { "at": true } },
            );
            found.upsert(true).write_concern(all.clone()).await.unwrap();
        }
    }
}

/// The command without what the driver adds to each.
fn ours_alone(command: Document) -> Document {
    let added = |field: &str| field.starts_with('$') || field == "lsid" || field == "txnNumber";
    command.into_iter().filter(|(field, _)| !added(field)).collect()
}

/// The same with another nonce, whole or shortened, in every text and field.
fn renamed(from: &str, to: &str, value: Bson) -> Bson {
    let text = |text: &str| text.replace(from, to).replace(&from[..16], &to[..16]);
    match value {
        Bson::String(value) => Bson::String(text(&value)),
        Bson::Array(values) => {
            Bson::Array(values.into_iter().map(|value| renamed(from, to, value)).collect())
        }
        Bson::Document(fields) => fields
            .into_iter()
            .map(|(field, value)| (text(&field), renamed(from, to, value)))
            .collect::<Document>()
            .into(),
        other => other,
    }
}
