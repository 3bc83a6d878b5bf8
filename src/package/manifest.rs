//! `plugin.json` (§5, §8.1): what rejects the package, what is ignored, and
//! what is merely worth knowing.

use std::path::Path;

use super::containment::{self, Resolution};
use super::file::{Source, quoted};
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{Document, Member, Node, Object, Pointer};
use crate::spec::codes::manifest as codes;
use crate::spec::version::{self, AUTHOR_FIELDS, FieldKind, SchemaKind, Selection, Version};
use crate::spec::{foreign, name, near};

/// The one portable manifest (§5.1).
pub(super) const FILE: &str = "plugin.json";

/// What the manifest says, as far as it was readable.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// The version whose rules apply; `None` rejects the package.
    pub(super) version_of_spec: Option<&'static Version>,
    /// `name`, if it is a string.
    pub(super) name: Option<String>,
    /// `version`, if it is a string.
    pub(super) version: Option<String>,
    /// Whether a finding rejects the package.
    pub(super) rejected: bool,
}

/// Judges a parsed manifest; `findings` are those about its text so far, and
/// `native` is the manifest of a single client that stands beside it.
pub(super) fn check(
    root: &Path,
    source: &Source<'_>,
    document: &Document,
    native: Option<&str>,
    drafts: bool,
    findings: &mut Vec<Diagnostic>,
) -> Manifest {
    let mut check = Check {
        root,
        source,
        findings,
        manifest: Manifest::default(),
    };
    match document.root.as_object() {
        None => {
            let message = format!(
                "the manifest is {}, not an object",
                document.root.type_name()
            );
            check.report(
                source
                    .value_finding(
                        &codes::NOT_AN_OBJECT,
                        document.root.span,
                        &Pointer::root(),
                        message,
                    )
                    .with_help("put the fields into one object: { \"$schema\": …, \"name\": … }"),
            );
        }
        Some(object) => {
            check.note(object);
            if let Some(version) = check.select(&document.root, object, native, drafts) {
                check.manifest.version_of_spec = Some(version);
                check.fields(&document.root, object, version);
            }
        }
    }
    let mut manifest = check.manifest;
    manifest.rejected = findings
        .iter()
        .any(|finding| finding.severity() == Severity::Error);
    if manifest.rejected {
        // Advice about a package that does not load helps nobody.
        findings.retain(|finding| finding.severity() != Severity::Info);
    }
    manifest
}

struct Check<'a, 't> {
    root: &'a Path,
    source: &'a Source<'t>,
    findings: &'a mut Vec<Diagnostic>,
    manifest: Manifest,
}

impl Check<'_, '_> {
    fn report(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }

    /// Keeps what reports show of any manifest, valid or not.
    fn note(&mut self, object: &Object) {
        let string = |key| {
            object
                .get(key)
                .and_then(|member| member.value.as_text()?.as_str().map(str::to_owned))
        };
        self.manifest.name = string("name");
        self.manifest.version = string("version");
        // Half a pair in these two breaks their own rule, which says more.
        for key in ["$schema", "name"] {
            if let Some(member) = object.get(key) {
                let at = member.value.span.start;
                self.findings.retain(|finding| {
                    finding.code != &codes::LONE_SURROGATE
                        || finding.location.is_none_or(|place| place.offset != at)
                });
            }
        }
    }

