//! `apkit export`: what it writes, what it leaves alone.

use std::fs;
use std::path::Path;

use apkit::export::{self, Output, Plan, everos};
use serde_json::Value;

use crate::support::{Place, Run, manifest};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn export(place: &Place, arguments: &[&str]) -> Run {
    place.run(["export", everos::SOURCE].iter().chain(arguments))
}

/// An export that must succeed, of a small program that is no copy of this one.
fn exported(place: &Place, out: &str, arguments: &[&str]) -> Run {
    place.write("small-program", "#!/bin/sh\nexit 0\n");
    let run = export(
        place,
        &[&["--bin", "small-program", "--out", out], arguments].concat(),
    );
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    run
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    serde_json::from_str(&text).expect("valid JSON")
}

/// Paths and contents of all files below a directory.
fn tree(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap();
                found.push((name.replace('\\', "/"), fs::read(&path).expect("a file")));
            }
        }
    }
    found.sort();
    found
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_package_passes_and_holds_this_program() {
    let place = Place::new();
    let run = export(&place, &["--out", "some where/everos"]);
    assert_eq!(
        (run.status, run.stdout.as_str(), run.stderr.as_str()),
        (
            Some(0),
            format!("Wrote everos {VERSION} to some where/everos.\n").as_str(),
            ""
        )
    );
    let judged = place.run([
        "validate",
        "--strict",
        "--require-components",
        "--format",
        "json",
        "some where/everos",
    ]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    let report: Value = serde_json::from_str(&judged.stdout).unwrap();
    assert_eq!(report["packages"][0]["diagnostics"], serde_json::json!([]));
    let skills = &report["packages"][0]["skills"]["loaded"];
    let loaded: Vec<_> = skills
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| &skill["name"])
        .collect();
    assert_eq!(loaded, ["search", "status"]);

    let root = place.path().join("some where/everos");
    let program = format!("bin/apkit{}", std::env::consts::EXE_SUFFIX);
    assert!(
        fs::read(root.join(&program)).unwrap() == fs::read(env!("CARGO_BIN_EXE_apkit")).unwrap()
    );
    let files: Vec<String> = tree(&root).into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        files,
        [
            ".claude-plugin/plugin.json",
            "LICENSE",
            "README.md",
            "README_zh.md",
            "apkit-export.sha256",
            program.as_str(),
            "com.anthropic.claude-code/hooks/hooks.json",
            "plugin.json",
            "skills/search/SKILL.md",
            "skills/status/SKILL.md",
        ]
    );
    assert_eq!(names(&place.path().join("some where")), ["everos"]);
}

#[test]
fn every_manifest_has_the_version_of_the_program() {
    let place = Place::new();
    exported(&place, "m", &["--marketplace"]);
    let root = place.path().join("m");
    let marketplace = json(&root.join(".claude-plugin/marketplace.json"));
    let entry = &marketplace["plugins"][0];
    let portable = json(&root.join("everos/plugin.json"));
    let native = json(&root.join("everos/.claude-plugin/plugin.json"));
    for manifest in [entry, &portable, &native] {
        assert_eq!(
            (&manifest["version"], &manifest["name"]),
            (&VERSION.into(), &everos::NAME.into())
        );
    }
    assert_eq!(marketplace["name"], everos::NAME);
    assert_eq!(entry["source"], "./everos");
    assert!(marketplace["owner"]["name"].is_string());
    // The client reads the hooks through a path of the manifest.
    let hooks = native["hooks"].as_str().unwrap();
    assert!(
        root.join("everos")
            .join(hooks.strip_prefix("./").unwrap())
            .is_file()
    );
    for (option, kind) in [("base_url", "string"), ("everos_dir", "directory")] {
        let option = &native["userConfig"][option];
        assert_eq!(option["type"], kind);
        assert!(option["title"].is_string() && option["description"].is_string());
    }
    for (name, bytes) in tree(&root) {
        assert!(
            !String::from_utf8_lossy(&bytes).contains("@VERSION@"),
            "{name}"
        );
    }
    // Every source of the package is part of it.
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("package");
    for (name, _) in tree(&sources) {
        let there = match name.strip_prefix("marketplace/") {
            Some(name) => root.join(".claude-plugin").join(name),
            None => root.join("everos").join(&name),
        };
        assert!(there.is_file(), "{name}");
    }
}

#[test]
fn the_hooks_are_those_of_the_program() {
    let place = Place::new();
    exported(&place, "everos", &[]);
    let hooks = json(
        &place
            .path()
            .join("everos/com.anthropic.claude-code/hooks/hooks.json"),
    );
    let mut called = Vec::new();
    for (event, groups) in hooks["hooks"].as_object().unwrap() {
        let hook = &groups[0]["hooks"][0];
        assert_eq!(hook["type"], "command");
        assert_eq!(hook["command"], "${CLAUDE_PLUGIN_ROOT}/bin/apkit");
        assert_eq!(hook["args"][0], "hook");
        let name = hook["args"][1].as_str().unwrap();
        assert_eq!(name.replace('-', ""), event.to_lowercase());
        called.push((name.to_owned(), hook["timeout"].as_u64().unwrap()));
    }
    called.sort();
    let expected = [
        ("pre-compact", 30),
        ("session-end", 30),
        ("session-start", 15),
        ("stop", 30),
        ("user-prompt-submit", 10),
    ];
    assert_eq!(
        called,
        expected.map(|(name, limit)| (name.to_owned(), limit))
    );
    let mut known = apkit::host::claude_code::Hook::ALL.map(|(name, _)| name);
    known.sort();
    assert_eq!(known, expected.map(|(name, _)| name));
}

