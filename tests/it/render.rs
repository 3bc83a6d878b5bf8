//! The report formats, from reports made by hand.

use std::sync::Arc;

use apkit::diagnostic::{Code, Diagnostic, LineIndex, Span, Threshold};
use apkit::package::{
    Mcp, McpState, Package, Report, Server, Skill, Skills, SkillsState, SkippedSkill, Transport,
    Verdict,
};
use apkit::render::{self, Screen, text};
use apkit::spec::codes;
use proptest::prelude::*;
use serde_json::Value;

/// A name that tries to break out of every format.
const HOSTILE: &str = "a\u{1b}[31m%\r\n::error::x,y:z\"'<&]]>\u{202e}\u{9b}é";

fn code(id: &str) -> &'static Code {
    codes::find(id).unwrap_or_else(|| panic!("no code {id}"))
}

fn package(path: &str) -> Package {
    Package {
        path: path.to_owned(),
        verdict: Verdict::Loaded,
        name: Some("acme-tools".to_owned()),
        version: Some("1.4.0".to_owned()),
        spec_version: Some("1.0.0"),
        skills: Skills::default(),
        mcp: Mcp::default(),
        diagnostics: Vec::new(),
        sources: std::collections::BTreeMap::new(),
    }
}

/// Adds a finding at the first place where `needle` stands in `source`.
fn find_in(package: &mut Package, id: &str, path: &str, source: &str, needle: &str) {
    let start = source.find(needle).expect("the needle");
    let span = Span::new(start, start + needle.len());
    let place = LineIndex::new(source.as_bytes()).locate(span);
    package.sources.insert(path.to_owned(), Arc::from(source));
    let found = Diagnostic::new(code(id), path, format!("{needle} is wrong here"))
        .with_help("write something else")
        .at(place);
    package.diagnostics.push(found);
}

/// A package with a bit of everything.
fn mixed() -> Package {
    let mut package = package("./pkgs/acme");
    package.skills = Skills {
        state: SkillsState::Loaded,
        loaded: ["csv", "pdf"]
            .map(|name| Skill {
                name: name.to_owned(),
                path: format!("skills/{name}"),
                description: "Does a thing. Use it when asked to.".to_owned(),
            })
            .to_vec(),
        skipped: vec![SkippedSkill {
            path: "skills/zip".to_owned(),
        }],
    };
    package.mcp = Mcp {
        state: McpState::Enabled,
        loaded: vec![
            Server {
                name: "local".to_owned(),
                transport: Transport::Stdio {
                    command: "./bin/server".to_owned(),
                    args: vec!["--port".to_owned(), "3".to_owned()],
                    env: vec![("TOKEN".to_owned(), "secret-value".to_owned())],
                    cwd: None,
                },
            },
            Server {
                name: "remote".to_owned(),
                transport: Transport::StreamableHttp {
                    url: "https://example.test/mcp".to_owned(),
                    headers: vec![("X-Key".to_owned(), "secret-value".to_owned())],
                },
            },
        ],
        skipped: vec!["git".to_owned()],
    };
    find_in(
        &mut package,
        "manifest::unknown-field",
        "plugin.json",
        "{\n  \"name\": \"acme-tools\",\n  \"colour\": 1\n}\n",
        "\"colour\"",
    );
    package.diagnostics[0].pointer = Some("/colour".to_owned());
    find_in(
        &mut package,
        "skill::name-mismatch",
        "skills/zip/SKILL.md",
        "---\nname: zap\ndescription: x\n---\n",
        "zap",
    );
    find_in(
        &mut package,
        "mcp::env-reserved",
        "mcp.json",
        "{\"mcpServers\": {\"git\": {\"env\": {\"PLUGIN_ROOT\": \"x\"}}}}",
        "\"PLUGIN_ROOT\"",
    );
    package.diagnostics[2].pointer = Some("/mcpServers/git/env/PLUGIN_ROOT".to_owned());
    package
}

