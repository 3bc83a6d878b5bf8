//! One request to a server, and the judgement of the head of its answer. Both
//! transports ask through this.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use url::Url;

use super::events::{Events, Patience};
use super::failure::{self, Failure, Hint, StartError};
use super::headers::{Field, Headers};
use super::redirect::{self, Ask, From};
use super::{Rules, Watch};
use crate::mcp::credential::Credentials;
use crate::mcp::gate::Hosts;
use crate::mcp::plan::Endpoint;
use crate::net::{AsyncClient, AsyncResponse, AsyncSettings, Method, shown};
use crate::secret;

/// The media type of a JSON text.
pub(super) const JSON: &str = "application/json";
/// The media type of server-sent events.
pub(super) const EVENTS: &str = "text/event-stream";
/// The longest remark of a server that is shown, in characters.
const REMARK: usize = 200;

/// A server as it can be asked. Cheap to clone.
#[derive(Clone)]
pub(super) struct Exchange {
    client: AsyncClient,
    /// The configured address.
    pub(super) home: Url,
    headers: Arc<Headers>,
    /// Where it may lead on to.
    hosts: Hosts,
    pub(super) rules: Arc<Rules>,
    pub(super) watch: Watch,
}

impl Exchange {
    pub(super) fn new(
        endpoint: &Endpoint,
        credentials: &Credentials,
        rules: &Rules,
    ) -> Result<Self, StartError> {
        let home = endpoint.url.clone();
        if !redirect::is_protected(&home, endpoint.is_here) {
            return Err(StartError::Plain {
                address: shown(&home),
            });
        }
        let client = AsyncClient::new(AsyncSettings {
            proxies: rules.proxies.clone(),
            trust: rules.trust.clone(),
            connect: rules.timeouts.connect,
            egress: rules.egress.clone(),
            loopback: endpoint.is_here,
            lookup: rules.lookup.clone(),
        });
        Ok(Self {
            client,
            headers: Arc::new(Headers::new(endpoint, credentials)?),
            hosts: endpoint.hosts.clone(),
            rules: Arc::new(rules.clone()),
            watch: Watch::default(),
            home,
        })
    }

    /// Asks and gives the answer if it is neither a redirect nor a refusal for want
    /// of credentials.
    pub(super) async fn ask(
        &self,
        method: Method,
        url: &Url,
        generated: &[Field],
        body: Option<&[u8]>,
    ) -> Result<AsyncResponse, Failure> {
        let ask = Ask {
            method,
            url,
            generated,
            body,
        };
        let answer = self.rules.timeouts.answer;
        let from = From {
            home: &self.home,
            headers: &self.headers,
            hosts: &self.hosts,
        };
        let response = redirect::send(&self.client, &from, ask, answer).await?;
        if !matches!(response.status, 401 | 403) {
            return Ok(response);
        }
        let given = self.headers.have_credentials();
        if response.status == 401 && given {
            self.rules.refused.store(true, Ordering::Relaxed);
        }
        // Its body may repeat what was sent; the scheme is enough.
        Err(Failure::Credentials {
            address: shown(&response.url),
            status: response.status,
            scheme: response
                .header("www-authenticate")
                .and_then(failure::scheme)
                .map(|scheme| self.headers.masked(&scheme).into_owned()),
            given,
        })
    }

    /// Opens a stream of events.
    pub(super) async fn open(
        &self,
        generated: &[Field],
        silence: bool,
        hint: fn(u16) -> Hint,
    ) -> Result<(Events, Url), Failure> {
        let response = self.ask(Method::Get, &self.home, generated, None).await?;
        if response.status != 200 {
            let hint = hint(response.status);
            return Err(self.refused(Method::Get, response, hint).await);
        }
        match response.media_type().as_deref() {
            Some(EVENTS) => {
                let url = response.url.clone();
                Ok((self.events(response, silence), url))
            }
            _ => Err(self.unfitting(Method::Get, &response, hint(response.status))),
        }
    }

    /// The events of an answer; with `silence` it may not be silent for ever.
    pub(super) fn events(&self, response: AsyncResponse, silence: bool) -> Events {
        let timeouts = self.rules.timeouts;
        let patience = Patience {
            silence: silence.then_some(timeouts.silence),
            event: timeouts.whole,
        };
        Events::new(response, self.rules.limits.event, patience)
    }

    /// All of an answer that is one JSON text.
    pub(super) async fn text(&self, response: AsyncResponse) -> Result<Vec<u8>, Failure> {
        let timeouts = self.rules.timeouts;
        let limit = self.rules.limits.json;
        Ok(response.bytes(limit, timeouts.idle, timeouts.whole).await?)
    }

    /// A status that is not known.
    pub(super) async fn refused(
        &self,
        method: Method,
        response: AsyncResponse,
        hint: Hint,
    ) -> Failure {
        let (status, address) = (response.status, shown(&response.url));
        let json = response.media_type().as_deref() == Some(JSON);
        let (limit, idle) = (self.rules.limits.error, self.rules.timeouts.idle);
        let body = response.beginning(limit, idle).await;
        self.status(method, status, address, json.then_some(&body), hint)
    }

    /// The same, its body read.
    pub(super) fn status(
        &self,
        method: Method,
        status: u16,
        address: String,
        body: Option<&Vec<u8>>,
        hint: Hint,
    ) -> Failure {
        Failure::Status {
            address,
            method: method.name(),
            status,
            said: body.and_then(|body| self.remark(body)),
            hint,
        }
    }

    /// What a refusal says about itself, without anything that looks secret.
    fn remark(&self, body: &[u8]) -> Option<String> {
        let value: serde_json::Value = serde_json::from_slice(body).ok()?;
        let said = value
            .pointer("/error/message")
            .or_else(|| value.get("error"))
            .or_else(|| value.get("message"))?
            .as_str()?;
        let mut text = self.headers.masked(said).into_owned();
        let places: Vec<_> = secret::tokens(&text).collect();
        for place in places.into_iter().rev() {
            text.replace_range(place, "…");
        }
        let line = secret::cut(&text.replace(char::is_control, " "), REMARK);
        let line = line.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// A kind of content that does not fit.
    pub(super) fn unfitting(
        &self,
        method: Method,
        response: &AsyncResponse,
        hint: Hint,
    ) -> Failure {
        let got = response.media_type();
        let page = got.as_deref() == Some("text/html");
        // Whatever the server calls it, it is shown: without controls and secrets, and
        // not all.
        let got = got.map(|got| {
            let got = self.headers.masked(&got).into_owned();
            got.chars().filter(|c| !c.is_control()).take(60).collect()
        });
        Failure::Content {
            address: shown(&response.url),
            method: method.name(),
            got,
            hint: if page { Hint::Page } else { hint },
        }
    }

    /// Notes what the server sent that is no message.
    pub(super) fn pass_over(&self, text: &str) {
        self.watch.pass_over(|| self.masked(text));
    }

    /// `text` without the values of credentials.
    pub(super) fn masked(&self, text: &str) -> String {
        self.headers.masked(text).into_owned()
    }
}

/// A header of the client's own.
pub(super) fn own(name: &str, value: impl Into<Vec<u8>>) -> Field {
    (name.to_owned(), value.into())
}
