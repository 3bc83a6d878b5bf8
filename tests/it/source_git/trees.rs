//! Trees, sound and hostile: each is taken in or refused as the rules say, and
//! nothing is touched outside the stage.

use apkit::archive::{LeftOutReason, Limits, LinkProblem, Links, PathProblem, Refusal};
use apkit::source::git::Error;

use super::http::HttpServer;
use super::origin::Origin;
use super::world::{Got, World, file_address, source};

struct Hostile {
    world: World,
    origin: Origin,
    blob: String,
}

impl Hostile {
    fn new() -> Self {
        let world = World::new();
        let origin = world.origin("r.git");
        let blob = origin.blob(b"content\n");
        Self {
            world,
            origin,
            blob,
        }
    }

    fn fetch(&self, sub_path: &str) -> Result<Got, Error> {
        let address = file_address(&self.origin.path);
        self.world.fetch(&source(&address, "main", sub_path))
    }

    /// Fetches a commit of a tree as it is given.
    fn tree(&self, entries: &[(&str, &[u8], &str)]) -> Result<Got, Error> {
        let tree = self.origin.tree(entries);
        self.origin.commit_tree("refs/heads/main", &tree);
        self.fetch("")
    }

    fn refused(&self, entries: &[(&str, &[u8], &str)]) -> Refusal {
        match self.tree(entries) {
            Err(Error::Refused(refusal)) => refusal,
            other => panic!("{entries:?}: {other:?}"),
        }
    }

    fn damaged(&self, entries: &[(&str, &[u8], &str)]) -> String {
        match self.tree(entries) {
            Err(error @ (Error::Tree { .. } | Error::Git(_))) => error.to_string(),
            other => panic!("{entries:?}: {other:?}"),
        }
    }
}

#[test]
fn names_that_some_system_reads_differently_are_refused() {
    let hostile = Hostile::new();
    for (name, wanted) in [
        (&b".git"[..], PathProblem::Git),
        (b".GIT", PathProblem::Git),
        (b".Git ", PathProblem::Git),
        (b"git~1", PathProblem::Git),
        (b".g\xe2\x80\x8cit", PathProblem::Git),
        (b"..", PathProblem::Parent),
        (b"a\\b", PathProblem::Backslash),
        (b"..\\b", PathProblem::Backslash),
        (b"C:x", PathProblem::Drive),
        (b"ab:c", PathProblem::Colon),
        (b"a\nb", PathProblem::Control('\n')),
        (b"a\x1b[1m", PathProblem::Control('\x1b')),
        (b"a\xff", PathProblem::NotUtf8),
        (b"nul.txt", PathProblem::Device),
        (b"COM1", PathProblem::Device),
        (b"a.", PathProblem::Trailing),
        (&[b'x'; 256], PathProblem::LongPart),
    ] {
        for (mode, id) in [
            ("100644", hostile.blob.clone()),
            ("120000", hostile.blob.clone()),
            (
                "40000",
                hostile.origin.tree(&[("100644", b"x", &hostile.blob)]),
            ),
        ] {
            match hostile.refused(&[(mode, name, &id)]) {
                Refusal::Path { problem, .. } => assert_eq!(problem, wanted, "{name:?}"),
                other => panic!("{name:?}: {other}"),
            }
        }
        // Further down as well.
        let below = hostile.origin.tree(&[("100644", name, &hostile.blob)]);
        let refusal = hostile.refused(&[("40000", b"d", &below)]);
        assert!(
            matches!(refusal, Refusal::Path { .. }),
            "{name:?}: {refusal}"
        );
    }
}

#[test]
fn entries_that_meet_are_refused() {
    let hostile = Hostile::new();
    let blob = hostile.blob.as_str();
    let directory = hostile.origin.tree(&[("100644", b"x", blob)]);
    let refusal = hostile.refused(&[("100644", b"a", blob), ("100644", b"a", blob)]);
    assert!(matches!(refusal, Refusal::Duplicate { .. }), "{refusal}");
    for (one, other) in [
        ("A", "a"),
        ("\u{e9}", "e\u{301}"),
        ("STRASSE", "stra\u{df}e"),
    ] {
        let entries = [
            ("100644", one.as_bytes(), blob),
            ("100644", other.as_bytes(), blob),
        ];
        let refusal = hostile.refused(&entries);
        assert!(
            matches!(refusal, Refusal::Collision { .. }),
            "{one}: {refusal}"
        );
    }
    // A directory and a link of one name, whichever comes first: nothing is
    // written through the link.
    let target = hostile.origin.blob(b"../../beside");
    for entries in [
        [
            ("120000", &b"a"[..], target.as_str()),
            ("40000", b"a", &directory),
        ],
        [("40000", b"a", &directory), ("120000", b"a", &target)],
        [("120000", b"A", &target), ("40000", b"a", &directory)],
    ] {
        hostile.refused(&entries);
    }
}

