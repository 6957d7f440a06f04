//! A short list that is copied with its state: no allocation for each of millions of states.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// At most `N` values.
#[derive(Clone, Copy)]
pub struct List<T, const N: usize> {
    values: [T; N],
    len: u8,
}

impl<T: Copy + Default, const N: usize> List<T, N> {
    /// Adds one at the end.
    ///
    /// # Panics
    ///
    /// If the list is full: the setting is too large for the model, which must not pass unnoticed.
    pub fn push(&mut self, value: T) {
        assert!(!self.is_full(), "the model has no room for more than {N}");
        self.values[usize::from(self.len)] = value;
        self.len += 1;
    }

    /// Whether nothing more fits.
    #[must_use]
    pub fn is_full(&self) -> bool {
        usize::from(self.len) == N
    }

    /// Takes one out; the later ones move up.
    pub fn remove(&mut self, index: usize) -> T {
        let removed = self[index];
        self.copy_within(index + 1.., index);
        self.len -= 1;
        self.values[usize::from(self.len)] = T::default();
        removed
    }

    /// Keeps only those that are wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&T) -> bool) {
        for index in (0..self.len()).rev() {
            if !is_wanted(&self[index]) {
                self.remove(index);
            }
        }
    }
}

impl<T: Copy + Default, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        Self { values: [T::default(); N], len: 0 }
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for List<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::default();
        values.into_iter().for_each(|value| list.push(value));
        list
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values[..usize::from(self.len)]
    }
}

impl<T, const N: usize> DerefMut for List<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..usize::from(self.len)]
    }
}

impl<T: PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, const N: usize> Eq for List<T, N> {}

impl<T: Hash, const N: usize> Hash for List<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}
