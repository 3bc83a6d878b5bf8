//! What goes wrong between the client and a server over HTTP, told apart.

use std::borrow::Cow;
use std::sync::Arc;

use crate::net;

/// The connection could not even be tried.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A credential that is no header.
    #[error(
        "the credential for the header {name} cannot be sent: a name is letters, digits and hyphens, a value is one line without control characters"
    )]
    Credential {
        /// The header's name; the value is not shown.
        name: String,
    },
    /// A credential in a header that the client writes itself.
    #[error("the header {name} is written by the client itself and can carry no credential")]
    Generated {
        /// Its name.
        name: String,
    },
    /// `http:` to another machine (§7.2.1).
    #[error(
        "the server at {address} is not on this machine, so its address has to begin with https:"
    )]
    Plain {
        /// The address, without its query.
        address: String,
    },
}

/// What an unfitting answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// A server of the older transport HTTP+SSE.
    Sse,
    /// A server of Streamable HTTP.
    Streamable,
    /// A web page.
    Page,
    /// Nothing known.
    None,
}

impl Hint {
    fn text(self) -> &'static str {
        match self {
            Self::Sse => {
                "; servers of the older transport answer so: if this is one, its entry needs \"type\": \"sse\""
            }
            Self::Streamable => {
                "; servers of Streamable HTTP answer so: if this is one, its entry needs \"type\": \"streamable-http\""
            }
            Self::Page => "; that is a web page: look for the address of the MCP endpoint itself",
            Self::None => "",
        }
    }
}

/// An exchange with a server that failed. Reads as a sentence of its own.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No answer, or none that was complete.
    #[error("failed to {0}")]
    Net(#[from] net::Error),
    /// A redirect that is not followed.
    #[error("{from} answers {method} with a redirect ({status}) to {to}; {why}")]
    Redirect {
        /// What was asked, without its query.
        from: String,
        /// What was done there.
        method: &'static str,
        /// The status.
        status: u16,
        /// Where it leads, without its query.
        to: String,
        /// Why it is not followed, and what helps.
        why: Cow<'static, str>,
    },
    /// The server wants credentials, or other ones.
    #[error("{address} {}", credentials(*.status, .scheme.as_deref(), *.given))]
    Credentials {
        /// The address, without its query.
        address: String,
        /// 401 or 403.
        status: u16,
        /// The scheme that the server asks for.
        scheme: Option<String>,
        /// Whether credentials were sent.
        given: bool,
    },
    /// Another status than one that MCP knows.
    #[error("{address} answers {method} with status {status}{}{}", bracketed(.said), .hint.text())]
    Status {
        /// The address, without its query.
        address: String,
        /// What was done there.
        method: &'static str,
        /// The status.
        status: u16,
        /// What the server says about it, in one short line.
        said: Option<String>,
        /// What it looks like.
        hint: Hint,
    },
    /// Another kind of content than one that MCP knows.
    #[error("{address} answers {method} with {}{}", content(.got), .hint.text())]
    Content {
        /// The address, without its query.
        address: String,
        /// What was done there.
        method: &'static str,
        /// The media type.
        got: Option<String>,
        /// What it looks like.
        hint: Hint,
    },
    /// An answer that is no message of MCP, or not the one that was due.
    #[error("{address} sends what is no answer of MCP: {detail}")]
    Message {
        /// The address, without its query.
        address: String,
        /// What is wrong.
        detail: String,
    },
    /// The stream ended and could not be taken up again.
    #[error("the stream of {address} ended before the answer came{}", behind_colon(.detail))]
    Ended {
        /// The address, without its query.
        address: String,
        /// Why it could not.
        detail: Option<String>,
    },
    /// The older transport: no usable address for messages.
    #[error("{address} {detail}")]
    Endpoint {
        /// The address of the stream, without its query.
        address: String,
        /// What is wrong.
        detail: String,
        /// Whether one was announced.
        announced: bool,
    },
    /// The stream that all answers come on was lost before.
    #[error("{0}")]
    Lost(Arc<Self>),
    /// The transport was closed, or rmcp gave up.
    #[error("the connection to {address} is closed: {detail}")]
    Closed {
        /// The address, without its query.
        address: String,
        /// Why.
        detail: String,
    },
}

impl Failure {
    /// Whether it lasts until somebody changes something, here or there: what is refused
    /// today is refused in a minute. What may have been late or too much does not.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Redirect { .. } | Self::Credentials { .. } => true,
            Self::Net(error) => error.kind.is_lasting(),
            Self::Status { status, .. } => net::is_lasting_status(*status),
            Self::Lost(failure) => failure.is_lasting(),
            Self::Content { .. }
            | Self::Message { .. }
            | Self::Ended { .. }
            | Self::Endpoint { .. }
            | Self::Closed { .. } => false,
        }
    }
}

