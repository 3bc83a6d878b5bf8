//! Endpoint URLs (§7.2.1): "an absolute HTTP or HTTPS URL" read as RFC 3986
//! has it, on the raw string, because lenient parsers repair what other clients
//! refuse (`https:host`, backslashes, padding, `127.1`).

use std::net::{Ipv4Addr, Ipv6Addr};

/// What is wrong with an endpoint URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlProblem {
    /// Not an absolute HTTP or HTTPS URL; the phrase follows "the URL …".
    Invalid(String),
    /// It holds user information, or the `@` of an empty one.
    UserInformation,
    /// It holds a fragment, or the `#` of an empty one.
    Fragment,
    /// It is plain HTTP and its host is not loopback.
    NotHttps,
}

/// Everything that is wrong with an endpoint URL; empty for a valid one.
pub fn problems(url: &str) -> Vec<UrlProblem> {
    let mut found = Vec::new();
    if let Some(bad) = url
        .chars()
        .find(|&c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return vec![UrlProblem::Invalid(format!("holds {bad:?}"))];
    }
    let Some((scheme, rest)) = url.split_once(':') else {
        return vec![UrlProblem::Invalid("has no scheme".into())];
    };
    let https = scheme.eq_ignore_ascii_case("https");
    if !https && !scheme.eq_ignore_ascii_case("http") {
        return vec![UrlProblem::Invalid(
            "does not begin with https:// or http://".into(),
        )];
    }
    let Some(rest) = rest.strip_prefix("//") else {
        return vec![UrlProblem::Invalid(format!(
            "lacks the // behind {scheme}:"
        ))];
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if url.contains('#') {
        found.push(UrlProblem::Fragment);
    }
    let address = match authority.rsplit_once('@') {
        Some((_, address)) => {
            found.push(UrlProblem::UserInformation);
            address
        }
        None => authority,
    };
    match host_of(address) {
        Err(phrase) => found.push(UrlProblem::Invalid(phrase)),
        Ok(host) if !https && !is_loopback(host) => found.push(UrlProblem::NotHttps),
        Ok(_) => {}
    }
    found
}

/// The host of `host[:port]`, checked.
fn host_of(address: &str) -> Result<&str, String> {
    let (host, port) = if let Some(literal) = address.strip_prefix('[') {
        let (literal, behind) = literal
            .split_once(']')
            .ok_or("has an unclosed [ in its host")?;
        literal
            .parse::<Ipv6Addr>()
            .map_err(|_| "has no IPv6 address between [ and ]".to_owned())?;
        let port = match behind {
            "" => None,
            behind => Some(
                behind
                    .strip_prefix(':')
                    .ok_or("has text behind the ] of its host")?,
            ),
        };
        (literal, port)
    } else {
        match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        }
    };
    if host.is_empty() {
        return Err("has no host".into());
    }
    if let Some(bad) = host.chars().find(|c| "<>\"^`|[]".contains(*c)) {
        return Err(format!("holds {bad:?} in its host"));
    }
    // An empty port is legal and means the default one.
    match port {
        Some(port) if !port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err("has a port that is not a number".into())
        }
        Some(port) if !port.is_empty() && port.parse::<u16>().is_err() => {
            Err("has a port larger than 65535".into())
        }
        _ => Ok(host),
    }
}

/// Exactly `localhost` in any case, an address of 127.0.0.0/8 as a dotted quad,
/// or `::1`. IPv6 addresses stand without brackets.
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback())
        || host
            .parse::<Ipv6Addr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Whether the host of a URL is loopback as it is written: clients that repair
/// `127.1` or `0x7f000001` connect to this machine for a text that does not say so.
pub fn names_loopback(url: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    let Some((scheme, rest)) = url.split_once("://").filter(|_| !url.contains(is_odd)) else {
        return false;
    };
    let is_web = ["http", "https"].map(|web| scheme.eq_ignore_ascii_case(web));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let address = authority.rsplit_once('@').map_or(authority, |(_, at)| at);
    is_web.contains(&true) && host_of(address).is_ok_and(is_loopback)
}

