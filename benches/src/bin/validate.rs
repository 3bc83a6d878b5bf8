//! `apkit validate` against the loader crate `agent-plugins` on a generated tree
//! of 500 packages with 1 500 skills and 1 000 servers, on one package, and
//! start-up against a process that does nothing.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use apkit_benches::{apkit, command, compare};

fn main() -> io::Result<()> {
    let apkit = apkit("release")?;
    let tree = tempfile::tempdir()?;
    for number in 0..500 {
        package(tree.path(), number)?;
    }
    let loader = std::env::current_exe()?.with_file_name("loader");
    let program = |program: &Path, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args);
        command
    };
    let mut named = Command::new(&apkit);
    named.arg("validate").args((0..500).map(|number| tree.path().join(format!("package-{number}"))));
    let root = tree.path().to_string_lossy().into_owned();
    let one = tree.path().join("package-0").to_string_lossy().into_owned();
    let holder = tempfile::tempdir()?;
    let single = holder.path().to_string_lossy().into_owned();
    package(holder.path(), 0)?;
    compare(
        "500 packages, 1 500 skills, 1 000 servers",
        15,
        &mut [
            command("apkit validate PATH… (500 named)", named),
            command("apkit validate --recursive", program(&apkit, &["validate", "--recursive", &root])),
            command("apkit validate --recursive --format json", program(&apkit, &["validate", "--recursive", "--format", "json", &root])),
            command("agent-plugins 0.1.1: load, no report", program(&loader, &[&root])),
        ],
    )?;
    compare(
        "one package",
        40,
        &mut [
            command("apkit validate PATH", program(&apkit, &["validate", &one])),
            command("agent-plugins 0.1.1: load, no report", program(&loader, &[&single])),
        ],
    )?;
    compare(
        "start-up",
        40,
        &mut [command("apkit --version", program(&apkit, &["--version"])), command("true", program(Path::new("true"), &[]))],
    )?;
    Ok(())
}

fn package(tree: &Path, number: usize) -> io::Result<()> {
    let root = tree.join(format!("package-{number}"));
    fs::create_dir_all(root.join("bin"))?;
    fs::write(
        root.join("plugin.json"),
        format!(
            r#"{{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
  "name": "package-{number}",
  "version": "1.{number}.0",
  "description": "Package number {number} of the bench",
  "author": {{ "name": "Bench", "email": "bench@example.com" }},
  "license": "MIT",
  "keywords": ["bench", "generated"],
  "extensions": {{ "com.example.client": {{ "setting": {number}, "list": [1, 2, 3] }} }}
}}
"#
        ),
    )?;
    fs::write(root.join("bin/server"), "#!/bin/sh\n")?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(root.join("bin/server"), fs::Permissions::from_mode(0o755))?;
    }
    fs::write(
        root.join("mcp.json"),
        r#"{
  "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
  "mcpServers": {
    "local": {
      "type": "stdio",
      "command": "./bin/server",
      "args": ["--data", "${PLUGIN_DATA}/state", "--verbose"],
      "env": { "CONFIG": "${PLUGIN_ROOT}/config.json" },
      "cwd": "${PLUGIN_ROOT}"
    },
    "remote": {
      "type": "streamable-http",
      "url": "https://mcp.example.com/v1/mcp",
      "headers": { "X-Tenant": "public" }
    }
  }
}
"#,
    )?;
    for skill in ["alpha", "beta", "gamma"] {
        let directory = root.join("skills").join(skill);
        fs::create_dir_all(&directory)?;
        let paragraph = "Read the input, decide what it needs, and write the result. ".repeat(20);
        fs::write(
            directory.join("SKILL.md"),
            format!(
                "---\nname: {skill}\ndescription: Handles the {skill} part of package {number}. Use when {skill} is asked for.\nlicense: MIT\nmetadata:\n  author: bench\n  version: \"1.0\"\n---\n# {skill}\n\n{paragraph}\n\n## Steps\n\n1. Look at the input.\n2. Write the output.\n\n{paragraph}\n"
            ),
        )?;
    }
    Ok(())
}
