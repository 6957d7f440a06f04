//! The proof that a holder shows with a write, and the gate that looks at it.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use crate::clock::Moment;
use crate::{Epoch, Mode, Name, Result, Token};

/// The proof, made at one moment, that a lease was held: what a protected write carries.
///
/// Only a [`Lease`](crate::Lease) makes one. It is worth what the resource makes of it: a resource
/// that keeps the highest [`Token`] it has seen and refuses lower ones turns a holder away that
/// stalled after it got its proof. Without such a resource a write that is already on its way when
/// the belief ends may still land.
#[derive(Clone, Debug)]
pub struct Fence {
    name: Name,
    mode: Mode,
    epoch: Epoch,
    believed_until: Moment,
}

impl Fence {
    pub(crate) const fn new(name: Name, mode: Mode, epoch: Epoch, believed_until: Moment) -> Self {
        Self { name, mode, epoch, believed_until }
    }

    /// The name that was held.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// How it was held.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The epoch that it was held under.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The number to send along with the write.
    #[must_use]
    pub const fn token(&self) -> Token {
        Token::new(self.mode, self.epoch)
    }

    /// When the belief ended that this proof rests on, on the coordinator's clock, unless the lease
    /// was renewed since.
    #[must_use]
    pub const fn believed_until(&self) -> Moment {
        self.believed_until
    }
}

/// Whether a resource lets a write in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It has seen no higher token.
    Admitted,
    /// A later holder has been here: the write is late.
    Refused {
        /// The highest token that it has seen.
        highest: Token,
    },
}

/// A resource that remembers the highest token it has seen, and refuses lower ones.
///
/// An implementation compares and remembers in one atomic step, next to the data that it protects,
/// and keeps the number as long as the data: a gate that forgets lets a stalled holder in. A token
/// equal to the highest is let in, since writers of one epoch share it.
#[async_trait]
pub trait DurableGate: Send + Sync {
    /// Lets `token` in if no higher one was seen, and remembers it.
    ///
    /// # Errors
    ///
    /// The write must not go on, since nothing is known.
    /// [`Error::Unavailable`](crate::Error::Unavailable) if the resource does not answer: ask
    /// again. [`Error::Misconfigured`](crate::Error::Misconfigured) if it refuses to, as for a
    /// right that is missing: call a person.
    ///
    /// # Cancel safety
    ///
    /// Safe: the token is remembered, is not, or will be yet. Ask again.
    async fn admit(&self, token: Token) -> Result<Admission>;
}

/// A gate in memory, for a resource that lives in this process.
///
/// ```
/// use lease_core::{Admission, Epoch, Gate, Mode, Token};
///
/// let gate = Gate::new();
/// let (old, new) = (Epoch::new(6).unwrap(), Epoch::new(7).unwrap());
/// assert_eq!(gate.admit_token(Token::new(Mode::Exclusive, new)), Admission::Admitted);
/// assert!(matches!(gate.admit_token(Token::new(Mode::Writer, old)), Admission::Refused { .. }));
/// ```
#[derive(Debug, Default)]
pub struct Gate(AtomicU64);

impl Gate {
    /// A gate that has seen nobody.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// A gate that has seen this token, as the resource remembers.
    #[must_use]
    pub const fn having_seen(highest: Token) -> Self {
        Self(AtomicU64::new(highest.get()))
    }

    /// Lets the holder of `fence` in if no later one was here.
    #[must_use]
    pub fn admit(&self, fence: &Fence) -> Admission {
        self.admit_token(fence.token())
    }

    /// Lets `token` in if no higher one was seen, and remembers it.
    #[must_use]
    pub fn admit_token(&self, token: Token) -> Admission {
        let before = self.0.fetch_max(token.get(), Ordering::SeqCst);
        if before > token.get() {
            Admission::Refused { highest: Token::from_number(before) }
        } else {
            Admission::Admitted
        }
    }

    /// The highest token that was seen.
    #[must_use]
    pub fn highest(&self) -> Token {
        Token::from_number(self.0.load(Ordering::SeqCst))
    }
}

#[async_trait]
impl DurableGate for Gate {
    async fn admit(&self, token: Token) -> Result<Admission> {
        Ok(self.admit_token(token))
    }
}
