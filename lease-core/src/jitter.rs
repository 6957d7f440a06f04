//! The one door for chance: nonces, and the spread of waits.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng, TryRng};

use crate::Nonce;

/// Where randomness comes from.
///
/// [`Jitter::system`] takes each nonce from the operating system, so that a forked or cloned process
/// never repeats one; [`Jitter::seeded`] repeats itself, for tests and for the simulator.
#[derive(Debug)]
pub struct Jitter {
    /// Nonces come from here too if it is seeded; from the system otherwise.
    rng: Mutex<SmallRng>,
    seeded: bool,
}

impl Jitter {
    /// Randomness from the operating system.
    ///
    /// # Panics
    ///
    /// If the operating system has no randomness.
    #[must_use]
    pub fn system() -> Self {
        Self { rng: Mutex::new(SmallRng::from_seed(from_the_system())), seeded: false }
    }

    /// The same numbers for the same seed, for tests and simulations only.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { rng: Mutex::new(SmallRng::seed_from_u64(seed)), seeded: true }
    }

    /// A fresh nonce: 128 random bits.
    ///
    /// # Panics
    ///
    /// If the operating system has no randomness: without it no holder could be told from another.
    #[must_use]
    pub fn nonce(&self) -> Nonce {
        Nonce::from_bytes(if self.seeded { self.rng().random() } else { from_the_system() })
    }

    /// A time between `from` and `to`, evenly. `from` where the bounds are the wrong way round.
    #[must_use]
    pub fn between(&self, from: Duration, to: Duration) -> Duration {
        from + to.saturating_sub(from).mul_f64(self.rng().random())
    }

    fn rng(&self) -> MutexGuard<'_, SmallRng> {
        self.rng.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(clippy::expect_used, reason = "no randomness, no identity: nothing may go on")]
fn from_the_system<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rngs::SysRng.try_fill_bytes(&mut bytes).expect("the system has randomness");
    bytes
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
