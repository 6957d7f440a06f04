//! `lease break`: takes a name away from its holder.

use leasehold::backend::Broken;
use leasehold::{BreakNote, Epoch, HolderInfo, Nonce};
use nix::unistd::{Uid, User};
use serde::Serialize;

use crate::args::Break;
use crate::exit::{Cause, Failure};
use crate::show::table;
use crate::status::{look, patiently};
use crate::tell::{print, print_json};

/// What was broken, as `--json` shows it.
#[derive(Debug, Serialize)]
struct BrokenView {
    name: String,
    broken: Vec<String>,
    epoch: u64,
}

pub(crate) async fn break_(which: Break) -> Result<u8, Failure> {
    // Looked at first with read rights: what is not there is not made by breaking it.
    let looking = which.on.store.open_to_look().await?;
    let seen = look(&*looking, &which.name).await?;
    let there = seen.exclusive.iter().chain(&seen.writers).map(|record| record.nonce);
    let nonces: Vec<Nonce> = match which.id {
        Some(id) => seen.record(id).map(|record| record.nonce).into_iter().collect(),
        None => there.collect(),
    };
    if !which.json && !seen.is_free() {
        print(table(&seen))?;
    }
    if nonces.is_empty() {
        return Err(nobody(&which));
    }
    let backend = which.on.store.open().await?;
    let note = BreakNote::new(who(), which.why.clone()).dated();
    let (mut broken, mut epoch) = (Vec::new(), seen.epoch);
    for nonce in nonces {
        let step = backend.break_record(&which.name, nonce, &note);
        if let Broken::Broken { epoch: raised } = patiently(backend.kind(), step).await? {
            broken.push(nonce.to_string());
            epoch = epoch.max(raised);
        }
    }
    if broken.is_empty() {
        return Err(nobody(&which));
    }
    tell(&which, broken, epoch)?;
    Ok(0)
}

fn nobody(which: &Break) -> Failure {
    let with = which.id.map_or_else(String::new, |id| format!(" with the id {id}"));
    let what = format!("nobody holds `{}`{with}: nothing was changed", which.name);
    Failure::new(Cause::NotThere, what)
}

fn tell(which: &Break, broken: Vec<String>, epoch: Epoch) -> Result<(), Failure> {
    if which.json {
        let name = which.name.to_string();
        print_json(&BrokenView { name, broken, epoch: epoch.get() })
    } else {
        print(format!("broken: {} of {}; the epoch is {epoch}", broken.join(", "), which.name))
    }
}

/// Who breaks, for whoever wonders later.
fn who() -> String {
    let user = User::from_uid(Uid::current()).ok().flatten();
    let user = user.map_or_else(|| Uid::current().to_string(), |user| user.name);
    let host = HolderInfo::of_this_process().build().map(|info| info.host);
    format!("{user}@{}", host.unwrap_or_default())
}
