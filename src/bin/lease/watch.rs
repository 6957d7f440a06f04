//! `lease watch`: tells each change of some names, until it is ended.

use futures::stream::{SelectAll, StreamExt};
use leasehold::clock::{since_1970_ms, wall_clock_for_display};
use leasehold::{Coordinator, Error, Mode, Name, Result, Snapshot, State};
use serde::Serialize;

use crate::args::Watch;
use crate::exit::{Failure, with_sources};
use crate::show::{NameView, holder};
use crate::status::warn_of_a_strange_folder;
use crate::tell::{print, print_json_line, say};

/// A change, as a JSON line: what `status --json` shows, and when it was seen.
#[derive(Debug, Serialize)]
struct Change<'a> {
    seen_ms: u64,
    #[serde(flatten)]
    name: &'a NameView,
}

pub(crate) async fn watch(watch: Watch) -> Result<u8, Failure> {
    let leases = Coordinator::new(watch.on.store.open_to_look().await?);
    warn_of_a_strange_folder(&watch.on.store);
    let mut all = SelectAll::new();
    for name in &watch.names {
        let seen = leases.observe(name).into_stream();
        let name = name.clone();
        all.push(Box::pin(seen.map(move |seen| (name.clone(), seen))));
    }
    let mut problem = None;
    while let Some((name, seen)) = all.next().await {
        match seen {
            Ok(seen) => {
                if problem.take().is_some() {
                    say("lease: the store answers again");
                }
                tell(&watch, &name, &seen)?;
            }
            // It is looked at again; told once, until it changes.
            Err(error @ Error::Unavailable { .. }) => {
                let text = with_sources(&error);
                if problem.as_ref() != Some(&text) {
                    say(&format!("lease: {text}"));
                    problem = Some(text);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(0)
}

fn tell(watch: &Watch, name: &Name, seen: &Snapshot) -> Result<(), Failure> {
    if watch.json {
        let view = NameView::new(name.as_str(), seen);
        return print_json_line(&Change { seen_ms: since_1970_ms(), name: &view });
    }
    let now = humantime::format_rfc3339_seconds(wall_clock_for_display());
    print(format!("{now}  {name}  {}", sentence(seen)))
}

/// What is with a name, in a line for people.
fn sentence(seen: &Snapshot) -> String {
    let writers: Vec<_> = seen.writers.iter().map(person).collect();
    let writers = writers.join(", ");
    let what = match &seen.exclusive {
        Some(record) if record.state == State::Draining && writers.is_empty() => {
            format!("{} is about to hold it alone", person(record))
        }
        Some(record) if record.state == State::Draining => {
            format!("{} waits for its writers: {writers}", person(record))
        }
        Some(record) => format!("{} holds it alone", person(record)),
        None if writers.is_empty() => "free".to_owned(),
        None => format!("written by {writers}"),
    };
    format!("{what}; epoch {}", seen.epoch)
}

/// Who holds, and whether they have let it expire.
fn person(record: &leasehold::Record) -> String {
    let expired = record.freshness == leasehold::Freshness::Stale;
    let mode = if record.mode == Mode::Writer { "writer" } else { "holder" };
    match (expired, holder(record)) {
        (_, who) if who.is_empty() => format!("an unnamed {mode}"),
        (true, who) => format!("{who} (expired)"),
        (false, who) => who,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leasehold::memory::Memory;
    use leasehold::{Backend, Policy};

    use super::*;

    /// What is told while two writers come, somebody waits for them, and all go.
    #[tokio::test]
    async fn each_state_has_its_sentence() {
        let store = Arc::new(Memory::new());
        let person = |label: &str| {
            let info = leasehold::HolderInfo::of_this_process().label(label).build().unwrap();
            Coordinator::builder(store.clone()).info(info).policy(Policy::expired()).build()
        };
        let name = Name::parse("job").unwrap();
        let told = async || {
            let told = sentence(&store.inspect(&name).await.unwrap());
            told.split("; epoch ").next().unwrap().to_owned()
        };
        assert_eq!(sentence(&store.inspect(&name).await.unwrap()), "free; epoch 0");
        let anns = person("ann").writer("job").acquire().await.unwrap();
        assert_eq!(told().await, "written by ann");
        let waiting = person("bob").exclusive("job").wait(std::time::Duration::MAX).acquire();
        tokio::pin!(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        while store.inspect(&name).await.unwrap().exclusive.is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(told().await, "bob waits for its writers: ann");
        anns.release().await.unwrap();
        let bobs = waiting.await.unwrap();
        assert_eq!(told().await, "bob holds it alone");
        bobs.release().await.unwrap();
        assert_eq!(told().await, "free");
    }
}
