//! One entry of `mcpServers`: a closed union of three variants (§7.2.1).

use super::super::Loader;
use super::super::file::{Source, quoted};
use super::super::report::Transport;
use super::{remote, stdio};
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::document::{Member, Object, Pointer};
use crate::spec::codes::mcp as codes;
use crate::spec::near;
use crate::spec::transport::{self, VARIANTS};

/// Judges one entry; gives its transport if it loads. All errors and warnings
/// about an entry are reported, what is merely worth knowing only if it loads.
pub(super) fn check(
    loader: &Loader<'_>,
    source: &Source<'_>,
    member: &Member,
    pointer: &Pointer,
    findings: &mut Vec<Diagnostic>,
) -> Option<Transport> {
    let before = findings.len();
    let mut entry = Entry {
        loader,
        source,
        pointer,
        member,
        findings,
    };
    let transport = entry.judge();
    let failed = findings
        .iter()
        .skip(before)
        .any(|finding| finding.severity() == Severity::Error);
    if !failed {
        return transport;
    }
    let of_this_entry = findings.split_off(before);
    findings.extend(
        of_this_entry
            .into_iter()
            .filter(|finding| finding.severity() != Severity::Info),
    );
    None
}

/// The entry under judgement.
pub(super) struct Entry<'a, 't> {
    pub(super) loader: &'a Loader<'a>,
    pub(super) source: &'a Source<'t>,
    pub(super) pointer: &'a Pointer,
    member: &'a Member,
    findings: &'a mut Vec<Diagnostic>,
}

impl Entry<'_, '_> {
    /// Adds a finding about the value at `pointer`.
    pub(super) fn report(
        &mut self,
        code: &'static Code,
        span: Span,
        pointer: &Pointer,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.findings.push(
            self.source
                .value_finding(code, span, pointer, message)
                .with_help(help),
        );
    }

    /// Adds a finding about a value of the wrong type.
    pub(super) fn wrong_type(
        &mut self,
        span: Span,
        pointer: &Pointer,
        what: &str,
        is: &str,
        wanted: &str,
    ) {
        self.report(
            &codes::FIELD_TYPE,
            span,
            pointer,
            format!("{what} is {is}, not {wanted}"),
            format!("make it {wanted}"),
        );
    }

    /// Where something is missing: the key that names the server.
    fn name_span(&self) -> Span {
        self.member.key_span
    }

    fn judge(&mut self) -> Option<Transport> {
        self.name();
        let member = self.member;
        let pointer = self.pointer;
        let Some(fields) = member.value.as_object() else {
            let message = format!("the server is {}, not an object", member.value.type_name());
            let help = "make it an object with a type and the fields of that type";
            self.report(
                &codes::SERVER_NOT_AN_OBJECT,
                member.value.span,
                pointer,
                message,
                help,
            );
            return None;
        };
        let (variant, allowed) = self.variant(fields)?;
        for field in fields
            .effective()
            .filter(|field| !allowed.iter().any(|allowed| field.key == *allowed))
        {
            self.unknown_field(field, variant, allowed);
        }
        if variant == "stdio" {
            stdio::check(self, fields)
        } else {
            remote::check(self, fields, variant)
        }
    }

    fn name(&mut self) {
        let span = self.name_span();
        let pointer = self.pointer;
        match self.member.key.as_str() {
            None => self.report(
                &codes::SERVER_NAME_INVALID,
                span,
                pointer,
                "the server's name holds half of a surrogate pair, which no client can show or compare",
                "write the character itself, or both halves of its pair",
            ),
            Some(name) if name.is_empty() || name.chars().any(char::is_control) => {
                let what = if name.is_empty() { "is empty" } else { "holds control characters" };
                self.report(
                    &codes::SERVER_NAME,
                    span,
                    pointer,
                    format!("the server's name {what}; clients build tool names from it"),
                    "name it with letters, digits and hyphens",
                );
            }
            Some(_) => {}
        }
    }

