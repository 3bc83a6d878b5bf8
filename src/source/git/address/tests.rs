//! Spellings, keys, and what is not taken.

use super::*;

fn key(text: &str) -> String {
    Address::parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .key()
}

#[test]
fn every_spelling_of_one_repository_has_one_key() {
    for text in [
        "https://host.example/o/r",
        "https://host.example/o/r/",
        "https://host.example/o/r.git",
        "https://host.example/o/r.git/",
        "HTTPS://Host.Example:443/o/r",
        "https://me@host.example/o/r",
        "ssh://git@host.example/o/r.git",
        "ssh://git@HOST.example:22/o/r",
        "ssh://me@host.example/o/r",
        "git@host.example:o/r.git",
        "git@host.example:/o/r",
        "host.example:o/r",
    ] {
        assert_eq!(key(text), "host.example/o/r", "{text}");
    }
    for other in [
        "https://host.example:8443/o/r",
        "https://host.example/O/r",
        "me@host.example:o/r",
        "file:///host.example/o/r",
        "https://host.example/o/r.git.git",
    ] {
        assert_ne!(key(other), "host.example/o/r", "{other}");
    }
    assert_eq!(key("file:///x/repo/.git/"), key("file:///x/repo"));
    assert_ne!(key("file:///x/repo.git"), key("file:///x/repo"));
}

#[test]
fn the_normal_form_reads_back_as_itself() {
    for (text, normal) in [
        (
            "https://Host.example:443/o/r.git/",
            "https://host.example/o/r.git",
        ),
        (
            "https://host.example/a%20b/%c3%a4",
            "https://host.example/a%20b/%C3%A4",
        ),
        (
            "https://me@host.example:8443/r",
            "https://me@host.example:8443/r",
        ),
        ("ssh://git@Host:22/o/r", "ssh://git@Host/o/r"),
        ("ssh://git@host:2222/~me/r", "ssh://git@host:2222/~me/r"),
        ("git@host:~/r", "ssh://git@host/~/r"),
        ("git@host:/~/r", "ssh://git@host/%7E/r"),
        ("git@host:o/r.git", "git@host:o/r.git"),
        ("git@host:/o/r.git", "ssh://git@host/o/r.git"),
        ("git@[::1]:o/r", "git@[::1]:o/r"),
        ("ssh://git@[::1]:2222/o/r", "ssh://git@[::1]:2222/o/r"),
        ("http://127.0.0.1:80/r", "http://127.0.0.1/r"),
        ("http://[::1]:8080/r", "http://[::1]:8080/r"),
        ("http://LOCALHOST:1/r", "http://localhost:1/r"),
        ("git://[::1]:9418/r", "git://[::1]/r"),
        ("file:///x/y%20z/", "file:///x/y%20z"),
        ("file://localhost/x", "file:///x"),
    ] {
        let address = Address::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(address.to_string(), normal, "{text}");
        assert_eq!(Address::parse(normal), Ok(address), "{text}");
    }
    let github = Address::github("o", "r").expect("legal names");
    assert_eq!(github.to_string(), "https://github.com/o/r");
}

#[test]
fn what_is_not_taken_says_what_to_write() {
    use AddressError::*;
    for (text, wanted) in [
        ("", Empty),
        ("o/r", NoAddress),
        ("./o:r", NoAddress),
        ("/x/y", NoAddress),
        ("C:/x", NoAddress),
        ("git://host/r", Unprotected("git")),
        ("git@host:o/r b", Character(' ')),
        ("http://host.example/r", Unprotected("http")),
        ("http://127.0.0.1.evil.example/r", Unprotected("http")),
        ("ftp://host/r", Scheme("ftp".to_owned())),
        ("ext::sh -c x", Character(' ')),
        ("ext::sh", Helper("ext".to_owned())),
        ("ext::http://x/y", Helper("ext".to_owned())),
        ("https://me:secret@host/r", Password),
        ("https://:secret@host/r", User),
        ("https://host/r?x", Extra('?')),
        ("https://host#x/r", Extra('#')),
        ("https://host/r\n", Character('\n')),
        ("https://host/a b", Character(' ')),
        ("https://host\\@evil/r", Character('\\')),
        ("https://host/%zz", Escape),
        ("https://host/%2f", Escape),
        ("https://host/a%0ab", Escape),
        ("https://host/%ff", Escape),
        ("https:///r", Host),
        ("https://ho st/r", Character(' ')),
        ("https://a%00b/r", Host),
        ("ssh://-oProxyCommand=x/r", Host),
        ("ssh://ho$t/r", Host),
        ("ssh://[::g]/r", Host),
        ("-oProxyCommand=x:r", Host),
        ("-x@host:r", User),
        ("ssh://-l@host/r", User),
        ("https://host:0/r", Port),
        ("https://host:65536/r", Port),
        ("https://host:x/r", Port),
        ("ssh://host:+1/r", Port),
        ("https://host", Path),
        ("https://host///", Path),
        ("https://host/a/../b", Path),
        ("https://host/%2e%2e/b", Path),
        ("git@host:-x", Path),
        ("git@host:", Path),
        ("file://x/y", FileHost),
        ("file://", Path),
    ] {
        assert_eq!(Address::parse(text), Err(wanted), "{text:?}");
    }
    assert!(Address::github("o", "..").is_err());
    assert!(Address::github("o/p", "r").is_err());
    assert!(Address::github("", "r").is_err());
}

#[test]
fn no_message_repeats_a_password() {
    let error = Address::parse("https://me:hunter2@host/r").expect_err("a password");
    assert!(!error.to_string().contains("hunter2"));
    let (address, password) =
        Address::parse_with_password("https://me:hunter2%40@host/r").expect("an address");
    assert_eq!(password.as_deref(), Some("hunter2@"));
    assert!(!format!("{address} {address:?}").contains("hunter2"));
}
