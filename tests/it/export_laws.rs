//! Laws of exports, on packages made up at random.

use std::collections::BTreeMap;

use apkit::export::{self, Client, File, Input, Plan, Source, Target, Tree};
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Value, json};

use crate::export_support::{json, text, written};
use crate::support::{Place, manifest, mcp};

fn config() -> Config {
    Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    }
}

fn plan(tree: Tree, change: impl FnOnce(&mut Input)) -> Plan {
    let mut input = Input {
        sources: vec![Source {
            name: "source".to_owned(),
            tree,
        }],
        namespace: "works.ever".to_owned(),
        ..Input::default()
    };
    change(&mut input);
    export::plan(input).unwrap_or_else(|error| panic!("no plan: {error}"))
}

fn tree(files: impl IntoIterator<Item = (String, String)>) -> Tree {
    let files = files.into_iter().map(|(path, text)| {
        let file = File {
            executable: path.ends_with(".sh"),
            bytes: text.into_bytes(),
        };
        (path, file)
    });
    Tree {
        files: files.collect(),
        losses: Vec::new(),
    }
}

/// A line of frontmatter with its key, in many spellings.
fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("license: MIT".to_owned()),
        Just("license: 'Apache-2.0' # why".to_owned()),
        Just("# a comment".to_owned()),
        Just("metadata:\n  a: \"1\"\n  b: x".to_owned()),
        Just("metadata: {z: \"1\", a: y}".to_owned()),
        Just("argument-hint: \"[x]\"".to_owned()),
        Just("count: 1.50".to_owned()),
        Just("deep:\n  - {a: [1, two]}\n  - null".to_owned()),
        Just("when: |\n  several\n  lines".to_owned()),
        Just("compatibility: \"needs \\\"x\\\"\"".to_owned()),
    ]
}

fn tools() -> impl Strategy<Value = Option<String>> {
    let tool = prop_oneof![
        Just("Read"),
        Just("Bash(git add:*)"),
        Just("mcp__a__b"),
        Just("Bash(a (b) c)"),
        Just("1")
    ];
    let list = prop::collection::vec(tool, 0..4);
    prop_oneof![
        Just(None),
        Just(Some("allowed-tools: Bash(git add:*) Read".to_owned())),
        list.clone().prop_map(|tools| {
            let tools: Vec<String> = tools.iter().map(|tool| format!("{tool:?}")).collect();
            Some(format!("allowed-tools: [{}]", tools.join(", ")))
        }),
        list.prop_filter("some", |tools| !tools.is_empty())
            .prop_map(|tools| {
                let tools: Vec<String> =
                    tools.iter().map(|tool| format!("  - '{tool}'\n")).collect();
                Some(format!("allowed-tools:\n{}", tools.concat().trim_end()))
            }),
    ]
}

/// `SKILL.md` of the given name.
fn skill(name: &str) -> impl Strategy<Value = String> + use<> {
    let name = name.to_owned();
    let fields = prop::collection::btree_map("[a-z]", field(), 0..4);
    let quoted = prop_oneof![Just(""), Just("'"), Just("\"")];
    let body = "[ -~\n]{0,60}";
    (fields, tools(), quoted, body, any::<bool>(), any::<bool>()).prop_map(
        move |(fields, tools, quote, body, bom, crlf)| {
            let mut seen = Vec::new();
            let mut lines = vec![
                format!("name: {quote}{name}{quote}"),
                "description: What it does. Use it then.".to_owned(),
            ];
            for line in fields.into_values() {
                let key = line.split(':').next().unwrap_or_default().to_owned();
                if line.starts_with('#') || !seen.contains(&key) {
                    seen.push(key);
                    lines.push(line);
                }
            }
            lines.extend(tools);
            let text = format!("---\n{}\n---\n{body}", lines.join("\n"));
            let text = if crlf {
                text.replace('\n', "\r\n")
            } else {
                text
            };
            if bom { format!("\u{FEFF}{text}") } else { text }
        },
    )
}

