//! The JSON Schemas of what the commands print and of the files that they read: real
//! output keeps to them, in every state that there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::world::{Repository, World};
use crate::support::{Place, manifest};

/// The schema that the program prints.
fn schema(document: &str) -> Value {
    let run = Place::new().run(["schema", document]);
    assert_eq!(run.status, Some(0), "{run:?}");
    serde_json::from_str(&run.stdout).expect("JSON")
}

fn validator(document: &str) -> Arc<Validator> {
    static KNOWN: LazyLock<Mutex<BTreeMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().expect("no test panics here");
    Arc::clone(known.entry(document.to_owned()).or_insert_with(|| {
        let validator = jsonschema::validator_for(&schema(document));
        Arc::new(validator.expect("a schema"))
    }))
}

/// What is wrong with a document.
fn problems(document: &str, found: &Value) -> Vec<String> {
    let validator = validator(document);
    let problems = validator.iter_errors(found);
    problems
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// Holds what a command printed, or a file, against its schema.
pub(crate) fn check(document: &str, found: &Value) {
    let problems = problems(document, found);
    assert!(problems.is_empty(), "{document}: {problems:#?}\n{found:#}");
}

/// Collects the words of one member.
#[derive(Default)]
struct Seen(BTreeSet<String>);

impl Seen {
    fn add(&mut self, found: &Value, list: &str, member: &str) {
        for item in found[list].as_array().expect("a list") {
            let word = item[member].as_str().expect("a word");
            self.0.insert(word.to_owned());
        }
    }

    fn assert(&self, words: &str) {
        let wanted: BTreeSet<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(self.0, wanted);
    }
}

/// A package of which half does not load.
fn half(world: &World, path: &str, text: &str) {
    world.package(path, "tide-table", text);
    world.write(&format!("{path}/skills/ebb/SKILL.md"), "no frontmatter\n");
    world.write(
        &format!("{path}/mcp.json"),
        r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
"mcpServers": {"a": {"type": "http", "url": "https://host.example/"},
"b": {"type": "stdio", "command": "node"}}}"#,
    );
}

#[test]
fn every_outcome_of_import_and_update_keeps_to_its_schema() {
    let world = World::new();
    let (mut imports, mut updates) = (Seen::default(), Seen::default());
    let mut import = |status: i32, arguments: &[&str]| {
        let found = world.json(status, &[&["import", "--json"], arguments].concat());
        imports.add(&found, "results", "outcome");
    };
    let mut update = |status: i32, arguments: &[&str]| {
        let found = world.json(status, &[&["update", "--json"], arguments].concat());
        updates.add(&found, "results", "outcome");
    };
    half(&world, "p", "One.");
    import(0, &["./p", "--dry-run"]);
    import(0, &["./p", "--skills-to", "folders"]);
    import(0, &["./p"]);
    update(0, &[]);
    fs::remove_dir_all(world.installed("tide-table")).expect("removed");
    update(1, &["--check"]);
    import(0, &["./p"]);
    world.write("home/.agents/plugins/tide-table/plugin.json", "{}");
    update(0, &[]);
    // The same content from elsewhere, and another one.
    half(&world, "q", "One.");
    import(0, &["./q", "--replace"]);
    half(&world, "p", "Two.");
    import(0, &["./p", "--replace"]);
    half(&world, "p", "Three.");
    update(1, &["--check"]);
    update(0, &[]);
    world.write("p/plugin.json", "{");
    update(1, &[]);
    import(1, &["./p"]);
    import(2, &["./nothing", "no source", "./q"]);
    fs::remove_dir_all(world.path("p")).expect("removed");
    update(2, &["tide-table", "nobody"]);
    half(&world, "p", "Four.");
    world.write(
        "home/.agents/apkit.toml",
        "[[deny]]\nkind = \"directory\"\n",
    );
    update(1, &[]);
    import(1, &["./p"]);
    fs::remove_file(world.path("home/.agents/apkit.toml")).expect("removed");
    // A commit that changes nothing of the package.
    half(&world, "repo", "One.");
    let repository = Repository::of(&world.path("repo"));
    import(0, &[&repository.source(), "--replace"]);
    repository.commit("second");
    update(0, &[]);
    world.lock();
    imports
        .assert("installed updated repaired recorded unchanged rejected denied unreachable failed");
    updates.assert(
        "current available repairable updated repaired recorded rejected denied unreachable failed",
    );
}

