//! Simulated schedules: one replayed, or many.

use crate::step::{Failure, cargo, heading, run};

/// Runs the simulation, in a release build, with these arguments of its own.
pub(crate) fn simulate(arguments: &[String]) -> Result<(), Failure> {
    heading("simulation");
    let mut command = cargo(&["run", "--release", "--quiet", "--package", "simulation", "--"]);
    command.args(arguments);
    run(command)
}
