//! The client for those that run in an asynchronous runtime: one request, the
//! head of its answer, its body piece by piece. Redirects are handed back.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

use super::client::innermost;
use super::egress::{Denied, Egress};
use super::error::{Error, ErrorKind, Waiting, before_answer};
use super::proxy::Proxies;
use super::trust::{Trust, builder};
use super::{is_loopback, shown};

/// Servers that run on Node close a connection that was idle for five seconds; a
/// request that meets this would fail.
const KEEP_IDLE: Duration = Duration::from_secs(4);
/// When a silent connection is asked whether it still lives.
const PROBE: Duration = Duration::from_secs(30);

/// Finds the addresses of a host. It may block.
pub type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// What an asynchronous client is made of.
#[derive(Clone, Default)]
pub struct AsyncSettings {
    /// Which proxies are used.
    pub proxies: Proxies,
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// How long a connection may take, its TLS handshake included.
    pub connect: Duration,
    /// Which addresses may be connected to. Behind a proxy only addresses that
    /// are written as such can be judged: the proxy looks names up itself.
    pub egress: Egress,
    /// Whether this machine may be connected to.
    pub loopback: bool,
    /// Finds addresses; the system does without it.
    pub lookup: Option<Lookup>,
}

/// What is done with what is at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It is read.
    Get,
    /// A body is sent to it.
    Post,
    /// It is given up.
    Delete,
}

impl Method {
    /// The name in the request line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// A request.
#[derive(Clone)]
pub struct AsyncRequest {
    /// What is done.
    pub method: Method,
    /// Where.
    pub url: Url,
    /// Headers: names in any case, values as bytes. No name stands twice.
    pub headers: Vec<(String, Vec<u8>)>,
    /// What is sent.
    pub body: Option<Vec<u8>>,
}

/// The client. Cheap to clone; connections are shared.
#[derive(Clone)]
pub struct AsyncClient {
    settings: Arc<AsyncSettings>,
    ready: Arc<Mutex<Connections>>,
}

/// Connections by whether they speak TLS, and by the proxy they go through.
type Connections = HashMap<(bool, Option<Url>), reqwest::Client>;

impl AsyncClient {
    /// A client.
    pub fn new(settings: AsyncSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            ready: Arc::default(),
        }
    }

    /// Sends a request and waits at most `answer` for the head of its answer,
    /// whatever its status.
    ///
    /// # Errors
    ///
    /// No answer came, or the address must not be connected to.
    pub async fn send(
        &self,
        request: AsyncRequest,
        answer: Duration,
    ) -> Result<AsyncResponse, Error> {
        let url = request.url.clone();
        let fail = |kind| Error::new(&url, kind);
        self.admit(&url).map_err(fail)?;
        let mut map = HeaderMap::new();
        map.insert("accept-encoding", HeaderValue::from_static("identity"));
        for (name, value) in &request.headers {
            let bad = || ErrorKind::Header { name: name.clone() };
            let field = HeaderName::from_bytes(name.as_bytes()).map_err(|_| fail(bad()))?;
            let mut value = HeaderValue::from_bytes(value).map_err(|_| fail(bad()))?;
            value.set_sensitive(true);
            map.insert(field, value);
        }
        let proxy = self.settings.proxies.for_url(&url).cloned();
        let client = self.connections(&url, proxy.clone()).map_err(fail)?;
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut builder = client.request(method, url.clone()).headers(map);
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        let response = within(answer, Waiting::Answer, builder.send())
            .await
            .map_err(fail)?
            .map_err(|error| {
                fail(if error.is_timeout() {
                    ErrorKind::Timeout {
                        waiting: Waiting::Connection,
                        after: self.settings.connect,
                    }
                } else {
                    before_answer(error, proxy.as_ref().map(shown))
                })
            })?;
        Ok(AsyncResponse {
            status: response.status().as_u16(),
            url,
            response,
            received: 0,
        })
    }

    /// Whether an address may be spoken with at all. A name is judged when its
    /// addresses are known.
    fn admit(&self, url: &Url) -> Result<(), ErrorKind> {
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(url) => {}
            "http" => return Err(ErrorKind::Plain),
            _ => return Err(ErrorKind::Scheme),
        }
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::from(address),
            Some(Host::Ipv6(address)) => IpAddr::from(address),
            Some(Host::Domain(_)) => return Ok(()),
            None => return Err(ErrorKind::Scheme),
        };
        self.settings
            .egress
            .judge(&literal.to_string(), literal, self.settings.loopback)
            .map_err(|denied| ErrorKind::Denied(Box::new(denied)))
    }

    fn connections(&self, url: &Url, proxy: Option<Url>) -> Result<reqwest::Client, ErrorKind> {
        let secure = [Some(url), proxy.as_ref()]
            .into_iter()
            .flatten()
            .any(|url| url.scheme() == "https");
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (secure, proxy);
        if let Some(client) = ready.get(&key) {
            return Ok(client.clone());
        }
        let client = self
            .build(secure, key.1.clone())
            .map_err(|error| ErrorKind::Setup {
                detail: innermost(&error),
            })?;
        ready.insert(key, client.clone());
        Ok(client)
    }

    fn build(&self, secure: bool, proxy: Option<Url>) -> reqwest::Result<reqwest::Client> {
        let settings = &self.settings;
        let builder = builder(&settings.trust, secure, settings.connect)?
            .pool_idle_timeout(KEEP_IDLE)
            .tcp_keepalive(PROBE)
            .tcp_keepalive_interval(PROBE);
        match proxy {
            Some(proxy) => builder.proxy(reqwest::Proxy::all(proxy)?),
            // What is looked up for a connection is judged and used: there is no
            // second look between the two.
            None => builder.dns_resolver(Arc::new(Judging {
                egress: settings.egress.clone(),
                loopback: settings.loopback,
                lookup: settings.lookup.clone(),
            })),
        }
        .build()
    }
}

