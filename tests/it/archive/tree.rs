//! Trees: their one text and digest, and what changed on disk since.

use std::fs;

use apkit::archive::{Change, Digest, EntryPath, Limits, Node, Refusal, Tree};
use proptest::prelude::*;

use crate::support::Place;

fn of(place: &Place) -> Tree {
    Tree::of_directory(&place.path().join("p"), &Limits::default()).unwrap()
}

fn changes(before: &Tree, now: &Tree) -> Vec<String> {
    before.changes(now).iter().map(Change::to_string).collect()
}

#[test]
fn a_listing_is_one_line_an_entry() {
    let place = Place::new();
    place.write("p/b", "");
    place.write("p/a/c d", "content");
    place.write("p/a.md", "content");
    let tree = of(&place);
    let sha256 = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let listing =
        format!("file\t{sha256}\t7\ta.md\nfile\t{sha256}\t7\ta/c d\nfile\t{empty}\t0\tb\n");
    assert_eq!(tree.listing(), listing);
    assert_eq!(Tree::parse_listing(&listing), Ok(tree.clone()));
    let digest = tree.digest().to_string();
    assert_eq!(
        digest,
        "sha256:c07f174e94a97ebf577f9795ce950c4d1a07d69a0d022c19e5f783c53925659f"
    );
    assert_eq!(digest.parse::<Digest>(), Ok(tree.digest()));
    assert_eq!(Tree::parse_listing(""), Ok(Tree::default()));
}

#[test]
fn only_the_canonical_listing_is_read() {
    let hash = "0".repeat(64);
    let good = format!("exec\t{hash}\t1\ta\nlink\t../x\tb\n");
    assert!(Tree::parse_listing(&good).is_ok());
    for (text, line) in [
        ("\n".to_owned(), 1),
        (good.trim_end().to_owned(), 2),
        (format!("{good}\n"), 3),
        (format!("{good}{good}"), 3),
        ("link\tx\ta\nlink\ty\ta\n".to_owned(), 2),
        (good.replace("exec", "Exec"), 1),
        (good.replace("\t1\t", "\t01\t"), 1),
        (good.replace("\t1\t", "\t+1\t"), 1),
        (good.replace("\t1\t", "\t\t"), 1),
        (good.replace("\ta\n", "\t./a\n"), 1),
        (good.replace("\ta\n", "\ta/\n"), 1),
        (good.replace("\ta\n", "\t../a\n"), 1),
        (good.replace("\ta\n", "\ta\tb\n"), 1),
        (good.replace("\ta\n", "\ta\r\n"), 1),
        (good.replacen('0', "", 1), 1),
        (good.replacen('0', "A", 1), 1),
        (good.replacen('0', "é", 1), 1),
    ] {
        let error = Tree::parse_listing(&text).expect_err(&text);
        assert_eq!(error.line, line, "{text:?}");
    }
    for text in [
        "",
        "sha256:",
        "sha256:00",
        &format!("SHA256:{hash}"),
        &format!("sha256:{hash}0"),
    ] {
        assert!(text.parse::<Digest>().is_err(), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn changes_are_named() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let place = Place::new();
    for name in ["same", "removed", "content", "mode", "kind", "d/moved"] {
        place.write(&format!("p/{name}"), name);
    }
    let root = place.path().join("p");
    symlink("same", root.join("link")).unwrap();
    let before = of(&place);
    assert_eq!(changes(&before, &of(&place)), [""; 0]);
    // Nothing that counts: times, other modes, directories.
    fs::create_dir(root.join("empty")).unwrap();
    fs::set_permissions(root.join("same"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(changes(&before, &of(&place)), [""; 0]);
    assert_eq!(before.digest(), of(&place).digest());

    fs::remove_file(root.join("removed")).unwrap();
    place.write("p/content", "Content");
    fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(root.join("kind")).unwrap();
    symlink("same", root.join("kind")).unwrap();
    fs::rename(root.join("d"), root.join("e")).unwrap();
    fs::remove_file(root.join("link")).unwrap();
    symlink("mode", root.join("link")).unwrap();
    let now = of(&place);
    assert_eq!(
        changes(&before, &now),
        [
            "\"content\" has other content",
            "\"d/moved\" was removed",
            "\"e/moved\" was added",
            "\"kind\" is of another kind",
            "\"link\" points elsewhere",
            "\"mode\" has another executable bit",
            "\"removed\" was removed",
        ]
    );
    assert_ne!(before.digest(), now.digest());
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_no_package_is_refused() {
    let limits = Limits {
        entries: 3,
        file: 10,
        total: 15,
        parts: 2,
        ..Limits::default()
    };
    let of = |files: &[(&str, &str)]| {
        let place = Place::new();
        for (name, content) in files {
            place.write(&format!("p/{name}"), content);
        }
        Tree::of_directory(&place.path().join("p"), &limits).map(|_| ())
    };
    assert!(of(&[("a", "x"), ("b", "y")]).is_ok());
    for (files, wanted) in [
        (&[("a", "x"), ("b", "x"), ("c/d", "x")][..], "more than 3"),
        (&[("a", "01234567890")], "\"a\" has more than 10"),
        (
            &[("a", "0123456789"), ("b", "0123456789")],
            "together (reached with \"b\")",
        ),
        (
            &[("a/b/c", "x")],
            "\"a/b/c\" is refused: its path has more than 2 parts",
        ),
        (&[("nul.txt", "x")], "\"nul.txt\" is refused"),
        (&[("a\\b", "x")], "backslash"),
        (&[(".git/config", "x")], "`.git`"),
    ] {
        let refusal = of(files).expect_err(wanted);
        assert!(refusal.to_string().contains(wanted), "{refusal}");
    }
    let missing = Tree::of_directory("/nothing/here".as_ref(), &limits);
    assert!(matches!(missing, Err(Refusal::Read { .. })));

    let place = Place::new();
    fs::create_dir(place.path().join("p")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path().join("p/s")).unwrap();
    let refusal = Tree::of_directory(&place.path().join("p"), &limits).unwrap_err();
    assert!(
        refusal.to_string().contains("\"s\" is a socket"),
        "{refusal}"
    );
}

fn node() -> impl Strategy<Value = Node> {
    let file = (any::<[u8; 32]>(), any::<u64>(), any::<bool>());
    prop_oneof![
        file.prop_map(|(sha256, size, executable)| Node::File {
            sha256,
            size,
            executable
        }),
        "[a-z./ ü>-]{1,12}".prop_map(|target| Node::Link { target }),
    ]
}

proptest! {
    #[test]
    fn a_listing_reads_back(entries in proptest::collection::btree_map("[a-c /.>ü-]{1,8}", node(), 0..8)) {
        let entries = entries
            .into_iter()
            .filter_map(|(path, node)| Some((EntryPath::parse(path.as_bytes()).ok()?, node)))
            .collect();
        let tree = Tree { entries };
        let listing = tree.listing();
        let read = Tree::parse_listing(&listing).unwrap();
        prop_assert_eq!(read.digest(), tree.digest());
        prop_assert_eq!(&read, &tree);
        prop_assert!(tree.changes(&read).is_empty());
    }
}
