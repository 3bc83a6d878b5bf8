//! The four calls of the EverOS interface that the plugin makes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::deadline::Deadline;
use super::http::{self, Endpoint, Failure};
use super::identity::Identity;
use super::json::Json;
use super::message::Message;
use super::text;

/// The most messages one `/add` may carry.
pub const MAX_MESSAGES: usize = 500;

/// A server.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    /// Where it listens.
    pub endpoint: &'a Endpoint,
}

/// What is written or sealed: the buffer of one session in one project.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Buffer<'a> {
    /// The session's id.
    pub session_id: &'a str,
    /// The host's partition.
    pub app_id: &'a str,
    /// The project's partition.
    pub project_id: &'a str,
}

#[derive(Serialize)]
struct Add<'a> {
    session_id: &'a str,
    app_id: &'a str,
    project_id: &'a str,
    defer_extraction: bool,
    messages: &'a [Message],
}

#[derive(Serialize)]
struct Search<'a> {
    app_id: &'a str,
    project_id: &'a str,
    query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    include_profile: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
}

/// One of the two searches of a recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Track<'a> {
    /// What EverOS knows of the user.
    User {
        /// The user's id.
        id: &'a str,
        /// Whether the profile is wanted as well.
        profile: bool,
    },
    /// What it knows of the agent's work.
    Agent,
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// The lists of the answer.
    pub data: Json,
    /// Whether only the keyword search answered.
    pub keyword_only: bool,
}

/// What `/health` says.
#[derive(Debug)]
pub struct Health {
    /// The server's version.
    pub version: Option<String>,
    /// Its capabilities, by name.
    pub capabilities: BTreeMap<String, bool>,
    /// Features that are off.
    pub disabled: Vec<String>,
    /// Memories that wait for the index.
    pub pending: Option<u64>,
    /// Reasons for degraded service, of the index and of the write queue.
    pub degraded: Vec<String>,
}

impl Client<'_> {
    fn call(self, path: &str, body: Option<&[u8]>, deadline: Deadline) -> Result<Json, Failure> {
        let answer = http::send(self.endpoint, path, body, deadline)?;
        let json = Json::parse(&answer.body);
        if !(200..300).contains(&answer.status) {
            let code = json
                .as_ref()
                .and_then(|json| json.get("error"))
                .and_then(|error| error.str("code"));
            return Err(Failure::Status {
                status: answer.status,
                code: code.map(safe_code),
            });
        }
        json.filter(|json| matches!(json, Json::Object(_)))
            .ok_or(Failure::Unexpected)
    }

    fn post(self, path: &str, body: &impl Serialize, deadline: Deadline) -> Result<Json, Failure> {
        let body = serde_json::to_vec(body)
            .map_err(|_| Failure::Unsent(std::io::ErrorKind::InvalidInput))?;
        self.call(path, Some(&body), deadline)
    }

    /// Whether the server is up and what it can do.
    pub fn health(self, deadline: Deadline) -> Result<Health, Failure> {
        let answer = self.call("/health", None, deadline)?;
        let reasons = |part: &str| {
            let part = answer.get(part);
            part.map(|part| part.list("reasons"))
                .unwrap_or_default()
                .iter()
                .filter_map(word)
                .collect::<Vec<_>>()
        };
        let capabilities = match answer.get("capabilities") {
            Some(Json::Object(members)) => members
                .iter()
                .map(|(name, value)| (short(name), *value == Json::Bool(true)))
                .collect(),
            _ => BTreeMap::new(),
        };
        let pending = match answer
            .get("cascade")
            .and_then(|cascade| cascade.get("pending"))
        {
            Some(Json::Number(digits)) => digits.parse().ok(),
            _ => None,
        };
        Ok(Health {
            version: answer.str("version").map(short),
            capabilities,
            disabled: answer
                .list("disabled_features")
                .iter()
                .filter_map(word)
                .collect(),
            pending,
            degraded: [reasons("cascade"), reasons("memorize_queue")].concat(),
        })
    }

    /// Puts messages into the buffer, without extraction: durable and quick, and
    /// harmless when repeated before the buffer is sealed.
    pub fn add(
        self,
        buffer: Buffer<'_>,
        messages: &[Message],
        deadline: Deadline,
    ) -> Result<(), Failure> {
        let Buffer {
            session_id,
            app_id,
            project_id,
        } = buffer;
        let body = Add {
            session_id,
            app_id,
            project_id,
            defer_extraction: true,
            messages,
        };
        // A success in some other shape is another program's, and nothing is
        // stored; should it be, sending it again does no harm.
        self.post("/api/v2/memory/add", &body, deadline).map(drop)
    }

    /// Closes the buffer, which starts extraction.
    pub fn flush(self, buffer: Buffer<'_>, deadline: Deadline) -> Result<(), Failure> {
        match self.post("/api/v2/memory/flush", &buffer, deadline) {
            Ok(_) | Err(Failure::Unexpected) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Searches one track. When the server says that its embeddings are missing
    /// or down, asks again by keyword, within the same deadline; `keyword` skips
    /// the first attempt.
    pub fn search(
        self,
        identity: &Identity,
        track: Track<'_>,
        query: &str,
        keyword: bool,
        deadline: Deadline,
    ) -> Result<Found, Failure> {
        let (user_id, include_profile, agent_id) = match track {
            Track::User { id, profile } => (Some(id), Some(profile), None),
            Track::Agent => (None, None, Some(identity.agent)),
        };
        let mut body = Search {
            app_id: identity.app,
            project_id: &identity.project,
            query,
            user_id,
            include_profile,
            agent_id,
            method: keyword.then_some("keyword"),
        };
        let mut answer = self.post("/api/v2/memory/search", &body, deadline);
        if !keyword
            && matches!(
                answer,
                Err(Failure::Status {
                    status: 422 | 503,
                    ..
                })
            )
        {
            body.method = Some("keyword");
            answer = self.post("/api/v2/memory/search", &body, deadline);
        }
        let Json::Object(members) = answer? else {
            return Err(Failure::Unexpected);
        };
        let data = members
            .into_iter()
            .find(|(name, _)| name == "data")
            .map(|(_, data)| data);
        let data = data
            .filter(|data| matches!(data, Json::Object(_)))
            .ok_or(Failure::Unexpected)?;
        Ok(Found {
            data,
            keyword_only: body.method.is_some(),
        })
    }
}

fn word(item: &Json) -> Option<String> {
    match item {
        Json::Text(text) => Some(short(&text.head)),
        _ => None,
    }
}

/// A word of the server's, no longer than words are.
fn short(text: &str) -> String {
    text::clip(text, 200).to_owned()
}

/// An error code as it may be shown: a word, nothing else.
fn safe_code(code: &str) -> String {
    code.chars()
        .filter(|ch| ch.is_ascii_alphanumeric() || *ch == '_')
        .take(64)
        .collect()
}

impl Failure {
    /// Whether the server has read the request and refused it for good:
    /// sending it again cannot help. Only an error in the agreed form counts, so
    /// that some other program on the port cannot make a turn disappear.
    pub fn is_rejection(&self) -> bool {
        matches!(self, Self::Status { status: 400..=499, code: Some(_) }
            if !matches!(self, Self::Status { status: 404 | 408 | 425 | 429, .. }))
    }
}
