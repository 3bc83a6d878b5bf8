//! Which tools are offered, and whose they are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::allowed::Allowed;
use super::collisions::Collisions;
use super::names::{self, Spaces};
use super::upstream::Upstream;
use crate::mcp::members::Members;

/// The tools on offer.
#[derive(Default)]
pub(super) struct Table {
    /// The descriptions, in order, as the elements of a list.
    text: String,
    /// For each name the server, by its place, and the tool's own name there.
    places: HashMap<String, (usize, String)>,
    /// For each server the tools that are not offered, as others have their names.
    pub(super) collisions: Vec<Collisions>,
}

impl Table {
    /// What these servers offer now. The first of several tools of one name
    /// keeps it.
    pub(super) fn of(upstreams: &[Arc<Upstream>], allowed: Option<&Allowed>) -> Self {
        let mut table = Self::default();
        let spaces = Spaces::of(upstreams.iter().map(|upstream| &*upstream.label));
        for (place, upstream) in upstreams.iter().enumerate() {
            let mut collisions = Collisions::default();
            for tool in upstream.state().tools() {
                if !upstream.offers(&tool.name, allowed) {
                    continue;
                }
                let offered = upstream.offered(&tool.name);
                if let Some(other) = spaces.other(&upstream.label, &offered) {
                    collisions.add(|| {
                        format!(
                            "tool `{}` of server `{}` is not offered: names that begin with {} are those of server `{other}`",
                            brief(&upstream.shown(&tool.name)),
                            upstream.label,
                            names::plain(other, ""),
                        )
                    });
                    continue;
                }
                if let Some((first, own)) = table.places.get(&offered) {
                    let Some(first) = upstreams.get(*first) else {
                        continue;
                    };
                    collisions.add(|| {
                        // A name that shows a secret is not shown in other forms either.
                        let has = match first.shown(own) == *own {
                            true => format!("its name {offered}"),
                            false => "its name".to_owned(),
                        };
                        format!(
                            "tool `{}` of server `{}` is not offered: tool `{}` of server `{}` has {has}",
                            brief(&upstream.shown(&tool.name)),
                            upstream.label,
                            brief(&first.shown(own)),
                            first.label,
                        )
                    });
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
            table.collisions.push(collisions);
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

/// As much of a name as a message has room for.
fn brief(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 100;
    match name.char_indices().nth(LONGEST) {
        None => name.into(),
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
    }
}
