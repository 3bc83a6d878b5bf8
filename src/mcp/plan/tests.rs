use std::fs;

use super::*;

/// A package on disk, and where it may write.
struct World {
    _directory: tempfile::TempDir,
    top: PathBuf,
}

impl World {
    fn new() -> Self {
        Self::named("pkg")
    }

    fn named(root: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path().canonicalize().expect("a physical path");
        let top = crate::sys::plain_path(&top);
        fs::create_dir(top.join(root)).expect("a root");
        let world = Self {
            _directory: directory,
            top,
        };
        world.file(&format!("{root}/bin/run it"), true);
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    fn file(&self, path: &str, executable: bool) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(&path, "#!/bin/sh\n").expect("a file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = if executable { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        let _ = executable;
        path
    }

    fn places(&self) -> Places {
        Places::new(&self.path("pkg"), &self.path("data/pkg")).expect("places")
    }

    fn launch(&self, transport: Transport) -> Result<Launch, Off> {
        self.launch_at(&self.places(), transport)
    }

    fn launch_at(&self, places: &Places, transport: Transport) -> Result<Launch, Off> {
        let mut plan = plan(
            &package(vec![transport]),
            places,
            &environment(&[("PATH", "/nowhere")]),
            &Gate::open(),
        );
        plan.servers.remove(0).launch
    }

    fn cwd(&self, cwd: &str) -> Result<(PathBuf, bool), Off> {
        match self.launch(stdio("./bin/run it", &[], &[], Some(cwd)))? {
            Launch::Stdio(process) => Ok((process.cwd, process.create_cwd)),
            other => panic!("{other:?}"),
        }
    }

    fn command(&self, command: &str) -> Result<PathBuf, Off> {
        Ok(process(self.launch(stdio(command, &[], &[], None)))?.program)
    }
}

fn process(launch: Result<Launch, Off>) -> Result<Process, Off> {
    match launch? {
        Launch::Stdio(process) => Ok(process),
        other => panic!("{other:?}"),
    }
}

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    pairs
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

fn stdio(command: &str, args: &[&str], env: &[(&str, &str)], cwd: Option<&str>) -> Transport {
    Transport::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|&text| text.to_owned()).collect(),
        env: env
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        cwd: cwd.map(str::to_owned),
    }
}

fn package(transports: Vec<Transport>) -> Package {
    let mut package = Package {
        path: "pkg".to_owned(),
        verdict: crate::package::Verdict::Loaded,
        name: Some("tide-table".to_owned()),
        version: None,
        spec_version: None,
        skills: crate::package::Skills::default(),
        mcp: crate::package::Mcp::default(),
        diagnostics: Vec::new(),
        sources: BTreeMap::new(),
    };
    let servers = transports.into_iter().enumerate();
    package.mcp.loaded = servers
        .map(|(index, transport)| Server {
            name: format!("s{index}"),
            transport,
        })
        .collect();
    package
}

fn code(off: &Off) -> &'static str {
    match off {
        Off::Invalid(problems) => problems[0].code,
        Off::Policy(_) => "policy",
        Off::Unavailable(_) => "unavailable",
    }
}

