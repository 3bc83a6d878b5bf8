//! One `SKILL.md` on its way into a package: as few edits as the format asks
//! for, each in place, so that keys, comments and order stay as they are.

use super::allowed_tools;
use super::json::Json;
use super::loss::{Loss, LossKind};
use crate::diagnostic::{Code, Diagnostic, LineIndex, Severity, Span};
use crate::document::frontmatter::{self, Frontmatter};
use crate::document::{Member, Node, Object, Value, yaml};
use crate::package;
use crate::spec::codes::skill as codes;
use crate::spec::name::{skill_name_problem, skill_name_suggestion};
use crate::spec::skill;

/// The file that makes a directory a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

const BOM: &str = "\u{FEFF}";

/// A skill that can go into a package.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Its name, and the name its directory must have.
    pub(super) name: String,
    /// The text.
    pub(super) text: String,
    /// The name it had, if that was another one.
    pub(super) old_name: Option<OldName>,
    /// `allowed-tools` was a list.
    pub(super) tools_were_list: bool,
    /// What was changed, for people.
    pub(super) notes: Vec<String>,
    /// What is kept but will not work everywhere, and the warnings that say so.
    pub(super) losses: Vec<(Loss, &'static Code)>,
}

/// A name that was replaced.
#[derive(Debug)]
pub(super) enum OldName {
    /// A string.
    Text(String),
    /// What stood behind the colon, and was no string.
    Other(String),
}

/// Why a skill does not go into a package.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Its text.
    Text(Box<Loss>),
    /// Its name alone; a new one would do.
    Name(NameProblem),
}

/// A name that breaks the rule, and the one that would not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameProblem {
    /// The `SKILL.md`, relative to the source.
    pub path: String,
    /// Line of the name, or of the frontmatter.
    pub line: usize,
    /// What is wrong, as a sentence without its period.
    pub problem: String,
    /// The name that `--rename` would give, if there is one.
    pub suggestion: Option<String>,
}

impl NameProblem {
    /// The same as a loss.
    pub(super) fn loss(&self) -> Loss {
        let help = match &self.suggestion {
            Some(name) => format!("--rename makes it {name}"),
            None => "give it a name of lower-case letters, digits and single hyphens".to_owned(),
        };
        let directory = self.path.trim_end_matches("/SKILL.md");
        let directory = directory.rsplit('/').next().unwrap_or_default();
        Loss::new(
            LossKind::SkillName,
            &self.path,
            format!("skill {directory}"),
            &self.problem,
        )
        .at("/name", self.line)
        .with_help(help)
    }
}

