//! Ends of the process at any moment, full disks, and several processes at once.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::world::{World, names, skill, tree};

/// A package of many files, so that a change takes a while.
fn large_package(world: &World, text: &str) {
    world.package("p", "tide-table", text);
    for number in 0..120 {
        world.write(
            &format!("p/data/{}/{number}.txt", number % 7),
            format!("{text} {number}\n"),
        );
    }
}

fn start(world: &World, arguments: &[&str]) -> Child {
    world
        .apkit()
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

/// What is installed: `One.`, `Two.` or nothing, as a whole.
fn state(world: &World) -> Option<String> {
    let place = world.installed("tide-table");
    if !place.exists() {
        return None;
    }
    let text = fs::read_to_string(place.join("skills/tides/SKILL.md")).expect("a skill");
    let text = if text == skill("One.") {
        "One."
    } else {
        "Two."
    };
    for number in 0..120 {
        let file = place.join(format!("data/{}/{number}.txt", number % 7));
        assert_eq!(
            fs::read_to_string(file).expect("a file"),
            format!("{text} {number}\n")
        );
    }
    Some(text.to_owned())
}

/// How long a whole run takes on this machine now.
fn duration(world: &World, arguments: &[&str]) -> Duration {
    let started = Instant::now();
    assert!(start(world, arguments).wait().expect("an end").success());
    started.elapsed()
}

/// How many moments are tried.
const POINTS: u32 = 40;

/// Kills the process at one of the moments of a run. At the last few, it has come
/// to its end.
fn end(mut child: Child, whole: Duration, point: u32) {
    if point + 4 < POINTS {
        sleep(whole * point / (POINTS - 8));
        child.kill().expect("killed");
    }
    child.wait().expect("an end");
}

#[test]
fn a_killed_import_is_there_or_not() {
    let world = World::new();
    large_package(&world, "One.");
    let whole = duration(&world, &["import", "./p"]);
    world.expect(0, &["remove", "tide-table"]);
    let mut seen = (0, 0);
    for point in 0..POINTS {
        end(start(&world, &["import", "./p"]), whole, point);
        world.expect(0, &["verify"]);
        match state(&world) {
            None => {
                seen.0 += 1;
                let locked = world.root().join("apkit.lock").exists();
                assert!(!locked || world.locked("tide-table").is_null());
            }
            Some(text) => {
                seen.1 += 1;
                assert_eq!(text, "One.");
                world.expect(0, &["remove", "tide-table"]);
            }
        }
    }
    assert!(
        seen.0 > 0 && seen.1 > 0,
        "the moments were spread: {seen:?}"
    );
    world.expect(0, &["import", "./p"]);
    world.assert_tidy();
}

#[test]
fn a_killed_update_leaves_the_old_or_the_new_and_the_data() {
    let world = World::new();
    large_package(&world, "One.");
    world.expect(0, &["import", "./p"]);
    world.write("home/.agents/plugin-data/tide-table/state", "precious");
    large_package(&world, "Two.");
    let whole = duration(&world, &["update"]);
    let mut text = "One.";
    let mut seen = (0, 0);
    for point in 0..POINTS {
        large_package(&world, text);
        let before = state(&world);
        end(start(&world, &["update"]), whole, point);
        world.expect(0, &["verify"]);
        let now = state(&world);
        assert!(now.is_some());
        if now == before {
            seen.0 += 1;
        } else {
            seen.1 += 1;
            assert_eq!(now.as_deref(), Some(text));
            text = if text == "One." { "Two." } else { "One." };
        }
        assert_eq!(
            world
                .place
                .read("home/.agents/plugin-data/tide-table/state"),
            "precious"
        );
        assert_eq!(names(&world.root().join("plugins")), ["tide-table"]);
    }
    assert!(
        seen.0 > 0 && seen.1 > 0,
        "the moments were spread: {seen:?}"
    );
    world.expect(0, &["update"]);
    world.assert_tidy();
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_no_half_state() {
    let world = World::new();
    large_package(&world, "One.");
    let whole = duration(&world, &["import", "./p"]);
    world.expect(0, &["remove", "tide-table"]);
    for point in 0..20_u32 {
        let mut child = start(&world, &["import", "./p"]);
        // Not before the program has come so far as to listen.
        sleep(Duration::from_millis(30) + whole * point / 20);
        let sent = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .stderr(Stdio::null())
            .status();
        let _ = sent.expect("kill");
        let status = child.wait().expect("an end");
        assert!(matches!(status.code(), Some(0 | 130)), "{status:?}");
        world.assert_tidy();
        let is_there = state(&world).is_some();
        assert_eq!(is_there, status.code() == Some(0));
        if is_there {
            world.expect(0, &["remove", "tide-table"]);
        }
    }
}

/// With a limit on the size of files, writing fails as on a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_what_was_there() {
    let world = World::new();
    large_package(&world, "One.");
    world.expect(0, &["import", "./p"]);
    large_package(&world, "Two.");
    world.write("p/large.bin", vec![b'x'; 200_000]);
    let lock = world.place.read("home/.agents/apkit.lock");
    let mut failed = 0;
    // In units of 512 bytes: from nothing at all to enough for all but the largest.
    for blocks in [0, 1, 2, 8, 30, 100, 390] {
        let mut shell = Command::new("sh");
        world.prepare(&mut shell);
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" update");
        let run = crate::support::finish(shell.args(["-c", &script, env!("CARGO_BIN_EXE_apkit")]));
        assert_eq!(run.status, Some(2), "{blocks}: {run:#?}");
        assert!(
            run.stderr.contains("large") || run.stderr.contains("File too"),
            "{}",
            run.stderr
        );
        failed += 1;
        world.expect(0, &["verify"]);
        assert_eq!(state(&world).as_deref(), Some("One."));
        assert_eq!(world.place.read("home/.agents/apkit.lock"), lock);
        world.assert_tidy();
    }
    assert_eq!(failed, 7);
    world.expect(0, &["update"]);
    assert_eq!(state(&world).as_deref(), Some("Two."));
}

