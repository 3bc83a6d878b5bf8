//! A small HTTP/1.1 client: one request per connection, one deadline for
//! everything, no redirects, no proxies, no TLS.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;

use super::deadline::Deadline;

/// The largest head of an answer that is read.
const MAX_HEAD: usize = 32 * 1024;
/// The largest body of an answer that is read. A search answers with at most a
/// few hundred kilobytes.
const MAX_BODY: usize = 8 * 1024 * 1024;
/// How much is written at once, so that the deadline is looked at in between.
const WRITE_PIECE: usize = 64 * 1024;

/// Where a server listens, from its base URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    tls: bool,
    /// Host name or address, without brackets.
    host: String,
    port: u16,
    /// Path before every request path, without a slash at the end.
    prefix: String,
}

impl Endpoint {
    /// Reads a base URL. A missing scheme means `http`; user information, query
    /// and fragment are dropped. `None` if there is no host or no valid port.
    pub fn parse(url: &str) -> Option<Self> {
        let url = url.trim();
        let (tls, rest) = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            Some(_) => return None,
            None => (false, url),
        };
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let authority = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let (host, after) = bracketed.split_once(']')?;
                host.parse::<Ipv6Addr>().ok()?;
                (
                    host,
                    after.strip_prefix(':').or(after.is_empty().then_some(""))?,
                )
            }
            None => authority.split_once(':').unwrap_or((authority, "")),
        };
        let legal = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '.' | '-' | '_' | ':');
        if host.is_empty() || !host.chars().all(legal) {
            return None;
        }
        let port = match port {
            "" if tls => 443,
            "" => 80,
            digits if digits.chars().all(|ch| ch.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port != 0)?
            }
            _ => return None,
        };
        let path_ok = |ch: char| ch.is_ascii_graphic();
        if !path.chars().all(path_ok) {
            return None;
        }
        Some(Self {
            tls,
            host: host.to_ascii_lowercase(),
            port,
            prefix: path.trim_end_matches('/').to_owned(),
        })
    }

    /// The address a server listens on unless told otherwise.
    pub fn usual() -> Self {
        Self {
            tls: false,
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: 8000,
            prefix: String::new(),
        }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether the server is on this machine, by its name alone: a loopback
    /// address or `localhost`.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self
                .host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        let default = if self.tls { 443 } else { 80 };
        if self.port == default {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }

    /// Addresses to try, in order. `localhost` is never looked up.
    fn addresses(&self, deadline: Deadline) -> Result<Vec<SocketAddr>, Failure> {
        if self.host == "localhost" {
            let both = [
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(Ipv6Addr::LOCALHOST),
            ];
            return Ok(both
                .map(|address| SocketAddr::new(address, self.port))
                .to_vec());
        }
        if let Ok(address) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, self.port)]);
        }
        // The system's resolver knows no deadline: it gets a thread that may be
        // left behind.
        let (sender, receiver) = mpsc::channel();
        let target = (self.host.clone(), self.port);
        std::thread::spawn(move || {
            let found = target
                .to_socket_addrs()
                .map(|addresses| addresses.take(4).collect::<Vec<_>>());
            let _ = sender.send(found);
        });
        let left = deadline
            .left()
            .ok_or(Failure::Unreachable(ErrorKind::TimedOut))?;
        match receiver.recv_timeout(left) {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(Failure::Unreachable(error.kind())),
            Err(_) => Err(Failure::Unreachable(ErrorKind::TimedOut)),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

/// Why there is no answer, from the least to the most that the server may have
/// seen of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No connection came about; the server has seen nothing.
    Unreachable(ErrorKind),
    /// The request did not leave whole.
    Unsent(ErrorKind),
    /// The request left whole, and no complete answer came in time.
    Silent,
    /// The request left, and the connection ended or brought something that is
    /// no HTTP answer.
    Broken,
    /// The server answered with something else than success.
    Status {
        /// The status code.
        status: u16,
        /// The server's own error code, if the body carries one in the agreed
        /// form.
        code: Option<String>,
    },
    /// The answer is a success, but not of the form that was agreed.
    Unexpected,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(ErrorKind::Unsupported) => f.write_str("https is not supported"),
            Self::Unreachable(kind) => write!(f, "no connection: {kind}"),
            Self::Unsent(kind) => write!(f, "request not sent: {kind}"),
            Self::Silent => f.write_str("no answer in time"),
            Self::Broken => f.write_str("connection ended without a valid answer"),
            Self::Status {
                status,
                code: Some(code),
            } => write!(f, "status {status} {code}"),
            Self::Status { status, code: None } => write!(f, "status {status}"),
            Self::Unexpected => f.write_str("unexpected answer"),
        }
    }
}

