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

/// Each stands once where it is looked for: a change of the code that moves something takes its edit
/// along.
#[cfg(test)]
pub(crate) fn find_their_places(name: &str, edits: &[Edit]) {
    for edit in edits {
        let path = crate::step::workspace().join(edit.file);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let found = text.matches(edit.kept).count();
        assert_eq!(found, 1, "{name}, in {}: {}", edit.file, edit.kept);
    }
}
