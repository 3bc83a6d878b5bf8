//! The report of an export as one JSON document, `schema_version` 1.

use super::json::Json;
use super::{Accepted, Loss, Output, Plan, Target};
use crate::everos::digest;

/// The JSON Schema of the document.
pub const SCHEMA: &str = include_str!("../../schemas/export.v1.schema.json");

/// How an export went.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// What was planned.
    pub plan: &'a Plan,
    /// Whom it is for.
    pub target: Target,
    /// Where it goes, as the user named it.
    pub out: Option<&'a str>,
    /// Whether it was written.
    pub written: bool,
    /// The list of files that a directory gets, beside the plan's outputs.
    pub receipt: Option<&'a Output>,
    /// What goes, or would go, with a target that is replaced.
    pub deleted: &'a [String],
    /// Why nothing was written, or would be.
    pub error: Option<&'a str>,
    /// Findings that did not stop it.
    pub accepted: &'a [Accepted],
}

impl<'a> Report<'a> {
    /// Every file of the result.
    pub fn outputs(&self) -> impl Iterator<Item = &'a Output> {
        self.plan.outputs.iter().chain(self.receipt)
    }
}

/// The document, as a text that ends with a line ending.
pub fn json(report: &Report<'_>) -> String {
    let plan = report.plan;
    let optional = |text: Option<&str>| text.map_or(Json::Null, Json::string);
    let [components, details] = [super::Weight::Component, super::Weight::Detail].map(|weight| {
        plan.losses
            .iter()
            .filter(|loss| loss.kind.weight() == weight)
            .count()
    });
    let number = |count: usize| Json::Number(count.to_string());
    let files = report.outputs().count();
    let bytes = report.outputs().map(|output| output.bytes.len()).sum();
    Json::object([
        ("schema_version", number(1)),
        (
            "tool",
            Json::object([
                ("name", Json::string("apkit")),
                ("version", Json::string(env!("CARGO_PKG_VERSION"))),
            ]),
        ),
        (
            "source",
            optional(Some(plan.source).filter(|source| !source.is_empty())),
        ),
        ("target", Json::string(report.target.id())),
        ("out", optional(report.out)),
        ("written", Json::Bool(report.written)),
        ("error", optional(report.error)),
        (
            "package",
            Json::object([
                (
                    "name",
                    optional(Some(plan.name.as_str()).filter(|name| !name.is_empty())),
                ),
                ("version", optional(plan.version.as_deref())),
            ]),
        ),
        (
            "outputs",
            Json::Array(report.outputs().map(output).collect()),
        ),
        ("deleted", Json::strings(report.deleted.iter().cloned())),
        (
            "losses",
            Json::Array(plan.losses.iter().map(loss).collect()),
        ),
        ("notes", Json::strings(plan.notes.clone())),
        (
            "accepted",
            Json::Array(report.accepted.iter().map(accepted).collect()),
        ),
        (
            "summary",
            Json::object([
                ("files", number(files)),
                ("bytes", number(bytes)),
                ("components_lost", number(components)),
                ("details_lost", number(details)),
            ]),
        ),
    ])
    .text()
}

fn output(output: &Output) -> Json {
    Json::object([
        ("path", Json::string(&output.path)),
        (
            "mode",
            Json::string(if output.executable { "0755" } else { "0644" }),
        ),
        ("bytes", Json::Number(output.bytes.len().to_string())),
        ("sha256", Json::string(digest::hex(&output.bytes, 64))),
    ])
}

fn loss(loss: &Loss) -> Json {
    let optional = |text: &Option<String>| text.as_deref().map_or(Json::Null, Json::string);
    Json::object([
        ("kind", Json::string(loss.kind.id())),
        ("weight", Json::string(loss.kind.weight().as_str())),
        ("what", Json::string(&loss.what)),
        ("why", Json::string(&loss.why)),
        ("effect", Json::string(loss.kind.effect())),
        ("help", optional(&loss.help)),
        ("path", Json::string(&loss.path)),
        ("pointer", optional(&loss.pointer)),
        (
            "line",
            loss.line
                .map_or(Json::Null, |line| Json::Number(line.to_string())),
        ),
    ])
}

fn accepted(accepted: &Accepted) -> Json {
    Json::object([
        ("path", Json::string(&accepted.path)),
        ("code", Json::string(accepted.code)),
        ("message", Json::string(&accepted.message)),
        ("announced", Json::Bool(accepted.announced)),
    ])
}