/// Prepares the skill in the file `path`, whose directory is named `directory`.
pub(super) fn prepare(
    path: &str,
    directory: &str,
    bytes: &[u8],
    rename: bool,
) -> Result<Prepared, Refusal> {
    let what = || format!("skill {directory}");
    let unreadable = |finding: &Diagnostic| {
        let line = finding.location.map_or(1, |location| location.line);
        let loss = Loss::new(LossKind::SkillUnreadable, path, what(), &finding.message);
        let loss = match &finding.pointer {
            Some(pointer) => loss.at(pointer.clone(), line),
            None => loss.on_line(line),
        };
        match &finding.help {
            Some(help) => loss.with_help(help.clone()),
            None => loss,
        }
    };
    let all = package::skill_findings(path, bytes, directory);
    let broken = all
        .iter()
        .find(|finding| finding.severity() == Severity::Error && !is_mendable(finding));
    if let Some(finding) = broken {
        return Err(Refusal::Text(Box::new(unreadable(finding))));
    }
    let mut notes = Vec::new();
    // What could not be read has been found above.
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let text = match text.strip_prefix(BOM) {
        Some(rest) => {
            notes.push(format!("{path}: the byte order mark was removed"));
            rest
        }
        None => text,
    };
    let Some((parts, fields)) = read(text) else {
        let loss = Loss::new(
            LossKind::SkillUnreadable,
            path,
            what(),
            "its frontmatter holds no fields",
        );
        return Err(Refusal::Text(Box::new(loss.on_line(1))));
    };
    let mut edits = Edits::default();
    let name = new_name(text, path, directory, &fields, rename)?;
    match fields.get("name") {
        None => {
            let ending = line_ending(text);
            edits.insert(
                parts.yaml.start,
                format!("name: {}{ending}", scalar(&name, "")),
            );
            notes.push(format!(
                "{path}: the name {name}, that of the directory, was added"
            ));
        }
        Some(member) if member.value.as_text().is_none() => {
            edits.replace(value_of(text, member), format!(" {}", scalar(&name, "")));
            notes.push(format!("{path}: the name became {name}"));
        }
        Some(member) if member.value.as_text().is_none_or(|text| *text != *name) => {
            let old = text
                .get(member.value.span.start..member.value.span.end)
                .unwrap_or_default();
            edits.replace(member.value.span, scalar(&name, old));
            notes.push(format!("{path}: the name became {name}"));
        }
        Some(_) => {}
    }
    if name != directory && fields.get("name").is_some() {
        notes.push(format!("{path}: the directory became {name}"));
    }
    let old_name = fields.get("name").and_then(|member| {
        let Some(old) = member.value.as_text() else {
            let span = value_of(text, member);
            return Some(OldName::Other(text.get(span.start..span.end)?.to_owned()));
        };
        let old = old.as_str().filter(|old| *old != name);
        old.map(|old| OldName::Text(old.to_owned()))
    });
    let mut tools_were_list = false;
    if let Some(member) = fields.get("allowed-tools")
        && let Some(items) = member.value.as_array()
    {
        let line = LineIndex::new(text.as_bytes()).locate(member.key_span).line;
        match tools(items) {
            Ok(tools) => {
                // What stands between the tools goes before the line.
                for comment in comments(text, member, items) {
                    let ending = line_ending(text);
                    edits.insert(member.key_span.start, format!("{comment}{ending}"));
                }
                edits.replace(value_of(text, member), format!(" {}", scalar(&tools, "")));
                notes.push(format!(
                    "{path}: the list of allowed-tools became one string"
                ));
                tools_were_list = true;
            }
            Err(why) => {
                let loss = Loss::new(LossKind::AllowedTools, path, what(), why)
                    .at("/allowed-tools", line)
                    .with_help(
                        "write each tool as one word; white space may stand in parentheses only",
                    );
                return Err(Refusal::Text(Box::new(loss)));
            }
        }
    }
    let edited = edits.apply(text);
    let findings = package::skill_findings(path, edited.as_bytes(), &name);
    if let Some(finding) = findings
        .iter()
        .find(|finding| finding.severity() == Severity::Error)
    {
        return Err(Refusal::Text(Box::new(unreadable(finding))));
    }
    if !same_but(&fields, &edited, &["name", "allowed-tools"]) {
        let loss = Loss::new(
            LossKind::SkillUnreadable,
            path,
            what(),
            "its frontmatter is written in a way that no field of it can be replaced alone",
        )
        .with_help("write each field on a line of its own");
        return Err(Refusal::Text(Box::new(loss)));
    }
    let losses = findings
        .iter()
        .enumerate()
        .filter_map(|(index, finding)| {
            let (mut loss, code) = kept(path, finding)?;
            // The place is that in the file of the source.
            let alike = |other: &&Diagnostic| {
                other.code == finding.code && other.pointer == finding.pointer
            };
            let before = findings.iter().take(index).filter(alike).count();
            let original = all.iter().filter(alike).nth(before);
            let location = original.and_then(|original| original.location);
            loss.line = location.map(|location| location.line).or(loss.line);
            Some((loss, code))
        })
        .collect();
    Ok(Prepared {
        name,
        text: edited,
        old_name,
        tools_were_list,
        notes,
        losses,
    })
}

/// Whether a finding is about what this module changes.
fn is_mendable(finding: &Diagnostic) -> bool {
    let names = [
        &codes::NAME_INVALID,
        &codes::NAME_MISMATCH,
        &codes::NAME_MISSING,
    ];
    names.contains(&finding.code)
        || *finding.code == codes::ALLOWED_TOOLS_TYPE
        || (*finding.code == codes::FIELD_TYPE && finding.pointer.as_deref() == Some("/name"))
}

/// The same text with the string of `allowed-tools` as a list again, if it is
/// one that can be taken apart.
pub(super) fn with_tools_as_list(text: &str) -> Option<String> {
    let (_, fields) = read(text)?;
    let member = fields.get("allowed-tools")?;
    let tools = skill::tools(member.value.as_text()?.as_str()?)?;
    let items: Vec<String> = tools.into_iter().map(flow_scalar).collect();
    let mut edits = Edits::default();
    edits.replace(value_of(text, member), format!(" [{}]", items.join(", ")));
    Some(edits.apply(text))
}

