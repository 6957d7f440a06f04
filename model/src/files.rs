//! The file form: claims as files that are created, overwritten in place, listed and deleted.

mod actions;
mod answers;
mod canonical;
mod client;
mod model;
mod reading;
mod setting;
mod state;
mod store;
mod time;
mod words;

pub use actions::{Action, Choice, Fate};
pub use model::{FileForm, PROPERTIES};
pub use setting::{Deadline, Over, Setting};
pub use state::{Claim, Client, Fault, Files, Key, Mark, Request, Share, State, Step, Then};
