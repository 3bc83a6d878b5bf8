//! SARIF 2.1.0 for code scanning.
//!
//! - Columns count code points (`columnKind`), and a region also has bytes.
//! - A file below the working directory is relative to `%SRCROOT%`; an absolute
//!   path becomes a `file:` URI.
//! - `partialFingerprints` hash the code, the file and the pointer, never a
//!   line or a message: a finding keeps its identity when the text around it
//!   moves or a message is reworded. What is equal in all three is numbered.
//! - `rules` holds the codes that occur, in the order of the rule book.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::{TOOL, TOOL_VERSION, escape, facts};
use crate::diagnostic::{Code, Diagnostic, Effect, Location as Place, Severity};
use crate::package::Report;
use crate::spec::codes;

/// Writes one SARIF log with one run.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    escape::write_json(out, &log(report), true)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log<'r> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'r>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'r> {
    tool: Tool,
    column_kind: &'static str,
    original_uri_base_ids: BTreeMap<&'static str, BaseId>,
    results: Vec<SarifResult<'r>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Message,
    full_description: Message,
    help: Help,
    default_configuration: Configuration,
    properties: RuleProperties,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct RuleProperties {
    effect: &'static str,
    spec: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    requirement: Option<&'static str>,
    tags: [&'static str; 1],
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
struct Help {
    text: String,
    markdown: String,
}

#[derive(Serialize)]
struct BaseId {
    description: Message,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'r> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    partial_fingerprints: Fingerprints,
    properties: ResultProperties<'r>,
}

#[derive(Serialize)]
struct Fingerprints {
    #[serde(rename = "apkit/v1")]
    v1: String,
}

#[derive(Serialize)]
struct ResultProperties<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<&'r str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
    byte_offset: usize,
    byte_length: usize,
}

/// The base that stands for the directory in which apkit was run.
const SOURCE_ROOT: &str = "%SRCROOT%";

fn log(report: &Report) -> Log<'_> {
    let used: Vec<&'static Code> = codes::all()
        .filter(|code| {
            report
                .packages
                .iter()
                .any(|package| package.diagnostics.iter().any(|found| found.code == *code))
        })
        .collect();
    Log {
        schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: TOOL,
                    version: TOOL_VERSION,
                    semantic_version: TOOL_VERSION,
                    rules: used.iter().map(|code| rule(code)).collect(),
                },
            },
            column_kind: "unicodeCodePoints",
            original_uri_base_ids: BTreeMap::from([(
                SOURCE_ROOT,
                BaseId {
                    description: message("The directory in which apkit was run."),
                },
            )]),
            results: results(report, &used),
        }],
    }
}

fn rule(code: &Code) -> Rule {
    let explanation = facts::explanation(code);
    let standing = facts::rule(code);
    Rule {
        id: code.id,
        short_description: message(code.summary),
        full_description: message(&explanation),
        help: Help {
            text: format!("{explanation}\n\nRule: {standing}."),
            markdown: format!("{explanation}\n\n*Rule: {standing}.*"),
        },
        default_configuration: Configuration {
            level: level(code.severity),
        },
        properties: RuleProperties {
            effect: code.effect.as_str(),
            spec: code.spec,
            requirement: code.requirement,
            tags: [code.family()],
        },
    }
}

