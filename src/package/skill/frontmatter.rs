//! The fields of `SKILL.md` (Agent Skills format).

use std::ffi::OsStr;

use super::super::containment::display_name;
use super::super::file::{Source, quoted};
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::document::{Document, Member, Object, ParseErrorKind, Pointer, Value, yaml};
use crate::spec::codes::skill as codes;
use crate::spec::skill::{KEYS, has_separating_comma, is_one_tool};
use crate::spec::{credential, name, near};

/// Longest `description`, in Unicode code points.
const MAX_DESCRIPTION: usize = 1024;
/// Longest `compatibility`, in Unicode code points.
const MAX_COMPATIBILITY: usize = 500;

/// Judges the frontmatter in `text[range]`; gives name and description if the
/// skill loads.
pub(super) fn check(
    source: &Source<'_>,
    text: &str,
    range: Span,
    directory: &OsStr,
    findings: &mut Vec<Diagnostic>,
) -> Option<(String, String)> {
    let before = findings.len();
    let document = match yaml::parse(text, range, yaml::LIMITS) {
        Ok(document) => document,
        Err(error) => {
            let raw = text.get(error.span.start..error.span.end);
            let (code, help) = match error.kind {
                ParseErrorKind::TooComplex => (
                    &codes::FRONTMATTER_TOO_COMPLEX,
                    "frontmatter is a handful of plain fields; move data into files of the skill".to_owned(),
                ),
                _ => (
                    &codes::FRONTMATTER_INVALID,
                    match raw.filter(|raw| error.message.contains("quote") && is_quotable(raw)) {
                        Some(raw) => {
                            let before = text.get(..error.span.start).unwrap_or_default();
                            let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
                            format!("write {}\"{}\"", line.trim_start(), raw.trim_end())
                        }
                        None => "write one key: value on each line, and put values with special characters into double quotes".to_owned(),
                    },
                ),
            };
            findings.push(
                source
                    .finding(code, error.span, error.message)
                    .with_help(help),
            );
            return None;
        }
    };
    let mut check = Check {
        source,
        text,
        findings,
    };
    check.duplicates(&document);
    let empty = Object::default();
    let fields = match document.root.value() {
        Value::Object(fields) => fields,
        // An empty block has no fields; the missing ones are reported as such.
        Value::Null => &empty,
        _ => {
            let message = format!(
                "the frontmatter is {}, not a mapping of keys to values",
                document.root.type_name()
            );
            check.findings.push(
                source
                    .value_finding(
                        &codes::FRONTMATTER_NOT_A_MAPPING,
                        document.root.span,
                        &Pointer::root(),
                        message,
                    )
                    .with_help("write one key: value on each line"),
            );
            return None;
        }
    };
    let fence = Span::new(range.start, range.start);
    check.name(fields, fence, directory);
    check.description(fields, fence);
    check.others(fields);
    let loads = !findings
        .iter()
        .skip(before)
        .any(|finding| finding.severity() == Severity::Error);
    let string = |key| Some(fields.get(key)?.value.as_text()?.as_str()?.to_owned());
    if loads {
        string("name").zip(string("description"))
    } else {
        None
    }
}

struct Check<'a, 't> {
    source: &'a Source<'t>,
    text: &'a str,
    findings: &'a mut Vec<Diagnostic>,
}

impl Check<'_, '_> {
    fn duplicates(&mut self, document: &Document) {
        for duplicate in &document.duplicates {
            let first = self.source.lines().locate(duplicate.first).line;
            let key = self
                .text
                .get(duplicate.again.start..duplicate.again.end)
                .unwrap_or_default();
            self.findings.push(
                self.source
                    .finding(
                        &codes::DUPLICATE_KEY,
                        duplicate.again,
                        format!("the key {key} stands twice; the first is on line {first}"),
                    )
                    .with_help("keep one of them"),
            );
        }
    }

    /// The skill's directory, relative to the package.
    fn directory_path(&self) -> &str {
        let parts = self.source.path.rsplit_once('/');
        parts.map_or(self.source.path, |(directory, _)| directory)
    }

