//! Whole packages: never a panic, never a failure of the run, and every promise
//! of the report kept, in every format.
//!
//! An input is a list of files, separated by NUL bytes: a line with the path,
//! then the content. A line `path -> target` is a link, a path that ends with
//! `/` a directory. `plugin.json` is a good one unless the input has its own.
#![no_main]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use apkit::diagnostic::{Diagnostic, Effect, LineIndex, Severity, Span, Threshold};
use apkit::package::{self, McpState, Package, Report, SkillsState, Verdict};
use apkit::render;

const MANIFEST: &str =
    include_str!("../../conformance-fixtures/manifest/minimal/package/plugin.json");

/// In memory if the machine has such a place. The package lies far enough below
/// that no link of an input leads out of it.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    base.join(format!("apkit-fuzz-{}", std::process::id()))
        .join("a/b/c")
});

/// The most `..` that all links of an input may hold.
const MOST_PARENTS: usize = 3;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let root = PLACE.join("demo");
    let _gone = fs::remove_dir_all(&*PLACE);
    if fs::create_dir_all(&root).is_err() {
        return;
    }
    write(&root, input);
    let options = package::Options {
        keep_sources: true,
        ..package::Options::default()
    };
    let loaded = package::load(&root, "demo", &options).expect("the root can be listed");
    let again = package::load(&root, "demo", &options).expect("the root can be listed");
    assert_eq!(loaded.diagnostics, again.diagnostics);
    check(&root, &loaded);
    show(loaded);
});

fn write(root: &Path, input: &[u8]) {
    let mut parents = 0;
    let manifest = [b"plugin.json\n", MANIFEST.as_bytes()].concat();
    let mut entries = input.split(|&byte| byte == 0);
    let own = entries.any(|entry| entry.starts_with(b"plugin.json"));
    let default = (!own).then_some(manifest.as_slice());
    for entry in input.split(|&byte| byte == 0).chain(default).take(64) {
        let (line, content) = match entry.iter().position(|&byte| byte == b'\n') {
            Some(end) => (&entry[..end], &entry[end + 1..]),
            None => (entry, &entry[..0]),
        };
        let Ok(line) = str::from_utf8(line) else {
            continue;
        };
        let (path, target) = match line.split_once(" -> ") {
            Some((path, target)) => (path, Some(target)),
            None => (line, None),
        };
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let bad = |part: &&str| *part == "." || *part == ".." || part.len() > 100;
        if parts.is_empty() || parts.len() > 5 || parts.iter().any(bad) {
            continue;
        }
        let path = parts
            .iter()
            .fold(root.to_owned(), |path, part| path.join(part));
        // Writing through a link could leave the package.
        let through_link = path.ancestors().skip(1).take_while(|above| *above != root);
        if through_link.into_iter().any(Path::is_symlink) || path.is_symlink() {
            continue;
        }
        // Whatever does not work is not part of the package.
        let _done = path.parent().map(fs::create_dir_all);
        if let Some(target) = target {
            parents += target.split('/').filter(|part| *part == "..").count();
            if !target.starts_with('/') && parents <= MOST_PARENTS {
                let _done = std::os::unix::fs::symlink(target, &path);
            }
        } else if line.ends_with('/') {
            let _done = fs::create_dir_all(&path);
        } else {
            let _done = fs::write(&path, content);
        }
    }
}

fn check(root: &Path, package: &Package) {
    let with = |effect: Effect| {
        package
            .diagnostics
            .iter()
            .filter(move |found| found.effect() == effect)
    };
    let any = |effect: Effect| with(effect).next().is_some();

    assert_eq!(
        any(Effect::PackageRejected),
        package.verdict == Verdict::Rejected
    );
    assert_eq!(
        any(Effect::SkillsInvalid),
        package.skills.state == SkillsState::Invalid
    );
    assert_eq!(
        any(Effect::McpDisabled),
        package.mcp.state == McpState::Disabled
    );
    if package.verdict == Verdict::Rejected {
        assert_eq!(package.skills.state, SkillsState::Absent);
        assert_eq!(package.mcp.state, McpState::Absent);
    }
    if package.skills.state != SkillsState::Loaded {
        assert!(package.skills.loaded.is_empty() && package.skills.skipped.is_empty());
    }
    if package.mcp.state != McpState::Enabled {
        assert!(package.mcp.loaded.is_empty() && package.mcp.skipped.is_empty());
    }

    let skills: Vec<&str> = package
        .skills
        .loaded
        .iter()
        .map(|skill| &*skill.path)
        .chain(package.skills.skipped.iter().map(|skill| &*skill.path))
        .collect();
    assert_eq!(skills.iter().collect::<BTreeSet<_>>().len(), skills.len());
    let servers: Vec<&str> = package
        .mcp
        .loaded
        .iter()
        .map(|server| &*server.name)
        .chain(package.mcp.skipped.iter().map(|name| &**name))
        .collect();
    // Names with lone surrogates are shown alike.
    let told = |name: &&&str| !name.contains('\u{FFFD}');
    let names: Vec<_> = servers.iter().filter(told).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());

    // What is skipped is reported, and nothing that loads is.
    for skipped in &package.skills.skipped {
        let about = |found: &Diagnostic| is_below(&found.path, &skipped.path);
        assert!(with(Effect::SkillSkipped).any(about), "{skipped:?}");
    }
    for found in with(Effect::SkillSkipped) {
        let about = |path: &str| is_below(&found.path, path);
        assert!(
            package
                .skills
                .skipped
                .iter()
                .any(|skill| about(&skill.path)),
            "{found:?}"
        );
        assert!(
            !package.skills.loaded.iter().any(|skill| about(&skill.path)),
            "{found:?}"
        );
    }
    assert_eq!(any(Effect::ServerSkipped), !package.mcp.skipped.is_empty());

    for found in &package.diagnostics {
        let changes = found.effect() != Effect::None && found.effect() != Effect::FieldIgnored;
        assert_eq!(found.severity() == Severity::Error, changes, "{found:?}");
        assert!(!found.message.is_empty());
        assert!(!found.path.starts_with('/'), "{found:?}");
        let Some(location) = found.location else {
            continue;
        };
        let bytes = fs::read(root.join(&found.path)).expect("a place is in a file");
        let span = Span::new(location.offset, location.offset + location.length);
        assert!(span.end <= bytes.len(), "{found:?}");
        assert_eq!(LineIndex::new(&bytes).locate(span), location);
        if let Ok(text) = str::from_utf8(&bytes) {
            assert!(text.get(span.start..span.end).is_some(), "{found:?}");
        }
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Writes the report in every format.
fn show(package: Package) {
    let report = Report {
        packages: vec![package],
    };
    let mut out = Vec::new();
    render::json_v1::write(&report, &mut out).expect("memory");
    let _json: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    out.clear();
    render::sarif::write(&report, &mut out).expect("memory");
    let _json: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    out.clear();
    render::load_report::write(&report, &mut out).expect("memory");
    render::junit::write(
        &report,
        &|code| Threshold::default().is_reached_by(code),
        &mut out,
    )
    .expect("memory");
    render::github::write(&report, &mut out).expect("memory");
    let screen = render::Screen {
        color: false,
        unicode: false,
        width: 80,
    };
    let options = render::text::Options {
        screen,
        quiet: None,
    };
    render::text::write(&report, &options, &mut out).expect("memory");
    let shown = String::from_utf8(out).expect("UTF-8");
    let odd = |found: char| found.is_control() && found != '\n';
    assert!(!shown.contains(odd), "{shown:?}");
}
