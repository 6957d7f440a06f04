//! Checks the protocol: `cargo xtask model`.

fn main() {}
