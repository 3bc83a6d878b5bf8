//! Archives behind an address, through the library.

use std::fs;

use apkit::archive::{EntryPath, Limits, Links, Refusal, Stage};
use apkit::net::ErrorKind;
use apkit::source::remote::{self, Error, RemoteArchive};
use apkit::source::{self, Environment, Fetched, Progress, Quiet, Request, Resolved, Source, Stop};
use tempfile::TempDir;
use url::Url;

use crate::source_npm::tarball;
use crate::web::{Proxy, Reply, Server};

fn fetch(
    address: &str,
    sub_path: Option<&str>,
    pinned: Option<&Resolved>,
    environment: &Environment,
) -> Result<(Fetched, TempDir), Error> {
    let place = TempDir::new().expect("a temporary directory");
    let directory = place.path().join("stage");
    let stage = Stage::new(&directory, Limits::default(), Links::Refuse).expect("a stage");
    let source = RemoteArchive {
        url: Url::parse(address).expect("an address"),
        sub_path: sub_path.map(|path| EntryPath::parse(path.as_bytes()).expect("a path")),
    };
    let request = Request {
        environment,
        progress: &Quiet,
        stop: &Stop::default(),
        pinned,
        permit: None,
    };
    let result = remote::fetch(&source, &request, stage);
    if !matches!(result, Ok(_) | Err(Error::Refused(_))) {
        let mut left = fs::read_dir(&directory).expect("the stage");
        assert!(left.next().is_none(), "nothing is unpacked");
    }
    Ok((result?, place))
}

fn paths(fetched: &Fetched) -> Vec<&str> {
    let entries = fetched.staged.tree.entries.keys();
    entries.map(EntryPath::as_str).collect()
}

#[test]
fn an_archive_is_fetched_and_pinned() {
    let one = tarball(&[
        ("repo-main/p/plugin.json", "{}"),
        ("repo-main/README.md", "x"),
    ]);
    let two = tarball(&[("repo-main/p/plugin.json", "{ }")]);
    let server = Server::new(move |asked| match asked.target.as_str() {
        "/one.tgz" => Reply::new(200, one.clone()),
        "/two.tgz" => Reply::new(200, two.clone()),
        "/go" => Reply::redirect(302, "/one.tgz"),
        "/page" => Reply::new(200, "<html>"),
        _ => Reply::new(404, ""),
    });
    let nobody = Environment::default();
    let get = |path: &str, sub_path, pinned| fetch(&server.url(path), sub_path, pinned, &nobody);
    let (first, _place) = get("/one.tgz", None, None).expect("a package");
    assert_eq!(paths(&first), ["README.md", "p/plugin.json"]);
    assert!(
        matches!(&first.resolved, Resolved::Archive { integrity } if integrity.starts_with("sha512-"))
    );

    let (below, _place) = get("/go", Some("p"), Some(&first.resolved)).expect("the same");
    assert_eq!(paths(&below), ["plugin.json"]);
    assert_eq!(below.resolved, first.resolved);

    let error = get("/two.tgz", None, Some(&first.resolved))
        .map(|_| ())
        .expect_err("another");
    assert!(matches!(error, Error::Replaced { .. }), "{error}");
    let error = get("/page", None, None)
        .map(|_| ())
        .expect_err("no archive");
    assert!(
        matches!(error, Error::Refused(Refusal::NotAnArchive)),
        "{error}"
    );
    let error = get("/none", None, None).map(|_| ()).expect_err("not there");
    assert_eq!(
        error.to_string(),
        format!(
            "failed to reach {}: the server answered with status 404",
            server.url("/none")
        )
    );
}

#[test]
fn passwords_in_an_address_are_sent_and_not_shown() {
    let server = Server::new(|_| Reply::new(403, ""));
    let address = format!("http://me:word@{}/x.tgz?key=word", server.authority());
    let error = fetch(&address, None, None, &Environment::default()).map(|_| ());
    let error = error.expect_err("refused").to_string();
    assert!(!error.contains("word"), "{error}");
    let asked = &server.asked()[0];
    assert_eq!(asked.target, "/x.tgz?key=word");
    assert_eq!(asked.header("authorization"), Some("Basic bWU6d29yZA=="));
}

#[test]
fn only_https_also_through_a_proxy() {
    let server = Server::new(|_| Reply::new(200, ""));
    let proxy = Proxy::to(&server, None);
    let mut environment = Environment::default();
    environment
        .variables
        .insert("ALL_PROXY".into(), proxy.url().into());
    let error = fetch("http://files.test/x.tgz", None, None, &environment).map(|_| ());
    assert!(
        matches!(&error, Err(Error::Net(error)) if matches!(error.kind, ErrorKind::Plain)),
        "{error:?}"
    );
    assert_eq!(proxy.asked().len(), 0);
}

/// Asks to stop as soon as something is waited for.
struct Stopping(Stop);

impl Progress for Stopping {
    fn advance(&self, _what: &'static str, _done: u64, _total: u64) {}

    fn begin(&self, _name: &str) {
        self.0.request();
    }
}

#[test]
fn who_wants_to_stop_is_told_just_that_of_every_source() {
    let server = Server::new(|_| Reply::new(404, ""));
    let place = TempDir::new().expect("a temporary directory");
    fs::write(
        place.path().join("x.tgz"),
        tarball(&[("plugin.json", "{}")]),
    )
    .expect("a file");
    let registry = format!("registry={}\n", server.url(""));
    fs::write(place.path().join(".npmrc"), registry).expect("a file");
    let environment = Environment {
        home: Some(place.path().to_owned()),
        directory: place.path().to_owned(),
        ..Environment::default()
    };
    for text in [
        "./x.tgz",
        "npm:a",
        &server.url("/x.tgz"),
        &format!("git+{}", server.url("/r.git")),
    ] {
        let source = Source::parse(text, &environment).expect("a source");
        let stop = Stop::default();
        let request = Request {
            environment: &environment,
            progress: &Stopping(stop.clone()),
            stop: &stop,
            pinned: None,
            permit: None,
        };
        let staging = TempDir::new().expect("a temporary directory");
        let error = source::fetch(&source, &request, &staging.path().join("stage"));
        let error = error.expect_err("stopped");
        assert!(
            matches!(error, source::Error::Interrupted),
            "{text}: {error}"
        );
        assert!(!error.is_unreachable());
        match source::latest(&source, &request) {
            Ok(None) => assert!(text.starts_with("http"), "{text}"),
            Err(source::Error::Interrupted) => {}
            other => panic!("{text}: {other:?}"),
        }
    }
}