#[test]
fn every_state_of_verify_keeps_to_its_schema() {
    let world = World::new();
    let mut states = Seen::default();
    let mut verify = |status: i32| {
        let found = world.json(status, &["verify", "--json"]);
        states.add(&found, "packages", "state");
    };
    half(&world, "p", "One.");
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    verify(0);
    world.write("home/.agents/plugins/stray/file", "stray");
    world.write("folders/tides/SKILL.md", "changed");
    world.write("home/.agents/plugins/tide-table/plugin.json", "{}");
    verify(1);
    fs::remove_dir_all(world.installed("tide-table")).expect("removed");
    verify(1);
    world.write("home/.agents/plugins/tide-table", "a file");
    verify(1);
    fs::remove_file(world.installed("tide-table")).expect("removed");
    fs::remove_dir_all(world.path("folders")).expect("removed");
    world.expect(0, &["import", "./p"]);
    let path = world.root().join("apkit.lock");
    let lock = fs::read_to_string(&path).expect("a lock file");
    fs::write(&path, lock.replace("\"1.0.0\"\n", "\"1.0.1\"\n")).expect("a file");
    verify(1);
    states.assert("intact missing changed odd misrecorded");
}

#[test]
fn lists_skills_and_removals_keep_to_their_schemas() {
    let world = World::new();
    for command in ["list", "skills", "verify"] {
        world.json(0, &[command, "--json"]);
    }
    half(&world, "catalogue/p", "One.");
    world.write("catalogue/q/plugin.json", "{");
    world.write("repo/plugin.json", manifest("aa", ""));
    let repository = Repository::of(&world.path("repo"));
    world.expect(0, &["import", "./catalogue/p", &repository.source()]);
    world.expect(0, &["import", "builtin:everos"]);
    world.json(0, &["list", "--json"]);
    world.json(0, &["list", "--available", "--from", "catalogue", "--json"]);
    world.json(2, &["list", "--available", "--from", "nowhere", "--json"]);
    world.json(0, &["skills", "--json"]);
    world.json(0, &["skills", "show", "tides", "--json"]);
    world.lock();
    fs::remove_dir_all(world.installed("aa")).expect("removed");
    world.json(0, &["list", "--json"]);
    world.write("home/.agents/plugin-data/tide-table/state", "kept");
    let copies = ["--skills-to", "folders"];
    world.expect(0, &[&["import", "./catalogue/p"][..], &copies].concat());
    world.json(
        0,
        &[&["remove", "tide-table", "--json"][..], &copies].concat(),
    );
    world.write("home/.agents/plugins/tide-table/more", "more");
    let found = world.json(2, &["remove", "tide-table", "nobody", "--json"]);
    assert_eq!(found["results"][0]["data_kept"], true);
    // Data alone.
    world.json(0, &["remove", "tide-table", "--purge", "--json"]);
    for package in ["catalogue/p", "catalogue/q", "repo"] {
        let run = world.run(&["inspect", package, "--format", "json"]);
        check("inspect", &serde_json::from_str(&run.stdout).expect("JSON"));
    }
}

