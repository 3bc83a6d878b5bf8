//! `apkit fix`.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use serde::Serialize;

use apkit::diagnostic::{Diagnostic, Severity};
use apkit::edit::FileChange;
use apkit::edit::fix::{self, Mended, Options, Plan};
use apkit::edit::fixes::Operation;
use apkit::package::Report;
use apkit::render::{self, text, visible};

use super::args::{Fix, TextOrJson, When};
use super::exit::Exit;
use super::failure::{self, Failure, slashed};
use super::target::Target;
use super::{output, screen, validate};

pub(crate) fn run(arguments: &Fix, color: When) -> Result<Exit, Failure> {
    let mut exit = Exit::Clean;
    let mut tell = |failure: Failure| {
        failure.tell();
        exit = Exit::Failed;
    };
    let mut beside = validate::Beside::default();
    let targets = if arguments.recursive {
        validate::search(&arguments.paths, &[], &mut beside, None, &mut tell)?
    } else {
        let mut targets = Vec::new();
        for path in &arguments.paths {
            match Target::of(path) {
                Ok(target) => targets.push(target),
                Err(failure) => tell(failure),
            }
        }
        targets
    };
    let options = Options {
        risky: arguments.risky,
        namespace: arguments.namespace.as_deref(),
        drafts: arguments.draft.applies(),
    };
    let mut outcomes = Vec::new();
    for target in targets {
        let (root, display) = (&target.root, target.display.as_str());
        let plan = match arguments.dry_run {
            true => fix::plan(root, display, &options).map_err(fix::Error::from),
            false => fix::mend(root, display, &options),
        };
        match plan {
            // A search meets manifests that are plainly another tool's.
            Ok(plan)
                if arguments.recursive && validate::foreign_manifest(&plan.package).is_some() => {}
            Ok(plan) => outcomes.push(Outcome { target, plan }),
            Err(error) => tell(Failure::Fix {
                path: target.root,
                error,
            }),
        }
    }
    if outcomes.is_empty() {
        if exit == Exit::Failed {
            return Ok(exit);
        }
        return Err(Failure::NoPackage {
            paths: arguments.paths.clone(),
            instead: Vec::new(),
            skills: 0,
        });
    }
    match (arguments.format, arguments.dry_run) {
        (TextOrJson::Json, _) => write_json(&outcomes, arguments.dry_run)?,
        (TextOrJson::Text, true) => write_diff(&outcomes)?,
        (TextOrJson::Text, false) => write_text(&outcomes, color)?,
    }
    let findings = outcomes.iter().any(|outcome| match arguments.dry_run {
        true => outcome.changes() > 0,
        false => outcome.is_broken(),
    });
    if findings {
        exit = exit.max(Exit::Findings);
    }
    Ok(exit)
}

/// What was, or would be, done to one package.
struct Outcome {
    target: Target,
    plan: Plan,
}

impl Outcome {
    /// How many findings end.
    fn changes(&self) -> usize {
        self.plan.mended.len() + self.plan.operations.len()
    }

    fn mended(&self) -> impl Iterator<Item = &Mended> {
        let operations = self.plan.operations.iter().map(|(_, mended)| mended);
        self.plan.mended.iter().chain(operations)
    }

    fn is_broken(&self) -> bool {
        let mut left = self.plan.package.diagnostics.iter();
        left.any(|finding| finding.severity() == Severity::Error)
    }

    /// A path of the package as one from where the program runs.
    fn shown(&self, path: &str) -> String {
        match self.target.display.trim_end_matches('/') {
            "" | "." => path.to_owned(),
            root => format!("{root}/{path}"),
        }
    }

    /// The same for a physical path.
    fn shown_physical(&self, path: &Path) -> String {
        let root = self.target.root.canonicalize().ok();
        let relative = root.and_then(|root| path.strip_prefix(root).ok().map(Path::to_owned));
        match relative {
            Some(relative) => self.shown(&slashed(&relative)),
            None => slashed(path),
        }
    }

    /// The change of each file, and what happens to files beside that, as `git
    /// apply` reads them.
    fn diff(&self) -> String {
        let mut diff = String::new();
        for file in &self.plan.files {
            let named = FileChange {
                display: self.shown(&file.display),
                ..file.clone()
            };
            diff.push_str(&named.diff());
        }
        for (operation, _) in &self.plan.operations {
            let lines = match operation {
                Operation::Rename { from, to } => {
                    let is_directory = from.is_dir();
                    let (from, to) = (self.shown_physical(from), self.shown_physical(to));
                    if is_directory {
                        // A diff knows files only; readers of one skip this line.
                        diff.push_str(&format!("rename directory {from} to {to}\n"));
                        continue;
                    }
                    format!(
                        "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"
                    )
                }
                Operation::MakeExecutable(path) => {
                    let path = self.shown_physical(path);
                    format!("diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n")
                }
            };
            diff.push_str(&lines);
        }
        diff
    }

    /// Why fixes that there are were not made.
    fn reasons(&self) -> impl Iterator<Item = (&Diagnostic, &str)> {
        self.plan.reasons.iter().filter_map(|(index, reason)| {
            let finding = self.plan.package.diagnostics.get(*index)?;
            Some((finding, reason.as_str()))
        })
    }

    fn place(&self, finding: &Diagnostic) -> String {
        let path = self.shown(&finding.path);
        match finding.location {
            Some(place) => format!("{path}:{}:{}", place.line, place.column),
            None => path,
        }
    }
}