/// A package of many skills, copied to `folders`.
fn import_copied(world: &World) {
    for number in 0..9 {
        let text = skill("One.").replace("name: tides", &format!("name: s{number}"));
        world.write(&format!("p/skills/s{number}/SKILL.md"), text);
        world.write(&format!("p/skills/s{number}/a/more.md"), "more\n");
    }
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
}

#[test]
fn a_killed_removal_leaves_the_package_with_its_copies_or_nothing() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    import_copied(&world);
    let copies = names(&world.path("folders"));
    assert_eq!(copies.len(), 10);
    let whole = duration(&world, &["remove", "tide-table"]);
    let mut seen = (0, 0);
    for point in 0..POINTS {
        import_copied(&world);
        end(start(&world, &["remove", "tide-table"]), whole, point);
        // It finishes what was begun.
        let run = world.expect(0, &["verify"]);
        let found = names(&world.path("folders"));
        if world.installed("tide-table").exists() {
            seen.0 += 1;
            assert_eq!(run.stdout, "tide-table 1.0.0: intact\n");
            assert_eq!(found, copies);
        } else {
            seen.1 += 1;
            assert!(found.is_empty(), "{found:?}");
            assert!(world.locked("tide-table").is_null());
        }
    }
    assert!(
        seen.0 > 0 && seen.1 > 0,
        "the moments were spread: {seen:?}"
    );
    import_copied(&world);
    world.expect(0, &["remove", "tide-table"]);
    world.assert_tidy();
}

#[test]
fn copies_that_a_killed_update_left_behind_are_told_and_brought_up_to_date() {
    let world = World::new();
    let texts = |text: &str| world.write("p/skills/tides/SKILL.md", skill(text));
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p", "--skills-to", "folders"]);
    texts("Two.");
    let whole = duration(&world, &["update"]);
    for point in 0..POINTS {
        let text = if point % 2 == 0 { "One." } else { "Two." };
        texts(text);
        end(start(&world, &["update"]), whole, point);
        let run = world.run(&["verify"]);
        let copy = world.place.read("folders/tides/SKILL.md");
        let installed = world.installed("tide-table/skills/tides/SKILL.md");
        let installed = fs::read_to_string(installed).expect("a skill");
        if installed == copy {
            assert_eq!(run.status, Some(0), "{run:#?}");
        } else {
            assert_eq!(run.status, Some(1), "{run:#?}");
            assert!(
                run.stdout
                    .contains("folders/tides was not brought up to date with the package"),
                "{}",
                run.stdout
            );
        }
        world.expect(0, &["update"]);
        assert_eq!(world.place.read("folders/tides/SKILL.md"), skill(text));
        world.expect(0, &["verify"]);
    }
    assert_eq!(names(&world.path("folders")), ["tides"]);
    world.assert_tidy();
}

