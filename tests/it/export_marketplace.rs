//! `--plugin`: one plugin of a marketplace.

use apkit::export::Plan;
use serde_json::json;

use crate::export_support::{SKILL, input, json, losses, paths, planned, refused};

const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

const CATALOGUE: &str = r#"{
  "name": "market",
  "metadata": {"pluginRoot": "./plugins"},
  "plugins": [
    {"name": "divided", "source": "./", "strict": false, "version": "2.0.0", "description": "One.", "skills": ["./skills/tides"]},
    {"name": "bare", "source": "bare", "description": "From the entry.", "category": "sea", "tags": ["x"]},
    {"name": "own", "source": "./plugins/own", "description": "From the entry.", "version": "9.9.9"},
    {"name": "loose", "source": "./plugins/own", "strict": false, "description": "From the entry."},
    {"name": "served", "source": "./plugins/bare", "strict": false, "mcpServers": {"s": {"command": "srv"}}},
    {"name": "remote", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
    {"name": "packed", "source": {"source": "npm", "package": "@o/p", "version": "1.2.3"}},
    {"name": "inside", "source": {"source": "git-subdir", "url": "https://git.example/o/r.git", "path": "a/b", "sha": "abc"}}
  ]
}"#;

fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        (MARKETPLACE, CATALOGUE),
        ("LICENSE.txt", "Free.\n"),
        ("skills/tides/SKILL.md", SKILL),
        ("skills/ebb/SKILL.md", SKILL),
        ("tool/x.py", "pass\n"),
        ("plugins/bare/skills/tides/SKILL.md", SKILL),
        (
            "plugins/own/.claude-plugin/plugin.json",
            r#"{"name": "own", "version": "1.0.0"}"#,
        ),
        ("plugins/own/skills/tides/SKILL.md", SKILL),
    ]
}

fn of(plugin: &str) -> Plan {
    let mut input = input(&files());
    input.plugin = Some(plugin.to_owned());
    planned(input)
}

#[test]
fn an_entry_that_is_the_whole_definition_becomes_the_manifest() {
    let plan = of("divided");
    assert_eq!(
        paths(&plan),
        [
            ".claude-plugin/plugin.json",
            "LICENSE.txt",
            "plugin.json",
            "skills/tides/SKILL.md"
        ]
    );
    let manifest = json(&plan, "plugin.json");
    assert_eq!(manifest["name"], "divided");
    assert_eq!(manifest["version"], "2.0.0");
    assert_eq!(manifest["description"], "One.");
    assert_eq!(
        json(&plan, ".claude-plugin/plugin.json"),
        json!({"name": "divided", "version": "2.0.0", "description": "One."})
    );
    assert_eq!(
        losses(&plan),
        [("file-left-out", "5 other files beside the marketplace")]
    );
}

#[test]
fn an_entry_completes_what_the_plugin_says() {
    let manifest = |plugin: &str| json(&of(plugin), "plugin.json");
    let bare = manifest("bare");
    assert_eq!(bare["name"], "bare");
    assert_eq!(bare["description"], "From the entry.");
    assert!(losses(&of("bare")).is_empty());
    let own = manifest("own");
    assert_eq!(
        (&own["version"], &own["description"]),
        (&json!("1.0.0"), &json!("From the entry."))
    );
    assert_eq!(manifest("loose")["name"], "loose");
    let served = of("served");
    assert_eq!(
        json(&served, "mcp.json")["mcpServers"],
        json!({"s": {"type": "stdio", "command": "srv"}})
    );
    assert!(paths(&served).contains(&"skills/tides/SKILL.md"));
}

#[test]
fn what_is_not_there_is_named_with_the_way_to_it() {
    let told = |plugin: &str| {
        let mut input = input(&files());
        input.plugin = Some(plugin.to_owned());
        refused(input)
    };
    for (plugin, wanted) in [
        ("remote", "export git+https://github.com/o/r#v1"),
        ("packed", "export npm:@o/p@1.2.3"),
        (
            "inside",
            "export git+https://git.example/o/r.git?path=a/b#abc",
        ),
        ("dividd", "did you mean divided?"),
    ] {
        let told = told(plugin);
        assert!(told.contains(wanted), "{told}");
    }
    let mut none = input(&[("skills/tides/SKILL.md", SKILL)]);
    none.plugin = Some("x".to_owned());
    assert!(refused(none).contains(MARKETPLACE));
    let mut several = input(&files());
    several.sources.push(several.sources[0].clone());
    several.plugin = Some("bare".to_owned());
    assert!(refused(several).contains("one SOURCE"));
}

#[test]
fn what_is_named_as_a_source_is_one() {
    let listed = input(&files());
    let told = refused(listed);
    let (_, list) = told.split_once("--plugin: ").expect("a list");
    let sources: Vec<&str> = list
        .split(", ")
        .filter_map(|part| part.split_once("elsewhere: ")?.1.strip_suffix(')'))
        .collect();
    assert_eq!(sources.len(), 3, "{told}");
    let environment = apkit::source::Environment::default();
    for source in sources {
        let parsed = apkit::source::Source::parse(source, &environment).expect(source);
        assert_eq!(parsed.to_string(), source);
    }
}
