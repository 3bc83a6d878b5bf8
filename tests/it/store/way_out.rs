//! Ways out that messages name: each works as it stands.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::Digest as _;

use super::sources::tgz;
use super::world::{Repository, World, skill};
use crate::support::Run;
use crate::web::{Reply, Server};

/// Runs the command of the hint, after which the lock file can be followed.
fn follow(world: &World, run: &Run, command: &str) {
    let hint = format!("hint: {command} takes what is there now");
    assert!(run.stderr.contains(&hint), "{run:#?}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    world.expect(0, &words);
    world.expect(0, &["verify"]);
    forget(world);
    world.expect(0, &["import", "--frozen"]);
}

/// As in a fresh clone.
fn forget(world: &World) {
    fs::remove_dir_all(world.installed("")).expect("removed");
}

#[test]
fn a_changed_directory_has_a_way_out() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    world.write("p/skills/tides/SKILL.md", skill("Two."));
    forget(&world);
    for arguments in [&["import", "--frozen", "./p"][..], &["import", "--frozen"]] {
        let run = world.expect(2, arguments);
        assert!(
            run.stderr.contains("apkit update tide-table takes"),
            "{run:#?}"
        );
    }
    let run = world.expect(2, &["import", "--frozen"]);
    follow(&world, &run, "apkit update tide-table");
}

#[test]
fn an_overwritten_commit_has_a_way_out() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    let id = repository.git(&["rev-parse", "HEAD"]);
    for (source, command) in [
        (repository.source(), "apkit update tide-table"),
        (
            format!("{}#{id}", repository.source()),
            "apkit update tide-table --to HEAD",
        ),
    ] {
        let world = World::new();
        repository.git(&["reset", "-q", "--hard", &id]);
        world.expect(0, &["import", &source]);
        forget(&world);
        // The object is gone for good, and kept in a bundle for the next round.
        let bundle = world.path("kept.bundle");
        let bundle = bundle.to_str().expect("a path");
        repository.git(&["bundle", "create", "-q", bundle, "main"]);
        fs::write(repository.path.join("more.txt"), &source).expect("written");
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-q", "--amend", "-m", "other"]);
        repository.git(&["reflog", "expire", "--expire=now", "--all"]);
        let _ = fs::remove_file(repository.path.join(".git/ORIG_HEAD"));
        repository.git(&["gc", "-q", "--prune=now"]);
        let run = world.expect(2, &["import", "--frozen"]);
        follow(&world, &run, command);
        repository.git(&["fetch", "-q", bundle, "main"]);
    }
}

/// A registry whose package has the versions 1.0.0 and 1.1.0, and the former no
/// longer once the flag is set.
fn withdrawing(world: &World, gone: &Arc<AtomicBool>) -> Server {
    let archives: Vec<Vec<u8>> = (["1.0.0", "1.1.0"].into_iter())
        .map(|version| {
            world.package("p", "tide-table", version);
            tgz(&world.path("p"), "package/", &world.path("a.tgz"));
            fs::read(world.path("a.tgz")).expect("an archive")
        })
        .collect();
    let gone = Arc::clone(gone);
    let server = Server::new(move |asked| {
        let host = asked.header("host").expect("a host");
        let dist = |at: usize| {
            let digest = STANDARD.encode(sha2::Sha512::digest(&archives[at]));
            json!({"integrity": format!("sha512-{digest}"), "tarball": format!("http://{host}/{at}.tgz")})
        };
        match asked.target.as_str() {
            "/tide-table" => {
                let mut versions = json!({"1.1.0": {"version": "1.1.0", "dist": dist(1)}});
                if !gone.load(Ordering::Relaxed) {
                    versions["1.0.0"] = json!({"version": "1.0.0", "dist": dist(0)});
                }
                Reply::json(
                    200,
                    &json!({"name": "tide-table", "dist-tags": {"latest": "1.1.0"}, "versions": versions}),
                )
            }
            "/0.tgz" => Reply::new(200, archives[0].clone()),
            "/1.tgz" => Reply::new(200, archives[1].clone()),
            _ => Reply::new(404, "nothing"),
        }
    });
    world.write("home/.npmrc", format!("registry={}\n", server.url("/")));
    server
}