#[test]
fn trees_that_git_would_not_write_are_refused() {
    let hostile = Hostile::new();
    let blob = hostile.blob.as_str();
    let nowhere = "1".repeat(40);
    let tree = hostile.origin.tree(&[("100644", b"x", blob)]);
    for entries in [
        vec![("100644", &b"a/b"[..], blob)],
        vec![("100644", b"/etc", blob)],
        vec![("100644", b"../../beside/x", blob)],
        vec![("40000", b"d/e", tree.as_str())],
        vec![("100644", b".", blob)],
        vec![("100644", b"", blob)],
        vec![("100644", b"gone", &nowhere)],
        vec![("40000", b"gone", &nowhere)],
        vec![("120000", b"gone", &nowhere)],
        vec![("40000", b"file", blob)],
        vec![("100644", b"directory", &tree)],
        vec![("20644", b"device", blob)],
        vec![("10644", b"pipe", blob)],
    ] {
        hostile.damaged(&entries);
    }
    // Modes of old: the executable bit of the owner counts, nothing else.
    let got = hostile.tree(&[
        ("100664", b"a", blob),
        ("100600", b"b", blob),
        ("104755", b"c", blob),
        ("100711", b"d", blob),
        ("100611", b"e", blob),
    ]);
    let got = got.expect("a package");
    assert_eq!(got.paths(), ["a", "b", "c*", "d*", "e"]);
}

#[test]
fn links_are_taken_in_only_if_they_stay_inside() {
    let mut hostile = Hostile::new();
    let links = [
        ("out", "../beside/sentinel"),
        ("absolute", "/etc/passwd"),
        ("up", ".."),
        ("loop", "loop"),
        ("one", "two"),
        ("two", "one"),
        ("dir/deep-out", "../../x"),
        ("through", "dir/deep-out"),
        ("odd", "a\\b"),
    ];
    let good = [
        ("in", "file"),
        ("dir/in", "../file"),
        ("over", "dir"),
        ("hop", "in"),
    ];
    let mut files: Vec<(&str, &str, &[u8])> =
        vec![("100644", "file", b"x"), ("100644", "dir/x", b"x")];
    for (path, target) in links.iter().chain(&good) {
        files.push(("120000", path, target.as_bytes()));
    }
    hostile.origin.commit("main", &files);
    let got = hostile.fetch("").expect("a package");
    assert_eq!(
        got.paths(),
        [
            "dir/in -> ../file",
            "dir/x",
            "file",
            "hop -> in",
            "in -> file",
            "over -> dir"
        ]
    );
    let left_out = got.left_out();
    for (path, _) in links {
        assert!(left_out.contains_key(path), "{path}: {left_out:?}");
    }
    assert_eq!(left_out.len(), links.len());
    assert!(matches!(left_out["out"], LeftOutReason::LinkOutside { .. }));
    assert!(matches!(
        left_out["absolute"],
        LeftOutReason::LinkAbsolute { .. }
    ));
    assert!(matches!(left_out["loop"], LeftOutReason::LinkLoop { .. }));
    // The same links lead out of a sub-directory.
    let got = hostile.fetch("dir").expect("a package");
    assert_eq!(got.paths(), ["x"]);
    assert_eq!(got.left_out().len(), 2);

    hostile.world.links = Links::Refuse;
    match hostile.fetch("dir") {
        Err(Error::Refused(Refusal::Link { problem, .. })) => {
            assert_eq!(problem, LinkProblem::Outside);
        }
        other => panic!("{other:?}"),
    }
    // A link that is longer than any path.
    let long = hostile.origin.blob(&[b'x'; 5000]);
    let refusal = hostile.refused(&[("120000", b"long", &long)]);
    assert!(matches!(refusal, Refusal::FileTooLarge { .. }), "{refusal}");
}

#[test]
fn submodules_and_files_of_lfs_are_named() {
    let hostile = Hostile::new();
    let elsewhere = "3".repeat(40);
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n";
    hostile.origin.commit(
        "main",
        &[
            ("160000", "eval", elsewhere.as_bytes()),
            ("160000", "plugins/p/inner", elsewhere.as_bytes()),
            (
                "100644",
                ".gitmodules",
                b"[submodule \"eval\"]\n\tpath = eval\n\turl = https://nowhere.invalid/\n",
            ),
            ("100644", "plugins/p/plugin.json", b"{}"),
            ("100644", "plugins/p/model.bin", pointer),
            (
                "100644",
                "plugins/p/notes.md",
                b"version https://git-lfs.github.com/spec/v1 is what",
            ),
        ],
    );
    let got = hostile.fetch("plugins/p").expect("a package");
    assert_eq!(got.paths(), ["model.bin", "notes.md", "plugin.json"]);
    assert_eq!(got.read("model.bin"), pointer);
    let left_out = got.left_out();
    assert_eq!(left_out.len(), 2);
    assert_eq!(left_out["inner"], LeftOutReason::Submodule);
    assert_eq!(left_out["model.bin"], LeftOutReason::LfsPointer);
    for path in ["eval", "eval/inside", "plugins/p/inner"] {
        let error = hostile.fetch(path).expect_err("a submodule");
        assert!(matches!(error, Error::Submodule { .. }), "{path}: {error}");
    }
}

