//! MCP Streamable HTTP. rmcp keeps the session (its identifier, its renewal when
//! the server has forgotten it, its end); what is sent and what is accepted as an
//! answer is judged here.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransport,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::Sse;
use tokio::sync::watch;

use super::Watch;
use super::exchange::{EVENTS, Exchange, JSON, own};
use super::failure::{Failure, Hint};
use super::headers::Field;
use super::heard::{Heard, due, instead, unreadable};
use super::resume::{Resumable, is_lasting};
use crate::mcp::wire::{self, Texts};
use crate::net::{AsyncResponse, Method, shown};

/// How many requests a server may leave unanswered before the next ones wait. Each has
/// a connection.
const REQUESTS: usize = 256;
/// How long the end of a session is waited for.
const FAREWELL: Duration = Duration::from_secs(1);
/// The longest session identifier that is taken, in bytes.
const SESSION_BYTES: usize = 4096;

type Error = StreamableHttpError<Failure>;
type Stream = BoxStream<'static, Result<Sse, SseError>>;
type Own = HashMap<HeaderName, HeaderValue>;

/// A connection over MCP Streamable HTTP.
pub struct Streamable {
    inner: StreamableHttpClientTransport<Client>,
    address: String,
    watch: Watch,
    /// `initialized` was sent. Before that rmcp waits for it and hears of no end.
    is_open: bool,
    /// Dropped with this, it ends what rmcp's task still waits for.
    _life: watch::Sender<()>,
}

impl Streamable {
    pub(super) fn start(exchange: Exchange) -> Self {
        let mut config = StreamableHttpClientTransportConfig::with_uri(exchange.home.as_str());
        // Streams are taken up again by `resume`.
        config.retry_config = Arc::new(NeverRetry::default());
        config.max_concurrent_requests = REQUESTS;
        let (life, end) = watch::channel(());
        Self {
            address: shown(&exchange.home),
            watch: exchange.watch.clone(),
            is_open: false,
            inner: StreamableHttpClientTransport::with_client(
                Client(exchange, Arc::default(), end),
                config,
            ),
            _life: life,
        }
    }

    /// What went wrong last; also when rmcp has taken the transport.
    pub fn watch(&self) -> Watch {
        self.watch.clone()
    }
}

impl Transport<RoleClient> for Streamable {
    type Error = Failure;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        self.is_open |= matches!(
            &item,
            ClientJsonRpcMessage::Notification(message)
                if matches!(message.notification, ClientNotification::InitializedNotification(_))
        );
        let sent = self.inner.send(item);
        let (address, watch) = (self.address.clone(), self.watch.clone());
        async move { sent.await.map_err(|error| closed(error, address, &watch)) }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), Failure> {
        if !self.is_open {
            return Ok(());
        }
        let closed_by = self.inner.close().await;
        closed_by.map_err(|error| closed(error, self.address.clone(), &self.watch))
    }
}

fn closed(error: Error, address: String, watch: &Watch) -> Failure {
    match error {
        StreamableHttpError::Client(failure) => failure,
        StreamableHttpError::TransportChannelClosed => Failure::Closed {
            address,
            detail: watch.last().unwrap_or_else(|| error.to_string()),
        },
        error => Failure::Closed {
            address,
            detail: error.to_string(),
        },
    }
}

/// What rmcp asks for each request. The second part holds the requests that were
/// refused for want of a session and are sent once more; the third one ends with the
/// transport.
#[derive(Clone)]
struct Client(Exchange, Arc<Mutex<HashSet<String>>>, watch::Receiver<()>);

impl Client {
    /// Waits until nobody has the transport any more.
    fn gone(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut end = self.2.clone();
        async move { while end.changed().await.is_ok() {} }
    }

