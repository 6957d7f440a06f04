//! The one door for chance: nonces, and the spread of waits.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng, TryRng};

use crate::Nonce;

/// Where randomness comes from.
///
/// [`Jitter::system`] asks the operating system, so that a forked or cloned process never repeats
/// a nonce; [`Jitter::seeded`] repeats itself, for tests and for the simulator.
#[derive(Debug)]
pub struct Jitter(Source);

#[derive(Debug)]
enum Source {
    System,
    Seeded(Mutex<SmallRng>),
}

impl Jitter {
    /// Randomness from the operating system.
    #[must_use]
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// The same numbers for the same seed, for tests and simulations only.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded(Mutex::new(SmallRng::seed_from_u64(seed))))
    }

    /// A fresh nonce: 128 random bits.
    ///
    /// # Panics
    ///
    /// If the operating system has no randomness: without it no holder could be told from another.
    #[must_use]
    pub fn nonce(&self) -> Nonce {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        Nonce::from_bytes(bytes)
    }

    /// A time between `from` and `to`, evenly. `from` where the bounds are the wrong way round.
    #[must_use]
    pub fn between(&self, from: Duration, to: Duration) -> Duration {
        from + to.saturating_sub(from).mul_f64(self.unit())
    }

    /// A number from zero up to, not including, one.
    fn unit(&self) -> f64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        // 53 bits are what an f64 keeps exactly.
        (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[expect(clippy::expect_used, reason = "no randomness, no identity: nothing may go on")]
    fn fill(&self, bytes: &mut [u8]) {
        match &self.0 {
            Source::System => {
                rand::rngs::SysRng.try_fill_bytes(bytes).expect("the system has randomness");
            }
            Source::Seeded(rng) => rng.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself_and_the_system_does_not() {
        assert_eq!(Jitter::seeded(7).nonce(), Jitter::seeded(7).nonce());
        assert_ne!(Jitter::system().nonce(), Jitter::system().nonce());
    }

    #[test]
    fn a_spread_stays_within_its_bounds() {
        let (from, to) = (Duration::from_millis(50), Duration::from_millis(250));
        let jitter = Jitter::seeded(1);
        for _ in 0..1000 {
            let wait = jitter.between(from, to);
            assert!(from <= wait && wait < to);
        }
        assert_eq!(jitter.between(to, from), to);
    }
}
