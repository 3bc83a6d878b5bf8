//! `apkit mcp plan`: what would be started and connected to, what is off and why.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::store::world::{World, executable};
use crate::support::{Run, finish, manifest, mcp};

/// A user with a package `p` that has these servers.
struct Plans {
    world: World,
}

impl Plans {
    fn new(servers: &str) -> Self {
        let world = World::new();
        world.write(
            "p/plugin.json",
            manifest("tide-table", "\"version\": \"1.0.0\""),
        );
        world.write("p/mcp.json", mcp(servers));
        world.program("p/bin/almanac");
        Self { world }
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
        let mut command = self.world.apkit();
        command.args(["mcp", "plan"]).args(arguments);
        finish(command.envs(environment.iter().copied()))
    }

    /// The plan as JSON, which keeps to its schema.
    fn plan(&self, status: i32, arguments: &[&str]) -> Value {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.status, Some(status), "{run:?}");
        let schema = self.world.expect(0, &["schema", "mcp-plan"]).stdout;
        let schema = serde_json::from_str(&schema).expect("JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let plan: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let problems: Vec<String> = validator
            .iter_errors(&plan)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{problems:?}");
        plan
    }

    fn rules(&self, text: &str) {
        self.world.write("home/.agents/apkit.toml", text);
    }

    fn private_file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.world.write(path, text);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        }
        path
    }
}

/// `name: state` of every server.
fn states(plan: &Value) -> Vec<String> {
    let servers = plan["servers"].as_array().expect("servers").iter();
    servers
        .map(|server| {
            let text = |key: &str| server[key].as_str().expect("text").to_owned();
            format!("{}: {}", text("name"), text("state"))
        })
        .collect()
}

const ALMANAC: &str = r#""almanac": {"type": "stdio", "command": "./bin/almanac",
    "args": ["--root", "${PLUGIN_ROOT}", "$HOME", ""],
    "env": {"CACHE": "${PLUGIN_DATA}/cache", "MODE": "x"}, "cwd": "${PLUGIN_DATA}/work"}"#;
const TIDES: &str = r#""tides": {"type": "streamable-http",
    "url": "https://tides.example.com/mcp?zone=1", "headers": {"X-Tenant": "t"}}"#;

#[test]
fn the_plan_is_everything_resolved_and_nothing_is_made() {
    let plans = Plans::new(&format!(
        "{{{ALMANAC}, {TIDES}, \"odd\": {{\"type\": \"pigeon\"}}}}"
    ));
    let plan = plans.plan(1, &["p", "--allow-stdio"]);
    let root = plans.world.path("p").canonicalize().expect("a path");
    let root = root.to_str().expect("text");
    assert_eq!(plan["root"], root);
    let data = plan["data"].as_str().expect("text");
    let home = plans.world.path("home").canonicalize().expect("a path");
    let start = home.join(".agents/plugin-data/tide-table+");
    assert!(data.starts_with(start.to_str().expect("text")), "{data}");
    assert_eq!(states(&plan), ["almanac: on", "tides: on", "odd: invalid"]);
    let stdio = &plan["servers"][0]["stdio"];
    assert_eq!(stdio["program"], format!("{root}/bin/almanac"));
    assert_eq!(stdio["args"], json!(["--root", root, "$HOME", ""]));
    assert_eq!(stdio["cwd"], format!("{data}/work"));
    assert_eq!(stdio["create_cwd"], true);
    assert_eq!(stdio["env"]["CACHE"], format!("{data}/cache"));
    assert_eq!(stdio["env"]["PLUGIN_ROOT"], root);
    assert_eq!(stdio["env"]["PLUGIN_DATA"], data);
    assert_eq!(
        stdio["inherited"],
        json!(["HOME", "LANG", "PATH", "TMPDIR"])
    );
    let remote = &plan["servers"][1]["remote"];
    assert_eq!(remote["url"], "https://tides.example.com/mcp?zone=1");
    assert_eq!(remote["headers"], json!({"X-Tenant": "t"}));
    assert_eq!(
        plan["servers"][2]["problems"][0]["code"],
        "mcp::type-unknown"
    );
    assert_eq!(plan["servers"][2]["transport"], Value::Null);
    assert!(!plans.world.root().exists());
}

