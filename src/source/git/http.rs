//! git's smart protocol over https (gitprotocol-http), carried by our own client.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use git2::Error;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream};
use url::Url;

use super::advertisement::Advertisement;
use super::child::{Trouble, shortened};
use super::configuration::path_of;
use super::credential::{self, Credential};
use super::error::Failure;
use super::stream::WHOLE;
use super::transport::{Context, MAX_LIST};
use crate::net::{
    self, Client, ErrorKind, Proxies, Request, Response, Sent, Settings, Timeouts, Trust,
};
use crate::{secret, sys};

/// Largest file of certificates that is read, in bytes.
const MAX_CERTIFICATES: u64 = 16 << 20;

/// Some servers answer only what looks like git.
const USER_AGENT: &str = concat!("git/2.0 (apkit ", env!("CARGO_PKG_VERSION"), ")");
/// Where the references are.
const LISTING: &str = "/info/refs?service=git-upload-pack";
const LISTED: &str = "/info/refs";
const LISTING_KIND: &str = "application/x-git-upload-pack-advertisement";
const PACK_KIND: &str = "application/x-git-upload-pack-result";
/// The most of a refusal that is read for the server's words, in bytes.
const WORDS: u64 = 1024;

/// A server that speaks https.
#[derive(Clone)]
pub(super) struct Http {
    context: Arc<Context>,
    client: Client,
    state: Arc<Mutex<State>>,
}

/// What is found out on the way.
#[derive(Clone)]
struct State {
    /// Where the repository is, after redirects, without a slash at the end.
    base: Url,
    /// What is sent along, for the origin the user named alone.
    credential: Option<Credential>,
}

impl Http {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Failure> {
        let stop = context.stop.clone();
        let settings = Settings {
            proxies: proxies(context)?,
            trust: trust(context)?,
            timeouts: Timeouts {
                idle: context.patience,
                total: WHOLE,
                ..Timeouts::default()
            },
            interrupt: Some(Arc::new(move || stop.is_requested())),
            permit: context.permit.clone(),
            ..Settings::default()
        };
        let base = Url::parse(&context.address.http_url())
            .map_err(|error| Failure::Settings(error.to_string()))?;
        Ok(Self {
            context: Arc::clone(context),
            client: Client::new(settings)?,
            state: Arc::new(Mutex::new(State {
                base,
                credential: None,
            })),
        })
    }

    fn state(&self) -> State {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clone()
    }

    /// Asks for the references. Only here redirects are followed, and the new
    /// place is kept.
    fn list(&self) -> Result<Response, Failure> {
        let url = below(&self.state().base, LISTING)?;
        let response = self.answered(&url, |url| Request::get(url).limit(MAX_LIST))?;
        let sent = self.context.sent();
        expect_kind(&response, LISTING_KIND, &sent)?;
        if response.url != url {
            let text = response.url.as_str();
            let base = text
                .strip_suffix(LISTING)
                .and_then(|base| Url::parse(base).ok());
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.base = base.ok_or_else(|| Failure::Redirect {
                from: sent.shown(&url),
                to: sent.shown(&response.url),
                why: "that is no repository's list of references",
            })?;
        }
        Ok(response)
    }

    /// Asks for objects.
    fn exchange(&self, question: &[u8]) -> Result<Response, Failure> {
        let url = below(&self.state().base, "/git-upload-pack")?;
        let response = self.answered(&url, |url| {
            Request::post(url, question.to_vec())
                .limit(self.context.limit)
                .header("content-type", "application/x-git-upload-pack-request")
                .header("accept", PACK_KIND)
        })?;
        expect_kind(&response, PACK_KIND, &self.context.sent())?;
        Ok(response)
    }

    /// Sends a request until its answer is the one wanted: with credentials, if
    /// the server wants some.
    fn answered(&self, url: &Url, request: impl Fn(&Url) -> Request) -> Result<Response, Failure> {
        loop {
            let sent = self.state().credential;
            // To nobody but whom the user named: a redirect may have led on.
            let named = Url::parse(&self.context.address.http_url()).ok();
            let at_home = named.is_some_and(|named| net::same_origin(&named, url));
            let mut request = request(url).header("user-agent", USER_AGENT);
            if let Some(credential) = sent.as_ref().filter(|_| at_home) {
                let both = format!("{}:{}", credential.user, credential.password);
                let value = format!("Basic {}", STANDARD.encode(both));
                request = request.secret("authorization", value);
                self.context.keep_sent(request.secrets());
            }
            let response = self.client.send(request);
            let sent_ever = self.context.sent();
            let response = response.map_err(|mut error| {
                // What is asked of it is of no use to whoever named the repository.
                if error.address == net::shown(url) {
                    error.address = repository_of(url, &sent_ever);
                }
                sent_ever.hide(error)
            })?;
            match response.status {
                200 => return Ok(response),
                401 => {}
                _ => return Err(refused(response, url, &sent_ever)),
            }
            let host = self.context.address.authority();
            if !at_home || !net::same_origin(&response.url, url) {
                return Err(Failure::CredentialsElsewhere {
                    from: host,
                    to: sent_ever.shown(&response.url),
                });
            }
            if let Some(sent) = sent {
                return Err(Failure::CredentialsRefused {
                    host,
                    from: sent.from,
                });
            }
            let found = credential::find(&self.context, response.header("www-authenticate"))
                .map_err(|trouble| match trouble {
                    Trouble::Stopped => Failure::Stopped,
                    Trouble::Silent | Trouble::Broken(_) => Failure::CredentialsMissing {
                        host: host.clone(),
                        url: self.context.address.to_string(),
                    },
                })?;
            let found = found.ok_or_else(|| Failure::CredentialsMissing {
                host,
                url: self.context.address.to_string(),
            })?;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.credential = Some(found);
        }
    }
}

