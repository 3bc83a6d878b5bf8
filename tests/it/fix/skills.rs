//! Frontmatter, byte for byte.

use super::{SKILL, Sample, golden_skill, golden_text, skill};
use crate::support::Place;

#[test]
fn descriptions_are_quoted() {
    for (before, after) in [
        ("Look up: high and low", "\"Look up: high and low\""),
        (
            "Look up: \"high\" and C:\\x, it's low",
            "'Look up: \"high\" and C:\\x, it''s low'",
        ),
        ("[WIP] Look up", "\"[WIP] Look up\""),
        ("@mara looks up", "\"@mara looks up\""),
        ("`tide` looks up", "\"`tide` looks up\""),
        ("%x", "\"%x\""),
        ("*Bold* text", "\"*Bold* text\""),
        ("{{x}} y", "\"{{x}} y\""),
        ("\"Tides\" are looked up", "'\"Tides\" are looked up'"),
        ("\"A \"quoted\" word\"", "'A \"quoted\" word'"),
        ("'It's the tide'", "\"It's the tide\""),
        ("\"C:\\dir\"", "'C:\\dir'"),
        ("- a list? no", "\"- a list? no\""),
        (
            "Gezeiten: für Zoë \u{1f30a}  ",
            "\"Gezeiten: für Zoë \u{1f30a}\"  ",
        ),
        (
            "Look up: high\n  and low,\n  too",
            "\"Look up: high\n  and low,\n  too\"",
        ),
        ("\tTides", " Tides"),
    ] {
        let whole = |description: &str| {
            let colon = if description.starts_with(['\t']) || description == " Tides" {
                ""
            } else {
                " "
            };
            format!(
                "# keep: this\nname: tides # and this\ndescription:{colon}{description}\nmetadata:\n  # here\n  a:   'b'\n"
            )
        };
        golden_skill(
            &whole(before),
            &whole(after),
            "skill::frontmatter-invalid",
            &[],
        );
    }
    golden_skill(
        "name: tides\ndescription: a: b\nmetadata:\n  note: c: d\n",
        "name: tides\ndescription: \"a: b\"\nmetadata:\n  note: \"c: d\"\n",
        "skill::frontmatter-invalid",
        &[],
    );
    golden_skill(
        "name: tides\ndescription: Mends: issue #12\n",
        "name: tides\ndescription: Mends: issue #12\n"
            .replace("Mends: issue #12", "\"Mends: issue #12\"")
            .as_str(),
        "skill::frontmatter-invalid",
        &["--unsafe"],
    );
    for left in [
        "name: tides\n  description: indented too far\n",
        "name: tides\ndescription: \"never closed\nlicense: MIT\n",
        "name: tides\ndescription: > on one line\n",
        "name: tides\ndescription: Mends: issue #12\n",
        "name: tides\nallowed-tools: [Read, Grep\n",
        "name: tides\ndescription: \"a \\n and \\d\"\n",
    ] {
        let place = Place::new();
        Sample {
            skill: skill(left),
            ..Sample::good()
        }
        .put(&place);
        let run = place.run(["fix", "p"]);
        assert_eq!(run.status, Some(1), "{left}\n{}", run.stdout);
        assert!(
            run.stdout.contains("left p/skills/tides/SKILL.md"),
            "{left}\n{}",
            run.stdout
        );
        assert_eq!(place.read("p/skills/tides/SKILL.md"), skill(left));
    }
}

#[test]
fn frontmatter_is_mended() {
    let rest = "description: Tells the tides.\n";
    for (before, after, code) in [
        (
            "metadata: # numbers\n  version: 1.10 # keep\n  reviewed: true\n  2024: 'x'\n  hex: 0x1F\n",
            "metadata: # numbers\n  version: \"1.10\" # keep\n  reviewed: \"true\"\n  \"2024\": 'x'\n  hex: \"0x1F\"\n",
            "skill::metadata-not-a-string",
        ),
        (
            "metadata: {a: 1, b: no}\n",
            "metadata: {a: \"1\", b: no}\n",
            "skill::metadata-not-a-string",
        ),
        ("license: 2.0\n", "license: \"2.0\"\n", "skill::field-type"),
        (
            "license: no\n",
            "license: \"no\"\n",
            "skill::yaml-ambiguous",
        ),
        ("license:\ncompatibility: ''\n", "", "skill::field-type"),
        ("license: ~\n", "", "skill::field-type"),
        (
            "allowed-tools: [Read, \"Bash(git add *)\"]\n",
            "allowed-tools: Read Bash(git add *)\n",
            "skill::allowed-tools-type",
        ),
        (
            "allowed-tools:\n  - Read\n  - 'Bash(npm: *)' # last\nlicense: MIT\n",
            "allowed-tools: \"Read Bash(npm: *)\" # last\nlicense: MIT\n",
            "skill::allowed-tools-type",
        ),
        ("allowed-tools:\n", "", "skill::allowed-tools-type"),
        (
            "allowed-tools: Read,Grep , Bash(a, b),\n",
            "allowed-tools: Read Grep  Bash(a, b)\n",
            "skill::allowed-tools-commas",
        ),
        (
            "allowed-tools: 'Read, Grep'\n",
            "allowed-tools: 'Read Grep'\n",
            "skill::allowed-tools-commas",
        ),
        (
            "allowed-tools: >-\n  Read,\n  Grep\n",
            "allowed-tools: >-\n  Read\n  Grep\n",
            "skill::allowed-tools-commas",
        ),
    ] {
        let whole = |part: &str| format!("name: tides\n{rest}{part}");
        golden_skill(&whole(before), &whole(after), code, &[]);
    }
    golden_skill(
        rest,
        &format!("name: tides\n{rest}"),
        "skill::name-missing",
        &[],
    );
    golden_skill(
        &format!("name: 2048\n{rest}"),
        &format!("name: tides\n{rest}"),
        "skill::name-mismatch",
        &["--unsafe"],
    );
    golden_skill(
        &format!("name: The Tides\n{rest}"),
        &format!("name: tides\n{rest}"),
        "skill::name-invalid",
        &["--unsafe"],
    );
    golden_skill(
        &format!("name: tides\n{rest}allowed_tools: Read\n"),
        &format!("name: tides\n{rest}allowed-tools: Read\n"),
        "skill::unknown-key",
        &["--unsafe"],
    );
    let file = "skills/tides/SKILL.md";
    for (before, code) in [
        (format!("\u{feff}{SKILL}"), "skill::byte-order-mark"),
        (format!("\n \n{SKILL}"), "skill::frontmatter-missing"),
        (
            SKILL.replacen("---", "----", 1),
            "skill::frontmatter-missing",
        ),
        (
            SKILL.replacen("---", " ---", 1),
            "skill::frontmatter-missing",
        ),
        (
            SKILL.replace("them.\n---", "them.\n..."),
            "skill::frontmatter-unclosed",
        ),
        (
            SKILL.replace("them.\n---", "them.\n-----"),
            "skill::frontmatter-unclosed",
        ),
    ] {
        golden_text(file, &before, SKILL, code);
    }
}

#[test]
fn comments_in_a_list_of_tools_are_not_lost() {
    let place = Place::new();
    let text =
        skill("name: tides\ndescription: Tides.\nallowed-tools:\n  - Read # why\n  - Grep\n");
    Sample {
        skill: text.clone(),
        ..Sample::good()
    }
    .put(&place);
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout.contains("its comments would be lost"),
        "{}",
        run.stdout
    );
    assert_eq!(place.read("p/skills/tides/SKILL.md"), text);
}
