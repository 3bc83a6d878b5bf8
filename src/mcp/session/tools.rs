//! The tools of a server, page by page.

use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::connection::Connection;
use super::failure::{Failure, Step};
use super::handshake::Facts;
use crate::mcp::members::object;

/// How many tools one server may have.
const MOST: usize = 10_000;
/// How many bytes their descriptions may have together.
const BYTES: usize = 32 << 20;

/// A tool as its server describes it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its own name.
    pub name: String,
    /// The whole description, as the server wrote it.
    pub raw: Box<RawValue>,
}

/// What a server lists.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// Its tools, in order of their names.
    pub tools: Vec<Tool>,
    /// What is in its list and of no use, in a sentence.
    pub warning: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Box<RawValue>>,
    #[serde(default)]
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// All tools. `limit` is for all pages together: a server that always has one more
/// would keep whoever waits for ever.
pub(super) async fn list(
    server: &str,
    facts: &Facts,
    connection: &Connection,
    limit: Option<Duration>,
) -> Result<Listed, Failure> {
    let pages = pages(server, facts, connection);
    let Some(limit) = limit else {
        return pages.await;
    };
    tokio::time::timeout(limit, pages)
        .await
        .unwrap_or_else(|_| {
            let cause = format!("no whole list within {} s", limit.as_secs_f32());
            Err(Failure::new(server, Step::ListTools, cause).help("--timeout gives it more time"))
        })
}

async fn pages(server: &str, facts: &Facts, connection: &Connection) -> Result<Listed, Failure> {
    // Whoever does not offer tools is not asked for them.
    if !facts.capabilities.contains_key("tools") {
        return Ok(Listed::default());
    }
    let secrets = connection.secrets();
    let failed = |cause: String| Failure::new(server, Step::ListTools, secrets.masked(&cause));
    let mut tools: Vec<Tool> = Vec::new();
    let mut nameless = Nameless::default();
    let mut bytes = 0_usize;
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    loop {
        let params = match &cursor {
            Some(cursor) => json!({"cursor": cursor}),
            None => json!({}),
        };
        let answer = connection.ask("tools/list", &params).end(None).await;
        let answer =
            answer.map_err(|error| error.without(secrets).during(server, Step::ListTools))?;
        bytes = bytes.saturating_add(answer.get().len());
        let page: Page = object(answer.get())
            .map_err(|error| failed(format!("its list of tools cannot be read: {error}")))?;
        for raw in page.tools {
            match object(raw.get()) {
                Ok(Named { name }) if !name.trim().is_empty() => tools.push(Tool { name, raw }),
                // It cannot be called.
                _ => nameless.add(tools.len()),
            }
        }
        if tools.len() + nameless.count > MOST {
            return Err(failed(format!("it lists more than {MOST} tools")));
        }
        if bytes > BYTES {
            return Err(failed(format!(
                "its list of tools has more than {BYTES} bytes"
            )));
        }
        // Servers without more pages send an empty one, too.
        match page.next_cursor.filter(|cursor| !cursor.is_empty()) {
            None => break,
            Some(next) if !seen.insert(next.clone()) => {
                return Err(failed(
                    "its list of tools does not end: a cursor came twice".to_owned(),
                ));
            }
            // Pages without tools and with ever new cursors.
            Some(_) if seen.len() > MOST => {
                return Err(failed(format!(
                    "its list of tools has more than {MOST} pages"
                )));
            }
            next => cursor = next,
        }
    }
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let warning = nameless.warning();
    Ok(Listed { tools, warning })
}

/// The tools of a list that nobody can call.
#[derive(Default)]
struct Nameless {
    count: usize,
    /// The place of the first, from 1.
    first: usize,
}

impl Nameless {
    /// One more, behind so many that have a name.
    fn add(&mut self, named: usize) {
        if self.count == 0 {
            self.first = named + 1;
        }
        self.count += 1;
    }

    fn warning(&self) -> Option<String> {
        let Self { count, first } = self;
        match count {
            0 => None,
            1 => Some(format!(
                "number {first} of the tools it lists has no usable name and is left out"
            )),
            count => Some(format!(
                "{count} of the tools it lists have no usable name and are left out, the first is number {first}"
            )),
        }
    }
}