/// See above for the limit.
#[cfg(unix)]
#[test]
fn a_full_disk_stops_a_removal_before_anything_goes() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    import_copied(&world);
    // So that more than one block has to be written.
    for name in ["other", "more"] {
        world.package(name, name, "One.");
        world.expect(
            0,
            &[
                "import",
                &format!("./{name}"),
                "--skills-to",
                &format!("{name}-copies"),
            ],
        );
    }
    let (lock, copies) = (world.lock(), names(&world.path("folders")));
    for arguments in ["remove tide-table --skills-to folders", "remove tide-table"] {
        // In units of 512 bytes.
        for blocks in 0.. {
            let mut shell = Command::new("sh");
            world.prepare(&mut shell);
            let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {arguments}");
            let run =
                crate::support::finish(shell.args(["-c", &script, env!("CARGO_BIN_EXE_apkit")]));
            if blocks > 1 && run.status == Some(0) {
                break;
            }
            assert_eq!(run.status, Some(2), "{blocks}: {run:#?}");
            assert_eq!(world.lock(), lock);
            assert_eq!(names(&world.path("folders")), copies);
            world.expect(0, &["verify"]);
            world.assert_tidy();
        }
        assert!(names(&world.path("folders")).is_empty());
        import_copied(&world);
    }
}

#[test]
fn imports_at_the_same_time_all_arrive() {
    let world = World::new();
    let names: Vec<String> = (0..6).map(|number| format!("pack-{number}")).collect();
    for name in &names {
        world.package(name, name, "One.");
    }
    let sources: Vec<String> = names.iter().map(|name| format!("./{name}")).collect();
    // The last one three times.
    let all = sources.iter().chain([&sources[5], &sources[5]]);
    let children: Vec<Child> = all
        .map(|source| start(&world, &["import", source]))
        .collect();
    for mut child in children {
        assert!(child.wait().expect("an end").success());
    }
    assert_eq!(super::world::names(&world.root().join("plugins")), names);
    let verified = world.json(0, &["verify", "--json"]);
    assert_eq!(verified["packages"].as_array().map(Vec::len), Some(6));
    world.assert_tidy();
}

#[test]
fn who_verifies_beside_updates_sees_no_changes() {
    let world = World::new();
    large_package(&world, "One.");
    world.expect(0, &["import", "./p"]);
    for round in 0..12 {
        large_package(&world, if round % 2 == 0 { "Two." } else { "One." });
        let mut update: Child = start(&world, &["update"]);
        while update.try_wait().expect("a child").is_none() {
            world.expect(0, &["verify"]);
        }
    }
}

/// A power failure after the lock file has reached the disk, and before the files did.
#[test]
fn a_tree_that_did_not_reach_the_disk_is_found_and_brought_again() {
    let world = World::new();
    world.package("p", "tide-table", "One.");
    world.expect(0, &["import", "./p"]);
    let whole = tree(&world.installed("tide-table"));
    for arguments in [&["update"][..], &["import", "--frozen"], &["import", "./p"]] {
        for name in whole.keys() {
            fs::write(world.installed("tide-table").join(name), "").expect("emptied");
        }
        let found = world.json(1, &["verify", "--json"]);
        let changes = found["packages"][0]["changes"].as_array().map(Vec::len);
        assert_eq!(changes, Some(whole.len()), "{found}");
        let run = world.expect(0, arguments);
        assert!(run.stdout.contains("put back as it was"), "{}", run.stdout);
        assert_eq!(tree(&world.installed("tide-table")), whole);
        world.expect(0, &["verify"]);
    }
    world.assert_tidy();
}