#[test]
fn a_withdrawn_version_has_a_way_out() {
    for (wanted, command) in [
        ("1.0.0", "apkit update tide-table --to latest"),
        ("<=1.1", "apkit update tide-table"),
    ] {
        let world = World::new();
        let gone = Arc::new(AtomicBool::new(false));
        let _server = withdrawing(&world, &gone);
        world.expect(0, &["import", "npm:tide-table@1.0.0"]);
        if wanted != "1.0.0" {
            let lock = world.root().join("apkit.lock");
            let text = fs::read_to_string(&lock).expect("a lock file");
            let text = text.replace("npm:tide-table@1.0.0", &format!("npm:tide-table@{wanted}"));
            fs::write(&lock, text).expect("written");
        }
        gone.store(true, Ordering::Relaxed);
        forget(&world);
        let run = world.expect(2, &["import", "--frozen"]);
        follow(&world, &run, command);
    }
}

#[test]
fn an_archive_that_was_published_again_is_told_and_has_a_way_out() {
    let world = World::new();
    let archive = |text: &str| {
        world.package("p", "tide-table", text);
        tgz(&world.path("p"), "package/", &world.path("a.tgz"));
        fs::read(world.path("a.tgz")).expect("an archive")
    };
    let (one, two) = (archive("One."), archive("Two."));
    let is_new = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_new);
    let server = Server::new(move |_| {
        let now = if flag.load(Ordering::Relaxed) {
            &two
        } else {
            &one
        };
        Reply::new(200, now.clone())
    });
    let source = server.url("/a.tgz");
    world.expect(0, &["import", &source]);
    is_new.store(true, Ordering::Relaxed);
    let found = world.json(1, &["update", "--check", "--json"]);
    assert_eq!(found["results"][0]["rewritten"], "version");
    forget(&world);
    let run = world.expect(2, &["import", "--frozen"]);
    follow(&world, &run, "apkit update tide-table");
}

#[test]
fn an_archive_or_directory_of_this_machine_changes_without_a_warning() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    for source in ["./a.tgz", "./p"] {
        tgz(&world.path("p"), "package/", &world.path("a.tgz"));
        world.expect(0, &["import", source, "--replace"]);
        world.write("p/more.txt", source);
        tgz(&world.path("p"), "package/", &world.path("a.tgz"));
        let found = world.json(0, &["update", "--json"]);
        assert_eq!(found["results"][0]["outcome"], "updated");
        assert_eq!(found["results"][0]["rewritten"], Value::Null);
    }
}

#[test]
fn a_package_that_is_gone_is_missing_and_repairable() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    fs::remove_dir_all(world.path("folders/tides")).expect("removed");
    let state = |wanted: &str| {
        let found = world.json(1, &["update", "--check", "--json"]);
        assert_eq!(found["results"][0]["outcome"], "repairable");
        assert_eq!(found["results"][0]["state"], wanted);
    };
    state("intact");
    fs::write(world.installed("tide-table/more.txt"), "more").expect("written");
    state("changed");
    forget(&world);
    state("missing");
    let run = world.expect(1, &["update", "--check"]);
    assert_eq!(
        run.stdout,
        "tide-table: missing; apkit update tide-table puts it back\n"
    );
    world.expect(0, &["update", "tide-table"]);
    world.expect(0, &["verify"]);
    // New content is none of that.
    world.write("p/more.txt", "more");
    let found = world.json(1, &["update", "--check", "--json"]);
    assert_eq!(found["results"][0]["outcome"], "available");
}

