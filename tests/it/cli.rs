//! The program from outside: commands, exit status, formats, files, terminals.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Place, finish, manifest, mcp};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_exit_status_follows_the_threshold() {
    let place = Place::new();
    place.good_package("good");
    place.mixed_package("mixed");
    place.write("warned/plugin.json", manifest("warned", "\"colour\": 1"));
    place.write(
        "warned/skills/tides/SKILL.md",
        "---\nname: tides\ndescription: Tells the tides. Use it for them.\n---\n\nLook.\n",
    );
    place.write("rejected/plugin.json", "{}");
    for (arguments, good, warned, mixed, rejected) in [
        (&[][..], 0, 0, 1, 1),
        (&["--fail-on", "skipped"], 0, 0, 1, 1),
        (&["--fail-on", "rejected"], 0, 0, 0, 1),
        (&["--fail-on", "warning"], 0, 1, 1, 1),
        (&["--strict"], 0, 1, 1, 1),
    ] {
        for (package, status) in [
            ("good", good),
            ("warned", warned),
            ("mixed", mixed),
            ("rejected", rejected),
        ] {
            let run = place.run(["validate", package].iter().chain(arguments));
            assert_eq!(
                run.status,
                Some(status),
                "{package} {arguments:?}: {}",
                run.stdout
            );
            assert_eq!(run.stderr, "");
        }
    }
}

#[test]
fn a_path_is_a_directory_or_the_manifest_in_it() {
    let place = Place::new();
    place.good_package("good");
    place.write("good/notes.txt", "");
    let by_directory = place.run(["validate", "--format", "json", "good"]);
    for path in ["good/plugin.json", "./good/plugin.json", "good/"] {
        let run = place.run(["validate", "--format", "json", path]);
        assert_eq!(run.status, Some(0), "{path}: {}", run.stderr);
        let (one, other) = (json(&run.stdout), json(&by_directory.stdout));
        assert_eq!(one["packages"][0]["name"], other["packages"][0]["name"]);
    }
    let mut here = place.apkit();
    here.current_dir(place.path().join("good"));
    for arguments in [&["validate"][..], &["validate", "plugin.json"]] {
        let mut command = place.apkit();
        command
            .current_dir(place.path().join("good"))
            .args(arguments);
        let run = finish(&mut command);
        assert_eq!(run.status, Some(0), "{arguments:?}");
        assert!(run.stdout.starts_with("✓ good-one (.): loads 1 skill\n"));
    }
    for (path, said) in [
        ("missing", "failed to read missing: no such file"),
        (
            "good/notes.txt",
            "neither a package directory nor a plugin.json",
        ),
        ("good/missing/plugin.json", "no such file"),
    ] {
        let run = place.run(["validate", path]);
        assert_eq!(run.status, Some(2), "{path}");
        assert!(run.stderr.contains(said), "{}", run.stderr);
        assert!(run.stderr.contains("hint: name "), "{}", run.stderr);
        assert_eq!(run.stdout, "");
    }
    // What can be read is judged all the same.
    let run = place.run(["validate", "missing", "good"]);
    assert_eq!(run.status, Some(2));
    assert!(run.stdout.contains("1 package loads"), "{}", run.stdout);
}

