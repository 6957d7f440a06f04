//! What the benches have in common: times, ratios, others in processes of their own, and findings
//! that `cargo xtask bench` makes `BENCHMARKS.md` of. Development only, never published.
//!
//! A bench measures whom it compares in turns, A B A B, in one run on one server: a machine that is
//! busy for a while is then busy for all of them, and the ratio holds where the times do not.
//!
//! ```
//! use std::time::Duration;
//! use measure::{Comparison, Times};
//!
//! let (mut ours, mut bare) = (Times::default(), Times::default());
//! for _ in 0..3 {
//!     ours.push(Duration::from_millis(11));
//!     bare.push(Duration::from_millis(10));
//! }
//! let found = Comparison::new("one server", "acquire and release", "leasehold", &ours)
//!     .at_most("its requests alone", &bare, 1.15);
//! assert!(found.misses().is_empty());
//! ```

#![expect(clippy::print_stdout, reason = "a bench talks to a person at a terminal")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

mod bench;
pub mod costs;
mod finding;
pub mod hands;
mod other;
mod process;
mod times;

pub use bench::{Bench, OUT};
pub use finding::{Comparison, Curve, End, Figure, Finding, Line, Row, Wish};
pub use other::Other;
pub use process::Usage;
pub use times::{Times, shown};