    fn missing(
        &mut self,
        code: &'static crate::diagnostic::Code,
        fence: Span,
        field: &str,
        help: &str,
    ) {
        let message = format!("the frontmatter has no {field}");
        self.findings.push(
            self.source
                .value_finding(code, fence, &Pointer::root(), message)
                .with_help(help),
        );
    }

    fn name(&mut self, fields: &Object, fence: Span, directory: &OsStr) {
        let shown_directory = display_name(directory);
        let Some(member) = fields.get("name") else {
            let help = format!("add name: {shown_directory}");
            self.missing(&codes::NAME_MISSING, fence, "name", &help);
            return;
        };
        let pointer = Pointer::root().key("name");
        let Some(value) = self.string(member, &pointer) else {
            return;
        };
        if let Some(problem) = name::skill_name_problem(value) {
            let help = match name::skill_name_suggestion(value) {
                Some(better) => {
                    format!("{better:?} would be valid; the directory must have the same name")
                }
                None => {
                    "use lower-case letters, digits and single hyphens, alphanumeric at both ends"
                        .to_owned()
                }
            };
            self.findings.push(
                self.source
                    .value_finding(
                        &codes::NAME_INVALID,
                        member.value.span,
                        &pointer,
                        format!("the name {} {problem}", quoted(value)),
                    )
                    .with_help(help),
            );
            return;
        }
        let Some(directory) = directory.to_str() else {
            self.findings.push(
                Diagnostic::new(
                    &codes::DIRECTORY_NOT_UTF8,
                    self.directory_path(),
                    format!(
                        "the directory's name, {}, is not UTF-8, so no skill name can equal it",
                        quoted(&shown_directory)
                    ),
                )
                .with_help(format!("rename the directory to {value}")),
            );
            return;
        };
        if value != directory {
            let help = if name::skill_name_problem(directory).is_none() {
                format!("write name: {directory}, or rename the directory to {value}")
            } else {
                format!("rename the directory to {value}")
            };
            self.findings.push(
                self.source
                    .value_finding(
                        &codes::NAME_MISMATCH,
                        member.value.span,
                        &pointer,
                        format!(
                            "the name is {} and the directory is {}",
                            quoted(value),
                            quoted(directory)
                        ),
                    )
                    .with_help(help),
            );
        }
    }

    fn description(&mut self, fields: &Object, fence: Span) {
        let Some(member) = fields.get("description") else {
            let help = "add description: what the skill does and when to use it";
            self.missing(&codes::DESCRIPTION_MISSING, fence, "description", help);
            return;
        };
        let pointer = Pointer::root().key("description");
        let Some(value) = self.string(member, &pointer) else {
            return;
        };
        let length = value.chars().count();
        if value.trim().is_empty() {
            self.findings.push(
                self.source
                    .value_finding(
                        &codes::DESCRIPTION_EMPTY,
                        member.value.span,
                        &pointer,
                        "the description is empty",
                    )
                    .with_help("say what the skill does and when to use it"),
            );
        } else if length > MAX_DESCRIPTION {
            self.findings.push(
                self.source
                    .value_finding(
                        &codes::DESCRIPTION_TOO_LONG,
                        member.value.span,
                        &pointer,
                        format!("the description is {length} characters long; at most {MAX_DESCRIPTION} are allowed"),
                    )
                    .with_help("keep what tells a model when to use the skill, and move the rest into the body"),
            );
        }
    }