fn rejected() -> Package {
    let mut package = package("broken");
    package.verdict = Verdict::Rejected;
    package.name = None;
    package.version = None;
    package.spec_version = None;
    package.diagnostics = vec![
        Diagnostic::new(
            code("manifest::missing"),
            "plugin.json",
            "there is no plugin.json",
        )
        .with_help("create one"),
    ];
    package
}

fn hostile() -> Package {
    let mut package = package(HOSTILE);
    package.name = Some(HOSTILE.to_owned());
    package.version = Some(HOSTILE.to_owned());
    package.skills.state = SkillsState::Loaded;
    package.skills.loaded = vec![Skill {
        name: HOSTILE.to_owned(),
        path: format!("skills/{HOSTILE}"),
        description: HOSTILE.to_owned(),
    }];
    package.mcp.state = McpState::Enabled;
    package.mcp.loaded = vec![Server {
        name: HOSTILE.to_owned(),
        transport: Transport::Stdio {
            command: HOSTILE.to_owned(),
            args: vec![HOSTILE.to_owned()],
            env: vec![(HOSTILE.to_owned(), String::new())],
            cwd: Some(HOSTILE.to_owned()),
        },
    }];
    package.mcp.skipped = vec![format!("{HOSTILE}2")];
    let source = format!("{{\"k\": \"{HOSTILE}\"}}");
    find_in(
        &mut package,
        "manifest::unknown-field",
        HOSTILE,
        &source,
        "\"k\"",
    );
    find_in(
        &mut package,
        "manifest::unknown-field",
        HOSTILE,
        &source,
        &HOSTILE[..9],
    );
    let found = Diagnostic::new(code("mcp::type-unknown"), "mcp.json", HOSTILE)
        .with_help(HOSTILE)
        .with_pointer(format!("/mcpServers/{HOSTILE}2"));
    package.diagnostics.push(found);
    package
}

fn report(packages: impl IntoIterator<Item = Package>) -> Report {
    Report {
        packages: packages.into_iter().collect(),
    }
}

fn string(write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("UTF-8")
}

const PLAIN: Screen = Screen {
    color: false,
    unicode: true,
    width: 80,
};

fn as_text(report: &Report, screen: Screen) -> String {
    let options = text::Options {
        screen,
        quiet: None,
    };
    string(|out| text::write(report, &options, out))
}

/// What may stand in output that a terminal shows.
fn is_harmless(text: &str) -> bool {
    let bad = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    !text.chars().any(bad)
}

#[test]
fn no_format_lets_a_hostile_name_through() {
    let report = report([hostile()]);
    let outputs = [
        as_text(&report, PLAIN),
        string(|out| render::json_v1::write(&report, out)),
        string(|out| render::sarif::write(&report, out)),
        string(|out| render::github::write(&report, out)),
        string(|out| {
            render::junit::write(&report, &|code| Threshold::Skipped.is_reached_by(code), out)
        }),
        string(|out| render::load_report::write(&report, out)),
        string(|out| render::inspect::write_text(&report.packages[0], PLAIN, out)),
        string(|out| render::inspect::write_json(&report.packages[0], out)),
    ];
    for output in outputs {
        assert!(is_harmless(&output), "{output}");
    }
}

#[test]
fn text_shows_source_effect_help_and_rule() {
    let shown = as_text(&report([mixed(), rejected(), package("clean")]), PLAIN);
    let expected = r#"✗ acme-tools 1.4.0 (./pkgs/acme): loads 2 of 3 skills and 2 of 3 servers
  skipped: skills/zip, mcp.json#git

warning[manifest::unknown-field]
  ⚠ "colour" is wrong here
   ╭─[pkgs/acme/plugin.json:3:3]
 2 │   "name": "acme-tools",
 3 │   "colour": 1
   ·   ────────
 4 │ }
   ╰────
    help: write something else
  effect: clients ignore this field and load the package
    rule: Agent Plugins §5.2, requirement AP-4

