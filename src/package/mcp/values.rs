//! Advice about strings of a server, wherever they stand: placeholders that
//! stay literal (§9.2) and values that look like secrets (§7.2.1, §9.2).

use super::super::file::quoted;
use super::server::Entry;
use crate::diagnostic::Span;
use crate::document::Pointer;
use crate::spec::codes::mcp as codes;
use crate::spec::credential::{self, Held};
use crate::spec::placeholder::{self, Owner};

/// A string of a server.
pub(super) struct Value<'v> {
    pub(super) span: Span,
    pub(super) pointer: &'v Pointer,
    /// The variable or header it is the value of.
    pub(super) name: Option<&'v str>,
    pub(super) text: &'v str,
}

/// Advice for a field in which clients expand the two placeholders of the
/// specification: `args`, `env` values, `cwd`.
pub(super) fn expanded(entry: &mut Entry<'_, '_>, value: &Value<'_>) {
    placeholders(entry, value, |owner| owner != Owner::Specification);
}

/// Advice for a field in which nothing is expanded: `url`, header values.
pub(super) fn literal(entry: &mut Entry<'_, '_>, value: &Value<'_>) {
    placeholders(entry, value, |_| true);
}

/// Advice for the braces of a URL template, which no client fills in.
pub(super) fn url_template(entry: &mut Entry<'_, '_>, value: &Value<'_>) {
    let template = value.text.find('{').and_then(|open| {
        let close = value.text.get(open..)?.find('}')?;
        value.text.get(open..=open + close)
    });
    // With a dollar sign before it, it is a placeholder like in other fields.
    if let Some(template) = template
        && placeholder::find(value.text).next().is_none()
    {
        entry.report(
            &codes::UNEXPANDED_PLACEHOLDER,
            value.span,
            value.pointer,
            format!("{template} stays literal; no client fills in a URL"),
            "write the whole URL; what differs between users does not belong into a package",
        );
    }
}

/// One finding for each value and code, about its first such placeholder.
fn placeholders(
    entry: &mut Entry<'_, '_>,
    value: &Value<'_>,
    stays_literal: impl Fn(Owner) -> bool,
) {
    let mut unexpanded = None;
    let mut foreign = None;
    for found in placeholder::find(value.text).filter(|found| stays_literal(found.owner)) {
        match found.owner {
            Owner::Client | Owner::Editor => foreign.get_or_insert(found.text),
            Owner::Specification | Owner::Nobody => unexpanded.get_or_insert(found.text),
        };
    }
    if let Some(text) = foreign {
        let help = match placeholder::counterpart(text) {
            Some(ours) => format!("in args, env and cwd write {ours}"),
            None => "remove it; the specification has no such value".to_owned(),
        };
        entry.report(
            &codes::CLIENT_PLACEHOLDER,
            value.span,
            value.pointer,
            format!("{text} is another client's placeholder and stays literal"),
            help,
        );
    }
    if let Some(text) = unexpanded {
        let secret = value.name.is_some_and(credential::is_secret_name);
        let help = if text.starts_with("$P") {
            "write it with braces, in args, env or cwd: ${PLUGIN_ROOT} or ${PLUGIN_DATA}"
        } else if text.starts_with("${PLUGIN_") {
            "placeholders are expanded in args, env values and cwd only"
        } else if secret {
            "remove the entry: a credential does not belong into a package, the client supplies it"
        } else {
            "write the value itself, or leave it out if it differs between users"
        };
        entry.report(
            &codes::UNEXPANDED_PLACEHOLDER,
            value.span,
            value.pointer,
            format!("{text} stays literal; no client expands it here"),
            help,
        );
    }
}

/// Warns about a value that, by its name or its own shape, looks like a secret,
/// without showing it.
pub(super) fn credential(entry: &mut Entry<'_, '_>, value: &Value<'_>) {
    let what = match value.name {
        Some(name) => format!("the value of {}", quoted(name)),
        None => "the argument".to_owned(),
    };
    credential_in(entry, value, &what);
}

/// The same for one part of the value at `value.pointer`, which `what` names;
/// whether it warned.
pub(super) fn credential_in(entry: &mut Entry<'_, '_>, value: &Value<'_>, what: &str) -> bool {
    let Some(held) = credential::held(value.name, value.text) else {
        return false;
    };
    let (message, help) = if held == Held::Slot {
        (
            format!("{what} is a slot for a credential, which no client fills in"),
            "remove it; clients ask the user for credentials",
        )
    } else {
        (
            format!("{what} looks like a credential, and everyone who has the package can read it"),
            "remove it, and revoke it if it was real; clients ask the user for credentials",
        )
    };
    entry.report(&codes::CREDENTIAL, value.span, value.pointer, message, help);
    true
}
