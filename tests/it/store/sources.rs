//! The same package from every kind of source, and what `validate` and `inspect`
//! make of sources.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::Digest as _;

use super::world::{Repository, World, names, tree};
use crate::support::finish;
use crate::web::{Reply, Server};

/// Packs a directory with every entry below `prefix`.
pub(super) fn tgz(from: &Path, prefix: &str, to: &Path) {
    let gzip = flate2::write::GzEncoder::new(
        File::create(to).expect("a file"),
        flate2::Compression::fast(),
    );
    let mut archive = tar::Builder::new(gzip);
    for (name, (content, mode)) in tree(from) {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        // As old packers of npm left them.
        header.set_mode(if mode & 0o111 == 0 { 0o600 } else { 0o775 });
        archive
            .append_data(&mut header, format!("{prefix}{name}"), &content[..])
            .expect("an entry");
    }
    archive
        .into_inner()
        .and_then(|gzip| gzip.finish())
        .expect("an archive");
}

fn zipped(from: &Path, to: &Path) {
    let mut archive = zip::ZipWriter::new(File::create(to).expect("a file"));
    for (name, (content, mode)) in tree(from) {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(mode);
        archive.start_file(name, options).expect("an entry");
        archive.write_all(&content).expect("content");
    }
    archive.finish().expect("an archive");
}

fn a_package(world: &World) -> PathBuf {
    world.package("p", "tide-table", "Look it up.");
    world.program("p/bin/srv");
    world.write("p/script.sh", "#!/bin/sh\necho one\n");
    world.write("p/.gitattributes", "* text=auto eol=crlf\n");
    world.write("p/notes.bin", b"one\r\ntwo\0");
    world.path("p")
}

#[test]
fn the_same_content_has_one_digest_wherever_it_comes_from() {
    let world = World::new();
    let package = a_package(&world);
    let expected = tree(&package);
    tgz(&package, "package/", &world.path("a.tgz"));
    zipped(&package, &world.path("a.zip"));
    fs::create_dir(world.path("repo")).expect("a directory");
    let copied = Command::new("cp")
        .args(["-a", "p", "repo/p"])
        .current_dir(world.place.path())
        .status();
    assert!(copied.expect("cp").success());
    let repository = Repository::of(&world.path("repo"));
    // Where a checkout would convert lines and the mask would hide files.
    world.write(
        "home/.gitconfig",
        "[core]\n\tautocrlf = true\n\teol = crlf\n",
    );
    let mut digests = Vec::new();
    let git = format!("{}:p", repository.source());
    let registry = registry(&world, "127.0.0.1");
    let remote = registry.url("/a.tgz");
    let sources = [
        "./p",
        "./a.tgz",
        "./a.zip",
        &git,
        "npm:tide-table",
        "npm:tide-table@^1",
        &remote,
    ];
    for (source, mask) in sources
        .into_iter()
        .zip(["022", "077", "000", "027"].into_iter().cycle())
    {
        let root = format!("store-{}", digests.len());
        let mut shell = Command::new("sh");
        world.prepare(&mut shell);
        let script = format!("umask {mask}; exec \"$0\" import \"$1\" --root \"$2\"");
        let run = finish(shell.args(["-c", &script, env!("CARGO_BIN_EXE_apkit"), source, &root]));
        assert_eq!(run.status, Some(0), "{run:#?}");
        let mut installed = tree(&world.path(&root).join("plugins/tide-table"));
        let mut wanted = expected.clone();
        for (_, mode) in installed.values_mut().chain(wanted.values_mut()) {
            // The directory was made with the mask of whoever runs the tests.
            *mode = if *mode & 0o100 == 0 { 0o644 } else { 0o755 };
        }
        assert_eq!(installed, wanted, "{source}");
        let modes = tree(&world.path(&root).join("plugins/tide-table"));
        assert!(
            modes
                .values()
                .all(|(_, mode)| [0o644, 0o755].contains(mode)),
            "{source}"
        );
        assert_eq!(modes["bin/srv"].1, 0o755, "{source}");
        let lock = world.place.read(&format!("{root}/apkit.lock"));
        let lock: serde_json::Value = serde_json::from_str(&lock).expect("JSON");
        digests.push(lock["packages"]["tide-table"]["digest"].clone());
    }
    assert!(
        digests.iter().all(|digest| *digest == digests[0]),
        "{digests:?}"
    );
}