impl std::error::Error for Failure {}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends one request and reads its answer; a `body` makes it a POST of JSON.
pub fn send(
    endpoint: &Endpoint,
    path: &str,
    body: Option<&[u8]>,
    deadline: Deadline,
) -> Result<Answer, Failure> {
    if endpoint.tls {
        return Err(Failure::Unreachable(ErrorKind::Unsupported));
    }
    let mut stream = connect(endpoint, deadline)?;
    let mut head = format!(
        "{} {}{path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: apkit/{}\r\nAccept: application/json\r\nConnection: close\r\n",
        if body.is_some() { "POST" } else { "GET" },
        endpoint.prefix,
        endpoint.authority(),
        env!("CARGO_PKG_VERSION"),
    );
    if let Some(body) = body {
        head.push_str(&format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        ));
    }
    head.push_str("\r\n");
    // Head and body leave together: one packet for a small request.
    let mut request = head.into_bytes();
    request.extend_from_slice(body.unwrap_or_default());
    let sent = write_all(&mut stream, &request, deadline);
    // A server that refuses early may close its side before it has read all:
    // its answer is worth more than the write error.
    match (sent, read_answer(&mut stream, deadline)) {
        (_, Ok(answer)) => Ok(answer),
        (Err(kind), Err(_)) => Err(Failure::Unsent(kind)),
        (Ok(()), Err(failure)) => Err(failure),
    }
}

fn connect(endpoint: &Endpoint, deadline: Deadline) -> Result<TcpStream, Failure> {
    let mut last = ErrorKind::NotFound;
    for address in endpoint.addresses(deadline)? {
        let Some(left) = deadline.left() else {
            return Err(Failure::Unreachable(ErrorKind::TimedOut));
        };
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = error.kind(),
        }
    }
    Err(Failure::Unreachable(last))
}

fn write_all(stream: &mut TcpStream, request: &[u8], deadline: Deadline) -> Result<(), ErrorKind> {
    let mut rest = request;
    while !rest.is_empty() {
        let left = deadline.left().ok_or(ErrorKind::TimedOut)?;
        stream
            .set_write_timeout(Some(left))
            .map_err(|error| error.kind())?;
        let piece = rest.get(..WRITE_PIECE).unwrap_or(rest);
        match stream.write(piece) {
            Ok(0) => return Err(ErrorKind::WriteZero),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(timeout_kind(&error)),
        }
    }
    Ok(())
}

/// A timeout is `WouldBlock` on some systems.
fn timeout_kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut,
        kind => kind,
    }
}

/// Received bytes and how far they have been looked at.
struct Incoming<'a> {
    stream: &'a mut TcpStream,
    deadline: Deadline,
    bytes: Vec<u8>,
    at: usize,
}

impl Incoming<'_> {
    /// Receives more; whether there was more.
    fn more(&mut self) -> Result<bool, Failure> {
        let mut piece = [0; 16 * 1024];
        loop {
            let left = self.deadline.left().ok_or(Failure::Silent)?;
            if self.stream.set_read_timeout(Some(left)).is_err() {
                return Err(Failure::Broken);
            }
            match self.stream.read(&mut piece) {
                Ok(length) => {
                    self.bytes
                        .extend_from_slice(piece.get(..length).unwrap_or_default());
                    return Ok(length > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if timeout_kind(&error) == ErrorKind::TimedOut => {
                    return Err(Failure::Silent);
                }
                Err(_) => return Err(Failure::Broken),
            }
        }
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<String, Failure> {
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line = rest.get(..end).unwrap_or_default();
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let line = String::from_utf8_lossy(line).into_owned();
                self.at += end + 1;
                return Ok(line);
            }
            if rest.len() > MAX_HEAD || !self.more()? {
                return Err(Failure::Broken);
            }
        }
    }

    /// The next `length` bytes.
    fn take(&mut self, length: usize) -> Result<Vec<u8>, Failure> {
        if length > MAX_BODY {
            return Err(Failure::Broken);
        }
        loop {
            if let Some(bytes) = self.bytes.get(self.at..self.at + length) {
                let bytes = bytes.to_vec();
                self.at += length;
                return Ok(bytes);
            }
            if !self.more()? {
                return Err(Failure::Broken);
            }
        }
    }
}