#[test]
#[cfg(unix)]
fn hooks_and_skills_run_from_any_place() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let place = Place::new();
    let root = place.path().join("it's a \"place\" & $HOME");
    let out = root.to_str().unwrap();
    // Written by another process: a file that this one wrote could not be run
    // while any of its children still held it open.
    assert_eq!(export(&place, &["--out", out]).status, Some(0));
    let hooks = json(&root.join("com.anthropic.claude-code/hooks/hooks.json"));
    let data = place.path().join("data");
    for (event, groups) in hooks["hooks"].as_object().unwrap() {
        let hook = &groups[0]["hooks"][0];
        // As the client does it: its names are filled in, and no shell is asked.
        let filled = |value: &Value| {
            value
                .as_str()
                .unwrap()
                .replace("${CLAUDE_PLUGIN_ROOT}", out)
        };
        let mut child = Command::new(filled(&hook["command"]))
            .args(hook["args"].as_array().unwrap().iter().map(filled))
            .env_clear()
            .env("CLAUDE_PLUGIN_DATA", &data)
            .env("EVEROS_CC_DEBUG", "1")
            .env("EVEROS_CC_START_CMD", "false")
            .env("EVEROS_CC_BASE_URL", "http://127.0.0.1:1")
            .env("USER", "dev")
            .current_dir(place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{event}: {error}"));
        let payload = format!(
            "{{\"session_id\": \"s-{event}\", \"hook_event_name\": \"{event}\", \"cwd\": {:?}}}\n",
            place.path()
        );
        child
            .stdin
            .take()
            .unwrap()
            .write_all(payload.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{event}: {output:?}"
        );
        let answer = String::from_utf8(output.stdout).unwrap();
        assert!(answer.is_empty() || serde_json::from_str::<Value>(&answer).is_ok());
    }
    // Each was the hook it should be, and did its work.
    let log = fs::read_to_string(data.join("debug.log")).unwrap();
    for stage in [
        "session-start",
        "recall",
        "capture",
        "session-end",
        "pre-compact",
    ] {
        let done = |line: &str| line.contains(stage) && line.ends_with("done");
        assert_eq!(
            log.lines().filter(|line| done(line)).count(),
            1,
            "{stage}: {log}"
        );
    }
    for (skill, wanted) in [
        ("status", "EverOS"),
        ("search", "failed to search EverOS at"),
    ] {
        let text = fs::read_to_string(root.join(format!("skills/{skill}/SKILL.md"))).unwrap();
        let (_, rest) = text.split_once("```sh\n").expect("a command");
        let (command, more) = rest.split_once("\n```").unwrap();
        assert!(!more.contains("```"), "one command");
        // The model fills in the directory, quoted for a double-quoted word.
        let directory = format!("{out}/skills/{skill}")
            .replace('"', "\\\"")
            .replace('$', "\\$");
        let command = command.replace("SKILL_DIRECTORY", &directory);
        let output = Command::new("sh")
            .args(["-c", &command])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("EVEROS_CC_DATA_DIR", &data)
            .env("EVEROS_CC_BASE_URL", "http://127.0.0.1:1")
            .current_dir(place.path())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains(wanted) && said.contains("127.0.0.1:1"),
            "{command}: {said}"
        );
    }
}

#[test]
#[cfg(unix)]
fn modes_do_not_depend_on_the_mask() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let program = place.write("small-program", "#!/bin/sh\necho ran\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o600)).unwrap();
    let command = format!(
        "umask 077; exec {:?} export builtin:everos --bin small-program --out out",
        env!("CARGO_BIN_EXE_apkit")
    );
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &command]).current_dir(place.path());
    assert_eq!(crate::support::finish(&mut shell).status, Some(0));
    let root = place.path().join("out");
    for (name, _) in tree(&root) {
        let mode = fs::metadata(root.join(&name)).unwrap().permissions().mode() & 0o777;
        let wanted = if name == "bin/apkit" { 0o755 } else { 0o644 };
        assert_eq!(mode, wanted, "{name}: {mode:o}");
    }
    let run = crate::support::finish(&mut std::process::Command::new(root.join("bin/apkit")));
    assert_eq!(run.stdout, "ran\n");
}

