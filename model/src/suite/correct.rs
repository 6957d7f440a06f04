//! The settings in which the correct protocol is searched to the end.

use super::{W, X};
use crate::files::{self, Deadline, Over};
use crate::general::{self, Evidence, Mode, Resource};
use crate::run::Run;

const fn general(name: &'static str, clients: &'static [Mode]) -> general::Setting {
    general::Setting::new(name, clients)
}

const fn files(name: &'static str, clients: &'static [Mode]) -> files::Setting {
    files::Setting::new(name, clients)
}

/// What fits CI.
#[must_use]
pub fn correct() -> Vec<Run> {
    let mut runs: Vec<Run> = general_runs().into_iter().map(Run::General).collect();
    runs.extend(file_runs().into_iter().map(Run::Files));
    runs
}

/// What takes longer, and more memory.
#[must_use]
pub fn large() -> Vec<Run> {
    use Resource::Fenced;
    let unclear = |name, clients| general::Setting { unclear: Some(1), ..general(name, clients) };
    let fenced = |name, clients| general::Setting {
        resource: Fenced,
        renew: false,
        writes: 1,
        ..general(name, clients)
    };
    let general = [
        general::Setting { late: 2, ..unclear("WX, one unclear, two late", &[W, X]) },
        general::Setting { late: 1, ..unclear("WWX, one unclear and late", &[W, W, X]) },
        general::Setting { late: 1, ..unclear("WXX, one unclear and late", &[W, X, X]) },
        fenced("WWX, fenced, no renewals", &[W, W, X]),
        fenced("WXX, fenced, no renewals", &[W, X, X]),
        general("WWXX", &[W, W, X, X]),
    ];
    let unclear = |name, clients| files::Setting { unclear: Some(1), ..files(name, clients) };
    let files = [
        files("WXX", &[W, X, X]),
        files::Setting { collects: true, ..files("WX, garbage", &[W, X]) },
        files::Setting {
            collects: true,
            late: 1,
            ttl: 1,
            ..unclear("WX, garbage, one unclear and late, ttl 1", &[W, X])
        },
        unclear("WWX, one unclear", &[W, W, X]),
        unclear("WXX, one unclear", &[W, X, X]),
        files::Setting {
            at_once: true,
            late: 1,
            ..unclear("WX, at once, one unclear and late", &[W, X])
        },
        files::Setting { at_once: true, ..files("WWX, at once", &[W, W, X]) },
        files::Setting {
            at_once: true,
            renew: false,
            ..files("WXX, at once, no renewals", &[W, X, X])
        },
    ];
    general.into_iter().map(Run::General).chain(files.into_iter().map(Run::Files)).collect()
}

fn general_runs() -> Vec<general::Setting> {
    use general::Setting;
    let mut runs = vec![
        Setting { unclear: None, late: 1, ..general("WX, any number unclear, one late", &[W, X]) },
        Setting { unclear: None, late: 2, ..general("XX, any number unclear, two late", &[X, X]) },
        Setting { unclear: None, ..general("WWX, any number unclear", &[W, W, X]) },
        Setting { unclear: None, ..general("WXX, any number unclear", &[W, X, X]) },
        Setting { evidence: Evidence::ByRevision, ..general("WX, judged by revision", &[W, X]) },
        Setting { evidence: Evidence::ByRevision, ..general("XX, judged by revision", &[X, X]) },
        Setting {
            takeover: false,
            clear: false,
            evict: false,
            ..general("WX, nothing taken over", &[W, X])
        },
        Setting { same_name: true, deaths: 1, ..general("XX of one name, one dies", &[X, X]) },
        Setting { ttl: 3, unclear: None, ..general("WX, ttl 3, any number unclear", &[W, X]) },
        Setting { other_ttl: 1, ..general("WX, ttl changes", &[W, X]) },
        Setting { clock_late: 1, margin: 1, ..general("WX, clocks late by the margin", &[W, X]) },
        Setting { granularity: 2, margin: 1, ..general("WX, coarse store clock", &[W, X]) },
        Setting {
            repeats: true,
            late: 1,
            unclear: Some(1),
            ..general("WX, repeats, one unclear", &[W, X])
        },
        Setting { repeats: true, late: 1, ..general("XX, repeats", &[X, X]) },
        Setting { resource: Resource::Fenced, ..general("WX, fenced", &[W, X]) },
        Setting { resource: Resource::Fenced, ..general("XX, fenced", &[X, X]) },
        Setting {
            resource: Resource::Fenced,
            renew: false,
            writes: 1,
            ttl: 1,
            ..general("WWX, fenced, no renewals, ttl 1", &[W, W, X])
        },
        Setting { resource: Resource::Unfenced, margin: 1, ..general("WX, unfenced", &[W, X]) },
        Setting { resource: Resource::Unfenced, margin: 1, ..general("WXX, unfenced", &[W, X, X]) },
        Setting { resource: Resource::Unfenced, margin: 1, ..general("XX, unfenced", &[X, X]) },
    ];
    let all: [(&str, &str, &str, &[Mode]); 3] = [
        ("WX, fair", "WX, fair, one late", "WX, fair, one dies", &[W, X]),
        ("WWX, fair", "WWX, fair, one late", "WWX, fair, one dies", &[W, W, X]),
        ("WXX, fair", "WXX, fair, one late", "WXX, fair, one dies", &[W, X, X]),
    ];
    for (plain, late, dies, clients) in all {
        runs.push(Setting { fair: true, ..general(plain, clients) });
        runs.push(Setting { fair: true, unclear: Some(1), late: 1, ..general(late, clients) });
        runs.push(Setting { fair: true, deaths: 1, ..general(dies, clients) });
    }
    runs
}