fn read_answer(stream: &mut TcpStream, deadline: Deadline) -> Result<Answer, Failure> {
    let mut incoming = Incoming {
        stream,
        deadline,
        bytes: Vec::new(),
        at: 0,
    };
    loop {
        let status = status_of(&incoming.line()?).ok_or(Failure::Broken)?;
        let headers = read_headers(&mut incoming)?;
        // Interim answers announce the real one.
        if (100..200).contains(&status) {
            continue;
        }
        let body = match headers {
            _ if matches!(status, 204 | 304) => Vec::new(),
            Framing::Chunked => read_chunks(&mut incoming)?,
            Framing::Length(length) => incoming.take(length)?,
            Framing::UntilEnd => {
                while incoming.more()? {
                    if incoming.bytes.len() > MAX_HEAD + MAX_BODY {
                        return Err(Failure::Broken);
                    }
                }
                incoming.bytes.split_off(incoming.at)
            }
        };
        return Ok(Answer { status, body });
    }
}

fn status_of(line: &str) -> Option<u16> {
    let rest = line.strip_prefix("HTTP/1.")?;
    let code = rest.split(' ').nth(1)?;
    if code.len() != 3 {
        return None;
    }
    code.parse()
        .ok()
        .filter(|status| (100..600).contains(status))
}

/// How the end of a body is told.
enum Framing {
    Length(usize),
    Chunked,
    UntilEnd,
}

fn read_headers(incoming: &mut Incoming<'_>) -> Result<Framing, Failure> {
    let start = incoming.at;
    let mut framing = Framing::UntilEnd;
    loop {
        let line = incoming.line()?;
        if line.is_empty() {
            return Ok(framing);
        }
        if incoming.at - start > MAX_HEAD {
            return Err(Failure::Broken);
        }
        let (name, value) = line.split_once(':').ok_or(Failure::Broken)?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.to_ascii_lowercase().ends_with("chunked") {
                return Err(Failure::Broken);
            }
            framing = Framing::Chunked;
        } else if name.eq_ignore_ascii_case("content-length")
            && !matches!(framing, Framing::Chunked)
        {
            framing = Framing::Length(value.parse().map_err(|_| Failure::Broken)?);
        }
    }
}

fn read_chunks(incoming: &mut Incoming<'_>) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    loop {
        let line = incoming.line()?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| Failure::Broken)?;
        if body.len().saturating_add(size) > MAX_BODY {
            return Err(Failure::Broken);
        }
        if size == 0 {
            while !incoming.line()?.is_empty() {}
            return Ok(body);
        }
        body.append(&mut incoming.take(size)?);
        if !incoming.line()?.is_empty() {
            return Err(Failure::Broken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn base_urls() {
        let shown = |url: &str| Endpoint::parse(url).map(|endpoint| endpoint.to_string());
        for (url, expected) in [
            ("127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("http://LocalHost:8000/", "http://localhost:8000"),
            ("http://user:secret@host:1/everos//", "http://host:1/everos"),
            ("[::1]:8000", "http://[::1]:8000"),
            ("https://api.example", "https://api.example"),
            (" http://h:80?x#y ", "http://h"),
        ] {
            assert_eq!(shown(url).as_deref(), Some(expected), "{url}");
        }
        for url in [
            "",
            "http://",
            "ftp://h",
            "http://h:x",
            "http://h:0",
            "http://h:70000",
            "h h",
            "http://[::1",
            "a\r\nb",
            "http://h/ x",
        ] {
            assert_eq!(shown(url), None, "{url}");
        }
    }
}