/// A registry on loopback that has the archive `a.tgz` as a package, and a user
/// who asks there. The tarball is on this host.
fn registry(world: &World, host: &'static str) -> Server {
    let archive = fs::read(world.path("a.tgz")).expect("an archive");
    let digest = STANDARD.encode(sha2::Sha512::digest(&archive));
    registry_that_promises(
        world,
        host,
        json!({"integrity": format!("sha512-{digest}")}),
    )
}

/// The same with these digests of the tarball.
fn registry_that_promises(world: &World, host: &'static str, digests: Value) -> Server {
    let archive = fs::read(world.path("a.tgz")).expect("an archive");
    let server = Server::new(move |asked| match asked.target.as_str() {
        "/tide-table" => {
            let (_, port) =
                (asked.header("host").expect("a host").rsplit_once(':')).expect("a port");
            let tarball = format!("http://{host}:{port}/a.tgz");
            let mut dist = digests.clone();
            dist["tarball"] = json!(tarball);
            let versions = json!({"1.0.0": {"version": "1.0.0", "dist": dist}});
            Reply::json(
                200,
                &json!({"name": "tide-table", "dist-tags": {"latest": "1.0.0"}, "versions": versions}),
            )
        }
        "/a.tgz" => Reply::new(200, archive.clone()),
        _ => Reply::new(404, "nothing"),
    });
    world.write("home/.npmrc", format!("registry={}\n", server.url("/")));
    server
}

#[test]
fn a_package_of_a_registry_is_pinned_followed_and_put_back() {
    let world = World::new();
    let package = a_package(&world);
    tgz(&package, "package/", &world.path("a.tgz"));
    let server = registry(&world, "127.0.0.1");
    world.expect(0, &["import", "npm:tide-table"]);
    let resolved = world.locked("tide-table")["resolved"].clone();
    assert_eq!(resolved["version"], "1.0.0");
    assert_eq!(resolved["tarball"], server.url("/a.tgz"));
    assert!(
        resolved["integrity"]
            .as_str()
            .is_some_and(|text| text.starts_with("sha512-"))
    );
    // What is current is not fetched again.
    let tarballs = || {
        server
            .targets()
            .iter()
            .filter(|target| *target == "/a.tgz")
            .count()
    };
    let before = tarballs();
    let run = world.expect(0, &["update"]);
    assert!(
        run.stdout.contains("current (version 1.0.0)"),
        "{}",
        run.stdout
    );
    assert_eq!(tarballs(), before);
    fs::remove_dir_all(world.installed("tide-table")).expect("removed");
    world.expect(0, &["import", "--frozen"]);
    world.expect(0, &["verify"]);
    let run = world.expect(2, &["update", "tide-table", "--to", "9.9.9"]);
    assert!(run.stdout.contains("not updated"), "{}", run.stdout);
    // A registry is held against the rules before it is asked.
    let asked = server.targets().len();
    for rules in [
        "[[deny]]\nhost = \"127.0.0.1\"\n",
        "[[allow]]\nhost = \"registry.example\"\n",
    ] {
        world.write("home/.agents/apkit.toml", rules);
        for command in [["import", "npm:tide-table"], ["update", "tide-table"]] {
            let run = world.expect(1, &command);
            let told = format!("{}{}", run.stdout, run.stderr);
            assert!(told.contains("127.0.0.1 may not be asked: "), "{told}");
            assert!(told.contains("apkit.toml"), "{told}");
        }
    }
    assert_eq!(server.targets().len(), asked);
    fs::remove_file(world.path("home/.agents/apkit.toml")).expect("removed");
    drop(server);
    let run = world.expect(2, &["update"]);
    assert!(run.stdout.contains("not reachable"), "{}", run.stdout);
    world.expect(0, &["verify"]);
    world.assert_tidy();
}

