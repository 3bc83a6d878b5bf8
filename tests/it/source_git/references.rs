//! What is fetched: branches, tags, ids, the default branch, the pinned commit.
//! Each rule is tried on this machine's files and over HTTP.

use apkit::source::git::{Error, GitSource};

use super::http::{Answer, HttpServer};
use super::origin::{Origin, PACKAGE_PATHS};
use super::world::{Got, World, file_address, source};

/// A repository with some history, reached two ways.
struct Both {
    world: World,
    origin: Origin,
    server: HttpServer,
}

impl Both {
    fn new() -> Self {
        let world = World::new();
        let origin = world.origin("r.git");
        let server = HttpServer::plain(&world.path().join("repos"));
        Self {
            world,
            origin,
            server,
        }
    }

    fn sources(&self, reference: &str) -> [GitSource; 2] {
        [
            source(&file_address(&self.origin.path), reference, ""),
            source(&self.server.url("r.git"), reference, ""),
        ]
    }

    /// Fetches both ways and expects the same.
    fn fetch(&self, reference: &str) -> Got {
        let mut got = self.sources(reference).map(|source| {
            let got = self.world.fetch(&source);
            let got = got.unwrap_or_else(|error| panic!("{reference} of {source:?}: {error}"));
            let latest = self.world.latest(&source).expect("what it means now");
            assert_eq!(latest, (got.id(), got.reference()), "{source:?}");
            Some(got)
        });
        let (one, other) = (got[0].take().expect("two"), got[1].take().expect("two"));
        assert_eq!(one.id(), other.id());
        assert_eq!(one.reference(), other.reference());
        assert_eq!(one.digest(), other.digest());
        one
    }

    fn fail(&self, reference: &str) -> String {
        let [one, other] = self.sources(reference).map(|source| {
            let error = self.world.fetch(&source).expect_err("nothing to fetch");
            error.to_string()
        });
        assert_eq!(one, other);
        one
    }
}

#[test]
fn branches_tags_and_the_default_are_found() {
    let both = Both::new();
    let first = both.origin.package("main", "one");
    both.origin.git(&["tag", "light", &first], b"");
    both.origin
        .git(&["tag", "-a", "-m", "x", "v1.0", &first], b"");
    both.origin
        .git(&["tag", "-a", "-m", "x", "v1.0-again", "v1.0"], b"");
    let second = both.origin.package("main", "two");
    both.origin.git(&["branch", "topic/x", &first], b"");
    both.origin
        .git(&["tag", "-a", "-m", "x", "both", &first], b"");
    both.origin.git(&["branch", "both", &second], b"");
    for (reference, id, name) in [
        ("", &second, "refs/heads/main"),
        ("HEAD", &second, "refs/heads/main"),
        ("main", &second, "refs/heads/main"),
        ("heads/main", &second, "refs/heads/main"),
        ("refs/heads/main", &second, "refs/heads/main"),
        ("topic/x", &first, "refs/heads/topic/x"),
        ("light", &first, "refs/tags/light"),
        ("v1.0", &first, "refs/tags/v1.0"),
        ("v1.0-again", &first, "refs/tags/v1.0-again"),
        ("both", &first, "refs/tags/both"),
        ("heads/both", &second, "refs/heads/both"),
    ] {
        let got = both.fetch(reference);
        assert_eq!(&got.id(), id, "{reference}");
        assert_eq!(got.reference().as_deref(), Some(name), "{reference}");
        assert_eq!(got.paths(), PACKAGE_PATHS);
        let text: &[u8] = if *id == first { b"one" } else { b"two" };
        assert_eq!(got.read("skills/tides/SKILL.md"), text, "{reference}");
    }
}

#[test]
fn ids_are_found_whether_the_server_gives_them_or_not() {
    let both = Both::new();
    let first = both.origin.package("main", "one");
    let middle = both.origin.package("main", "two");
    both.origin.package("main", "three");
    for allowed in ["false", "true"] {
        let setting = "uploadpack.allowReachableSHA1InWant";
        both.origin.git(&["config", setting, allowed], b"");
        for id in [&first, &middle] {
            let got = both.fetch(id);
            assert_eq!((&got.id(), got.reference()), (id, None));
            let got = both.fetch(&id.to_uppercase());
            assert_eq!(&got.id(), id);
        }
    }
    let got = both.fetch(&middle[..8]);
    assert_eq!((got.id(), got.reference()), (middle.clone(), None));
    assert_eq!(got.read("skills/tides/SKILL.md"), b"two");

    let nowhere = "1".repeat(40);
    let said = both.fail(&nowhere);
    assert!(said.contains(&format!("no commit {nowhere}")), "{said}");
    assert!(both.fail("1111111").contains("no branch, tag or commit"));
}

#[test]
fn names_win_over_short_ids_and_ids_over_names() {
    let both = Both::new();
    let first = both.origin.package("main", "one");
    let second = both.origin.package("main", "two");
    both.origin.git(&["branch", &first[..7], &second], b"");
    let full = format!("refs/heads/{first}");
    both.origin.git(&["update-ref", &full, &second], b"");
    // As git: the branch first, but all 40 digits are an id.
    assert_eq!(both.fetch(&first[..7]).id(), second);
    assert_eq!(both.fetch(&first[..8]).id(), first);
    assert_eq!(both.fetch(&first).id(), first);
    assert_eq!(both.fetch(&full).id(), second);
}