error[skill::name-mismatch]
  × zap is wrong here
   ╭─[pkgs/acme/skills/zip/SKILL.md:2:7]
 1 │ ---
 2 │ name: zap
   ·       ───
 3 │ description: x
   ╰────
    help: write something else
  effect: clients skip this skill and load the others
    rule: Agent Skills, requirement AP-8

error[mcp::env-reserved]
  × "PLUGIN_ROOT" is wrong here
   ╭─[pkgs/acme/mcp.json:1:33]
 1 │ {"mcpServers": {"git": {"env": {"PLUGIN_ROOT": "x"}}}}
   ·                                 ─────────────
   ╰────
    help: write something else
  effect: clients skip this server and load the others
    rule: Agent Plugins §9.2, requirement AP-13

✗ broken: rejected, clients load nothing of it

error[manifest::missing]
  × there is no plugin.json
      at: broken/plugin.json
    help: create one
  effect: clients reject the whole package
    rule: Agent Plugins §5.1, requirement AP-1

✓ acme-tools 1.4.0 (clean): loads, but holds no skills and no servers
3 packages, 2 load, 1 rejected: 3 errors, 1 warning
More about a finding: apkit explain skill::name-mismatch
"#;
    assert_eq!(shown, expected);
}

#[test]
fn text_obeys_the_screen() {
    let report = report([mixed(), rejected()]);
    let colored = as_text(
        &report,
        Screen {
            color: true,
            ..PLAIN
        },
    );
    assert!(colored.contains("\u{1b}[1;31merror[skill::name-mismatch]\u{1b}[0m"));
    let ascii = as_text(
        &report,
        Screen {
            unicode: false,
            ..PLAIN
        },
    );
    // The section sign is the specification's own.
    assert!(ascii.replace('§', "").is_ascii(), "{ascii}");
    for width in [0, 1, 40] {
        as_text(&report, Screen { width, ..PLAIN });
    }
}

#[test]
fn quiet_text_shows_what_counts_and_the_summary() {
    let quiet = |threshold: Threshold| {
        let counts = |code: &Code| threshold.is_reached_by(code);
        let options = text::Options {
            screen: PLAIN,
            quiet: Some(&counts),
        };
        let report = report([mixed(), rejected(), package("clean")]);
        string(|out| text::write(&report, &options, out))
    };
    let summary = "3 packages, 2 load, 1 rejected: 3 errors, 1 warning";
    for (threshold, shown, hidden) in [
        (
            Threshold::Rejected,
            &["manifest::missing"][..],
            &["name-mismatch", "unknown-field", "clean"][..],
        ),
        (
            Threshold::Skipped,
            &["manifest::missing", "skill::name-mismatch"],
            &["unknown-field", "clean"],
        ),
        (
            Threshold::Warning,
            &["skill::name-mismatch", "manifest::unknown-field"],
            &["clean"],
        ),
    ] {
        let text = quiet(threshold);
        assert!(text.contains(summary), "{text}");
        for part in shown {
            assert!(text.contains(part), "{threshold:?} lacks {part}: {text}");
        }
        for part in hidden {
            assert!(!text.contains(part), "{threshold:?} shows {part}: {text}");
        }
    }
}

#[test]
fn many_clean_packages_are_counted() {
    let mut packages: Vec<Package> = (0..30).map(|n| package(&format!("p{n}"))).collect();
    packages.push(mixed());
    let text = as_text(&report(packages), PLAIN);
    assert!(text.contains("✓ 30 packages without findings\n"), "{text}");
    assert!(!text.contains("p7"), "{text}");
    assert!(text.contains("31 packages, all load: 2 errors, 1 warning"));
}

