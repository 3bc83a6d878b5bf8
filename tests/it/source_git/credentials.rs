//! Who is told the user's credentials, and where they come from.

use std::sync::{Arc, Mutex};

use apkit::source::git::{Error, Failure};

use super::http::{Answer, Asked, HttpServer};
use super::world::{World, source};

/// `me` and `secret`, as basic authorization.
const MINE: &str = "Basic bWU6c2VjcmV0";

fn world_with_package() -> World {
    let world = World::new();
    world.origin("r.git").package("main", "one");
    world
}

fn guarded(asked: &Asked) -> Answer {
    if asked.header("authorization") == Some(MINE) {
        return Answer::Git;
    }
    let challenge = "Basic realm=\"here\"".to_owned();
    Answer::Status(401, vec![("www-authenticate", challenge)], "")
}

fn server(world: &World) -> HttpServer {
    HttpServer::start(&world.path().join("repos"), guarded)
}

fn connection(error: Error) -> Failure {
    match error {
        Error::Connection(failure) => failure,
        other => panic!("{other}"),
    }
}

#[test]
fn a_helper_that_the_user_configured_is_asked() {
    let world = world_with_package();
    let server = server(&world);
    // It writes down what it was asked, and that there was no terminal to use.
    world.home_file(
        ".gitconfig",
        "[credential]\n\thelper = \"!f() { test \\\"$1\\\" = get && cat > ~/asked && \
         echo username=me && echo password=secret; }; f\"\n\tuseHttpPath = true\n",
    );
    world
        .fetch(&source(&server.url("r.git"), "", ""))
        .expect("a package");
    let asked = std::fs::read_to_string(world.path().join("home/asked")).expect("a question");
    assert!(asked.contains("protocol=http\n"), "{asked}");
    let host = format!("host=127.0.0.1:{}\n", server.port);
    assert!(asked.contains(&host), "{asked}");
    assert!(asked.contains("path=r.git\n"), "{asked}");
    // The first question of a server is asked without.
    let sent: Vec<_> = server.asked();
    assert_eq!(sent[0].header("authorization"), None);
    assert!(
        sent[1..]
            .iter()
            .all(|asked| asked.header("authorization") == Some(MINE))
    );
}

#[test]
fn a_netrc_is_read_and_insteadof_may_hold_a_password() {
    let world = world_with_package();
    let server = server(&world);
    let address = source(&server.url("r.git"), "", "");
    world.home_file(".netrc", "machine 127.0.0.1 login me password secret\n");
    world.fetch(&address).expect("a package");
    std::fs::remove_file(world.path().join("home/.netrc")).expect("a file");
    let base = format!("http://me:secret@127.0.0.1:{}/", server.port);
    world.home_file(
        ".gitconfig",
        &format!("[url \"{base}\"]\n\tinsteadOf = https://code.example/\n"),
    );
    let elsewhere = source("https://code.example/r.git", "", "");
    let got = world.fetch(&elsewhere).expect("a package");
    assert_eq!(got.reference().as_deref(), Some("refs/heads/main"));
}

#[test]
fn nothing_is_asked_of_the_user() {
    let mut world = world_with_package();
    let server = server(&world);
    // Programs that would ask, in every way git knows.
    let asker = world.path().join("home/asker");
    std::fs::write(&asker, "#!/bin/sh\ntouch ~/was-asked\necho x\n").expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&asker, mode).expect("a mode");
    }
    for name in ["GIT_ASKPASS", "SSH_ASKPASS"] {
        world.set(name, &asker);
    }
    world.set("DISPLAY", ":0");
    world.home_file(
        ".gitconfig",
        &format!("[core]\n\taskPass = {}\n", asker.display()),
    );
    let error = world.fetch(&source(&server.url("r.git"), "", ""));
    let error = error.expect_err("no credentials");
    assert!(
        error.to_string().contains("asks for credentials"),
        "{error}"
    );
    let failure = connection(error);
    assert!(matches!(failure, Failure::CredentialsMissing { .. }));
    assert!(!world.path().join("home/was-asked").exists());

    // Without git there is nobody to ask.
    world.set("PATH", world.path().join("beside"));
    let error = world.fetch(&source(&server.url("r.git"), "", ""));
    let failure = connection(error.expect_err("no credentials"));
    assert!(matches!(failure, Failure::CredentialsMissing { .. }));
}