    fn others(&mut self, fields: &Object) {
        for member in fields.effective() {
            let key = member.key.display();
            let pointer = Pointer::root().key(&key);
            match &*key {
                "name" | "description" => {}
                "license" => {
                    self.string(member, &pointer);
                }
                "compatibility" => self.compatibility(member, &pointer),
                "metadata" => self.metadata(member, &pointer),
                "allowed-tools" => self.allowed_tools(member, &pointer),
                _ => {
                    self.findings.push(
                        self.source
                            .value_finding(
                                &codes::UNKNOWN_KEY,
                                member.key_span,
                                &pointer,
                                format!("{} is no key of the Agent Skills format; some clients skip a skill that has it", quoted(&key)),
                            )
                            .with_help(match near::nearest(&key, KEYS.iter().copied()) {
                                Some(known) => format!("did you mean {known}?"),
                                None => format!(
                                    "move it under metadata as a string, or remove it; the format knows {}",
                                    KEYS.join(", ")
                                ),
                            }),
                    );
                }
            }
        }
    }

    fn compatibility(&mut self, member: &Member, pointer: &Pointer) {
        let Some(value) = self.string(member, pointer) else {
            return;
        };
        let length = value.chars().count();
        if length == 0 || length > MAX_COMPATIBILITY {
            self.findings.push(
                self.source
                    .value_finding(
                        &codes::COMPATIBILITY_LENGTH,
                        member.value.span,
                        pointer,
                        format!("compatibility is {length} characters long; 1 to {MAX_COMPATIBILITY} are allowed"),
                    )
                    .with_help("name what the skill needs in a sentence, or remove the field"),
            );
        }
    }

    fn metadata(&mut self, member: &Member, pointer: &Pointer) {
        let entries = match member.value.value() {
            Value::Object(entries) => entries,
            Value::Null => return,
            _ => {
                let message = format!("metadata is {}, not a mapping", member.value.type_name());
                self.findings.push(
                    self.source
                        .value_finding(&codes::METADATA_TYPE, member.value.span, pointer, message)
                        .with_help("write one key: \"value\" on each line below metadata:"),
                );
                return;
            }
        };
        for entry in entries.effective() {
            let key = entry.key.display();
            let pointer = pointer.key(&key);
            match entry.value.value() {
                Value::Array(_) | Value::Object(_) => {
                    let message = format!(
                        "metadata {} is {}, not a string",
                        quoted(&key),
                        entry.value.type_name()
                    );
                    self.findings.push(
                        self.source
                            .value_finding(&codes::METADATA_TYPE, entry.value.span, &pointer, message)
                            .with_help("metadata maps strings to strings: write the data as one quoted string, or flatten the keys"),
                    );
                }
                Value::String(_) if entry.key_is_string => {}
                kind => {
                    let (what, span) = match kind {
                        Value::String(_) => {
                            (format!("the metadata key {}", quoted(&key)), entry.key_span)
                        }
                        _ => (format!("metadata {}", quoted(&key)), entry.value.span),
                    };
                    let raw = self.text.get(span.start..span.end).unwrap_or_default();
                    self.findings.push(
                        self.source
                            .value_finding(
                                &codes::METADATA_NOT_A_STRING,
                                span,
                                &pointer,
                                format!("{what} is not a string"),
                            )
                            .with_help(if credential::is_secret_name(&key) {
                                "quote it, or better remove it".to_owned()
                            } else {
                                format!("quote it: \"{raw}\"")
                            }),
                    );
                }
            }
        }
    }

    fn allowed_tools(&mut self, member: &Member, pointer: &Pointer) {
        match member.value.value() {
            Value::String(value) => {
                if has_separating_comma(&value.display()) {
                    self.findings.push(
                        self.source
                            .value_finding(
                                &codes::ALLOWED_TOOLS_COMMAS,
                                member.value.span,
                                pointer,
                                "allowed-tools separates tools by commas; the format separates them by spaces",
                            )
                            .with_help("put a space in the place of each comma"),
                    );
                }
                self.ambiguous(member, pointer);
            }
            _ => {
                let tools: Option<Vec<String>> = member.value.as_array().map(|items| {
                    items
                        .iter()
                        .filter_map(|item| Some(item.as_text()?.display().into_owned()))
                        .collect()
                });
                let help = match tools {
                    Some(tools)
                        if !tools.is_empty() && tools.iter().all(|tool| is_one_tool(tool)) =>
                    {
                        format!("write it as one string: allowed-tools: {}", tools.join(" "))
                    }
                    _ => "write the tools as one space-separated string, or remove the field"
                        .to_owned(),
                };
                let message = format!(
                    "allowed-tools is {}, not a string",
                    member.value.type_name()
                );
                self.findings.push(
                    self.source
                        .value_finding(
                            &codes::ALLOWED_TOOLS_TYPE,
                            member.value.span,
                            pointer,
                            message,
                        )
                        .with_help(help),
                );
            }
        }
    }