    fn fail(&self, failure: Failure) -> Error {
        self.0.watch.note(&failure);
        Error::Client(failure)
    }

    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        own_headers: Own,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let body = wire::text(&message)?;
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(serde_json::to_value(&request.id)?),
            _ => None,
        };
        let mut fields = session_fields(session.as_deref(), &own_headers);
        let for_stream = fields.clone();
        fields.push(own("accept", format!("{JSON}, {EVENTS}")));
        fields.push(own("content-type", JSON));
        let home = &self.0.home;
        let response = self.0.ask(Method::Post, home, &fields, Some(&body)).await;
        let response = response.map_err(|failure| self.fail(failure))?;
        if response.status == 404 && session.is_some() {
            return Err(Error::SessionExpired);
        }
        let kind = response.media_type();
        let Some(request) = request else {
            // Nothing is due.
            return match response.status {
                200..300 => Ok(StreamableHttpPostResponse::Accepted),
                _ => {
                    let refused = self.0.refused(Method::Post, response, Hint::None).await;
                    Err(self.fail(refused))
                }
            };
        };
        let name = session_name(&response);
        let answer = match (response.status, kind.as_deref()) {
            // The answer may come on the stream of the session.
            (202 | 204, _) if session.is_some() => Ok(StreamableHttpPostResponse::Accepted),
            (202 | 204, _) => Err(Failure::Message {
                address: shown(&response.url),
                detail: "it accepts the request and does not answer it".to_owned(),
            }),
            (200..300, Some(JSON)) => self.answer(response, &request, name).await,
            (200..300, Some(EVENTS)) => name.map(|name| {
                let events = self.0.events(response, true);
                let exchange = self.0.clone();
                let stream = Resumable::new(exchange, for_stream, Some(events), Some(request));
                StreamableHttpPostResponse::Sse(stream.into_stream(), name)
            }),
            (200..300, _) => Err(self.0.unfitting(Method::Post, &response, Hint::None)),
            _ => {
                let has_session = session.is_some();
                match self
                    .refusal(response, &message, &request, has_session)
                    .await
                {
                    Ok(Some(answer)) => Ok(answer),
                    Ok(None) => return Err(Error::SessionExpired),
                    Err(failure) => Err(failure),
                }
            }
        };
        answer.map_err(|failure| self.fail(failure))
    }

    /// The answer to `request` in one JSON text. Beside it in a batch may stand other
    /// messages, which rmcp takes from a stream alone.
    async fn answer(
        &self,
        response: AsyncResponse,
        request: &Value,
        session: Result<Option<String>, Failure>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let none = Failure::Message {
            address: shown(&response.url),
            detail: "it is not the answer to the request".to_owned(),
        };
        let text = self.0.text(response).await?;
        let text = String::from_utf8_lossy(&text);
        let texts = wire::texts(&text).map_err(|error| unreadable(&self.0, &error))?;
        let texts = match texts {
            Texts::Batch(texts) => texts,
            Texts::One(text) => {
                let message = self.0.rules.results.message(text);
                let message = message.map_err(|error| unreadable(&self.0, &error))?;
                let message = due(message, request).ok_or(none)?;
                return Ok(StreamableHttpPostResponse::Json(message, session?));
            }
        };
        let results = self.0.rules.results;
        let nameless = texts
            .iter()
            .find_map(|text| due(results.message(text).ok()?, request));
        let mut heard = Heard::of(&self.0, texts, Some(request));
        if !heard.is_answered {
            heard.messages.push(match nameless {
                Some(error) => {
                    serde_json::to_string(&error).map_err(|error| unreadable(&self.0, &error))?
                }
                None => {
                    self.0.watch.note(&none);
                    instead(request, &none)
                }
            });
        }
        let messages = heard.messages.into_iter();
        let events = messages.map(|message| Ok(Sse::default().data(message)));
        let stream = futures_util::stream::iter(events).boxed();
        Ok(StreamableHttpPostResponse::Sse(stream, session?))
    }

    /// A refused request: its JSON-RPC error, if it has one; nothing if the server has
    /// forgotten the session and says so with 400 instead of 404, as servers of the
    /// official SDKs do after a restart. A request is sent again once.
    async fn refusal(
        &self,
        response: AsyncResponse,
        message: &ClientJsonRpcMessage,
        request: &Value,
        has_session: bool,
    ) -> Result<Option<StreamableHttpPostResponse>, Failure> {
        let first = matches!(
            message,
            ClientJsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::InitializeRequest(_))
        );
        let (status, address) = (response.status, shown(&response.url));
        let hint = match status {
            404 | 405 if first => Hint::Sse,
            _ => Hint::None,
        };
        if response.media_type().as_deref() != Some(JSON) {
            return Err(self.0.refused(Method::Post, response, hint).await);
        }
        let text = self.0.text(response).await?;
        if status == 400 && has_session && is_about_session(&text) {
            let mut again = self.1.lock().unwrap_or_else(PoisonError::into_inner);
            let id = request.to_string();
            if !again.remove(&id) {
                again.insert(id);
                return Ok(None);
            }
        }
        let error = serde_json::from_slice(&text).ok();
        let error = error.filter(|error| matches!(error, ServerJsonRpcMessage::Error(_)));
        match error.and_then(|error| due(error, request)) {
            Some(error) => Ok(Some(StreamableHttpPostResponse::Json(error, None))),
            None => Err(self
                .0
                .status(Method::Post, status, address, Some(&text), hint)),
        }
    }
}