    /// The variant that `type` selects. Without one no field can be judged.
    fn variant(&mut self, fields: &Object) -> Option<(&'static str, &'static [&'static str])> {
        let known = || {
            VARIANTS
                .iter()
                .map(|(name, _)| format!("\"{name}\""))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let pointer = self.pointer;
        let Some(member) = fields.get("type") else {
            let guess = match (fields.get("command"), fields.get("url")) {
                (Some(_), None) => "add \"type\": \"stdio\"".to_owned(),
                (None, Some(_)) => {
                    "add \"type\": \"streamable-http\" (or \"sse\" for the deprecated transport)"
                        .to_owned()
                }
                _ => format!("add \"type\": one of {}", known()),
            };
            let span = self.name_span();
            self.report(
                &codes::TYPE_MISSING,
                span,
                pointer,
                "the server has no type",
                guess,
            );
            return None;
        };
        let pointer = pointer.key("type");
        let Some(value) = member.value.as_text() else {
            let is = member.value.type_name();
            self.wrong_type(member.value.span, &pointer, "type", is, "a string");
            return None;
        };
        let variant = VARIANTS.iter().find(|(name, _)| *value == **name);
        if variant.is_none() {
            let shown = value.display();
            let help = match transport::meant(&shown) {
                Some(meant) => format!("write \"{meant}\""),
                None => format!("write one of {}", known()),
            };
            let message = format!(
                "type {} is no transport of the specification",
                quoted(&shown)
            );
            self.report(
                &codes::TYPE_UNKNOWN,
                member.value.span,
                &pointer,
                message,
                help,
            );
        }
        variant.map(|(name, fields)| (*name, *fields))
    }

    fn unknown_field(&mut self, field: &Member, variant: &str, allowed: &[&str]) {
        let key = field.key.display();
        let pointer = self.pointer.key(&key);
        let elsewhere = VARIANTS.iter().any(|(_, fields)| fields.contains(&&*key));
        let message = if elsewhere {
            format!("{} is no field of a server of type {variant}", quoted(&key))
        } else {
            format!("{} is no field of a server", quoted(&key))
        };
        let help = match near::nearest(&key, allowed.iter().copied()) {
            Some(field) => format!("did you mean {field}?"),
            None => format!("remove it; {variant} servers have {}", allowed.join(", ")),
        };
        self.report(
            &codes::SERVER_UNKNOWN_FIELD,
            field.key_span,
            &pointer,
            message,
            help,
        );
    }

    /// A required string; `code` if it is missing.
    pub(super) fn required<'m>(
        &mut self,
        fields: &'m Object,
        field: &str,
        code: &'static Code,
        help: &str,
    ) -> Option<&'m Member> {
        let pointer = self.pointer;
        let span = self.name_span();
        let Some(member) = fields.get(field) else {
            self.report(
                code,
                span,
                pointer,
                format!("the server has no {field}"),
                help,
            );
            return None;
        };
        if member.value.as_text().is_none() {
            let is = member.value.type_name();
            self.wrong_type(
                member.value.span,
                &pointer.key(field),
                field,
                is,
                "a string",
            );
            return None;
        }
        Some(member)
    }

    /// The members of an optional object of strings, entries of other types
    /// reported.
    pub(super) fn strings_of<'m>(
        &mut self,
        fields: &'m Object,
        field: &str,
    ) -> Vec<(&'m Member, String, Pointer)> {
        let Some(member) = fields.get(field) else {
            return Vec::new();
        };
        let pointer = self.pointer.key(field);
        let Some(object) = member.value.as_object() else {
            let is = member.value.type_name();
            self.wrong_type(
                member.value.span,
                &pointer,
                field,
                is,
                "an object of strings",
            );
            return Vec::new();
        };
        let mut entries = Vec::new();
        for inner in object.effective() {
            let pointer = pointer.key(&inner.key.display());
            match inner.value.as_text() {
                Some(text) => entries.push((inner, text.display().into_owned(), pointer)),
                None => {
                    let what = format!("{field} {}", quoted(&inner.key.display()));
                    self.wrong_type(
                        inner.value.span,
                        &pointer,
                        &what,
                        inner.value.type_name(),
                        "a string",
                    );
                }
            }
        }
        entries
    }
}
