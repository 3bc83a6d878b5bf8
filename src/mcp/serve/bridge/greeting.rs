//! What a host is told of the servers when it begins.

use serde_json::{Value, json};

use super::Bridge;
use crate::mcp::serve::upstream::{State, Upstream};
use crate::mcp::session::{LATEST, VERSIONS};

/// How many characters of the instructions of one server are passed on, and of
/// all of them.
const INSTRUCTIONS: (usize, usize) = (4_000, 16_000);

impl Bridge {
    /// The result of `initialize` in a session of this version.
    pub(super) fn initialized(&self, version: &str) -> Value {
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": true}, "logging": {}},
            "serverInfo": {"name": "apkit", "version": env!("CARGO_PKG_VERSION")},
        });
        let instructions = self.instructions();
        if let (false, Some(result)) = (instructions.is_empty(), result.as_object_mut()) {
            result.insert("instructions".to_owned(), Value::String(instructions));
        }
        result
    }

    /// What the servers say about how to use them, each below its name.
    fn instructions(&self) -> String {
        let mut text = String::new();
        for upstream in &self.upstreams {
            let State::Up(session, tools) = upstream.state() else {
                continue;
            };
            let Some(own) = session.facts().instructions.as_deref().map(str::trim) else {
                continue;
            };
            // Nothing of a server is offered: its words would mislead.
            if own.is_empty() || !tools.iter().any(|tool| self.allows(upstream, &tool.name)) {
                continue;
            }
            let part = format!("## {}\n\n{}\n\n", upstream.label, cut(own, INSTRUCTIONS.0));
            if text.chars().count() + part.chars().count() > INSTRUCTIONS.1 {
                break;
            }
            text.push_str(&part);
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn allows(&self, upstream: &Upstream, tool: &str) -> bool {
        upstream.offers(tool, self.allowed.as_ref())
    }
}

/// The version that is spoken with a host that asks for this one.
pub(super) fn version(asked: Option<&str>) -> &'static str {
    let known = VERSIONS.into_iter();
    let mut known = known.filter(|version| asked == Some(version));
    known.next().unwrap_or(LATEST)
}

/// The beginning of `text`, at most `longest` characters of it.
fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest - 1).collect();
    format!("{}…", kept.trim_end())
}
