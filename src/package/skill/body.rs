//! Advice about the Markdown text of `SKILL.md`: none of it stops a skill.

use std::collections::BTreeSet;
use std::path::Path;

use pulldown_cmark::{Event, Parser, Tag};

use super::super::Loader;
use super::super::containment::{self, Resolution};
use super::super::file::{Source, quoted};
use crate::diagnostic::{Diagnostic, Span};
use crate::spec::codes::skill as codes;
use crate::spec::placeholder::{self, Owner};

/// Longest `SKILL.md` that the Agent Skills page recommends, in lines.
const MAX_LINES: usize = 500;
/// Bodies larger than this many bytes are not searched for links: such a file
/// is reported as too long anyway.
const MAX_MARKDOWN: usize = 1024 * 1024;

/// Most links of one skill that are looked up in the file system.
const MAX_LOOKUPS: usize = 500;

/// Adds advice about `text[body]`; `path` is the file's path in the package.
/// Links are looked up only where there is a package on disk.
pub(super) fn check(
    loader: Option<&Loader<'_>>,
    source: &Source<'_>,
    text: &str,
    body: Span,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) {
    length(source, text, findings);
    let markdown = text.get(body.start..body.end).unwrap_or_default();
    placeholders(source, markdown, body.start, findings);
    // Parsing Markdown costs more than all the rest; most bodies have no link.
    if let Some(loader) = loader
        && markdown.len() <= MAX_MARKDOWN
        && (markdown.contains("](") || markdown.contains("]:"))
    {
        links(loader, source, markdown, body.start, path, findings);
    }
}

fn length(source: &Source<'_>, text: &str, findings: &mut Vec<Diagnostic>) {
    // Most files are short, and counting line ends is far cheaper than an index.
    let ends = text.bytes().filter(|&byte| byte == b'\n' || byte == b'\r');
    if ends.count() < MAX_LINES {
        return;
    }
    let lines = source.lines().line_count();
    if lines > MAX_LINES {
        let first_too_many = source.lines().line_start(MAX_LINES + 1);
        findings.push(
            source
                .finding(
                    &codes::TOO_LONG,
                    Span::new(first_too_many, first_too_many),
                    format!("SKILL.md has {lines} lines; at most {MAX_LINES} are recommended"),
                )
                .with_help("move reference material into files of the skill and link to them; some clients cut long skills"),
        );
    }
}

fn placeholders(
    source: &Source<'_>,
    markdown: &str,
    offset: usize,
    findings: &mut Vec<Diagnostic>,
) {
    let mut seen = BTreeSet::new();
    for found in placeholder::find(markdown) {
        let behind = markdown.get(found.offset + found.text.len()..);
        let help = match found.owner {
            // `${NAME:-default}` is a shell's own way to do without, and `$NAME` may be
            // a variable of one.
            _ if found.text.contains([':', '-', '?', '+']) => continue,
            _ if !found.text.starts_with("${") => continue,
            Owner::Client => {
                "only that client replaces it; name files relative to the skill's directory instead"
            }
            // Texts that teach the format name it; only a path is meant to work.
            Owner::Specification if behind.is_some_and(|behind| behind.starts_with('/')) => {
                "the specification expands it in mcp.json only; name files relative to the skill's directory instead"
            }
            _ => continue,
        };
        if seen.insert(found.text) {
            let at = offset + found.offset;
            findings.push(
                source
                    .finding(
                        &codes::CLIENT_PLACEHOLDER,
                        Span::new(at, at + found.text.len()),
                        format!("{} stays literal in a skill's text", found.text),
                    )
                    .with_help(help),
            );
        }
    }
}

fn links(
    loader: &Loader<'_>,
    source: &Source<'_>,
    markdown: &str,
    offset: usize,
    path: &str,
    findings: &mut Vec<Diagnostic>,
) {
    let directory = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut seen = BTreeSet::new();
    let mut looked_up = 0;
    for (event, range) in Parser::new(markdown).into_offset_iter() {
        let (Event::Start(Tag::Link { dest_url, .. }) | Event::Start(Tag::Image { dest_url, .. })) =
            event
        else {
            continue;
        };
        let Some(target) = relative_target(&dest_url) else {
            continue;
        };
        if !seen.insert(target.clone()) {
            continue;
        }
        let whole = markdown.get(range.clone()).unwrap_or_default();
        let span = match whole.rfind(&*dest_url) {
            Some(at) => Span::new(range.start + at, range.start + at + dest_url.len()),
            None => Span::new(range.start, range.end),
        };
        let finding = |code, message: &str, help: &str| {
            source
                .finding(
                    code,
                    span.shifted(offset),
                    format!("the link to {} {message}", quoted(&dest_url)),
                )
                .with_help(help)
        };
        if !containment::stays_below(Path::new(&target)) {
            findings.push(finding(
                &codes::LINK_LEAVES_SKILL,
                "leads out of the skill's directory, which clients may copy alone",
                "copy the file into the skill, or name the other skill instead of linking to it",
            ));
            continue;
        }
        looked_up += 1;
        if looked_up > MAX_LOOKUPS {
            return;
        }
        let place = directory.join(&target);
        if matches!(
            containment::resolve(loader.root, loader.root, &place),
            Resolution::Missing(_) | Resolution::Loop
        ) {
            findings.push(finding(
                &codes::LINK_BROKEN,
                "leads to a file that is not there",
                "add the file, or correct the path; it is relative to the skill's directory",
            ));
        }
    }
}

/// The path a link leads to, if it is one relative to the skill.
fn relative_target(destination: &str) -> Option<String> {
    let path = destination.split(['#', '?']).next().unwrap_or_default();
    let scheme = path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    // Templates such as `reports/{date}.md` name no file.
    let template = path.contains(['{', '}', '<', '>', '*', '$']);
    let dots = path.bytes().all(|byte| byte == b'.');
    if path.is_empty() || path.starts_with('/') || scheme || template || (dots && path.len() > 2) {
        return None;
    }
    Some(percent_decoded(path))
}

/// `%20` and the like as the characters they stand for; anything else stays.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let decoded = (first == b'%')
            .then(|| {
                behind
                    .get(..2)
                    .and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            })
            .flatten();
        match decoded {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relative_paths_are_targets() {
        for (link, wanted) in [
            ("references/a.md", Some("references/a.md")),
            ("a%20b.md#part", Some("a b.md")),
            ("../x?y", Some("../x")),
            ("https://a.example/x", None),
            ("mailto:x@a.example", None),
            ("/abs", None),
            ("#part", None),
            ("", None),
            ("reports/{date}.md", None),
            ("100%.md", Some("100%.md")),
        ] {
            assert_eq!(relative_target(link).as_deref(), wanted, "{link}");
        }
    }
}
