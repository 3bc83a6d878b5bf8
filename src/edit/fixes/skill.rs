//! Fixes of the frontmatter of `SKILL.md`.

use std::ffi::OsStr;

use super::{Answer, Site, files, left, nothing};
use crate::diagnostic::Span;
use crate::document::frontmatter::{self, SplitErrorKind};
use crate::document::{Member, Value};
use crate::edit::text::{indentation, newline};
use crate::edit::yaml::{self, quoted, scalar};
use crate::spec::codes::skill as codes;
use crate::spec::skill::{KEYS, is_one_tool};
use crate::spec::{name as names, near};

const BLANKS: &[char] = &[' ', '\t'];

/// The name of the skill's directory.
fn directory<'s>(site: &Site<'s>) -> Result<&'s str, String> {
    let path = site.finding.path.strip_prefix("skills/");
    let directory = path.and_then(|path| path.strip_suffix("/SKILL.md"));
    directory.ok_or_else(nothing)
}

pub(super) fn marker(site: &Site<'_>) -> Answer {
    let text = site.text();
    let Err(error) = frontmatter::split(text) else {
        return left("");
    };
    let start = text.len() - text.trim_start_matches('\u{FEFF}').len();
    let rest = text.get(start..).unwrap_or_default();
    if error.kind == SplitErrorKind::Missing {
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        let first = rest.get(blank..).unwrap_or_default();
        let line = first.split(['\n', '\r']).next().unwrap_or_default();
        if blank > 0 && line.trim_end_matches(BLANKS) == "---" {
            return site.edit(Span::new(start, start + blank), "");
        }
    }
    let raw = site.raw(error.span).trim_matches(BLANKS);
    let dashes = (2..=5).contains(&raw.len()) && raw.bytes().all(|byte| byte == b'-');
    if dashes || (raw == "..." && error.kind == SplitErrorKind::Unclosed) {
        // The opening marker itself stands for "no line resembles a closing one".
        if error.kind == SplitErrorKind::Unclosed && error.span.start == start {
            return left("where the frontmatter ends is not known");
        }
        return site.edit(error.span, "---");
    }
    left("where the frontmatter begins and ends is not known")
}

/// What null is written as.
fn is_null(raw: &str) -> bool {
    matches!(raw, "" | "~" | "null" | "Null" | "NULL")
}

pub(super) fn quote_scalar(site: &Site<'_>) -> Answer {
    let span = site.span()?;
    let raw = site.raw(span);
    let (_, document) = site.skill()?;
    let found = site.found(&document)?;
    if matches!(found.node.value(), Value::Array(_) | Value::Object(_)) && span == found.node.span {
        return left("what it is as one text is not known");
    }
    if is_null(raw) {
        return left("give it a value, or remove it");
    }
    if raw.starts_with(['*', '&', '!', '"', '\'']) || raw.contains(['\n', '\r']) {
        return left("it stands for another value");
    }
    site.edit(span, quoted(raw))
}

pub(super) fn remove_empty(site: &Site<'_>) -> Answer {
    let (_, document) = site.skill()?;
    let found = site.found(&document)?;
    let Some(member) = found.member.filter(|member| is_optional(member)) else {
        return left("");
    };
    let says_nothing = match member.value.value() {
        Value::Null => true,
        Value::String(text) => *text == *"",
        _ => false,
    };
    if !says_nothing {
        return left("");
    }
    match yaml::lines(site.text(), member) {
        Some(lines) => site.edit(lines, ""),
        None => left("something else stands on its line"),
    }
}

fn is_optional(member: &Member) -> bool {
    ["license", "compatibility", "allowed-tools"]
        .iter()
        .any(|key| member.key == *key)
}

pub(super) fn tools_list(site: &Site<'_>) -> Answer {
    let (_, document) = site.skill()?;
    let found = site.found(&document)?;
    let (Some(member), Some(items)) = (found.member, found.node.as_array()) else {
        return left("it is no list");
    };
    let mut tools = Vec::new();
    for item in items {
        let tool = item.as_text().and_then(|text| text.as_str());
        match tool.filter(|tool| is_one_tool(tool) && !tool.contains(['\n', '\r'])) {
            Some(tool) => tools.push(tool),
            None => return left("an element is no name of a tool"),
        }
    }
    if tools.is_empty() {
        return match yaml::lines(site.text(), member) {
            Some(lines) => site.edit(lines, ""),
            None => left("something else stands on its line"),
        };
    }
    let span = Span::new(member.key_span.end, found.node.span.end);
    let raw = site.raw(span);
    if yaml::has_comment(raw) || raw.contains(['&', '!']) {
        return left("its comments would be lost");
    }
    site.edit(span, format!(": {}", scalar(&tools.join(" "))))
}

pub(super) fn tools_commas(site: &Site<'_>) -> Answer {
    let (_, document) = site.skill()?;
    let found = site.found(&document)?;
    let raw = site.raw(found.node.span);
    if raw.starts_with(['*', '&', '!']) {
        return left("it stands for another value");
    }
    let mut new = String::with_capacity(raw.len());
    let mut depth = 0_usize;
    let mut characters = raw.chars().peekable();
    while let Some(found) = characters.next() {
        match found {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if found != ',' || depth > 0 {
            new.push(found);
            continue;
        }
        let next = characters.peek().copied();
        let ends = next.is_none_or(|next| next.is_whitespace() || matches!(next, ',' | '"' | '\''));
        if !ends && !new.ends_with(char::is_whitespace) {
            new.push(' ');
        }
    }
    site.edit(found.node.span, new)
}

pub(super) fn name_missing(site: &Site<'_>) -> Answer {
    let directory = directory(site)?;
    if names::skill_name_problem(directory).is_some() {
        return left("the directory's name cannot be one of a skill");
    }
    let (parts, document) = site.skill()?;
    let text = site.text();
    let root = document.root.span;
    if text
        .get(root.start..)
        .is_some_and(|root| root.starts_with('{'))
    {
        return left("the frontmatter is written in braces");
    }
    let first = document
        .root
        .as_object()
        .and_then(|object| object.members.first());
    let indent = first.map_or("", |first| indentation(text, first.key_span.start));
    let line = format!("{indent}name: {}{}", scalar(directory), newline(text));
    site.edit(Span::new(parts.yaml.start, parts.yaml.start), line)
}

pub(super) fn name(site: &Site<'_>) -> Answer {
    let directory = directory(site)?;
    let (_, document) = site.skill()?;
    let found = site.found(&document)?;
    if names::skill_name_problem(directory).is_none() {
        return site.edit(found.node.span, scalar(directory));
    }
    let value = found.node.as_text().and_then(|text| text.as_str());
    match value {
        Some(value) if site.code(&codes::NAME_MISMATCH) => {
            let from = site.root.join("skills").join(directory);
            files::rename(&from, OsStr::new(value))
        }
        _ => left("neither it nor the directory's name can be one of a skill"),
    }
}

pub(super) fn rename_key(site: &Site<'_>) -> Answer {
    let (_, document) = site.skill()?;
    let found = site.found(&document)?;
    let (Some(member), Some(fields)) = (found.member, document.root.as_object()) else {
        return left("");
    };
    match near::nearest(&member.key.display(), KEYS.iter().copied()) {
        Some(meant) if fields.get(meant).is_some() => left(format!("{meant} stands there, too")),
        Some(meant) => site.edit(member.key_span, meant),
        None => left("move it under metadata, or remove it"),
    }
}
