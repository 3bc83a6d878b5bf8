//! The client: connections, redirects, deadlines.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::error::{Error, ErrorKind, Waiting, before_answer};
use super::proxy::Proxies;
use super::request::Request;
use super::response::Response;
use super::retry::Retry;
use super::trust::{Trust, builder};
use super::{Sent, is_loopback, same_origin, shown};

/// The most redirects that are followed.
pub const MAX_REDIRECTS: usize = 10;

/// How often the wish to stop is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Says whether the user wants to stop; asked while something is waited for.
pub type Interrupt = Arc<dyn Fn() -> bool + Send + Sync>;

/// Whether a host may be spoken with; an error is the reason.
pub type Permit = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// How long is waited.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For the head of an answer, and for each further piece of it.
    pub idle: Duration,
    /// For one request and all of its answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(900),
        }
    }
}

/// What a client is made of.
#[derive(Clone, Default)]
pub struct Settings {
    /// Which proxies are used.
    pub proxies: Proxies,
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// How long is waited.
    pub timeouts: Timeouts,
    /// Hosts other than this machine that `http:` may be spoken with: those of
    /// addresses that the user wrote so, as `host` or `host:port`.
    pub plain: BTreeSet<String>,
    /// Which failures are tried again, in [`Client::retrying`].
    pub retry: Retry,
    /// Whether the user wants to stop.
    pub interrupt: Option<Interrupt>,
    /// Whether a host may be spoken with, wherever it is named: by an address or by
    /// a redirect.
    pub permit: Option<Permit>,
}

/// The client. It waits on the calling thread, which must not be one of an
/// asynchronous runtime.
#[derive(Clone)]
pub struct Client {
    settings: Arc<Settings>,
    reactor: Arc<Reactor>,
    connections: Arc<Mutex<Connections>>,
}

/// The connections over TLS are made ready when they are needed: reading the
/// system's certificates takes longer than most requests to this machine.
#[derive(Default)]
struct Connections {
    plain: Option<reqwest::Client>,
    secure: Option<reqwest::Client>,
}

impl Client {
    /// A client.
    ///
    /// # Errors
    ///
    /// The system gives no means to wait.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error {
                address: "a server".to_owned(),
                kind: ErrorKind::Setup {
                    detail: error.to_string(),
                },
            })?;
        let interrupt = settings.interrupt.clone();
        Ok(Self {
            settings: Arc::new(settings),
            reactor: Arc::new(Reactor {
                runtime: Some(runtime),
                interrupt,
            }),
            connections: Arc::default(),
        })
    }

    /// Sends a request and waits for the head of its answer, whatever its status
    /// (see [`Response::successful`]).
    ///
    /// # Errors
    ///
    /// No answer came, or a redirect that is not followed (see the module).
    pub fn send(&self, request: Request) -> Result<Response, Error> {
        let sent = request.secrets();
        self.follow(request, &sent)
            .map_err(|error| sent.hide(error))
    }

    fn follow(&self, request: Request, sent: &Sent) -> Result<Response, Error> {
        let watch = Watch {
            started: Instant::now(),
            timeouts: self.settings.timeouts,
            compressed: request.compressed,
        };
        let mut url = request.url.clone();
        let mut headers = request.headers.clone();
        let mut hops = 0;
        loop {
            self.admit(&url)?;
            let response = self.once(&url, &headers, &request, &watch)?;
            let redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            let location = match response.headers().get("location") {
                Some(location) if redirect && request.follow => location.clone(),
                _ => {
                    let reactor = Arc::clone(&self.reactor);
                    let sent = sent.clone();
                    return Response::new(response, url, request.limit, reactor, watch, sent);
                }
            };
            hops += 1;
            if hops > MAX_REDIRECTS {
                return Err(Error::new(&url, ErrorKind::Redirects));
            }
            let next = next_address(&url, &location)?;
            if !same_origin(&url, &next) {
                headers.retain(|header| !header.secret);
            }
            url = next;
        }
    }

    /// Does something until it succeeds or fails for good (see [`Retry`]).
    ///
    /// # Errors
    ///
    /// The last failure.
    pub fn retrying<T>(&self, mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
        let mut done = 1;
        loop {
            let error = match attempt() {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(pause) = self.settings.retry.after(&error, done) else {
                return Err(error);
            };
            self.reactor.pause(pause).map_err(|kind| Error {
                address: error.address,
                kind,
            })?;
            done += 1;
        }
    }

    /// Whether an address may be spoken with at all.
    fn admit(&self, url: &Url) -> Result<(), Error> {
        let fail = |kind| Err(Error::new(url, kind));
        if let (Some(permit), Some(host)) = (&self.settings.permit, url.host_str())
            && let Err(reason) = permit(host)
        {
            return fail(ErrorKind::Forbidden { reason });
        }
        match (url.scheme(), url.host_str()) {
            ("https", Some(_)) => Ok(()),
            ("http", Some(host)) => {
                let named = |name: &str| self.settings.plain.contains(name);
                let port = url.port_or_known_default().unwrap_or(80);
                if is_loopback(url) || named(host) || named(&format!("{host}:{port}")) {
                    Ok(())
                } else {
                    fail(ErrorKind::Plain)
                }
            }
            _ => fail(ErrorKind::Scheme),
        }
    }

    fn once(
        &self,
        url: &Url,
        headers: &[super::request::Header],
        request: &Request,
        watch: &Watch,
    ) -> Result<reqwest::Response, Error> {
        let fail = |kind| Error::new(url, kind);
        let mut map = HeaderMap::new();
        let encoding = if request.compressed {
            "gzip"
        } else {
            "identity"
        };
        map.insert("accept-encoding", HeaderValue::from_static(encoding));
        for header in headers {
            let mut value = HeaderValue::from_str(&header.value).map_err(|_| {
                fail(ErrorKind::Header {
                    name: header.name.to_owned(),
                })
            })?;
            value.set_sensitive(header.secret);
            map.insert(HeaderName::from_static(header.name), value);
        }
        let connections = self.connections(url).map_err(fail)?;
        let builder = match &request.body {
            Some(body) => connections.post(url.clone()).body(body.clone()),
            None => connections.get(url.clone()),
        };
        let proxy = self.settings.proxies.for_url(url).map(shown);
        self.reactor
            .wait(watch, Waiting::Answer, builder.headers(map).send())
            .map_err(fail)?
            .map_err(|error| {
                fail(if error.is_timeout() {
                    ErrorKind::Timeout {
                        waiting: Waiting::Connection,
                        after: self.settings.timeouts.connect,
                    }
                } else {
                    before_answer(error, proxy)
                })
            })
    }

    fn connections(&self, url: &Url) -> Result<reqwest::Client, ErrorKind> {
        let secure = url.scheme() == "https" || self.settings.proxies.use_tls();
        let mut ready = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let slot = if secure {
            &mut ready.secure
        } else {
            &mut ready.plain
        };
        if let Some(client) = slot {
            return Ok(client.clone());
        }
        let client = self.build(secure).map_err(|error| ErrorKind::Setup {
            detail: innermost(&error),
        })?;
        Ok(slot.insert(client).clone())
    }

    fn build(&self, secure: bool) -> reqwest::Result<reqwest::Client> {
        let proxies = self.settings.proxies.clone();
        builder(&self.settings.trust, secure, self.settings.timeouts.connect)?
            .proxy(reqwest::Proxy::custom(move |url| {
                proxies.for_url(url).cloned()
            }))
            .build()
    }
}