#[test]
fn text_says_what_is_on_and_why_something_is_not() {
    let plans = Plans::new(&format!("{{{ALMANAC}, {TIDES}}}"));
    let run = plans.run(&["p"]);
    assert_eq!(run.status, Some(1));
    let text = &run.stdout;
    for wanted in [
        "tide-table 1.0.0\n",
        "servers on: 1 of 2\n",
        "⚠ almanac  stdio, disabled by policy\n",
        "    programs are not allowed\n",
        "         env: PYTHONPYCACHEPREFIX=",
        "    program: ",
        "         arg: $HOME\n",
        "(is made)\n",
        "         env: MODE=x\n",
        "    inherits: HOME, LANG, PATH, TMPDIR\n",
        "✓ tides  streamable-http\n",
        "         url: https://tides.example.com/mcp?zone=1\n",
        "      header: X-Tenant: t\n",
        "For good, as they are now: this in ",
        "apkit.toml\n\n[[stdio.allow]]\nplugin = \"tide-table\"\ndigest = \"sha256:",
    ] {
        assert!(text.contains(wanted), "{wanted:?} in {text}");
    }
    // The rule that it shows is one.
    let rule = text.split_once("apkit.toml\n\n").expect("a rule").1;
    plans.rules(rule);
    let run = plans.run(&["p"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(run.stdout.contains("servers on: 2\n"), "{}", run.stdout);
}

#[test]
fn programs_are_allowed_for_one_content_of_one_package() {
    let two = format!(
        "{{{ALMANAC}, \"second\": {{\"type\": \"stdio\", \"command\": \"./bin/almanac\"}}}}"
    );
    let plans = Plans::new(&two);
    let digest = plans.plan(1, &["p"])["digest"]
        .as_str()
        .expect("a digest")
        .to_owned();
    let allow = |more: &str| {
        format!("[[stdio.allow]]\nplugin = \"tide-table\"\ndigest = \"{digest}\"\n{more}")
    };
    plans.rules(&allow(""));
    assert_eq!(
        states(&plans.plan(0, &["p"])),
        ["almanac: on", "second: on"]
    );
    plans.rules(&allow("server = \"alm*\"\n"));
    assert_eq!(
        states(&plans.plan(1, &["p"])),
        ["almanac: on", "second: disabled"]
    );
    // A rule that forbids wins over everything, and names itself.
    plans.rules(&format!(
        "{}[[stdio.deny]]\nserver = \"second\"\nreason = \"slow\"\n",
        allow("")
    ));
    let plan = plans.plan(1, &["p", "--allow-stdio"]);
    assert_eq!(states(&plan), ["almanac: on", "second: disabled"]);
    let reason = plan["servers"][1]["reason"].as_str().expect("a reason");
    let file = plans.world.path("home/.agents/apkit.toml");
    let wanted = format!(
        "the rule [[stdio.deny]] {{ server = \"second\" }} at {}:4 forbids it: slow",
        file.display()
    );
    assert_eq!(reason, wanted);
    // What forbids is not lifted by the rule that is there already.
    let run = plans.run(&["p"]);
    assert!(!run.stdout.contains("[[stdio.allow]]\n"), "{run:?}");
    // Another content.
    plans.rules(&allow(""));
    plans.world.write("p/bin/more", "new");
    let plan = plans.plan(1, &["p"]);
    assert_eq!(states(&plan), ["almanac: disabled", "second: disabled"]);
    let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
    assert!(
        reason.ends_with(&format!(
            "{}:1 is for another content: the package changed since it was written; look at it, and put the digest that `apkit mcp plan` shows there",
            file.display()
        )),
        "{reason}"
    );
    // A slip in a name beside it.
    let slips = [
        allow("").replace("tide-table", "tide-tables"),
        allow("server = \"Almanac\"\n"),
    ];
    for slip in slips {
        plans.rules(&slip);
        let plan = plans.plan(1, &["p"]);
        assert_eq!(states(&plan), ["almanac: disabled", "second: disabled"]);
        let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
        let wanted = format!("{}:1 names nearly this package or server", file.display());
        assert!(reason.contains(&wanted), "{reason}");
    }
    // Another package is none of this one's.
    plans.rules(&allow("").replace("tide-table", "moon"));
    let plan = plans.plan(1, &["p"]);
    let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
    assert_eq!(reason, "programs are not allowed");
    plans.rules("[[stdio.allow]]\nplugin = \"tide-table\"\ndigest = \"sha256:12\"\n");
    let run = plans.run(&["p"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("apkit.toml:3:10: the digest is none"),
        "{}",
        run.stderr
    );
    for unfit in [
        "[[stdio.allow]]\nplugin = \"tide-table\"\n",
        "[[remote.allow]]\n",
        "[[remote.deny]]\nhots = \"x\"\n",
        "[stdio]\nallow = true\n",
        "[[remote.allow]]\nhost = \"127.0.0.1:18801\"\n",
        "[[remote.deny]]\nhost = \"[::1]:80\"\n",
    ] {
        plans.rules(unfit);
        let run = plans.run(&["p"]);
        assert_eq!(run.status, Some(2), "{unfit}");
        assert!(
            run.stderr.contains("apkit.toml:"),
            "{unfit}: {}",
            run.stderr
        );
    }
}

#[test]
fn servers_over_http_obey_rules_about_hosts() {
    let local = r#""local": {"type": "sse", "url": "http://[::1]:8000/sse"}"#;
    let plans = Plans::new(&format!("{{{TIDES}, {local}}}"));
    assert_eq!(states(&plans.plan(0, &["p"])), ["tides: on", "local: on"]);
    for (rules, wanted, told) in [
        (
            "[[remote.deny]]\nhost = \"*.example.com\"\n",
            ["disabled", "on"],
            "[[remote.deny]]",
        ),
        (
            "[[remote.deny]]\nhost = \"*.example.com\"\nplugin = \"other\"\n",
            ["on", "on"],
            "",
        ),
        (
            "[[remote.deny]]\nserver = \"tides\"\nreason = \"no\"\n",
            ["disabled", "on"],
            "forbids it: no",
        ),
        (
            "[[remote.allow]]\nhost = \"::1\"\n",
            ["disabled", "on"],
            "no rule [[remote.allow]] of",
        ),
        (
            "[[remote.allow]]\nhost = \"tides.EXAMPLE.com\"\n[[remote.allow]]\nhost = \"::1\"\n",
            ["on", "on"],
            "",
        ),
    ] {
        plans.rules(rules);
        let status = i32::from(wanted.contains(&"disabled"));
        let plan = plans.plan(status, &["p", "--allow-stdio"]);
        assert_eq!(
            states(&plan),
            [
                format!("tides: {}", wanted[0]),
                format!("local: {}", wanted[1])
            ]
        );
        let reason = plan["servers"][0]["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(told), "{rules}: {reason}");
    }
    let dotted = TIDES.replace("tides.example.com", "tides.example.com.");
    plans
        .world
        .write("p/mcp.json", mcp(&format!("{{{dotted}}}")));
    plans.rules("[[remote.deny]]\nhost = \"tides.example.com\"\n");
    assert_eq!(states(&plans.plan(1, &["p"])), ["tides: disabled"]);
    plans
        .world
        .write("p/mcp.json", mcp(&format!("{{{TIDES}}}")));
    plans.rules("[remote]\nprivate = [\"10.1.0.0/16\"]\n[[remote.deny]]\nhost = \"x\"\n");
    assert_eq!(plans.plan(0, &["p"])["private"], json!(["10.1.0.0/16"]));
}

#[test]
fn an_installed_package_keeps_its_data_and_a_directory_of_its_name_is_another() {
    let plans = Plans::new(&format!("{{{ALMANAC}}}"));
    let world = &plans.world;
    world.expect(0, &["import", "./p"]);
    let plan = plans.plan(0, &["tide-table", "--allow-stdio"]);
    let data = |plan: &Value| plan["data"].as_str().expect("text").to_owned();
    let root = world.root().canonicalize().expect("a path");
    assert_eq!(
        data(&plan),
        root.join("plugin-data/tide-table").to_str().expect("text")
    );
    let installed = root.join("plugins/tide-table");
    assert_eq!(plan["root"], installed.to_str().expect("text"));
    assert_eq!(plan["digest"], world.locked("tide-table")["digest"]);
    // By its path it is the same.
    let by_path = plans.plan(0, &["home/.agents/plugins/tide-table", "--allow-stdio"]);
    assert_eq!(data(&by_path), data(&plan));
    // A directory that happens to have its name is reached by a path alone.
    world.write("tide-table/plugin.json", manifest("tide-table", ""));
    assert_eq!(
        plans.plan(0, &["tide-table", "--allow-stdio"])["root"],
        plan["root"]
    );
    let said = plans.run(&["tide-table", "--allow-stdio"]).stderr;
    let note = "note: the installed package tide-table; ./tide-table is the directory\n";
    assert_eq!(said, note);
    assert_ne!(plans.plan(0, &["./tide-table"])["root"], plan["root"]);
    // Other places have data of their own, the same each time.
    let one = data(&plans.plan(0, &["p", "--allow-stdio"]));
    assert_eq!(
        one,
        data(&plans.plan(0, &["./p/plugin.json", "--allow-stdio"]))
    );
    assert_ne!(one, data(&plans.plan(0, &["./tide-table"])));
    assert_ne!(one, data(&plan));
    // An update keeps it, and is another content for a rule.
    let digest = plan["digest"].as_str().expect("text");
    plans.rules(&format!(
        "[[stdio.allow]]\nplugin = \"tide-table\"\ndigest = \"{digest}\"\n"
    ));
    assert_eq!(states(&plans.plan(0, &["tide-table"])), ["almanac: on"]);
    world.write("p/new.txt", "new");
    world.expect(0, &["update"]);
    let after = plans.plan(1, &["tide-table"]);
    assert_eq!(data(&after), data(&plan));
    assert_eq!(states(&after), ["almanac: disabled"]);
    let reason = after["servers"][0]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("is for another content: the package changed since it was written; look"),
        "{reason}"
    );
    // What changed since the installation is named.
    world.write(
        "home/.agents/plugins/tide-table/written.txt",
        "by the server",
    );
    let after = plans.plan(1, &["tide-table"]);
    let reason = after["servers"][0]["reason"].as_str().expect("a reason");
    let named = "and since it was installed: \"written.txt\" was added (`apkit verify tide-table`)";
    assert!(reason.contains(named), "{reason}");
}

#[test]
fn a_project_cannot_allow_its_own_programs() {
    let plans = Plans::new(&format!("{{{ALMANAC}, {TIDES}}}"));
    let world = &plans.world;
    world.expect(0, &["import", "./p", "--project"]);
    let digest = plans.plan(1, &["tide-table", "--project"])["digest"]
        .as_str()
        .expect("text")
        .to_owned();
    let rule = format!("[[stdio.allow]]\nplugin = \"tide-table\"\ndigest = \"{digest}\"\n");
    let private = "[remote]\nprivate = [\"10.0.0.0/8\"]\n";
    world.write(".agents/apkit.toml", &rule);
    world.write("apkit.toml", format!("{rule}{private}"));
    let plan = plans.plan(1, &["tide-table", "--project"]);
    assert_eq!(states(&plan), ["almanac: disabled", "tides: on"]);
    let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("does not count"), "{reason}");
    assert_eq!(plan["private"], json!([]));
    // The user can, and the project can still forbid.
    plans.rules(&rule);
    assert_eq!(
        states(&plans.plan(0, &["tide-table", "--project"])),
        ["almanac: on", "tides: on"]
    );
    world.write(
        "apkit.toml",
        "[[stdio.deny]]\nplugin = \"*\"\n[[remote.deny]]\nhost = \"*\"\n",
    );
    let plan = plans.plan(1, &["tide-table", "--project", "--allow-stdio"]);
    assert_eq!(states(&plan), ["almanac: disabled", "tides: disabled"]);
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_data_is_refused() {
    let plans = Plans::new(&format!("{{{ALMANAC}}}"));
    plans.world.expect(0, &["import", "./p", "--project"]);
    fs::create_dir(plans.world.path(".agents/plugin-data")).expect("a directory");
    let link = plans.world.path(".agents/plugin-data/tide-table");
    std::os::unix::fs::symlink(plans.world.path("beside"), link).expect("a link");
    let run = plans.run(&["tide-table", "--project", "--allow-stdio"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("plugin-data/tide-table"),
        "{}",
        run.stderr
    );
}

#[cfg(unix)]
#[test]
fn what_leads_elsewhere_or_is_missing_is_off_alone() {
    let servers = r#"{
        "ok": {"type": "stdio", "command": "./bin/al manac", "cwd": "./bin"},
        "root": {"type": "stdio", "command": "./bin/almanac", "cwd": "${PLUGIN_ROOT}/bin"},
        "out": {"type": "stdio", "command": "./bin/almanac", "cwd": "${PLUGIN_DATA}/out"},
        "lost": {"type": "stdio", "command": "no-such-program-anywhere"},
        "plain": {"type": "stdio", "command": "./bin/plain"},
        "nowhere": {"type": "stdio", "command": "./bin/almanac", "cwd": "./later"},
        "escape": {"type": "stdio", "command": "./bin/almanac", "cwd": "./out"},
        "reserved": {"type": "stdio", "command": "./bin/almanac", "env": {"PLUGIN_DATA": "x"}}
    }"#;
    let plans = Plans::new(servers);
    let world = &plans.world;
    world.program("p/bin/al manac");
    world.write("p/bin/plain", "text");
    std::os::unix::fs::symlink(world.path("beside"), world.path("p/out")).expect("a link");
    let data = plans.plan(1, &["p"])["data"]
        .as_str()
        .expect("text")
        .to_owned();
    fs::create_dir_all(&data).expect("a directory");
    std::os::unix::fs::symlink(world.path("beside"), format!("{data}/out")).expect("a link");
    let plan = plans.plan(1, &["p", "--allow-stdio"]);
    assert_eq!(
        states(&plan),
        [
            "ok: on",
            "root: on",
            "out: invalid",
            "lost: unavailable",
            "plain: unavailable",
            "nowhere: unavailable",
            "escape: invalid",
            "reserved: invalid"
        ]
    );
    let root = plan["root"].as_str().expect("text");
    assert_eq!(
        plan["servers"][0]["stdio"]["program"],
        format!("{root}/bin/al manac")
    );
    assert_eq!(plan["servers"][0]["stdio"]["cwd"], format!("{root}/bin"));
    let code = |index: usize| plan["servers"][index]["problems"][0]["code"].clone();
    assert_eq!(code(2), "mcp::cwd-escape");
    assert_eq!(code(6), "mcp::cwd-escape");
    assert_eq!(code(7), "mcp::env-reserved");
    let reason = |index: usize| plan["servers"][index]["reason"].as_str().expect("text");
    assert!(
        reason(3).contains("no program no-such-program-anywhere; searched: /"),
        "{}",
        reason(3)
    );
    assert!(
        reason(4).contains("./bin/plain is not executable"),
        "{}",
        reason(4)
    );
    assert!(
        reason(5).contains("there is no directory ./later"),
        "{}",
        reason(5)
    );
    executable(&world.path("p/bin/plain"));
    assert_eq!(
        states(&plans.plan(1, &["p", "--allow-stdio"]))[4],
        "plain: on"
    );
}

#[test]
fn a_package_without_servers_and_one_that_loads_none() {
    let plans = Plans::new("{}");
    let run = plans.run(&["p"]);
    assert_eq!(run.status, Some(0));
    assert!(run.stdout.contains("no servers\n"), "{}", run.stdout);
    plans.world.write("p/mcp.json", "{");
    let plan = plans.plan(1, &["p"]);
    assert_eq!(plan["disabled"][0]["code"], "mcp::invalid-json");
    plans.world.write("p/plugin.json", manifest("../up", ""));
    let plan = plans.plan(1, &["p"]);
    assert_eq!(plan["disabled"][0]["code"], "manifest::name-invalid");
    let data = plan["data"].as_str().expect("text");
    assert!(data.contains("/plugin-data/unnamed+"), "{data}");
    let run = plans.run(&["nothing-here"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr
            .contains("neither an installed package, nor a directory"),
        "{}",
        run.stderr
    );
    let run = plans.run(&["beside/sentinel"]);
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("plugin.json"), "{}", run.stderr);
}

#[test]
fn fetched_packages_are_planned_and_gone_afterwards() {
    let plans = Plans::new(&format!("{{{ALMANAC}}}"));
    let plan = plans.plan(0, &["builtin:everos"]);
    let again = plans.plan(0, &["builtin:everos"]);
    assert_eq!(plan["data"], again["data"]);
    assert_ne!(plan["root"], again["root"]);
    plans.world.expect(0, &["export", "p", "--out", "p.tgz"]);
    let plan = plans.plan(0, &["p.tgz", "--allow-stdio"]);
    assert_eq!(states(&plan), ["almanac: on"]);
    assert!(!PathBuf::from(plan["root"].as_str().expect("text")).exists());
    assert!(crate::store::world::names(&plans.world.path("tmp")).is_empty());
}

#[test]
fn credentials_are_named_with_their_source_and_never_shown() {
    let servers = format!(
        r#"{{{ALMANAC}, {TIDES}, "leaky": {{"type": "sse", "url": "https://tides.example.com/sse?api_key=0123456789abcdef",
            "headers": {{"X-Api-Key": "0123456789abcdef"}}}}}}"#
    );
    let plans = Plans::new(&servers);
    let secret = "s3cret-Value-0123456789";
    plans.private_file(
        "home/.config/apkit/credentials.toml",
        &format!(
            "[[server]]\nplugin = \"tide-table\"\nserver = \"tides\"\norigin = \"https://tides.example.com\"\n\
             headers.Authorization = {{ prefix = \"Bearer \", value = \"{secret}\" }}\n\
             headers.X-More = {{ command = [\"pass\", \"show\", \"{secret}\"] }}\n"
        ),
    );
    let arguments = [
        "p",
        "--allow-stdio",
        "--credential",
        "almanac:API_KEY=env:TIDES_KEY",
    ];
    let environment = [("TIDES_KEY", secret)];
    for more in [&[][..], &["--json"]] {
        let run = plans.run_with(&[&arguments, more].concat(), &environment);
        assert_eq!(run.status, Some(0), "{run:?}");
        for hidden in [secret, "0123456789abcdef"] {
            assert!(
                !run.stdout.contains(hidden) && !run.stderr.contains(hidden),
                "{}",
                run.stdout
            );
        }
    }
    let run = plans.run_with(&[&arguments[..], &["--json"]].concat(), &environment);
    let plan: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let credentials = |index: usize| plan["servers"][index]["credentials"].clone();
    assert_eq!(
        credentials(0),
        json!([{"kind": "env", "name": "API_KEY", "from": "env TIDES_KEY"}])
    );
    assert_eq!(
        credentials(1),
        json!([
            {"kind": "header", "name": "Authorization", "from": "the file of credentials"},
            {"kind": "header", "name": "X-More", "from": "command pass"}
        ])
    );
    assert_eq!(
        plan["servers"][2]["remote"]["url"],
        "[credential, not shown]"
    );
    // Without its value a server cannot be used.
    let plan = plans.plan(1, &arguments);
    assert_eq!(states(&plan)[0], "almanac: unavailable");
    assert_eq!(
        plan["servers"][0]["reason"],
        "the credential API_KEY: the variable TIDES_KEY is not set"
    );
    // Nor where it is not for.
    plans.world.write(
        "p/mcp.json",
        mcp(&format!(
            "{{{}}}",
            TIDES.replace("tides.example.com", "evil.example.com")
        )),
    );
    let plan = plans.plan(1, &["p"]);
    let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains(
            "it is for https://tides.example.com, and the server is at https://evil.example.com"
        ),
        "{reason}"
    );
}