/// Waits for `work`, but not for longer than `limit`.
async fn within<T>(
    limit: Duration,
    waiting: Waiting,
    work: impl Future<Output = T>,
) -> Result<T, ErrorKind> {
    tokio::time::timeout(limit, work)
        .await
        .map_err(|_| ErrorKind::Timeout {
            waiting,
            after: limit,
        })
}

/// Gives only addresses that may be connected to.
struct Judging {
    egress: Egress,
    loopback: bool,
    lookup: Option<Lookup>,
}

impl Resolve for Judging {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let (egress, loopback) = (self.egress.clone(), self.loopback);
        let lookup = self.lookup.clone();
        Box::pin(async move {
            let found = {
                let host = host.clone();
                let look = move || match lookup {
                    Some(lookup) => lookup(&host),
                    None => Ok((host.as_str(), 0)
                        .to_socket_addrs()?
                        .map(|address| address.ip())
                        .collect()),
                };
                tokio::task::spawn_blocking(look).await??
            };
            let mut denied: Option<Denied> = None;
            let mut fine = Vec::new();
            for address in found {
                match egress.judge(&host, address, loopback) {
                    // The port is filled in by whoever connects.
                    Ok(()) => fine.push(SocketAddr::new(address, 0)),
                    Err(no) => denied = Some(no),
                }
            }
            match denied {
                Some(denied) if fine.is_empty() => Err(denied.into()),
                _ => Ok(Box::new(fine.into_iter()) as Addrs),
            }
        })
    }
}

/// An answer, the body of which is still to be read.
pub struct AsyncResponse {
    /// The status.
    pub status: u16,
    /// Where the answer came from.
    pub url: Url,
    response: reqwest::Response,
    received: u64,
}

impl AsyncResponse {
    /// A header's value, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.response.headers().get(name)?.as_bytes()).ok()
    }

    /// The media type of the body, in small letters and without parameters.
    pub fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        let essence = value.split(';').next().unwrap_or_default().trim();
        Some(essence.to_ascii_lowercase())
    }

    /// The next piece of the body; `None` is its end. With `idle` it is waited no
    /// longer than that.
    ///
    /// # Errors
    ///
    /// The body broke off, or nothing came in time.
    pub async fn chunk(&mut self, idle: Option<Duration>) -> Result<Option<Vec<u8>>, Error> {
        let next = self.response.chunk();
        let next = match idle {
            Some(idle) => within(idle, Waiting::Body, next).await,
            None => Ok(next.await),
        };
        let next = next.map_err(|kind| Error::new(&self.url, kind))?;
        let chunk = next.map_err(|_| {
            let received = self.received;
            Error::new(&self.url, ErrorKind::Cut { received })
        })?;
        let Some(chunk) = chunk else { return Ok(None) };
        self.received += chunk.len() as u64;
        Ok(Some(chunk.into()))
    }

    /// All of the body: at most `limit` bytes of it, each piece within `idle`, the
    /// whole within `whole`.
    ///
    /// # Errors
    ///
    /// The body is larger, broke off, or took too long.
    pub async fn bytes(
        mut self,
        limit: usize,
        idle: Duration,
        whole: Duration,
    ) -> Result<Vec<u8>, Error> {
        let url = self.url.clone();
        let too_large = || {
            let limit = limit as u64;
            Error::new(&url, ErrorKind::TooLarge { limit })
        };
        let length = self.response.content_length();
        if length.is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let all = async {
            let mut all = Vec::new();
            while let Some(chunk) = self.chunk(Some(idle)).await? {
                if chunk.len() > limit - all.len() {
                    return Err(too_large());
                }
                all.extend(chunk);
            }
            Ok(all)
        };
        within(whole, Waiting::Whole, all)
            .await
            .map_err(|kind| Error::new(&url, kind))?
    }

    /// The beginning of the body, at most `limit` bytes and what comes within
    /// `whole`: for messages about it.
    pub async fn beginning(mut self, limit: usize, whole: Duration) -> Vec<u8> {
        let mut all = Vec::new();
        let read = async {
            while all.len() < limit {
                match self.chunk(None).await {
                    Ok(Some(chunk)) => all.extend(chunk),
                    Ok(None) | Err(_) => break,
                }
            }
        };
        // What has come by then has to do.
        let _ = within(whole, Waiting::Whole, read).await;
        all.truncate(limit);
        all
    }
}
