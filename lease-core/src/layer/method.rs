//! The methods of a backend that ask the store something, as data.

/// A method of [`Backend`](crate::Backend) that asks the store something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// [`observe`](crate::Backend::observe).
    Observe,
    /// [`inspect`](crate::Backend::inspect).
    Inspect,
    /// [`register`](crate::Backend::register).
    Register,
    /// [`install`](crate::Backend::install).
    Install,
    /// [`commit`](crate::Backend::commit).
    Commit,
    /// [`renew`](crate::Backend::renew).
    Renew,
    /// [`confirm`](crate::Backend::confirm).
    Confirm,
    /// [`withdraw`](crate::Backend::withdraw).
    Withdraw,
    /// [`evict`](crate::Backend::evict).
    Evict,
    /// [`break_record`](crate::Backend::break_record).
    BreakRecord,
    /// [`last_break`](crate::Backend::last_break).
    LastBreak,
    /// [`adopt`](crate::Backend::adopt).
    Adopt,
    /// [`names`](crate::Backend::names).
    Names,
    /// [`watch`](crate::Backend::watch).
    Watch,
    /// [`join`](crate::Backend::join), where a layer passes it on whole.
    Join,
    /// [`take`](crate::Backend::take), where a layer passes it on whole.
    Take,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Observe,
        Self::Inspect,
        Self::Register,
        Self::Install,
        Self::Commit,
        Self::Renew,
        Self::Confirm,
        Self::Withdraw,
        Self::Evict,
        Self::BreakRecord,
        Self::LastBreak,
        Self::Adopt,
        Self::Names,
        Self::Watch,
        Self::Join,
        Self::Take,
    ];

    /// Whether it changes what the store holds of a name.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(
            self,
            Self::Observe
                | Self::Inspect
                | Self::Confirm
                | Self::LastBreak
                | Self::Names
                | Self::Watch
        )
    }
}
