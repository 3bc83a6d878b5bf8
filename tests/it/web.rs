//! Small servers on loopback that answer as a test says, and keep what they were
//! asked: HTTP, the same over TLS, and a proxy.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The authority that the certificate of [`Server::tls`] comes from. Both were
/// made with the `openssl` program: P-256, valid for a hundred years, for
/// `localhost`, `registry.test` and 127.0.0.1.
pub(crate) const AUTHORITY: &str = include_str!("../fixtures/tls/authority.pem");
const CERTIFICATE: &str = include_str!("../fixtures/tls/server.pem");
const KEY: &str = include_str!("../fixtures/tls/server.key");

/// What a server was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// What stood in the request line.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// How an answer reaches the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// At once, its length said before.
    Whole,
    /// In chunks, its length not said.
    Chunked,
    /// The connection ends after so many bytes.
    CutAfter(usize),
    /// Nothing more comes after so many bytes.
    StallAfter(usize),
    /// So many bytes at a time, with a pause between.
    Trickle(usize, Duration),
    /// The connection ends before any answer.
    Silent,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    delivery: Delivery,
    feed: Option<Feed>,
}

/// Pieces of a body that come while the test goes on.
type Feed = Arc<Mutex<Receiver<String>>>;

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            delivery: Delivery::Whole,
            feed: None,
        }
    }

    /// Sends what comes out of `feed` as it comes, until its other end is gone.
    pub(crate) fn feed(mut self, feed: Receiver<String>) -> Self {
        self.feed = Some(Arc::new(Mutex::new(feed)));
        self
    }

    pub(crate) fn json(status: u16, value: &serde_json::Value) -> Self {
        Self::new(status, value.to_string()).header("content-type", "application/json")
    }

    pub(crate) fn redirect(status: u16, to: &str) -> Self {
        Self::new(status, "elsewhere").header("location", to)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Compresses the body.
    pub(crate) fn gzip(mut self) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.body).expect("memory");
        self.body = encoder.finish().expect("memory");
        self.header("content-encoding", "gzip")
    }
}

type Answer = Arc<dyn Fn(&Asked) -> Reply + Send + Sync>;

/// A server, until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    log: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<AtomicBool>,
}

impl Server {
    /// Answers on a free port of 127.0.0.1.
    pub(crate) fn new(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(Ipv4Addr::LOCALHOST, None, Arc::new(answer))
    }

    /// Answers on another address of this machine. Linux has all of 127/8; where
    /// there is only one, the port alone makes the difference.
    pub(crate) fn elsewhere(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let other = Ipv4Addr::new(127, 0, 0, 2);
        let here = if TcpListener::bind((other, 0)).is_ok() {
            other
        } else {
            Ipv4Addr::LOCALHOST
        };
        Self::start(here, None, Arc::new(answer))
    }

    /// Answers over TLS.
    pub(crate) fn tls(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).expect("PEM");
        let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).expect("PEM");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a certificate");
        Self::start(
            Ipv4Addr::LOCALHOST,
            Some(Arc::new(config)),
            Arc::new(answer),
        )
    }

    fn start(host: Ipv4Addr, tls: Option<Arc<rustls::ServerConfig>>, answer: Answer) -> Self {
        let listener = TcpListener::bind((host, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let log = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(AtomicBool::new(false));
        let server = Self {
            address,
            scheme: if tls.is_some() { "https" } else { "http" },
            log: Arc::clone(&log),
            ended: Arc::clone(&ended),
        };
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (tls, answer) = (tls.clone(), Arc::clone(&answer));
                let (log, ended) = (Arc::clone(&log), Arc::clone(&ended));
                thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
                    match tls {
                        None => serve(stream, &answer, &log, &ended),
                        Some(config) => {
                            let connection =
                                rustls::ServerConnection::new(config).expect("a connection");
                            let stream = rustls::StreamOwned::new(connection, stream);
                            serve(stream, &answer, &log, &ended);
                        }
                    }
                });
            }
        });
        server
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// What was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.lock().expect("the log").clone()
    }

    /// The targets of what was asked so far.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.target).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

/// One request of one connection.
fn serve(
    mut stream: impl Read + Write,
    answer: &Answer,
    log: &Mutex<Vec<Asked>>,
    ended: &AtomicBool,
) {
    let Some(asked) = read_request(&mut stream) else {
        return;
    };
    log.lock().expect("the log").push(asked.clone());
    let reply = answer(&asked);
    // The client may have gone; that is its right.
    let _ = write_reply(&mut stream, &reply, ended);
}

fn read_head(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 || head.len() > 64 << 10 {
            return None;
        }
        head.push(byte[0]);
    }
    Some(head)
}

