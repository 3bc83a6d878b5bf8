//! Fixes of a text as such.

use super::{Answer, Site, left};
use crate::diagnostic::Span;
use crate::document::{Member, Node, Object, Value, json};
use crate::edit::json::Layout;
use crate::edit::tree;

const BOM: char = '\u{FEFF}';

pub(super) fn byte_order_mark(site: &Site<'_>) -> Answer {
    let text = site.text();
    let rest = text.trim_start_matches(BOM);
    if site.file.is_none() || rest.len() == text.len() {
        return left("the file is UTF-16 or UTF-32; save it as UTF-8");
    }
    site.edit(Span::new(0, text.len() - rest.len()), "")
}

/// The commas of `[1, 2,]`: all of them, or none if something else is wrong, too.
pub(super) fn trailing_comma(site: &Site<'_>) -> Answer {
    let mut text = site.text().to_owned();
    let mut commas = Vec::new();
    while let Err(error) = json::parse(text.as_bytes(), json::LIMITS) {
        let Some(comma) = comma_before_end(&text, error.span.start) else {
            let rest = text.get(error.span.start..).unwrap_or_default();
            let is_comment = ["//", "/*", "#"]
                .iter()
                .any(|begin| rest.starts_with(begin));
            return left(match is_comment {
                true => "comments are not removed automatically; delete this one",
                false => "only a comma behind the last member or element is removed",
            });
        };
        // The reader goes on from there, so those before it have been removed.
        let at = comma + commas.len();
        commas.push((Span::new(at, at + 1), String::new()));
        text.remove(comma);
    }
    site.edits(commas)
}

/// The comma at which, or behind which at a bracket, the reader stopped.
fn comma_before_end(text: &str, at: usize) -> Option<usize> {
    const WHITE: &[char] = &[' ', '\t', '\n', '\r'];
    let (before, behind) = text.split_at_checked(at)?;
    let comma = match behind.strip_prefix(',') {
        Some(rest) if rest.trim_start_matches(WHITE).starts_with(['}', ']']) => at,
        _ if behind.starts_with(['}', ']']) => {
            before.trim_end_matches(WHITE).strip_suffix(',')?.len()
        }
        _ => return None,
    };
    // A comma behind an opening bracket or another comma stands for something
    // that was forgotten.
    let before = text.get(..comma)?.trim_end_matches(WHITE);
    (!before.ends_with(['{', '[', ',', ':'])).then_some(comma)
}

pub(super) fn duplicate_key(site: &Site<'_>) -> Answer {
    let document = site.json()?;
    let again = site.span()?;
    let Some((object, members)) = holder(&document.root, again) else {
        return left("the object is not found again");
    };
    let Some(key) = members
        .members
        .iter()
        .find(|member| member.key_span == again)
        .map(|member| &member.key)
    else {
        return left("the member is not found again");
    };
    let mut alike = members.members.iter().filter(|member| member.key == *key);
    let last = members.members.iter().rfind(|member| member.key == *key);
    let all_same =
        last.is_some_and(|last| alike.all(|member| tree::same(&member.value, &last.value)));
    if !all_same {
        return left("the values differ; keep the right one");
    }
    let goes = |member: &Member| member.shadowed && member.key == *key;
    let layout = Layout::of(site.text(), &document.root);
    site.edits(layout.remove(object, goes, None))
}

/// The object that has a member with its key at `key`.
fn holder(root: &Node, key: Span) -> Option<(&Node, &Object)> {
    let mut node = root;
    loop {
        let inside = |node: &Node| node.span.start <= key.start && key.end <= node.span.end;
        node = match node.value() {
            Value::Object(object) => {
                if object.members.iter().any(|member| member.key_span == key) {
                    return Some((node, object));
                }
                let mut values = object.members.iter().map(|member| &member.value);
                values.find(|value| inside(value))?
            }
            Value::Array(items) => items.iter().find(|item| inside(item))?,
            _ => return None,
        };
    }
}
