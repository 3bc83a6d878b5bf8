//! Tools that are not offered because others have their names, and which of them
//! were told. A server can have ever new ones: what is kept and told is bounded.

use std::collections::HashSet;

/// How many of one server are told one by one.
const TOLD: usize = 20;

/// Those of one server in one list.
#[derive(Default)]
pub(super) struct Collisions {
    first: Vec<String>,
    is_more: bool,
}

impl Collisions {
    /// Adds one more, described by `describe`.
    pub(super) fn add(&mut self, describe: impl FnOnce() -> String) {
        if self.first.len() < TOLD {
            self.first.push(describe());
        } else {
            self.is_more = true;
        }
    }
}

/// What was told of one server.
#[derive(Default)]
pub(super) struct Told {
    known: HashSet<String>,
    /// That there are more was told, too.
    is_over: bool,
}

impl Told {
    /// What is to be told of `collisions` of the server `label`.
    pub(super) fn news(&mut self, label: &str, collisions: &Collisions) -> Vec<String> {
        let mut news = Vec::new();
        let mut is_more = collisions.is_more;
        for text in &collisions.first {
            if self.known.contains(text) {
            } else if self.known.len() < TOLD {
                self.known.insert(text.clone());
                news.push(text.clone());
            } else {
                is_more = true;
            }
        }
        if is_more && !self.is_over {
            self.is_over = true;
            news.push(format!(
                "more tools of server `{label}` are not offered, as others have their names; no more of these are told"
            ));
        }
        news
    }
}