#[test]
fn the_host_of_a_tarball_is_held_against_the_rules_before_it_is_asked() {
    let world = World::new();
    let package = a_package(&world);
    tgz(&package, "package/", &world.path("a.tgz"));
    let server = registry(&world, "127.0.0.1");
    let npmrc = format!("registry=http://localhost:{}/\n", server.port());
    world.write("home/.npmrc", npmrc);
    world.write(
        "home/.agents/apkit.toml",
        "[[deny]]\nhost = \"127.0.0.1\"\n",
    );
    let run = world.expect(1, &["import", "npm:tide-table"]);
    let told = "127.0.0.1 may not be asked: ";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert_eq!(server.targets(), ["/tide-table"]);
    fs::remove_file(world.path("home/.agents/apkit.toml")).expect("removed");
    world.expect(0, &["import", "npm:tide-table"]);
    assert_eq!(server.targets()[2..], ["/a.tgz"]);
}

#[test]
fn an_archive_file_is_pinned_by_its_digest() {
    let world = World::new();
    let package = a_package(&world);
    tgz(&package, "package/", &world.path("a.tgz"));
    world.expect(0, &["import", "./a.tgz"]);
    let integrity = world.locked("tide-table")["resolved"]["integrity"].clone();
    assert!(
        integrity
            .as_str()
            .is_some_and(|text| text.starts_with("sha512-")),
        "{integrity}"
    );
    world.expect(0, &["update"]);
    world.expect(0, &["import", "--frozen"]);
    // Packed again with the same content, it is another archive.
    tgz(&package, "renamed/", &world.path("a.tgz"));
    let elsewhere = world.place.read("home/.agents/apkit.lock");
    world.write("fresh/apkit.lock", elsewhere);
    let run = world.expect(2, &["import", "--frozen", "--root", "fresh"]);
    assert!(run.stderr.contains("is pinned"), "{}", run.stderr);
    let run = world.expect(0, &["update"]);
    assert!(run.stdout.contains("same content"), "{}", run.stdout);
    assert_ne!(
        world.locked("tide-table")["resolved"]["integrity"],
        integrity
    );
    world.assert_tidy();
}

#[test]
fn what_is_left_out_of_a_repository_is_named() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    world.write(
        "repo/big.bin",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    );
    let repository = Repository::of(&world.path("repo"));
    let id = repository.git(&["rev-parse", "HEAD"]);
    repository.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{id},eval"),
    ]);
    repository.git(&["commit", "-q", "-m", "a submodule that nobody can reach"]);
    let run = world.expect(0, &["import", &repository.source()]);
    assert!(
        run.stdout.contains("\"eval\": a submodule"),
        "{}",
        run.stdout
    );
    // To be strict is to want all of it.
    let source = repository.source();
    let run = world.expect(1, &["import", "--strict", &source]);
    assert!(run.stdout.contains("\"eval\": a submodule"), "{run:#?}");
    let found = world.json(1, &["import", "--strict", &source, "--json"]);
    let found = &found["results"][0];
    assert_eq!(found["outcome"], "rejected");
    assert_eq!(found["left_out"].as_array().map(Vec::len), Some(2));
    for (status, command) in [
        (0, &["validate", &source][..]),
        (1, &["validate", "--strict", &source]),
        (1, &["validate", "--strict", "--recursive", &source]),
        (0, &["inspect", &source]),
    ] {
        let run = world.expect(status, command);
        for left in ["\"big.bin\": a pointer", "\"eval\": a submodule"] {
            let told = format!("note: left out of {source}: {left}");
            assert_eq!(run.stderr.matches(&told).count(), 1, "{run:#?}");
        }
    }
    let run = world.expect(2, &["import", &format!("{}:eval", repository.source())]);
    assert!(run.stderr.contains("is a submodule"), "{}", run.stderr);
    world.assert_tidy();
}

