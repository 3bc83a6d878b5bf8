//! Which rules about starting programs a change leaves behind. They name one content
//! of a package, and only the user changes them: the new one has to be looked at.

use std::io::{self, Write};

use serde_json::{Value, json};

use apkit::archive::Digest;
use apkit::package::Package;
use apkit::render::visible;
use apkit::store::{Done, Outcome, Outdated, Policy, Store};

use super::super::failure::{self, show, slashed};
use super::{Own, Place, Session};

/// The rules of the user.
pub(super) struct Gate(Policy);

impl Gate {
    /// Those that count for the packages of `store`.
    pub(super) fn of(store: &Store, place: &Place, session: &Session) -> Self {
        let own = session.own_store(place, store).unwrap_or_else(|failure| {
            // They have no say in what is imported.
            failure::note(&format!(
                "whether rules about programs still fit is not known: {failure}"
            ));
            Own::Nowhere
        });
        let rules = own.store().map(|own| own.policy().clone());
        Self(rules.unwrap_or_default())
    }

    /// The rules that name another content of a package that was brought in.
    pub(super) fn outdated(&self, done: &Done) -> Vec<Outdated> {
        match done.outcome {
            Outcome::Installed | Outcome::Updated | Outcome::Repaired => {
                self.by(&done.package, &done.entry.digest)
            }
            Outcome::Recorded | Outcome::Unchanged => Vec::new(),
        }
    }

    /// The rules that name another content of `package` than `digest`.
    pub(super) fn by(&self, package: &Package, digest: &Digest) -> Vec<Outdated> {
        self.0.outdated(package, digest)
    }
}

/// Names them, with what they would have to name.
pub(super) fn told(rules: &[Outdated], digest: &Digest, out: &mut dyn Write) -> io::Result<()> {
    for rule in rules {
        writeln!(
            out,
            "  the rule {} at {}:{} names another content, and lets nothing of this one start; look at it, and put its digest there: {digest}",
            visible(&rule.rule),
            show(&rule.path),
            rule.line
        )?;
    }
    Ok(())
}

pub(super) fn as_json(rules: &[Outdated]) -> Value {
    let rules = rules
        .iter()
        .map(|rule| json!({"rule": rule.rule, "path": slashed(&rule.path), "line": rule.line}));
    rules.collect()
}
