//! Repositories composed with git's own plumbing, sound and unsound ones.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) struct Origin {
    pub(crate) path: PathBuf,
}

/// `git`, with nothing of this machine's configuration.
pub(crate) fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("HOME", directory)
        .envs(["AUTHOR", "COMMITTER"].into_iter().flat_map(|who| {
            [
                (format!("GIT_{who}_NAME"), "A Writer"),
                (format!("GIT_{who}_EMAIL"), "writer@host.example"),
                (format!("GIT_{who}_DATE"), "1700000000 +0000"),
            ]
        }))
        .current_dir(directory);
    command
}

impl Origin {
    pub(crate) fn create(path: &Path) -> Self {
        fs::create_dir_all(path).expect("a directory");
        let origin = Self {
            path: path.to_owned(),
        };
        origin.git(&["init", "-q", "--bare", "-b", "main", "."], b"");
        origin
    }

    /// Runs git in the repository and gives what it prints.
    pub(crate) fn git(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut child = git(&self.path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git is installed");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input).expect("git reads");
        drop(stdin);
        let output = child.wait_with_output().expect("git ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn blob(&self, content: &[u8]) -> String {
        self.git(&["hash-object", "-w", "--stdin"], content)
    }

    /// A tree object as it is given, whether git would write it or not.
    pub(crate) fn tree(&self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut raw = Vec::new();
        for (mode, name, id) in entries {
            raw.extend_from_slice(mode.as_bytes());
            raw.push(b' ');
            raw.extend_from_slice(name);
            raw.push(0);
            let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("an id");
            raw.extend((0..id.len()).step_by(2).map(byte));
        }
        let literally = ["hash-object", "-w", "--literally", "-t", "tree", "--stdin"];
        self.git(&literally, &raw)
    }

    /// A commit of a tree, as the new end of `reference`.
    pub(crate) fn commit_tree(&self, reference: &str, tree: &str) -> String {
        let id = self.git(&["commit-tree", tree, "-m", "made up"], b"");
        self.git(&["update-ref", reference, &id], b"");
        id
    }

    /// A commit on `branch`, after what is there, that holds exactly these files:
    /// mode, path, content.
    pub(crate) fn commit(&self, branch: &str, files: &[(&str, &str, &[u8])]) -> String {
        let reference = format!("refs/heads/{branch}");
        let mut stream = Vec::new();
        let mut line = |text: &str| stream.extend_from_slice(text.as_bytes());
        line(&format!("commit {reference}\n"));
        line("committer A Writer <writer@host.example> 1700000000 +0000\n");
        line("data 4\ntext\n");
        let exists = git(&self.path)
            .args(["rev-parse", "-q", "--verify", &reference])
            .output()
            .expect("git is installed")
            .status
            .success();
        if exists {
            line(&format!("from {reference}^0\ndeleteall\n"));
        }
        for (mode, path, content) in files {
            if *mode == "160000" {
                let id = String::from_utf8_lossy(content);
                stream.extend_from_slice(format!("M {mode} {id} {path}\n").as_bytes());
                continue;
            }
            let head = format!("M {mode} inline {path}\ndata {}\n", content.len());
            stream.extend_from_slice(head.as_bytes());
            stream.extend_from_slice(content);
            stream.push(b'\n');
        }
        self.git(&["fast-import", "--quiet", "--force"], &stream);
        self.git(&["rev-parse", &reference], b"")
    }

    /// A package with one skill, a program, and something to tell its commits by.
    pub(crate) fn package(&self, branch: &str, text: &str) -> String {
        let manifest = crate::support::manifest("good-one", "");
        self.commit(
            branch,
            &[
                ("100644", "plugin.json", manifest.as_bytes()),
                ("100644", "skills/tides/SKILL.md", text.as_bytes()),
                ("100755", "bin/run", b"#!/bin/sh\n"),
                ("120000", "bin/also", b"run"),
                ("100644", "packages/inner/plugin.json", manifest.as_bytes()),
            ],
        )
    }
}

pub(crate) const PACKAGE_PATHS: [&str; 5] = [
    "bin/also -> run",
    "bin/run*",
    "packages/inner/plugin.json",
    "plugin.json",
    "skills/tides/SKILL.md",
];