#[test]
fn copies_that_are_removed_are_no_removed_package() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    let outcome = |arguments: &[&str]| {
        let found = world.json(
            0,
            &[&["remove", "tide-table", "--json"], arguments].concat(),
        );
        found["results"][0]["outcome"].clone()
    };
    assert_eq!(outcome(&["--skills-to", "folders"]), "copies_removed");
    assert_eq!(outcome(&[]), "removed");
}

#[test]
fn a_damaged_lock_file_has_a_way_out() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let lock = world.root().join("apkit.lock");
    let good = fs::read_to_string(&lock).expect("a lock file");
    fs::write(&lock, &good[..good.len() / 2]).expect("written");
    for command in [&["list"][..], &["verify"], &["update"], &["import", "./p"]] {
        let run = world.expect(2, command);
        assert!(
            run.stderr
                .contains("move it away and import the packages again"),
            "{run:#?}"
        );
    }
    fs::rename(&lock, world.path("away")).expect("moved");
    world.expect(0, &["import", "./p"]);
    assert_eq!(fs::read_to_string(&lock).expect("a lock file"), good);
    world.expect(0, &["verify"]);
}

#[test]
fn a_stray_has_a_way_out_and_skills_are_told_from_names() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    fs::create_dir(world.installed("stray")).expect("a directory");
    let run = world.expect(1, &["verify"]);
    assert!(run.stdout.contains("move it away or delete it"), "{run:#?}");
    fs::remove_dir(world.installed("stray")).expect("removed");
    world.expect(0, &["verify"]);
    let run = world.expect(2, &["skills", "show", "tide"]);
    assert!(
        run.stderr
            .contains("no installed package has one of that name; did you mean tide-table/tides?"),
        "{run:#?}"
    );
}

#[test]
fn a_move_to_the_same_commit_says_what_is_followed() {
    let world = World::new();
    world.package("repo", "tide-table", "One.");
    let repository = Repository::of(&world.path("repo"));
    repository.git(&["tag", "v1"]);
    world.expect(0, &["import", &format!("{}#v1", repository.source())]);
    let run = world.expect(0, &["update", "tide-table", "--to", "main"]);
    let told = format!("updates follow {}#main from now on", repository.source());
    assert!(run.stdout.contains(&told), "{run:#?}");
}

#[test]
fn an_archive_is_one_source_with_and_without_its_top() {
    let world = World::new();
    world.package("multi/plugins/tide", "tide", "One.");
    world.write("multi/README", "read");
    tgz(&world.path("multi"), "packages/", &world.path("multi.tgz"));
    let spelt = |path: &str| format!("./multi.tgz?path={path}");
    let (short, long) = (spelt("plugins/tide"), spelt("packages/plugins/tide"));
    for (first, then) in [(&short, &long), (&long, &short)] {
        world.expect(0, &["import", first]);
        let source = world.locked("tide")["source"].clone();
        assert!(
            source
                .as_str()
                .is_some_and(|source| source.ends_with("?path=plugins/tide")),
            "{source}"
        );
        for command in ["verify", "update"] {
            for source in [first, then] {
                world.expect(0, &[command, source]);
            }
        }
        let found = world.json(0, &["import", then, "--json"]);
        assert_eq!(found["results"][0]["outcome"], "unchanged");
        world.expect(0, &["import", "--frozen", first, then]);
        world.expect(2, &["verify", &spelt("other/x/plugins/tide")]);
        world.expect(0, &["remove", then]);
    }
}

#[test]
fn a_package_in_place_that_the_rules_deny_is_named() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let found = world.json(0, &["verify", "--json"]);
    assert_eq!(found["packages"][0]["denied"], Value::Null);
    world.write(
        "home/.agents/apkit.toml",
        "[[allow]]\nkind = \"npm\"\n\n[[allow]]\nplugin = \"other\"\n",
    );
    let found = world.json(1, &["verify", "--json"]);
    assert_eq!(found["packages"][0]["state"], "intact");
    assert!(found["packages"][0]["denied"].is_string(), "{found}");
    let run = world.expect(1, &["verify"]);
    assert!(
        run.stdout.contains("apkit remove tide-table takes it away"),
        "{run:#?}"
    );
    world.expect(0, &["remove", "tide-table"]);
    world.expect(0, &["verify"]);
}