    /// The string, or a finding about another type.
    fn string<'m>(&mut self, member: &'m Member, pointer: &Pointer) -> Option<&'m str> {
        if let Some(value) = member.value.as_text().and_then(|text| text.as_str()) {
            self.ambiguous(member, pointer);
            return Some(value);
        }
        let key = member.key.display();
        let raw = self
            .text
            .get(member.value.span.start..member.value.span.end)
            .unwrap_or_default();
        let scalar = !matches!(member.value.value(), Value::Array(_) | Value::Object(_));
        let help = match scalar {
            true if !raw.is_empty() => format!("quote the value: {key}: \"{raw}\""),
            true if matches!(&*key, "name" | "description") => format!("give {key} a value"),
            true => format!("give {key} a value, or remove it"),
            false => format!("write {key} as one string"),
        };
        let message = format!("{key} is {}, not a string", member.value.type_name());
        self.findings.push(
            self.source
                .value_finding(&codes::FIELD_TYPE, member.value.span, pointer, message)
                .with_help(help),
        );
        None
    }

    /// Plain scalars that YAML 1.1 readers take for something else.
    fn ambiguous(&mut self, member: &Member, pointer: &Pointer) {
        let raw = self
            .text
            .get(member.value.span.start..member.value.span.end)
            .unwrap_or_default();
        if is_yaml_1_1_trap(raw) {
            let key = member.key.display();
            self.findings.push(
                self.source
                    .value_finding(
                        &codes::YAML_AMBIGUOUS,
                        member.value.span,
                        pointer,
                        format!("{raw} is a string in YAML 1.2 and something else for readers of YAML 1.1"),
                    )
                    .with_help(format!("quote the value: {key}: \"{raw}\"")),
            );
        }
    }
}

/// Whether a value on one line becomes valid YAML by double quotes around it.
fn is_quotable(raw: &str) -> bool {
    let raw = raw.trim_end();
    !raw.is_empty() && !raw.contains(['"', '\\', '\n', '\r'])
}

/// Booleans, sexagesimal numbers and digit groups of YAML 1.1, which are strings
/// in 1.2. A quoted scalar begins with its quote and is never one.
fn is_yaml_1_1_trap(raw: &str) -> bool {
    const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off"];
    let usual_case = raw.chars().all(|c| c.is_ascii_lowercase())
        || raw.chars().all(|c| c.is_ascii_uppercase())
        || raw.chars().skip(1).all(|c| c.is_ascii_lowercase());
    if usual_case && WORDS.iter().any(|word| raw.eq_ignore_ascii_case(word)) {
        return true;
    }
    let digits = raw.strip_prefix(['-', '+']).unwrap_or(raw);
    let grouped = digits.contains('_')
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_');
    let sexagesimal = digits.contains(':')
        && digits.split(':').enumerate().all(|(at, part)| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && (at == 0 || part.parse::<u32>().is_ok_and(|part| part < 60))
        });
    grouped || sexagesimal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traps_of_yaml_1_1() {
        for trap in ["no", "Yes", "ON", "y", "1_000", "12:30:45", "-1_0"] {
            assert!(is_yaml_1_1_trap(trap), "{trap}");
        }
        for plain in [
            "nO", "note", "\"no\"", "0", "1000", "a_b", "8:99:1", "true", "", "a:b", "089",
        ] {
            assert!(!is_yaml_1_1_trap(plain), "{plain}");
        }
    }
}
