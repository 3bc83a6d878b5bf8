//! `apkit validate`.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use apkit::diagnostic::{Code, Diagnostic};
use apkit::edit::fix;
use apkit::package::{self, Package, Report, discover};
use apkit::render::{github, json_v1, junit, load_report, sarif, text, visible};
use apkit::spec::codes::manifest;

use super::args::{Format, Validate, When};
use super::exit::Exit;
use super::failure::{self, Failure};
use super::target::{Fetched, Target};
use super::{output, screen};

pub(crate) fn run(arguments: &Validate, color: When) -> Result<Exit, Failure> {
    // What cannot be read is told at once; the others are judged all the same.
    let mut exit = Exit::Clean;
    let mut tell = |failure: Failure| {
        failure.tell();
        exit = Exit::Failed;
    };
    let mut beside = Beside::default();
    let mut fetched = Fetched::default();
    let targets = if arguments.recursive {
        search(
            &arguments.paths,
            &arguments.exclude,
            &mut beside,
            Some(&mut fetched),
            &mut tell,
        )?
    } else {
        let mut targets = Vec::new();
        for path in &arguments.paths {
            match Target::of_source(path, &mut fetched) {
                Ok(target) => targets.push(target),
                Err(failure) => tell(failure),
            }
        }
        targets
    };

    let options = package::Options {
        drafts: arguments.draft.applies(),
        keep_sources: arguments.format == Format::Text,
    };
    let mut report = Report::default();
    let mut roots = Vec::new();
    let mut foreign = Vec::new();
    for (target, loaded) in targets.iter().zip(load_all(&targets, &options)) {
        match loaded {
            Ok(package) => match foreign_manifest(&package) {
                Some(found) if arguments.recursive => foreign.push(format!(
                    "{}/{}: {}",
                    visible(&package.path),
                    visible(&found.path),
                    visible(&found.message)
                )),
                _ => {
                    report.packages.push(package);
                    roots.push(target.root.as_path());
                }
            },
            Err(error) => tell(Failure::Read {
                path: target.root.clone(),
                error,
            }),
        }
    }
    if report.packages.is_empty() {
        // Nothing could be read, and that is told already.
        if exit == Exit::Failed {
            return Ok(exit);
        }
        foreign.extend(beside.native);
        return Err(Failure::NoPackage {
            paths: arguments.paths.clone(),
            instead: foreign,
            skills: beside.skills,
        });
    }
    for manifest in foreign {
        failure::note(&format!("left out {manifest}"));
    }
    beside.tell();
    if !arguments.quiet || arguments.fails_on_left_out() {
        fetched.tell_left_out();
    }
    write(&report, arguments, color)?;
    if arguments.format == Format::Text && arguments.output.is_none() && !arguments.quiet {
        tell_mendable(&report, &roots)?;
    }
    if !arguments.recursive && !arguments.quiet {
        for (package, root) in report.packages.iter().zip(&roots) {
            if let Some(target) = targets.iter().find(|target| target.root == **root) {
                target.tell_below(package);
            }
        }
    }
    // Otherwise a log would not tell one package from a hundred.
    if arguments.output.is_some() || arguments.format == Format::Github {
        failure::say(&text::summary_line(report.summary()));
    }
    let reached = report
        .packages
        .iter()
        .flat_map(|package| &package.diagnostics)
        .any(|found| arguments.fails_on(found.code));
    if reached || (fetched.lacks_something() && arguments.fails_on_left_out()) {
        exit = exit.max(Exit::Findings);
    }
    Ok(exit)
}

/// Says how many of the findings need no thought.
fn tell_mendable(report: &Report, roots: &[&Path]) -> Result<(), Failure> {
    let packages = report.packages.iter().zip(roots);
    let count: usize = packages
        .map(|(package, root)| fix::mendable(root, package))
        .sum();
    if count == 0 {
        return Ok(());
    }
    output::to_stdout(|out| writeln!(out, "{count} of these can be mended with `apkit fix`"))
}

/// What a search met beside packages, described.
#[derive(Default)]
pub(super) struct Beside {
    /// Manifests of single clients.
    native: Vec<String>,
    /// Directories that look like packages without a manifest.
    lacking: Vec<String>,
    /// How many `SKILL.md` there are.
    skills: usize,
}

impl Beside {
    /// Tells what a reader of the report would miss.
    fn tell(&self) {
        const NAMED: usize = 5;
        let [first, ..] = self.lacking.as_slice() else {
            return;
        };
        let named = self
            .lacking
            .get(..NAMED)
            .unwrap_or(&self.lacking)
            .join(", ");
        let more = self.lacking.len().saturating_sub(NAMED);
        let more = if more == 0 {
            String::new()
        } else {
            format!(" and {more} more")
        };
        failure::note(&format!(
            "no package without a plugin.json, though skills or mcp.json are there: {named}{more} \
             (apkit validate {first} says what is missing)"
        ));
    }
}