#[test]
fn wrong_credentials_are_told_with_where_they_come_from() {
    let world = world_with_package();
    let server = server(&world);
    world.home_file(".netrc", "machine 127.0.0.1 login me password wrong\n");
    let error = world.fetch(&source(&server.url("r.git"), "", ""));
    let said = error.expect_err("refused").to_string();
    assert!(
        said.contains("does not accept the credentials that .netrc has"),
        "{said}"
    );
    assert!(!said.contains("wrong"), "{said}");
}

#[test]
fn the_repository_around_has_no_say() {
    let world = world_with_package();
    let server = server(&world);
    // The working directory is a repository with a helper of its own.
    let project = world.origin("project");
    let helper = "!echo username=me; echo password=secret; touch ran";
    project.git(&["config", "credential.helper", helper], b"");
    let mut inside = World::new();
    inside.environment.directory.clone_from(&project.path);
    let error = inside.fetch(&source(&server.url("r.git"), "", ""));
    error.expect_err("no credentials");
    assert!(!project.path.join("ran").exists());
}

#[test]
fn credentials_stay_with_whom_they_were_meant_for() {
    let world = world_with_package();
    world.home_file(".netrc", "machine 127.0.0.1 login me password secret\n");
    // Both are on 127.0.0.1: the port alone makes another origin.
    let there = HttpServer::plain(&world.path().join("repos"));
    let target = there.url("r.git/info/refs?service=git-upload-pack");
    let passed = Arc::new(Mutex::new(0));
    let count = Arc::clone(&passed);
    let here = HttpServer::start(&world.path().join("repos"), move |asked| {
        match guarded(asked) {
            Answer::Git => {
                *count.lock().expect("no panic") += 1;
                Answer::Status(302, vec![("location", target.clone())], "")
            }
            refusal => refusal,
        }
    });
    world
        .fetch(&source(&here.url("r.git"), "", ""))
        .expect("a package");
    assert_eq!(*passed.lock().expect("no panic"), 1);
    let asked = there.asked();
    assert!(asked.len() >= 2);
    assert!(
        asked
            .iter()
            .all(|asked| asked.header("authorization").is_none())
    );

    // Who asks for some after a redirect gets none, and the user is told.
    let greedy = server(&world);
    let target = greedy.url("r.git/info/refs?service=git-upload-pack");
    let to = target.clone();
    let here = HttpServer::start(&world.path().join("repos"), move |_| {
        Answer::Status(302, vec![("location", to.clone())], "")
    });
    let error = world.fetch(&source(&here.url("r.git"), "", ""));
    let error = error.expect_err("no credentials");
    let said = error.to_string();
    let failure = connection(error);
    assert!(
        matches!(failure, Failure::CredentialsElsewhere { .. }),
        "{said}"
    );
    assert!(said.contains(&greedy.port.to_string()), "{said}");
    assert!(
        greedy
            .asked()
            .iter()
            .all(|asked| asked.header("authorization").is_none())
    );
}

#[test]
fn credentials_that_a_server_sends_back_are_not_shown() {
    let world = world_with_package();
    world.home_file(".netrc", "machine 127.0.0.1 login me password secret\n");
    let echo = "you sent Basic bWU6c2VjcmV0, which is me:secret\n";
    for status in [403, 404, 500] {
        let server = HttpServer::start(&world.path().join("repos"), move |asked| {
            if asked.header("authorization") == Some(MINE) {
                return Answer::Status(status, Vec::new(), echo);
            }
            let challenge = "Basic realm=\"here\"".to_owned();
            Answer::Status(401, vec![("www-authenticate", challenge)], "")
        });
        let error = world.fetch(&source(&server.url("r.git"), "", ""));
        let said = error.expect_err("refused").to_string();
        assert!(said.contains("you sent …, which is …"), "{said}");
    }
    // As git says it.
    let server = HttpServer::start(&world.path().join("repos"), |asked| {
        match asked.header("authorization") {
            Some(MINE) => Answer::Changed(|_| {
                let line = "# service=git-upload-pack\n";
                let told = "ERR you sent bWU6c2VjcmV0: secret\n";
                let text = format!(
                    "{:04x}{line}0000{:04x}{told}",
                    line.len() + 4,
                    told.len() + 4
                );
                text.into_bytes()
            }),
            _ => guarded(asked),
        }
    });
    let error = world.fetch(&source(&server.url("r.git"), "", ""));
    let said = error.expect_err("refused").to_string();
    assert!(said.contains("you sent …: …"), "{said}");
}