#[test]
fn a_sub_directory_that_is_not_there_is_told_with_what_is() {
    let hostile = Hostile::new();
    hostile.origin.commit(
        "main",
        &[
            ("100644", "packages/tides/plugin.json", b"{}"),
            ("100644", "packages/winds/plugin.json", b"{}"),
            ("100644", "file", b"x"),
            ("120000", "link", b"packages"),
        ],
    );
    let said = |path: &str| hostile.fetch(path).expect_err("nothing there").to_string();
    let text = said("packages/tide");
    assert!(text.contains("did you mean \"tides\""), "{text}");
    assert!(text.contains("\"packages\" holds: tides, winds"), "{text}");
    let text = said("elsewhere/x");
    assert!(text.contains("the repository holds: packages"), "{text}");
    assert!(said("file").contains("is a file, not a directory"));
    assert!(said("file/x").contains("\"file\" is a file, not a directory"));
    assert!(said("link/tides").contains("link to \"packages\""));
    assert_eq!(
        hostile.fetch("packages/tides").expect("a package").paths(),
        ["plugin.json"]
    );
}

#[test]
fn the_limits_hold() {
    let mut hostile = Hostile::new();
    hostile.world.limits = Limits {
        entries: 50,
        file: 1000,
        total: 2500,
        parts: 5,
        ..Limits::default()
    };
    let origin = &hostile.origin;
    let large = origin.blob(&[b'x'; 1001]);
    let full = origin.blob(&[b'y'; 1000]);
    let refusal = hostile.refused(&[("100644", b"large", &large)]);
    assert!(
        matches!(refusal, Refusal::FileTooLarge { limit: 1000, .. }),
        "{refusal}"
    );
    let full = full.as_str();
    let refusal = hostile.refused(&[
        ("100644", b"a", full),
        ("100644", b"b", full),
        ("100644", b"c", full),
    ]);
    assert!(
        matches!(refusal, Refusal::TotalTooLarge { .. }),
        "{refusal}"
    );
    // Ten directories of ten of ten, from three objects.
    let mut tree = hostile.origin.tree(&[("100644", b"x", &hostile.blob)]);
    let names: Vec<String> = (0..10).map(|at| at.to_string()).collect();
    for _ in 0..4 {
        let entries: Vec<_> = names
            .iter()
            .map(|name| ("40000", name.as_bytes(), tree.as_str()))
            .collect();
        tree = hostile.origin.tree(&entries);
    }
    let refusal = hostile.refused(&[("40000", b"d", &tree)]);
    assert!(
        matches!(refusal, Refusal::TooMany { .. } | Refusal::Path { .. }),
        "{refusal}"
    );
    let mut deep = hostile.origin.tree(&[("100644", b"x", &hostile.blob)]);
    for _ in 0..6 {
        deep = hostile.origin.tree(&[("40000", b"d", &deep)]);
    }
    let refusal = hostile.refused(&[("40000", b"d", &deep)]);
    match refusal {
        Refusal::Path { problem, .. } => assert_eq!(problem, PathProblem::TooDeep(5)),
        other => panic!("{other}"),
    }
    // Nothing at all.
    assert!(matches!(hostile.refused(&[]), Refusal::Empty));
}

#[test]
fn ten_thousand_files_and_long_paths_are_taken_in() {
    let hostile = Hostile::new();
    let paths: Vec<String> = (0..10_000)
        .map(|at| format!("d{}/f{at}", at % 97))
        .collect();
    let long = format!("{}/{}/SKILL.md", "l".repeat(200), "m".repeat(250));
    let mut files: Vec<(&str, &str, &[u8])> = paths
        .iter()
        .map(|path| ("100644", path.as_str(), path.as_bytes()))
        .collect();
    files.push(("100644", &long, b"long"));
    hostile.origin.commit("main", &files);
    let server = HttpServer::plain(&hostile.world.path().join("repos"));
    let got = hostile.world.fetch(&source(&server.url("r.git"), "", ""));
    let got = got.expect("a package");
    assert_eq!(got.paths().len(), 10_001);
    assert_eq!(
        got.read("d96/f9990"),
        b"d96/f9990".as_slice().get(..9).expect("text")
    );
    assert_eq!(got.read(&long), b"long");
    assert_eq!(got.digest(), hostile.fetch("").expect("a package").digest());
}

#[test]
fn a_working_tree_and_its_repository_are_read_alike() {
    let hostile = Hostile::new();
    hostile.origin.package("main", "one");
    let clone = hostile.world.path().join("repos/clone");
    let path = clone.to_str().expect("UTF-8");
    hostile.origin.git(&["clone", "-q", ".", path], b"");
    std::fs::write(clone.join("untracked"), "x").expect("a file");
    std::fs::write(clone.join("plugin.json"), "changed").expect("a file");
    let whole = hostile.fetch("").expect("a package");
    for address in [file_address(&clone), file_address(&clone.join(".git"))] {
        let got = hostile.world.fetch(&source(&address, "", ""));
        assert_eq!(got.expect("a package").digest(), whole.digest());
    }
    // Only what is named, not the repository further up.
    let below = file_address(&clone.join("skills"));
    let error = hostile.world.fetch(&source(&below, "", ""));
    assert!(matches!(error, Err(Error::NoRepository { .. })));
}
