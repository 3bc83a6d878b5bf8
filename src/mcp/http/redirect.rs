//! The one rule for redirects, and for what may be asked of an address at all.
//!
//! | redirect | same origin | another origin |
//! | --- | --- | --- |
//! | of GET | followed | followed with no header but `Accept` |
//! | of POST or DELETE, 307 and 308 | sent again | not followed |
//! | of POST or DELETE, 301, 302 and 303 | not followed: it would become a GET | not followed |
//!
//! At most [`MAX_HOPS`]. On each hop: `https:` unless the host is loopback by the
//! specification's rule (§7.2.1), never from `https:` to `http:`, and addresses
//! are judged anew by the client, hosts by the user's rules.

use std::borrow::Cow;
use std::time::Duration;

use url::Url;

use super::failure::Failure;
use super::headers::{Field, Headers};
use crate::mcp::gate::Hosts;
use crate::net::{AsyncClient, AsyncRequest, AsyncResponse, Error, ErrorKind, Method};
use crate::net::{same_origin, shown};
use crate::spec::url::names_loopback;

/// The most redirects that are followed.
pub(super) const MAX_HOPS: usize = 5;

/// Whether `url` may be spoken with: `https:`, or `http:` to this machine as the
/// specification has it (§7.2.1). `is_here` says whether it is written so: in `url`
/// every number has become an address.
pub(super) fn is_protected(url: &Url, is_here: bool) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && is_here
}

/// Where requests come from, and what goes with them.
pub(super) struct From<'a> {
    /// The configured address: the headers go to its origin alone.
    pub(super) home: &'a Url,
    pub(super) headers: &'a Headers,
    /// The hosts that it may lead on to.
    pub(super) hosts: &'a Hosts,
}

/// What is asked, before any redirect.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) url: &'a Url,
    /// The headers that the client itself writes.
    pub(super) generated: &'a [Field],
    pub(super) body: Option<&'a [u8]>,
}

/// Sends a request, follows what the rule allows, and gives the answer.
pub(super) async fn send(
    client: &AsyncClient,
    &From {
        home,
        headers,
        hosts,
    }: &From<'_>,
    ask: Ask<'_>,
    answer: Duration,
) -> Result<AsyncResponse, Failure> {
    let mut url = ask.url.clone();
    // Once away, nothing of ours is sent again, not even back at home: whoever
    // led us back would choose what our credentials are used for.
    let mut away = !same_origin(home, &url);
    let mut hops = 0;
    loop {
        let fields = match (away, ask.method) {
            (false, _) => headers.with(ask.generated),
            (true, Method::Get) => plain(ask.generated),
            (true, _) => ask.generated.to_vec(),
        };
        let request = AsyncRequest {
            method: ask.method,
            url: url.clone(),
            headers: fields,
            body: ask.body.map(<[u8]>::to_vec),
        };
        let response = client.send(request, answer).await?;
        let status = response.status;
        let location = response.header("location");
        let Some(location) = location.filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308))
        else {
            return Ok(response);
        };
        let next = next(&url, location)?;
        let is_here = names_here(&url, &next, location);
        let why = refusal(ask.method, status, &url, &next, is_here).map(Cow::Borrowed);
        // It may repeat what was sent.
        let to = headers.masked(&shown(&next)).into_owned();
        if let Some(why) = why.or_else(|| hosts.check(&next).err().map(Cow::Owned)) {
            return Err(Failure::Redirect {
                from: shown(&url),
                method: ask.method.name(),
                status,
                to,
                why,
            });
        }
        hops += 1;
        if hops > MAX_HOPS {
            return Err(Failure::Redirect {
                from: shown(ask.url),
                method: ask.method.name(),
                status,
                to,
                why: "it leads on and on, which is not followed any further".into(),
            });
        }
        away = away || !same_origin(&url, &next);
        url = next;
    }
}

/// What a request needs that carries nothing of ours.
fn plain(generated: &[Field]) -> Vec<Field> {
    let mut fields = generated.to_vec();
    fields.retain(|(name, _)| name == "accept");
    fields
}