#[test]
fn what_only_this_machine_has_is_told_in_a_project() {
    let world = World::new();
    let told = "which is on this machine alone";
    world.package("p", "outside", "One.");
    world.package("project/p", "inside", "One.");
    let project = |source: &str| {
        let run =
            crate::support::finish((world.apkit().current_dir(world.path("project"))).args([
                "import",
                source,
                "--project",
            ]));
        assert_eq!(run.status, Some(0), "{run:#?}");
        run.stdout.contains(told)
    };
    assert!(project("../p"));
    // Once is enough.
    assert!(!project("../p"));
    assert!(!project("./p"));
    let run = world.expect(0, &["import", "./p"]);
    assert!(!run.stdout.contains(told), "{run:#?}");
}

#[test]
fn a_manifest_is_no_directory_and_a_missing_catalogue_is_told_by_its_rules() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    let run = world.expect(2, &["import", "./p/plugin.json"]);
    let directory = world.path("p");
    let named = format!("a package is a directory: name {}", directory.display());
    assert!(run.stderr.contains(&named), "{run:#?}");
    world.expect(0, &["import", directory.to_str().expect("a path")]);
    world.write("home/.agents/apkit.toml", "sources = [\"nowhere\"]\n");
    let run = world.expect(2, &["list", "--available"]);
    let file = world.root().join("apkit.toml");
    let named = format!("correct `sources` in {}", file.display());
    assert!(run.stderr.contains(&named), "{run:#?}");
    let run = world.expect(2, &["list", "--available", "--from", "elsewhere"]);
    assert_eq!(
        run.stderr.matches("correct `sources`").count(),
        1,
        "{run:#?}"
    );
}

#[test]
fn packages_further_down_are_told_with_what_judges_them() {
    let world = World::new();
    for name in ["ebb", "tide"] {
        world.package(&format!("multi/plugins/{name}"), name, "One.");
    }
    tgz(&world.path("multi"), "packages/", &world.path("multi.tgz"));
    for source in ["multi", "./multi.tgz"] {
        for command in ["validate", "inspect"] {
            let run = world.expect(1, &[command, source]);
            let told = run
                .stderr
                .lines()
                .find(|line| line.contains("further down"));
            let told = told.unwrap_or_else(|| panic!("{run:#?}"));
            let line = "2, the first is plugins/ebb): apkit ";
            let (_, rest) = told.split_once(line).unwrap_or_else(|| panic!("{told}"));
            let way_out = rest.strip_suffix(" judges them").expect("a command");
            let words: Vec<&str> = way_out.split(' ').collect();
            world.expect(0, &words);
        }
    }
    let run = world.expect(0, &["validate", "multi/plugins/ebb"]);
    assert_eq!(run.stderr, "");
    fs::create_dir(world.path("empty")).expect("a directory");
    let run = world.expect(1, &["validate", "empty"]);
    assert!(!run.stderr.contains("further down"), "{run:#?}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_download_is_no_fault_of_the_network() {
    use crate::web::Delivery;
    use std::time::{Duration, Instant};

    let world = World::new();
    let server =
        Server::new(|_| Reply::new(200, vec![0; 4096]).delivery(Delivery::StallAfter(100)));
    let child = (world.apkit().args(["import", &server.url("/a.tgz")]))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("a process");
    let until = Instant::now() + Duration::from_secs(20);
    while server.targets().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut kill = std::process::Command::new("kill");
    let status = kill.args(["-TERM", &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert!(errors.contains("a.tgz: interrupted"), "{errors}");
    assert!(!errors.contains("reach"), "{errors}");
    world.assert_tidy();
}
