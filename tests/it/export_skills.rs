//! Skills on their way into a package and back, by the binary.

use crate::support::{Place, Run, manifest};

fn skill(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Tells {name}. Use it sometimes.\n---\nText of {name}.\n"
    )
}

fn export(place: &Place, arguments: &[&str]) -> Run {
    place.run([&["export"], arguments].concat())
}

#[test]
fn a_skill_called_skills_leaves_the_others_alone() {
    let place = Place::new();
    for name in ["alpha", "beta", "skills", "zeta"] {
        place.write(&format!("flat/{name}/SKILL.md"), skill(name));
        place.write(&format!("native/{name}/SKILL.md"), skill(name));
    }
    place.write(
        "native/.claude-plugin/plugin.json",
        r#"{"name": "p", "version": "1.0.0", "skills": "./"}"#,
    );
    for (source, out) in [("flat", "one"), ("native", "two")] {
        let run = export(
            &place,
            &[
                source,
                "--name",
                "p",
                "--version",
                "1.0.0",
                "--deny-losses",
                "--out",
                out,
            ],
        );
        assert_eq!(run.status, Some(0), "{run:?}");
        for name in ["alpha", "beta", "skills", "zeta"] {
            let path = format!("{out}/skills/{name}/SKILL.md");
            assert_eq!(place.read(&path), skill(name), "{path}");
        }
        assert!(!place.path().join(out).join("skills/skills/alpha").exists());
    }
}

#[test]
fn a_renamed_skill_takes_no_place_that_is_taken() {
    let place = Place::new();
    place.write(
        "t/.claude-plugin/plugin.json",
        r#"{"name": "p", "version": "1.0.0"}"#,
    );
    place.write("t/skills/My_Skill/SKILL.md", skill("My_Skill"));
    place.write("t/skills/x/SKILL.md", skill("x"));
    place.write("t/skills/My_Skill/data.txt", "one");
    place.write("t/skills/my-skill/data.txt", "two");
    let run = export(&place, &["t", "--rename", "--out", "out"]);
    assert_eq!(run.status, Some(1), "{run:?}");
    assert!(
        run.stdout
            .contains("skills/my-skill is there already, and is no skill"),
        "{run:?}"
    );
    assert_eq!(place.read("out/skills/my-skill/data.txt"), "two");
    // Of two with one name, the one that is in its place stays.
    place.write("u/a/SKILL.md", skill("b"));
    place.write("u/b/SKILL.md", skill("b"));
    let run = export(&place, &["u", "--name", "p", "--rename", "--out", "u-out"]);
    assert_eq!(run.status, Some(1), "{run:?}");
    assert!(
        run.stdout.contains("  skill a [skill-collision]\n"),
        "{run:?}"
    );
}

