//! Choices that a seed repeats.

use std::time::Duration;

use leasehold::Jitter;

/// Choices that a seed repeats.
#[derive(Debug)]
pub struct Chance(Jitter);

impl Chance {
    /// The choices of `whom` under `seed`: each has its own, so that what one does changes nothing
    /// for the others.
    #[must_use]
    pub fn of(seed: u64, whom: u64) -> Self {
        let mixed =
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ whom.wrapping_mul(0xD1B5_4A32_D192_ED03);
        Self(Jitter::seeded(mixed))
    }

    /// A number below `end`.
    pub fn below(&self, end: u64) -> u64 {
        let nanos = self.0.between(Duration::ZERO, Duration::from_nanos(end)).as_nanos();
        u64::try_from(nanos).unwrap_or(0).min(end.saturating_sub(1))
    }

    /// Whether it is one time in so many.
    pub fn one_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A time between these two.
    pub fn between(&self, from: Duration, to: Duration) -> Duration {
        self.0.between(from, to)
    }

    /// A time up to so many hundredths of `time`.
    pub fn up_to(&self, hundredths: u32, time: Duration) -> Duration {
        self.between(Duration::ZERO, time * hundredths / 100)
    }

    /// One of these.
    ///
    /// # Panics
    ///
    /// Where there is nothing to choose from.
    pub fn one_of<'a, T>(&self, these: &'a [T]) -> &'a T {
        &these[usize::try_from(self.below(these.len() as u64)).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself_and_each_has_its_own() {
        let of = |seed, whom| -> Vec<u64> {
            let chance = Chance::of(seed, whom);
            (0..20).map(|_| chance.below(1000)).collect()
        };
        assert_eq!(of(7, 1), of(7, 1));
        assert_ne!(of(7, 1), of(7, 2));
        assert_ne!(of(7, 1), of(8, 1));
    }

    #[test]
    fn a_number_is_below_its_end_and_each_one_comes() {
        let chance = Chance::of(1, 1);
        let mut seen = [false; 3];
        (0..100).for_each(|_| seen[chance.below(3) as usize] = true);
        assert_eq!(seen, [true; 3]);
    }
}
