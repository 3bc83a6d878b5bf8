//! Which tools are offered, and whose they are.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::allowed::Allowed;
use super::upstream::Upstream;
use crate::mcp::members::Members;

/// The tools on offer.
#[derive(Default)]
pub(super) struct Table {
    /// The descriptions, in order, as the elements of a list.
    text: String,
    /// For each name the server, by its place, and the tool's own name there.
    places: HashMap<String, (usize, String)>,
    /// Names that more than one tool would have.
    pub(super) collisions: Vec<String>,
}

impl Table {
    /// What these servers offer now. The first of several tools of one name
    /// keeps it.
    pub(super) fn of(upstreams: &[Arc<Upstream>], allowed: Option<&Allowed>) -> Self {
        let mut table = Self::default();
        for (place, upstream) in upstreams.iter().enumerate() {
            for tool in upstream.state().tools() {
                if !upstream.offers(&tool.name, allowed) {
                    continue;
                }
                let offered = upstream.offered(&tool.name);
                if let Some((first, own)) = table.places.get(&offered) {
                    let first = upstreams.get(*first).map_or("", |first| &first.label);
                    table.collisions.push(format!(
                        "tool `{}` of server `{}` is not offered: tool `{own}` of server `{first}` has its name {offered}",
                        tool.name, upstream.label,
                    ));
                    continue;
                }
                let Some(mut members) = Members::of(&tool.raw) else {
                    continue;
                };
                members.set("name", Value::from(offered.as_str()).to_string());
                let comma = if table.text.is_empty() { "" } else { "," };
                let _ = write!(table.text, "{comma}{}", members.text());
                table.places.insert(offered, (place, tool.name.clone()));
            }
        }
        table
    }

    /// The result of `tools/list`.
    pub(super) fn result(&self) -> String {
        format!("{{\"tools\":[{}]}}", self.text)
    }

    /// The server that has a tool, by its place, and the tool's own name.
    pub(super) fn find(&self, name: &str) -> Option<(usize, &str)> {
        let (place, own) = self.places.get(name)?;
        Some((*place, own))
    }

    /// Whether a host would see a difference.
    pub(super) fn differs(&self, other: &Self) -> bool {
        self.text != other.text
    }

    /// The names on offer.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }
}
