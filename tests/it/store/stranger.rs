//! A project that somebody else has made: whatever it brings along, nothing
//! outside of it is touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::world::{Repository, World, names, skill, tree};
use crate::support::{Run, finish};

/// The files of the project below `.agents/.apkit`.
const INTERNAL: &str = "home/project/.agents/.apkit";

fn in_project(world: &World, arguments: &[&str]) -> Run {
    let mut command = world.apkit();
    command
        .current_dir(world.path("home/project"))
        .args(arguments)
        .arg("--project");
    finish(&mut command)
}

/// A project with a package in it, imported once.
fn project(world: &World) {
    world.package("home/project/p", "tide-table", "One.");
    let run = in_project(world, &["import", "./p"]);
    assert_eq!(run.status, Some(0), "{run:#?}");
}

fn refused(run: &Run, place: &str, reason: &str) {
    assert_eq!(run.status, Some(2), "{run:#?}");
    assert!(run.stderr.contains(place), "{}", run.stderr);
    assert!(run.stderr.contains(reason), "{}", run.stderr);
}

#[test]
fn a_journal_that_was_not_written_here_is_not_followed() {
    let world = World::new();
    project(&world);
    for name in ["data", "old", "new"] {
        world.write(&format!("home/{name}/file"), "precious");
    }
    world.write("home/project/.agents/plugin-data/tide-table/file", "mine");
    let journal = |purge: bool| {
        let journal = json!({
            "journal_version": 1, "name": "tide-table", "mark": "1-1", "staging": "7-7",
            "new": null, "purge": purge,
        });
        world.write(&format!("{INTERNAL}/journal.json"), journal.to_string());
    };
    let staging = world.path(INTERNAL).join("staging/7-7");
    for command in ["list", "verify", "update"] {
        for purge in [false, true] {
            journal(purge);
            symlink("../../../..", &staging).expect("a link");
            let run = in_project(&world, &[command]);
            assert_eq!(run.status, Some(0), "{run:#?}");
            let told =
                "note: a change of tide-table was begun elsewhere, and came along unfinished with";
            assert!(run.stderr.contains(told), "{}", run.stderr);
            assert!(staging.symlink_metadata().is_err());
        }
    }
    for name in ["data", "old", "new"] {
        assert_eq!(names(&world.path("home").join(name)), ["file"]);
    }
    let project = world.path("home/project/.agents");
    assert_eq!(names(&project.join("plugins")), ["tide-table"]);
    assert_eq!(names(&project.join("plugin-data/tide-table")), ["file"]);
}

/// What a copy of a project holds that was made between two steps of a change.
#[test]
fn a_project_that_was_copied_with_a_change_pending_goes_on() {
    let journal = |world: &World, is_removal: bool| {
        let new = if is_removal {
            json!(null)
        } else {
            json!({"file": [1, 1]})
        };
        let journal = json!({
            "journal_version": 1, "name": "tide-table", "mark": "1-1", "staging": "7-7",
            "new": new, "purge": false,
        });
        world.write(&format!("{INTERNAL}/journal.json"), journal.to_string());
        world.write(&format!("{INTERNAL}/apkit.lock.next"), "{}");
    };
    let place = "home/project/.agents/plugins/tide-table";
    for (step, state) in [
        ("begun", "intact"),
        ("swapped", "changed"),
        ("removed", "missing"),
    ] {
        let world = World::new();
        project(&world);
        let staging = world.path(INTERNAL).join("staging/7-7");
        fs::create_dir_all(&staging).expect("a directory");
        match step {
            "removed" => fs::rename(world.path(place), staging.join("old")).expect("moved"),
            _ => world.package(&format!("{INTERNAL}/staging/7-7/new"), "tide-table", "Two."),
        }
        if step == "swapped" {
            fs::remove_dir_all(world.path(place)).expect("removed");
            fs::rename(staging.join("new"), world.path(place)).expect("moved");
        }
        journal(&world, step == "removed");
        let run = in_project(&world, &["verify"]);
        assert_eq!(run.status, Some(i32::from(state != "intact")), "{run:#?}");
        assert!(
            run.stderr.contains("tide-table was begun elsewhere"),
            "{run:#?}"
        );
        assert!(
            run.stderr
                .contains("given up here, and apkit verify --project says"),
            "{run:#?}"
        );
        assert!(
            run.stdout.contains(&format!("tide-table 1.0.0: {state}")),
            "{run:#?}"
        );
        // It is told once, and an update puts right what is half done.
        let run = in_project(&world, &["update"]);
        assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{step}");
        let run = in_project(&world, &["verify"]);
        assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{step}");
        let internal = world.path(INTERNAL);
        assert!(names(&internal.join("staging")).is_empty());
        assert!(!internal.join("journal.json").exists());
        assert!(!internal.join("apkit.lock.next").exists());
    }
}

