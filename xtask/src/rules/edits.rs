//! Places in the code, and what stands there without something.

/// One place where something is kept, which stands in the file exactly once.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) file: &'static str,
    pub(crate) kept: &'static str,
    pub(crate) broken: &'static str,
}

pub(crate) const fn edit(file: &'static str, kept: &'static str, broken: &'static str) -> Edit {
    Edit { file, kept, broken }
}
