//! One spelling for each host, for rules that name hosts.

use std::borrow::Cow;

use url::Host;

/// A host, or a pattern of hosts with `*` in it, in the one spelling that all others
/// of it come to: lower case, without a dot at the end, punycode for what is no ASCII,
/// and addresses as numbers without brackets.
pub fn same_host(text: &str) -> String {
    let text = text.trim_end_matches('.').to_lowercase();
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(&text);
    if let Ok(address) = bare.parse::<std::net::Ipv6Addr>() {
        return address.to_string();
    }
    if !text.contains('*') {
        return match Host::parse(&text) {
            Ok(Host::Ipv6(address)) => address.to_string(),
            Ok(host) => host.to_string().trim_end_matches('.').to_owned(),
            // A name of the user's ssh configuration.
            Err(_) => text,
        };
    }
    let part = |part: &'_ str| match Host::parse(part) {
        Ok(Host::Domain(ascii)) if !part.is_ascii() => ascii,
        _ => part.to_owned(),
    };
    let parts: Vec<Cow<'_, str>> = text.split('.').map(|text| Cow::Owned(part(text))).collect();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::same_host;

    #[test]
    fn all_spellings_of_a_host_are_one() {
        for (text, wanted) in [
            ("GitHub.com", "github.com"),
            ("localhost.", "localhost"),
            ("[::1]", "::1"),
            ("::0001", "::1"),
            ("[::FFFF:127.0.0.1]", "::ffff:127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
            ("B\u{dc}CHER.example.", "xn--bcher-kva.example"),
            ("*.b\u{fc}cher.example", "*.xn--bcher-kva.example"),
            ("*.Example.com", "*.example.com"),
            ("127.*", "127.*"),
            ("my_alias", "my_alias"),
            ("*", "*"),
        ] {
            assert_eq!(same_host(text), wanted, "{text}");
        }
    }
}