#[test]
fn sources_are_judged_without_being_installed() {
    let world = World::new();
    world.place.mixed_package("p");
    tgz(&world.path("p"), "package/", &world.path("a.tgz"));
    let repository = {
        world.place.mixed_package("repo/one");
        world.place.good_package("repo/two");
        Repository::of(&world.path("repo"))
    };
    let git = format!("{}:one", repository.source());
    for source in ["a.tgz", "./a.tgz", "file:a.tgz", &git] {
        let run = world.expect(1, &["validate", source]);
        let shown = format!("{}/skills/ebb/SKILL.md:2", source.trim_start_matches("./"));
        assert!(run.stdout.contains(&shown), "{}", run.stdout);
        let temporary = world.path("tmp").display().to_string();
        assert!(!run.stdout.contains(&temporary), "{}", run.stdout);
        let run = world.expect(0, &["inspect", source, "--format", "json"]);
        let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        assert_eq!(found["package"]["path"], source);
        assert_eq!(found["package"]["name"], "mixed-one");
    }
    let run = world.expect(
        1,
        &[
            "validate",
            "--recursive",
            &repository.source(),
            "--format",
            "json",
        ],
    );
    let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(
        found["packages"][0]["path"],
        format!("{}/one", repository.source())
    );
    assert_eq!(
        found["packages"][1]["path"],
        format!("{}/two", repository.source())
    );
    let run = world.expect(2, &["validate", "no.tgz"]);
    assert!(run.stderr.contains("no.tgz"), "{}", run.stderr);
    world.expect(0, &["validate", "builtin:everos"]);
    assert!(!world.root().exists());
    assert!(names(&world.path("tmp")).is_empty());
}

