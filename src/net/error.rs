//! What goes wrong on the way to a server and back, told apart.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::time::Duration;

use url::Url;

use super::egress::Denied;

/// A request that failed. Reads after "failed to …".
#[derive(Debug, thiserror::Error)]
#[error("reach {address}: {kind}")]
pub struct Error {
    /// The address, without anything secret (see [`super::shown`]).
    pub address: String,
    /// What happened.
    pub kind: ErrorKind,
}

/// What was waited for when the time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// For a connection, the TLS handshake included.
    Connection,
    /// For the head of the answer.
    Answer,
    /// For more of the body.
    Body,
    /// For all of it.
    Whole,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "no connection came about",
            Self::Answer => "no answer came",
            Self::Body => "nothing more of the answer came",
            Self::Whole => "the answer was not complete",
        })
    }
}

/// The kinds of failure.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// An address that is neither `https:` nor `http:`, or has no host.
    #[error("an address begins with https:// and a host")]
    Scheme,
    /// `http:` to another machine.
    #[error("http: would send everything unprotected; use https:")]
    Plain,
    /// An address that must not be connected to.
    #[error("{0}")]
    Denied(Box<Denied>),
    /// A rule of the user.
    #[error("{reason}")]
    Forbidden {
        /// Which, and that it forbids the host.
        reason: String,
    },
    /// A redirect from `https:` to `http:`.
    #[error("the server leads from https: to http:, to {to}; that is not followed")]
    Downgrade {
        /// Where to, without anything secret.
        to: String,
    },
    /// More than [`super::MAX_REDIRECTS`] redirects.
    #[error("the server leads on more than {} times", super::MAX_REDIRECTS)]
    Redirects,
    /// A redirect to something that is no address.
    #[error("the server leads on to something that is no address")]
    Location,
    /// The name of the host is not known.
    #[error("no such host, or the name service does not answer{}", via(.proxy))]
    Dns {
        /// The proxy the request went through, whose name it may be.
        proxy: Option<String>,
    },
    /// Nobody listens there.
    #[error("the connection was refused{}", via(.proxy))]
    Refused {
        /// The proxy the request went through, which may have been it.
        proxy: Option<String>,
    },
    /// No connection for another reason.
    #[error("no connection: {detail}{}", via(.proxy))]
    Connect {
        /// What the system or the proxy says.
        detail: String,
        /// The proxy the request went through.
        proxy: Option<String>,
    },
    /// The certificate is not trusted, or the handshake failed.
    #[error("no protected connection: {detail}")]
    Tls {
        /// What is wrong.
        detail: String,
        /// Whether it is the certificate that is not trusted.
        certificate: bool,
    },
    /// The time was up.
    #[error("{waiting} within {} s", seconds(.after))]
    Timeout {
        /// What was waited for.
        waiting: Waiting,
        /// How long.
        after: Duration,
    },
    /// The server answered with another status than 2xx.
    #[error("the server answered with status {code}{}", said(.reason))]
    Status {
        /// The status.
        code: u16,
        /// What it says about it, in one short line.
        reason: Option<String>,
        /// How long it asks to wait before the next try.
        retry_after: Option<Duration>,
    },
    /// More than was asked for.
    #[error("the answer is larger than {limit} bytes, which is the most taken here")]
    TooLarge {
        /// The cap, in bytes.
        limit: u64,
    },
    /// The body ended early.
    #[error("the answer broke off after {received} bytes")]
    Cut {
        /// How much had come.
        received: u64,
    },
    /// The body is not in the encoding that the server names.
    #[error("the answer is not the {encoding} data it claims to be")]
    Encoding {
        /// The `content-encoding`.
        encoding: String,
    },
    /// The answer is not HTTP.
    #[error("the answer is not understood: {detail}")]
    Protocol {
        /// What is wrong.
        detail: String,
    },
    /// A header that cannot be sent.
    #[error("the header {name} has a value that cannot be sent")]
    Header {
        /// Its name; the value may be secret.
        name: String,
    },
    /// The client could not be set up.
    #[error("set up the client: {detail}")]
    Setup {
        /// Why.
        detail: String,
    },
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
}