/// Whether an error speaks of the session: the status 400 alone may mean anything.
fn is_about_session(text: &[u8]) -> bool {
    let Ok(ServerJsonRpcMessage::Error(error)) = serde_json::from_slice(text) else {
        return false;
    };
    error.error.message.to_ascii_lowercase().contains("session")
}

/// The identifier of the session that an answer begins: visible ASCII (MCP
/// 2025-11-25, transports: session management).
fn session_name(response: &AsyncResponse) -> Result<Option<String>, Failure> {
    let Some(name) = response.header("mcp-session-id") else {
        return Ok(None);
    };
    let fine = name.bytes().all(|byte| byte.is_ascii_graphic())
        && (1..=SESSION_BYTES).contains(&name.len());
    if fine {
        Ok(Some(name.to_owned()))
    } else {
        Err(Failure::Message {
            address: shown(&response.url),
            detail: "its Mcp-Session-Id holds other characters than visible ASCII, or too many"
                .to_owned(),
        })
    }
}

fn session_fields(session: Option<&str>, own_headers: &Own) -> Vec<Field> {
    let mut fields: Vec<Field> = own_headers
        .iter()
        .map(|(name, value)| own(name.as_str(), value.as_bytes()))
        .collect();
    if let Some(session) = session {
        fields.push(own("mcp-session-id", session));
    }
    fields
}

impl StreamableHttpClient for Client {
    type Error = Failure;

    /// rmcp asks with limits of its own, and by default through this: those of the
    /// rules hold, which it does not know.
    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: Own,
    ) -> Result<StreamableHttpPostResponse, Error> {
        // rmcp's task hears of no end before the server has answered for the first time.
        let posted = tokio::select! {
            posted = self.post(message, session_id, custom_headers) => posted?,
            () = self.gone() => return Err(Error::TransportChannelClosed),
        };
        Ok(match posted {
            StreamableHttpPostResponse::Sse(stream, name) => {
                StreamableHttpPostResponse::Sse(stream.take_until(self.gone()).boxed(), name)
            }
            posted => posted,
        })
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Own,
    ) -> Result<(), Error> {
        let mut fields = session_fields(Some(&session_id), &custom_headers);
        fields.push(own("accept", format!("{JSON}, {EVENTS}")));
        let asked = self.0.ask(Method::Delete, &self.0.home, &fields, None);
        // A server that does not answer ends the session by itself some day.
        let Ok(response) = tokio::time::timeout(FAREWELL, asked).await else {
            return Ok(());
        };
        let response = response.map_err(|failure| self.fail(failure))?;
        match response.status {
            // It is gone, or the server ends sessions itself.
            200..300 | 404 | 405 => Ok(()),
            _ => {
                let refused = self.0.refused(Method::Delete, response, Hint::None).await;
                Err(self.fail(refused))
            }
        }
    }

    /// The stream for what the server says unasked.
    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session_id: Option<Arc<str>>,
        _last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: Own,
    ) -> Result<Stream, Error> {
        let fields = session_fields(session_id.as_deref(), &custom_headers);
        let mut first = fields.clone();
        first.push(own("accept", EVENTS));
        let events = match self.0.open(&first, false, |_| Hint::None).await {
            Ok((events, _)) => Some(events),
            // Most servers have nothing to say unasked.
            Err(Failure::Status {
                status: 404 | 405, ..
            }) => return Err(Error::ServerDoesNotSupportSse),
            Err(failure) if is_lasting(&failure) => return Err(self.fail(failure)),
            Err(failure) => {
                self.0.watch.note(&failure);
                None
            }
        };
        Ok(Resumable::new(self.0.clone(), fields, events, None).into_stream())
    }
}