#[test]
fn an_address_that_can_only_be_a_repository_needs_no_git_plus() {
    let world = World::new();
    world.package("repo/plugins/p", "tide-table", "One.");
    Repository::of(&world.path("repo"));
    let path = world.path("repo");
    let bare = format!("file://{}/.git:plugins/p", path.display());
    world.expect(0, &["import", &bare]);
    let normal = format!("git+file://{}/.git?path=plugins/p", path.display());
    assert_eq!(world.locked("tide-table")["source"], normal);
    let run = world.expect(2, &["import", "git+file:repo"]);
    let wanted = format!("write git+file://{}\n", path.display());
    assert!(run.stderr.contains(&wanted), "{}", run.stderr);
    let run = world.expect(2, &["import", "repo/plugins"]);
    assert!(
        run.stderr.ends_with("write ./repo/plugins\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_directory_of_an_archive_is_named_with_or_without_its_top() {
    let world = World::new();
    for name in ["ebb", "tide"] {
        world.package(&format!("multi/plugins/{name}"), name, "One.");
    }
    tgz(&world.path("multi"), "packages/", &world.path("multi.tgz"));
    for path in ["plugins/tide", "packages/plugins/tide"] {
        let source = format!("./multi.tgz?path={path}");
        let found = world.json(0, &["import", &source, "--dry-run", "--json"]);
        assert_eq!(found["results"][0]["name"], "tide");
    }
    for (path, wanted) in [
        (
            "tide",
            "it holds no directory \"tide\"; at its top are plugins\n",
        ),
        (
            "plugins/flood",
            "\"plugins/flood\"; in \"plugins\" are ebb, tide\n",
        ),
    ] {
        let run = world.expect(2, &["import", &format!("./multi.tgz?path={path}")]);
        assert!(run.stderr.contains(wanted), "{}", run.stderr);
    }
}

#[test]
fn a_digest_that_protects_from_nobody_is_told() {
    let world = World::new();
    tgz(&a_package(&world), "package/", &world.path("a.tgz"));
    let archive = fs::read(world.path("a.tgz")).expect("an archive");
    let sha1: String = sha1::Sha1::digest(&archive)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let told = "its registry has only a SHA-1 digest of it";
    let _server = registry_that_promises(&world, "127.0.0.1", json!({"shasum": sha1}));
    let run = world.expect(0, &["import", "npm:tide-table", "--dry-run"]);
    assert!(run.stdout.contains(told), "{}", run.stdout);
    let run = world.expect(0, &["import", "npm:tide-table"]);
    assert!(run.stdout.contains(told), "{}", run.stdout);
    // The pin protects what is put back.
    fs::remove_dir_all(world.installed("tide-table")).expect("removed");
    let run = world.expect(0, &["import", "--frozen"]);
    assert!(!run.stdout.contains(told), "{}", run.stdout);
    world.expect(0, &["remove", "tide-table"]);
    let result = world.json(0, &["import", "npm:tide-table", "--json"]);
    assert_eq!(result["results"][0]["weak_digest"], true);
    // One that has a better one promises more.
    world.expect(0, &["remove", "tide-table"]);
    let _server = registry(&world, "127.0.0.1");
    let result = world.json(0, &["import", "npm:tide-table", "--json"]);
    assert_eq!(result["results"][0]["weak_digest"], false);
}

#[test]
fn a_signed_address_is_validated_and_shown_nowhere() {
    const SECRET: &str = "hunter2hunter2";
    let world = World::new();
    tgz(&a_package(&world), "package/", &world.path("a.tgz"));
    let archive = fs::read(world.path("a.tgz")).expect("an archive");
    let server = Server::new(move |asked| {
        if asked.target == format!("/a.tgz?token={SECRET}") {
            Reply::new(200, archive.clone())
        } else {
            Reply::new(403, "who are you?")
        }
    });
    let signed = server.url(&format!("/a.tgz?token={SECRET}"));
    let hidden = |run: &crate::support::Run| {
        assert!(!run.stdout.contains(SECRET), "{}", run.stdout);
        assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    };
    for format in ["text", "json", "github", "sarif", "junit", "load-report"] {
        let run = world.expect(0, &["validate", &signed, "--format", format]);
        hidden(&run);
    }
    let run = world.expect(0, &["validate", &signed]);
    let shown = server.url("/a.tgz?…");
    assert!(run.stdout.contains(&shown), "{}", run.stdout);
    hidden(&world.expect(0, &["inspect", &signed]));
    hidden(&world.expect(0, &["inspect", &signed, "--format", "json"]));
    let run = world.expect(0, &["export", &signed, "--out", "made", "--format", "json"]);
    hidden(&run);
    for (path, (content, _)) in tree(&world.path("made")) {
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains(SECRET), "{path}: {content}");
    }
    assert!(world.path("made/skills/tides/SKILL.md").is_file());
    // Nor when it fails.
    let run = world.expect(2, &["export", &signed, "--plugin", "none", "--out", "more"]);
    hidden(&run);
    assert!(run.stderr.contains("/a.tgz?…"), "{}", run.stderr);
    let refused = server.url(&format!("/b.tgz?sig={SECRET}"));
    let run = world.expect(2, &["validate", &refused]);
    hidden(&run);
    assert!(run.stderr.contains("403"), "{}", run.stderr);
    // A lock file would keep it.
    let run = world.expect(2, &["import", &signed]);
    hidden(&run);
    assert!(
        run.stderr.contains("looks like a credential"),
        "{}",
        run.stderr
    );
    assert!(!world.root().exists());
}

#[test]
fn a_version_that_was_published_again_is_told() {
    let world = World::new();
    tgz(&a_package(&world), "package/", &world.path("a.tgz"));
    let first = registry(&world, "127.0.0.1");
    world.expect(0, &["import", "npm:tide-table@1.0.0"]);
    let before = world.locked("tide-table")["digest"].clone();
    drop(first);
    world.write("p/skills/tides/SKILL.md", super::world::skill("Other."));
    tgz(&world.path("p"), "package/", &world.path("a.tgz"));
    let _second = registry(&world, "127.0.0.1");
    let found = world.json(1, &["update", "--check", "--json"]);
    let found = &found["results"][0];
    assert_eq!(found["outcome"], "available");
    assert_eq!(found["rewritten"], "version");
    assert_eq!(found["before"]["digest"], before);
    let run = world.expect(0, &["update"]);
    let after = world.locked("tide-table")["digest"].clone();
    let told = format!(
        "tide-table: updated, 1.0.0 to 1.0.0\n  warning: published again under the same version 1.0.0; its content was {} and is {}\n",
        before.as_str().expect("a digest"),
        after.as_str().expect("a digest")
    );
    assert!(run.stdout.starts_with(&told), "{}", run.stdout);
}

/// What a server or an argument says steers no terminal.
#[test]
fn what_comes_from_outside_is_harmless_in_messages() {
    use std::io::{Read as _, Write as _};
    let line = |text: &str| format!("{:04x}{text}", text.len() + 4);
    let id = "a".repeat(40);
    let list = [
        line(&format!(
            "{id} HEAD\0side-band-64k symref=HEAD:refs/heads/m\n"
        )),
        line(&format!("{id} refs/heads/\u{202e}evil\n")),
        line(&format!("{id} refs/heads/m\n")),
        "0000".to_owned(),
    ];
    let answers = [
        line("ERR \u{1b}[31mred\u{7}\nerror: fake\u{202e}\n"),
        list.concat(),
    ];
    let world = World::new();
    for (answer, told) in answers.into_iter().zip(["[31mred", "evil"]) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let _ = stream.read(&mut [0; 1000]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let source = format!("git://127.0.0.1:{port}/r#evi");
        let run = world.expect(2, &["import", &source]);
        assert!(run.stderr.contains(told), "{}", run.stderr);
        assert_harmless(&run.stderr);
    }
    world.package("p", "tide-table", "One.");
    let odd = "./odd\u{1b}[31m\u{202e}\nerror: fake";
    for command in [
        &["import"][..],
        &["update"],
        &["remove"],
        &["verify"],
        &["validate"],
        &["inspect"],
        &["import", "./p", "--skills-to"],
        &["list", "--root"],
        &["skills", "show"],
        &["mcp", "check"],
    ] {
        let run = world.run(&[command, &[odd]].concat());
        assert_harmless(&run.stderr);
        assert_harmless(&run.stdout);
        let all = format!("{}{}", run.stdout, run.stderr);
        let named = r"odd\u{1b}[31m\u{202e}\nerror: fake";
        assert!(all.contains(named), "{command:?}: {all}");
    }
}

fn assert_harmless(text: &str) {
    let is_odd = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(is_odd), "{text:?}");
    assert!(!text.contains("\nerror: fake"), "{text:?}");
}