#[test]
fn slips_with_credentials_end_the_run_and_show_nothing() {
    let plans = Plans::new(&format!("{{{TIDES}}}"));
    for (text, told) in [
        ("tide:A=env:X", "to the server tide: there are only tides"),
        ("tides:A=s3cret", "SOURCE is env:VARIABLE or file:PATH"),
        ("s3cret", "write SERVER:NAME=SOURCE"),
    ] {
        let run = plans.run(&["p", "--credential", text]);
        assert_eq!(run.status, Some(2), "{text}");
        assert!(run.stderr.contains(told), "{}", run.stderr);
        assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
    }
    let run = plans.run(&["p", "--credentials", "nowhere.toml"]);
    assert_eq!(run.status, Some(2));
    let told = "error: failed to read the credentials: nowhere.toml: ";
    assert!(run.stderr.starts_with(told), "{}", run.stderr);
    assert_eq!(run.stderr.matches("nowhere").count(), 1, "{}", run.stderr);
    let file = plans.private_file("c.toml", "[[server]]\nplugin = 1\n");
    let run = plans.run(&["p", "--credentials", "c.toml"]);
    assert_eq!(run.status, Some(2));
    assert!(
        run.stderr.contains("c.toml:2: expected a string"),
        "{}",
        run.stderr
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
        let run = plans.run(&["p", "--credentials", "c.toml"]);
        assert_eq!(run.status, Some(2));
        assert_eq!(
            run.stderr,
            "error: failed to read the credentials: c.toml: other users may read it; chmod 600 keeps them out\n"
        );
        let run = plans.run(&["p", "--credentials", "p"]);
        assert_eq!(
            run.stderr,
            "error: failed to read the credentials: p: it is no regular file\n"
        );
    }
    let _ = file;
}

