//! What is run: the correct protocol in each setting, and each rule switched off in the smallest
//! setting in which it falls.

mod broken;
mod correct;

pub use broken::{broken, second_guards};
pub use correct::{correct, large};

use crate::general::Mode;

const W: Mode = Mode::Writer;
const X: Mode = Mode::Exclusive;
