//! A user's machine for one test: a home, packages, and what must stay as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::schemas;
use crate::support::{Place, Run, finish, manifest};

pub(crate) struct World {
    pub(crate) place: Place,
}

impl World {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        for name in ["home", "tmp"] {
            fs::create_dir(place.path().join(name)).expect("a directory");
        }
        place.write("beside/sentinel", "untouched");
        Self { place }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.place.write(path, content)
    }

    /// The program, with a home and a place for temporary files.
    pub(crate) fn apkit(&self) -> Command {
        let mut command = self.place.apkit();
        self.prepare(&mut command);
        command
    }

    pub(crate) fn prepare(&self, command: &mut Command) {
        command
            .env_clear()
            .env("LANG", "C.UTF-8")
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // A registry that is away is told at once.
            .env("npm_config_fetch_retries", "0")
            .current_dir(self.place.path());
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        finish(self.apkit().args(arguments))
    }

    /// Runs to the exit status `status` and gives what was printed.
    pub(crate) fn expect(&self, status: i32, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.status, Some(status), "{arguments:?}: {run:#?}");
        run
    }

    /// The same in the directory `project`, for its own store.
    pub(crate) fn in_project(&self, status: i32, arguments: &[&str]) -> Run {
        let mut command = self.apkit();
        command.current_dir(self.path("project")).args(arguments);
        let run = finish(command.arg("--project"));
        assert_eq!(run.status, Some(status), "{arguments:?}: {run:#?}");
        run
    }

    /// What was printed, which keeps to its schema.
    pub(crate) fn json(&self, status: i32, arguments: &[&str]) -> Value {
        let run = self.expect(status, arguments);
        let document = serde_json::from_str(&run.stdout).expect("JSON");
        schemas::check(arguments[0], &document);
        document
    }

    /// What the lock file says of one package.
    pub(crate) fn locked(&self, name: &str) -> Value {
        self.lock()["packages"][name].clone()
    }

    pub(crate) fn lock(&self) -> Value {
        let text = fs::read_to_string(self.root().join("apkit.lock")).expect("a lock file");
        let lock = serde_json::from_str(&text).expect("JSON");
        schemas::check("lock", &lock);
        lock
    }

    /// The root of the default store.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("home/.agents")
    }

    pub(crate) fn installed(&self, path: &str) -> PathBuf {
        self.root().join("plugins").join(path)
    }

    /// A package with one skill that says `text`.
    pub(crate) fn package(&self, path: &str, name: &str, text: &str) {
        self.write(
            &format!("{path}/plugin.json"),
            manifest(name, "\"version\": \"1.0.0\""),
        );
        self.write(&format!("{path}/skills/tides/SKILL.md"), skill(text));
        self.write(&format!("{path}/skills/tides/references/more.md"), "more\n");
        self.program(&format!("{path}/skills/tides/scripts/run.sh"));
    }

    /// A program in the shell's language.
    pub(crate) fn program(&self, path: &str) {
        let path = self.write(path, "#!/bin/sh\necho hello\n");
        executable(&path);
    }

    /// Whether nothing is left over: no temporary file, nothing in staging, no
    /// journal, and the surroundings as they were.
    pub(crate) fn assert_tidy(&self) {
        let internal = self.root().join(".apkit");
        for directory in [self.path("tmp"), internal.join("staging")] {
            let left = names(&directory);
            assert!(left.is_empty(), "{}: {left:?}", directory.display());
        }
        for file in [
            "journal.json",
            "journal.next",
            "apkit.lock.next",
            "folders.next",
        ] {
            assert!(!internal.join(file).exists(), "{file}");
        }
        assert_eq!(names(&self.path("beside")), ["sentinel"]);
        assert_eq!(self.place.read("beside/sentinel"), "untouched");
    }
}

pub(crate) fn skill(text: &str) -> String {
    format!(
        "---\nname: tides\ndescription: Tells the tides. Use it for questions about them.\n---\n\n{text}\n"
    )
}

pub(crate) fn executable(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    #[cfg(not(unix))]
    {
        let _ = path;
    }
}

/// The names in a directory, sorted; none if there is no directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// Every file below a directory with its content and mode.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, (Vec<u8>, u32)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            if metadata.is_dir() {
                pending.push(path);
                continue;
            }
            let name = path
                .strip_prefix(root)
                .expect("below")
                .to_string_lossy()
                .into_owned();
            let content = if metadata.is_symlink() {
                fs::read_link(&path)
                    .expect("a link")
                    .to_string_lossy()
                    .into_owned()
                    .into_bytes()
            } else {
                fs::read(&path).expect("a file")
            };
            found.insert(name, (content, mode(&metadata)));
        }
    }
    found
}

fn mode(metadata: &fs::Metadata) -> u32 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.permissions().mode() & 0o7777
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        0
    }
}

/// A repository with a working tree, made by git itself.
pub(crate) struct Repository {
    pub(crate) path: PathBuf,
}

impl Repository {
    /// Makes the directory `path` a repository and commits what is there.
    pub(crate) fn of(path: &Path) -> Self {
        let repository = Self {
            path: path.to_owned(),
        };
        repository.git(&["init", "-q", "-b", "main", "."]);
        repository.commit("first");
        repository
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        let output = command
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@host.example"])
            .args(["-c", "core.autocrlf=false", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(&self.path)
            .output()
            .expect("git is installed");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(crate) fn source(&self) -> String {
        format!("git+file://{}", self.path.display())
    }
}