#[test]
fn an_archive_here_may_be_no_larger_than_one_that_is_fetched() {
    let world = World::new();
    let big = world.write("big.tgz", "");
    let file = fs::OpenOptions::new().write(true).open(big);
    // Nothing of it takes up room.
    file.expect("a file").set_len(3 << 30).expect("a size");
    let run = world.expect(2, &["import", "./big.tgz"]);
    let told = "larger than 536870912 bytes, which is the most taken here";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    world.assert_tidy();
}

#[test]
fn an_integrity_that_nothing_can_match_is_none() {
    let world = World::new();
    let package = a_package(&world);
    tgz(&package, "package/", &world.path("a.tgz"));
    world.expect(0, &["import", "./a.tgz"]);
    let good = world.place.read("home/.agents/apkit.lock");
    let integrity = world.locked("tide-table")["resolved"]["integrity"].clone();
    let integrity = integrity.as_str().expect("a text");
    for wrong in ["", "sha512-", "md5-abcd", &integrity[..40]] {
        world.write("home/.agents/apkit.lock", good.replace(integrity, wrong));
        let run = world.expect(2, &["update"]);
        let told = "package \"tide-table\": `integrity` is no whole digest of the form `sha512-…`";
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
    world.write("home/.agents/apkit.lock", &good);
    world.expect(0, &["import", "--frozen"]);
}