#[test]
fn an_unchanged_export_is_replaced_and_nothing_else() {
    let place = Place::new();
    let root = place.path().join("out");
    exported(&place, "out", &[]);
    let first = tree(&root);
    // Its own earlier work, also of another shape.
    exported(&place, "out", &["--marketplace"]);
    assert!(root.join("everos/plugin.json").is_file() && !root.join("plugin.json").exists());
    exported(&place, "out", &[]);
    assert_eq!(tree(&root), first);
    // An empty directory.
    fs::create_dir(place.path().join("empty")).unwrap();
    exported(&place, "empty", &[]);
    assert_eq!(tree(&place.path().join("empty")), first);

    let refused = |what: &str| {
        let before = tree(&root);
        let files = before.len() + usize::from(root.join("kept").exists());
        let run = export(&place, &["--bin", "small-program", "--out", "out"]);
        assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""), "{run:?}");
        let said = run
            .stderr
            .strip_prefix("error: failed to export to out: the target exists, and ");
        let (reason, hint) = said
            .and_then(|said| said.split_once('\n'))
            .unwrap_or_else(|| panic!("{run:?}"));
        assert_eq!(
            (reason, hint),
            (
                what,
                format!(
                    "hint: --force deletes the {files} files in it first; with --dry-run it lists them\n"
                )
                .as_str()
            )
        );
        assert_eq!(tree(&root), before);
    };
    place.write("out/README.md", "mine");
    refused("it was changed since it was exported");
    exported(&place, "out", &["--force"]);
    place.write("out/notes/mine.md", "mine");
    refused("it holds files that the export did not write");
    exported(&place, "out", &["--force"]);
    fs::create_dir(root.join("kept")).unwrap();
    refused("it holds files that the export did not write");
    exported(&place, "out", &["--force"]);
    fs::remove_file(root.join("LICENSE")).unwrap();
    refused("it was changed since it was exported");
    exported(&place, "out", &["--force"]);
    fs::remove_file(root.join("apkit-export.sha256")).unwrap();
    refused("no export has written it");
    exported(&place, "out", &["--force"]);
    place.write("out/apkit-export.sha256", "something\n");
    refused("its list of files is not one of an export");
    exported(&place, "out", &["--force"]);
    assert_eq!(tree(&root), first);

    place.write("file", "mine");
    let run = export(&place, &["--bin", "small-program", "--out", "file"]);
    assert!(run.stderr.contains("it is no directory"), "{run:?}");
    assert_eq!(place.read("file"), "mine");
    exported(&place, "file", &["--force"]);
    assert_eq!(tree(&place.path().join("file")), first);
    // Nothing is left lying about.
    assert_eq!(
        names(place.path()),
        ["empty", "file", "out", "small-program"]
    );
}

#[test]
#[cfg(unix)]
fn a_link_stays() {
    let place = Place::new();
    fs::create_dir(place.path().join("there")).unwrap();
    std::os::unix::fs::symlink("there", place.path().join("link")).unwrap();
    exported(&place, "link", &[]);
    assert!(place.path().join("link").is_symlink());
    assert!(place.path().join("there/plugin.json").is_file());
}

#[test]
fn what_would_not_pass_is_not_written() {
    let place = Place::new();
    let target = place.path().join("out");
    let skill = "---\nname: tides\ndescription: Tells the tides. Use it for them.\n---\n\nRead [more](../x.md).\n";
    let mut plan = Plan {
        outputs: vec![
            Output::text("p/plugin.json", manifest("good-one", "")),
            Output::text("p/skills/tides/SKILL.md", skill),
        ],
        packages: vec!["p".to_owned()],
        ..Plan::default()
    };
    let options = export::Options {
        force: true,
        ..export::Options::default()
    };
    fs::create_dir(&target).unwrap();
    fs::write(target.join("mine"), "mine").unwrap();
    let error = export::apply(&plan, &target, options)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("skill::link-leaves-skill") && error.contains("skills/tides/SKILL.md"),
        "{error}"
    );
    plan.outputs.truncate(1);
    plan.outputs.push(Output::text("../above", "x"));
    for path in ["../above", "/above", "p/../../above", ""] {
        plan.outputs[1].path = path.to_owned();
        let error = export::apply(&plan, &target, options)
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("is no path below the target"), "{error}");
    }
    assert_eq!(
        tree(place.path()),
        [("out/mine".to_owned(), b"mine".to_vec())]
    );
    assert_eq!(names(place.path()), ["out"]);
}

#[test]
fn wrong_use_is_told() {
    let place = Place::new();
    let run = place.run(["export", "plugins/acme", "--out", "out"]);
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("no such file"), "{run:?}");
    for (bin, wanted) in [
        ("none", "no such file"),
        ("empty", "it is empty"),
        (".", "directory"),
    ] {
        place.write("empty", "");
        let run = export(&place, &["--bin", bin, "--out", "out"]);
        assert_eq!(run.status, Some(2));
        assert!(
            run.stderr.starts_with("error: failed to read the program"),
            "{run:?}"
        );
        assert!(cfg!(windows) || run.stderr.contains(wanted), "{run:?}");
    }
    let run = export(&place, &["--out", "/"]);
    assert_eq!(run.status, Some(2), "{run:?}");
    assert_eq!(names(place.path()), ["empty"]);
}