fn file_runs() -> Vec<files::Setting> {
    use files::Setting;
    let mut runs = vec![
        Setting { unclear: None, ..files("WX, any number unclear", &[W, X]) },
        Setting { unclear: Some(1), late: 1, ..files("WX, one unclear and late", &[W, X]) },
        Setting { unclear: None, late: 1, ..files("XX, any number unclear, one late", &[X, X]) },
        files("WWX", &[W, W, X]),
        Setting { renew: false, ..files("WXX, no renewals", &[W, X, X]) },
        Setting { ttl: 3, ..files("WX, ttl 3", &[W, X]) },
        Setting { over: Over::ByAge, ..files("WX, over by age", &[W, X]) },
        Setting { deadline: Deadline::Sent, ..files("WX, no F3 but sent in time", &[W, X]) },
        Setting { deadline: Deadline::Sent, ..files("XX, no F3 but sent in time", &[X, X]) },
        Setting {
            deadline: Deadline::Sent,
            collects: true,
            ..files("WX, garbage, no F3 but sent in time", &[W, X])
        },
        Setting { collects: true, ttl: 1, ..files("WX, garbage, ttl 1", &[W, X]) },
        Setting { collects: true, ..files("XX, garbage", &[X, X]) },
    ];
    let at_once = |name, clients| Setting { at_once: true, ..files(name, clients) };
    runs.extend([
        Setting { unclear: None, ..at_once("WX, at once, any number unclear", &[W, X]) },
        Setting {
            unclear: None,
            late: 1,
            ..at_once("XX, at once, any number unclear, one late", &[X, X])
        },
        Setting { ttl: 1, ..at_once("WWX, at once, ttl 1", &[W, W, X]) },
        Setting { collects: true, ttl: 1, ..at_once("WX, at once, garbage, ttl 1", &[W, X]) },
        Setting { collects: true, ..at_once("XX, at once, garbage", &[X, X]) },
        Setting { fair: true, deaths: 1, ..at_once("WXX, at once, fair, one dies", &[W, X, X]) },
        Setting { fair: true, deaths: 1, ..at_once("WWX, at once, fair, one dies", &[W, W, X]) },
    ]);
    let all: [(&str, &str, &str, &[Mode]); 3] = [
        ("WX, fair", "WX, fair, one late", "WX, fair, one dies", &[W, X]),
        ("WWX, fair", "WWX, fair, one late", "WWX, fair, one dies", &[W, W, X]),
        ("WXX, fair", "WXX, fair, one late", "WXX, fair, one dies", &[W, X, X]),
    ];
    for (plain, late, dies, clients) in all {
        runs.push(Setting { fair: true, ..files(plain, clients) });
        runs.push(Setting { fair: true, unclear: Some(1), late: 1, ..files(late, clients) });
        runs.push(Setting { fair: true, deaths: 1, ..files(dies, clients) });
    }
    runs
}
