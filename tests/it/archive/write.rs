//! Archives out: the same bytes for the same items, and back to the same tree.

use std::collections::BTreeMap;

use apkit::archive::{
    Content, Digest, EntryPath, Item, Limits, Links, Stage, Tree, copy_directory, tgz, zip,
};
use proptest::prelude::*;

use super::{shown, take_in};
use crate::support::Place;

/// 2001-09-09, 01:46:40 UTC.
const TIME: u64 = 1_000_000_000;

type Write = fn(&mut [Item<'_>], &str, u64, &mut Vec<u8>) -> std::io::Result<()>;

const FORMATS: [(&str, Write); 2] = [
    ("tgz", |items, prefix, time, to| {
        tgz(items, prefix, time, to)
    }),
    ("zip", |items, prefix, time, to| {
        zip(items, prefix, time, to)
    }),
];

fn file<'a>(path: &'a str, content: &'a str) -> Item<'a> {
    Item {
        path,
        executable: false,
        content: Content::Bytes(content.as_bytes()),
    }
}

fn items() -> Vec<Item<'static>> {
    vec![
        file("plugin.json", "{}"),
        Item {
            executable: true,
            ..file("bin/run", "#!/bin/sh\n")
        },
        file("skills/ü/SKILL.md", "text"),
        Item {
            content: Content::Link("../plugin.json"),
            ..file("bin/link", "")
        },
        file("bin.md", ""),
    ]
}

fn written(write: Write, items: &mut [Item<'_>], prefix: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(items, prefix, TIME, &mut bytes).unwrap();
    bytes
}

#[test]
fn the_same_items_give_the_same_bytes() {
    let golden = [
        (
            "tgz",
            "sha256:b073c84c329c3168f25b122ebbf592e78ebc4234d3b4ccae5b05a297cdf2e299",
        ),
        (
            "zip",
            "sha256:cc7fc8093e23c471e24e6b7726785d48657d86dc8d35dd128b0534a0f7292a15",
        ),
    ];
    for ((name, write), (_, golden)) in FORMATS.into_iter().zip(golden) {
        let bytes = written(write, &mut items(), "package");
        let mut reversed = items();
        reversed.reverse();
        assert_eq!(written(write, &mut reversed, "package/"), bytes, "{name}");
        // Depends on the version of the compressor as well, which Cargo.lock pins.
        assert_eq!(Digest::of(&bytes).to_string(), golden, "{name}");
        let mut other_time = Vec::new();
        write(&mut items(), "package", TIME + 60, &mut other_time).unwrap();
        assert_ne!(other_time, bytes, "{name}");
    }
}

#[test]
fn what_is_written_is_taken_in() {
    let wanted = [
        "bin.md=",
        "bin/link->../plugin.json",
        "bin/run*=#!/bin/sh\n",
        "plugin.json={}",
        "skills/ü/SKILL.md=text",
    ];
    for (name, write) in FORMATS {
        for prefix in ["", "package", "a/b"] {
            let place = Place::new();
            let bytes = written(write, &mut items(), prefix);
            let staged = take_in(&place, &bytes, Limits::default()).unwrap();
            let found: Vec<String> = shown(&staged)
                .iter()
                .map(|line| line.strip_prefix("b/").unwrap_or(line).to_owned())
                .collect();
            assert_eq!(found, wanted, "{name} {prefix}");
        }
    }
}

#[test]
fn bad_paths_are_not_written() {
    for (name, write) in FORMATS {
        for (paths, wanted) in [
            (&["../a"][..], "holds `..`"),
            (&["/a"], "is absolute"),
            (&["a\\b"], "backslash"),
            (&["nul"], "device"),
            (&["a", "b", "a"], "there twice"),
            (&["a", "./a"], "there twice"),
        ] {
            let mut items: Vec<_> = paths.iter().map(|path| file(path, "x")).collect();
            let error = write(&mut items, "p", TIME, &mut Vec::new()).expect_err(wanted);
            assert!(error.to_string().contains(wanted), "{name}: {error}");
        }
        let error = write(&mut [file("a", "x")], "../p", TIME, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("`..`"), "{name}: {error}");
    }
}

#[test]
fn times_are_those_given() {
    // Seconds since 1970, and as zip archives tell the time.
    for (time, year, month, day, hour, minute, second) in [
        (0, 1980, 1, 1, 0, 0, 0),
        (315_532_800, 1980, 1, 1, 0, 0, 0),
        (951_782_399, 2000, 2, 28, 23, 59, 58),
        (951_868_799, 2000, 2, 29, 23, 59, 58),
        (951_868_800, 2000, 3, 1, 0, 0, 0),
        (TIME, 2001, 9, 9, 1, 46, 40),
        (1_735_689_598, 2024, 12, 31, 23, 59, 58),
        (4_102_444_800, 2100, 1, 1, 0, 0, 0),
        (4_107_542_400, 2100, 3, 1, 0, 0, 0),
        (4_354_819_198, 2107, 12, 31, 23, 59, 58),
        (u64::MAX, 1980, 1, 1, 0, 0, 0),
    ] {
        let mut bytes = Vec::new();
        zip(&mut [file("a", "x")], "", time, &mut bytes).unwrap();
        let read = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let (clock, date) = (read(10), read(12));
        let found = (
            1980 + (date >> 9),
            date >> 5 & 15,
            date & 31,
            clock >> 11,
            clock >> 5 & 63,
            (clock & 31) * 2,
        );
        assert_eq!(found, (year, month, day, hour, minute, second), "{time}");
    }
}

#[test]
fn every_way_in_gives_the_same_digest() {
    let place = Place::new();
    let root = place.path().join("source");
    let mut digests = Vec::new();
    for (name, write) in FORMATS {
        let inner = Place::new();
        let bytes = written(write, &mut items(), "p");
        let staged = take_in(&inner, &bytes, Limits::default()).unwrap();
        digests.push((name, staged.tree.digest()));
        if cfg!(unix) {
            let on_disk = Tree::of_directory(&staged.directory, &Limits::default()).unwrap();
            assert_eq!(on_disk, staged.tree);
            if !root.exists() {
                std::fs::rename(&staged.directory, &root).unwrap();
            }
        }
    }
    if cfg!(unix) {
        let copy = place.path().join("copy");
        let mut stage = Stage::new(&copy, Limits::default(), Links::LeaveOut).unwrap();
        copy_directory(&root, &mut stage).unwrap();
        digests.push(("directory", stage.finish("").unwrap().tree.digest()));
    }
    for (name, digest) in &digests {
        assert_eq!(*digest, digests[0].1, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_files_come_back(files in proptest::collection::btree_map(
        "[a-cA-C0 ü.-]{1,3}(/[a-c0 .-]{1,120}){0,3}",
        (any::<bool>(), proptest::collection::vec(any::<u8>(), 0..600)),
        0..6,
    )) {
        let files: BTreeMap<EntryPath, _> = files
            .into_iter()
            .filter_map(|(path, file)| Some((EntryPath::parse(path.as_bytes()).ok()?, file)))
            .collect();
        for (name, write) in FORMATS {
            let mut items: Vec<Item<'_>> = files
                .iter()
                .map(|(path, (executable, content))| Item {
                    path: path.as_str(),
                    executable: *executable,
                    content: Content::Bytes(content),
                })
                .collect();
            items.push(file("zz", "one at the top"));
            let bytes = written(write, &mut items, "");
            let place = Place::new();
            match take_in(&place, &bytes, Limits::default()) {
                Ok(staged) => {
                    prop_assert_eq!(staged.tree.entries.len(), items.len(), "{}", name);
                    for (path, (_, content)) in &files {
                        let found = std::fs::read(staged.directory.join(path.as_str())).unwrap();
                        prop_assert!(found == *content, "{} {}", name, path);
                    }
                    shown(&staged);
                }
                // Random names may collide; nothing else is wrong with them.
                Err(refusal) => prop_assert!(
                    format!("{refusal:?}").starts_with("Collision")
                        || format!("{refusal:?}").starts_with("BelowFile")
                        || format!("{refusal:?}").starts_with("DirectoryToo"),
                    "{} {}", name, refusal
                ),
            }
        }
    }
}
