//! Servers that are reached over HTTP (§7.2.1 "Streamable HTTP and legacy
//! HTTP+SSE").

use std::collections::HashMap;

use super::super::file::quoted;
use super::super::report::Transport;
use super::server::Entry;
use super::values::{self, Value};
use crate::document::{Member, Object};
use crate::spec::codes::mcp as codes;
use crate::spec::credential;
use crate::spec::header;
use crate::spec::url::{self, UrlProblem};

/// Judges the fields of a remote server of the given type.
pub(super) fn check(
    entry: &mut Entry<'_, '_>,
    fields: &Object,
    variant: &str,
) -> Option<Transport> {
    let url = entry.required(
        fields,
        "url",
        &codes::URL_MISSING,
        "add \"url\": the https:// address of the MCP endpoint",
    );
    if let Some(member) = url {
        self::url(entry, member);
    }
    let headers = headers(entry, fields);
    if variant == "sse"
        && let Some(member) = fields.get("type")
    {
        let pointer = entry.pointer.key("type");
        entry.report(
            &codes::SSE_OPTIONAL,
            member.value.span,
            &pointer,
            "the sse transport is deprecated, and clients need not support it",
            "offer the server over streamable-http too, if it can",
        );
    }
    let url = url?.value.as_text()?.display().into_owned();
    Some(match variant {
        "sse" => Transport::Sse { url, headers },
        _ => Transport::StreamableHttp { url, headers },
    })
}

fn url(entry: &mut Entry<'_, '_>, member: &Member) {
    let pointer = entry.pointer.key("url");
    let span = member.value.span;
    let Some(text) = member.value.as_text() else {
        return;
    };
    let Some(value) = text.as_str() else {
        let message = "the URL holds half of a surrogate pair";
        entry.report(
            &codes::URL_INVALID,
            span,
            &pointer,
            message,
            "write a valid https:// URL",
        );
        return;
    };
    let mut user_is_known = false;
    for problem in url::problems(value) {
        user_is_known |= problem == UrlProblem::UserInformation;
        let (code, message, help) = match problem {
            UrlProblem::Invalid(phrase) => (
                &codes::URL_INVALID,
                format!("the URL {phrase}"),
                if value.contains("${") {
                    "write an absolute URL, https://host/path; placeholders are never expanded in it"
                } else {
                    "write an absolute URL: https://host/path"
                },
            ),
            UrlProblem::UserInformation => (
                &codes::URL_USER_INFORMATION,
                "the URL holds user information before an @".to_owned(),
                "remove it; clients ask the user for credentials",
            ),
            UrlProblem::Fragment => (
                &codes::URL_FRAGMENT,
                "the URL holds a fragment".to_owned(),
                "remove the # and what follows",
            ),
            UrlProblem::NotHttps => (
                &codes::URL_NOT_HTTPS,
                "the URL is plain HTTP to a host that is not loopback".to_owned(),
                "use https://; http:// is allowed for localhost, 127.0.0.0/8 and [::1] only",
            ),
        };
        entry.report(code, span, &pointer, message, help);
    }
    let text = Value {
        span,
        pointer: &pointer,
        name: None,
        text: value,
    };
    values::literal(entry, &text);
    values::url_template(entry, &text);
    if let Some(odd) = url::odd_character(value) {
        entry.report(
            &codes::URL_CHARACTER,
            span,
            &pointer,
            format!("the URL holds {odd}, which some clients refuse and others rewrite"),
            "write what is no letter, digit or delimiter as % and two hexadecimal digits, and leave %00 out",
        );
    }
    for (name, part) in url::query_pairs(value) {
        let part = Value {
            name: Some(name),
            text: part,
            ..text
        };
        let what = format!("{} in the query of the URL", quoted(name));
        if values::credential_in(entry, &part, &what) {
            return;
        }
    }
    // That user information is there has been said.
    if !user_is_known || credential::holds_token(value) {
        values::credential_in(entry, &text, "the URL");
    }
}

fn headers(entry: &mut Entry<'_, '_>, fields: &Object) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    // By lower case: an entry may hold more names than it is sensible to compare.
    let mut seen: HashMap<String, String> = HashMap::new();
    for (member, value, pointer) in entry.strings_of(fields, "headers") {
        let name = member.key.display().into_owned();
        if !header::is_valid_name(&name) {
            entry.report(
                &codes::HEADER_NAME,
                member.key_span,
                &pointer,
                format!("{} is no HTTP header name", quoted(&name)),
                "use letters, digits and hyphens",
            );
        } else if let Some(earlier) = seen.insert(name.to_ascii_lowercase(), name.clone()) {
            let message = format!(
                "{} and {} are the same header",
                quoted(&earlier),
                quoted(&name)
            );
            entry.report(
                &codes::HEADER_DUPLICATE,
                member.key_span,
                &pointer,
                message,
                "keep one of them",
            );
        } else if header::is_client_generated(&name) {
            entry.report(
                &codes::HEADER_CLIENT_GENERATED,
                member.key_span,
                &pointer,
                format!("clients send {name} themselves, and theirs wins"),
                "remove it",
            );
        }
        let half_a_pair = member
            .value
            .as_text()
            .is_some_and(|text| text.as_str().is_none());
        if half_a_pair {
            entry.report(
                &codes::HEADER_VALUE,
                member.value.span,
                &pointer,
                format!(
                    "the value of {} holds half of a surrogate pair",
                    quoted(&name)
                ),
                "write the character itself, or both halves of its pair",
            );
        } else if let Some(bad) = header::forbidden_in_value(&value) {
            entry.report(
                &codes::HEADER_VALUE,
                member.value.span,
                &pointer,
                format!(
                    "the value of {} holds {bad:?}, which HTTP forbids",
                    quoted(&name)
                ),
                "remove control characters; a header is one line",
            );
        } else if let Some(problem) = header::portability_problem(&value) {
            entry.report(
                &codes::HEADER_VALUE_PORTABILITY,
                member.value.span,
                &pointer,
                format!("the value of {} {problem}", quoted(&name)),
                "use ASCII without surrounding white space",
            );
        }
        let text = Value {
            span: member.value.span,
            pointer: &pointer,
            name: Some(&name),
            text: &value,
        };
        values::literal(entry, &text);
        values::credential(entry, &text);
        headers.push((name, value));
    }
    headers
}