#[test]
fn the_schemas_are_closed() {
    let world = World::new();
    half(&world, "p", "One.");
    let imported = world.json(0, &["import", "./p", "--json"]);
    let inspected = world.expect(0, &["inspect", "p", "--format", "json"]);
    let inspected: Value = serde_json::from_str(&inspected.stdout).expect("JSON");
    let change = |document: &Value, pointer: &str, value: Value| {
        let mut changed = document.clone();
        let (above, name) = pointer.rsplit_once('/').expect("a pointer");
        changed.pointer_mut(above).expect("a place")[name] = value;
        changed
    };
    for (document, pointer, value) in [
        ("import", "/more", json!(1)),
        ("import", "/schema_version", json!(2)),
        ("import", "/results/0/more", json!(1)),
        ("import", "/results/0/outcome", json!("current")),
        ("import", "/results/0/outcome", json!("rejected")),
        ("import", "/results/0/after/more", json!(1)),
        ("import", "/results/0/after/digest", json!("sha256:00")),
        ("import", "/results/0/package/verdict", json!("odd")),
        ("import", "/results/0/folders/more", json!([])),
        ("inspect", "/package/more", json!(1)),
        ("inspect", "/package/mcp/loaded/0/transport", json!("sse")),
    ] {
        let right = match document {
            "inspect" => &inspected,
            _ => &imported,
        };
        check(document, right);
        let wrong = change(right, pointer, value);
        assert!(!problems(document, &wrong).is_empty(), "{pointer}");
    }
    // What is printed stands alone, and holds nothing that it does not use.
    let list = schema("list");
    assert_eq!(list["$id"], "urn:apkit:schema:list:1");
    assert_eq!(list["title"], "apkit list, version 1");
    assert!(list["$defs"]["package"].is_object());
    assert!(schema("verify")["$defs"]["package"].is_null());
}

/// Whether the program reads the file `name` of the store.
fn is_read(world: &World, name: &str, text: &str) -> bool {
    world.write(&format!("home/.agents/{name}"), text);
    let run = world.run(&["list"]);
    assert!(matches!(run.status, Some(0 | 2)), "{run:?}");
    run.status == Some(0)
}

#[test]
fn the_schema_of_the_lock_file_agrees_with_the_program() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    world.expect(
        0,
        &["import", &repository.source(), "--skills-to", "folders"],
    );
    let right = world.lock();
    assert!(is_read(&world, "apkit.lock", &right.to_string()));
    let entry = "/packages/tide-table";
    let mut cases = vec![
        (entry.to_owned(), "more", json!("x")),
        (entry.to_owned(), "digest", json!("sha256:00")),
        (entry.to_owned(), "mode", json!("link")),
        (format!("{entry}/resolved"), "more", json!("x")),
        (format!("{entry}/resolved"), "commit", json!("main")),
        (format!("{entry}/resolved"), "version", json!("1.0.0")),
        (format!("{entry}/folders/0"), "scripts", json!("yes")),
        (String::new(), "lock_version", json!(2)),
        (String::new(), "more", json!({})),
        (
            "/packages".to_owned(),
            "Tide",
            right["packages"]["tide-table"].clone(),
        ),
        (
            "/packages".to_owned(),
            "a--b",
            right["packages"]["tide-table"].clone(),
        ),
    ];
    let members = right["packages"]["tide-table"].as_object().expect("a map");
    for member in members
        .keys()
        .filter(|key| !["folders", "version"].contains(&&***key))
    {
        cases.push((entry.to_owned(), member, Value::Null));
    }
    for (above, name, value) in cases {
        let mut wrong = right.clone();
        let place = wrong.pointer_mut(&above).and_then(Value::as_object_mut);
        let place = place.expect("a place");
        if value.is_null() {
            place.remove(name);
        } else {
            place.insert(name.to_owned(), value);
        }
        let text = wrong.to_string();
        assert!(!is_read(&world, "apkit.lock", &text), "{above}/{name}");
        assert!(!problems("lock", &wrong).is_empty(), "{above}/{name}");
    }
}