/// The same text under another name.
pub(super) fn with_name(text: &str, name: &str) -> Option<String> {
    let (_, fields) = read(text)?;
    let span = fields.get("name")?.value.span;
    let old = text.get(span.start..span.end)?;
    let mut edits = Edits::default();
    edits.replace(span, scalar(name, old));
    Some(edits.apply(text))
}

/// The same text with what stood behind the colon of its name, if that changes
/// nothing else.
pub(super) fn with_yaml_name(text: &str, yaml: &str) -> Option<String> {
    let (_, fields) = read(text)?;
    let mut edits = Edits::default();
    edits.replace(value_of(text, fields.get("name")?), yaml.to_owned());
    let edited = edits.apply(text);
    same_but(&fields, &edited, &["name"]).then_some(edited)
}

/// The comments between the items of a list.
fn comments<'t>(text: &'t str, member: &Member, items: &[Node]) -> Vec<&'t str> {
    let mut from = value_of(text, member).start;
    let mut gaps = Vec::new();
    for item in items {
        gaps.extend(text.get(from..item.span.start));
        from = item.span.end;
    }
    gaps.extend(text.get(from..member.value.span.end));
    let lines = gaps.into_iter().flat_map(|gap| gap.split(['\n', '\r']));
    lines
        .filter_map(|line| line.get(line.find('#')?..))
        .map(str::trim_end)
        .collect()
}

/// What is said about a finding that stays.
pub(super) fn kept(path: &str, finding: &Diagnostic) -> Option<(Loss, &'static Code)> {
    let line = finding.location.map_or(1, |location| location.line);
    if *finding.code == codes::UNKNOWN_KEY {
        let pointer = finding.pointer.clone().unwrap_or_default();
        let key = pointer.trim_start_matches('/').to_owned();
        let loss = Loss::new(
            LossKind::ClientFrontmatter,
            path,
            format!("frontmatter key {key}"),
            "the Agent Skills format has no such key",
        );
        Some((loss.at(pointer, line), finding.code))
    } else if *finding.code == codes::CLIENT_PLACEHOLDER {
        let loss = Loss::new(
            LossKind::TextPlaceholder,
            path,
            "text of the skill",
            &finding.message,
        )
        .on_line(line)
        .with_help("name files relative to the skill's directory instead");
        Some((loss, finding.code))
    } else {
        None
    }
}

/// The frontmatter of a text that was found readable.
fn read(text: &str) -> Option<(Frontmatter, Object)> {
    let parts = frontmatter::split(text).ok()?;
    let document = yaml::parse(text, parts.yaml, yaml::LIMITS).ok()?;
    match document.root.value() {
        Value::Object(fields) => Some((parts, fields.clone())),
        _ => None,
    }
}

/// The name the skill gets.
fn new_name(
    text: &str,
    path: &str,
    directory: &str,
    fields: &Object,
    rename: bool,
) -> Result<String, Refusal> {
    let member = fields.get("name");
    let written = member.and_then(|member| match member.value.value() {
        Value::String(text) => text.as_str().map(str::to_owned),
        // Not quoted: a number, a truth value.
        Value::Number(_) | Value::Bool(_) => {
            let span = member.value.span;
            text.get(span.start..span.end).map(str::to_owned)
        }
        _ => None,
    });
    let is_string = member.is_some_and(|member| member.value.as_text().is_some());
    let valid = |name: &&str| skill_name_problem(name).is_none();
    let problem = match (&written, member) {
        (_, None) => match skill_name_problem(directory) {
            None => return Ok(directory.to_owned()),
            Some(problem) => {
                format!("there is no name, and that of the directory, {directory:?}, {problem}")
            }
        },
        (None, Some(member)) => format!("the name is {}", member.value.type_name()),
        (Some(written), Some(_)) if !is_string => {
            format!("the name {written} is no string; quote it")
        }
        (Some(written), Some(_)) => match skill_name_problem(written) {
            Some(problem) => format!("the name {written:?} {problem}"),
            None if written == directory => return Ok(written.clone()),
            None => format!("the name is {written:?} and the directory is {directory:?}"),
        },
    };
    let written = written.as_deref();
    let suggestion = written
        .filter(valid)
        .map(str::to_owned)
        .or_else(|| written.and_then(skill_name_suggestion))
        .or_else(|| Some(directory).filter(valid).map(str::to_owned))
        .or_else(|| skill_name_suggestion(directory));
    match suggestion {
        Some(name) if rename => Ok(name),
        suggestion => Err(Refusal::Name(NameProblem {
            path: path.to_owned(),
            line: member.map_or(1, |member| {
                LineIndex::new(text.as_bytes()).locate(member.key_span).line
            }),
            problem,
            suggestion,
        })),
    }
}

