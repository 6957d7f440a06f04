//! `lease break`: takes a name away from its holder.

use leasehold::backend::Broken;
use leasehold::{BreakNote, Epoch, HolderInfo, Nonce};
use nix::unistd::{Uid, User};
use serde::Serialize;

use crate::args::Break;
use crate::exit::{Cause, Failure};
use crate::show::table;
use crate::status::{look, patiently};
use crate::tell::print_json;

/// What was broken, as `--json` shows it.
#[derive(Debug, Serialize)]
struct BrokenView {
    name: String,
    broken: Vec<String>,
    epoch: u64,
}

pub(crate) async fn break_(which: Break) -> Result<u8, Failure> {
    let backend = which.on.store.open().await?;
    let seen = look(&*backend, &which.name).await?;
    let there: Vec<Nonce> =
        seen.exclusive.iter().chain(&seen.writers).map(|record| record.nonce).collect();
    let nonces = match which.id {
        Some(id) => vec![id],
        None => there,
    };
    if !which.json && !seen.is_free() {
        println!("{}", table(&seen));
    }
    let note = BreakNote { by: who(), why: which.why.clone() };
    let (mut broken, mut epoch) = (Vec::new(), seen.epoch);
    for nonce in nonces {
        let step = backend.break_record(&which.name, nonce, &note);
        if let Broken::Broken { epoch: raised } = patiently(backend.kind(), step).await? {
            broken.push(nonce.to_string());
            epoch = epoch.max(raised);
        }
    }
    if broken.is_empty() {
        let what = match which.id {
            Some(id) => format!("nobody holds `{}` with the id {id}", which.name),
            None => format!("nobody holds `{}`", which.name),
        };
        return Err(Failure::new(Cause::NotThere, format!("{what}: nothing was changed")));
    }
    tell(&which, broken, epoch);
    Ok(0)
}

fn tell(which: &Break, broken: Vec<String>, epoch: Epoch) {
    if which.json {
        let name = which.name.to_string();
        print_json(&BrokenView { name, broken, epoch: epoch.get() });
    } else {
        println!("broken: {} of {}; the epoch is {epoch}", broken.join(", "), which.name);
    }
}

/// Who breaks, for whoever wonders later.
fn who() -> String {
    let user = User::from_uid(Uid::current()).ok().flatten();
    let user = user.map_or_else(|| Uid::current().to_string(), |user| user.name);
    let host = HolderInfo::of_this_process().build().map(|info| info.host);
    format!("{user}@{}", host.unwrap_or_default())
}
