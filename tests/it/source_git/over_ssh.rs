//! A real ssh server, and what stands in for ssh.

use apkit::source::git::{Error, Failure};

use super::origin::PACKAGE_PATHS;
use super::sshd::Sshd;
use super::world::{World, source};

#[test]
fn repositories_are_fetched_over_ssh() {
    let mut world = World::new();
    let origin = world.origin("it's a r!.git");
    let first = origin.package("main", "one");
    let second = origin.package("main", "two");
    let Some(server) = Sshd::start(&mut world) else {
        return;
    };
    let address = server.url(&origin.path).replace(' ', "%20");
    let got = world.fetch(&source(&address, "", "")).expect("a package");
    assert_eq!(
        (got.id(), got.paths()),
        (second.clone(), PACKAGE_PATHS.map(str::to_owned).to_vec())
    );
    assert_eq!(got.reference().as_deref(), Some("refs/heads/main"));
    let got = world.fetch(&source(&address, &first, "")).expect("an id");
    assert_eq!(got.read("skills/tides/SKILL.md"), b"one");
    let got = world.fetch(&source(&address, &first[..9], "packages/inner"));
    assert_eq!(got.expect("a short id").paths(), ["plugin.json"]);
    let (latest, _) = world
        .latest(&source(&address, "main", ""))
        .expect("an answer");
    assert_eq!(latest, second);
    // A host of the user's configuration, spelt as git users do.
    let alias = format!("tides:{}", origin.path.display());
    if let Ok(address) = apkit::source::git::Address::parse(&alias.replace(' ', "%20")) {
        // Such an address is not escaped, so the blanks are not there.
        let error = world.fetch(&source(&address.to_string(), "", ""));
        error.expect_err("no such repository");
    }
    let plain = world.origin("plain.git");
    plain.package("main", "one");
    let alias = format!("tides:{}", plain.path.display());
    world.fetch(&source(&alias, "", "")).expect("a package");
    assert_eq!(
        world
            .latest(&source(&alias, "", ""))
            .expect("an answer")
            .1
            .as_deref(),
        Some("refs/heads/main")
    );

    let missing = server.url(&world.path().join("repos/none.git"));
    let said = said(&world, &missing);
    assert!(
        said.contains("does not appear to be a git repository"),
        "{said}"
    );
}

#[test]
fn what_ssh_says_is_told() {
    let mut world = World::new();
    let origin = world.origin("r.git");
    origin.package("main", "one");
    let Some(server) = Sshd::start(&mut world) else {
        return;
    };
    let address = server.url(&origin.path);
    server.configure(&mut world, "stranger");
    let text = said(&world, &address);
    assert!(text.contains("Permission denied"), "{text}");
    assert!(text.contains("ssh-add -l"), "{text}");
    server.configure(&mut world, "user");
    server.forget_host();
    let text = said(&world, &address);
    assert!(text.contains("Host key verification failed"), "{text}");
    assert!(text.contains("connect once"), "{text}");
}

fn said(world: &World, address: &str) -> String {
    let error = world
        .fetch(&source(address, "", ""))
        .expect_err("ssh fails");
    assert!(
        matches!(error, Error::Connection(Failure::Ssh { .. })),
        "{error}"
    );
    error.to_string()
}

/// A stand-in for ssh that writes down its arguments and runs the command here.
#[cfg(unix)]
fn stand_in(world: &World, name: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = world.path().join("home").join(name);
    let text = "#!/bin/sh\nprintf '%s\\n' \"$@\" > ~/arguments\n\
                for last; do :; done\nexec sh -c \"$last\"\n";
    std::fs::write(&path, text).expect("a file");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("a mode");
    path
}

#[cfg(unix)]
#[test]
fn the_users_own_program_for_ssh_is_used() {
    let mut world = World::new();
    let origin = world.origin("r.git");
    origin.package("main", "one");
    let address = format!("ssh://me@host.example:2222{}", origin.path.display());
    let command = format!("git-upload-pack '{}'", origin.path.display());
    let path = world.environment.get("PATH").expect("a path").to_owned();
    let path = format!(
        "{}:{}",
        super::world::exec_path().display(),
        path.to_string_lossy()
    );
    world.set("PATH", path);
    let arguments = |world: &World| {
        world.fetch(&source(&address, "", "")).expect("a package");
        let text = std::fs::read_to_string(world.path().join("home/arguments"));
        text.expect("it ran")
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let open_ssh = [
        "-oBatchMode=yes",
        "-p",
        "2222",
        "--",
        "me@host.example",
        &command,
    ];
    let plink = ["-batch", "-P", "2222", "me@host.example", &command];

    world.set("GIT_SSH", stand_in(&world, "my-ssh"));
    assert_eq!(arguments(&world), open_ssh);
    world.set("GIT_SSH", stand_in(&world, "plink"));
    assert_eq!(arguments(&world), plink);
    // The configuration counts before that, and the variable for commands first.
    let configured = stand_in(&world, "con figured");
    world.home_file(
        ".gitconfig",
        &format!("[core]\n\tsshCommand = \"'{}' -v\"\n", configured.display()),
    );
    assert_eq!(arguments(&world)[..2], ["-v", "-oBatchMode=yes"]);
    let command = format!("'{}' -q", configured.display());
    world.set("GIT_SSH_COMMAND", command);
    assert_eq!(arguments(&world)[..2], ["-q", "-oBatchMode=yes"]);

    world.set("GIT_SSH_COMMAND", "/nowhere/ssh");
    let text = said(&world, &address);
    assert!(text.contains("/nowhere/ssh"), "{text}");
    let gone = |name: &str, world: &mut World| {
        world
            .environment
            .variables
            .remove(std::ffi::OsStr::new(name))
    };
    gone("GIT_SSH_COMMAND", &mut world);
    world.home_file(".gitconfig", "");
    world.set("GIT_SSH", "/nowhere/ssh");
    let error = world
        .fetch(&source(&address, "", ""))
        .expect_err("no program");
    assert!(
        matches!(error, Error::Connection(Failure::NoSsh { .. })),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_program_for_ssh_that_hangs_or_breaks_off_is_ended() {
    let mut world = World::new();
    let origin = world.origin("r.git");
    origin.package("main", "one");
    let address = format!("ssh://host.example{}", origin.path.display());
    world.set("GIT_HTTP_LOW_SPEED_TIME", "1");
    world.set("GIT_SSH_COMMAND", "exec sleep 60; :");
    let began = std::time::Instant::now();
    let error = world.fetch(&source(&address, "", "")).expect_err("silence");
    assert!(
        error.to_string().contains("nothing for 1 seconds"),
        "{error}"
    );
    assert!(began.elapsed() < std::time::Duration::from_secs(10));
    world.set("GIT_SSH_COMMAND", "echo once upon a time >&2; exit 3; :");
    assert!(said(&world, &address).contains("once upon a time"));
    world.set("GIT_SSH_COMMAND", "exit 0; :");
    assert!(said(&world, &address).contains("without a word"));
}

#[cfg(unix)]
#[test]
fn a_server_behind_ssh_that_does_not_read_is_not_waited_for() {
    let mut world = World::new();
    let list = world.path().join("home/list");
    std::fs::write(&list, super::daemon::list(5_000)).expect("a file");
    world.set("GIT_HTTP_LOW_SPEED_TIME", "1");
    let command = format!("cat '{}'; exec sleep 60; :", list.display());
    world.set("GIT_SSH_COMMAND", command);
    let source = source("ssh://host.example/r", "deadb", "");
    super::daemon::assert_ended(&mut world, &source);
}