#[test]
fn help_says_how_one_of_several_servers_is_given_a_credential() {
    let plans = Plans::new("{}");
    let help = plans.run(&["--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains(
            "have a server of that name, write PACKAGE/SERVER, and where they have one name \
             SOURCE/SERVER."
        ),
        "{help}"
    );
    assert!(help.contains("Nobody but you may read the file"), "{help}");
}

#[test]
fn what_is_missing_is_said_beside_what_is_not_allowed() {
    let plans = Plans::new(r#"{"gone": {"type": "stdio", "command": "no-such-program"}}"#);
    let plan = plans.plan(1, &["p"]);
    assert_eq!(states(&plan), ["gone: disabled"]);
    let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
    let start = "programs are not allowed; besides, there is no program no-such-program";
    assert!(reason.starts_with(start), "{reason}");
}

#[test]
fn python_keeps_what_it_compiles_out_of_the_package() {
    let command = r#""type": "stdio", "command": "./bin/almanac""#;
    let plans = Plans::new(&format!(
        r#"{{"usual": {{{command}}},
            "own": {{{command}, "env": {{"PYTHONPYCACHEPREFIX": "x"}}}},
            "none": {{{command}, "env": {{"PYTHONDONTWRITEBYTECODE": "1"}}}}}}"#
    ));
    let plan = plans.plan(0, &["p", "--allow-stdio"]);
    let data = plan["data"].as_str().expect("a path");
    let cache = |at: usize| plan["servers"][at]["stdio"]["env"]["PYTHONPYCACHEPREFIX"].clone();
    assert_eq!(cache(0), format!("{data}/__pycache__"));
    assert_eq!(cache(1), "x");
    assert_eq!(cache(2), Value::Null);
    assert_eq!(
        plan["servers"][0]["stdio"]["inherited"],
        plan["servers"][1]["stdio"]["inherited"]
    );
}

