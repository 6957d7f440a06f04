//! Names.

use leasehold::Name;
use proptest::prelude::*;

/// Any text, often one that is short and odd.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-zA-Z0-9_./%:-]{0,24}",
        r"(\.|/|\\|\.\.|_2f|%2e){0,12}",
        "[a-z/é]{150,1100}",
    ]
}

proptest! {
    #![proptest_config(crate::cases(2000))]

    /// A text is a name as it stands, or is refused with a remedy.
    #[test]
    fn are_kept_as_given_or_refused(text in texts()) {
        match Name::parse(&text) {
            Ok(name) => {
                prop_assert_eq!(name.as_str(), &text);
                let json = serde_json::to_string(&name).unwrap();
                prop_assert_eq!(serde_json::from_str::<Name>(&json).unwrap(), name);
            }
            Err(error) => prop_assert!(crate::tells_what_to_do(&error), "{error}"),
        }
    }

    /// The portable form is one plain file name of a bounded length, and reads back as the name or
    /// not at all.
    #[test]
    fn have_a_portable_form_that_leads_nowhere_else(text in texts()) {
        let Ok(name) = Name::parse(&text) else { return Ok(()) };
        let portable = name.portable();
        prop_assert!((1..=180).contains(&portable.len()));
        prop_assert!(!portable.starts_with('.'), "{portable}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        prop_assert!(portable.chars().all(plain), "{portable}");
        let back = Name::from_portable(&portable);
        prop_assert!(back.is_none_or(|back| back == name));
    }

    /// Two names never share it.
    #[test]
    fn are_kept_apart(one in texts(), other in texts()) {
        if let (Ok(one), Ok(other)) = (Name::parse(one), Name::parse(other)) {
            prop_assert_eq!(one == other, one.portable() == other.portable());
        }
    }

    /// What somebody else wrote is a portable form only in its one spelling.
    #[test]
    fn are_read_from_one_spelling_only(text in texts()) {
        if let Some(name) = Name::from_portable(&text) {
            prop_assert_eq!(name.portable(), text);
        }
    }
}