#[test]
fn a_short_id_of_several_commits_is_ambiguous() {
    let both = Both::new();
    both.origin.package("main", "one");
    let tree = both.origin.git(&["rev-parse", "main^{tree}"], b"");
    // Enough commits that four digits meet: 16 bits, so some hundreds.
    let mut stream = String::new();
    for at in 0..700 {
        let branch = format!("refs/heads/b{at}");
        stream += &format!(
            "commit {branch}\ncommitter A <a@host.example> {at} +0000\ndata 0\nM 040000 {tree} \n"
        );
    }
    both.origin
        .git(&["fast-import", "--quiet"], stream.as_bytes());
    let all = both.origin.git(&["rev-list", "--all"], b"");
    let mut ids: Vec<&str> = all.lines().collect();
    ids.sort_unstable();
    let pair = ids.windows(2).find(|pair| pair[0][..4] == pair[1][..4]);
    let pair = pair.expect("two of 700 that begin alike");
    let said = both.fail(&pair[0][..4]);
    assert!(said.contains("several commits"), "{said}");
    assert!(said.contains(pair[0]) && said.contains(pair[1]), "{said}");
    assert_eq!(both.fetch(&pair[0][..12]).id(), pair[0]);
}

#[test]
fn the_pinned_commit_is_fetched_whatever_the_branch_means_now() {
    let both = Both::new();
    let pinned = both.origin.package("main", "one");
    let moved = both.origin.package("main", "two");
    for source in both.sources("main") {
        let got = both.world.fetch_pinned(&source, &pinned).expect("the pin");
        assert_eq!(got.id(), pinned);
        assert_eq!(got.reference().as_deref(), Some("refs/heads/as-pinned"));
        assert_eq!(got.read("skills/tides/SKILL.md"), b"one");
        let (latest, _) = both.world.latest(&source).expect("an answer");
        assert_eq!(latest, moved);
    }
    // The branch is overwritten; the commit is in nobody's history any more.
    both.origin
        .git(&["update-ref", "-d", "refs/heads/main"], b"");
    both.origin.package("main", "other");
    both.origin.git(&["gc", "-q", "--prune=now"], b"");
    for source in both.sources("main") {
        let error = both.world.fetch_pinned(&source, &pinned);
        let error = error.expect_err("it is gone");
        assert!(matches!(error, Error::NoCommit { .. }), "{error}");
        let bad = both.world.fetch_pinned(&source, "main");
        assert!(matches!(bad, Err(Error::Pin(_))));
    }
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let both = Both::new();
    assert!(both.fail("").contains("empty"));
    assert!(both.fail("main").contains("empty"));
    both.origin.package("stable", "one");
    both.origin.git(&["tag", "v2.0", "stable"], b"");
    // HEAD names `main`, which is not there.
    let said = both.fail("");
    assert!(said.contains("no default branch"), "{said}");
    assert!(said.contains("stable, v2.0"), "{said}");
    let said = both.fail("stabl");
    assert!(said.contains("did you mean \"stable\""), "{said}");
    let blob = both.origin.blob(b"x");
    both.origin.git(&["tag", "a-file", &blob], b"");
    assert!(both.fail("a-file").contains("is a blob, not a commit"));
}

#[test]
fn repositories_with_long_ids_are_told() {
    let both = Both::new();
    let long = both.world.path().join("repos/long.git");
    let git = |arguments: &[&str]| both.origin.git(arguments, b"");
    let path = long.to_str().expect("UTF-8");
    git(&["init", "-q", "--bare", "--object-format=sha256", path]);
    let origin = Origin { path: long };
    origin.package("main", "one");
    for address in [file_address(&origin.path), both.server.url("long.git")] {
        let error = both.world.fetch(&source(&address, "", ""));
        let error = error.expect_err("not supported");
        assert!(matches!(error, Error::Sha256), "{address}: {error}");
    }
}

#[test]
fn a_history_is_cut_off_where_the_server_allows_it() {
    let world = World::new();
    let origin = world.origin("r.git");
    // Each version drops a large file that does not shrink.
    let noise = |seed: u32| -> Vec<u8> {
        let mut state = seed.wrapping_mul(2_654_435_769) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        };
        (0..200_000).map(|_| next()).collect()
    };
    for seed in 1..6 {
        origin.commit("main", &[("100644", "noise", &noise(seed))]);
    }
    let received = |server: &HttpServer| {
        let seen = super::process::Seen::default();
        let source = source(&server.url("r.git"), "", "");
        world.fetch_with(&source, None, &seen).expect("a package");
        seen.bytes()
    };
    let shallow = received(&HttpServer::plain(&world.path().join("repos")));
    assert!((200_000..300_000).contains(&shallow), "{shallow}");

    // One that does not know how, and one that only says so.
    let silent = HttpServer::start(&world.path().join("repos"), |asked| {
        if asked.method == "GET" {
            Answer::Changed(|body| replaced(body, b" shallow ", b" shall0w "))
        } else {
            Answer::Git
        }
    });
    let whole = received(&silent);
    assert!(whole > 1_000_000, "{whole}");
    let refusing = HttpServer::start(&world.path().join("repos"), |asked| {
        if asked.body.windows(6).any(|word| word == b"deepen") {
            Answer::Status(500, Vec::new(), "no such thing")
        } else {
            Answer::Git
        }
    });
    assert!(received(&refusing) > 1_000_000);
}

fn replaced(mut body: Vec<u8>, old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = body.windows(old.len()).position(|part| part == old);
    let at = at.expect("it is there");
    body[at..at + old.len()].copy_from_slice(new);
    body
}