fn skills(names: &'static [&'static str]) -> impl Strategy<Value = Tree> {
    let skills: Vec<_> = names.iter().map(|name| skill(name)).collect();
    (
        skills,
        prop::collection::btree_map(
            "[a-z]{1,3}(/[a-z]{1,3})?\\.(sh|md|txt)",
            "[ -~\n]{0,20}",
            0..4,
        ),
    )
        .prop_map(|(texts, sidecars)| {
            let mut files: BTreeMap<String, String> = BTreeMap::new();
            for (name, text) in names.iter().zip(texts) {
                files.insert(format!("{name}/SKILL.md"), text);
                for (path, text) in &sidecars {
                    files.insert(format!("{name}/{path}"), text.clone());
                }
            }
            tree(files)
        })
}

/// Frontmatter as data, in order, and the body.
fn parts(text: &str) -> (Vec<(String, serde_yaml::Value)>, String) {
    let text = text.trim_start_matches('\u{FEFF}');
    let split = apkit::document::frontmatter::split(text).expect("frontmatter");
    let yaml = &text[split.yaml.start..split.yaml.end];
    let value: serde_yaml::Mapping =
        serde_yaml::from_str(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"));
    let fields = value
        .into_iter()
        .map(|(key, value)| (key.as_str().expect("a string").to_owned(), value));
    (fields.collect(), text[split.body.start..].to_owned())
}

/// A server of the specification.
fn server() -> impl Strategy<Value = Value> {
    let arg = prop_oneof![
        Just("-y"),
        Just("${PLUGIN_ROOT}/x"),
        Just("--data=${PLUGIN_DATA}"),
        Just("a b"),
        Just("$5")
    ];
    let env = prop::collection::btree_map(
        "[A-Z]{3,5}",
        prop_oneof![Just("1"), Just("${PLUGIN_ROOT}"), Just("x${PLUGIN_DATA}")],
        0..3,
    );
    let command = prop_oneof![Just("npx"), Just("./bin/run.sh")];
    let stdio =
        (command, prop::collection::vec(arg, 0..4), env).prop_map(|(command, args, env)| {
            let mut server = json!({"type": "stdio", "command": command});
            if !args.is_empty() {
                server["args"] = json!(args);
            }
            if !env.is_empty() {
                server["env"] = json!(env);
            }
            server
        });
    let headers = prop::collection::btree_map("X-[A-Z]{2,4}", "[a-z]{1,5}", 0..3);
    let kind = prop_oneof![Just("streamable-http"), Just("sse")];
    let remote = (kind, headers).prop_map(|(kind, headers)| {
        let mut server = json!({"type": kind, "url": "https://a.example/mcp"});
        if !headers.is_empty() {
            server["headers"] = json!(headers);
        }
        server
    });
    prop_oneof![stdio, remote]
}

fn package() -> impl Strategy<Value = Tree> {
    let metadata = prop_oneof![
        Just(""),
        Just(
            "\"version\": \"1.0.0\", \"description\": \"D.\", \"author\": {\"name\": \"A\", \"url\": \"https://a.example\"}"
        ),
        Just(
            "\"license\": \"MIT\",\n\"keywords\": [\"a\", \"b\"],\"homepage\":\"https://a.example\", \"extensions\": {\"com.example\": {\"x\": [1.50]}}"
        ),
    ];
    let servers = prop::collection::btree_map("[a-z]{1,4}", server(), 0..4);
    (skills(&["ebb", "flow"]), metadata, servers).prop_map(|(skills, metadata, servers)| {
        let mut all: BTreeMap<String, File> = skills
            .files
            .into_iter()
            .map(|(path, file)| (format!("skills/{path}"), file))
            .collect();
        let mut more = vec![
            ("plugin.json".to_owned(), manifest("pack", metadata)),
            ("bin/run.sh".to_owned(), "#!/bin/sh\n".to_owned()),
        ];
        if !servers.is_empty() {
            more.push(("mcp.json".to_owned(), mcp(&json!(servers).to_string())));
        }
        all.extend(tree(more).files);
        Tree {
            files: all,
            losses: Vec::new(),
        }
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_exported_package_exports_to_itself(package in package()) {
        // Once through a directory on disk, as an import would have it.
        let first = plan(package.clone(), |_| ());
        prop_assert_eq!(&written(&first), &package);
        let place = Place::new();
        let out = place.path().join("out");
        let allow = export::Options { allow_warnings: true, ..export::Options::default() };
        match export::apply(&first, &out, allow) {
            Ok(_) => {
                let read = Tree::read(&out).expect("a tree");
                prop_assert_eq!(&read, &package);
            }
            // A list of tools is an error, which an export of a package leaves alone.
            Err(error) => prop_assert!(error.to_string().contains("skill::allowed-tools-type"), "{}", error),
        }
    }

    #[test]
    fn skills_come_back_as_they_were(skills in skills(&["ebb", "My Flow"])) {
        let there = plan(skills.clone(), |input| {
            input.identity.name = Some("pack".to_owned());
            input.rename = true;
        });
        let lost: Vec<_> = there.losses.iter().filter(|loss| loss.kind.weight() == export::Weight::Component).collect();
        prop_assert!(lost.is_empty(), "{:#?}", lost);
        for (name, renamed) in [("ebb", "ebb"), ("My Flow", "my-flow")] {
            let (before, body) = parts(std::str::from_utf8(&skills.files[&format!("{name}/SKILL.md")].bytes).unwrap());
            let (after, same) = parts(text(&there, &format!("skills/{renamed}/SKILL.md")));
            prop_assert_eq!(&body, &same);
            let keys = |fields: &[(String, serde_yaml::Value)]| fields.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
            prop_assert_eq!(keys(&before), keys(&after));
            for ((key, before), (_, after)) in before.iter().zip(&after) {
                match key.as_str() {
                    "name" => prop_assert_eq!(after.as_str(), Some(renamed)),
                    "allowed-tools" => prop_assert!(after.is_string()),
                    _ => prop_assert_eq!(before, after),
                }
            }
        }
        let back = plan(written(&there), |input| input.target = Target::Skills);
        let back = written(&back);
        prop_assert_eq!(back.files.keys().collect::<Vec<_>>(), skills.files.keys().collect::<Vec<_>>());
        for (path, file) in &skills.files {
            if path.ends_with("/SKILL.md") {
                let before = parts(std::str::from_utf8(&file.bytes).unwrap());
                let after = parts(std::str::from_utf8(&back.files[path].bytes).unwrap());
                prop_assert_eq!(before, after);
            } else {
                prop_assert_eq!(file, &back.files[path]);
            }
        }
    }

    #[test]
    fn a_package_for_claude_code_comes_back(package in package()) {
        let there = plan(package.clone(), |input| input.target = Target::ClaudeCode);
        let back = plan(written(&there), |input| input.from = Some(Client::ClaudeCode));
        let read = |tree: &Tree, path: &str| -> Value {
            tree.files.get(path).map_or(Value::Null, |file| serde_json::from_slice(&file.bytes).expect("JSON"))
        };
        prop_assert_eq!(read(&package, "mcp.json"), read(&written(&back), "mcp.json"));
        let mut after = json(&back, "plugin.json");
        let mut before = read(&package, "plugin.json");
        for manifest in [&mut before, &mut after] {
            if let Some(extensions) = manifest["extensions"].as_object_mut() {
                extensions.remove("com.anthropic.claude-code");
                extensions.remove("works.ever");
            }
            if manifest["extensions"] == json!({}) {
                manifest.as_object_mut().unwrap().remove("extensions");
            }
            if manifest["extensions"].is_null() {
                manifest.as_object_mut().unwrap().remove("extensions");
            }
        }
        prop_assert_eq!(before, after);
        for (path, file) in package.files.iter().filter(|(path, _)| path.starts_with("skills/") || path.starts_with("bin/")) {
            let output = back.outputs.iter().find(|output| output.path == *path).expect("the file");
            if path.ends_with("/SKILL.md") {
                prop_assert_eq!(parts(std::str::from_utf8(&file.bytes).unwrap()).1, parts(std::str::from_utf8(&output.bytes).unwrap()).1);
            } else {
                prop_assert_eq!(&file.bytes, &output.bytes);
            }
        }
    }
}
