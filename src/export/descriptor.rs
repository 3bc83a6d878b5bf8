//! A package that describes a server, made from the command line.

use super::PlanError;
use super::client::SERVERS;
use super::draft::Draft;
use super::json::{Json, Text};
use super::paths::relative;
use crate::spec::version::{self, SchemaKind, Selection};
use crate::spec::{credential, url};

/// A server to describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// Its name in `mcpServers`.
    pub name: String,
    /// How it is reached.
    pub launch: Launch,
}

/// How a described server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// Over HTTP.
    Remote {
        /// Which transport.
        transport: Transport,
        /// Endpoint.
        url: String,
        /// Fixed headers.
        headers: Vec<(String, String)>,
    },
    /// As a subprocess.
    Stdio {
        /// Bare name, or `./` path into the package.
        command: String,
        /// Arguments.
        args: Vec<String>,
        /// Environment.
        env: Vec<(String, String)>,
        /// Working directory.
        cwd: Option<String>,
    },
}

/// The transports over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// MCP Streamable HTTP.
    #[default]
    StreamableHttp,
    /// The deprecated HTTP+SSE transport.
    Sse,
}

impl Transport {
    /// The value of `type`.
    pub const fn id(self) -> &'static str {
        match self {
            Self::StreamableHttp => "streamable-http",
            Self::Sse => "sse",
        }
    }
}

/// Adds the server to the `mcp.json` of the package.
pub(super) fn add(draft: &mut Draft, server: &Descriptor) -> Result<(), PlanError> {
    refuse_secrets(server)?;
    let mut document = match draft.bytes("mcp.json") {
        None => Json::object([("$schema", Json::string(version::current().mcp_schema))]),
        Some(bytes) => {
            let text = Text::read("mcp.json", bytes).map_err(|error| PlanError::Manifest {
                path: "mcp.json".to_owned(),
                message: error.message,
            })?;
            let document = Json::of(&text.document.root);
            // Whatever is off in it would be on in what is written.
            match off(&document) {
                None => document,
                Some(why) => return Err(PlanError::ServersOff(why)),
            }
        }
    };
    let servers = document.get(SERVERS).and_then(Json::as_object);
    let mut servers = servers.unwrap_or_default().to_vec();
    if servers.iter().any(|(name, _)| *name == server.name) {
        return Err(PlanError::ServerExists(server.name.clone()));
    }
    servers.push((server.name.clone(), entry(draft, &server.launch)?));
    document.set(SERVERS, Json::Object(servers));
    draft.put_json("mcp.json", &document);
    Ok(())
}

/// Why clients turn the servers of an `mcp.json` off, as far as its top tells
/// (§7.1).
fn off(document: &Json) -> Option<String> {
    let Some(members) = document.as_object() else {
        return Some("it is no object".to_owned());
    };
    let schema = document.get("$schema").and_then(Json::as_str);
    let selected = schema.map(|schema| version::select(schema, SchemaKind::Mcp, true));
    if !matches!(selected, Some(Selection::Supported(_))) {
        return Some("its $schema names no version that is known".to_owned());
    }
    if document.get(SERVERS).and_then(Json::as_object).is_none() {
        return Some(format!("it has no object {SERVERS}"));
    }
    let others = members.iter().map(|(key, _)| key.as_str());
    let mut others = others.filter(|key| !["$schema", SERVERS].contains(key));
    others.next().map(|key| format!("it has a field {key:?}"))
}

fn entry(draft: &mut Draft, launch: &Launch) -> Result<Json, PlanError> {
    let pairs = |pairs: &[(String, String)]| {
        Json::object(
            pairs
                .iter()
                .map(|(key, value)| (key.clone(), Json::string(value))),
        )
    };
    let mut entry = Vec::new();
    match launch {
        Launch::Remote {
            transport,
            url,
            headers,
        } => {
            entry.push(("type", Json::string(transport.id())));
            entry.push(("url", Json::string(url)));
            if !headers.is_empty() {
                entry.push(("headers", pairs(headers)));
            }
        }
        Launch::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            if command.starts_with("./") {
                let path = relative(command).unwrap_or_default();
                let file = draft.tree.files.get_mut(&path);
                file.ok_or_else(|| PlanError::NoCommand(command.clone()))?
                    .executable = true;
            }
            entry.push(("type", Json::string("stdio")));
            entry.push(("command", Json::string(command)));
            if !args.is_empty() {
                entry.push(("args", Json::strings(args.clone())));
            }
            if !env.is_empty() {
                entry.push(("env", pairs(env)));
            }
            if let Some(cwd) = cwd {
                entry.push(("cwd", Json::string(cwd)));
            }
        }
    }
    Ok(Json::object(entry))
}

/// A descriptor is published; no secret may be in it, and none is shown.
fn refuse_secrets(server: &Descriptor) -> Result<(), PlanError> {
    let is_secret = |name: &str, value: &str| credential::held(Some(name), value).is_some();
    let found = match &server.launch {
        Launch::Remote { url, headers, .. } => headers
            .iter()
            .find(|(name, value)| is_secret(name, value))
            .map(|(name, _)| format!("the header {name:?}"))
            .or_else(|| {
                url::query_pairs(url)
                    .find(|(name, value)| is_secret(name, value))
                    .map(|(name, _)| format!("{name:?} in the address"))
            })
            .or_else(|| credential::held(None, url).map(|_| "the address".to_owned())),
        Launch::Stdio {
            command, args, env, ..
        } => env
            .iter()
            .find(|(name, value)| is_secret(name, value))
            .map(|(name, _)| format!("the variable {name:?}"))
            .or_else(|| {
                let mut before: Option<&str> = None;
                args.iter().enumerate().find_map(|(index, argument)| {
                    let held = credential::held_by_argument(argument, before);
                    before = Some(argument);
                    held.map(|_| format!("argument {}", index + 1))
                })
            })
            .or_else(|| credential::held(None, command).map(|_| "the command".to_owned())),
    };
    match found {
        Some(what) => Err(PlanError::Secret(what)),
        None => Ok(()),
    }
}