#[test]
fn an_address_that_is_refused_is_refused_by_the_plan() {
    let far = |url: &str| format!(r#"{{"type": "streamable-http", "url": "{url}"}}"#);
    let plans = Plans::new(&format!(
        r#"{{"private": {}, "cloud": {}, "public": {}, "here": {}}}"#,
        far("https://10.9.8.7/mcp"),
        far("https://169.254.169.254/x"),
        far("https://93.184.216.34/x"),
        far("http://127.0.0.1:1/x"),
    ));
    let plan = plans.plan(1, &["p"]);
    let wanted = [
        "private: unavailable",
        "cloud: unavailable",
        "public: on",
        "here: on",
    ];
    assert_eq!(states(&plan), wanted);
    assert_eq!(
        plan["servers"][0]["reason"],
        "10.9.8.7 is a private address; no connection is made there unless your apkit.toml has `[remote] private = [\"10.9.8.7\"]`"
    );
    plans.rules("[remote]\nprivate = [\"10.9.8.7\", \"169.254.169.254\"]\n");
    assert_eq!(states(&plans.plan(0, &["p"])).len(), 4);
}

#[test]
fn a_credential_in_the_place_of_a_value_of_the_package_says_so() {
    let plans = Plans::new(
        r#"{"far": {"type": "sse", "url": "https://tides.example.com/sse", "headers": {"X-Tenant": "t"}}}"#,
    );
    let given = |name: &str| {
        let credential = format!("far:{name}=env:KEY");
        let run = plans.run_with(&["p", "--credential", &credential], &[("KEY", "hush")]);
        assert_eq!(run.status, Some(0), "{run:?}");
        run.stdout
    };
    let replaced = given("x-tenant");
    let line = "given: x-tenant from env KEY (replaces what the package sets)\n";
    assert!(replaced.contains(line), "{replaced}");
    assert!(given("X-Other").contains("given: X-Other from env KEY\n"));
}

#[test]
fn credentials_that_are_missing_or_for_nobody_are_named() {
    let plans = Plans::new(&format!("{{{ALMANAC}}}"));
    let given = ["p", "--credential", "almanac:API_KEY=env:NOT_SET_ANYWHERE"];
    let plan = plans.plan(1, &given);
    let reason = plan["servers"][0]["reason"].as_str().expect("a reason");
    let start = "programs are not allowed; besides, the credential API_KEY: ";
    assert!(reason.starts_with(start), "{reason}");
    let text =
        "[[server]]\nplugin = \"tide-table\"\nserver = \"almanack\"\nenv.A = { value = \"x\" }\n";
    let file = plans.private_file("keys.toml", text);
    let file = file.to_str().expect("text");
    let run = plans.run(&["p", "--allow-stdio", "--credentials", file]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(
        run.stderr,
        "note: the credentials are for a server almanack that tide-table does not have\n"
    );
}

#[test]
fn credentials_of_the_other_kind_are_named() {
    let plans = Plans::new(&format!("{{{ALMANAC}, {TIDES}}}"));
    let origin = "origin = \"https://tides.example.com\"";
    let text = ["almanac", "tides"].map(|server| {
        format!(
            "[[server]]\nplugin = \"tide-table\"\nserver = \"{server}\"\n{origin}\n\
             headers.X-Key = {{ value = \"s3cret\" }}\nenv.API_KEY = {{ value = \"s3cret\" }}\n"
        )
    });
    let file = plans.private_file("keys.toml", &text.concat());
    let file = file.to_str().expect("text");
    let run = plans.run(&["p", "--allow-stdio", "--credentials", file]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert_eq!(
        run.stderr,
        "note: the credential headers.X-Key is not given to the server almanac of tide-table: it is \
         a header, and the server is started and takes variables (env.NAME)\n\
         note: the credential env.API_KEY is not given to the server tides of tide-table: it is a \
         variable, and the server is connected to and takes headers (headers.NAME)\n"
    );
    // The same name twice is no choice to be made in silence.
    let file = plans.private_file("keys.toml", &[text[0].as_str(); 2].concat());
    let run = plans.run(&["p", "--credentials", file.to_str().expect("text")]);
    assert_eq!(run.status, Some(2), "{run:?}");
    let told = "keys.toml:11: headers.X-Key of this server stands in line 5 already";
    assert!(run.stderr.contains(told), "{run:?}");
}
