//! The protocol under a model checker: it holds, and every rule that is switched off is caught.

pub mod check;
pub mod files;
pub mod general;
mod list;
pub mod live;
pub mod report;
pub mod rules;
pub mod run;
pub mod suite;
pub mod words;