/// How credentials are given, as the scheme that the server asks for wants it.
fn way(scheme: Option<&str>) -> String {
    let given = match scheme {
        Some(scheme) if scheme.eq_ignore_ascii_case("Bearer") => BEARER,
        _ => "--credential SERVER:HEADER=env:VARIABLE",
    };
    format!(
        "give them with {given} or in the file of credentials; they never belong in the package"
    )
}

/// How a token is given that stands behind its word.
const BEARER: &str = "--credential 'SERVER:Authorization=Bearer env:VARIABLE'";

fn credentials(status: u16, scheme: Option<&str>, given: bool) -> String {
    let known = match scheme {
        Some(scheme) => format!("status {status}, scheme {scheme}"),
        None => format!("status {status}"),
    };
    if given {
        let mut text = format!("does not accept the credentials given for this server ({known})");
        if scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("Bearer")) {
            text.push_str("; a token is given as ");
            text.push_str(BEARER);
        }
        text
    } else if status == 403 && scheme.is_none() {
        // It may as well want another client, or another name for itself.
        format!(
            "refuses this client ({known}); if it wants credentials, {}",
            way(scheme)
        )
    } else {
        format!("wants credentials ({known}): {}", way(scheme))
    }
}

fn bracketed(said: &Option<String>) -> String {
    match said {
        Some(said) => format!(" ({said})"),
        None => String::new(),
    }
}

fn content(got: &Option<String>) -> String {
    match got {
        Some(got) => format!("content of the type {got}"),
        None => "content of no type".to_owned(),
    }
}

fn behind_colon(detail: &Option<String>) -> String {
    match detail {
        Some(detail) => format!(": {detail}"),
        None => String::new(),
    }
}

/// The scheme that `WWW-Authenticate` begins with; what follows may tell more than
/// a message should.
pub(super) fn scheme(value: &str) -> Option<String> {
    let word = value.trim_start().split([' ', ',', '=']).next()?;
    let fine = crate::spec::header::is_valid_name(word) && word.len() <= 32;
    fine.then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Failure, net, scheme};

    #[test]
    fn only_the_scheme_is_taken() {
        assert_eq!(scheme("Bearer realm=\"x\"").as_deref(), Some("Bearer"));
        assert_eq!(scheme("Basic").as_deref(), Some("Basic"));
        assert_eq!(scheme("\u{1b}[0m").as_deref(), None);
        assert_eq!(scheme(""), None);
    }

    #[test]
    fn what_lasts_is_told_from_what_may_pass() {
        let status = |status| {
            let (address, hint) = (String::new(), super::Hint::None);
            Failure::Status {
                address,
                method: "POST",
                status,
                said: None,
                hint,
            }
        };
        let net = |kind| {
            let address = String::new();
            Failure::Net(net::Error { address, kind })
        };
        let tls = |certificate| {
            let detail = String::new();
            net(net::ErrorKind::Tls {
                detail,
                certificate,
            })
        };
        let forbidden = net::ErrorKind::Forbidden {
            reason: String::new(),
        };
        for lasting in [
            status(400),
            status(404),
            status(410),
            tls(true),
            net(forbidden),
            Failure::Lost(Arc::new(status(404))),
        ] {
            assert!(lasting.is_lasting(), "{lasting:?}");
        }
        for passing in [
            status(408),
            status(425),
            status(429),
            status(500),
            status(503),
            tls(false),
            net(net::ErrorKind::Refused { proxy: None }),
            net(net::ErrorKind::Dns { proxy: None }),
            Failure::Lost(Arc::new(status(503))),
        ] {
            assert!(!passing.is_lasting(), "{passing:?}");
        }
    }

    #[test]
    fn a_refusal_says_what_helps() {
        let refused = |given| {
            Failure::Credentials {
                address: "https://a.example/mcp".to_owned(),
                status: 401,
                scheme: Some("Bearer".to_owned()),
                given,
            }
            .to_string()
        };
        assert_eq!(
            refused(false),
            "https://a.example/mcp wants credentials (status 401, scheme Bearer): give them \
             with --credential 'SERVER:Authorization=Bearer env:VARIABLE' or in the file of \
             credentials; they never belong in the package"
        );
        assert_eq!(
            refused(true),
            "https://a.example/mcp does not accept the credentials given for this server \
             (status 401, scheme Bearer); a token is given as --credential \
             'SERVER:Authorization=Bearer env:VARIABLE'"
        );
        let other = super::credentials(401, Some("Basic"), false);
        assert!(other.contains("--credential SERVER:HEADER=env:VARIABLE or"));
        let unsaid = super::credentials(403, None, false);
        assert!(unsaid.starts_with("refuses this client (status 403); if it wants"));
    }
}