#[test]
fn the_three_forms_of_cwd_and_the_omitted_one() {
    let world = World::new();
    let (root, data) = (world.path("pkg"), world.path("data/pkg"));
    let omitted = process(world.launch(stdio("./bin/run it", &[], &[], None))).expect("a process");
    assert_eq!((omitted.cwd, omitted.create_cwd), (root.clone(), false));
    for (cwd, wanted) in [
        ("./", root.clone()),
        ("./bin", root.join("bin")),
        (".//bin/", root.join("bin")),
        ("./bin/..", root.clone()),
        ("${PLUGIN_ROOT}", root.clone()),
        ("${PLUGIN_ROOT}/", root.clone()),
        ("${PLUGIN_ROOT}/bin", root.join("bin")),
    ] {
        assert_eq!(world.cwd(cwd), Ok((wanted, false)), "{cwd}");
    }
    // Below the data directory, which is not there yet, it is made.
    for (cwd, wanted) in [
        ("${PLUGIN_DATA}", data.clone()),
        ("${PLUGIN_DATA}/", data.clone()),
        ("${PLUGIN_DATA}/.", data.clone()),
        ("${PLUGIN_DATA}/a/b", data.join("a/b")),
        ("${PLUGIN_DATA}/a/../c", data.join("c")),
    ] {
        assert_eq!(world.cwd(cwd), Ok((wanted, true)), "{cwd}");
    }
    fs::create_dir_all(data.join("a")).expect("a directory");
    assert_eq!(world.cwd("${PLUGIN_DATA}"), Ok((data.clone(), false)));
    assert_eq!(world.cwd("${PLUGIN_DATA}/a"), Ok((data.join("a"), false)));
    assert_eq!(world.cwd("${PLUGIN_DATA}/b"), Ok((data.join("b"), true)));
}

