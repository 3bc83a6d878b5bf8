//! Skills, packages and described servers → packages; and the command around them.

use apkit::export::{self, Descriptor, Input, Launch, Source, Target, Transport};
use serde_json::{Value, json};

use crate::export_support::{
    SKILL, input, json, losses, named, paths, planned, refused, text, tree, written,
};
use crate::support::{Place, manifest, mcp};

fn described(launch: Launch) -> Input {
    Input {
        server: Some(Descriptor {
            name: "tides".to_owned(),
            launch,
        }),
        namespace: "works.ever".to_owned(),
        ..Input::default()
    }
}

fn remote(url: &str, headers: &[(&str, &str)]) -> Launch {
    Launch::Remote {
        transport: Transport::StreamableHttp,
        url: url.to_owned(),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

#[test]
fn skills_become_a_package() {
    let plan = planned(named(&[
        ("tides/SKILL.md", SKILL),
        ("tides/references/x.md", "X.\n"),
        ("LICENSE", "L.\n"),
        ("README.md", "R.\n"),
        ("notes/x.txt", "x"),
    ]));
    assert_eq!(
        paths(&plan),
        [
            "LICENSE",
            "README.md",
            "plugin.json",
            "skills/tides/SKILL.md",
            "skills/tides/references/x.md"
        ]
    );
    assert_eq!(text(&plan, "plugin.json"), manifest("pack", ""));
    assert_eq!(text(&plan, "skills/tides/SKILL.md"), SKILL);
    assert_eq!(losses(&plan), [("file-left-out", "notes")]);
    // Inside skills/, everything else is the package's own.
    let plan = planned(named(&[("skills/tides/SKILL.md", SKILL), ("data/x", "x")]));
    assert_eq!(
        paths(&plan),
        ["data/x", "plugin.json", "skills/tides/SKILL.md"]
    );
    // One skill has the name of its directory.
    let mut one = named(&[("SKILL.md", SKILL), ("x", "x")]);
    one.sources[0].name = "tides".to_owned();
    let plan = planned(one);
    assert_eq!(
        paths(&plan),
        ["plugin.json", "skills/tides/SKILL.md", "skills/tides/x"]
    );
    assert!(refused(input(&[("tides/SKILL.md", SKILL)])).contains("--name"));
}

#[test]
fn names_of_skills_are_refused_with_the_ones_that_would_do() {
    let ebb = |name: &str| SKILL.replace("name: tides", &format!("name: {name}"));
    let files = [
        ("-ebb-".to_owned(), ebb("-ebb-")),
        ("My Flow".to_owned(), ebb("My Flow")),
    ];
    let files: Vec<(String, String)> = files
        .into_iter()
        .map(|(name, text)| (format!("{name}/SKILL.md"), text))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let error = refused(named(&files));
    assert!(
        error.contains("-ebb-/SKILL.md") && error.contains("; ebb would do"),
        "{error}"
    );
    assert!(error.contains("; my-flow would do"), "{error}");
    let mut input = named(&files);
    input.rename = true;
    let plan = planned(input);
    assert_eq!(
        paths(&plan),
        [
            "plugin.json",
            "skills/ebb/SKILL.md",
            "skills/my-flow/SKILL.md"
        ]
    );
    assert_eq!(text(&plan, "skills/ebb/SKILL.md"), ebb("ebb"));
    assert_eq!(
        json(&plan, "plugin.json")["extensions"],
        json!({"works.ever": {"skills": {
            "ebb": {"directory": "-ebb-", "name": "-ebb-"},
            "my-flow": {"directory": "My Flow", "name": "My Flow"}}}})
    );
}

#[test]
fn several_directories_of_skills_become_one_package() {
    let source = |name: &str, files: &[(&str, &str)]| Source {
        name: name.to_owned(),
        tree: tree(files),
    };
    let mut input = named(&[]);
    input.sources = vec![
        source("tides", &[("SKILL.md", SKILL)]),
        source(
            "more",
            &[
                ("ebb/SKILL.md", &SKILL.replace("tides", "ebb")),
                ("tides/SKILL.md", SKILL),
            ],
        ),
    ];
    let plan = planned(input.clone());
    assert_eq!(
        paths(&plan),
        [
            "plugin.json",
            "skills/ebb/SKILL.md",
            "skills/tides/SKILL.md"
        ]
    );
    assert_eq!(losses(&plan), [("skill-collision", "skill tides")]);
    input
        .sources
        .push(source("plugin", &[(".claude-plugin/plugin.json", "{}")]));
    assert!(refused(input).contains("\"plugin\" is something else"));
}

#[test]
fn a_package_stays_as_it_is() {
    let files = [
        ("plugin.json", manifest("pack", "\"version\":   \"1\"")),
        ("skills/tides/SKILL.md", SKILL.to_owned()),
        ("x/y", "z".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let plan = planned(input(&files));
    assert_eq!(written(&plan), tree(&files));
    // What the user says is the only change.
    let mut changed = input(&files);
    changed.identity.version = Some("2".to_owned());
    changed.identity.license = Some("MIT".to_owned());
    let plan = planned(changed);
    assert_eq!(
        text(&plan, "plugin.json"),
        manifest("pack", "\"version\": \"2\",\n  \"license\": \"MIT\"")
    );
}

#[test]
fn a_server_is_described_without_secrets() {
    let plan = planned(described(remote(
        "https://tides.example/mcp",
        &[("X-Team", "sea")],
    )));
    assert_eq!(paths(&plan), ["mcp.json", "plugin.json"]);
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"],
        json!({"tides": {"type": "streamable-http", "url": "https://tides.example/mcp", "headers": {"X-Team": "sea"}}})
    );
    assert_eq!(text(&plan, "plugin.json"), manifest("tides", ""));

    let secret = "zz-0123456789abcdef";
    let stdio = |args: &[&str], env: &[(&str, &str)]| Launch::Stdio {
        command: "./bin/x".to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        cwd: None,
    };
    for launch in [
        remote(
            "https://a.example",
            &[("Authorization", &format!("Bearer {secret}"))],
        ),
        remote(&format!("https://a.example?token={secret}"), &[]),
        stdio(&["--api-key", secret], &[]),
        stdio(&[], &[("API_KEY", secret)]),
    ] {
        let error = refused(described(launch));
        assert!(
            error.contains("looks like a secret") && !error.contains(secret),
            "{error}"
        );
    }
    // A program of the package has to be in it, and becomes one that can be run.
    assert!(refused(described(stdio(&[], &[]))).contains("name the directory that holds it"));
    let mut input = described(stdio(&["--fast"], &[("MODE", "x")]));
    input.sources = named(&[("bin/x", "#!/bin/sh\n")]).sources;
    input.identity.name = Some("pack".to_owned());
    let plan = planned(input);
    assert_eq!(
        json(&plan, "mcp.json")["mcpServers"]["tides"],
        json!({"type": "stdio", "command": "./bin/x", "args": ["--fast"], "env": {"MODE": "x"}})
    );
    assert!(
        plan.outputs
            .iter()
            .any(|output| output.path == "bin/x" && output.executable)
    );
    // Beside servers that are there.
    let mut more = described(remote("https://b.example", &[]));
    more.sources = input_with_server().sources;
    let plan = planned(more.clone());
    let names: Vec<String> = json(&plan, "mcp.json")["mcpServers"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(names, ["old", "tides"]);
    if let Some(server) = &mut more.server {
        server.name = "old".to_owned();
    }
    assert!(refused(more).contains("\"old\" already"));
}

fn input_with_server() -> Input {
    input(&[
        ("plugin.json", &manifest("pack", "")),
        (
            "mcp.json",
            &mcp(r#"{"old": {"type": "stdio", "command": "x"}}"#),
        ),
    ])
}

#[test]
fn a_package_of_npm_has_a_manifest_that_forgets_nothing() {
    let mut new = input(&[
        (
            "plugin.json",
            &manifest("pack", "\"version\": \"1.0.0\", \"license\": \"MIT\""),
        ),
        ("skills/tides/SKILL.md", SKILL),
    ]);
    new.npm = true;
    assert_eq!(
        json(&planned(new.clone()), "package.json"),
        json!({"name": "pack", "version": "1.0.0", "license": "MIT"})
    );
    new.sources[0].tree.files.extend(
        tree(&[("package.json", r#"{"name": "@a/b", "version": "0.9.0", "private": false, "files": ["dist", "./skills/"]}"#)]).files,
    );
    let plan = planned(new.clone());
    assert_eq!(
        json(&plan, "package.json"),
        json!({"name": "@a/b", "version": "1.0.0", "private": false, "files": ["dist", "./skills/", "plugin.json"], "license": "MIT"})
    );
    let mut without = input(&[
        ("plugin.json", &manifest("pack", "")),
        ("skills/tides/SKILL.md", SKILL),
    ]);
    without.npm = true;
    assert!(refused(without).contains("--version"));
}

#[test]
fn a_manifest_for_claude_code_that_is_there_is_kept() {
    let mut input = input(&[
        ("plugin.json", &manifest("pack", "")),
        (".claude-plugin/plugin.json", "{ \"name\":\"pack\" }"),
        (
            "mcp.json",
            &mcp(r#"{"s": {"type": "stdio", "command": "x"}}"#),
        ),
    ]);
    input.target = Target::ClaudeCode;
    let plan = planned(input);
    assert_eq!(
        text(&plan, ".claude-plugin/plugin.json"),
        "{ \"name\":\"pack\" }"
    );
    assert_eq!(
        losses(&plan),
        [("target-manifest", "the servers of mcp.json in Claude Code")]
    );
}

/// A plugin on disk of which one skill and one header are lost.
fn lossy(place: &Place) {
    place.write(
        "p/.claude-plugin/plugin.json",
        "{\"name\": \"pack\", \"version\": \"1.0.0\"}",
    );
    place.write("p/skills/tides/SKILL.md", SKILL);
    place.write(
        "p/skills/ebb/SKILL.md",
        "---\nname: ebb\ndescription: a: b\n---\n",
    );
    place.write(
        "p/.mcp.json",
        "{\"a\": {\"type\": \"http\", \"url\": \"https://a.example\",\n\"headers\": {\"X-Key\": \"${KEY}\"}}}",
    );
}

#[test]
fn the_command_tells_what_is_lost_and_writes_nothing_else() {
    let place = Place::new();
    lossy(&place);
    let run = place.run(["export", "p", "--out", "out", "--dry-run"]);
    let expected = "\
Would write pack 1.0.0 to out:
├── .claude-plugin/
│   └── plugin.json  120 bytes
├── com.anthropic.claude-code/
│   └── mcp.json  88 bytes
├── skills/
│   └── tides/
│       └── SKILL.md  105 bytes
├── apkit-export.sha256  506 bytes
├── mcp.json  201 bytes
└── plugin.json  312 bytes

Not carried over (1):
  skill ebb [skill-unreadable]
    at:     skills/ebb/SKILL.md:3
    why:    `: ` inside a value: quote the whole value
    effect: the skill is not in the result
    help:   write description: \"a: b\"

Carried over in part (1):
  server \"a\": header \"X-Key\" [environment-value]
    at:     .mcp.json:2
    why:    ${KEY} is expanded by no portable client
    effect: the entry is left out of mcp.json
    help:   each user sets the header X-Key in their own client; say so in the description

Would write pack 1.0.0 to out: 1 not carried over, 1 carried over in part
";
    let mask = |text: &str| -> String {
        text.lines()
            .map(|line| {
                line.rsplit_once("  ")
                    .filter(|(_, end)| end.ends_with(" bytes"))
                    .map_or(line, |(start, _)| start)
            })
            .map(|line| format!("{line}\n"))
            .collect()
    };
    assert_eq!(
        (mask(&run.stdout), run.stderr.as_str()),
        (mask(expected), "")
    );
    // A whole skill is missing.
    assert_eq!(run.status, Some(1));
    assert!(!place.path().join("out").exists());

    let run = place.run(["export", "p", "--out", "out", "--deny-losses"]);
    assert_eq!(run.status, Some(1));
    assert!(
        run.stdout
            .starts_with("Wrote nothing of pack 1.0.0, since something would be lost.\n"),
        "{run:?}"
    );
    assert!(!place.path().join("out").exists());

    let run = place.run(["export", "p", "--out", "out"]);
    assert_eq!(run.status, Some(1));
    assert!(
        run.stdout
            .starts_with("Wrote pack 1.0.0 to out.\n\nNot carried over (1):\n"),
        "{run:?}"
    );
    assert_eq!(place.run(["validate", "--strict", "out"]).status, Some(0));
    // BR-002: what cannot be read is not there for any client.
    assert!(!place.path().join("out/skills/ebb").exists());
    // What an export wrote is replaced; what was changed since is not.
    assert_eq!(place.run(["export", "p", "--out", "out"]).status, Some(1));
    place.write("out/mine", "x");
    let run = place.run(["export", "p", "--out", "out"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("the target exists") && run.stderr.contains("--force"),
        "{run:?}"
    );
    assert_eq!(
        place.run(["export", "p", "--out", "out", "--force"]).status,
        Some(1)
    );
    // The result is a source again, without what the export added for itself.
    let run = place.run(["export", "out", "--out", "again"]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(0), "Wrote pack 1.0.0 to again.\n"),
        "{run:?}"
    );
    for file in ["plugin.json", "mcp.json", "skills/tides/SKILL.md"] {
        assert_eq!(
            place.read(&format!("out/{file}")),
            place.read(&format!("again/{file}"))
        );
    }
}

#[test]
fn the_report_as_json_is_what_its_schema_says() {
    let place = Place::new();
    lossy(&place);
    let schema = place.run(["schema", "export"]);
    let schema: Value = serde_json::from_str(&schema.stdout).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    place.write(
        "skills/flow/SKILL.md",
        SKILL
            .replace("tides", "flow")
            .replace("\n---\n\n", "\nmodel: x\n---\n\n[a](../x.md)\n"),
    );
    for arguments in [
        &["p", "--out", "out"][..],
        &["p", "--dry-run", "--target", "all", "--marketplace"],
        &[
            "skills",
            "--name",
            "more",
            "--out",
            "more",
            "--allow-warnings",
        ],
        &[
            "--server",
            "s",
            "--url",
            "https://a.example",
            "--out",
            "s.zip",
        ],
        &["builtin:everos", "--bin", "p/.mcp.json", "--out", "memory"],
    ] {
        let run = place.run([&["export", "--format", "json"], arguments].concat());
        let report: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
        let errors: Vec<String> = validator
            .iter_errors(&report)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}\n{report:#}");
    }
    let run = place.run([
        "export",
        "--format",
        "json",
        "skills",
        "--name",
        "more",
        "--out",
        "more",
        "--allow-warnings",
    ]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["losses"][0]["kind"], "client-frontmatter");
    assert_eq!(report["error"], Value::Null);
    place.write("taken/x", "mine");
    for (arguments, why) in [
        (&["nothere", "--out", "n"][..], "read nothere: "),
        (&["skills", "--out", "n"], "the source has no name"),
        (&["p", "--out", "taken"], "no export has written it"),
        (
            &["p", "--out", "n", "--deny-losses"],
            "something would be lost",
        ),
        (&["p", "--out", "n.tar"], "NAME.tgz or NAME.zip"),
    ] {
        let run = place.run([&["export", "--format", "json"], arguments].concat());
        let report: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
        assert!(validator.is_valid(&report), "{report:#}");
        assert_eq!(report["written"], false);
        assert!(
            report["error"].as_str().unwrap().contains(why),
            "{report:#}"
        );
        assert!(run.status != Some(0), "{run:?}");
    }
    let accepted: Vec<_> = report["accepted"]
        .as_array()
        .unwrap()
        .iter()
        .map(|accepted| {
            (
                accepted["code"].as_str().unwrap(),
                accepted["announced"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        accepted,
        [
            ("skill::unknown-key", true),
            ("skill::link-leaves-skill", false)
        ]
    );
    assert_eq!(report["written"], true);
    let kinds = schema["properties"]["losses"]["items"]["properties"]["kind"]["enum"]
        .as_array()
        .unwrap()
        .clone();
    let all: Vec<Value> = export::LossKind::ALL
        .iter()
        .map(|kind| kind.id().into())
        .collect();
    assert_eq!(kinds, all);
}

#[test]
fn files_and_texts_with_credentials_are_told() {
    let place = Place::new();
    let key = format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
        "b3Bl".repeat(20)
    );
    let token = format!("ghp_{}", "a1".repeat(18));
    place.write("s/tides/SKILL.md", SKILL);
    place.write("s/tides/id_rsa", &key);
    place.write("s/tides/notes.pem", &key);
    place.write("s/tides/.env.local", "A=zz-1\n");
    place.write("s/tides/.env.example", "A=\n");
    place.write("s/tides/.npmrc", "//r.example/:_authToken=zz-1\n");
    let export = ["export", "s", "--name", "pack", "--out", "out"];
    let run = place.run(export);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    for path in [".env.local", ".npmrc", "id_rsa", "notes.pem"] {
        assert!(
            run.stdout.contains(&format!("tides/{path}")),
            "{}",
            run.stdout
        );
        assert!(!place.path().join("out/skills/tides").join(path).exists());
    }
    assert!(place.path().join("out/skills/tides/.env.example").exists());

    // What stands in a text stops the export.
    place.write("s/tides/a.md", format!("One.\nUse {token}.\n"));
    place.write(
        "s/tides/b.py",
        "KEY_ID = 'AKIAIOSFODNN7EXAMPLE'\nAPI_TOKEN = 'zz-0123456789abcdef'\n",
    );
    let run = place.run([&export[..], &["--force"]].concat());
    assert_eq!(run.status, Some(2));
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(told.contains("skills/tides/a.md: line 2 holds"), "{told}");
    assert!(told.contains("skills/tides/b.py: line 2 holds"), "{told}");
    assert!(told.contains("--allow-warnings"), "{told}");
    assert!(!told.contains("ghp_") && !told.contains("zz-"), "{told}");
    let run = place.run([&export[..], &["--force", "--allow-warnings"]].concat());
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("[credential-in-text]"),
        "{}",
        run.stdout
    );
}

#[test]
fn warnings_stop_an_export_unless_they_are_allowed() {
    let place = Place::new();
    place.write(
        "s/flow/SKILL.md",
        SKILL.replace("tides", "flow") + "\n[a](../x.md)\n",
    );
    let run = place.run(["export", "s", "--name", "more", "--out", "out"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("skill::link-leaves-skill") && run.stderr.contains("--allow-warnings"),
        "{run:?}"
    );
    assert!(!place.path().join("out").exists());
    let run = place.run([
        "export",
        "s",
        "--name",
        "more",
        "--out",
        "out",
        "--allow-warnings",
    ]);
    assert_eq!(run.status, Some(0));
    assert!(
        run.stdout
            .contains("Findings let pass (1):\n  skills/flow/SKILL.md: skill::link-leaves-skill"),
        "{run:?}"
    );
    // Errors are never let pass.
    place.write("bad/plugin.json", manifest("bad", "\"version\": 1"));
    let run = place.run(["export", "bad", "--out", "out2", "--allow-warnings"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("would not pass") && !run.stderr.contains("hint"),
        "{run:?}"
    );
}

#[test]
fn wrong_use_is_told() {
    let place = Place::new();
    place.write("s/Ebb/SKILL.md", SKILL.replace("tides", "Ebb"));
    place.write(
        "m/.claude-plugin/marketplace.json",
        r#"{"plugins": [{"name": "one", "source": "./one"}]}"#,
    );
    place.write("m/one/x", "");
    for (arguments, wanted) in [
        (
            &["export", "--out", "o"][..],
            "were not provided:\n  <SOURCE>...\n",
        ),
        (&["export", "s"], "--out"),
        (&["export", "s", "--out", "o"], "--name"),
        (&["export", "s", "--name", "x", "--out", "o"], "--rename"),
        (
            &["export", "m", "--out", "o"],
            "apkit export SOURCE --plugin NAME",
        ),
        (
            &["export", "s", "--server", "x", "--name", "x", "--out", "o"],
            "neither --url nor --command",
        ),
        (
            &[
                "export",
                "--server",
                "x",
                "--url",
                "https://a.example",
                "--header",
                "x",
                "--out",
                "o",
            ],
            "NAME=VALUE",
        ),
        (&["export", "nothing", "--out", "o"], "no such file"),
        (
            &["export", "m/one", "--out", "o"],
            "failed to export m/one: it is no package",
        ),
        (
            &["export", "s", "--out", "o.tar"],
            "written as NAME.tgz or NAME.zip",
        ),
        (
            &["export", "s", "--out", "o.tar.xz"],
            "written as NAME.tgz or NAME.zip",
        ),
    ] {
        let run = place.run(arguments);
        assert_eq!(run.status, Some(2), "{run:?}");
        assert!(run.stderr.contains(wanted), "{wanted}: {run:?}");
    }
    assert!(!place.path().join("o").exists());
}

#[test]
fn a_server_brings_no_other_to_life() {
    let place = Place::new();
    place.write("k/plugin.json", manifest("k", "\"version\": \"1.0.0\""));
    place.write("k/skills/tides/SKILL.md", SKILL);
    let server = r#"{"z": {"type": "stdio", "command": "npx"}}"#;
    let ours = mcp(server);
    let arguments = [
        "export",
        "k",
        "--server",
        "x",
        "--url",
        "https://h.example/mcp",
        "--out",
        "q",
    ];
    for (text, why) in [
        (
            ours.replace("1.0.0", "9.0.0"),
            "$schema names no version that is known",
        ),
        (
            ours.replacen('{', "{\"extra\": 1,", 1),
            "it has a field \"extra\"",
        ),
        (
            format!("{{\"servers\": {server}}}"),
            "$schema names no version that is known",
        ),
        (
            ours.replace("mcpServers", "servers"),
            "it has no object mcpServers",
        ),
    ] {
        place.write("k/mcp.json", text);
        let run = place.run(arguments);
        assert_eq!(run.status, Some(2), "{run:?}");
        assert!(run.stderr.contains(why), "{why}: {run:?}");
        assert!(!place.path().join("q").exists());
    }
    place.write("k/mcp.json", ours);
    let run = place.run(arguments);
    assert_eq!(run.status, Some(0), "{run:?}");
    let written: Value = serde_json::from_str(&place.read("q/mcp.json")).unwrap();
    let names: Vec<_> = written["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["x", "z"]);
}
