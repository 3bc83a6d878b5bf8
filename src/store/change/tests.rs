//! Every state of the disk that a process which died can leave.

use std::collections::BTreeMap;

use tempfile::TempDir;

use super::journal::VERSION;
use super::replay::{OLD, exists};
use super::*;
use crate::archive::Digest;
use crate::source::{Resolved, Source};
use crate::store::{Entry, Mode};

/// A store with package `a` of content `old`, and a change to `new` prepared.
struct World {
    directory: TempDir,
    store: Store,
}

impl World {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let store = Store::open(directory.path().join("root")).unwrap();
        store.layout.create().unwrap();
        let world = Self { directory, store };
        world.tree(&world.place(), "old");
        world.tree(&world.staging().join(NEW), "new");
        fs::create_dir_all(world.layout().data("a")).unwrap();
        let old = world.lock("old").text(&world.store.base);
        fs::write(world.layout().lock_file(), old).unwrap();
        world
    }

    fn layout(&self) -> &Layout {
        &self.store.layout
    }

    fn place(&self) -> PathBuf {
        self.layout().package("a")
    }

    fn staging(&self) -> PathBuf {
        self.layout().staging().join("1-0")
    }

    fn tree(&self, path: &Path, content: &str) {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("file"), content).unwrap();
    }

    fn lock(&self, content: &str) -> LockFile {
        let entry = Entry {
            source: Source::Directory(self.directory.path().join("source")),
            resolved: Resolved::Content,
            digest: Digest::of(content.as_bytes()),
            version: None,
            spec_version: "1.0.0".to_owned(),
            mode: Mode::Copy,
            folders: Vec::new(),
        };
        LockFile {
            packages: BTreeMap::from([("a".to_owned(), entry)]),
        }
    }

    fn next_lock(&self, next: &LockFile) {
        fs::write(self.layout().next_lock_file(), next.text(&self.store.base)).unwrap();
    }

    fn journal(&self, new: bool, purge: bool) {
        let new = new.then(|| NewTree {
            file: sys::file_id(&self.staging().join(NEW)),
        });
        let journal = Journal {
            journal_version: VERSION,
            name: "a".to_owned(),
            mark: None,
            staging: "1-0".to_owned(),
            new,
            purge,
            only_in: None,
        };
        journal.write(self.layout()).unwrap();
    }

    /// What the next command finds: the lock file and the tree agree, and when it
    /// has changed something itself, nothing is left over.
    fn found(&self) -> Option<String> {
        let lock = self.store.installed(&Stop::default()).unwrap();
        let content = fs::read_to_string(self.place().join("file")).ok();
        match &content {
            Some(content) => assert_eq!(lock, self.lock(content)),
            None => assert_eq!(lock, LockFile::default()),
        }
        drop(self.store.writer(&Stop::default()).unwrap());
        assert_eq!(fs::read_dir(self.layout().staging()).unwrap().count(), 0);
        for path in [self.layout().journal(), self.layout().next_lock_file()] {
            assert!(!exists(&path), "{}", path.display());
        }
        content
    }
}

#[test]
fn before_the_journal_nothing_has_happened() {
    let world = World::new();
    assert_eq!(world.found().as_deref(), Some("old"));
    let world = World::new();
    world.next_lock(&world.lock("new"));
    assert_eq!(world.found().as_deref(), Some("old"));
    // Nor has it if the journal has not got its name.
    let world = World::new();
    world.next_lock(&world.lock("new"));
    fs::write(world.layout().journal().with_extension("next"), "{").unwrap();
    assert_eq!(world.found().as_deref(), Some("old"));
}

#[test]
fn from_the_journal_on_a_replacement_happens() {
    let steps: &[fn(&World)] = &[
        |_| {},
        // In one step.
        |world| {
            let is_exchanged = sys::exchange(&world.staging().join(NEW), &world.place()).unwrap();
            if !is_exchanged {
                fs::rename(world.place(), world.staging().join(OLD)).unwrap();
                fs::rename(world.staging().join(NEW), world.place()).unwrap();
            }
        },
        // In two.
        |world| fs::rename(world.place(), world.staging().join(OLD)).unwrap(),
        |world| {
            fs::rename(world.place(), world.staging().join(OLD)).unwrap();
            fs::rename(world.staging().join(NEW), world.place()).unwrap();
        },
        // With the lock file in its place.
        |world| {
            fs::rename(world.place(), world.staging().join(OLD)).unwrap();
            fs::rename(world.staging().join(NEW), world.place()).unwrap();
            fs::rename(world.layout().next_lock_file(), world.layout().lock_file()).unwrap();
        },
        // With the old tree half deleted.
        |world| {
            let (new, old) = (world.staging().join(NEW), world.staging().join(OLD));
            let is_exchanged = sys::exchange(&new, &world.place()).unwrap();
            if !is_exchanged {
                fs::rename(world.place(), &old).unwrap();
                fs::rename(&new, world.place()).unwrap();
            }
            fs::rename(world.layout().next_lock_file(), world.layout().lock_file()).unwrap();
            fs::remove_file(world.layout().journal()).unwrap();
            let left = if is_exchanged { new } else { old };
            fs::remove_file(left.join("file")).unwrap();
        },
    ];
    for (number, step) in steps.iter().enumerate() {
        let world = World::new();
        world.next_lock(&world.lock("new"));
        world.journal(true, false);
        step(&world);
        assert_eq!(world.found().as_deref(), Some("new"), "step {number}");
        assert!(exists(&world.layout().data("a")));
    }
}