/// The packages below the given paths, each once; and what other manifests
/// there are, described. Sources are fetched if there is where to keep them.
pub(super) fn search(
    paths: &[PathBuf],
    exclude: &[String],
    beside: &mut Beside,
    mut fetched: Option<&mut Fetched>,
    tell: &mut impl FnMut(Failure),
) -> Result<Vec<Target>, Failure> {
    let mut targets = Vec::new();
    for path in paths {
        let top = match &mut fetched {
            Some(fetched) => Target::of_source(path, fetched),
            None => Target::of(path),
        };
        let top = match top {
            Ok(top) => top,
            Err(failure) => {
                tell(failure);
                continue;
            }
        };
        let found = discover::discover(&top.root, exclude)?;
        for unreadable in found.unreadable {
            tell(Failure::Read {
                path: undotted(&unreadable.path).to_owned(),
                error: unreadable.error,
            });
        }
        beside.skills += found.skill_files;
        let lacking = found.lacking.iter();
        let named = |path: &Path| {
            if top.is_fetched() {
                visible(&top.named(path)).into_owned()
            } else {
                failure::show(undotted(path))
            }
        };
        beside.lacking.extend(lacking.map(|root| named(root)));
        beside.native.extend(
            found
                .native
                .iter()
                .map(|(manifest, client)| format!("{} (for {client})", named(manifest))),
        );
        for root in found.packages {
            targets.push(if top.is_fetched() {
                let display = top.named(&root);
                Target { root, display }
            } else {
                Target::new(undotted(&root).to_owned())
            });
        }
    }
    beside.native.sort_unstable();
    beside.native.dedup();
    beside.lacking.sort_unstable();
    beside.lacking.dedup();
    targets.sort_unstable();
    targets.dedup();
    if paths.len() > 1 {
        // Paths that lead to the same place would give its packages twice.
        let mut seen = HashSet::new();
        targets.retain(|target| {
            let place = target.root.canonicalize();
            seen.insert(place.unwrap_or_else(|_| target.root.clone()))
        });
    }
    Ok(targets)
}

/// `./a` is `a`; the current directory itself stays `.`.
fn undotted(path: &Path) -> &Path {
    match path.strip_prefix(".") {
        Ok(rest) if !rest.as_os_str().is_empty() => rest,
        _ => path,
    }
}

/// Loads all packages, on all processors, and gives them in the order asked for.
fn load_all(targets: &[Target], options: &package::Options) -> Vec<io::Result<Package>> {
    let load = |target: &Target| package::load(&target.root, &target.display, options);
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = processors.min(targets.len());
    // One package is loaded sooner than a thread is started.
    if workers <= 1 {
        return targets.iter().map(load).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut loaded = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(target) = targets.get(index) else {
                return loaded;
            };
            loaded.push((index, load(target)));
        }
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(loaded) => all.extend(loaded),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|&(index, _)| index);
    all.into_iter().map(|(_, loaded)| loaded).collect()
}

/// The finding that says that this is another client's manifest.
pub(super) fn foreign_manifest(package: &Package) -> Option<&Diagnostic> {
    package
        .diagnostics
        .iter()
        .find(|found| *found.code == manifest::FOREIGN_FORMAT)
}

fn write(report: &Report, arguments: &Validate, color: When) -> Result<(), Failure> {
    let to_file = arguments.output.is_some();
    let counts = |code: &Code| arguments.fails_on(code);
    let write = |out: &mut dyn io::Write| match arguments.format {
        Format::Text => {
            let options = text::Options {
                screen: screen::of(color, to_file),
                quiet: arguments.quiet.then_some(&counts),
            };
            text::write(report, &options, out)
        }
        Format::Json => json_v1::write(report, out),
        Format::Github => github::write(report, out),
        Format::Sarif => sarif::write(report, out),
        Format::Junit => junit::write(report, &counts, out),
        Format::LoadReport => load_report::write(report, out),
    };
    match &arguments.output {
        None => output::to_stdout(write),
        Some(path) => {
            spare(report, path)?;
            output::to_file(path, write)
        }
    }
}

/// Refuses to write over a file that a client reads of one of the packages. What
/// else stands in a package may be an earlier report.
fn spare(report: &Report, path: &Path) -> Result<(), Failure> {
    let Ok(target) = output::destination(path) else {
        // Writing tells why.
        return Ok(());
    };
    let read_by_clients = report.packages.iter().any(|package| {
        ["plugin.json", "mcp.json", "skills"].iter().any(|name| {
            fs::canonicalize(Path::new(&package.path).join(name))
                .is_ok_and(|component| target.starts_with(component))
        })
    });
    if read_by_clients {
        return Err(Failure::OverPackage {
            path: path.to_owned(),
        });
    }
    Ok(())
}
