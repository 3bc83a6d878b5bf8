//! What the README shows is what the program does.

use crate::support::Place;

#[test]
fn the_sample_of_the_readme_is_a_real_run() {
    let place = Place::new();
    place.write(
        "tide-table/plugin.json",
        r#"{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
  "name": "tide-table",
  "version": "1.2.0"
}
"#,
    );
    place.write(
        "tide-table/skills/tides/SKILL.md",
        "---\nname: tides\ndescription: Look up tides: high and low water\n---\n",
    );
    place.write(
        "tide-table/mcp.json",
        r#"{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
  "mcpServers": {
    "almanac": { "type": "http", "url": "https://tides.example.com/mcp" }
  }
}
"#,
    );
    let run = place.run(["validate", "tide-table"]);
    let readme = include_str!("../../README.md").replace("\r\n", "\n");
    let sample = readme
        .split_once("$ apkit validate tide-table\n")
        .and_then(|(_, rest)| rest.split_once("```"))
        .map(|(sample, _)| sample);
    assert_eq!(sample, Some(run.stdout.as_str()));
}

#[test]
fn the_sample_of_an_export_is_a_real_run() {
    let place = Place::new();
    let skill = |name: &str| {
        format!("---\nname: {name}\ndescription: Tells about it. Use it then.\n---\n\nText.\n")
    };
    place.write(
        "tide-plugin/.claude-plugin/plugin.json",
        r#"{"name": "tide-table", "version": "1.2.0"}"#,
    );
    place.write("tide-plugin/skills/tides/SKILL.md", skill("tides"));
    place.write("tide-plugin/skills/Ebb/SKILL.md", skill("Ebb"));
    place.write(
        "tide-plugin/.mcp.json",
        r#"{"mcpServers": {
  "almanac": {
    "type": "http",
    "url": "https://tides.example.com/mcp", "headers": {
      "Authorization": "Bearer ${TIDES_KEY}"
}}}}
"#,
    );
    let run = place.run(["export", "tide-plugin", "--out", "tides"]);
    assert_eq!(run.status, Some(1), "{run:?}");
    let readme = include_str!("../../README.md");
    let sample = format!(
        "```text\n$ apkit export tide-plugin --out tides\n{}```\n",
        run.stdout
    );
    assert!(readme.contains(&sample), "{sample}");
}