#[test]
fn other_forms_and_missing_directories() {
    let world = World::new();
    for (cwd, wanted) in [
        ("bin", codes::CWD_FORM.id),
        ("/tmp", codes::CWD_FORM.id),
        ("..", codes::CWD_FORM.id),
        ("", codes::CWD_FORM.id),
        ("${PLUGIN_ROOT}x", codes::CWD_FORM.id),
        ("${HOME}", codes::CWD_FORM.id),
        ("./..", codes::CWD_ESCAPE.id),
        ("./../pkg/bin", codes::CWD_ESCAPE.id),
        ("${PLUGIN_ROOT}/../x", codes::CWD_ESCAPE.id),
        ("${PLUGIN_DATA}/..", codes::CWD_ESCAPE.id),
        ("${PLUGIN_DATA}/../other", codes::CWD_ESCAPE.id),
        ("./missing", "unavailable"),
        ("${PLUGIN_ROOT}/missing", "unavailable"),
        ("./bin/run it", "unavailable"),
        // An absolute path below another directory: contained, and not there;
        // with a drive before it, it leads there instead.
        (
            "./${PLUGIN_ROOT}",
            if cfg!(windows) {
                codes::CWD_ESCAPE.id
            } else {
                "unavailable"
            },
        ),
    ] {
        let off = world.cwd(cwd).expect_err(cwd);
        assert_eq!(code(&off), wanted, "{cwd}: {off}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_when_the_plan_is_made() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    world.file("outside/run", true);
    let link = |target: &str, at: &str| {
        let at = world.path(at);
        fs::create_dir_all(at.parent().expect("a parent")).expect("directories");
        let _ = fs::remove_file(&at);
        symlink(target, at).expect("a link");
    };
    link("bin", "pkg/inside");
    link("run it", "pkg/bin/alias");
    assert_eq!(world.cwd("./inside"), Ok((world.path("pkg/bin"), false)));
    // A program is run by the name that it has in the package.
    let alias = world.path("pkg/bin/alias");
    assert_eq!(world.command("./bin/alias"), Ok(alias));
    // The same names lead elsewhere later.
    link("../outside", "pkg/inside");
    link("../../outside/run", "pkg/bin/alias");
    let off = world.cwd("./inside").expect_err("an escape");
    assert_eq!(code(&off), codes::CWD_ESCAPE.id);
    let off = world.command("./bin/alias").expect_err("an escape");
    assert_eq!(code(&off), codes::COMMAND_ESCAPE.id);
    link("alias", "pkg/bin/alias");
    let off = world.command("./bin/alias").expect_err("a loop");
    assert_eq!(code(&off), codes::COMMAND_ESCAPE.id);
    // Inside of the data directory, too, whoever has put the links there.
    link("../../outside", "data/pkg/out");
    link("../../outside/later", "data/pkg/later");
    link("made", "data/pkg/dangling");
    for cwd in [
        "${PLUGIN_DATA}/out",
        "${PLUGIN_DATA}/out/x",
        "${PLUGIN_DATA}/later",
    ] {
        let off = world.cwd(cwd).expect_err(cwd);
        assert_eq!(code(&off), codes::CWD_ESCAPE.id, "{cwd}");
    }
    let made = world.path("data/pkg/made");
    assert_eq!(world.cwd("${PLUGIN_DATA}/dangling"), Ok((made, true)));
}

#[cfg(unix)]
#[test]
fn places_are_physical() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    symlink(world.path("pkg"), world.path("link")).expect("a link");
    symlink(&world.top, world.path("top")).expect("a link");
    let places = Places::new(&world.path("link"), &world.path("top/later/data")).expect("places");
    assert_eq!(places.root(), world.path("pkg"));
    assert_eq!(places.data(), world.path("later/data"));
    assert!(Places::new(&world.path("nothing"), &world.path("data")).is_err());
}

#[test]
fn expansion_happens_once_and_in_three_places_alone() {
    let world = World::named("x${PLUGIN_DATA}y");
    let root = world.path("x${PLUGIN_DATA}y");
    let data = world.path("data/d${PLUGIN_ROOT}");
    let places = Places::new(&root, &data).expect("places");
    let args = [
        "${PLUGIN_ROOT}/a",
        "$PLUGIN_ROOT",
        "${PLUGIN_ROOT}${PLUGIN_DATA}",
        "${HOME}",
        "$HOME",
        "$${PLUGIN_ROOT}",
        "two words",
        "",
    ];
    let env = [
        ("A${PLUGIN_ROOT}", "${PLUGIN_ROOT}"),
        ("B", "${PLUGIN_DATA}/$X"),
    ];
    let transport = stdio("./bin/run it", &args, &env, Some("${PLUGIN_DATA}/${HOME}"));
    let process = process(world.launch_at(&places, transport)).expect("a process");
    let (root, data) = (root.to_str().expect("text"), data.to_str().expect("text"));
    assert_eq!(
        process.args,
        [
            format!("{root}/a"),
            "$PLUGIN_ROOT".to_owned(),
            format!("{root}{data}"),
            "${HOME}".to_owned(),
            "$HOME".to_owned(),
            format!("${root}"),
            "two words".to_owned(),
            String::new(),
        ]
    );
    let get = |name: &str| {
        process
            .env
            .get(OsStr::new(name))
            .and_then(|value| value.to_str())
    };
    assert_eq!(get("A${PLUGIN_ROOT}"), Some(root));
    assert_eq!(get("B"), Some(format!("{data}/$X").as_str()));
    assert_eq!(get("PLUGIN_ROOT"), Some(root));
    assert_eq!(get("PLUGIN_DATA"), Some(data));
    assert_eq!(process.cwd, Path::new(data).join("${HOME}"));
    // Not in the command.
    let off = world
        .launch_at(&places, stdio("./${PLUGIN_ROOT}/x", &[], &[], None))
        .expect_err("no such file");
    assert_eq!(code(&off), "unavailable");
}

#[test]
fn what_no_process_can_be_given_is_told() {
    let world = World::new();
    for transport in [
        stdio("./bin/run it", &["a\0"], &[], None),
        stdio("./bin/run it", &[], &[("", "x")], None),
        stdio("./bin/run it", &[], &[("A=B", "x")], None),
        stdio("./bin/run it", &[], &[("A", "x\0")], None),
    ] {
        let off = world.launch(transport).expect_err("nothing to start");
        assert_eq!(code(&off), "unavailable");
    }
}

#[test]
fn commands_of_the_package() {
    let world = World::new();
    let wanted = world.path("pkg").join("bin").join("run it");
    assert_eq!(world.command("./bin/run it"), Ok(wanted.clone()));
    assert_eq!(world.command(".//bin/run it"), Ok(wanted));
    for (command, wanted, told) in [
        (
            "./bin/missing",
            "unavailable",
            "there is no file ./bin/missing",
        ),
        ("./bin", "unavailable", "is a directory"),
        ("./../x", codes::COMMAND_ESCAPE.id, "leads out"),
        // The loader refuses these; whoever made the package otherwise does not
        // get past the plan.
        ("../x", codes::COMMAND_FORM.id, "neither"),
        ("/bin/sh", codes::COMMAND_FORM.id, "neither"),
        ("a/b", codes::COMMAND_FORM.id, "neither"),
        ("", codes::COMMAND_FORM.id, "neither"),
    ] {
        let off = world.command(command).expect_err(command);
        assert_eq!(code(&off), wanted, "{command}: {off}");
        assert!(off.to_string().contains(told), "{command}: {off}");
    }
    if cfg!(unix) {
        world.file("pkg/bin/plain", false);
        let off = world.command("./bin/plain").expect_err("not executable");
        assert!(off.to_string().contains("chmod +x"), "{off}");
    }
}

#[cfg(unix)]
#[test]
fn bare_names_are_searched_in_absolute_directories_of_path() {
    let world = World::new();
    world.file("one/plain", false);
    let second = world.file("two/plain", true);
    world.file("pkg/here", true);
    fs::create_dir_all(world.path("one/folder")).expect("a directory");
    let path = |directories: &[&str]| {
        let directories: Vec<String> = directories
            .iter()
            .map(|directory| match *directory {
                "" | "." | "bin" => (*directory).to_owned(),
                other => world.path(other).display().to_string(),
            })
            .collect();
        directories.join(":")
    };
    let find = |command: &str, path: &str, env: &[(&str, &str)]| -> Result<PathBuf, Off> {
        let package = package(vec![stdio(command, &[], env, None)]);
        let environment = environment(&[("PATH", path)]);
        let mut plan = plan(&package, &world.places(), &environment, &Gate::open());
        Ok(process(plan.servers.remove(0).launch)?.program)
    };
    // What is not executable is passed over.
    let both = path(&["one", "two"]);
    assert_eq!(find("plain", &both, &[]), Ok(second.clone()));
    // The PATH of the package is the one that counts.
    assert_eq!(
        find("plain", "/nowhere", &[("PATH", &both)]),
        Ok(second.clone())
    );
    let off = find("plain", &both, &[("PATH", "/nowhere")]).expect_err("not there");
    assert!(off.to_string().ends_with("searched: /nowhere"), "{off}");
    for (command, path, told) in [
        // Neither the working directory, which is the package, nor a place in it.
        (
            "here",
            path(&["", ".", "two"]),
            format!("searched: {}", world.path("two").display()),
        ),
        (
            "run it",
            path(&["bin"]),
            "PATH names no directory".to_owned(),
        ),
        ("here", String::new(), "PATH names no directory".to_owned()),
        (
            "folder",
            path(&["one"]),
            "there is no program folder".to_owned(),
        ),
        (
            "plain",
            path(&["one"]),
            format!("{} is not executable", world.path("one/plain").display()),
        ),
        // Text that looks like a placeholder is a name like any other.
        (
            "${PLUGIN_ROOT}",
            path(&["two"]),
            "there is no program ${PLUGIN_ROOT}".to_owned(),
        ),
    ] {
        let off: Off = find(command, &path, &[]).expect_err(command);
        assert_eq!(code(&off), "unavailable");
        assert!(off.to_string().contains(&told), "{command} {path:?}: {off}");
    }
}

#[test]
fn few_variables_are_inherited_and_the_package_lies_over_them() {
    let world = World::new();
    let own = environment(&[
        ("HOME", "/home/me"),
        ("PATH", "/usr/bin"),
        ("LC_TIME", "de"),
        ("SSH_AUTH_SOCK", "/run/ssh"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("PLUGIN_ROOT", "/elsewhere"),
        ("HTTPS_PROXY", "http://proxy:3128"),
        ("http_proxy", "http://me:secret@proxy:3128"),
        ("Path", "other"),
    ]);
    let places = world.places();
    let make = |platform: Platform, env: &[(&str, &str)]| {
        let resolver = Resolver {
            places: &places,
            root: "/r".into(),
            data: "/d".into(),
            environment: &own,
            platform,
        };
        let env: Vec<_> = env
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let made = environment::make(&resolver, &env).expect("an environment");
        let made: Vec<String> = made
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            // Paths are joined as this machine does it.
            .map(|text| text.replace(std::path::MAIN_SEPARATOR, "/"))
            .collect();
        made
    };
    let unix = Platform {
        ignores_case: false,
        extensions: Vec::new(),
    };
    assert_eq!(
        make(
            unix,
            &[
                ("HOME", "${PLUGIN_DATA}/home"),
                ("plugin_root", "mine"),
                ("path", "p")
            ]
        ),
        [
            "HOME=/d/home",
            "HTTPS_PROXY=http://proxy:3128",
            "LC_TIME=de",
            "PATH=/usr/bin",
            "PLUGIN_DATA=/d",
            "PLUGIN_ROOT=/r",
            "PYTHONPYCACHEPREFIX=/d/__pycache__",
            "path=p",
            "plugin_root=mine",
        ]
    );
    // Where case does not count, one variable has one name.
    assert_eq!(
        make(
            Platform::windows(&own),
            &[("plugin_root", "mine"), ("path", "p")]
        ),
        [
            "HTTPS_PROXY=http://proxy:3128",
            "LC_TIME=de",
            "PLUGIN_DATA=/d",
            "PLUGIN_ROOT=/r",
            "PYTHONPYCACHEPREFIX=/d/__pycache__",
            "path=p",
        ]
    );
}

#[test]
fn a_broken_rule_is_told_before_policy_and_policy_before_what_is_missing() {
    let world = World::new();
    let servers = vec![
        stdio("./../x", &[], &[], None),
        stdio("nothing-of-this-name", &[], &[], Some("./..")),
        stdio("nothing-of-this-name", &[], &[], None),
        Transport::StreamableHttp {
            url: "https://tides.example.com/mcp?a=%20".to_owned(),
            headers: vec![("X-Tenant".to_owned(), "${PLUGIN_ROOT}".to_owned())],
        },
        Transport::Sse {
            url: "nonsense".to_owned(),
            headers: Vec::new(),
        },
    ];
    let package = package(servers);
    let none = BTreeMap::new();
    let plan_with = |gate: &Gate| {
        let plan = plan(&package, &world.places(), &none, gate);
        let codes = plan.servers.iter();
        codes
            .map(|server| server.launch.as_ref().map_or_else(code, |_| "on"))
            .collect::<Vec<_>>()
    };
    let (command, cwd) = (codes::COMMAND_ESCAPE.id, codes::CWD_ESCAPE.id);
    let url = codes::URL_INVALID.id;
    assert_eq!(
        plan_with(&Gate::default()),
        [command, cwd, "policy", "on", url]
    );
    assert_eq!(
        plan_with(&Gate::open()),
        [command, cwd, "unavailable", "on", url]
    );
    // Nothing of a remote server is expanded.
    let plan = plan(&package, &world.places(), &none, &Gate::open());
    let Ok(Launch::StreamableHttp(endpoint)) = &plan.servers[3].launch else {
        panic!("{plan:?}");
    };
    assert_eq!(endpoint.url.as_str(), "https://tides.example.com/mcp?a=%20");
    assert_eq!(endpoint.headers[0].1, "${PLUGIN_ROOT}");
}

#[test]
fn directories_are_made_at_the_start_and_not_by_the_plan() {
    let world = World::new();
    let transport = stdio("./bin/run it", &[], &[], Some("${PLUGIN_DATA}/a/b"));
    let process = process(world.launch(transport)).expect("a process");
    assert!(!world.path("data").exists());
    process.make_directories().expect("directories");
    assert!(world.path("data/pkg/a/b").is_dir());
    #[cfg(unix)]
    {
        fs::remove_dir(world.path("data/pkg/a/b")).expect("removed");
        std::os::unix::fs::symlink(&world.top, world.path("data/pkg/a/b")).expect("a link");
        let error = process.make_directories().expect_err("a link");
        assert!(error.to_string().contains("replaced by a link"), "{error}");
    }
}