fn via(proxy: &Option<String>) -> String {
    match proxy {
        Some(proxy) => format!(" (through the proxy {proxy})"),
        None => String::new(),
    }
}

fn said(reason: &Option<String>) -> String {
    match reason {
        Some(reason) => format!(" ({reason})"),
        None => String::new(),
    }
}

fn seconds(after: &Duration) -> String {
    let seconds = after.as_secs_f64();
    if seconds >= 1.0 {
        format!("{seconds:.0}")
    } else {
        format!("{seconds:.2}")
    }
}

/// Whether an answer of this status is the same in a minute unless somebody changes
/// something: that of a request too late, too early, too often or in another's way is not.
pub fn is_lasting_status(code: u16) -> bool {
    (400..500).contains(&code) && !matches!(code, 408 | 409 | 421 | 423 | 425 | 429)
}

impl ErrorKind {
    /// Whether it lasts until somebody changes something: an address, a rule, a certificate.
    /// What may have been late, or too much for a while, does not.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Scheme
            | Self::Plain
            | Self::Denied(_)
            | Self::Forbidden { .. }
            | Self::Downgrade { .. }
            | Self::Redirects
            | Self::Location
            | Self::Header { .. }
            | Self::Setup { .. } => true,
            Self::Tls { certificate, .. } => *certificate,
            Self::Status { code, .. } => is_lasting_status(*code),
            Self::Dns { .. }
            | Self::Refused { .. }
            | Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::TooLarge { .. }
            | Self::Cut { .. }
            | Self::Encoding { .. }
            | Self::Protocol { .. }
            | Self::Stopped => false,
        }
    }
}

impl Error {
    /// A failure at `url`.
    pub fn new(url: &Url, kind: ErrorKind) -> Self {
        Self {
            address: super::shown(url),
            kind,
        }
    }

    /// What a body's reader reported, if it came from here.
    pub fn from_read(error: io::Error) -> Result<Self, io::Error> {
        error.downcast::<Self>()
    }
}

/// What happened before the head of an answer was here.
pub(super) fn before_answer(error: reqwest::Error, proxy: Option<String>) -> ErrorKind {
    let error = error.without_url();
    if let Some(denied) = denied(&error) {
        return ErrorKind::Denied(Box::new(denied));
    }
    if error.is_dns() {
        return ErrorKind::Dns { proxy };
    }
    let mut deepest = error.to_string();
    let mut next: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(cause) = next {
        if let Some(tls) = cause.downcast_ref() {
            return tls_kind(tls);
        }
        deepest = cause.to_string();
        next = cause.source();
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            if io.kind() == io::ErrorKind::ConnectionRefused {
                return ErrorKind::Refused { proxy };
            }
            if io.kind() == io::ErrorKind::ConnectionReset && !error.is_connect() {
                return ErrorKind::Cut { received: 0 };
            }
            // What such an error is made of is not among its sources.
            if let Some(inner) = io.get_ref() {
                next = Some(inner);
            }
        }
    }
    if error.is_connect() {
        ErrorKind::Connect {
            detail: deepest,
            proxy,
        }
    } else {
        ErrorKind::Protocol { detail: deepest }
    }
}

/// What the resolver of [`super::AsyncClient`] reported, if it came from there.
fn denied(error: &reqwest::Error) -> Option<Denied> {
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(denied) = cause.downcast_ref::<Denied>() {
            return Some(denied.clone());
        }
        next = cause.source();
    }
    None
}

fn tls_kind(error: &rustls::Error) -> ErrorKind {
    ErrorKind::Tls {
        detail: error.to_string(),
        certificate: matches!(error, rustls::Error::InvalidCertificate(_)),
    }
}