    /// Selects the rules by `$schema` (§5.2). Without rules nothing else of the
    /// manifest can be judged.
    fn select(
        &mut self,
        root: &Node,
        object: &Object,
        native: Option<&str>,
        drafts: bool,
    ) -> Option<&'static Version> {
        let wanted = version::current().plugin_schema;
        let insert = format!("add \"$schema\": \"{wanted}\"");
        let Some(member) = object.get("$schema") else {
            let opening = crate::diagnostic::Span::new(root.span.start, root.span.start + 1);
            let fields: Vec<&str> = object
                .effective()
                .filter_map(|member| member.key.as_str())
                .collect();
            let beside = native
                .map(|native| format!("; {native} stands beside it"))
                .unwrap_or_default();
            let finding = match foreign::recognise(&fields) {
                None => self
                    .source
                    .value_finding(
                        &codes::SCHEMA_MISSING,
                        opening,
                        &Pointer::root(),
                        "the manifest has no $schema",
                    )
                    .with_help(format!("{insert}{beside}")),
                Some(likeness) => self
                    .source
                    .value_finding(
                        &codes::FOREIGN_FORMAT,
                        opening,
                        &Pointer::root(),
                        format!("there is no $schema, and {}{beside}", looks_like(&likeness)),
                    )
                    .with_help(foreign_help(&insert)),
            };
            self.report(finding);
            return None;
        };
        let pointer = Pointer::root().key("$schema");
        let span = member.value.span;
        let Some(value) = member.value.as_text() else {
            let message = format!("$schema is {}, not a string", member.value.type_name());
            self.report(
                self.source
                    .value_finding(&codes::SCHEMA_INVALID, span, &pointer, message)
                    .with_help(format!("set it to \"{wanted}\"")),
            );
            return None;
        };
        let value = value.display();
        if let Some(host) = foreign::schema_host(&value) {
            self.report(
                self.source
                    .value_finding(
                        &codes::FOREIGN_FORMAT,
                        span,
                        &pointer,
                        format!("$schema declares another format, that of {}", quoted(host)),
                    )
                    .with_help(foreign_help(&format!("set $schema to \"{wanted}\""))),
            );
            return None;
        }
        let (code, message, help) = match version::select(&value, SchemaKind::Plugin, drafts) {
            Selection::Supported(id) => {
                let version = version::find(id)?;
                if version.draft {
                    self.report(self.source.value_finding(
                        &codes::DRAFT_VERSION,
                        span,
                        &pointer,
                        format!("Agent Plugins {id} is a draft; clients that support only published versions reject the package"),
                    ).with_help(format!("target \"{wanted}\" until the draft is published")));
                }
                return Some(version);
            }
            Selection::DraftOff(id) => (
                &codes::SCHEMA_UNSUPPORTED,
                format!("Agent Plugins {id} is a draft, which is not supported by default"),
                format!("target \"{wanted}\", or judge by the draft with --spec-draft {id}"),
            ),
            Selection::Unknown(id) => (
                &codes::SCHEMA_UNSUPPORTED,
                format!("Agent Plugins version {} is not supported", quoted(id)),
                format!("the published version is \"{wanted}\""),
            ),
            Selection::OtherDocument => (
                &codes::SCHEMA_INVALID,
                "this $schema is the one of mcp.json".to_owned(),
                format!("set it to \"{wanted}\""),
            ),
            Selection::NotCanonical => (
                &codes::SCHEMA_INVALID,
                format!(
                    "$schema {} is not the canonical identifier of an Agent Plugins manifest",
                    quoted(&value)
                ),
                format!("set it to exactly \"{wanted}\""),
            ),
        };
        self.report(
            self.source
                .value_finding(code, span, &pointer, message)
                .with_help(help),
        );
        None
    }

    fn fields(&mut self, root: &Node, object: &Object, version: &Version) {
        if object.get("name").is_none() {
            let opening = crate::diagnostic::Span::new(root.span.start, root.span.start + 1);
            self.report(
                self.source
                    .value_finding(&codes::NAME_MISSING, opening, &Pointer::root(), "the manifest has no name")
                    .with_help("add \"name\": lower-case letters, digits, hyphens and periods, at most 64 characters"),
            );
        }
        for member in object.effective() {
            let kind = version
                .manifest_fields
                .iter()
                .find(|(field, _)| member.key == *field)
                .map(|(_, kind)| *kind);
            let pointer = Pointer::root().key(&member.key.display());
            match kind {
                None => self.unknown_field(member, &pointer),
                Some(FieldKind::Schema) => {}
                Some(FieldKind::Name) => self.name(member, &pointer),
                Some(FieldKind::String) => {
                    if self.expect(
                        member.value.as_text().is_some(),
                        member,
                        &pointer,
                        "a string",
                    ) {
                        self.metadata_advice(member, &pointer);
                    }
                }
                Some(FieldKind::Author) => self.author(member, &pointer),
                Some(FieldKind::Strings) => self.strings(member, &pointer),
                Some(FieldKind::Extensions) => self.extensions(member, &pointer),
                Some(FieldKind::Icon) => self.icon(member, &pointer),
            }
        }
    }

    fn unknown_field(&mut self, member: &Member, pointer: &Pointer) {
        let key = member.key.display();
        let published = version::VERSIONS.iter().find(|version| {
            version
                .manifest_fields
                .iter()
                .any(|(field, _)| *field == key)
        });
        let help = match published {
            Some(version) => format!("the field belongs to the {} draft; remove it or put it under extensions", version.id),
            None if key == "skills" => "skills are found in skills/ and need no field; remove it".to_owned(),
            None if key == "mcpServers" => "servers are declared in mcp.json at the package root; move them there".to_owned(),
            None => match near_field(&key) {
                Some(field) => format!("did you mean {field:?}?"),
                None => "remove it, or move it under extensions, into the namespace of the client that reads it".to_owned(),
            },
        };
        self.report(
            self.source
                .value_finding(
                    &codes::UNKNOWN_FIELD,
                    member.key_span,
                    pointer,
                    format!("{} is no field of an Agent Plugins manifest", quoted(&key)),
                )
                .with_help(help),
        );
    }

    /// Reports a value of another type than `wanted`; true if the type is right.
    fn expect(&mut self, right: bool, member: &Member, pointer: &Pointer, wanted: &str) -> bool {
        if !right {
            let message = format!(
                "{} is {}, not {wanted}",
                member.key.display(),
                member.value.type_name()
            );
            self.report(
                self.source
                    .value_finding(&codes::FIELD_TYPE, member.value.span, pointer, message)
                    .with_help(format!("make it {wanted}, or remove the field")),
            );
        }
        right
    }

    fn name(&mut self, member: &Member, pointer: &Pointer) {
        let Some(value) = member.value.as_text() else {
            self.expect(false, member, pointer, "a string");
            return;
        };
        let shown = value.display();
        let problem = match value.as_str() {
            Some(value) => name::plugin_name_problem(value),
            None => Some("holds half of a surrogate pair".to_owned()),
        };
        if let Some(problem) = problem {
            let help = match name::plugin_name_suggestion(&shown) {
                Some(better) => format!("{better:?} would be valid"),
                None => "use lower-case letters, digits, single hyphens and single periods, alphanumeric at both ends".to_owned(),
            };
            self.report(
                self.source
                    .value_finding(
                        &codes::NAME_INVALID,
                        member.value.span,
                        pointer,
                        format!("the name {} {problem}", quoted(&shown)),
                    )
                    .with_help(help),
            );
        }
    }

    /// Recommendations about metadata, which is otherwise judged by type alone (§5.4).
    fn metadata_advice(&mut self, member: &Member, pointer: &Pointer) {
        let Some(value) = member
            .value
            .as_text()
            .and_then(|text| text.as_str())
            .filter(|value| !value.is_empty())
        else {
            return;
        };
        if member.key == "version" && !is_semver(value) {
            self.report(
                self.source
                    .value_finding(
                        &codes::VERSION_NOT_SEMVER,
                        member.value.span,
                        pointer,
                        format!("version {} is not Semantic Versioning; clients cannot tell which of two is newer", quoted(value)),
                    )
                    .with_help("write MAJOR.MINOR.PATCH, such as \"1.0.0\""),
            );
        }
        if member.key == "license" && spdx::Expression::parse(value).is_err() {
            self.report(
                self.source
                    .value_finding(
                        &codes::LICENSE_NOT_SPDX,
                        member.value.span,
                        pointer,
                        format!("license {} is not an SPDX licence expression", quoted(value)),
                    )
                    .with_help("write an SPDX identifier, such as \"MIT\" or \"Apache-2.0\"; \"LicenseRef-…\" names one of your own"),
            );
        }
    }

    fn author(&mut self, member: &Member, pointer: &Pointer) {
        let Some(author) = member.value.as_object() else {
            self.expect(false, member, pointer, "an object");
            return;
        };
        for inner in author.effective() {
            let key = inner.key.display();
            let pointer = pointer.key(&key);
            if !AUTHOR_FIELDS.contains(&&*key) {
                self.report(
                    self.source
                        .value_finding(
                            &codes::AUTHOR_UNKNOWN_FIELD,
                            inner.key_span,
                            &pointer,
                            format!("{} is no field of author", quoted(&key)),
                        )
                        .with_help("author holds name, email and url only; put other data under extensions"),
                );
            } else if inner.value.as_text().is_none() {
                let message = format!("author.{key} is {}, not a string", inner.value.type_name());
                self.report(
                    self.source
                        .value_finding(&codes::FIELD_TYPE, inner.value.span, &pointer, message)
                        .with_help("make it a string, or remove the field"),
                );
            }
        }
    }

    fn strings(&mut self, member: &Member, pointer: &Pointer) {
        let Some(items) = member.value.as_array() else {
            self.expect(false, member, pointer, "an array of strings");
            return;
        };
        for (index, item) in items.iter().enumerate() {
            if item.as_text().is_none() {
                let message = format!(
                    "{}[{index}] is {}, not a string",
                    member.key.display(),
                    item.type_name()
                );
                self.report(
                    self.source
                        .value_finding(
                            &codes::FIELD_TYPE,
                            item.span,
                            &pointer.index(index),
                            message,
                        )
                        .with_help("make it a string, or remove it"),
                );
            }
        }
    }

    /// §8.1: no object at all is ignored; a namespace whose value is no object
    /// is a violation like any other. What is inside is nobody's business.
    fn extensions(&mut self, member: &Member, pointer: &Pointer) {
        let Some(namespaces) = member.value.as_object() else {
            let message = format!("extensions is {}, not an object", member.value.type_name());
            self.report(
                self.source
                    .value_finding(
                        &codes::EXTENSIONS_NOT_AN_OBJECT,
                        member.value.span,
                        pointer,
                        message,
                    )
                    .with_help(
                        "make it an object whose keys are reverse-domain names, or remove it",
                    ),
            );
            return;
        };
        for namespace in namespaces.effective() {
            let key = namespace.key.display();
            let pointer = pointer.key(&key);
            if namespace.value.as_object().is_none() {
                let message = format!(
                    "extensions {} is {}, not an object",
                    quoted(&key),
                    namespace.value.type_name()
                );
                self.report(
                    self.source
                        .value_finding(
                            &codes::EXTENSION_NOT_AN_OBJECT,
                            namespace.value.span,
                            &pointer,
                            message,
                        )
                        .with_help(
                            "put the value into an object: { \"enabled\": true } in place of true",
                        ),
                );
            }
            if !name::is_reverse_domain(&key) {
                self.report(
                    self.source
                        .value_finding(
                            &codes::EXTENSION_NAMESPACE,
                            namespace.key_span,
                            &pointer,
                            format!("{} is not a reverse-domain name", quoted(&key)),
                        )
                        .with_help(
                            "use a domain you control, reversed, such as \"com.example.client\"",
                        ),
                );
            }
        }
    }

    /// The advisory icon of the draft: only its type can reject the package.
    fn icon(&mut self, member: &Member, pointer: &Pointer) {
        let Some(value) = member.value.as_text() else {
            self.expect(false, member, pointer, "a string");
            return;
        };
        let problem = match value.as_str() {
            Some(path) if !path.starts_with("./") => Some("does not begin with ./"),
            Some(path) => match containment::resolve(self.root, self.root, Path::new(path)) {
                Resolution::Escape => Some("leads out of the package"),
                Resolution::Loop => Some("is a link that leads back to itself"),
                _ => None,
            },
            None => Some("holds half of a surrogate pair"),
        };
        if let Some(problem) = problem {
            self.report(
                self.source
                    .value_finding(
                        &codes::ICON_IGNORED,
                        member.value.span,
                        pointer,
                        format!("icon {} {problem}", quoted(&value.display())),
                    )
                    .with_help("name a file of the package by a path that begins with ./"),
            );
        }
    }
}

