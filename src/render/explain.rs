//! The rule book, for people and for programs.

use std::io;

use serde::Serialize;

use super::paint::{Paint, Screen, Style, wrap};
use super::{escape, facts};
use crate::diagnostic::{Code, Effect, Severity};

/// What a program can do about findings with a code, a sentence for each way.
pub type Mends<'m> = &'m dyn Fn(&Code) -> Vec<String>;

/// Writes all codes, family by family, one line each.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write_list(
    codes: impl Iterator<Item = &'static Code>,
    screen: Screen,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let paint = Paint(screen);
    let codes: Vec<&Code> = codes.collect();
    let longest = |text: fn(&Code) -> &str| {
        let lengths = codes.iter().map(|code| text(code).len());
        lengths.max().unwrap_or_default()
    };
    let id_width = longest(|code| code.id);
    let effect_width = longest(|code| code.effect.as_str());
    let mut family = "";
    for code in &codes {
        if code.family() != family {
            if !family.is_empty() {
                writeln!(out)?;
            }
            family = code.family();
            writeln!(out, "{}", paint.bold(family))?;
        }
        let severity = format!("{:7}", code.severity.as_str());
        writeln!(
            out,
            "  {:id_width$}  {}  {:effect_width$}  {}",
            code.id,
            paint.styled(style(code.severity), &severity),
            effect(code.effect),
            code.summary
        )?;
    }
    Ok(())
}

/// Writes everything about one code.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write_code(
    code: &Code,
    mends: Mends<'_>,
    screen: Screen,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let paint = Paint(screen);
    let head = format!("{}[{}]", code.severity.as_str(), code.id);
    writeln!(
        out,
        "{}: {}",
        paint.styled(style(code.severity), &head),
        paint.bold(code.summary)
    )?;
    let label = |text: &str| paint.styled(Style::Label, text);
    writeln!(out, "  {} {}", label("effect:"), code.effect.sentence())?;
    writeln!(out, "    {} {}", label("rule:"), facts::rule(code))?;
    for mend in mends(code) {
        for (number, line) in wrap(&mend, screen.width.saturating_sub(10)).enumerate() {
            match number {
                0 => writeln!(out, "     {} {line}", label("fix:"))?,
                _ => writeln!(out, "          {line}")?,
            }
        }
    }
    writeln!(out, "\n{}", facts::explanation(code))
}

/// Writes codes as one JSON document.
///
/// # Errors
///
/// Fails only if `out` does.
pub fn write_json(
    codes: impl Iterator<Item = &'static Code>,
    mends: Mends<'_>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let document = Document {
        schema_version: 1,
        codes: codes.map(|code| Entry::of(code, mends)).collect(),
    };
    escape::write_json(out, &document, true)
}

#[derive(Serialize)]
struct Document {
    schema_version: u32,
    codes: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    code: &'static str,
    severity: &'static str,
    effect: &'static str,
    spec: &'static str,
    requirement: Option<&'static str>,
    summary: &'static str,
    mends: Vec<String>,
    explanation: String,
}

impl Entry {
    fn of(code: &'static Code, mends: Mends<'_>) -> Self {
        Self {
            code: code.id,
            severity: code.severity.as_str(),
            effect: code.effect.as_str(),
            spec: code.spec,
            requirement: code.requirement,
            summary: code.summary,
            mends: mends(code),
            explanation: facts::explanation(code),
        }
    }
}

fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Error,
        Severity::Warning => Style::Warning,
        Severity::Info => Style::Info,
    }
}

/// In a table, no effect is no word.
fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "",
        other => other.as_str(),
    }
}