/// What RFC 3986 does not let stand in a URL although every client gets a host out
/// of it: a character that has to be percent-encoded, a `%` without its two digits;
/// and `%00`, which it lets stand and servers refuse. Braces are left to whoever
/// looks for templates, and letters beyond ASCII are encoded alike everywhere.
pub fn odd_character(url: &str) -> Option<String> {
    let (_, behind) = url.split_once("://")?;
    let start = behind.find(['/', '?', '#'])?;
    let path = behind.get(start..)?;
    for (at, character) in path.char_indices() {
        if "<>\"^`|".contains(character) {
            return Some(format!("{character:?}"));
        }
        if character == '%' {
            let digits = path.get(at + 1..at + 3).unwrap_or_default();
            let escape = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            if !escape {
                return Some("a % without two hexadecimal digits".to_owned());
            }
            if digits == "00" {
                return Some("%00".to_owned());
            }
        }
    }
    None
}

/// The names and values in the query of a URL, undecoded.
pub fn query_pairs(url: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    query.split('&').filter_map(|pair| pair.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_urls() {
        for url in [
            "https://a.example/mcp",
            "HTTPS://a.example",
            "https://a.example:/mcp",
            "https://a.example:443/mcp?a=b",
            "http://localhost:8000/mcp",
            "http://LOCALHOST",
            "http://127.0.0.1",
            "http://127.9.9.9:1/x",
            "http://[::1]:8080/",
            "https://bücher.example/é%zz",
            "https://${HOST}/mcp",
            "https://127.1/",
            "https://a.example:00443/",
        ] {
            assert_eq!(problems(url), [], "{url}");
        }
    }

    #[test]
    fn loopback_is_what_is_written() {
        for (url, here) in [
            ("http://localhost:1/x", true),
            ("HTTPS://u@127.0.0.1?x", true),
            ("http://[::1]:8080", true),
            ("http://2130706433/", false),
            ("http://0x7f000001:1/", false),
            ("http://127.1/", false),
            ("http://0177.0.0.1/", false),
            ("http://%31%32%37.0.0.1/", false),
            ("http:2130706433/x://localhost/", false),
            ("http://2130706433\\@localhost/", false),
            ("http://a.example/@localhost", false),
            ("//localhost/", false),
            ("localhost", false),
        ] {
            assert_eq!(names_loopback(url), here, "{url}");
        }
    }

    #[test]
    fn odd_characters() {
        for (url, odd) in [
            ("https://a.example/x<y", Some("'<'")),
            ("https://a.example/?q=\"x\"", Some("'\"'")),
            ("https://a.example/a%00b", Some("%00")),
            (
                "https://a.example/é%zz",
                Some("a % without two hexadecimal digits"),
            ),
            (
                "https://a.example/%",
                Some("a % without two hexadecimal digits"),
            ),
            (
                "https://a.example/%é",
                Some("a % without two hexadecimal digits"),
            ),
            ("https://a.example/{x}/%C3%A9?a=[b]&c='d'", None),
            ("https://bücher.example", None),
        ] {
            assert_eq!(odd_character(url).as_deref(), odd, "{url}");
        }
    }

    #[test]
    fn invalid_urls() {
        for url in [
            "",
            "mcp",
            "/mcp",
            "ftp://a.example",
            "https:a.example",
            "https:/a.example",
            "https://",
            "https:///path",
            "https://a b.example",
            "https://a.example/x y",
            " https://a.example",
            "https://a.example\n",
            "https:\\\\a.example",
            "https://a.example:99999",
            "https://a.example:x",
            "https://[::1",
            "https://[zz]/",
            "https://[::1]x/",
            "https://a<b/",
            "https://:443/",
        ] {
            assert!(
                matches!(problems(url)[..], [UrlProblem::Invalid(_)]),
                "{url:?}: {:?}",
                problems(url)
            );
        }
        for url in [
            "https://u@a.example",
            "https://u:p@a.example",
            "https://@a.example",
            "https://:@a.example",
        ] {
            assert_eq!(problems(url), [UrlProblem::UserInformation], "{url}");
        }
        for url in [
            "https://a.example#",
            "https://a.example/x#y",
            "https://a.example?x#",
        ] {
            assert_eq!(problems(url), [UrlProblem::Fragment], "{url}");
        }
        for url in [
            "http://a.example",
            "http://localhost.",
            "http://app.localhost",
            "http://127.1",
            "http://0x7f.1",
            "http://2130706433",
            "http://0177.0.0.1",
            "http://[::ffff:127.0.0.1]",
            "http://１２７.0.0.1",
            "http://0.0.0.0",
            "http://128.0.0.1",
            "http://127.0.0.1.example",
        ] {
            assert_eq!(problems(url), [UrlProblem::NotHttps], "{url}");
        }
        assert_eq!(
            problems("http://u@a.example/#x"),
            [
                UrlProblem::Fragment,
                UrlProblem::UserInformation,
                UrlProblem::NotHttps
            ]
        );
    }
}
