//! Manifests, byte for byte.

use super::{ID, MCP_ID, Sample, golden, golden_text, tree};
use crate::support::{Place, manifest};

#[test]
fn manifests_are_mended_in_their_own_layout() {
    for (before, after, code) in [
        (
            "{\"name\":\"demo\"}",
            format!("{{\"$schema\":\"{ID}\",\"name\":\"demo\"}}"),
            "manifest::schema-missing",
        ),
        (
            "{\r\n\t\"name\" : \"demo\",\r\n\t\"description\" : \"Gezeiten für Zoë \u{1f30a}\"\r\n}\r\n",
            format!(
                "{{\r\n\t\"$schema\" : \"{ID}\",\r\n\t\"name\" : \"demo\",\r\n\t\"description\" : \"Gezeiten für Zoë \u{1f30a}\"\r\n}}\r\n"
            ),
            "manifest::schema-missing",
        ),
        (
            "{\n    \"$schema\": \"http://Agent-Plugins.org/schemas/1.0.0/plugin.schema.json#\",\n    \"name\": \"demo\"\n}",
            format!("{{\n    \"$schema\": \"{ID}\",\n    \"name\": \"demo\"\n}}"),
            "manifest::schema-invalid",
        ),
        (
            &format!("{{\"$schema\": \"{MCP_ID}\", \"name\": \"demo\"}}"),
            format!("{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}"),
            "manifest::schema-invalid",
        ),
        (
            &format!("\u{feff}{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}\n"),
            format!("{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}\n"),
            "manifest::byte-order-mark",
        ),
        (
            &format!(
                "{{\n  \"$schema\": \"{ID}\",\n  \"name\": \"demo\",\n  \"keywords\": [\"a\", \"b, c\",],\n}}\n"
            ),
            format!(
                "{{\n  \"$schema\": \"{ID}\",\n  \"name\": \"demo\",\n  \"keywords\": [\"a\", \"b, c\"]\n}}\n"
            ),
            "manifest::invalid-json",
        ),
        (
            &manifest("demo", "\"version\": \"1.0.0\",\n  \"version\": \"1.0.0\""),
            manifest("demo", "\"version\": \"1.0.0\""),
            "manifest::duplicate-key",
        ),
        (
            &manifest(
                "demo",
                "\"author\": \"Zoë \\\"Z\\\" <z@example.com> (https://example.com)\",\n  \"license\": \"MIT\"",
            ),
            manifest(
                "demo",
                "\"author\": {\n    \"name\": \"Zoë \\\"Z\\\"\",\n    \"email\": \"z@example.com\",\n    \"url\": \"https://example.com\"\n  },\n  \"license\": \"MIT\"",
            ),
            "manifest::field-type",
        ),
        (
            &manifest(
                "demo",
                "\"repository\": {\"type\": \"git\", \"url\": \"git+https://github.com/a/b.git\"},\n  \"version\": 1.10, \"homepage\": null",
            ),
            manifest(
                "demo",
                "\"repository\": \"https://github.com/a/b\",\n  \"version\": \"1.10\"",
            ),
            "manifest::field-type",
        ),
        (
            &manifest("demo", "\"keywords\": \"sea, tides\", \"extensions\": null"),
            manifest("demo", "\"keywords\": [\"sea\", \"tides\"]"),
            "manifest::field-type",
        ),
        (
            &manifest("demo", "\"extensions\": {\"com.example.a\": null}"),
            manifest("demo", "\"extensions\": {\"com.example.a\": {}}"),
            "manifest::extension-not-an-object",
        ),
    ] {
        golden_text("plugin.json", before, &after, code);
    }
}

#[test]
fn unknown_fields_move_where_they_are_told_to() {
    let namespace = &["--namespace", "com.example.client"][..];
    let code = "manifest::unknown-field";
    for (before, after) in [
        (
            "\"colour\": [1,  2],\n  \"description\": \"x\",\n  \"deep\": {\n    \"a\": \"b\\nc\"\n  }",
            "\"description\": \"x\",\n  \"extensions\": {\n    \"com.example.client\": {\n      \"colour\": [1,  2],\n      \"deep\": {\n        \"a\": \"b\\nc\"\n      }\n    }\n  }",
        ),
        (
            "\"extensions\": {\n    \"works.ever\": { \"x\": 1 }\n  },\n  \"colour\": 1",
            "\"extensions\": {\n    \"works.ever\": { \"x\": 1 },\n    \"com.example.client\": {\n      \"colour\": 1\n    }\n  }",
        ),
        (
            "\"a\": 1, \"b\": 2, \"extensions\": {\"com.example.client\": {\"x\": 1}}",
            "\"extensions\": {\"com.example.client\": {\"x\": 1, \"a\": 1, \"b\": 2}}",
        ),
    ] {
        let (before, after) = (manifest("demo", before), manifest("demo", after));
        golden(
            "plugin.json",
            before.as_bytes(),
            after.as_bytes(),
            code,
            namespace,
        );
    }
    let place = Place::new();
    Sample {
        manifest: manifest("demo", "\"colour\": 1"),
        ..Sample::good()
    }
    .put(&place);
    let run = place.run(["fix", "p"]);
    assert!(
        run.stdout
            .contains("left p/plugin.json:4:3 [manifest::unknown-field] name the namespace"),
        "{}",
        run.stdout
    );
    for bad in ["client", "com.", "com.exämple"] {
        let run = place.run(["fix", "--namespace", bad, "p"]);
        assert_eq!(run.status, Some(2), "{bad}");
    }
    let taken = manifest(
        "demo",
        "\"colour\": 1, \"extensions\": {\"com.example.client\": {\"colour\": 2}}",
    );
    place.write("p/plugin.json", &taken);
    let run = place.run(["fix", "p"].iter().chain(namespace));
    assert!(
        run.stdout.contains("holds colour already"),
        "{}",
        run.stdout
    );
    assert_eq!(place.read("p/plugin.json"), taken);
}

#[test]
fn another_clients_manifest_is_left_alone() {
    let place = Place::new();
    let foreign = "{\"name\": \"demo\", \"hooks\": \"./hooks.json\"}";
    place.write("p/plugin.json", foreign);
    place.write(".claude-plugin/plugin.json", "{\"name\": \"demo\"}");
    place.write("both/plugin.json", "{\"name\": \"demo\"}");
    place.write("both/.codex-plugin/plugin.json", "{\"name\": \"demo\"}");
    place.write("nameless/plugin.json", "{\"version\": \"1.0.0\"}");
    for package in ["p", ".claude-plugin", "nameless"] {
        let before = tree(place.path());
        for arguments in [
            &["fix", package][..],
            &["fix", "--unsafe", "--namespace", "a.b", package],
        ] {
            let run = place.run(arguments);
            assert_eq!(run.status, Some(1), "{}{}", run.stdout, run.stderr);
            assert_eq!(tree(place.path()), before, "{package}");
        }
    }
    // Some clients read a package by other rules once there is a $schema.
    let run = place.run(["fix", "both"]);
    assert!(
        run.stdout
            .contains("--unsafe mends it: .codex-plugin/plugin.json stands beside"),
        "{}",
        run.stdout
    );
    let run = place.run(["fix", "--unsafe", "both"]);
    assert_eq!(run.status, Some(0), "{}", run.stdout);
    assert_eq!(
        place.read("both/plugin.json"),
        format!("{{\"$schema\": \"{ID}\", \"name\": \"demo\"}}")
    );
}