/// The permitted field that an unknown one is likely meant to be.
fn near_field(key: &str) -> Option<&'static str> {
    let fields = version::current().manifest_fields;
    near::nearest(key, fields.iter().map(|(field, _)| *field))
}

/// What the fields of a foreign manifest tell, as the end of a sentence.
fn looks_like(likeness: &foreign::Likeness<'_>) -> String {
    const SHOWN: usize = 3;
    let fields: Vec<String> = likeness
        .fields
        .iter()
        .take(SHOWN)
        .map(|field| quoted(field))
        .collect();
    let more = likeness.fields.len().saturating_sub(SHOWN);
    let more = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    match likeness.name {
        Some(name) => format!("with {}{more} it looks like {name}", fields.join(", ")),
        None => format!(
            "it holds {}{more}, so it looks like another tool's manifest",
            fields.join(", ")
        ),
    }
}

fn foreign_help(change: &str) -> String {
    format!(
        "if it is meant to be an Agent Plugins package, {change} and keep fields of other tools out of it; \
         clients that know the format then read it by other rules than before"
    )
}

/// Semantic Versioning 2.0.0.
fn is_semver(version: &str) -> bool {
    let (rest, build) = match version.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (version, None),
    };
    let (core, pre) = match rest.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (rest, None),
    };
    let numeric = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let word = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let pre_word = |part: &str| {
        word(part) && (numeric(part) || part.bytes().any(|byte| !byte.is_ascii_digit()))
    };
    core.split('.').count() == 3
        && core.split('.').all(numeric)
        && pre.is_none_or(|pre| pre.split('.').all(pre_word))
        && build.is_none_or(|build| build.split('.').all(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semantic_versions() {
        for good in [
            "0.0.0",
            "1.2.3",
            "1.0.0-alpha.1",
            "1.0.0-0a",
            "1.0.0+build.01",
            "1.0.0--x",
            "10.20.30-rc-1+x",
        ] {
            assert!(is_semver(good), "{good}");
        }
        for bad in [
            "1",
            "1.2",
            "v1.2.3",
            "1.2.3.4",
            "01.2.3",
            "1.2.x",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3+",
            "1.2.3-a..b",
            " 1.2.3",
        ] {
            assert!(!is_semver(bad), "{bad}");
        }
    }
}