impl SmartSubtransport for Http {
    fn action(
        &self,
        _url: &str,
        service: Service,
    ) -> Result<Box<dyn SmartSubtransportStream>, Error> {
        match service {
            Service::UploadPackLs => {
                *self.context.advertisement() = Advertisement::expect(true);
                let response = self.list().map_err(|failure| self.context.fail(failure))?;
                Ok(Box::new(Listing {
                    context: Arc::clone(&self.context),
                    body: response.into_body(),
                }))
            }
            Service::UploadPack => Ok(Box::new(Exchange {
                http: self.clone(),
                question: Vec::new(),
                body: None,
            })),
            _ => Err(Error::from_str("only fetching is possible")),
        }
    }

    fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The references, as they come.
struct Listing {
    context: Arc<Context>,
    body: net::Body,
}

impl Read for Listing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = passed_on(&self.context, self.body.read(buffer))?;
        self.context
            .advertisement()
            .feed(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl Write for Listing {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One question and its answer: what was written is sent when the first byte of
/// the answer is wanted.
struct Exchange {
    http: Http,
    question: Vec<u8>,
    body: Option<net::Body>,
}

impl Read for Exchange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let body = match &mut self.body {
            Some(body) => body,
            None => {
                let response = self
                    .http
                    .exchange(&self.question)
                    .map_err(|failure| io::Error::other(self.http.context.fail(failure)))?;
                self.body.insert(response.into_body())
            }
        };
        passed_on(&self.http.context, body.read(buffer))
    }
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.question.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps what went wrong with a body.
fn passed_on(context: &Context, read: io::Result<usize>) -> io::Result<usize> {
    read.map_err(|error| match net::Error::from_read(error) {
        Ok(error) => io::Error::other(context.fail(stopped_or(context.sent().hide(error)))),
        Err(error) => error,
    })
}

fn stopped_or(error: net::Error) -> Failure {
    match error.kind {
        ErrorKind::Stopped => Failure::Stopped,
        _ => Failure::Http(error),
    }
}

/// An address below the repository's.
fn below(base: &Url, rest: &str) -> Result<Url, Failure> {
    let base = base.as_str().trim_end_matches('/');
    Url::parse(&format!("{base}{rest}")).map_err(|error| Failure::Settings(error.to_string()))
}

/// What a list of references belongs to, for messages.
fn repository_of(url: &Url, sent: &Sent) -> String {
    let mut url = url.clone();
    if let Some(path) = url.path().strip_suffix(LISTED) {
        let path = path.to_owned();
        url.set_path(&path);
        url.set_query(None);
    }
    sent.shown(&url)
}

fn expect_kind(response: &Response, wanted: &str, sent: &Sent) -> Result<(), Failure> {
    let kind = response.header("content-type").unwrap_or("no content type");
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    Err(Failure::NotGit {
        url: repository_of(&response.url, sent),
        kind: shortened(&sent.hidden(kind)),
    })
}

/// The failure behind a status.
fn refused(response: Response, asked: &Url, sent: &Sent) -> Failure {
    let status = response.status;
    let url = response.url.clone();
    if let (301 | 302 | 303 | 307 | 308, Some(to)) = (status, response.header("location")) {
        let to = url.join(to).map(|to| sent.shown(&to));
        return Failure::Redirect {
            from: sent.shown(asked),
            to: to.unwrap_or_else(|_| "something that is no address".to_owned()),
            why: "the server had already answered for this repository",
        };
    }
    let plain = response
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("text/plain"));
    let mut said = Vec::new();
    // Of what breaks off, the beginning is told as of what is too long.
    let is_all = !plain
        || response
            .into_body()
            .take(WORDS)
            .read_to_end(&mut said)
            .is_ok()
            && (said.len() as u64) < WORDS;
    let said = String::from_utf8_lossy(&said);
    let said = match is_all {
        true => shortened(&sent.hidden(&said)),
        false => shortened(&secret::whole_words(&sent.hidden_in_part(&said))),
    };
    let host = url.host_str().unwrap_or_default();
    let host = sent.hidden(&match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    });
    match status {
        403 => Failure::Denied { host, said },
        404 | 410 => Failure::NotFound {
            url: repository_of(&url, sent),
            said,
        },
        _ => Failure::Status { host, status, said },
    }
}

/// The proxies of the environment and of git's configuration.
fn proxies(context: &Context) -> Result<Proxies, Failure> {
    let text = |name: &str| {
        let value = context.environment.get(name)?;
        Some(value.to_string_lossy().into_owned())
    };
    let bad = |error: net::BadProxy| Failure::Settings(error.to_string());
    let mut proxies = Proxies::from_variables(text).map_err(bad)?;
    if let Some(proxy) = &context.configuration.proxy {
        proxies.set_https("http.proxy", proxy).map_err(bad)?;
        proxies.set_http("http.proxy", proxy).map_err(bad)?;
    }
    Ok(proxies)
}

/// The certificates of the system, and those the user gives git.
fn trust(context: &Context) -> Result<Trust, Failure> {
    let variable = context.environment.get("GIT_SSL_CAINFO").map(PathBuf::from);
    let home = context.environment.home.as_deref();
    let configured = context.configuration.certificates.as_deref();
    let configured = configured.map(|path| path_of(path, home));
    let Some(path) = variable.or(configured) else {
        return Ok(Trust::default());
    };
    let path = context.environment.directory.join(path);
    match sys::read_regular(&path, MAX_CERTIFICATES) {
        Ok(pem) => Ok(Trust::System { besides: vec![pem] }),
        Err(error) => Err(Failure::Settings(format!(
            "the certificates of git's configuration ({}) cannot be read: {error}",
            path.display()
        ))),
    }
}
