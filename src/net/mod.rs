//! The one HTTPS client: what may be asked of a server, what is sent along, how
//! much is taken and how long is waited.
//!
//! | module | what lives there |
//! | --- | --- |
//! | `client` | [`Client`]: connections, redirects, deadlines |
//! | `asynchronous` | [`AsyncClient`]: the same for an asynchronous runtime, one request at a time, its body piece by piece |
//! | `egress` | [`Egress`]: which addresses may be connected to |
//! | `request` | [`Request`]: an address, headers, which of them are secret |
//! | `response` | [`Response`]: a body with a cap |
//! | `proxy` | [`Proxies`]: which address goes through which proxy |
//! | `retry` | [`Retry`]: which failures are worth another try |
//! | `sent` | [`Sent`]: secrets that a server may send back |
//! | `trust` | [`Trust`]: whose certificates are trusted |
//! | `error` | [`Error`]: what went wrong, told apart |
//!
//! Rules that hold for every request:
//!
//! - `http:` is spoken with loopback addresses only, unless [`Settings::plain`]
//!   names the host.
//! - Redirects of [`Client`] are followed by one rule: at most [`MAX_REDIRECTS`], never from
//!   `https:` to `http:`, and a header marked secret is dropped for good once
//!   scheme, host or port changes. [`AsyncClient`] follows none.
//! - Names and passwords inside an address never reach a message, nor does a secret
//!   that the server sends back.
//! - Certificates are always verified.

mod asynchronous;
mod client;
mod egress;
mod error;
mod proxy;
mod request;
mod response;
mod retry;
mod sent;
mod trust;

pub use asynchronous::{AsyncClient, AsyncRequest, AsyncResponse, AsyncSettings, Lookup, Method};
pub use client::{Client, Interrupt, MAX_REDIRECTS, Permit, Settings, Timeouts};
pub use egress::{BadAllowance, Denied, Egress};
pub use error::{Error, ErrorKind, Waiting, is_lasting_status};
pub use proxy::{BadProxy, Proxies};
pub use request::Request;
pub use response::{Body, Response};
pub use retry::Retry;
pub use sent::Sent;
pub use trust::Trust;

use url::{Host, Url};

/// Whether two addresses have the same scheme, host and port: what a secret may
/// be sent to.
pub fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Whether an address means this machine: `localhost`, names below it, and the
/// loopback addresses.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
        }
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// An address as messages show it: without user, password, query and fragment,
/// where secrets are carried.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Both fail only for addresses that can hold neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let query = url.query().is_some();
    url.set_query(None);
    if query {
        format!("{url}?…")
    } else {
        url.into()
    }
}

#[cfg(test)]
mod tests {
    use super::{is_loopback, same_origin, shown};
    use url::Url;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap_or_else(|error| unreachable!("{text}: {error}"))
    }

    #[test]
    fn loopback_is_this_machine_alone() {
        for text in [
            "http://localhost/",
            "http://LOCALHOST.:1/",
            "http://a.localhost/",
            "http://127.0.0.1/",
            "http://127.9.9.9/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://0x7f000001/",
        ] {
            assert!(is_loopback(&url(text)), "{text}");
        }
        for text in [
            "http://localhost.example/",
            "http://notlocalhost/",
            "http://0.0.0.0/",
            "http://128.0.0.1/",
            "http://127.0.0.1.example/",
            "http://[::2]/",
        ] {
            assert!(!is_loopback(&url(text)), "{text}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let here = url("https://a.example/x");
        for same in [
            "https://a.example/y?z",
            "https://A.example:443/",
            "https://u:p@a.example/",
        ] {
            assert!(same_origin(&here, &url(same)), "{same}");
        }
        for other in [
            "http://a.example/x",
            "https://b.example/x",
            "https://a.example:444/x",
            "https://x.a.example/",
        ] {
            assert!(!same_origin(&here, &url(other)), "{other}");
        }
    }

    #[test]
    fn what_is_shown_holds_no_secret() {
        assert_eq!(
            shown(&url("https://me:word@a.example:81/p?sig=word#word")),
            "https://a.example:81/p?…"
        );
        assert_eq!(shown(&url("https://a.example/p")), "https://a.example/p");
    }
}