#[test]
fn a_journal_that_cannot_be_read_says_what_to_do() {
    let world = World::new();
    world.package("r", "tide-table", "One.");
    fs::create_dir(world.path("home/project")).expect("a directory");
    let repository = Repository::of(&world.path("r"));
    let run = in_project(&world, &["import", &repository.source()]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    let path = world.path(INTERNAL).join("journal.json");
    let root = world.path("home/project/.agents");
    let root = root.to_str().expect("a path");
    let told = format!(
        "; remove it, then `apkit verify --root {root}` says whether anything is half done, and `apkit import --frozen --root {root}` puts back what the lock file names"
    );
    for text in ["{", r#"{"journal_version": 2}"#] {
        fs::write(&path, text).expect("a file");
        refused(&in_project(&world, &["list"]), "journal.json", &told);
    }
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("a directory");
    refused(&in_project(&world, &["list"]), "journal.json", &told);
    fs::remove_dir(&path).expect("removed");
    // What is said is the way out, from anywhere, and whatever the source has by now.
    world.package("r", "tide-table", "Two.");
    repository.commit("second");
    let lock = world.place.read("home/project/.agents/apkit.lock");
    let tree = "home/project/.agents/plugins/tide-table";
    for state in ["missing", "changed"] {
        match state {
            "missing" => fs::remove_dir_all(world.path(tree)).expect("removed"),
            _ => world.package(tree, "tide-table", "Two."),
        }
        let run = world.expect(1, &["verify", "--root", root]);
        let told = format!("tide-table 1.0.0: {state}");
        assert!(run.stdout.contains(&told), "{run:#?}");
        world.expect(0, &["import", "--frozen", "--root", root]);
        assert_eq!(in_project(&world, &["verify"]).status, Some(0), "{state}");
        let text = world.place.read(&format!("{tree}/skills/tides/SKILL.md"));
        assert_eq!(text, skill("One."), "{state}");
        let now = world.place.read("home/project/.agents/apkit.lock");
        assert_eq!(now, lock, "{state}");
    }
}

#[test]
fn links_in_the_place_of_our_files_are_not_followed() {
    let world = World::new();
    project(&world);
    let digest = {
        let lock = world.place.read("home/project/.agents/apkit.lock");
        let lock: serde_json::Value = serde_json::from_str(&lock).expect("JSON");
        let digest = lock["packages"]["tide-table"]["digest"].as_str();
        digest.expect("a digest").replace(':', "-")
    };
    // What is written beside its place, then renamed.
    for name in [
        "journal.next",
        "apkit.lock.next",
        "folders.json.next",
        &format!("listings/{digest}.next"),
        &format!("listings/{digest}"),
    ] {
        let target = world.write("home/precious", "precious");
        fs::remove_dir_all(world.path("home/project/.agents")).expect("removed");
        fs::create_dir_all(world.path(INTERNAL).join("listings")).expect("a directory");
        symlink(&target, world.path(INTERNAL).join(name)).expect("a link");
        let copies = ["import", "./p", "--skills-to", "folders"];
        let run = in_project(&world, &copies);
        assert_eq!(run.status, Some(0), "{name}: {run:#?}");
        assert_eq!(in_project(&world, &["verify"]).status, Some(0));
        assert_eq!(world.place.read("home/precious"), "precious", "{name}");
    }
    // What is opened where it is.
    for name in [
        "writer.lock",
        "journal.json",
        "folders.json",
        "staging",
        "listings",
    ] {
        let target = world.path("home/made-by-us");
        fs::remove_dir_all(world.path("home/project/.agents")).expect("removed");
        fs::create_dir_all(world.path(INTERNAL)).expect("a directory");
        symlink(&target, world.path(INTERNAL).join(name)).expect("a link");
        for command in [&["import", "./p"][..], &["list"]] {
            refused(&in_project(&world, command), name, "is a link");
        }
        assert!(!target.exists());
    }
}

#[test]
fn the_store_of_a_project_is_in_the_project() {
    let world = World::new();
    world.package("own", "own", "One.");
    world.expect(0, &["import", "./own"]);
    world.package("home/project/p", "tide-table", "One.");
    let store = world.path("home/project/.agents");
    symlink("../.agents", &store).expect("a link");
    for command in [&["import", "./p"][..], &["list"], &["remove", "own"]] {
        refused(&in_project(&world, command), "project/.agents", "is a link");
    }
    assert_eq!(names(&world.root().join("plugins")), ["own"]);
    fs::remove_file(&store).expect("removed");
    for name in ["plugins", "plugin-data", "apkit.lock"] {
        fs::create_dir_all(&store).expect("a directory");
        symlink(world.path("home"), store.join(name)).expect("a link");
        for command in [&["import", "./p"][..], &["list"]] {
            refused(&in_project(&world, command), name, "is a link");
        }
        fs::remove_dir_all(&store).expect("removed");
    }
    // The user's own may lie elsewhere.
    fs::rename(world.root(), world.path("elsewhere")).expect("renamed");
    symlink(world.path("elsewhere"), world.root()).expect("a link");
    world.expect(0, &["import", "./own"]);
    world.expect(0, &["verify"]);
}

#[test]
fn folders_that_were_not_copied_here_are_not_touched() {
    let world = World::new();
    project(&world);
    world.package("probe", "probe", "One.");
    let known = world.path("home/known");
    world.expect(0, &["import", "./probe", "--skills-to", "home/known"]);
    let record = world.root().join(".apkit/folders.json");
    let record = fs::read_to_string(record).expect("a record");
    let mut record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    // What the user's own store knows, said by the project of its own package.
    let ours = record["packages"]["probe"].take();
    record["packages"] = json!({ "tide-table": ours });
    record["allowed"] =
        json!({ "tide-table": { world.path("home/skills").display().to_string(): true } });
    world.write(&format!("{INTERNAL}/folders.json"), record.to_string());
    let lock = world.place.read("home/project/.agents/apkit.lock");
    let mut lock: serde_json::Value = serde_json::from_str(&lock).expect("JSON");
    lock["packages"]["tide-table"]["folders"] =
        json!([{ "directory": world.path("home/skills"), "scripts": true }]);
    world.write("home/project/.agents/apkit.lock", lock.to_string());
    for command in [
        &["import", "--frozen"][..],
        &["verify"],
        &["update"],
        &["import", "./p"],
        &["remove", "tide-table"],
    ] {
        let run = in_project(&world, command);
        assert_eq!(run.status, Some(0), "{command:?}: {run:#?}");
        assert_eq!(names(&known), ["tides"]);
        assert!(!world.path("home/skills").exists());
    }
    world.expect(0, &["verify"]);
}

/// What a stranger's lock file says must not become a program that something runs:
/// a hook of git, a workflow, a task, a module.
#[test]
fn a_lock_file_has_skills_copied_to_directories_for_skills_alone() {
    let world = World::new();
    project(&world);
    let file = "home/project/.agents/apkit.lock";
    let lock: serde_json::Value = serde_json::from_str(&world.place.read(file)).expect("JSON");
    let above = world.path("home/project");
    fs::create_dir_all(above.join(".git/modules")).expect("a directory");
    symlink(".git", above.join("skills-link")).expect("a link");
    for directory in [
        ".git",
        ".git/skills",
        ".GIT/skills",
        "git~1/skills",
        ".git./skills",
        ".g\u{200d}it/skills",
        ".git::$INDEX_ALLOCATION/skills",
        "nested/.git/skills",
        "skills-link/skills",
        "",
        ".github",
        ".husky",
        ".vscode",
        ".cargo",
        ".jj",
        "node_modules",
        "node_modules/.bin",
        "new",
        "x/../skills",
        "c:skills",
        "skills ",
        ".agents",
        ".agents/plugins/skills",
        ".agents/plugin-data/tide-table/skills",
        ".agents/.apkit/skills",
    ] {
        for base in [
            directory.to_owned(),
            format!("{}/{directory}", above.display()),
        ] {
            let mut lock = lock.clone();
            lock["packages"]["tide-table"]["folders"] =
                json!([{ "directory": base, "scripts": true }]);
            world.write(file, lock.to_string());
            for command in [&["import", "--frozen"][..], &["import", "./p"], &["update"]] {
                let run = in_project(&world, command);
                assert_eq!(run.status, Some(0), "{base}: {run:#?}");
                let copies = find(&above, "SKILL.md");
                assert_eq!(
                    copies,
                    [".agents/plugins/tide-table/skills/tides", "p/skills/tides"]
                );
            }
            let run = in_project(&world, &["import", "--frozen"]);
            assert!(
                run.stdout.contains("is left alone, "),
                "{base}: {}",
                run.stdout
            );
        }
    }
    for directory in [
        ".claude/skills",
        ".github/skills",
        "sub/my-skills",
        ".agents/skills",
    ] {
        let mut lock = lock.clone();
        lock["packages"]["tide-table"]["folders"] =
            json!([{ "directory": directory, "scripts": true }]);
        world.write(file, lock.to_string());
        let run = in_project(&world, &["import", "--frozen"]);
        assert_eq!(run.status, Some(0), "{directory}: {run:#?}");
        assert_eq!(names(&above.join(directory)), ["tides"]);
    }
}

/// The directories below `above` that hold a file of this name.
fn find(above: &Path, name: &str) -> Vec<String> {
    let files = tree(above).into_keys();
    files
        .filter_map(|path| Some(path.strip_suffix(name)?.trim_end_matches('/').to_owned()))
        .collect()
}

#[test]
fn why_a_directory_of_the_lock_file_is_left_alone_is_told() {
    let world = World::new();
    project(&world);
    let file = "home/project/.agents/apkit.lock";
    let mut lock: serde_json::Value = serde_json::from_str(&world.place.read(file)).expect("JSON");
    let above = world.path("home/project");
    fs::create_dir_all(world.path("home/out")).expect("a directory");
    symlink("../out", above.join("skills")).expect("a link");
    let directories = ["odd", "skills", ".git/skills", ".agents/plugins/skills"];
    let folder = |directory| json!({ "directory": directory, "scripts": false });
    lock["packages"]["tide-table"]["folders"] = directories.map(folder).into();
    world.write(file, lock.to_string());
    let told = directories.map(|directory| above.join(directory));
    let whys = ["unasked", "leads_out", "git", "store"];
    let wanted: std::collections::BTreeMap<_, _> = told
        .iter()
        .map(|path| path.display().to_string())
        .zip(whys)
        .collect();
    for command in [&["import", "--frozen"][..], &["import", "./p"], &["update"]] {
        let run = in_project(&world, &[command, &["--json"]].concat());
        assert_eq!(run.status, Some(0), "{run:#?}");
        let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        super::schemas::check(command[0], &found);
        let Some(outside) = found["results"][0]["folders"]["outside"].as_array() else {
            assert_eq!(found["results"][0]["outcome"], "current");
            continue;
        };
        let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
        let told = outside
            .iter()
            .map(|left| (text(&left["path"]), text(&left["why"])));
        let told: std::collections::BTreeMap<_, _> = told.collect();
        let wanted = wanted
            .iter()
            .map(|(path, why)| (path.clone(), (*why).to_owned()));
        assert_eq!(told, wanted.collect(), "{command:?}");
    }
}

#[test]
fn a_folder_in_the_project_that_leads_out_of_it_is_not_written() {
    let world = World::new();
    world.package("home/project/p", "tide-table", "One.");
    let outside = world.path("home/skills");
    fs::create_dir(&outside).expect("a directory");
    let inside = world.path("home/project/skills");
    symlink(&outside, &inside).expect("a link");
    let copies = ["import", "./p", "--skills-to", "skills"];
    let run = in_project(&world, &copies);
    assert_eq!(run.status, Some(0), "{run:#?}");
    assert!(
        run.stdout
            .contains("left alone, as a link on the way leads out of the project"),
        "{}",
        run.stdout
    );
    assert!(names(&outside).is_empty());
    // Made a link later, it is left alone as well.
    fs::remove_file(&inside).expect("removed");
    assert_eq!(in_project(&world, &copies).status, Some(0));
    fs::rename(&inside, world.path("home/there")).expect("renamed");
    symlink("../there", &inside).expect("a link");
    let run = in_project(&world, &["remove", "tide-table"]);
    assert_eq!(run.status, Some(0), "{run:#?}");
    assert_eq!(names(&world.path("home/there")), ["tides"]);
}

#[test]
fn what_has_no_end_is_not_read() {
    let world = World::new();
    world.package("home/project/p", "tide-table", "One.");
    let put = |path: &str| {
        let path = world.path("home/project").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        symlink("/dev/zero", &path).expect("a link");
        path
    };
    for (name, command, reason) in [
        (".agents/apkit.lock", &["import", "./p"][..], "is a link"),
        (".agents/apkit.toml", &["list"], "no regular file"),
        ("apkit.toml", &["list"], "no regular file"),
        (".agents/.apkit/journal.json", &["verify"], "is a link"),
        (".agents/.apkit/folders.json", &["update"], "is a link"),
        (".npmrc", &["import", "npm:tides"], "no regular file"),
    ] {
        let path = put(name);
        refused(&in_project(&world, command), name, reason);
        fs::remove_file(path).expect("removed");
    }
    // What holds no workspaces names none.
    put("package.json");
    fs::create_dir_all(world.path("home/project/sub/node_modules")).expect("a directory");
    let mut command = world.apkit();
    command
        .current_dir(world.path("home/project/sub"))
        .env("npm_config_registry", "http://127.0.0.1:1/")
        .args(["import", "npm:tides"]);
    let run = finish(&mut command);
    assert!(run.stderr.contains("127.0.0.1"), "{}", run.stderr);
}