#[test]
fn two_skills_never_go_back_to_one_directory() {
    let place = Place::new();
    place.write("s/foo/SKILL.md", skill("bar"));
    let run = export(
        &place,
        &[
            "s",
            "--name",
            "c",
            "--version",
            "1.0.0",
            "--rename",
            "--out",
            "c",
        ],
    );
    assert_eq!(run.status, Some(0), "{run:?}");
    place.write("c/skills/foo/SKILL.md", skill("foo"));
    let run = export(&place, &["c", "--target", "skills", "--out", "back"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(place.read("back/foo/SKILL.md"), skill("foo"));
    assert_eq!(place.read("back/bar/SKILL.md"), skill("bar"));
    assert!(
        run.stdout
            .contains("skill bar does not go back to foo/: another one is there"),
        "{run:?}"
    );
}

#[test]
fn a_name_that_is_no_string_comes_back_as_it_was() {
    let place = Place::new();
    for (index, name) in [" 1.0", " null", " ~", "", "  0x1F # why", " true"]
        .into_iter()
        .enumerate()
    {
        let text =
            format!("---\nname:{name}\ndescription: Tells it. Use it sometimes.\n---\nText.\n");
        let (source, package, back) = (
            format!("s{index}"),
            format!("p{index}"),
            format!("b{index}"),
        );
        place.write(&format!("{source}/x/SKILL.md"), &text);
        let run = export(
            &place,
            &[
                &source,
                "--name",
                "p",
                "--version",
                "1.0.0",
                "--rename",
                "--out",
                &package,
            ],
        );
        assert_eq!(run.status, Some(0), "{name:?}: {run:?}");
        let run = export(
            &place,
            &[
                &package,
                "--target",
                "skills",
                "--deny-losses",
                "--out",
                &back,
            ],
        );
        assert_eq!(run.status, Some(0), "{name:?}: {run:?}");
        assert_eq!(place.read(&format!("{back}/x/SKILL.md")), text, "{name:?}");
    }
    // What a manifest says of a skill changes nothing but its name.
    place.write(
        "evil/plugin.json",
        manifest(
            "evil",
            r#""version": "1.0.0", "extensions": {"works.ever": {"skills": {"x": {"nameYaml": " y\nmodel: z"}}}}"#,
        ),
    );
    place.write("evil/skills/x/SKILL.md", skill("x"));
    let run = export(&place, &["evil", "--target", "skills", "--out", "evil-out"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(place.read("evil-out/x/SKILL.md"), skill("x"));
}

#[test]
fn comments_between_tools_are_kept_and_places_are_those_of_the_source() {
    let place = Place::new();
    for (index, tools) in [
        "- Read # why read\n# never Write here\n- Grep # last\n",
        "\n  - Read # why read\n  # never Write here\n  - Grep # last\n",
        " [Read, # why read\n\t# never Write here\n  Grep] # last\n",
    ]
    .into_iter()
    .enumerate()
    {
        let (source, out) = (format!("s{index}"), format!("o{index}"));
        let start = tools.strip_prefix('-').map_or("", |_| "\n");
        let text = format!(
            "---\nname: x\ndescription: Tells it. Use it.\nallowed-tools:{start}{tools}foo: bar\n---\nText.\n"
        );
        place.write(&format!("{source}/x/SKILL.md"), &text);
        let run = export(&place, &[&source, "--name", "p", "--out", &out]);
        assert_eq!(run.status, Some(0), "{run:?}");
        assert_eq!(
            place.read(&format!("{out}/skills/x/SKILL.md")),
            "---\nname: x\ndescription: Tells it. Use it.\n# why read\n# never Write here\n\
             allowed-tools: Read Grep # last\nfoo: bar\n---\nText.\n"
        );
        let line = text.lines().position(|line| line == "foo: bar").unwrap() + 1;
        let at = format!("at:     x/SKILL.md:{line}\n");
        assert!(run.stdout.contains(&at), "{at}: {run:?}");
    }
    // `fix` leaves it to the author, whatever stands before the comment.
    place.write("k/plugin.json", manifest("k", ""));
    let text = "---\nname: x\ndescription: Tells it. Use it.\nallowed-tools: [Read,\t# never Write\n  Grep]\n---\nB\n";
    place.write("k/skills/x/SKILL.md", text);
    let run = place.run(["fix", "k"]);
    assert!(run.stdout.contains("its comments would be lost"), "{run:?}");
    assert_eq!(place.read("k/skills/x/SKILL.md"), text);
}

#[test]
fn the_skills_alone_are_told_about_alone() {
    let place = Place::new();
    place.write(
        "p/.claude-plugin/plugin.json",
        r#"{"name": "p", "version": "1.0.0", "displayName": "P", "skills": "./more", "userConfig": {"a": {"type": "string"}}}"#,
    );
    place.write(
        "p/.mcp.json",
        r#"{"a": {"type": "http", "url": "https://${H}/mcp"}}"#,
    );
    place.write("p/commands/c.md", "Hi.");
    place.write("p/agents/a.md", "Hi.");
    place.write("p/hooks/hooks.json", "{\"hooks\": {}}");
    place.write(
        "p/more/x/SKILL.md",
        skill("x").replace("---\nText", "model: y\n---\nText"),
    );
    let run = export(&place, &["p", "--target", "skills", "--out", "out"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    let told: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.ends_with(']'))
        .collect();
    assert_eq!(
        told,
        [
            "  .claude-plugin [file-left-out]",
            "  .mcp.json [file-left-out]",
            "  agents [file-left-out]",
            "  commands [file-left-out]",
            "  hooks [file-left-out]",
            "  frontmatter key model [client-frontmatter]",
        ],
        "{run:?}"
    );
    assert!(place.path().join("out/x/SKILL.md").is_file());
    for option in ["--marketplace", "--npm"] {
        let run = export(
            &place,
            &["p", "--target", "skills", option, "--out", "none"],
        );
        assert_eq!(run.status, Some(2), "{run:?}");
        assert!(run.stderr.contains(option), "{run:?}");
        assert!(!place.path().join("none").exists());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn files_that_differ_by_case_alone_are_refused() {
    for (one, other) in [("A.md", "a.md"), ("Docs/a", "docs/b")] {
        let place = Place::new();
        place.write("k/plugin.json", manifest("k", ""));
        place.write("k/skills/x/SKILL.md", skill("x"));
        place.write(&format!("k/skills/x/{one}"), "1");
        place.write(&format!("k/skills/x/{other}"), "2");
        for out in ["k.tgz", "k.zip", "out"] {
            let run = export(&place, &["k", "--out", out]);
            assert_eq!(run.status, Some(2), "{run:?}");
            assert!(run.stderr.contains("are one and the same"), "{run:?}");
            assert!(!place.path().join(out).exists());
        }
    }
}

#[test]
fn one_skill_gives_its_name_to_the_package() {
    let place = Place::new();
    place.write("x/SKILL.md", skill("x"));
    place.write("Odd/SKILL.md", skill("Odd"));
    let run = export(&place, &["x", "--out", "out"]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(0), "Wrote x to out.\n"),
        "{run:?}"
    );
    assert_eq!(place.read("out/skills/x/SKILL.md"), skill("x"));
    let run = export(&place, &["Odd", "--rename", "--out", "odd"]);
    assert!(run.stdout.starts_with("Wrote odd to odd.\n"), "{run:?}");
}
