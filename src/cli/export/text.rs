//! The report of an export for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use apkit::export::report::Report;
use apkit::export::{Loss, Output, Weight};
use apkit::render::visible;

/// What the report does not say by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    /// Nothing was written because of the losses.
    pub(super) denied: bool,
    /// Nothing is to be written: show the files.
    pub(super) dry_run: bool,
    /// It is a marketplace.
    pub(super) marketplace: bool,
}

pub(super) fn write(report: &Report<'_>, outcome: Outcome, to: &mut dyn Write) -> io::Result<()> {
    let plan = report.plan;
    let what = if outcome.marketplace {
        "the marketplace of "
    } else {
        ""
    };
    let version = plan
        .version
        .as_ref()
        .map(|version| format!(" {version}"))
        .unwrap_or_default();
    let name = format!("{what}{}{version}", plan.name);
    let out = report.out.unwrap_or("a directory");
    let (name, out) = (visible(&name), visible(out));
    let result = if outcome.dry_run {
        format!("Would write {name} to {out}")
    } else if outcome.denied {
        format!("Wrote nothing of {name}, since something would be lost")
    } else if report.written {
        format!("Wrote {name} to {out}")
    } else {
        String::new()
    };
    match (outcome.dry_run, result.is_empty()) {
        (true, _) => {
            writeln!(to, "{result}:")?;
            tree(report.outputs(), to)?;
        }
        (false, false) => writeln!(to, "{result}.")?,
        (false, true) => {}
    }
    let gone = match outcome.dry_run {
        true => "Would delete",
        false => "Deleted",
    };
    list(gone, report.deleted, to)?;
    for (weight, title) in [
        (Weight::Component, "Not carried over"),
        (Weight::Detail, "Carried over in part"),
    ] {
        let losses: Vec<&Loss> = plan
            .losses
            .iter()
            .filter(|loss| loss.kind.weight() == weight)
            .collect();
        if losses.is_empty() {
            continue;
        }
        writeln!(to, "\n{title} ({}):", losses.len())?;
        for loss in losses {
            write_loss(loss, to)?;
        }
    }
    list("Changed", &plan.notes, to)?;
    let kept: Vec<String> = report
        .accepted
        .iter()
        .filter(|accepted| !accepted.announced)
        .map(|accepted| format!("{}: {}: {}", accepted.path, accepted.code, accepted.message))
        .collect();
    list("Findings let pass", &kept, to)?;
    let lost = |weight| {
        let losses = plan.losses.iter();
        losses.filter(|loss| loss.kind.weight() == weight).count()
    };
    let counts: Vec<String> = [
        (lost(Weight::Component), "not carried over"),
        (lost(Weight::Detail), "carried over in part"),
        (plan.notes.len(), "changed"),
        (kept.len(), "let pass"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    // Behind a long report, its first line is out of sight.
    if !counts.is_empty() && !result.is_empty() {
        writeln!(to, "\n{result}: {}", counts.join(", "))?;
    }
    Ok(())
}

fn list(title: &str, lines: &[String], to: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(to, "\n{title} ({}):", lines.len())?;
    for line in lines {
        writeln!(to, "  {}", visible(line))?;
    }
    Ok(())
}

fn write_loss(loss: &Loss, to: &mut dyn Write) -> io::Result<()> {
    let mut place = loss.path.clone();
    if let Some(line) = loss.line {
        place.push_str(&format!(":{line}"));
    }
    writeln!(to, "  {} [{}]", visible(&loss.what), loss.kind.id())?;
    writeln!(to, "    at:     {}", visible(&place))?;
    writeln!(to, "    why:    {}", visible(&loss.why))?;
    writeln!(to, "    effect: {}", loss.kind.effect())?;
    if let Some(help) = &loss.help {
        writeln!(to, "    help:   {}", visible(help))?;
    }
    Ok(())
}

/// A directory while the tree is drawn.
#[derive(Default)]
struct Directory<'p> {
    directories: BTreeMap<&'p str, Self>,
    files: BTreeMap<&'p str, &'p Output>,
}

fn tree<'p>(outputs: impl Iterator<Item = &'p Output>, to: &mut dyn Write) -> io::Result<()> {
    let mut root = Directory::default();
    for output in outputs {
        let mut at = &mut root;
        let mut parts = output.path.split('/').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                at.files.insert(part, output);
            } else {
                at = at.directories.entry(part).or_default();
            }
        }
    }
    draw(&root, "", to)
}

fn draw(directory: &Directory<'_>, indent: &str, to: &mut dyn Write) -> io::Result<()> {
    let mut left = directory.directories.len() + directory.files.len();
    let mut branch = || {
        left = left.saturating_sub(1);
        if left == 0 {
            ("└── ", "    ")
        } else {
            ("├── ", "│   ")
        }
    };
    for (name, inner) in &directory.directories {
        let (branch, further) = branch();
        writeln!(to, "{indent}{branch}{}/", visible(name))?;
        draw(inner, &format!("{indent}{further}"), to)?;
    }
    for (name, file) in &directory.files {
        let (branch, _) = branch();
        let star = if file.executable { "*" } else { "" };
        writeln!(
            to,
            "{indent}{branch}{}{star}  {} bytes",
            visible(name),
            file.bytes.len()
        )?;
    }
    Ok(())
}