#[test]
fn all_formats_tell_of_the_same_findings() {
    let place = Place::new();
    place.mixed_package("pkgs/mixed");
    place.write("pkgs/broken/plugin.json", "{");
    let paths = ["pkgs/broken", "pkgs/mixed"];
    let output = |format: &str| {
        let run = place.run(["validate", "--format", format].iter().chain(&paths));
        assert_eq!(run.status, Some(1), "{format}: {}", run.stderr);
        // Annotations leave no line of their own in a log.
        let summary = match format {
            "github" => "2 packages, 1 load, 1 rejected: 3 errors, 1 warning\n",
            _ => "",
        };
        assert_eq!(run.stderr, summary, "{format}");
        run.stdout
    };
    let report = json(&output("json"));
    let schema = json(&place.run(["schema", "report"]).stdout);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.is_valid(&report));
    let mut found: Vec<(String, String)> = Vec::new();
    for package in report["packages"].as_array().expect("packages") {
        for diagnostic in package["diagnostics"].as_array().expect("diagnostics") {
            let path = package["path"].as_str().expect("a path");
            let file = diagnostic["path"].as_str().expect("a path");
            let code = diagnostic["code"].as_str().expect("a code");
            found.push((code.to_owned(), format!("{path}/{file}")));
        }
    }
    let codes: Vec<&str> = found.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(
        codes,
        [
            "manifest::invalid-json",
            "mcp::type-unknown",
            "manifest::unknown-field",
            "skill::name-mismatch"
        ]
    );

    let github = output("github");
    assert_eq!(github.lines().count(), found.len());
    for (line, (code, file)) in github.lines().zip(&found) {
        assert!(line.contains(&format!(" file={file},")), "{line}");
        assert!(line.contains(&code.replace("::", "%3A%3A")), "{line}");
    }
    let sarif = json(&output("sarif"));
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let of_sarif: Vec<&str> = results
        .iter()
        .map(|result| result["ruleId"].as_str().expect("a rule"))
        .collect();
    assert_eq!(of_sarif, codes);
    for (format, text) in [("text", output("text")), ("junit", output("junit"))] {
        for (code, _) in &found {
            assert!(text.contains(&format!("[{code}]")), "{format} lacks {code}");
        }
    }
    let reports: Vec<Value> = output("load-report").lines().map(json).collect();
    assert_eq!(reports.len(), 2);
    assert!(reports[0]["rejected"].is_string());
    assert_eq!(
        reports[1]["loaded"],
        serde_json::json!({"skills": ["tides"], "mcpServers": ["a"]})
    );
    assert_eq!(
        reports[1]["skipped"],
        serde_json::json!([{"what": "skills/ebb"}, {"what": "mcp.json#b"}])
    );
    assert_eq!(
        reports[1]["reported"],
        serde_json::json!([{"field": "colour"}])
    );
}

#[test]
fn quiet_leaves_out_what_does_not_count() {
    let place = Place::new();
    place.mixed_package("mixed");
    place.good_package("good");
    let run = place.run(["validate", "-q", "mixed", "good"]);
    assert!(run.stdout.contains("skill::name-mismatch"));
    assert!(!run.stdout.contains("manifest::unknown-field"));
    assert!(!run.stdout.contains("good-one"));
    place.write("empty/plugin.json", manifest("empty", ""));
    let demanding = ["validate", "-q", "--require-components", "empty"];
    let run = place.run(demanding);
    assert_eq!(run.status, Some(1));
    let said = "warning[package::no-components]";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    let run = place.run(demanding.into_iter().chain(["--format", "junit"]));
    assert!(
        run.stdout
            .contains("<failure type=\"package::no-components\"")
    );
    let run = place.run(["validate", "-q", "good"]);
    assert_eq!(run.stdout, "1 package loads: no findings\n");
}

/// Names that try to break out of every format, in everything a package names.
#[cfg(unix)]
fn hostile_package(place: &Place) -> String {
    let name = "a\u{1b}[31m%\r\n::error::x,y:z\"'<&]]>\u{202e}é";
    let key = serde_json::to_string(name).expect("a string");
    place.write(
        &format!("{name}/plugin.json"),
        manifest(
            "hostile",
            &format!("{key}: {key}, \"version\": {key}, \"x\u{9b}\": \"\u{202e}\""),
        ),
    );
    place.write(
        &format!("{name}/skills/{name}/SKILL.md"),
        format!(
            "---\nname: {key}\ndescription: \"\u{202e} does a thing\"\n---\n\n\u{1b}[2J text\n"
        ),
    );
    place.write(
        &format!("{name}/mcp.json"),
        mcp(&format!("{{{key}: {{\"type\": {key}}}, \"b\": {{\"type\": \"stdio\", \"command\": {key}, {key}: 1}}}}")),
    );
    name.to_owned()
}

