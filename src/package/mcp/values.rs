//! Advice about strings of a server, wherever they stand: placeholders that
//! stay literal (§9.2) and values that look like secrets (§7.2.1, §9.2).

use super::server::Entry;
use crate::diagnostic::Span;
use crate::document::Pointer;
use crate::spec::codes::mcp as codes;
use crate::spec::credential;
use crate::spec::placeholder::{self, Owner};

/// Advice for a field in which clients expand the two placeholders of the
/// specification: `args`, `env` values, `cwd`.
pub(super) fn expanded(entry: &mut Entry<'_, '_>, span: Span, pointer: &Pointer, value: &str) {
    placeholders(entry, span, pointer, value, |owner| {
        owner != Owner::Specification
    });
}

/// Advice for a field in which nothing is expanded: `url`, header values.
pub(super) fn literal(entry: &mut Entry<'_, '_>, span: Span, pointer: &Pointer, value: &str) {
    placeholders(entry, span, pointer, value, |_| true);
}

/// One finding for each value and code, about its first such placeholder.
fn placeholders(
    entry: &mut Entry<'_, '_>,
    span: Span,
    pointer: &Pointer,
    value: &str,
    stays_literal: impl Fn(Owner) -> bool,
) {
    let mut unexpanded = None;
    let mut foreign = None;
    for found in placeholder::find(value).filter(|found| stays_literal(found.owner)) {
        match found.owner {
            Owner::Client | Owner::Editor => foreign.get_or_insert(found.text),
            Owner::Specification | Owner::Nobody => unexpanded.get_or_insert(found.text),
        };
    }
    if let Some(text) = foreign {
        let help = match text {
            "${CLAUDE_PLUGIN_ROOT}" | "${COPILOT_PLUGIN_ROOT}" => {
                "in args, env and cwd write ${PLUGIN_ROOT}"
            }
            "${CLAUDE_PLUGIN_DATA}" | "${COPILOT_PLUGIN_DATA}" => {
                "in args, env and cwd write ${PLUGIN_DATA}"
            }
            _ => "remove it; the specification has no such value",
        };
        entry.report(
            &codes::CLIENT_PLACEHOLDER,
            span,
            pointer,
            format!("{text} is another client's placeholder and stays literal"),
            help,
        );
    }
    if let Some(text) = unexpanded {
        let help = if text.starts_with("$P") {
            "write it with braces, in args, env or cwd: ${PLUGIN_ROOT} or ${PLUGIN_DATA}"
        } else if text.starts_with("${PLUGIN_") {
            "placeholders are expanded in args, env values and cwd only"
        } else {
            "write the value itself; for a secret, let the client ask the user and leave it out"
        };
        entry.report(
            &codes::UNEXPANDED_PLACEHOLDER,
            span,
            pointer,
            format!("{text} stays literal; no client expands it here"),
            help,
        );
    }
}

/// Whether a value, by its name or its own shape, looks like a secret.
pub(super) fn is_credential(name: Option<&str>, value: &str) -> bool {
    let named =
        name.is_some_and(|name| credential::is_secret_name(name) && credential::is_filled(value));
    named || credential::has_secret_shape(value)
}

/// Warns about a value that looks like a secret, without showing it.
pub(super) fn credential(
    entry: &mut Entry<'_, '_>,
    span: Span,
    pointer: &Pointer,
    name: Option<&str>,
    value: &str,
) {
    if is_credential(name, value) {
        let what = match name {
            Some(name) => format!("the value of {}", super::super::file::quoted(name)),
            None => "the argument".to_owned(),
        };
        report_credential(entry, span, pointer, &what);
    }
}

/// The finding about a secret in `what`.
pub(super) fn report_credential(
    entry: &mut Entry<'_, '_>,
    span: Span,
    pointer: &Pointer,
    what: &str,
) {
    entry.report(
        &codes::CREDENTIAL,
        span,
        pointer,
        format!("{what} looks like a credential, and everyone who has the package can read it"),
        "remove it, and revoke it if it was real; clients ask the user for credentials",
    );
}
