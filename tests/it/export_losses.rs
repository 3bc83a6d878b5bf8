//! Every kind of loss, by an input that has it, with its place.

use std::collections::BTreeSet;
use std::fs;

use apkit::export::{self, Client, Input, LossKind, Plan, Target, Tree};

use crate::export_support::{SKILL, input, named};
use crate::support::{Place, manifest, mcp};

const CLAUDE: &str = ".claude-plugin/plugin.json";

/// An input, and the loss in it: kind, file, pointer, line, and a part of the reason.
struct Case {
    input: Input,
    kind: &'static str,
    path: &'static str,
    pointer: Option<&'static str>,
    line: Option<usize>,
    why: &'static str,
}

fn case(
    input: Input,
    kind: &'static str,
    path: &'static str,
    pointer: Option<&'static str>,
    line: Option<usize>,
    why: &'static str,
) -> Case {
    Case {
        input,
        kind,
        path,
        pointer,
        line,
        why,
    }
}

/// A Claude Code plugin with this manifest, file and one good skill.
fn plugin(manifest: &str, files: &[(&str, &str)]) -> Input {
    let mut all = vec![(CLAUDE, manifest), ("skills/tides/SKILL.md", SKILL)];
    all.extend(files);
    input(&all)
}

/// One with this server named `s`, on line 2 of its file.
fn server(definition: &str) -> Input {
    let config = format!("{{\"mcpServers\": {{\n\"s\": {definition}}}}}");
    plugin(r#"{"name": "pack"}"#, &[(".mcp.json", &config)])
}

fn skill(frontmatter: &str) -> Input {
    let text = format!("---\n{frontmatter}---\n\nText.\n");
    named(&[("ebb/SKILL.md", &text), ("tides/SKILL.md", SKILL)])
}

fn package(server: &str, target: Target) -> Input {
    let mut input = input(&[
        ("plugin.json", &manifest("pack", "")),
        ("skills/tides/SKILL.md", SKILL),
        ("mcp.json", &mcp(&format!("{{\"s\": {server}}}"))),
    ]);
    input.target = target;
    input
}

fn skill_cases() -> Vec<Case> {
    let text = "---\nname: ebb\ndescription: Tells the ebb. Use it then.\n---\n\nRun ${CLAUDE_PLUGIN_ROOT}/x.\n";
    let native_name = plugin(
        r#"{"name": "pack"}"#,
        &[(
            "skills/Ebb/SKILL.md",
            &text.replace("name: ebb", "name: Ebb"),
        )],
    );
    vec![
        case(
            skill("name: ebb\ndescription: Pay: card\nallowed-tools: Read\n"),
            "skill-unreadable",
            "ebb/SKILL.md",
            None,
            Some(3),
            "quote the whole value",
        ),
        case(
            skill("name: ebb\n"),
            "skill-unreadable",
            "ebb/SKILL.md",
            Some(""),
            Some(2),
            "no description",
        ),
        case(
            native_name,
            "skill-name",
            "skills/Ebb/SKILL.md",
            Some("/name"),
            Some(2),
            "upper-case",
        ),
        case(
            plugin(
                r#"{"name": "pack", "skills": "./more"}"#,
                &[("more/tides/SKILL.md", SKILL)],
            ),
            "skill-collision",
            "more/tides/SKILL.md",
            None,
            None,
            "has the name tides already",
        ),
        case(
            plugin(
                r#"{"name": "pack"}"#,
                &[("skills/group/deep/SKILL.md", SKILL)],
            ),
            "skill-misplaced",
            "skills/group/deep/SKILL.md",
            None,
            None,
            "deeper",
        ),
        case(
            skill("name: ebb\ndescription: D. Use it.\nallowed-tools: [Read, a b]\n"),
            "allowed-tools",
            "ebb/SKILL.md",
            Some("/allowed-tools"),
            Some(4),
            "\"a b\" is not one word",
        ),
        case(
            skill("name: ebb\ndescription: D. Use it.\nmodel: big\n"),
            "client-frontmatter",
            "ebb/SKILL.md",
            Some("/model"),
            Some(4),
            "no such key",
        ),
        case(
            named(&[("ebb/SKILL.md", text)]),
            "text-placeholder",
            "ebb/SKILL.md",
            None,
            Some(6),
            "${CLAUDE_PLUGIN_ROOT} stays literal",
        ),
        case(
            named(&[("ebb/SKILL.md", &text.replace("CLAUDE_PLUGIN", "PLUGIN"))]),
            "text-placeholder",
            "ebb/SKILL.md",
            None,
            Some(6),
            "${PLUGIN_ROOT} stays literal",
        ),
    ]
}

fn server_cases() -> Vec<Case> {
    let at = |definition, kind, pointer, why| {
        case(
            server(definition),
            kind,
            ".mcp.json",
            Some(pointer),
            Some(2),
            why,
        )
    };
    let s = |end: &'static str| -> &'static str {
        // Leaked on purpose: a test's table of constants.
        Box::leak(format!("/mcpServers/s{end}").into_boxed_str())
    };
    vec![
        at(
            r#"{"command": "x", "env": {"A": "${user_config.a}"}}"#,
            "user-config-value",
            s("/env/A"),
            "option \"a\"",
        ),
        at(
            r#"{"command": "x", "env": {"A": "${A}"}}"#,
            "environment-value",
            s("/env/A"),
            "${A}",
        ),
        at(
            r#"{"command": "x", "env": {"API_KEY": "YOUR_API_KEY"}}"#,
            "environment-value",
            s("/env/API_KEY"),
            "only stands for a secret",
        ),
        at(
            r#"{"command": "x", "args": ["${P:-80}"]}"#,
            "environment-default",
            s("/args/0"),
            "${P:-…}",
        ),
        at(
            r#"{"url": "https://a.example", "headers": {"Authorization": "Bearer zz-0123456789abcdef"}}"#,
            "credential",
            s("/headers/Authorization"),
            "looks like a secret",
        ),
        at(
            r#"{"url": "https://${TENANT}.example"}"#,
            "server-url-placeholder",
            s("/url"),
            "${TENANT}",
        ),
        at(
            r#"{"command": "x", "args": ["${HOME}"]}"#,
            "server-placeholder",
            s("/args/0"),
            "${HOME}",
        ),
        at(
            r#"{"command": "x", "args": ["--token=zz-0123456789abcdef"]}"#,
            "server-credential",
            s("/args/0"),
            "argument 0",
        ),
        at(
            r#"{"url": "http://a.example"}"#,
            "server-url",
            s("/url"),
            "plain HTTP",
        ),
        at(
            r#"{"command": "/usr/bin/x"}"#,
            "server-command",
            s("/command"),
            "bare name",
        ),
        at(
            r#"{"command": "./x"}"#,
            "server-command",
            s("/command"),
            "no file of the package",
        ),
        at(
            r#"{"command": "npx -y x"}"#,
            "server-command",
            s("/command"),
            "command line",
        ),
        at(
            r#"{"type": "ws", "url": "https://a.example"}"#,
            "server-transport",
            s("/type"),
            "\"ws\"",
        ),
        at(
            r#"{"command": 1}"#,
            "server-malformed",
            s("/command"),
            "a number",
        ),
        at("[]", "server-malformed", s(""), "an array"),
        at(
            r#"{"url": "https://a.example", "oauth": {"clientId": "x"}}"#,
            "server-authentication",
            s("/oauth"),
            "how to sign in",
        ),
        at(
            r#"{"command": "x", "timeout": 5}"#,
            "server-field",
            s("/timeout"),
            "no such field",
        ),
        at(
            r#"{"url": "https://a.example", "headers": {"Content-Type": "x"}}"#,
            "server-header",
            s("/headers/Content-Type"),
            "themselves",
        ),
        at(
            r#"{"command": "x", "env": {"PLUGIN_ROOT": "/x"}}"#,
            "environment-reserved",
            s("/env/PLUGIN_ROOT"),
            "the client's to set",
        ),
        at(
            r#"{"command": "x", "cwd": "/work"}"#,
            "working-directory",
            s("/cwd"),
            "none below the package",
        ),
        at(
            r#"{"command": "x", "args": ["."]}"#,
            "working-directory",
            s("/args/0"),
            "no longer the project",
        ),
        case(
            plugin(r#"{"name": "pack", "mcpServers": "./x.mcpb"}"#, &[]),
            "servers-unreadable",
            CLAUDE,
            Some("/mcpServers"),
            Some(1),
            "bundle",
        ),
    ]
}

fn manifest_cases() -> Vec<Case> {
    let config = r#"{"name": "pack", "userConfig": {"a": {"type": "string"}}}"#;
    let mut shadowed = plugin(
        r#"{"name": "pack"}"#,
        &[(
            ".codex-plugin/plugin.json",
            r#"{"name": "pack", "interface": {}}"#,
        )],
    );
    shadowed.from = Some(Client::ClaudeCode);
    let hooks = r#"{"$schema": "x", "hooks": {}}"#;
    let own = plugin(
        r#"{"name": "other"}"#,
        &[("plugin.json", &manifest("pack", ""))],
    );
    let own = Input {
        target: Target::ClaudeCode,
        ..own
    };
    vec![
        case(
            plugin(config, &[]),
            "user-config",
            CLAUDE,
            Some("/userConfig/a"),
            Some(1),
            "ask the user",
        ),
        case(
            plugin(r#"{"name": "pack", "displayName": "P"}"#, &[]),
            "manifest-field",
            CLAUDE,
            Some("/displayName"),
            Some(1),
            "no such field",
        ),
        case(
            plugin(r#"{"name": "pack", "version": 1}"#, &[]),
            "manifest-type",
            CLAUDE,
            Some("/version"),
            Some(1),
            "a number",
        ),
        case(
            plugin(r#"{"name": "pack"}"#, &[("commands/a.md", "A.\n")]),
            "client-component",
            "commands",
            None,
            None,
            "Claude Code",
        ),
        case(
            plugin(r#"{"name": "pack"}"#, &[("hooks/hooks.json", hooks)]),
            "hooks-key",
            "com.anthropic.claude-code/hooks/hooks.json",
            Some("/$schema"),
            Some(1),
            "may refuse",
        ),
        case(
            plugin(
                r#"{"name": "pack"}"#,
                &[
                    ("commands/a.md", "A.\n"),
                    ("x.md", "${CLAUDE_PLUGIN_ROOT}/commands/a.md\n"),
                ],
            ),
            "moved-reference",
            "x.md",
            None,
            Some(1),
            "commands",
        ),
        case(
            shadowed,
            "manifest-shadowed",
            ".codex-plugin/plugin.json",
            None,
            None,
            "interface",
        ),
        case(
            named(&[
                ("tides/SKILL.md", SKILL),
                ("tides/a.json", "{\n\"token\": \"zz-0123456789abcdef\"}"),
            ]),
            "credential-in-text",
            "skills/tides/a.json",
            None,
            Some(2),
            "line 2 holds",
        ),
        case(
            named(&[("tides/SKILL.md", SKILL), ("junk/x", "x")]),
            "file-left-out",
            "junk",
            None,
            None,
            "no skill",
        ),
        case(own, "target-manifest", CLAUDE, None, None, "\"other\""),
        case(
            plugin(
                r#"{"name": "pack"}"#,
                &[(
                    ".codex-plugin/plugin.json",
                    r#"{"name": "pack", "mcpServers": {"b": {"command": "npx"}}}"#,
                )],
            ),
            "shadowed-component",
            ".codex-plugin/plugin.json",
            None,
            None,
            "reads plugin.json and mcp.json",
        ),
        case(
            plugin(
                r#"{"name": "pack", "commands": "./more"}"#,
                &[("commands/a.md", "A.\n"), ("more/b.md", "B.\n")],
            ),
            "native-unread",
            "commands",
            None,
            None,
            "names other commands",
        ),
    ]
}

fn target_cases() -> Vec<Case> {
    let mut with_hooks = input(&[
        ("plugin.json", &manifest("pack", "")),
        ("skills/tides/SKILL.md", SKILL),
        ("hooks/hooks.json", "{}"),
    ]);
    with_hooks.target = Target::ClaudeCode;
    vec![
        case(
            package(
                r#"{"type": "sse", "url": "https://a.example"}"#,
                Target::Codex,
            ),
            "target-server",
            "mcp.json",
            Some("/mcpServers/s"),
            None,
            "sse",
        ),
        case(
            package(
                r#"{"type": "stdio", "command": "x", "env": {"A": "${HOME}"}}"#,
                Target::Copilot,
            ),
            "target-expansion",
            "mcp.json",
            Some("/mcpServers/s/env/A"),
            None,
            "GitHub Copilot",
        ),
        case(
            package(
                r#"{"type": "stdio", "command": "x", "cwd": "./skills"}"#,
                Target::ClaudeCode,
            ),
            "working-directory",
            "mcp.json",
            Some("/mcpServers/s/cwd"),
            None,
            "./skills",
        ),
        case(
            with_hooks,
            "target-default",
            "hooks/hooks.json",
            None,
            None,
            "looks there by itself",
        ),
    ]
}

fn plan(input: Input) -> Plan {
    export::plan(input).unwrap_or_else(|error| panic!("no plan: {error}"))
}

#[test]
fn every_kind_of_loss_is_told_with_its_place() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let cases = [
        skill_cases(),
        server_cases(),
        manifest_cases(),
        target_cases(),
    ];
    for case in cases.into_iter().flatten() {
        let plan = plan(case.input);
        let found: Vec<_> = plan
            .losses
            .iter()
            .filter(|loss| loss.kind.id() == case.kind)
            .collect();
        let [loss] = found[..] else {
            panic!(
                "{} losses of kind {}: {:#?}",
                found.len(),
                case.kind,
                plan.losses
            );
        };
        assert_eq!(
            (loss.path.as_str(), loss.pointer.as_deref(), loss.line),
            (case.path, case.pointer, case.line),
            "{loss:?}"
        );
        assert!(loss.why.contains(case.why), "{loss:?}");
        // Nothing else is said to be lost.
        let others = plan
            .losses
            .iter()
            .filter(|loss| loss.kind.id() != case.kind);
        let others: Vec<_> = others.collect();
        let companions = ["client-component"];
        assert!(
            others
                .iter()
                .all(|loss| companions.contains(&loss.kind.id())),
            "{others:#?}"
        );
        seen.insert(case.kind);
    }
    // Only a real directory has links.
    seen.insert("link-left-out");
    for kind in LossKind::ALL {
        assert!(seen.contains(kind.id()), "no case for {}", kind.id());
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_and_named_outside() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.good_package("p");
    place.write("outside", "x");
    place.write("p/.git/config", "x");
    let root = place.path().join("p");
    symlink("../outside", root.join("out")).unwrap();
    symlink("nothing", root.join("dangling")).unwrap();
    symlink("plugin.json", root.join("copy.json")).unwrap();
    symlink("skills", root.join("more")).unwrap();
    symlink("..", root.join("skills/round")).unwrap();
    let tree = Tree::read(&root).expect("a tree");
    let files: Vec<&String> = tree.files.keys().collect();
    assert_eq!(
        files,
        [
            "copy.json",
            "more/tides/SKILL.md",
            "plugin.json",
            "skills/tides/SKILL.md"
        ]
    );
    let mut losses: Vec<_> = tree
        .losses
        .iter()
        .map(|loss| (loss.path.as_str(), loss.kind.id()))
        .collect();
    losses.sort_unstable();
    assert_eq!(
        losses,
        [
            ("dangling", "link-left-out"),
            ("more/round", "link-left-out"),
            ("out", "link-left-out"),
            ("skills/round", "link-left-out"),
        ]
    );
    assert_eq!(
        tree.files["copy.json"].bytes,
        fs::read(root.join("plugin.json")).unwrap()
    );
}