/// Where a redirect leads to.
fn next_address(from: &Url, location: &HeaderValue) -> Result<Url, Error> {
    let fail = |kind| Error::new(from, kind);
    let bad = || fail(ErrorKind::Location);
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| bad())?;
    let mut next = from.join(location).map_err(|_| bad())?;
    // A redirect does not get to choose who we are.
    let _ = next.set_username("");
    let _ = next.set_password(None);
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err(fail(ErrorKind::Downgrade { to: shown(&next) }));
    }
    Ok(next)
}

pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => innermost(source),
        None => error.to_string(),
    }
}

/// When a request began, and how long it may take.
#[derive(Clone, Copy)]
pub(super) struct Watch {
    started: Instant,
    timeouts: Timeouts,
    pub(super) compressed: bool,
}

/// Where waiting takes place.
pub(super) struct Reactor {
    runtime: Option<tokio::runtime::Runtime>,
    interrupt: Option<Interrupt>,
}

impl Reactor {
    /// Waits for `work`, but not for longer than `watch` allows nor when the
    /// user wants to stop.
    pub(super) fn wait<T>(
        &self,
        watch: &Watch,
        waiting: Waiting,
        work: impl Future<Output = T>,
    ) -> Result<T, ErrorKind> {
        let left = watch.timeouts.total.saturating_sub(watch.started.elapsed());
        let idle = watch.timeouts.idle;
        let timeout = if left < idle {
            ErrorKind::Timeout {
                waiting: Waiting::Whole,
                after: watch.timeouts.total,
            }
        } else {
            ErrorKind::Timeout {
                waiting,
                after: idle,
            }
        };
        self.run(async {
            tokio::select! {
                biased;
                () = self.interrupted() => Err(ErrorKind::Stopped),
                value = work => Ok(value),
                () = tokio::time::sleep(idle.min(left)) => Err(timeout),
            }
        })
    }

    /// Waits.
    fn pause(&self, pause: Duration) -> Result<(), ErrorKind> {
        self.run(async {
            tokio::select! {
                biased;
                () = self.interrupted() => Err(ErrorKind::Stopped),
                () = tokio::time::sleep(pause) => Ok(()),
            }
        })
    }

    fn run<T>(&self, work: impl Future<Output = Result<T, ErrorKind>>) -> Result<T, ErrorKind> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work),
            // Taken only when dropped.
            None => Err(ErrorKind::Stopped),
        }
    }

    async fn interrupted(&self) {
        match &self.interrupt {
            Some(interrupt) => {
                while !interrupt() {
                    tokio::time::sleep(TICK).await;
                }
            }
            None => std::future::pending().await,
        }
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // A name service that hangs must not hold up the end.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
