//! Each rule, and the smallest setting in which it falls when it is switched off.

use super::{W, X};
use crate::files::{self, Deadline};
use crate::general::{self, Fault, Resource};
use crate::rules::Rule;
use crate::run::Run;

/// All rules switched off, one after the other.
#[must_use]
pub fn broken() -> Vec<(Rule, Run)> {
    let general = general_form().into_iter().map(|(rule, setting)| (rule, Run::General(setting)));
    let files = file_form().into_iter().map(|(rule, setting)| (rule, Run::Files(setting)));
    general.chain(files).map(|(rule, run)| (rule, run.without(rule))).collect()
}

fn general_form() -> Vec<(Rule, general::Setting)> {
    use general::Setting;
    let wx = Setting::new("WX", &[W, X]);
    let xx = Setting::new("XX", &[X, X]);
    let late = |name, setting| Setting { name, unclear: None, late: 1, ..setting };
    let wx_late = late("WX, unclear and late", wx);
    let xx_late = late("XX, unclear and late", xx);
    let unfenced = Setting { name: "XX, unfenced", resource: Resource::Unfenced, margin: 1, ..xx };
    let repeats = Setting { name: "WX, repeats", repeats: true, late: 1, ..wx };
    let wwx = Setting::new("WWX", &[W, W, X]);
    let (resource, only) = (Resource::Fenced, Some(Fault::ValidRefused));
    let refused = Setting { name: "WWX, fenced", resource, only, renew: false, ..wwx };
    vec![
        (Rule::R1, wx),
        (Rule::R2, wx),
        (Rule::R3, wx),
        (Rule::R4, wx),
        (Rule::R5, wx),
        (Rule::R6, xx),
        (Rule::R7, Setting { only: Some(Fault::Overlap), ..wx_late }),
        (Rule::R8, xx_late),
        (Rule::R9, wx),
        (Rule::R10, wx),
        (Rule::R11, wx),
        (Rule::R12, xx),
        (Rule::R13, wx),
        (Rule::R14, xx_late),
        (Rule::R15, wx),
        (Rule::R16, Setting { name: "XX of one name", same_name: true, ..xx }),
        (Rule::R17, Setting { name: "WX, ttl changes", other_ttl: 1, ..wx }),
        (Rule::R18, Setting { name: "WX, clocks late", clock_late: 1, margin: 1, ..wx }),
        (Rule::R18, Setting { name: "WX, coarse store clock", granularity: 2, margin: 1, ..wx }),
        (Rule::R19, repeats),
        (Rule::R19, Setting { only: Some(Fault::Overlap), ..repeats }),
        (Rule::R20, wwx),
        (Rule::R20, refused),
        (Rule::R21, Setting { name: "WX, fenced", resource: Resource::Fenced, ..wx }),
        (Rule::R22, Setting { name: "WX, fenced", resource: Resource::Fenced, ..wx }),
        (Rule::R23, unfenced),
        (Rule::R24, Setting { name: "WX, fair", fair: true, ..wx }),
    ]
}

fn file_form() -> Vec<(Rule, files::Setting)> {
    use files::Setting;
    let wx = Setting::new("WX", &[W, X]);
    let xx = Setting::new("XX", &[X, X]);
    let wwx = Setting::new("WWX", &[W, W, X]);
    // Rule F3 makes these a second guard. They are shown where a refresh counts that is sent, not
    // answered, before the old deadline: which they, and not F3, make safe.
    let sent = Setting { name: "WX, no F3 but sent in time", deadline: Deadline::Sent, ..wx };
    let wx_late = Setting { name: "WX, one unclear and late", unclear: Some(1), late: 1, ..wx };
    let wwx_late = Setting { name: "WWX, one unclear and late", unclear: Some(1), late: 1, ..wwx };
    let garbage = Setting { name: "WX, garbage", collects: true, ..wx };
    vec![
        (Rule::R1, wx),
        (Rule::R4, wx),
        (Rule::R5, wx),
        (Rule::R6, xx),
        (Rule::R7, wx_late),
        (Rule::R8, Setting { name: "WX, one unclear", unclear: Some(1), ..wx }),
        (Rule::R10, sent),
        (Rule::R11, sent),
        (Rule::R12, xx),
        (Rule::R15, wx),
        (Rule::R19, wx_late),
        (Rule::R20, wwx),
        (Rule::R24, Setting { name: "WX, fair", fair: true, ..wx }),
        (Rule::F1, sent),
        (Rule::F2, wx),
        (Rule::F3, Setting { name: "WX, garbage, ttl 1", ttl: 1, ..garbage }),
        (Rule::F4, Setting { name: "WX, garbage, no F3 but sent in time", collects: true, ..sent }),
        (Rule::F5, Setting { name: "WX, garbage, ttl 1", ttl: 1, ..garbage }),
        (Rule::F6, xx),
        (Rule::F7, wwx),
        (Rule::F8, wwx_late),
        (Rule::F9, Setting { name: "XX, garbage, ttl 1", collects: true, ttl: 1, ..xx }),
        (Rule::F10, wx),
        (Rule::F11, Setting { name: "WWX, at once", at_once: true, ..wwx }),
        (Rule::F12, Setting { name: "WWX, at once", at_once: true, ..wwx }),
        (Rule::F13, Setting { name: "WX, at once", at_once: true, ..wx }),
    ]
}

/// Rules of the file form that rule F3 makes a second guard: the protocol holds without any one of
/// them alone, as long as a refresh counts only if it is answered in time.
#[must_use]
pub fn second_guards() -> Vec<(Rule, Run)> {
    use files::Setting;
    let wx = Setting::new("WX", &[W, X]);
    let xx = Setting::new("XX", &[X, X]);
    let garbage = Setting { name: "WX, garbage, ttl 1", collects: true, ttl: 1, ..wx };
    let spared =
        [(Rule::R10, wx), (Rule::R11, wx), (Rule::F1, wx), (Rule::F1, xx), (Rule::F4, garbage)];
    spared.map(|(rule, setting)| (rule, Run::Files(setting).without(rule))).into()
}
