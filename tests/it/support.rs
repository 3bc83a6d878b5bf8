//! Runs the real program with a scrubbed environment, and builds packages.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A directory of its own for one test, with the program at hand.
pub(crate) struct Place {
    directory: TempDir,
}

/// What a run of the program gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: TempDir::new().expect("a temporary directory"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file and the directories above it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        let parent = path.parent().expect("a parent");
        fs::create_dir_all(parent).expect("a directory");
        fs::write(&path, content).expect("a file");
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).expect("a file of text")
    }

    /// A package that loads without a finding: one skill.
    pub(crate) fn good_package(&self, path: &str) {
        self.write(&format!("{path}/plugin.json"), manifest("good-one", ""));
        self.write(
            &format!("{path}/skills/tides/SKILL.md"),
            "---\nname: tides\ndescription: Tells the tides. Use it for questions about them.\n---\n\nLook it up.\n",
        );
    }

    /// A package with an unknown field, a skill and a server that are skipped.
    pub(crate) fn mixed_package(&self, path: &str) {
        self.good_package(path);
        self.write(
            &format!("{path}/plugin.json"),
            manifest("mixed-one", "\"colour\": 1"),
        );
        self.write(
            &format!("{path}/skills/ebb/SKILL.md"),
            "---\nname: flow\ndescription: Tells something. Use it sometimes.\n---\n\nText.\n",
        );
        let servers = r#"{"a": {"type": "stdio", "command": "a"}, "b": {"type": "pigeon"}}"#;
        self.write(&format!("{path}/mcp.json"), mcp(servers));
    }

    /// The program in this directory, with nothing of the user's environment.
    pub(crate) fn apkit(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apkit"));
        command
            .env_clear()
            .env("LANG", "C.UTF-8")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        finish(self.apkit().args(arguments))
    }
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Run {
    let output = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run {
        status: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// A manifest of version 1.0.0 with one more member.
pub(crate) fn manifest(name: &str, member: &str) -> String {
    let comma = if member.is_empty() { "" } else { ",\n  " };
    format!(
        "{{\n  \"$schema\": \"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json\",\n  \
         \"name\": \"{name}\"{comma}{member}\n}}\n"
    )
}

/// An `mcp.json` of version 1.0.0.
pub(crate) fn mcp(servers: &str) -> String {
    format!(
        "{{\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json\", \
         \"mcpServers\": {servers}}}\n"
    )
}