fn next(from: &Url, location: &str) -> Result<Url, Failure> {
    let mut next = from
        .join(location)
        .map_err(|_| Error::new(from, ErrorKind::Location))?;
    // A redirect does not get to choose who we are.
    let _ = next.set_username("");
    let _ = next.set_password(None);
    next.set_fragment(None);
    Ok(next)
}

/// Whether a redirect leads to this machine, as it is written. What has led `from`
/// here was written so.
fn names_here(from: &Url, to: &Url, location: &str) -> bool {
    let location = location.trim_matches([' ', '\t']);
    same_origin(from, to)
        || names_loopback(location)
        || location.starts_with("//") && names_loopback(&format!("{}:{location}", from.scheme()))
}

/// Why a redirect is not followed.
fn refusal(
    method: Method,
    status: u16,
    from: &Url,
    to: &Url,
    is_here: bool,
) -> Option<&'static str> {
    if from.scheme() == "https" && to.scheme() == "http" {
        return Some("it leads from https: to http: and is not followed");
    }
    if !is_protected(to, is_here) {
        return Some(
            "it leads to an address without https: on another machine and is not followed",
        );
    }
    if method == Method::Get {
        return None;
    }
    if !same_origin(from, to) {
        return Some(
            "messages and credentials do not follow to another origin: if the server moved, the package has to name its new address",
        );
    }
    (!matches!(status, 307 | 308)).then_some(
        "it asks to repeat the request as a GET, which loses the message: the server or its address has to be mended",
    )
}

#[cfg(test)]
mod tests {
    use super::{Method, is_protected, names_here, names_loopback, refusal};
    use url::Url;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap_or_else(|error| unreachable!("{text}: {error}"))
    }

    #[test]
    fn protection_follows_the_specification() {
        for fine in [
            "https://a.example",
            "http://localhost:1",
            "http://127.9.9.9",
            "http://[::1]",
        ] {
            assert!(is_protected(&url(fine), names_loopback(fine)), "{fine}");
        }
        for bad in [
            "http://a.example",
            "http://app.localhost",
            "http://localhost.",
            "http://[::ffff:127.0.0.1]",
            "http://2130706433",
            "http://127.1",
            "ftp://localhost",
        ] {
            assert!(!is_protected(&url(bad), names_loopback(bad)), "{bad}");
        }
    }

    #[test]
    fn the_rule() {
        let here = "https://a.example/mcp";
        let same = "https://a.example:443/other";
        let other = "https://b.example/mcp";
        for (method, status, to, followed) in [
            (Method::Get, 301, same, true),
            (Method::Get, 303, other, true),
            (Method::Get, 307, "http://a.example/mcp", false),
            (Method::Get, 307, "http://localhost/mcp", false),
            (Method::Post, 307, same, true),
            (Method::Post, 308, same, true),
            (Method::Post, 301, same, false),
            (Method::Post, 302, same, false),
            (Method::Post, 303, same, false),
            (Method::Post, 307, other, false),
            (Method::Post, 308, "https://a.example:444/mcp", false),
            (Method::Delete, 308, other, false),
            (Method::Delete, 303, same, false),
        ] {
            let refused = refusal(method, status, &url(here), &url(to), names_loopback(to));
            assert_eq!(refused.is_none(), followed, "{method:?} {status} {to}");
        }
        assert!(
            refusal(
                Method::Get,
                302,
                &url("http://localhost/"),
                &url("http://b.example/"),
                false
            )
            .is_some()
        );
    }

    #[test]
    fn this_machine_is_what_is_written_so() {
        let from = url("http://127.0.0.1:1/mcp");
        for (location, here) in [
            ("/there", true),
            ("http://2130706433:1/", true),
            ("http://2130706433:2/", false),
            ("http://127.0.0.2:2/", true),
            ("//localhost:2/", true),
            ("//127.1:2/", false),
            ("http:\\\\127.0.0.2/", false),
        ] {
            let to = from
                .join(location)
                .unwrap_or_else(|error| unreachable!("{error}"));
            assert_eq!(names_here(&from, &to, location), here, "{location}");
        }
    }
}