fn findings(count: usize) -> String {
    match count {
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    }
}

/// The diff on standard output, what there is to say about it beside it.
fn write_diff(outcomes: &[Outcome]) -> Result<(), Failure> {
    let for_people = io::stdout().is_terminal();
    output::to_stdout(|out| {
        for outcome in outcomes {
            let diff = outcome.diff();
            if for_people {
                for line in diff.lines() {
                    writeln!(out, "{}", visible(line))?;
                }
            } else {
                out.write_all(diff.as_bytes())?;
            }
        }
        Ok(())
    })?;
    for outcome in outcomes {
        for (finding, reason) in outcome.reasons() {
            failure::note(&format!(
                "{}: {} is left: {}",
                visible(&outcome.place(finding)),
                finding.code.id,
                visible(reason)
            ));
        }
    }
    let changes = outcomes.iter().map(Outcome::changes).sum();
    let left = outcomes
        .iter()
        .map(|outcome| outcome.plan.package.diagnostics.len())
        .sum();
    failure::say(&format!(
        "{} would be mended, {} left; nothing was written",
        findings(changes),
        findings(left)
    ));
    Ok(())
}

fn write_text(outcomes: &[Outcome], color: When) -> Result<(), Failure> {
    output::to_stdout(|out| {
        for outcome in outcomes {
            for mended in outcome.mended() {
                writeln!(
                    out,
                    "mended {} [{}] {}",
                    visible(&outcome.place(&mended.finding)),
                    mended.finding.code.id,
                    visible(&mended.finding.message)
                )?;
            }
            for (operation, _) in &outcome.plan.operations {
                match operation {
                    Operation::Rename { from, to } => writeln!(
                        out,
                        "renamed {} to {}",
                        visible(&outcome.shown_physical(from)),
                        visible(&outcome.shown_physical(to))
                    )?,
                    Operation::MakeExecutable(path) => writeln!(
                        out,
                        "made {} executable",
                        visible(&outcome.shown_physical(path))
                    )?,
                }
            }
        }
        let changes: usize = outcomes.iter().map(Outcome::changes).sum();
        match changes {
            0 => writeln!(out, "nothing can be fixed automatically")?,
            changes => writeln!(out, "{} mended", findings(changes))?,
        }
        writeln!(out)?;
        let report = Report {
            packages: outcomes
                .iter()
                .map(|outcome| outcome.plan.package.clone())
                .collect(),
        };
        let options = text::Options {
            screen: screen::of(color, false),
            quiet: None,
        };
        text::write(&report, &options, out)?;
        for outcome in outcomes {
            for (finding, reason) in outcome.reasons() {
                writeln!(
                    out,
                    "left {} [{}] {}",
                    visible(&outcome.place(finding)),
                    finding.code.id,
                    visible(reason)
                )?;
            }
        }
        Ok(())
    })
}

fn write_json(outcomes: &[Outcome], dry_run: bool) -> Result<(), Failure> {
    let document = Document {
        schema_version: 1,
        dry_run,
        packages: outcomes.iter().map(Entry::of).collect(),
    };
    output::to_stdout(|out| render::write_json(out, &document, true))
}

#[derive(Serialize)]
struct Document<'o> {
    schema_version: u32,
    dry_run: bool,
    packages: Vec<Entry<'o>>,
}

#[derive(Serialize)]
struct Entry<'o> {
    path: &'o str,
    mended: Vec<Finding<'o>>,
    renamed: Vec<Renamed>,
    made_executable: Vec<String>,
    diff: String,
    left: Vec<Finding<'o>>,
}

#[derive(Serialize)]
struct Renamed {
    from: String,
    to: String,
}

#[derive(Serialize)]
struct Finding<'o> {
    code: &'static str,
    severity: &'static str,
    path: &'o str,
    line: Option<usize>,
    message: &'o str,
    /// What the fix does, or why none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'o str>,
}

impl<'o> Finding<'o> {
    fn of(finding: &'o Diagnostic) -> Self {
        Self {
            code: finding.code.id,
            severity: finding.severity().as_str(),
            path: &finding.path,
            line: finding.location.map(|place| place.line),
            message: &finding.message,
            fix: None,
            reason: None,
        }
    }
}

impl<'o> Entry<'o> {
    fn of(outcome: &'o Outcome) -> Self {
        let plan = &outcome.plan;
        let mut renamed = Vec::new();
        let mut made_executable = Vec::new();
        for (operation, _) in &plan.operations {
            match operation {
                Operation::Rename { from, to } => renamed.push(Renamed {
                    from: outcome.shown_physical(from),
                    to: outcome.shown_physical(to),
                }),
                Operation::MakeExecutable(path) => {
                    made_executable.push(outcome.shown_physical(path));
                }
            }
        }
        let left = plan.package.diagnostics.iter().enumerate();
        Self {
            path: &plan.package.path,
            mended: outcome
                .mended()
                .map(|mended| Finding {
                    fix: Some(mended.does),
                    ..Finding::of(&mended.finding)
                })
                .collect(),
            renamed,
            made_executable,
            diff: outcome.diff(),
            left: left
                .map(|(index, finding)| Finding {
                    reason: plan.reasons.get(&index).map(String::as_str),
                    ..Finding::of(finding)
                })
                .collect(),
        }
    }
}
