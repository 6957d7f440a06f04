//! Checks the protocol with the model checker.

use crate::step::{Failure, cargo, heading, run};

/// The correct protocol in all settings of CI, and each rule switched off; or the larger settings.
pub(crate) fn check(large: bool) -> Result<(), Failure> {
    heading("model");
    let mut arguments = vec!["run", "--quiet", "--release", "--package", "protocol-model"];
    if large {
        arguments.extend(["--", "--large"]);
    }
    run(cargo(&arguments))
}
