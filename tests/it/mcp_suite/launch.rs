//! Where a server runs, and with what.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{package, report, run, stdio};
use crate::support::{Place, finish};

/// A path with its links resolved.
fn physical(path: PathBuf) -> String {
    let path = path.canonicalize().expect("a path that is there");
    path.to_str().expect("UTF-8").to_owned()
}

/// The four working directories: what the suite calls omitted, plugin-relative,
/// plugin-root and plugin-data.
fn forms() -> Value {
    json!({
        "omitted": stdio(json!({})),
        "relative": stdio(json!({"cwd": "./work dir"})),
        "root": stdio(json!({"cwd": "${PLUGIN_ROOT}/work dir"})),
        "data": stdio(json!({"cwd": "${PLUGIN_DATA}/deep/er"})),
    })
}

#[test]
fn a_server_runs_where_its_cwd_leads() {
    let place = Place::new();
    package(&place, "p", "p", &forms());
    let root = physical(place.path().join("p"));
    let mut data = Vec::new();
    for (server, wanted) in [
        ("omitted", Some(root.clone())),
        ("relative", Some(format!("{root}/work dir"))),
        ("root", Some(format!("{root}/work dir"))),
        ("data", None),
    ] {
        let seen = report(&place, "p", server);
        let env = &seen["env"];
        let own = env["PLUGIN_DATA"].as_str().expect("PLUGIN_DATA").to_owned();
        let wanted = wanted.unwrap_or_else(|| format!("{own}/deep/er"));
        assert_eq!(seen["cwd"], json!(wanted), "{server}");
        // `./bin/probe server` is one token, looked for in the package.
        assert_eq!(seen["argv"], json!([format!("{root}/bin/probe server")]));
        assert_eq!(env["PLUGIN_ROOT"], json!(root));
        assert!(Path::new(&own).is_absolute());
        data.push(own);
    }
    data.dedup();
    assert_eq!(data.len(), 1, "servers of one package share their data");
    fs::write(Path::new(&data[0]).join("written"), "").expect("it can be written to");

    // Another package has another directory, also under the same name.
    package(&place, "q", "q", &forms());
    package(&place, "elsewhere/p", "p", &forms());
    for other in ["q", "elsewhere/p"] {
        let seen = report(&place, other, "omitted");
        assert_ne!(seen["env"]["PLUGIN_DATA"], json!(data[0]), "{other}");
    }
}

#[test]
fn arguments_and_variables_arrive_as_they_are_written() {
    let place = Place::new();
    let args = json!([
        "a b",
        "",
        "${UNKNOWN}",
        "$HOME",
        "${HOME}",
        "%HOME%",
        "$PLUGIN_ROOT",
        "$${PLUGIN_ROOT}",
        "${PLUGIN_ROOT}${PLUGIN_DATA}",
        "${plugin_root}",
        "${ PLUGIN_ROOT }",
        "*",
        "a\"b'c",
        "é",
    ]);
    let env = json!({
        "TIDE": "${PLUGIN_ROOT}|${PLUGIN_DATA}|${PLUGIN_ROOT}|${OTHER}|$HOME",
        "${PLUGIN_ROOT}": "a name is not expanded",
        "LANG": "configured",
        "PATH": "/nowhere",
    });
    // What a placeholder becomes is not searched again.
    let odd = "odd ${PLUGIN_DATA} name";
    package(
        &place,
        odd,
        "p",
        &json!({"s": stdio(json!({"args": args, "env": env}))}),
    );
    let seen = report(&place, odd, "s");
    let root = physical(place.path().join(odd));
    let data = seen["env"]["PLUGIN_DATA"].as_str().expect("PLUGIN_DATA");
    let wanted = [
        "a b",
        "",
        "${UNKNOWN}",
        "$HOME",
        "${HOME}",
        "%HOME%",
        "$PLUGIN_ROOT",
        &format!("${root}"),
        &format!("{root}{data}"),
        "${plugin_root}",
        "${ PLUGIN_ROOT }",
        "*",
        "a\"b'c",
        "é",
    ];
    let argv = seen["argv"].as_array().expect("arguments");
    assert_eq!(argv.get(1..), Some(&wanted.map(|text| json!(text))[..]));
    let env = &seen["env"];
    assert_eq!(
        env["TIDE"],
        json!(format!("{root}|{data}|{root}|${{OTHER}}|$HOME"))
    );
    assert_eq!(env["${PLUGIN_ROOT}"], json!("a name is not expanded"));
    // Over the base, whose own value apkit was given.
    assert_eq!(env["LANG"], json!("configured"));
    assert_eq!(env["PATH"], json!("/nowhere"));
    assert_eq!(env["PLUGIN_ROOT"], json!(root));
}

/// The files in the data directories of every package of this place.
fn marks(place: &Place) -> Vec<PathBuf> {
    let data = place.path().join(".agents/plugin-data");
    let Ok(packages) = fs::read_dir(data) else {
        return Vec::new();
    };
    let files = packages.flat_map(|package| fs::read_dir(package.expect("an entry").path()));
    let files = files.flatten().map(|file| file.expect("an entry").path());
    files.collect()
}

#[test]
fn nothing_is_started_unless_it_is_allowed() {
    let place = Place::new();
    let servers = json!({"s": stdio(json!({"args": ["--probe=mark:started"]}))});
    package(&place, "p", "p", &servers);
    for (arguments, status) in [
        (&["plan", "p", "--json"][..], 1),
        (&["plan", "p", "--allow-stdio"], 0),
        (&["tools", "p", "--json"], 1),
        (&["check", "p", "--json"], 0),
        (&["call", "p", "s", "report"], 2),
    ] {
        let run = run(&place, arguments);
        assert_eq!(run.status, Some(status), "{arguments:?}: {run:?}");
        let told = run.stdout + &run.stderr;
        let is_allowed = arguments.contains(&"--allow-stdio");
        assert!(is_allowed || told.contains("--allow-stdio"), "{told}");
        assert_eq!(marks(&place), Vec::<PathBuf>::new(), "{arguments:?}");
    }
    report(&place, "p", "s");
    assert_eq!(marks(&place).len(), 1);
}

#[test]
fn data_outlives_an_update_between_two_calls() {
    let place = Place::new();
    let servers =
        |name: &str| json!({"s": stdio(json!({"args": [format!("--probe=mark:{name}")]}))});
    package(&place, "p", "tide", &servers("first"));
    let store = |arguments: &[&str]| {
        let run = finish(place.apkit().env("HOME", place.path()).args(arguments));
        assert_eq!(run.status, Some(0), "{run:?}");
    };
    store(&["import", "./p"]);
    let before = report(&place, "tide", "s");
    package(&place, "p", "tide", &servers("second"));
    store(&["update"]);
    let after = report(&place, "tide", "s");
    assert_ne!(before["argv"], after["argv"], "it is the new version");
    let data = |seen: &Value| seen["env"]["PLUGIN_DATA"].clone();
    assert_eq!(data(&before), data(&after));
    let mut names: Vec<_> = marks(&place)
        .iter()
        .map(|path| path.file_name().expect("a name").to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["first", "second"]);
}
