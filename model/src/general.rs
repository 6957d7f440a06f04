//! The general form: an anchor with compare-and-swap, and the writers' records apart.

mod actions;
mod answers;
mod canonical;
mod client;
mod model;
mod setting;
mod state;
mod store;
mod time;
mod words;

pub use actions::{Action, Choice, Fate};
pub use model::{General, PROPERTIES};
pub use setting::{Evidence, Resource, Setting};
pub use state::{Client, Fault, Mode, Nonce, Over, Record, Request, State, Step, Target, Token};