#[test]
fn from_the_journal_on_a_first_import_happens() {
    for is_in_place in [false, true] {
        let world = World::new();
        fs::remove_dir_all(world.place()).unwrap();
        world.next_lock(&world.lock("new"));
        world.journal(true, false);
        if is_in_place {
            fs::rename(world.staging().join(NEW), world.place()).unwrap();
        }
        assert_eq!(world.found().as_deref(), Some("new"));
    }
}

#[test]
fn from_the_journal_on_a_removal_happens() {
    let steps: &[fn(&World)] = &[
        |_| {},
        |world| fs::rename(world.place(), world.staging().join(OLD)).unwrap(),
        |world| {
            fs::rename(world.place(), world.staging().join(OLD)).unwrap();
            fs::rename(world.layout().next_lock_file(), world.layout().lock_file()).unwrap();
        },
    ];
    for purge in [false, true] {
        for step in steps {
            let world = World::new();
            fs::remove_dir_all(world.staging().join(NEW)).unwrap();
            world.next_lock(&LockFile::default());
            world.journal(false, purge);
            step(&world);
            assert_eq!(world.found(), None);
            assert_eq!(exists(&world.layout().data("a")), !purge);
        }
    }
}

#[test]
fn a_change_that_fails_halfway_is_taken_back() {
    let world = World::new();
    // Where the lock file should be is something that no file can replace.
    let lock_file = world.layout().lock_file();
    let mut writer = world.store.writer(&Stop::default()).unwrap();
    world.tree(&world.directory.path().join("fetched"), "new");
    let staging = Staging::create(world.layout()).unwrap();
    fs::remove_file(&lock_file).unwrap();
    fs::create_dir_all(lock_file.join("in the way")).unwrap();
    let next = world.lock("new");
    let tree = staging.path().join("tree");
    fs::rename(world.directory.path().join("fetched"), &tree).unwrap();
    assert!(writer.put("a", &tree, &staging, next).is_err());
    assert_eq!(
        fs::read_to_string(world.place().join("file")).unwrap(),
        "old"
    );
    assert!(!exists(&world.layout().journal()));
    drop((writer, staging));
    fs::remove_dir_all(&lock_file).unwrap();
    let old = world.lock("old").text(&world.store.base);
    fs::write(&lock_file, old).unwrap();
    assert_eq!(world.found().as_deref(), Some("old"));
}

#[test]
fn a_journal_of_a_stranger_leads_nowhere_else() {
    for (name, staging) in [
        ("../beside", "1-0"),
        ("a", "../../beside"),
        ("con", "1-0"),
        ("a", ""),
        ("a", "1-0-"),
    ] {
        let world = World::new();
        let journal = Journal {
            journal_version: VERSION,
            name: name.to_owned(),
            mark: None,
            staging: staging.to_owned(),
            new: None,
            purge: true,
            only_in: None,
        };
        journal.write(world.layout()).unwrap();
        assert!(world.store.installed(&Stop::default()).is_err());
        assert!(exists(&world.place()));
    }
}

#[test]
fn whoever_waits_too_long_is_told() {
    let world = World::new();
    let held = sys::try_lock(&world.layout().writer()).unwrap();
    assert!(held.is_some());
    let told = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let tell = std::sync::Arc::clone(&told);
    let store = Store::open(world.layout().root.clone()).unwrap();
    let store = store.telling(Duration::from_millis(700), move |_| {
        tell.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let waited = store.writer(&Stop::default()).map(drop);
    assert!(matches!(waited, Err(Error::Busy { .. })));
    assert!(told.load(std::sync::atomic::Ordering::Relaxed));
    let stop = Stop::default();
    stop.request();
    let waited = store.writer(&stop).map(drop);
    assert!(matches!(waited, Err(Error::Interrupted)));
}
