//! The page of what was found.

use measure::{Comparison, Curve, Figure, Finding};

use super::{Subject, machine};

const INTRODUCTION: &str = "\
# Benchmarks

Written by `cargo xtask bench`, which starts every server that it needs and measures whom it compares in turns, in one run, on one
machine. Times go by the machine; the ratios are what to look at, and what is wished of them stands beside them. A median stands
with what a tenth and nine tenths of the turns did not exceed.

```console
$ cargo xtask bench                     # all of it, in about an hour
$ cargo xtask bench --only scale        # one; the others' last findings stay
$ cargo xtask bench --json > found.json
```

How many requests each step makes is told, and asserted by tests, in [docs/COSTS.md](docs/COSTS.md).
";

/// The whole page.
pub(super) fn of(all: &[(Subject, Vec<Finding>)]) -> String {
    let mut page = INTRODUCTION.to_owned();
    heading(&mut page, "The machine");
    table(&mut page, &["", ""], machine::lines().into_iter().map(|(what, is)| vec![what, is]));
    heading(&mut page, "Wished and missed");
    let misses: Vec<&String> = all.iter().flat_map(|(_, found)| found).flat_map(misses).collect();
    match misses.as_slice() {
        [] => page.push_str("Nothing.\n"),
        missed => missed.iter().for_each(|miss| line(&mut page, &format!("- {miss}"))),
    }
    for (subject, found) in all {
        heading(&mut page, subject.title());
        if found.is_empty() {
            page.push_str("Not measured.\n");
        } else if !found.iter().any(|found| matches!(found, Finding::End(_))) {
            page.push_str("It did not come to its end: this is what it had found by then.\n");
        }
        let figures = found.iter().filter_map(|found| match found {
            Finding::Figure(figure) => Some(figure),
            _ => None,
        });
        let figures: Vec<_> = figures.collect();
        for found in found {
            match found {
                Finding::Comparison(found) => comparison(&mut page, found),
                Finding::Curve(found) => curve(&mut page, found),
                Finding::Figure(_) | Finding::End(_) => {}
            }
        }
        if !figures.is_empty() {
            page.push('\n');
            table(&mut page, &["where", "what", "", "wished"], figures.into_iter().map(figure));
        }
    }
    page
}

fn misses(found: &Finding) -> &[String] {
    match found {
        Finding::End(end) => &end.misses,
        _ => &[],
    }
}

fn heading(page: &mut String, text: &str) {
    line(page, &format!("\n## {text}\n"));
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

fn table(page: &mut String, titles: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    line(page, &format!("| {} |", titles.join(" | ")));
    line(page, &format!("|{}", "---|".repeat(titles.len())));
    rows.for_each(|row| line(page, &format!("| {} |", row.join(" | "))));
}

fn comparison(page: &mut String, found: &Comparison) {
    line(page, &format!("\n**{}: {}**\n", found.place, found.what));
    let rows = found.cells().into_iter().map(|cells| cells.to_vec());
    table(page, &["", "median", "a tenth to nine tenths", "beside ours"], rows);
    found.because.iter().for_each(|why| line(page, &format!("\n{why}")));
}

fn figure(found: &Figure) -> Vec<String> {
    let wish = found.wish.map(|wish| wish.words(found.value, &found.unit));
    vec![found.place.clone(), found.what.clone(), found.told(), wish.unwrap_or_default()]
}

/// A plot that is drawn where the page is shown, and the numbers under it.
fn curve(page: &mut String, found: &Curve) {
    let at: Vec<String> = found.at.iter().map(|x| format!("\"{x}\"")).collect();
    line(page, "\n```mermaid\nxychart-beta");
    line(page, &format!("  title \"{}\"", found.title));
    line(page, &format!("  x-axis \"{}\" [{}]", found.x, at.join(", ")));
    line(page, &format!("  y-axis \"{}\"", found.y));
    for one in &found.lines {
        let values: Vec<String> = one.values.iter().map(|value| format!("{value:.3}")).collect();
        line(page, &format!("  line \"{}\" [{}]", one.name, values.join(", ")));
    }
    line(page, "```\n");
    let titles: Vec<String> = found.at.iter().map(|x| format!("{x} {}", found.x)).collect();
    let titles: Vec<&str> = [""].into_iter().chain(titles.iter().map(String::as_str)).collect();
    table(
        page,
        &titles,
        found.lines.iter().map(|one| {
            let values = one.values.iter().map(|value| format!("{value:.2}"));
            [format!("{}, {}", one.name, found.y)].into_iter().chain(values).collect()
        }),
    );
}