#[cfg(unix)]
#[test]
fn a_hostile_package_steers_nothing() {
    let place = Place::new();
    let name = hostile_package(&place);
    let harmless = |text: &str| {
        let bad = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(!text.contains(bad), "{text:?}");
    };
    for format in ["text", "json", "github", "sarif", "junit", "load-report"] {
        let run = place.run(["validate", "--format", format, &name]);
        assert_eq!(run.status, Some(1), "{format}: {}", run.stderr);
        harmless(&run.stdout);
        harmless(&run.stderr);
        match format {
            "json" | "sarif" => {
                json(&run.stdout);
            }
            "github" => {
                for line in run.stdout.lines() {
                    let severity = ["::error file=", "::warning file=", "::notice file="];
                    assert!(
                        severity.iter().any(|start| line.starts_with(start)),
                        "{line}"
                    );
                    let rest = line.split_once("::").expect("a command").1;
                    let (properties, _) = rest.split_once("::").expect("a message");
                    assert!(
                        properties.contains("%0D%0A%3A%3Aerror%3A%3Ax%2Cy%3Az"),
                        "{line}"
                    );
                }
            }
            _ => {}
        }
    }
    for format in ["text", "json"] {
        harmless(&place.run(["inspect", "--format", format, &name]).stdout);
    }
    let run = place.run(["validate", &format!("{name}/nothing")]);
    assert_eq!(run.status, Some(2));
    harmless(&run.stderr);
    harmless(&place.run(["explain", &name]).stderr);
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf8_is_shown_and_loaded() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let place = Place::new();
    place.good_package("good");
    let odd = OsString::from_vec(b"odd\xff".to_vec());
    if fs::rename(place.path().join("good"), place.path().join(&odd)).is_err() {
        // A file system that refuses the name cannot show the fault either.
        return;
    }
    let run = finish(
        place
            .apkit()
            .args(["validate", "--format", "json"])
            .arg(&odd),
    );
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(json(&run.stdout)["packages"][0]["path"], "odd\u{fffd}");
    let run = place.run(["validate", "-r"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
}

#[test]
fn credentials_are_never_shown() {
    let place = Place::new();
    place.good_package("p");
    let token = format!("ghp_{}", "aB3".repeat(12));
    let servers = format!(
        "{{\"a\": {{\"type\": \"stdio\", \"command\": \"a\", \"args\": [\"--token={token}\"], \
         \"env\": {{\"API_KEY\": \"hunter22x\"}}}}, \
         \"b\": {{\"type\": \"pigeon\", \"env\": {{\"PASSWORD\": \"hunter22x\"}}}}, \
         \"c\": {{\"type\": \"sse\", \"url\": \"https://me:hunter22x@h.test/\"}}}}"
    );
    place.write("p/mcp.json", mcp(&servers));
    for arguments in [
        &["validate", "p"][..],
        &["validate", "p", "--format", "json"],
        &["validate", "p", "--format", "sarif"],
        &["validate", "p", "--format", "github"],
        &["validate", "p", "--format", "junit"],
        &["inspect", "p"],
        &["inspect", "p", "--format", "json"],
    ] {
        let run = place.run(arguments);
        assert!(!run.stdout.is_empty(), "{arguments:?}");
        for secret in [token.as_str(), "hunter22x"] {
            assert!(
                !run.stdout.contains(secret),
                "{arguments:?}: {}",
                run.stdout
            );
        }
    }
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let place = Place::new();
    place.mixed_package("p");
    let colored = |environment: &[(&str, &str)], arguments: &[&str]| {
        let mut command = place.apkit();
        command.envs(environment.iter().copied());
        let run = finish(command.args(["validate", "p"]).args(arguments));
        run.stdout.contains('\u{1b}')
    };
    assert!(!colored(&[], &[]), "a pipe is no terminal");
    assert!(colored(&[], &["--color", "always"]));
    assert!(colored(&[("NO_COLOR", "1")], &["--color", "always"]));
    assert!(colored(&[("CLICOLOR_FORCE", "1")], &[]));
    assert!(!colored(&[("CLICOLOR_FORCE", "0")], &[]));
    assert!(!colored(&[("CLICOLOR_FORCE", "")], &[]));
    assert!(!colored(&[("CLICOLOR_FORCE", "1")], &["--color", "never"]));
    assert!(!colored(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]));
    // A file has no colour unless that is asked for in so many words.
    let mut command = place.apkit();
    command.env("CLICOLOR_FORCE", "1");
    finish(command.args(["validate", "p", "--output", "report.txt"]));
    assert!(!place.read("report.txt").contains('\u{1b}'));
    // Without a UTF-8 locale, frames are drawn in ASCII.
    let mut command = place.apkit();
    command.env_remove("LANG").args(["validate", "p"]);
    assert!(finish(&mut command).stdout.replace('§', "").is_ascii());
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new();
    // More than a pipe holds, so that the program is still writing.
    let members: Vec<String> = (0..3_000).map(|n| format!("\"field{n}\": 1")).collect();
    place.write("p/plugin.json", manifest("many", &members.join(",\n")));
    let mut child = place
        .apkit()
        .args(["validate", "p"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut start = [0; 100];
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_exact(&mut start).expect("some text");
    drop(stdout);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_report_file_is_whole_or_not_there() {
    let place = Place::new();
    place.good_package("p");
    let run = place.run(["validate", "p", "--format", "json", "--output", "out.json"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(json(&place.read("out.json"))["summary"]["packages"], 1);
    // An older report is replaced, nothing else is left.
    place.write("out.json", "old");
    place.run(["validate", "p", "--format", "json", "-o", "out.json"]);
    json(&place.read("out.json"));
    let names = || {
        let entries = fs::read_dir(place.path()).expect("a directory");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["out.json", "p"]);
    let run = place.run(["validate", "p", "-o", "no/such/place.json"]);
    assert_eq!(run.status, Some(2));
    let said = "failed to write to no/such/place.json: no such file";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let run = place.run(["validate", "p", "-o", "p"]);
    assert_eq!(run.status, Some(2), "a directory is no file");
    assert_eq!(names(), ["out.json", "p"]);
}

#[cfg(unix)]
#[test]
fn a_report_file_keeps_its_mode_its_link_and_may_be_no_file() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let place = Place::new();
    place.good_package("p");
    let real = place.write("real.json", "old");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("an own file");
    symlink("real.json", place.path().join("link.json")).expect("a link");
    let run = place.run(["validate", "p", "--format", "json", "-o", "link.json"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    json(&place.read("real.json"));
    let link = place.path().join("link.json");
    assert!(link.symlink_metadata().expect("a link").is_symlink());
    assert_eq!(real.metadata().expect("a file").mode() & 0o777, 0o640);

    let run = place.run(["validate", "p", "-o", "/dev/stdout"]);
    assert!(run.stdout.contains("1 package loads"), "{}", run.stderr);
    let run = place.run(["validate", "p", "-o", "/dev/null"]);
    let summary = "1 package loads: no findings\n";
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), summary));
    let full = std::path::Path::new("/dev/full");
    if full.exists() {
        let run = place.run(["validate", "p", "-o", "/dev/full"]);
        assert_eq!(run.status, Some(2), "a full disk is a failure");
        let mut command = place.apkit();
        let full = fs::OpenOptions::new()
            .write(true)
            .open(full)
            .expect("a device");
        let output = command.args(["validate", "p"]).stdout(full).output();
        assert_eq!(output.expect("the program starts").status.code(), Some(2));
    }
}

#[test]
fn inspect_shows_what_loads_and_what_does_not() {
    let place = Place::new();
    place.mixed_package("p");
    place.write("rejected/plugin.json", "[]");
    let run = place.run(["inspect", "p"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    for part in [
        "mixed-one\n",
        "1 skill loads\n",
        "✓ tides  skills/tides\n",
        "✗ skills/ebb\n    skill::name-mismatch: ",
        "✓ a  stdio\n     command: a\n         cwd: ${PLUGIN_ROOT}\n",
        "✗ b\n    mcp::type-unknown: ",
    ] {
        assert!(run.stdout.contains(part), "lacks {part:?}: {}", run.stdout);
    }
    let run = place.run(["inspect", "p", "--format", "json"]);
    let package = &json(&run.stdout)["package"];
    assert_eq!(package["skills"]["loaded"][0]["path"], "skills/tides");
    assert_eq!(package["mcp"]["loaded"][0]["stdio"]["command"], "a");
    assert_eq!(package["mcp"]["skipped"][0]["name"], "b");
    let run = place.run(["inspect", "rejected"]);
    assert_eq!(run.status, Some(1));
    assert!(
        run.stdout.contains("manifest::not-an-object"),
        "{}",
        run.stdout
    );
    assert_eq!(place.run(["inspect", "missing"]).status, Some(2));
}

#[test]
fn explain_lists_looks_up_and_suggests() {
    let place = Place::new();
    let all = place.run(["explain"]);
    assert_eq!(all.status, Some(0));
    let list = json(&place.run(["explain", "--format", "json"]).stdout);
    let codes = list["codes"].as_array().expect("codes");
    for code in codes {
        let id = code["code"].as_str().expect("an id");
        assert!(all.stdout.contains(&format!("  {id} ")), "{id}");
        let run = place.run(["explain", id, "--format", "json"]);
        assert_eq!(json(&run.stdout)["codes"][0], *code);
    }
    let run = place.run(["explain", "name-mismatch"]);
    let start = "error[skill::name-mismatch]: ";
    assert!(run.stdout.starts_with(start), "{}", run.stdout);
    assert_eq!(
        run.stdout,
        place.run(["explain", "skill::name-mismatch"]).stdout
    );
    for (code, said) in [
        ("skill::name-mismach", "did you mean skill::name-mismatch"),
        (
            "duplicate-key",
            "several codes have this name: manifest::duplicate-key, ",
        ),
        (
            "zzz",
            "there is no such code\nhint: `apkit explain` lists all codes",
        ),
    ] {
        let run = place.run(["explain", code]);
        assert_eq!(run.status, Some(2));
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}

#[test]
fn schema_prints_every_schema() {
    let place = Place::new();
    for (arguments, id) in [
        (
            &["schema", "plugin"][..],
            "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
        ),
        (
            &["schema", "mcp", "--spec", "1.0.0"],
            "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
        ),
        (
            &["schema", "plugin", "--spec", "1.1.0"],
            "https://agent-plugins.org/schemas/1.1.0/plugin.schema.json",
        ),
        (&["schema", "report"], "urn:apkit:schema:report:1"),
    ] {
        let run = place.run(arguments);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        assert_eq!(json(&run.stdout)["$id"], id);
    }
    for arguments in [
        &["schema", "report", "--spec", "1.0.0"][..],
        &["schema", "plugin", "--spec", "9.9.9"],
        &["schema"],
    ] {
        assert_eq!(place.run(arguments).status, Some(2), "{arguments:?}");
    }
}

#[test]
fn help_version_completions_and_manual_are_there() {
    let place = Place::new();
    let run = place.run(["--version"]);
    let version = concat!(
        "apkit ",
        env!("CARGO_PKG_VERSION"),
        " (Agent Plugins 1.0.0; draft 1.1.0 with --spec-draft)\n"
    );
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), version));
    for command in ["validate", "inspect", "explain", "schema"] {
        let run = place.run([command, "--help"]);
        assert_eq!(run.status, Some(0));
        assert!(run.stdout.contains("Examples:\n"), "{command}");
    }
    assert!(
        place
            .run(["validate", "--help"])
            .stdout
            .contains("Exit status:\n")
    );
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = place.run(["completions", shell]);
        assert_eq!(run.status, Some(0));
        assert!(run.stdout.contains("completions"), "{shell}");
    }
    let run = place.run(["man"]);
    assert!(run.stdout.contains(".TH apkit 1"), "{}", run.stdout);
    let run = place.run(["man", "validate"]);
    assert!(run.stdout.contains("\\-\\-fail\\-on"), "{}", run.stdout);
    assert_eq!(place.run(["man", "nothing"]).status, Some(2));
    for arguments in [&[][..], &["--nothing"], &["validate", "--format", "x"]] {
        let run = place.run(arguments);
        assert_eq!(
            (run.status, run.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn drafts_apply_only_on_demand() {
    let place = Place::new();
    place.good_package("p");
    let draft = manifest("p", "").replace("1.0.0", "1.1.0");
    place.write("p/plugin.json", draft);
    assert_eq!(place.run(["validate", "p"]).status, Some(1));
    let run = place.run(["validate", "p", "--spec-draft", "1.1.0"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    let run = place.run(["validate", "p", "--spec-draft", "1.0.0"]);
    assert_eq!(run.status, Some(2), "1.0.0 is no draft");
}

fn found(place: &Place, arguments: &[&str]) -> Vec<String> {
    let run = place.run(
        ["validate", "-r", "--format", "json"]
            .iter()
            .chain(arguments),
    );
    assert!(run.status < Some(2), "{}", run.stderr);
    json(&run.stdout)["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| package["path"].as_str().expect("a path").to_owned())
        .collect()
}

#[test]
fn recursive_finds_packages_at_any_depth_in_order() {
    let place = Place::new();
    for package in [
        "z",
        "a/b/c",
        ".hidden/p",
        "a/b",
        "kept/build",
        "ignored/p",
        "node_modules/p",
        "a/target/p",
        ".git/p",
        "skipped/p",
    ] {
        place.good_package(package);
    }
    place.write(".gitignore", "/ignored\n*.bak\n");
    place.good_package("x.bak");
    place.write("native/.claude-plugin/plugin.json", "{\"name\": \"n\"}");
    place.write("native/.github/plugin/plugin.json", "{\"name\": \"n\"}");
    place.write("near/Plugin.json", manifest("near", ""));
    let all = [".hidden/p", "a/b", "a/b/c", "kept/build", "skipped/p", "z"];
    assert_eq!(found(&place, &[]), all);
    assert_eq!(found(&place, &["."]), all);
    assert_eq!(found(&place, &["a", "z", "./a/b"]), ["a/b", "a/b/c", "z"]);
    let without = [
        "--exclude",
        "skipped",
        "--exclude",
        "**/c",
        "--exclude",
        ".*",
    ];
    assert_eq!(found(&place, &without), ["a/b", "kept/build", "z"]);
    // What is named is searched, whatever its name.
    assert_eq!(found(&place, &["node_modules"]), ["node_modules/p"]);
    // The package at the top itself.
    assert_eq!(found(&place, &["z"]), ["z"]);
    let mut command = place.apkit();
    command.current_dir(place.path().join("z"));
    let run = finish(command.args(["validate", "-r", "--format", "json"]));
    assert_eq!(json(&run.stdout)["packages"][0]["path"], ".");
    assert_eq!(
        place.run(["validate", "-r", "--exclude", "a{", "."]).status,
        Some(2)
    );
    assert_eq!(place.run(["validate", "--exclude", "a"]).status, Some(2));
}

#[test]
fn recursive_names_foreign_manifests_beside_the_report() {
    let place = Place::new();
    place.write(
        "grafana/plugin.json",
        r#"{"type": "panel", "id": "x", "info": {}}"#,
    );
    place.write("claude/.claude-plugin/plugin.json", r#"{"name": "x"}"#);
    let run = place.run(["validate", "-r"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""));
    for part in [
        "no directory there holds an Agent Plugins plugin.json; found instead:\n",
        "  grafana/plugin.json: there is no $schema",
        "  claude/.claude-plugin/plugin.json (for Claude Code)\n",
    ] {
        assert!(run.stderr.contains(part), "lacks {part:?}: {}", run.stderr);
    }
    place.good_package("good");
    let run = place.run(["validate", "-r"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    assert!(run.stdout.ends_with("1 package loads: no findings\n"));
    let note = "note: left out grafana/plugin.json: there is no $schema";
    assert!(run.stderr.starts_with(note), "{}", run.stderr);
    // Named directly, it is a rejected package.
    assert_eq!(place.run(["validate", "grafana"]).status, Some(1));
}

#[cfg(unix)]
#[test]
fn recursive_reads_only_a_gitignore_that_is_a_small_file() {
    use std::os::unix::fs::symlink;
    let outside = Place::new();
    outside.write("patterns", "good\n");
    // A FIFO would wait for ever, a device never end, a link lead outside.
    let fifo = |place: &Place| {
        let made = std::process::Command::new("mkfifo")
            .arg(place.path().join(".gitignore"))
            .status();
        assert!(made.expect("mkfifo").success());
    };
    let link = |target: &std::path::Path| {
        let target = target.to_owned();
        move |place: &Place| symlink(&target, place.path().join(".gitignore")).expect("a link")
    };
    let traps: [&dyn Fn(&Place); 3] = [
        &fifo,
        &link(std::path::Path::new("/dev/zero")),
        &link(&outside.path().join("patterns")),
    ];
    for trap in traps {
        let place = Place::new();
        place.good_package("good");
        trap(&place);
        let run = place.run(["validate", "-r"]);
        assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""));
    }
    let place = Place::new();
    place.good_package("good");
    place.write(".gitignore", "fooN*bar\n".repeat(10_000));
    let run = place.run(["validate", "-r"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains(".gitignore: larger than"),
        "{}",
        run.stderr
    );
    assert!(run.stdout.contains("1 package loads"), "{}", run.stdout);
}

#[test]
fn no_format_shows_a_token() {
    let place = Place::new();
    place.good_package("p");
    let token = format!("ghp_{}", "a1B2".repeat(9));
    place.write(
        "p/mcp.json",
        format!(
            r#"{{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {{
  "a": {{"type": "stdio", "command": "npx -y srv --token {token}"}},
  "b": {{"type": "stdio", "command": "npx", "args": ["--config=./x?token={token}", "--password=hunter2SECRET"]}},
  "c": {{"type": "sse", "url": "https://admin:hunter2SECRET/x@a.example/mcp"}},
  "d": {{"type": "sse", "url": "https://a.example/mcp/{token}"}},
  "e": {{"type": "{token}", "command": "x"}},
  "f": {{"type": "stdio", "command": "x", "args": ["postgres://admin:hunter2SECRET@db/x"]}}
}}}}"#
        ),
    );
    place.write(
        "p/skills/leak/SKILL.md",
        format!("---\nname: leak\ndescription: token: {token}\n---\n"),
    );
    for format in ["text", "json", "github", "sarif", "junit", "load-report"] {
        let run = place.run(["validate", "p", "--format", format]);
        for secret in [token.as_str(), "hunter2SECRET"] {
            assert!(!run.stdout.contains(secret), "{format}: {}", run.stdout);
        }
    }
    let report = json(&place.run(["validate", "p", "--format", "json"]).stdout);
    let found = report["packages"][0]["diagnostics"]
        .as_array()
        .expect("findings");
    let credentials = found
        .iter()
        .filter(|found| found["code"] == "mcp::credential");
    assert_eq!(credentials.count(), 6);
    let shown = place.run(["inspect", "p"]).stdout;
    assert!(
        !shown.contains("hunter2SECRET") && !shown.contains(&token),
        "{shown}"
    );
}

#[test]
fn recursive_names_what_lacks_a_manifest() {
    let place = Place::new();
    place.good_package("good");
    place.write("moved/.claude-plugin/plugin.json", r#"{"name": "x"}"#);
    place.write("moved/skills/note/SKILL.md", "---\n---\n");
    place.write("servers/mcp.json", "{}");
    place.write(".agents/skills/note/SKILL.md", "---\n---\n");
    let run = place.run(["validate", "-r"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    let note = "note: no package without a plugin.json, though skills or mcp.json are there: moved, servers (";
    assert!(run.stderr.starts_with(note), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

#[test]
fn explain_lists_a_family_and_a_requirement() {
    let place = Place::new();
    let family = place.run(["explain", "skills"]);
    assert_eq!(family.status, Some(0));
    assert!(family.stdout.contains("skills::misplaced-skill"));
    assert!(!family.stdout.contains("mcp::"));
    let requirement = place.run(["explain", "AP-12"]);
    assert!(requirement.stdout.contains("mcp::schema-mismatch"));
    assert_eq!(place.run(["explain", "AP-99"]).status, Some(2));
}

#[cfg(unix)]
#[test]
fn recursive_follows_no_links() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.good_package("top/p");
    place.good_package("elsewhere");
    symlink("../elsewhere", place.path().join("top/link")).expect("a link");
    symlink(".", place.path().join("top/loop")).expect("a link");
    assert_eq!(found(&place, &["top"]), ["top/p"]);
    symlink("top", place.path().join("way")).expect("a link");
    assert_eq!(found(&place, &["way"]), ["way/p"]);
}

#[cfg(unix)]
#[test]
fn recursive_tells_what_it_cannot_search() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    place.good_package("good");
    place.good_package("locked/p");
    let set_mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("an own file");
    };
    let locked = place.path().join("locked");
    set_mode(place.path(), 0o755);
    set_mode(&locked, 0o000);
    let mut command = place.apkit();
    command.args(["validate", "-r"]);
    if fs::read_dir(&locked).is_ok() {
        // Permission bits do not stop root.
        command.uid(65534).gid(65534);
    }
    let run = finish(&mut command);
    set_mode(&locked, 0o755);
    assert_eq!(run.status, Some(2), "{}", run.stdout);
    let said = "error: failed to read locked: permission denied\n";
    assert_eq!(run.stderr, said);
    assert!(run.stdout.ends_with("1 package loads: no findings\n"));
}

#[test]
fn many_packages_come_in_a_stable_order() {
    let place = Place::new();
    let mut expected = Vec::new();
    for number in 0..60 {
        let path = format!("p{number:02}");
        place.good_package(&path);
        expected.push(path);
    }
    assert_eq!(found(&place, &[]), expected);
    let mut reversed = expected.clone();
    reversed.reverse();
    let run = place.run(
        ["validate", "--format", "json"]
            .into_iter()
            .chain(reversed.iter().map(String::as_str)),
    );
    let report = json(&run.stdout);
    let order: Vec<&str> = report["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| package["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(order, reversed);
}