fn read_request(stream: &mut impl Read) -> Option<Asked> {
    let head = String::from_utf8(read_head(stream)?).ok()?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let method = first.next()?.to_owned();
    let target = first.next()?.to_owned();
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(Asked {
        method,
        target,
        headers,
        body,
    })
}

fn write_reply(
    stream: &mut (impl Read + Write),
    reply: &Reply,
    ended: &AtomicBool,
) -> std::io::Result<()> {
    if reply.delivery == Delivery::Silent {
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} Said\r\nconnection: close\r\n", reply.status);
    let own_length = reply
        .headers
        .iter()
        .any(|(name, _)| name == "content-length");
    if reply.delivery == Delivery::Chunked {
        head += "transfer-encoding: chunked\r\n";
    } else if !own_length && reply.feed.is_none() {
        head += &format!("content-length: {}\r\n", reply.body.len());
    }
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    if let Some(feed) = &reply.feed {
        return write_feed(stream, &feed.lock().expect("the feed"), ended);
    }
    let body = &reply.body;
    match reply.delivery {
        Delivery::Whole => stream.write_all(body)?,
        Delivery::Chunked => {
            for piece in body.chunks(1000) {
                stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
                stream.write_all(piece)?;
                stream.write_all(b"\r\n")?;
            }
            stream.write_all(b"0\r\n\r\n")?;
        }
        Delivery::CutAfter(count) => stream.write_all(&body[..count.min(body.len())])?,
        Delivery::StallAfter(count) => {
            stream.write_all(&body[..count.min(body.len())])?;
            stream.flush()?;
            // Until the client goes or the test ends.
            let mut byte = [0];
            while !ended.load(Ordering::Relaxed)
                && !matches!(stream.read(&mut byte), Ok(0) | Err(_))
            {}
        }
        Delivery::Trickle(count, pause) => {
            for piece in body.chunks(count) {
                stream.write_all(piece)?;
                stream.flush()?;
                thread::sleep(pause);
            }
        }
        Delivery::Silent => {}
    }
    stream.flush()
}

fn write_feed(
    stream: &mut impl Write,
    feed: &Receiver<String>,
    ended: &AtomicBool,
) -> std::io::Result<()> {
    while !ended.load(Ordering::Relaxed) {
        match feed.recv_timeout(Duration::from_millis(50)) {
            Ok(piece) => {
                stream.write_all(piece.as_bytes())?;
                stream.flush()?;
            }
            Err(RecvTimeoutError::Timeout) => stream.flush()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
    Ok(())
}

/// A proxy that reaches one server under every name: it passes `CONNECT` on, and
/// answers other requests itself by asking that server.
pub(crate) struct Proxy {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<AtomicBool>,
}

impl Proxy {
    /// A proxy; with `credentials`, one that wants exactly this
    /// `proxy-authorization`.
    pub(crate) fn to(server: &Server, credentials: Option<&'static str>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let log = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(AtomicBool::new(false));
        let proxy = Self {
            address,
            log: Arc::clone(&log),
            ended: Arc::clone(&ended),
        };
        let behind = server.address;
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                let log = Arc::clone(&log);
                thread::spawn(move || {
                    let Some(asked) = read_request(&mut stream) else {
                        return;
                    };
                    log.lock().expect("the log").push(asked.clone());
                    let _ = pass_on(stream, &asked, behind, credentials);
                });
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.lock().expect("the log").clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn pass_on(
    mut client: TcpStream,
    asked: &Asked,
    behind: SocketAddr,
    credentials: Option<&str>,
) -> std::io::Result<()> {
    if credentials.is_some() && asked.header("proxy-authorization") != credentials {
        return client.write_all(
            b"HTTP/1.1 407 Who\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        );
    }
    let mut server = TcpStream::connect(behind)?;
    if asked.method == "CONNECT" {
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
        let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
        let back = thread::spawn(move || {
            let _ = std::io::copy(&mut from_server, &mut to_client);
            let _ = to_client.shutdown(Shutdown::Write);
        });
        let _ = std::io::copy(&mut client, &mut server);
        let _ = server.shutdown(Shutdown::Write);
        let _ = back.join();
        return Ok(());
    }
    // An absolute target loses its origin.
    let path = asked.target.splitn(4, '/').nth(3).unwrap_or("");
    let mut head = format!("{} /{path} HTTP/1.1\r\n", asked.method);
    for (name, value) in &asked.headers {
        if name != "proxy-authorization" {
            head += &format!("{name}: {value}\r\n");
        }
    }
    server.write_all((head + "\r\n").as_bytes())?;
    std::io::copy(&mut server, &mut client).map(|_| ())
}
