//! URLs of stores.

use leasehold::StoreUrl;
use proptest::prelude::*;

fn urls() -> impl Strategy<Value = String> {
    let scheme = prop_oneof![
        Just("file:"),
        Just("file://"),
        Just("file:///"),
        Just("FILE://localhost/"),
        Just("memory:"),
        Just("mongodb://"),
        Just("nats://"),
        Just("s3://"),
        Just("az://"),
        Just("gs://"),
        Just(""),
    ];
    // A driver looks further only where a user, a host and a query are.
    let whole = any::<(String, String, String)>()
        .prop_map(|(password, place, query)| format!("u:{password}@h/{place}?{query}"));
    (scheme, prop_oneof![any::<String>(), "[a-z0-9%/?#:@.& -]{0,40}", whole])
        .prop_map(|(scheme, rest)| format!("{scheme}{rest}"))
}

proptest! {
    #![proptest_config(crate::cases(4000))]

    /// A URL is shown as it could be written, or is refused with a remedy.
    #[test]
    fn go_round_or_are_refused(text in urls()) {
        match StoreUrl::parse(&text) {
            Ok(url) => {
                let shown = url.to_string();
                prop_assert_eq!(StoreUrl::parse(&shown).unwrap(), url, "{}", shown);
            }
            Err(error) => prop_assert!(crate::tells_what_to_do(&error), "{error}"),
        }
    }

    /// A password is in no log, and in no refusal.
    #[test]
    fn keep_passwords_to_themselves(scheme in "mongodb|nats|tls|redis", rest in "[a-z0-9/?&=.,:@]{0,30}") {
        let told = match StoreUrl::parse(&format!("{scheme}://user:hunter2secret@{rest}")) {
            Ok(url) => format!("{url:?} {}", url.without_password()),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!told.contains("hunter2secret"), "{}", told);
    }

    /// Not even where its own letters cut the URL in two.
    #[test]
    fn keep_pieces_of_passwords_to_themselves(
        scheme in "mongodb|nats|tls", cut in "[/?,:#]{1,2}", rest in "[a-z0-9/?&=.,:@]{0,30}"
    ) {
        let told = match StoreUrl::parse(&format!("{scheme}://user:a{cut}hunter2secret@{rest}")) {
            Ok(_) => String::new(),
            Err(error) => format!("{error} {error:?}"),
        };
        prop_assert!(!told.contains("hunter2secret"), "{}", told);
    }
}