fn tools(items: &[Node]) -> Result<String, String> {
    let mut tools = Vec::with_capacity(items.len());
    for item in items {
        match item.as_text().and_then(|text| text.as_str()) {
            Some(tool) => tools.push(tool),
            None => {
                return Err(format!(
                    "allowed-tools holds {}, not a string",
                    item.type_name()
                ));
            }
        }
    }
    allowed_tools::join(tools)
}

/// Everything from behind the colon of a member to the end of its value.
fn value_of(text: &str, member: &Member) -> Span {
    let from = member.key_span.end;
    let behind = text.get(from..member.value.span.start).unwrap_or_default();
    let colon = behind.find(':').map_or(behind.len(), |at| at + 1);
    Span::new(from + colon, member.value.span.end)
}

/// A string as a YAML scalar, quoted like `old` was, or where it must be.
fn scalar(value: &str, old: &str) -> String {
    let quoted = old.starts_with(['"', '\'']);
    if !quoted && is_plain(&format!("k: {value}\n"), value) {
        value.to_owned()
    } else if old.starts_with('\'') && !value.contains(['\'', '\n']) {
        format!("'{value}'")
    } else {
        double_quoted(value)
    }
}

/// The same inside brackets, where commas and brackets end a plain scalar.
fn flow_scalar(value: &str) -> String {
    let plain =
        !value.contains(['[', ']', '{', '}', ',']) && is_plain(&format!("k: {value}\n"), value);
    if plain {
        value.to_owned()
    } else {
        double_quoted(value)
    }
}

fn double_quoted(value: &str) -> String {
    // A JSON string is a YAML one.
    Json::string(value).text().trim_end().to_owned()
}

/// Whether a text with `value` as a plain scalar reads as that string.
fn is_plain(text: &str, value: &str) -> bool {
    let whole = Span::new(0, text.len());
    yaml::parse(text, whole, yaml::LIMITS).is_ok_and(|document| {
        let member = document.root.as_object().and_then(|object| object.get("k"));
        member
            .and_then(|member| member.value.as_text())
            .is_some_and(|text| *text == *value)
    })
}

fn line_ending(text: &str) -> &'static str {
    match text.find(['\r', '\n']) {
        Some(at) if text.get(at..).is_some_and(|rest| rest.starts_with("\r\n")) => "\r\n",
        Some(at) if text.as_bytes().get(at) == Some(&b'\r') => "\r",
        _ => "\n",
    }
}

/// Whether the frontmatter of `edited` has the fields `before` in the same
/// order with the same values, those named aside.
fn same_but(before: &Object, edited: &str, aside: &[&str]) -> bool {
    let others = |object: &Object| -> Vec<(String, Json)> {
        object
            .effective()
            .map(|member| (member.key.display().into_owned(), Json::of(&member.value)))
            .filter(|(key, _)| !aside.contains(&key.as_str()))
            .collect()
    };
    read(edited).is_some_and(|(_, after)| others(before) == others(&after))
}

/// Replacements in a text, by place.
#[derive(Default)]
struct Edits(Vec<(Span, String)>);

impl Edits {
    fn replace(&mut self, span: Span, text: String) {
        self.0.push((span, text));
    }

    fn insert(&mut self, at: usize, text: String) {
        self.replace(Span::new(at, at), text);
    }

    fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(span, _)| span.start);
        let mut edited = String::with_capacity(text.len());
        let mut from = 0;
        for (span, new) in &self.0 {
            edited.push_str(text.get(from..span.start).unwrap_or_default());
            edited.push_str(new);
            from = span.end;
        }
        edited.push_str(text.get(from..).unwrap_or_default());
        edited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(directory: &str, text: &str, rename: bool) -> Prepared {
        let path = format!("{directory}/SKILL.md");
        match prepare(&path, directory, text.as_bytes(), rename) {
            Ok(prepared) => prepared,
            Err(refusal) => panic!("{text:?}: {refusal:?}"),
        }
    }

    fn problem(directory: &str, text: &str) -> NameProblem {
        match prepare("x/SKILL.md", directory, text.as_bytes(), false) {
            Err(Refusal::Name(problem)) => problem,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_conforming_skill_is_not_touched() {
        let text = "---\n# a comment\nname: a\r\ndescription: \"Does a. Use it.\"\nzz: [1, 2]   # kept\n---\nBody\r\n";
        let skill = prepared("a", text, false);
        assert_eq!((skill.name.as_str(), skill.text.as_str()), ("a", text));
        assert_eq!(skill.losses.len(), 1);
        assert_eq!(skill.losses[0].0.pointer.as_deref(), Some("/zz"));
        assert_eq!(skill.losses[0].0.line, Some(5));
    }

    #[test]
    fn names_are_refused_with_the_one_that_would_do() {
        let text = |name: &str| format!("---\nname: {name}\ndescription: D.\n---\n");
        for (directory, name, suggestion) in [
            ("-foo", "-foo", Some("foo")),
            ("foo-", "foo-", Some("foo")),
            ("a--b", "a--b", Some("a-b")),
            ("My Skill", "My Skill", Some("my-skill")),
            ("b", "a", Some("a")),
            ("12", "12", Some("12")),
            ("ü", "ü", None),
        ] {
            let found = problem(directory, &text(name));
            assert_eq!(
                found.suggestion.as_deref(),
                suggestion,
                "{directory} {name}"
            );
        }
        let long = "x".repeat(65);
        assert_eq!(
            problem(&long, &text(&long))
                .suggestion
                .map(|name| name.len()),
            Some(64)
        );
    }

    #[test]
    fn renaming_replaces_the_name_alone() {
        for (old, new) in [
            ("name: My Skill # why\n", "name: my-skill # why\n"),
            ("name: 'My Skill'\n", "name: 'my-skill'\n"),
            ("name: \"My Skill\"\n", "name: \"my-skill\"\n"),
        ] {
            let text =
                |name: &str| format!("---\nlicense: MIT\n{name}description: D.\n---\n\nBody");
            let skill = prepared("My Skill", &text(old), true);
            assert_eq!((skill.name.as_str(), skill.text), ("my-skill", text(new)));
        }
        let skill = prepared("12", "---\nname: 12\ndescription: D.\n---\n", true);
        assert_eq!(skill.text, "---\nname: \"12\"\ndescription: D.\n---\n");
    }

    #[test]
    fn the_directory_names_a_skill_without_a_name() {
        let skill = prepared("a", "\u{FEFF}---\r\ndescription: D.\r\n---\r\nBody", false);
        assert_eq!(
            skill.text,
            "---\r\nname: a\r\ndescription: D.\r\n---\r\nBody"
        );
    }

    #[test]
    fn tools_become_a_string_and_a_list_again() {
        for list in [
            "allowed-tools: [\"Bash(git add:*)\", Read] # c\n",
            "allowed-tools:\n  - Bash(git add:*)\n  - Read # c\n",
            "allowed-tools:\n- \"Bash(git add:*)\"\n- 'Read' # c\n",
        ] {
            let text = format!("---\nname: a\n{list}description: D.\n---\n");
            let skill = prepared("a", &text, false);
            assert!(skill.tools_were_list);
            let wanted =
                "---\nname: a\nallowed-tools: Bash(git add:*) Read # c\ndescription: D.\n---\n";
            assert_eq!(skill.text, wanted);
            let back = with_tools_as_list(&skill.text).expect("a list");
            assert!(
                back.contains("allowed-tools: [Bash(git add:*), Read] # c\n"),
                "{back}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_never_guessed() {
        for (text, kind) in [
            (
                "---\nname: a\ndescription: Pay: card\nallowed-tools: Read\n---\n",
                LossKind::SkillUnreadable,
            ),
            ("no frontmatter", LossKind::SkillUnreadable),
            ("---\nname: a\n---\n", LossKind::SkillUnreadable),
            (
                "---\nname: a\ndescription: D.\nallowed-tools: [a b]\n---\n",
                LossKind::AllowedTools,
            ),
            (
                "---\nname: a\ndescription: D.\nallowed-tools: [1]\n---\n",
                LossKind::AllowedTools,
            ),
        ] {
            match prepare("a/SKILL.md", "a", text.as_bytes(), true) {
                Err(Refusal::Text(loss)) => assert_eq!(loss.kind, kind, "{text:?}"),
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }
}