#[test]
fn a_huge_line_is_cut_around_the_finding() {
    let source = format!(
        "{{\"a\":\"{}\",\"needle\":1,\"b\":\"{}\"}}",
        "x".repeat(500_000),
        "\u{1b}é".repeat(200_000)
    );
    let mut package = package("p");
    find_in(
        &mut package,
        "manifest::unknown-field",
        "plugin.json",
        &source,
        "\"needle\"",
    );
    let text = as_text(&report([package]), PLAIN);
    assert!(text.len() < 2_000, "{} bytes", text.len());
    let lines: Vec<&str> = text.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.contains("1 │ …"))
        .expect("a cut line");
    assert!(lines[at].ends_with('…') && lines[at].chars().count() <= 80);
    let column = |line: &str, part: &str| line.find(part).map(|at| line[..at].chars().count());
    assert_eq!(
        column(lines[at], "\"needle\""),
        column(lines[at + 1], "────────")
    );
    assert!(text.contains("plugin.json:1:500009"), "{text}");
}

#[test]
fn a_span_of_many_lines_shows_its_first() {
    let source = format!("---\nname: x\n{}", "more\n".repeat(1_000));
    let mut package = package("p");
    let all = source.clone();
    find_in(
        &mut package,
        "skill::frontmatter-unclosed",
        "skills/x/SKILL.md",
        &source,
        &all,
    );
    package.diagnostics[0].message = "never closed".to_owned();
    let text = as_text(&report([package]), PLAIN);
    assert!(text.contains(" 1 │ ---\n"), "{text}");
    assert!(text.contains("up to line 1003"), "{text}");
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn a_source_that_offsets_do_not_fit_is_not_shown() {
    let mut package = package("p");
    let place = LineIndex::new(b"{\n\xff\xff\xff\"x\"}").locate(Span::new(5, 8));
    let found = Diagnostic::new(code("manifest::unknown-field"), "plugin.json", "x").at(place);
    package.diagnostics.push(found);
    let lossy = "{\n\u{fffd}\u{fffd}\u{fffd}\"x\"}";
    package
        .sources
        .insert("plugin.json".to_owned(), Arc::from(lossy));
    let text = as_text(&report([package]), PLAIN);
    assert!(text.contains("at: p/plugin.json:2:"), "{text}");
    assert!(!text.contains('╭'), "{text}");
}

proptest! {
    #[test]
    fn text_draws_any_place_of_any_source(
        source in "(\\PC|[\\n\\r\\t\\x1b \u{202e}]|漢|x{90}){0,12}",
        start in 0_usize..200,
        length in 0_usize..200,
        width in 0_usize..90,
    ) {
        let span = Span::new(start, start + length);
        let place = LineIndex::new(source.as_bytes()).locate(span);
        let mut package = package("p");
        package.sources.insert("plugin.json".to_owned(), Arc::from(source.as_str()));
        let found = Diagnostic::new(code("manifest::unknown-field"), "plugin.json", "m").at(place);
        package.diagnostics.push(found);
        let text = as_text(&report([package]), Screen { width, ..PLAIN });
        prop_assert!(is_harmless(&text), "{text:?}");
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn the_json_report_keeps_to_its_schema_and_order() {
    let schema = json(render::json_v1::SCHEMA);
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    for packages in [vec![], vec![mixed(), rejected(), hostile()]] {
        let text = string(|out| render::json_v1::write(&report(packages), out));
        let document = json(&text);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    let text = string(|out| render::json_v1::write(&report([rejected()]), out));
    let compact = text.replace([' ', '\n'], "");
    let expected = concat!(
        r#"{"schema_version":1,"tool":{"name":"apkit","version":""#,
        env!("CARGO_PKG_VERSION"),
        r#""},"packages":[{"path":"broken","verdict":"rejected","name":null,"version":null,"#,
        r#""spec_version":null,"skills":{"state":"absent","loaded":[],"skipped":[]},"#,
        r#""mcp":{"state":"absent","loaded":[],"skipped":[]},"diagnostics":[{"severity":"error","#,
        r#""code":"manifest::missing","effect":"package-rejected","#,
        r#""message":"thereisnoplugin.json","help":"createone","path":"plugin.json","#,
        r#""pointer":null,"span":null,"spec":"§5.1","requirement":"AP-1"}]}],"#,
        r#""summary":{"packages":1,"loaded":0,"rejected":1,"errors":1,"warnings":0,"infos":0}}"#,
    );
    assert_eq!(compact, expected);
}

#[test]
fn the_json_schema_is_closed_and_refuses_other_words() {
    let schema = json(render::json_v1::SCHEMA);
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let good = json(&string(|out| {
        render::json_v1::write(&report([mixed()]), out)
    }));
    for (pointer, value) in [
        ("", "x"),
        ("/packages/0", "x"),
        ("/packages/0/skills", "x"),
        ("/packages/0/mcp/loaded/0", "x"),
        ("/packages/0/diagnostics/0", "x"),
        ("/packages/0/diagnostics/0/span", "x"),
        ("/summary", "x"),
    ] {
        let mut bad = good.clone();
        bad.pointer_mut(pointer).expect("there")["extra"] = value.into();
        assert!(!validator.is_valid(&bad), "{pointer} takes an extra field");
    }
    for pointer in [
        "/packages/0/verdict",
        "/packages/0/skills/state",
        "/packages/0/mcp/state",
        "/packages/0/mcp/loaded/0/transport",
        "/packages/0/diagnostics/0/severity",
        "/packages/0/diagnostics/0/effect",
        "/packages/0/diagnostics/0/code",
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect("there") = "other".into();
        assert!(!validator.is_valid(&bad), "{pointer} takes any word");
    }
}

#[test]
fn workflow_commands_name_file_lines_and_columns() {
    let mut package = mixed();
    let source = "{\n\"a\":\n1}";
    find_in(
        &mut package,
        "mcp::sse-optional",
        "mcp.json",
        source,
        "\"a\":\n1",
    );
    package.diagnostics[3].help = None;
    let text = string(|out| render::github::write(&report([package, rejected()]), out));
    let expected = "\
::warning file=pkgs/acme/plugin.json,line=3,col=3,endLine=3,endColumn=11,title=manifest%3A%3Aunknown-field::\"colour\" is wrong here%0Ahelp: write something else%0Aeffect: clients ignore this field and load the package
::error file=pkgs/acme/skills/zip/SKILL.md,line=2,col=7,endLine=2,endColumn=10,title=skill%3A%3Aname-mismatch::zap is wrong here%0Ahelp: write something else%0Aeffect: clients skip this skill and load the others
::error file=pkgs/acme/mcp.json,line=1,col=33,endLine=1,endColumn=46,title=mcp%3A%3Aenv-reserved::\"PLUGIN_ROOT\" is wrong here%0Ahelp: write something else%0Aeffect: clients skip this server and load the others
::notice file=pkgs/acme/mcp.json,line=2,col=1,endLine=3,title=mcp%3A%3Asse-optional::\"a\":%0A1 is wrong here
::error file=broken/plugin.json,title=manifest%3A%3Amissing::there is no plugin.json%0Ahelp: create one%0Aeffect: clients reject the whole package
";
    assert_eq!(text, expected);
}

#[test]
fn workflow_commands_of_a_hostile_package_stay_one_line_each() {
    let package = hostile();
    let count = package.diagnostics.len();
    let text = string(|out| render::github::write(&report([package]), out));
    assert_eq!(text.lines().count(), count);
    for line in text.lines() {
        assert!(
            line.starts_with("::error file=a\\u{1b}[31m%25%0D%0A%3A%3Aerror%3A%3Ax%2Cy%3Az")
                || line.starts_with("::warning file=a\\u{1b}[31m%25%0D%0A%3A%3Aerror%3A%3Ax%2Cy"),
            "{line}"
        );
    }
}

#[test]
fn sarif_has_rules_regions_and_stable_fingerprints() {
    let log = |report: &Report| json(&string(|out| render::sarif::write(report, out)));
    let before = log(&report([mixed(), rejected()]));
    let run = &before["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    let results = run["results"].as_array().expect("results");
    assert_eq!((rules.len(), results.len()), (4, 4));
    for result in results {
        let index =
            usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(
            rules[index]["defaultConfiguration"]["level"],
            result["level"]
        );
    }
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(
        place["artifactLocation"]["uri"],
        "pkgs/acme/skills/zip/SKILL.md"
    );
    assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
    let region = serde_json::json!({
        "startLine": 2, "startColumn": 7, "endLine": 2, "endColumn": 10,
        "byteOffset": 10, "byteLength": 3,
    });
    assert_eq!(place["region"], region);
    assert_eq!(
        results[3]["locations"][0]["physicalLocation"]["region"],
        Value::Null
    );

    // Lines move and words change; the finding is the same one.
    let mut moved = mixed();
    for found in &mut moved.diagnostics {
        found.message.push_str(", says another version");
        if let Some(place) = &mut found.location {
            place.line += 7;
            place.offset += 70;
        }
    }
    let after = log(&report([moved, rejected()]));
    for (number, result) in results.iter().enumerate() {
        assert_eq!(
            result["partialFingerprints"],
            after["runs"][0]["results"][number]["partialFingerprints"]
        );
    }

    // Two findings that are equal in all facts stay two.
    let twice = log(&report([hostile()]));
    let results = twice["runs"][0]["results"].as_array().expect("results");
    assert_ne!(
        results[0]["partialFingerprints"],
        results[1]["partialFingerprints"]
    );
}

#[test]
fn sarif_makes_no_link_of_package_data() {
    let mut package = rejected();
    package.diagnostics[0].message = "see [here](https://example.test)".to_owned();
    let text = string(|out| render::sarif::write(&report([package]), out));
    let message = &json(&text)["runs"][0]["results"][0]["message"]["text"];
    let message = message.as_str().expect("a text");
    assert!(message.starts_with("see [here] (https://"), "{message}");
}

#[test]
fn junit_has_a_case_for_everything_a_client_loads() {
    let xml = |threshold: Threshold| {
        let counts = |code: &Code| threshold.is_reached_by(code);
        string(|out| render::junit::write(&report([mixed(), rejected()]), &counts, out))
    };
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="apkit" tests="9" failures="3" errors="0">
  <testsuite name="pkgs/acme" tests="8" failures="2" errors="0" skipped="0">
    <testcase classname="pkgs/acme" name="plugin.json" file="pkgs/acme/plugin.json" time="0">
      <system-out>pkgs/acme/plugin.json:3:3: warning[manifest::unknown-field]: &quot;colour&quot; is wrong here
  help: write something else
  effect: clients ignore this field and load the package
</system-out>
    </testcase>
    <testcase classname="pkgs/acme" name="skills/csv" file="pkgs/acme/skills/csv/SKILL.md" time="0"/>
    <testcase classname="pkgs/acme" name="skills/pdf" file="pkgs/acme/skills/pdf/SKILL.md" time="0"/>
    <testcase classname="pkgs/acme" name="skills/zip" file="pkgs/acme/skills/zip/SKILL.md" time="0">
      <failure type="skill::name-mismatch" message="zap is wrong here">pkgs/acme/skills/zip/SKILL.md:2:7: error[skill::name-mismatch]: zap is wrong here
  help: write something else
  effect: clients skip this skill and load the others
</failure>
    </testcase>
    <testcase classname="pkgs/acme" name="mcp.json" file="pkgs/acme/mcp.json" time="0"/>
    <testcase classname="pkgs/acme" name="mcp.json#local" file="pkgs/acme/mcp.json" time="0"/>
    <testcase classname="pkgs/acme" name="mcp.json#remote" file="pkgs/acme/mcp.json" time="0"/>
    <testcase classname="pkgs/acme" name="mcp.json#git" file="pkgs/acme/mcp.json" time="0">
      <failure type="mcp::env-reserved" message="&quot;PLUGIN_ROOT&quot; is wrong here">pkgs/acme/mcp.json:1:33: error[mcp::env-reserved]: &quot;PLUGIN_ROOT&quot; is wrong here
  help: write something else
  effect: clients skip this server and load the others
</failure>
    </testcase>
  </testsuite>
  <testsuite name="broken" tests="1" failures="1" errors="0" skipped="0">
    <testcase classname="broken" name="plugin.json" file="broken/plugin.json" time="0">
      <failure type="manifest::missing" message="there is no plugin.json">broken/plugin.json: error[manifest::missing]: there is no plugin.json
  help: create one
  effect: clients reject the whole package
</failure>
    </testcase>
  </testsuite>
</testsuites>
"#;
    assert_eq!(xml(Threshold::Skipped), expected);
    assert!(xml(Threshold::Warning).contains("tests=\"9\" failures=\"4\""));
    assert!(xml(Threshold::Rejected).contains("tests=\"9\" failures=\"1\""));
}

#[test]
fn load_reports_are_one_line_each() {
    let mut off = package("off");
    off.skills.state = SkillsState::Invalid;
    off.mcp.state = McpState::Disabled;
    let text = string(|out| render::load_report::write(&report([mixed(), rejected(), off]), out));
    let expected = r#"{"rejected":null,"loaded":{"skills":["csv","pdf"],"mcpServers":["local","remote"]},"skipped":[{"what":"skills/zip"},{"what":"mcp.json#git"}],"reported":[{"field":"colour"}]}
{"rejected":"there is no plugin.json","loaded":{"skills":[],"mcpServers":[]},"skipped":[],"reported":[]}
{"rejected":null,"loaded":{"skills":[],"mcpServers":[]},"skipped":[{"what":"skills"},{"what":"mcp.json"}],"reported":[]}
"#;
    assert_eq!(text, expected);
}

#[test]
fn inspect_shows_what_a_client_gets_and_never_a_secret() {
    let mut package = mixed();
    // The server's reason and the skill's reason are found by place.
    package.diagnostics[1].pointer = Some("/name".to_owned());
    let text = string(|out| render::inspect::write_text(&package, PLAIN, out));
    let expected = r#"acme-tools 1.4.0
        path: ./pkgs/acme
      format: Agent Plugins 1.0.0
  ⚠ ignored
    manifest::unknown-field: "colour" is wrong here

2 skills load
  ✓ csv  skills/csv
    Does a thing. Use it when asked to.
  ✓ pdf  skills/pdf
    Does a thing. Use it when asked to.
  ✗ skills/zip
    skill::name-mismatch: zap is wrong here

2 servers load
  ✓ local  stdio
     command: ${PLUGIN_ROOT}/bin/server
         arg: --port
         arg: 3
         cwd: ${PLUGIN_ROOT}
         env: TOKEN
  ✓ remote  streamable-http
         url: https://example.test/mcp
     headers: X-Key
  ✗ git
    mcp::env-reserved: "PLUGIN_ROOT" is wrong here
"#;
    assert_eq!(text, expected);
    let document = string(|out| render::inspect::write_json(&package, out));
    assert!(!text.contains("secret-value") && !document.contains("secret-value"));
    let document = json(&document);
    let local = &document["package"]["mcp"]["loaded"][0]["stdio"];
    assert_eq!(local["command"], "${PLUGIN_ROOT}/bin/server");
    assert_eq!(local["env"], serde_json::json!(["TOKEN"]));
    let reasons = &document["package"]["mcp"]["skipped"][0]["reasons"];
    assert_eq!(reasons[0]["code"], "mcp::env-reserved");
}

#[test]
fn every_code_is_shown_by_explain() {
    let list = string(|out| render::explain::write_list(codes::all(), PLAIN, out));
    let document = json(&string(|out| {
        render::explain::write_json(codes::all(), &|_| Vec::new(), out)
    }));
    let entries = document["codes"].as_array().expect("codes");
    assert_eq!(entries.len(), codes::all().count());
    for code in codes::all() {
        assert!(list.contains(code.id) && list.contains(code.summary));
        let text = string(|out| render::explain::write_code(code, &|_| Vec::new(), PLAIN, out));
        assert!(text.contains(code.effect.sentence()), "{text}");
    }
}