#[test]
fn credentials_in_the_address_of_a_redirect_are_not_shown() {
    let world = World::new();
    world.origin("secret/r.git").package("main", "one");
    world.home_file(".netrc", "machine 127.0.0.1 login me password secret\n");
    fn kind(kind: &str) -> Answer {
        let kind = vec![("content-type", kind.to_owned())];
        Answer::Status(200, kind, "0000")
    }
    let none = || Answer::Status(404, Vec::new(), "");
    let on = || Answer::Status(302, vec![("location", "/secret/x".to_owned())], "");
    let listed = "secret/r.git/info/refs?service=git-upload-pack";
    type Case = (&'static str, &'static str, fn() -> Answer, &'static str);
    let cases: [Case; 8] = [
        (listed, "GET", none, "/…/r.git,"),
        (listed, "GET", || kind("text/html"), "/…/r.git answers"),
        (listed, "GET", || Answer::Cut(3), "/…/r.git/info/refs"),
        (
            "secret/HEAD",
            "GET",
            || kind("application/x-git-upload-pack-advertisement"),
            "redirects to http://127.0.0.1:PORT/…/HEAD,",
        ),
        // What is asked next is sent no credentials and holds them all the same.
        (listed, "POST", none, "/…/r.git/git-upload-pack,"),
        (
            listed,
            "POST",
            on,
            "redirects to http://127.0.0.1:PORT/…/x,",
        ),
        (
            listed,
            "POST",
            || Answer::Cut(3),
            "/…/r.git/git-upload-pack",
        ),
        (
            listed,
            "POST",
            || kind("text/secret"),
            "answers with text/…,",
        ),
    ];
    for (to, method, answer, wanted) in cases {
        let there = HttpServer::start(&world.path().join("repos"), move |asked| {
            let is_meant = asked.method == method;
            is_meant.then(answer).unwrap_or(Answer::Git)
        });
        let target = there.url(to);
        let here = HttpServer::start(&world.path().join("repos"), move |asked| {
            match guarded(asked) {
                Answer::Git => Answer::Status(302, vec![("location", target.clone())], ""),
                refusal => refusal,
            }
        });
        let error = world.fetch(&source(&here.url("r.git"), "", ""));
        let said = error.expect_err("a failure").to_string();
        let said = said.replace(&there.port.to_string(), "PORT");
        assert!(said.contains(wanted), "{wanted}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn half_of_a_secret_is_not_shown_where_a_text_is_cut() {
    let world = world_with_package();
    world.home_file(".netrc", "machine 127.0.0.1 login me password secret\n");
    // What is read of a refusal ends in the middle of these.
    for (lines, end, wanted) in [
        (509, "bWU6c2VjcmV0", "a; a; a; …"),
        (504, "at http://you:word@host/", "a; a; a; at …"),
    ] {
        let text: &str = format!("{}{end}\n", "a\n".repeat(lines)).leak();
        let server = HttpServer::start(&world.path().join("repos"), move |asked| {
            match asked.header("authorization") {
                Some(MINE) => Answer::Status(403, Vec::new(), text),
                _ => guarded(asked),
            }
        });
        let error = world.fetch(&source(&server.url("r.git"), "", ""));
        let said = error.expect_err("refused").to_string();
        assert!(said.ends_with(wanted), "{said}");
    }
    // The connection ends in the middle of these.
    for (text, wanted) in [
        ("no good: bWU6c2VjcmV", ": no good: …"),
        ("no good: secre", ": no good: …"),
        ("not at http://you:wor", ": not at …"),
    ] {
        let server = HttpServer::start(&world.path().join("repos"), move |asked| {
            match asked.header("authorization") {
                Some(MINE) => Answer::Begun(403, text),
                _ => guarded(asked),
            }
        });
        let error = world.fetch(&source(&server.url("r.git"), "", ""));
        let said = error.expect_err("refused").to_string();
        assert!(said.ends_with(wanted), "{said}");
    }
    // What is told of it ends in the middle of this.
    let text: &str = format!("{} http://you:word@host/\n", "a".repeat(380)).leak();
    let server = HttpServer::start(&world.path().join("repos"), move |_| {
        Answer::Status(403, Vec::new(), text)
    });
    let error = world.fetch(&source(&server.url("r.git"), "", ""));
    let said = error.expect_err("refused").to_string();
    assert!(said.ends_with("aaa …"), "{said}");
}
