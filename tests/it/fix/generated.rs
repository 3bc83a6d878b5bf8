//! Packages broken at random, and mended.

use apkit::edit::fix::Options;

use super::{ID, Sample, hold_laws};
use crate::support::{Place, mcp};

/// Ways to break a text; each leaves alone what it does not fit.
type Break = fn(&mut Sample);

const BREAKS: &[Break] = &[
    |sample| sample.manifest.insert(0, '\u{feff}'),
    |sample| {
        sample.manifest = sample
            .manifest
            .replace(&format!("\"$schema\": \"{ID}\","), "")
    },
    |sample| sample.manifest = sample.manifest.replace(ID, &format!("{ID}#")),
    |sample| sample.manifest = sample.manifest.replace("\n}", ",\n}"),
    |sample| {
        sample.manifest = sample
            .manifest
            .replace("\n}", ",\n  \"author\": \"Mara <m@example.com>\"\n}")
    },
    |sample| {
        sample.manifest = sample
            .manifest
            .replace("\n}", ",\n  \"colour\": {\"a\": [1,\n 2]}\n}")
    },
    |sample| {
        sample.manifest = sample
            .manifest
            .replace("\n}", ",\n  \"licence\": \"MIT\"\n}")
    },
    |sample| {
        sample.manifest = sample
            .manifest
            .replace("\n}", ",\n  \"version\": 1.0, \"homepage\": null\n}")
    },
    |sample| sample.manifest = sample.manifest.replace("\"demo\"", "\"The Demo\""),
    |sample| sample.manifest = sample.manifest.replace('\n', "\r\n"),
    |sample| sample.manifest = sample.manifest.replace("\n}", ",\n  \"extensions\": []\n}"),
    |sample| sample.manifest = sample.manifest.replace("\n}", ",\n  \"name\": \"demo\"\n}"),
    |sample| sample.manifest = sample.manifest.replace("\n}", ",\n  \"hooks\": \"./x\"\n}"),
    |sample| sample.skill.insert(0, '\u{feff}'),
    |sample| sample.skill.insert(0, '\n'),
    |sample| sample.skill = sample.skill.replace("name: tides\n", ""),
    |sample| sample.skill = sample.skill.replace("name: tides", "name: Ebb"),
    |sample| sample.skill = sample.skill.replace("Tells the", "Tells: the"),
    |sample| sample.skill = sample.skill.replace("Tells the", "[WIP] \"the\" it's #1"),
    |sample| sample.skill = sample.skill.replace("Tells the", "'Tells' the"),
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nmetadata: {a: 1.10, b: [x]}\n---\n")
    },
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nmetadata:\n  a: yes: no\n  b: ~\n---\n")
    },
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nallowed-tools: [Read, Bash(a b)]\n---\n")
    },
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nallowed-tools: Read, Grep\nlicense:\n---\n")
    },
    |sample| sample.skill = sample.skill.replace("\n---\n", "\n...\n"),
    |sample| sample.skill = sample.skill.replace('\n', "\r\n"),
    |sample| {
        sample.skill = sample
            .skill
            .replace("\n---\n", "\nname: &a tides\nx: *a\n---\n")
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("streamable-http", "http"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("\"type\": \"stdio\", ", ""))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("mcpServers", "servers"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("\"$schema\"", "\"schema\""))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("\"cwd\": \"./\"", "\"cwd\": \".\""))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("./run", "${CLAUDE_PLUGIN_ROOT}/run"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("./run", "node run.js --x"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("${PLUGIN_ROOT}", "${CLAUDE_PLUGIN_ROOT}"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("${PLUGIN_ROOT}/", "./"))
    },
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("\"A\": \"1\"", "\"A\": 1, \"PLUGIN_ROOT\": \"/x\""))
    },
    |sample| sample.mcp = sample.mcp.take().map(|mcp| mcp.replace("}}", ",}}")),
    |sample| {
        sample.mcp = sample
            .mcp
            .take()
            .map(|mcp| mcp.replace("x.example/m", "x.example/m#a"))
    },
];

#[test]
fn generated_broken_packages_never_get_worse() {
    let servers = r#"{"a": {"type": "stdio", "command": "./run", "args": ["${PLUGIN_ROOT}/run"], "env": {"A": "1"}, "cwd": "./"}, "b": {"type": "streamable-http", "url": "https://x.example/m"}}"#;
    // A generator of its own: every run tries the same packages.
    let mut state = 0x2545_F491_u32;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % below
    };
    let mut mended = 0;
    let count = 150;
    for number in 0..count {
        let mut sample = Sample {
            mcp: Some(mcp(servers)),
            ..Sample::good()
        };
        let mut chosen = Vec::new();
        for _ in 0..=random(5) {
            let index = random(BREAKS.len());
            chosen.push(index);
            BREAKS[index](&mut sample);
        }
        for options in [
            Options::default(),
            Options {
                risky: true,
                namespace: Some("com.example.client"),
                drafts: false,
            },
        ] {
            let place = Place::new();
            sample.put(&place);
            place.write("p/run", "#!/bin/sh\n");
            let root = place.path().join("p");
            match hold_laws(&root, &options) {
                Ok(count) => mended += count,
                Err(error) => panic!(
                    "package {number}, broken by {chosen:?}, {options:?}: {error}\n{}\n{}",
                    sample.manifest, sample.skill
                ),
            }
        }
    }
    assert!(mended > 2 * count, "only {mended} findings were mended");
}
