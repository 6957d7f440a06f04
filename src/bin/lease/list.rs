//! `lease list`: all names of a store.

use comfy_table::{Table, presets};

use crate::args::List;
use crate::exit::Failure;
use crate::show::{NameView, holder, state};
use crate::status::{look, patiently, warn_of_a_strange_folder};
use crate::tell::{print, print_json};

pub(crate) async fn list(list: List) -> Result<u8, Failure> {
    let backend = list.on.store.open_to_look().await?;
    warn_of_a_strange_folder(&list.on.store);
    let mut names = patiently(backend.kind(), backend.names()).await?;
    names.sort();
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        let seen = look(&*backend, &name).await?;
        all.push((name, seen));
    }
    if list.json {
        let views: Vec<_> =
            all.iter().map(|(name, seen)| NameView::new(name.as_str(), seen)).collect();
        print_json(&views)?;
        return Ok(0);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["NAME", "STATE", "HOLDERS", "EPOCH"]);
    for (name, seen) in &all {
        let labels = seen.exclusive.iter().chain(&seen.writers).map(holder);
        table.add_row([
            name.as_str(),
            state(seen),
            &labels.collect::<Vec<_>>().join(", "),
            &seen.epoch.to_string(),
        ]);
    }
    print(table)?;
    Ok(0)
}
