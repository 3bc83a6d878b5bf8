//! Archives: never a panic, nothing outside of the stage, and what is taken in is
//! what stands on disk and comes back from an archive of our own.
//!
//! An input is a gzip or zip archive; anything else counts as a tar archive, whose
//! checksums are put right and which is compressed first.
#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use apkit::archive::{
    Content, Format, Item, Limits, Links, Node, Stage, Staged, Tree, root_of, tgz, unpack, zip,
};

/// In memory if the machine has such a place.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let base = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    base.join(format!("apkit-fuzz-archive-{}", std::process::id()))
});

const LIMITS: Limits = Limits {
    entries: 200,
    file: 1 << 20,
    total: 2 << 20,
    ratio: 200,
    parts: 12,
};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let bytes = match Format::of(input) {
        Some(_) => input.to_vec(),
        None => gzip(&with_checksums(input)),
    };
    let _gone = fs::remove_dir_all(&*PLACE);
    let above = PLACE.join("a/b");
    if fs::create_dir_all(&above).is_err() {
        return;
    }
    if let Some(staged) = take_in(&above, "stage", &bytes) {
        check(&above, &staged);
    }
    // Whatever happened, there is nothing but the stages.
    let names = |directory: &Path| -> Vec<String> {
        fs::read_dir(directory)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect()
    };
    assert_eq!(names(&PLACE), ["a"]);
    assert_eq!(names(&PLACE.join("a")), ["b"]);
    assert!(names(&above).iter().all(|name| name.starts_with("stage")));
});

fn take_in(above: &Path, name: &str, bytes: &[u8]) -> Option<Staged> {
    let mut stage = Stage::new(&above.join(name), LIMITS, Links::Refuse).expect("a directory");
    let taken = unpack(&mut Cursor::new(bytes), &mut stage);
    let staged = taken.and_then(|()| {
        let root = root_of(&stage, None)?;
        stage.finish(&root)
    });
    match staged {
        Ok(staged) => Some(staged),
        Err(refusal) => {
            let message = refusal.to_string();
            assert!(!message.contains(char::is_control), "{message:?}");
            assert!(message.len() < 8 << 10, "{message}");
            None
        }
    }
}

fn check(above: &Path, staged: &Staged) {
    let tree = &staged.tree;
    let found = Tree::of_directory(&staged.directory, &LIMITS).expect("what was just made");
    assert_eq!(found, *tree);
    assert_eq!(Tree::parse_listing(&tree.listing()).as_ref(), Ok(tree));
    assert!(tree.entries.len() <= LIMITS.entries);

    let root = fs::canonicalize(&staged.directory).expect("the root");
    let mut contents = BTreeMap::new();
    let mut total = 0;
    for (path, node) in &tree.entries {
        let on_disk = root.join(path.as_str());
        match node {
            Node::Link { .. } => {
                if let Ok(end) = fs::canonicalize(&on_disk) {
                    assert!(end.starts_with(&root), "{path} leads to {end:?}");
                }
            }
            Node::File { size, .. } => {
                total += size;
                contents.insert(path, fs::read(&on_disk).expect("a file"));
            }
        }
    }
    assert!(total <= LIMITS.total);

    let items: Vec<Item<'_>> = tree
        .entries
        .iter()
        .map(|(path, node)| match node {
            Node::File { executable, .. } => Item {
                path: path.as_str(),
                executable: *executable,
                content: Content::Bytes(&contents[path]),
            },
            Node::Link { target } => Item {
                path: path.as_str(),
                executable: false,
                content: Content::Link(target),
            },
        })
        .collect();
    let prefix = "package";
    let mut bytes = Vec::new();
    tgz(&mut items.clone(), prefix, 0, &mut bytes).expect("memory");
    compare(above, "stage-tgz", &bytes, tree);
    bytes.clear();
    zip(&mut items.clone(), prefix, 0, &mut bytes).expect("memory");
    compare(above, "stage-zip", &bytes, tree);
}

fn compare(above: &Path, name: &str, bytes: &[u8], tree: &Tree) {
    // The directory that is added is one entry and one part more.
    let limits = Limits {
        entries: LIMITS.entries + 1,
        parts: LIMITS.parts + 1,
        ..LIMITS
    };
    let mut stage = Stage::new(&above.join(name), limits, Links::Refuse).expect("a directory");
    unpack(&mut Cursor::new(bytes), &mut stage).expect("an archive of our own");
    let again = stage.finish("package").expect("the same content");
    assert_eq!(again.tree, *tree);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).expect("memory");
    gzip.finish().expect("memory")
}

/// Whatever looks like a header gets the checksum it should have.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for header in bytes.chunks_exact_mut(512) {
        if header[257..262] == *b"ustar" {
            header[148..156].fill(b' ');
            let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
            header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    bytes
}