#[test]
fn the_schema_of_the_rules_agrees_with_the_program() {
    let world = World::new();
    let digest = format!("sha256:{}", "0".repeat(64));
    let integrity = format!("sha512-{}==", "A".repeat(86));
    let pinned = format!("[[stdio.allow]]\nplugin = \"p\"\ndigest = \"{digest}\"\n");
    let any_plugin = pinned.replace("\"p\"", "\"a*\"");
    let readme = include_str!("../../../README.md");
    let samples = readme
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(sample, _)| sample.replace("sha256:…", &digest))
        .map(|sample| sample.replace("sha512-…", &integrity))
        .filter(|sample| sample.contains("[[deny]]") || sample.contains("[[stdio.allow]]"));
    let samples: Vec<String> = samples.collect();
    assert_eq!(samples.len(), 2);
    let right = [
        "",
        &*pinned,
        &samples[0],
        &samples[1],
        "[[deny]]\nkind = \"npm\"\nhost = \"h\"\nscope = \"@a\"\nname = \"n\"\nplugin = \"p\"\nversion = \"<2\"\nintegrity = \"0123456789abcdef0123456789abcdef01234567\"\nreason = \"r\"\n",
        "[[stdio.deny]]\nplugin = \"p\"\nserver = \"s\"\nreason = \"r\"\n",
        "[[remote.deny]]\nhost = \"h\"\nplugin = \"p\"\nserver = \"s\"\nreason = \"r\"\n",
        "[stdio]\n[remote]\nprivate = []\n",
        "[[deny]]\nhost = \"::1\"\n",
        "[[deny]]\nhost = \"[::1]\"\n",
        "[[deny]]\nkind = \"npm\"\nscope = \"*\"\nname = \"@a/*\"\n",
        "[[deny]]\nname = \"@a/b\"\n",
        "[[deny]]\nkind = \"git\"\nscope = \"acme\"\nname = \"tides\"\nplugin = \"tide-*\"\n",
        "[[remote.deny]]\nhost = \"::1\"\n",
    ];
    let wrong = [
        "more = 1\n",
        "sources = \"one\"\n",
        "[[allow]]\nkind = \"svn\"\n",
        "[[allow]]\nmore = \"x\"\n",
        "[[deny]]\n",
        "[[deny]]\nreason = \"r\"\n",
        "[[allow]]\nhost = \"\"\n",
        "[[allow]]\nintegrity = \"sha512-nonsense\"\n",
        "[[deny]]\nversion = 2\n",
        "[[stdio.allow]]\nplugin = \"p\"\n",
        "[[stdio.allow]]\nplugin = \"p\"\ndigest = \"sha256:00\"\n",
        "[[stdio.deny]]\ndigest = \"x\"\n",
        "[[remote.allow]]\nplugin = \"p\"\n",
        "[remote]\nmore = 1\n",
        "[[deny]]\nhost = \"a:1\"\n",
        "[[deny]]\nhost = \"[::1]:80\"\n",
        "[[deny]]\nhost = \"a/b\"\n",
        "[[deny]]\nkind = \"directory\"\nhost = \"a\"\n",
        "[[deny]]\nkind = \"npm\"\nscope = \"acme\"\n",
        "[[deny]]\nkind = \"git\"\nscope = \"@acme\"\n",
        "[[deny]]\nkind = \"archive\"\nscope = \"acme\"\n",
        "[[deny]]\nscope = \"acme/tools\"\n",
        "[[deny]]\nkind = \"git\"\nname = \"acme/tools\"\n",
        "[[deny]]\nkind = \"git\"\nname = \"tools.git\"\n",
        "[[deny]]\nname = \"acme/tools\"\n",
        "[[deny]]\nplugin = \"a b\"\n",
        "[[remote.deny]]\nhost = \"a/b\"\n",
        "[[remote.deny]]\nhost = \"a:1\"\n",
        &any_plugin,
    ];
    for (texts, is_right) in [(&right[..], true), (&wrong[..], false)] {
        for text in texts {
            let value: Value = toml::from_str(text).expect("TOML");
            let problems = problems("policy", &value);
            assert_eq!(problems.is_empty(), is_right, "{text}: {problems:?}");
            assert_eq!(is_read(&world, "apkit.toml", text), is_right, "{text}");
        }
    }
}

#[test]
fn a_schema_of_the_program_has_no_version_of_the_specification() {
    let place = Place::new();
    for document in [
        "inspect",
        "import",
        "lock",
        "apkit.lock",
        "policy",
        "apkit.toml",
    ] {
        assert_eq!(
            place.run(["schema", document]).status,
            Some(0),
            "{document}"
        );
        let run = place.run(["schema", document, "--spec", "1.0.0"]);
        assert_eq!(run.status, Some(2), "{document}");
        assert!(run.stderr.contains("leave out --spec"), "{}", run.stderr);
    }
}