fn results<'r>(report: &'r Report, used: &[&'static Code]) -> Vec<SarifResult<'r>> {
    let mut results = Vec::new();
    let mut seen = BTreeMap::new();
    for package in &report.packages {
        for diagnostic in &package.diagnostics {
            let path = facts::joined(&package.path, &diagnostic.path);
            let pointer = diagnostic.pointer.as_deref();
            let repeated = seen
                .entry((diagnostic.code.id, path.clone(), pointer))
                .and_modify(|number| *number += 1)
                .or_insert(0_u32);
            results.push(SarifResult {
                rule_id: diagnostic.code.id,
                rule_index: used
                    .iter()
                    .position(|code| *code == diagnostic.code)
                    .unwrap_or_default(),
                level: level(diagnostic.severity()),
                message: message(&sentence(diagnostic)),
                partial_fingerprints: Fingerprints {
                    v1: fingerprint(diagnostic.code.id, &path, pointer, *repeated),
                },
                locations: [Location {
                    physical_location: PhysicalLocation {
                        artifact_location: artifact(&path),
                        region: diagnostic.location.map(region),
                    },
                }],
                properties: ResultProperties {
                    package: package.name.as_deref(),
                    pointer,
                },
            });
        }
    }
    results
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn message(text: &str) -> Message {
    Message {
        text: text.to_owned(),
    }
}

/// A result's message. Viewers make a link of `[text](target)` in it: package
/// data must not bring one in.
fn sentence(diagnostic: &Diagnostic) -> String {
    let mut text = diagnostic.message.clone();
    if diagnostic.effect() != Effect::None {
        text.push_str("\nEffect: ");
        text.push_str(diagnostic.effect().sentence());
    }
    if let Some(help) = &diagnostic.help {
        text.push_str("\nHelp: ");
        text.push_str(help);
    }
    text.replace("](", "] (")
}

fn artifact(path: &str) -> ArtifactLocation {
    let uri = escape::uri(path);
    let drive = path
        .split_once(":/")
        .filter(|(letter, _)| letter.len() == 1 && letter.chars().all(|c| c.is_ascii_alphabetic()));
    if let Some((letter, rest)) = drive {
        return ArtifactLocation {
            uri: format!("file:///{letter}:/{}", escape::uri(rest)),
            uri_base_id: None,
        };
    }
    if path.starts_with('/') {
        ArtifactLocation {
            uri: format!("file://{uri}"),
            uri_base_id: None,
        }
    } else {
        ArtifactLocation {
            uri,
            uri_base_id: Some(SOURCE_ROOT),
        }
    }
}

fn region(place: Place) -> Region {
    Region {
        start_line: place.line,
        start_column: place.column,
        end_line: place.end_line,
        end_column: place.end_column,
        byte_offset: place.offset,
        byte_length: place.length,
    }
}

/// FNV-1a with 64 bits over the facts, each ended by a byte that UTF-8 lacks.
fn fingerprint(code: &str, path: &str, pointer: Option<&str>, repeated: u32) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut feed = |bytes: &[u8]| {
        for &byte in bytes.iter().chain(&[0xFF]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    feed(code.as_bytes());
    feed(path.as_bytes());
    // No pointer and the pointer to the whole document are different facts.
    feed(pointer.map_or(&[0xFE][..], str::as_bytes));
    feed(&repeated.to_le_bytes());
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_never_changes_between_versions() {
        let of = fingerprint;
        assert_eq!(
            of("manifest::missing", "a/plugin.json", None, 0),
            "3e657f385294fc31"
        );
        assert_eq!(
            of("mcp::env-reserved", "mcp.json", Some("/mcpServers/x"), 1),
            "c123c2ffb0413d5e"
        );
        assert_ne!(of("a", "b", None, 0), of("a", "b", Some(""), 0));
        assert_ne!(of("a", "bc", None, 0), of("ab", "c", None, 0));
    }

    #[test]
    fn artifacts_are_relative_to_the_source_root_or_absolute_uris() {
        for (path, uri, base) in [
            ("a b/plugin.json", "a%20b/plugin.json", Some(SOURCE_ROOT)),
            ("../x/é", "../x/%C3%A9", Some(SOURCE_ROOT)),
            ("a:b", "a%3Ab", Some(SOURCE_ROOT)),
            ("/srv/p#1/x", "file:///srv/p%231/x", None),
            ("C:/p/x", "file:///C:/p/x", None),
        ] {
            let artifact = artifact(path);
            assert_eq!((artifact.uri.as_str(), artifact.uri_base_id), (uri, base));
        }
    }
}
