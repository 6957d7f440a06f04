//! Simulated schedules: one replayed, or many.

use crate::step::{Failure, cargo, heading, run};

/// How many schedules CI runs: less than a minute on two processors.
const SCHEDULES_OF_CI: &str = "10000";

/// The same schedules each time: a change that breaks one is the change that broke it.
pub(crate) fn as_ci_does() -> Result<(), Failure> {
    simulate(&["--seeds".to_owned(), SCHEDULES_OF_CI.to_owned()])
}

/// Runs the simulation, in a release build, with these arguments of its own.
pub(crate) fn simulate(arguments: &[String]) -> Result<(), Failure> {
    heading("simulation");
    let mut command = cargo(&["run", "--release", "--quiet", "--package", "simulation", "--"]);
    command.args(arguments);
    run(command)
}
