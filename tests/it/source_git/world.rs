//! A user's machine for one test: home, temporary files, stages, and what must
//! stay untouched.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use apkit::archive::{EntryPath, LeftOutReason, Limits, Links, Node, Stage};
use apkit::source::git::{self, Address, Error, GitSource};
use apkit::source::{Environment, Fetched, Progress, Quiet, Request, Resolved, Stop};
use tempfile::TempDir;

use super::origin::Origin;

pub(crate) struct World {
    directory: TempDir,
    stages: Cell<usize>,
    pub(crate) environment: Environment,
    pub(crate) limits: Limits,
    pub(crate) links: Links,
    pub(crate) stop: Stop,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let root = directory.path().to_owned();
        for name in ["home", "tmp", "stages", "beside"] {
            fs::create_dir(root.join(name)).expect("a directory");
        }
        fs::write(root.join("beside/sentinel"), "untouched").expect("a file");
        let mut environment = Environment {
            home: Some(root.join("home")),
            directory: root.clone(),
            ..Environment::default()
        };
        let path = std::env::var_os("PATH").expect("a search path");
        let variables = [
            ("PATH", path),
            ("HOME", root.join("home").into()),
            ("TMPDIR", root.join("tmp").into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_HTTP_LOW_SPEED_TIME", "10".into()),
        ];
        for (name, value) in variables {
            environment.variables.insert(name.into(), value);
        }
        Self {
            directory,
            stages: Cell::new(0),
            environment,
            limits: Limits::default(),
            links: Links::LeaveOut,
            stop: Stop::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn set(&mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) {
        let value = value.as_ref().to_owned();
        self.environment.variables.insert(name.into(), value);
    }

    pub(crate) fn home_file(&self, name: &str, text: &str) {
        fs::write(self.path().join("home").join(name), text).expect("a file");
    }

    /// A bare repository below `repos/`, where the servers look.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        Origin::create(&self.path().join("repos").join(name))
    }

    pub(crate) fn fetch(&self, source: &GitSource) -> Result<Got, Error> {
        self.fetch_with(source, None, &Quiet)
    }

    pub(crate) fn fetch_pinned(&self, source: &GitSource, id: &str) -> Result<Got, Error> {
        let pinned = Resolved::Commit {
            id: id.to_owned(),
            reference: Some("refs/heads/as-pinned".to_owned()),
        };
        self.fetch_with(source, Some(&pinned), &Quiet)
    }

    pub(crate) fn fetch_with(
        &self,
        source: &GitSource,
        pinned: Option<&Resolved>,
        progress: &dyn Progress,
    ) -> Result<Got, Error> {
        let number = self.stages.get();
        self.stages.set(number + 1);
        let place = self.path().join("stages").join(number.to_string());
        let stage = Stage::new(&place, self.limits, self.links).expect("an empty stage");
        let done = git::fetch(source, &self.request(pinned, progress), stage);
        self.assert_tidy();
        done.map(Got)
    }

    pub(crate) fn latest(&self, source: &GitSource) -> Result<(String, Option<String>), Error> {
        let done = git::latest(source, &self.request(None, &Quiet));
        self.assert_tidy();
        done.map(|resolved| commit(&resolved))
    }

    fn request<'a>(
        &'a self,
        pinned: Option<&'a Resolved>,
        progress: &'a dyn Progress,
    ) -> Request<'a> {
        Request {
            environment: &self.environment,
            progress,
            stop: &self.stop,
            pinned,
            permit: None,
        }
    }

    /// Nothing is left in the directory for temporary files, and nothing was
    /// written beside the stages.
    fn assert_tidy(&self) {
        let left: Vec<_> = entries(&self.path().join("tmp"));
        assert!(left.is_empty(), "left behind: {left:?}");
        assert_eq!(entries(&self.path().join("beside")), ["sentinel"]);
        let sentinel = fs::read(self.path().join("beside/sentinel")).expect("the sentinel");
        assert_eq!(sentinel, b"untouched");
        let known = ["beside", "home", "keys", "repos", "stages", "tmp"];
        for name in entries(self.path()) {
            assert!(known.contains(&name.as_str()), "{name} was made");
        }
    }
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    entries
        .map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.to_string_lossy().into_owned()
        })
        .collect()
}

fn commit(resolved: &Resolved) -> (String, Option<String>) {
    match resolved {
        Resolved::Commit { id, reference } => (id.clone(), reference.clone()),
        other => panic!("{other:?} is no commit"),
    }
}

/// What a fetch gave.
#[derive(Debug)]
pub(crate) struct Got(pub(crate) Fetched);

impl Got {
    pub(crate) fn id(&self) -> String {
        commit(&self.0.resolved).0
    }

    pub(crate) fn reference(&self) -> Option<String> {
        commit(&self.0.resolved).1
    }

    /// Paths of the tree, with `*` for executable files and the target of links.
    pub(crate) fn paths(&self) -> Vec<String> {
        let entries = self.0.staged.tree.entries.iter();
        entries
            .map(|(path, node)| match node {
                Node::File { executable, .. } => {
                    format!("{path}{}", if *executable { "*" } else { "" })
                }
                Node::Link { target, .. } => format!("{path} -> {target}"),
            })
            .collect()
    }

    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.0.staged.directory.join(path)).expect("a file of the tree")
    }

    pub(crate) fn left_out(&self) -> BTreeMap<String, LeftOutReason> {
        let left_out = self.0.staged.left_out.iter();
        left_out
            .map(|left_out| (left_out.path.clone(), left_out.reason.clone()))
            .collect()
    }

    pub(crate) fn digest(&self) -> String {
        self.0.staged.tree.digest().to_string()
    }
}

/// A source, from an address and what would follow `#` and `:`.
pub(crate) fn source(address: &str, reference: &str, sub_path: &str) -> GitSource {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    GitSource {
        address: Address::parse(address).unwrap_or_else(|error| panic!("{address}: {error}")),
        reference: some(reference),
        sub_path: some(sub_path)
            .map(|path| EntryPath::parse(path.as_bytes()).expect("a legal sub-path")),
    }
}

/// The `file://` address of a path.
pub(crate) fn file_address(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// The directory of the `git` program's own parts.
pub(crate) fn exec_path() -> PathBuf {
    let output = std::process::Command::new("git")
        .arg("--exec-path")
        .output()
        .expect("git is installed");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}
