//! Packages of a small registry on loopback, through the library.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use apkit::archive::{EntryPath, Limits, Links, Stage};
use apkit::net::{ErrorKind, Waiting};
use apkit::source::npm::{self, ConfigError, Error, Hint, NpmSource, PackageName};
use apkit::source::{Environment, Fetched, Progress, Quiet, Request, Resolved, Stop};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::support::Place;
use crate::web::{AUTHORITY, Asked, Delivery, Proxy, Reply, Server};

/// A tarball as npm packs them, of files by their path.
pub(crate) fn tarball(files: &[(&str, &str)]) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(499_162_500);
        archive
            .append_data(&mut header, path, content.as_bytes())
            .expect("memory");
    }
    archive
        .into_inner()
        .and_then(|gzip| gzip.finish())
        .expect("memory")
}

fn skill_package(text: &str) -> Vec<u8> {
    tarball(&[
        ("package/package.json", "{}"),
        ("package/plugin.json", text),
        (
            "package/skills/a/SKILL.md",
            "---\nname: a\ndescription: d\n---\n",
        ),
    ])
}

fn sha512(bytes: &[u8]) -> String {
    format!("sha512-{}", STANDARD.encode(sha2::Sha512::digest(bytes)))
}

/// Metadata of versions with the `dist` given.
fn packument(latest: &str, versions: &[(&str, Value)]) -> Value {
    let versions: serde_json::Map<String, Value> = versions
        .iter()
        .map(|(version, dist)| {
            (
                (*version).to_owned(),
                json!({ "version": version, "dist": dist }),
            )
        })
        .collect();
    json!({ "name": "a", "dist-tags": { "latest": latest }, "versions": versions })
}

/// Answers by path; what is not there is not found.
type Shelf = Arc<Mutex<BTreeMap<String, Reply>>>;

/// A registry whose shelf can be filled once its address is known.
struct Registry {
    server: Server,
    shelf: Shelf,
}

impl Registry {
    fn on(start: impl FnOnce(Box<dyn Fn(&Asked) -> Reply + Send + Sync>) -> Server) -> Self {
        let shelf = Shelf::default();
        let held = Arc::clone(&shelf);
        let server = start(Box::new(move |asked: &Asked| {
            let shelf = held.lock().expect("the shelf");
            let found = shelf.get(&asked.target).cloned();
            found.unwrap_or_else(|| Reply::json(404, &json!({ "error": "Not found" })))
        }));
        Self { server, shelf }
    }

    fn new() -> Self {
        Self::on(Server::new)
    }

    fn put(&self, target: &str, reply: Reply) {
        let mut shelf = self.shelf.lock().expect("the shelf");
        shelf.insert(target.to_owned(), reply);
    }

    /// Puts one version of a package on the shelf, with its tarball.
    fn publish(&self, name: &str, version: &str, bytes: &[u8]) {
        let path = format!("/{name}/-/{version}.tgz");
        let dist = json!({ "tarball": self.server.url(&path), "integrity": sha512(bytes) });
        self.put(&path, Reply::new(200, bytes));
        let metadata = packument(version, &[(version, dist)]);
        self.put(
            &format!("/{}", name.replace('/', "%2f")),
            Reply::json(200, &metadata),
        );
    }

    /// Puts the package `a` 1.0.0 on the shelf with a `dist` of its own.
    fn put_dist(&self, dist: Value) {
        self.put(
            "/a",
            Reply::json(200, &packument("1.0.0", &[("1.0.0", dist)])),
        );
    }
}

/// A user on a machine of their own.
struct User {
    place: Place,
    environment: Environment,
    count: std::cell::Cell<u32>,
}

impl User {
    /// Somebody without any configuration but quick patience.
    fn new() -> Self {
        let place = Place::new();
        for directory in ["home", "work"] {
            fs::create_dir(place.path().join(directory)).expect("a directory");
        }
        let mut user = Self {
            environment: Environment {
                home: Some(place.path().join("home")),
                directory: place.path().join("work"),
                ..Environment::default()
            },
            place,
            count: std::cell::Cell::new(0),
        };
        user.set("npm_config_fetch_retry_mintimeout", "1");
        user.set("npm_config_fetch_timeout", "20000");
        user
    }

    /// Somebody whose `.npmrc` names a registry.
    fn of(registry: &Registry) -> Self {
        let user = Self::new();
        user.npmrc(&format!("registry={}\n", registry.server.url("/")));
        user
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.variables.insert(name.into(), value.into());
    }

    fn npmrc(&self, text: &str) -> PathBuf {
        self.place.write("home/.npmrc", text)
    }

    fn stage(&self) -> PathBuf {
        self.count.set(self.count.get() + 1);
        self.place.path().join(format!("stage{}", self.count.get()))
    }

    fn run(&self, source: &NpmSource, pinned: Option<&Resolved>) -> Result<Fetched, Error> {
        let stop = Stop::default();
        self.run_until(source, pinned, &Quiet, &stop)
    }

    fn run_until(
        &self,
        source: &NpmSource,
        pinned: Option<&Resolved>,
        progress: &dyn Progress,
        stop: &Stop,
    ) -> Result<Fetched, Error> {
        let request = Request {
            environment: &self.environment,
            progress,
            stop,
            pinned,
            permit: None,
        };
        let directory = self.stage();
        let stage = Stage::new(&directory, Limits::default(), Links::Refuse).expect("a stage");
        let result = npm::fetch(source, &request, stage);
        if !matches!(result, Ok(_) | Err(Error::Refused(_))) {
            let left: Vec<_> = fs::read_dir(&directory).expect("the stage").collect();
            assert!(left.is_empty(), "nothing is unpacked: {left:?}");
        }
        result
    }

    fn fetch(&self, spelled: &str) -> Result<Fetched, Error> {
        self.run(&source(spelled), None)
    }

    fn latest(&self, spelled: &str, pinned: Option<&Resolved>) -> Result<Resolved, Error> {
        let request = Request {
            environment: &self.environment,
            progress: &Quiet,
            stop: &Stop::default(),
            pinned,
            permit: None,
        };
        npm::latest(&source(spelled), &request)
    }
}

/// `NAME`, `NAME@WANTED`, `NAME?SUBPATH`.
fn source(spelled: &str) -> NpmSource {
    let (spelled, sub_path) = match spelled.split_once('?') {
        Some((spelled, path)) => (
            spelled,
            Some(EntryPath::parse(path.as_bytes()).expect("a path")),
        ),
        None => (spelled, None),
    };
    let at = spelled[1..].find('@').map(|at| at + 1);
    let (name, wanted) = match at {
        Some(at) => (&spelled[..at], Some(spelled[at + 1..].to_owned())),
        None => (spelled, None),
    };
    NpmSource {
        name: PackageName::parse(name).expect("a name"),
        wanted,
        sub_path,
    }
}

fn paths(fetched: &Fetched) -> Vec<&str> {
    fetched
        .staged
        .tree
        .entries
        .keys()
        .map(EntryPath::as_str)
        .collect()
}

fn version(resolved: &Resolved) -> &str {
    match resolved {
        Resolved::Version { version, .. } => version,
        other => panic!("{other:?}"),
    }
}

fn refused(result: Result<Fetched, Error>) -> Error {
    result.map(|_| ()).expect_err("that should have failed")
}

fn net_kind(error: Error) -> (ErrorKind, Hint) {
    match error {
        Error::Net { error, hint } => (error.kind, hint),
        other => panic!("{other}"),
    }
}

#[test]
fn a_package_is_fetched_by_version_range_and_tag() {
    let registry = Registry::new();
    let mut versions = Vec::new();
    for version in ["1.0.0", "1.1.0", "2.0.0-rc.1"] {
        let bytes = skill_package(version);
        let path = format!("/files/{version}.tgz");
        versions.push((
            version,
            json!({ "tarball": registry.server.url(&path), "integrity": sha512(&bytes) }),
        ));
        registry.put(&path, Reply::new(200, bytes));
    }
    let mut metadata = packument("1.1.0", &versions);
    metadata["dist-tags"]["next"] = json!("2.0.0-rc.1");
    registry.put("/a", Reply::json(200, &metadata).gzip());
    let user = User::of(&registry);
    for (spelled, expected) in [
        ("a", "1.1.0"),
        ("a@latest", "1.1.0"),
        ("a@^1.0.0", "1.1.0"),
        ("a@~1.0", "1.0.0"),
        ("a@1.0.0", "1.0.0"),
        ("a@next", "2.0.0-rc.1"),
    ] {
        let fetched = user.fetch(spelled).expect(spelled);
        let bytes = skill_package(expected);
        assert_eq!(
            fetched.resolved,
            Resolved::Version {
                version: expected.to_owned(),
                integrity: sha512(&bytes),
                tarball: registry.server.url(&format!("/files/{expected}.tgz")),
            }
        );
        // The prefix of the tarball is gone, and nothing else is there.
        assert_eq!(
            paths(&fetched),
            ["package.json", "plugin.json", "skills/a/SKILL.md"]
        );
        let manifest = fs::read_to_string(fetched.staged.directory.join("plugin.json"));
        assert_eq!(manifest.expect("a file"), expected);
        assert_eq!(user.latest(spelled, None).expect(spelled), fetched.resolved);
    }
    let asked = &registry.server.asked()[0];
    assert!(
        asked
            .header("accept")
            .is_some_and(|accept| accept.contains("npm.install-v1+json"))
    );
    assert_eq!(asked.header("accept-encoding"), Some("gzip"));
    assert_eq!(
        registry.server.asked()[1].header("accept-encoding"),
        Some("identity")
    );

    let error = refused(user.fetch("a@^3"));
    assert_eq!(
        error.to_string(),
        "no version of a is \"^3\"; there are 2.0.0-rc.1, 1.1.0, 1.0.0 and the tags latest, next"
    );
}

#[test]
fn a_package_may_lie_deeper_or_under_another_name() {
    let registry = Registry::new();
    registry.publish(
        "deep",
        "1.0.0",
        &tarball(&[
            ("package/README.md", "x"),
            ("package/plugin/plugin.json", "{}"),
        ]),
    );
    registry.publish(
        "other",
        "1.0.0",
        &tarball(&[("other-1.0.0/plugin.json", "{}")]),
    );
    let user = User::of(&registry);
    assert_eq!(
        paths(&user.fetch("deep?plugin").expect("a package")),
        ["plugin.json"]
    );
    assert_eq!(
        paths(&user.fetch("other").expect("a package")),
        ["plugin.json"]
    );
    let error = refused(user.fetch("deep?none"));
    assert!(matches!(error, Error::Refused(_)), "{error}");
}

#[test]
fn what_is_refused_in_an_archive_is_refused_here() {
    let registry = Registry::new();
    registry.publish("a", "1.0.0", &{
        let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(gzip);
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        header.set_path("package/link").expect("a path");
        header.set_link_name("/etc/passwd").expect("a name");
        header.set_cksum();
        archive.append(&header, std::io::empty()).expect("memory");
        archive
            .into_inner()
            .and_then(|gzip| gzip.finish())
            .expect("memory")
    });
    registry.publish("no-archive", "1.0.0", b"<html>");
    let user = User::of(&registry);
    for name in ["a", "no-archive"] {
        let error = refused(user.fetch(name));
        assert!(matches!(error, Error::Refused(_)), "{name}: {error}");
    }
}

#[test]
fn what_is_pinned_is_what_comes() {
    let registry = Registry::new();
    registry.publish("a", "1.0.0", &skill_package("one"));
    let user = User::of(&registry);
    let first = user.fetch("a").expect("a package").resolved;

    // A newer version changes nothing.
    let (one, two) = (skill_package("one"), skill_package("two"));
    let dist = |path: &str, bytes: &[u8]| json!({ "tarball": registry.server.url(path), "integrity": sha512(bytes) });
    let one_dist = dist("/a/-/1.0.0.tgz", &one);
    let two_dist = dist("/a/-/2.0.0.tgz", &two);
    registry.put("/a/-/2.0.0.tgz", Reply::new(200, two.clone()));
    registry.put(
        "/a",
        Reply::json(
            200,
            &packument("2.0.0", &[("1.0.0", one_dist), ("2.0.0", two_dist.clone())]),
        ),
    );
    let again = user.run(&source("a"), Some(&first)).expect("a package");
    assert_eq!(again.resolved, first);
    assert_eq!(
        version(&user.fetch("a").expect("a package").resolved),
        "2.0.0"
    );
    assert_eq!(
        version(&user.latest("a", Some(&first)).expect("a version")),
        "2.0.0"
    );

    // The same version with other content, openly: nothing is even fetched.
    registry.put(
        "/a",
        Reply::json(
            200,
            &packument("1.0.0", &[("1.0.0", dist("/a/-/2.0.0.tgz", &two))]),
        ),
    );
    let count = registry.server.asked().len();
    let error = refused(user.run(&source("a"), Some(&first)));
    assert!(
        matches!(&error, Error::Replaced { found, .. } if *found == sha512(&two)),
        "{error}"
    );
    assert_eq!(registry.server.asked().len(), count + 1);

    // The same, behind a digest of another kind.
    let weak = json!({ "tarball": registry.server.url("/a/-/2.0.0.tgz"), "integrity":
        format!("sha256-{}", STANDARD.encode(sha2::Sha256::digest(&two))) });
    registry.put_dist(weak);
    let error = refused(user.run(&source("a"), Some(&first)));
    assert!(
        matches!(&error, Error::Replaced { found, .. } if *found == sha512(&two)),
        "{error}"
    );

    // The metadata as before, and other content behind it.
    registry.publish("a", "1.0.0", &one);
    registry.put("/a/-/1.0.0.tgz", Reply::new(200, two));
    let error = refused(user.run(&source("a"), Some(&first)));
    assert!(matches!(error, Error::Integrity { .. }), "{error}");

    // Gone.
    registry.put(
        "/a",
        Reply::json(200, &packument("2.0.0", &[("2.0.0", two_dist)])),
    );
    let error = refused(user.run(&source("a"), Some(&first)));
    assert!(
        matches!(&error, Error::Unpublished { version, .. } if version == "1.0.0"),
        "{error}"
    );
}

#[test]
fn the_strongest_digest_is_checked_before_anything_is_unpacked() {
    let bytes = skill_package("x");
    let hex: String = sha1::Sha1::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let sha1 = format!("sha1-{}", STANDARD.encode(sha1::Sha1::digest(&bytes)));
    let sha384 = format!("sha384-{}", STANDARD.encode(sha2::Sha384::digest(&bytes)));
    let wrong = sha512(b"something else");
    let registry = Registry::new();
    registry.put("/x.tgz", Reply::new(200, bytes.clone()));
    let user = User::of(&registry);
    let tarball = registry.server.url("/x.tgz");
    for (dist, good) in [
        (json!({ "integrity": sha512(&bytes) }), true),
        (
            json!({ "integrity": format!("{sha1} {sha384} {}", sha512(&bytes)) }),
            true,
        ),
        (
            json!({ "integrity": format!("{wrong} {}", sha512(&bytes)) }),
            true,
        ),
        (json!({ "integrity": sha384 }), true),
        // The strongest is wrong, whatever the others say.
        (
            json!({ "integrity": format!("{sha384} {wrong}"), "shasum": hex }),
            false,
        ),
        (json!({ "integrity": wrong, "shasum": hex }), false),
        // Old packages have nothing better.
        (json!({ "shasum": hex }), true),
        (json!({ "integrity": "md5-AAAA", "shasum": hex }), true),
        // What is weaker does not stand in for it.
        (json!({ "integrity": "sha512-AAAA", "shasum": hex }), false),
        (json!({ "shasum": "0".repeat(40) }), false),
    ] {
        let mut whole = dist.clone();
        whole["tarball"] = json!(tarball);
        registry.put_dist(whole);
        match user.fetch("a") {
            // Whatever was checked, the strongest is pinned.
            Ok(fetched) => {
                assert!(good, "{dist}");
                let Resolved::Version { integrity, .. } = &fetched.resolved else {
                    panic!("{dist}");
                };
                assert_eq!(*integrity, sha512(&bytes), "{dist}");
                // And holds from then on, also where the metadata has less.
                let pinned = user
                    .run(&source("a"), Some(&fetched.resolved))
                    .expect("the same");
                assert_eq!(pinned.resolved, fetched.resolved);
                let latest = user
                    .latest("a", Some(&fetched.resolved))
                    .expect("a version");
                assert_eq!(latest, fetched.resolved, "{dist}");
            }
            Err(Error::Integrity { .. } | Error::NoDigest { .. }) => assert!(!good, "{dist}"),
            Err(error) => panic!("{dist}: {error}"),
        }
    }
    registry.put_dist(json!({ "tarball": tarball }));
    let error = refused(user.fetch("a"));
    assert!(
        matches!(&error, Error::NoIntegrity { address, .. } if *address == tarball),
        "{error}"
    );
    registry.put_dist(json!({ "integrity": wrong }));
    let error = refused(user.fetch("a"));
    assert!(matches!(error, Error::NoTarball { .. }), "{error}");
}

#[test]
fn a_transfer_that_breaks_off_is_tried_again_from_the_start() {
    let bytes = skill_package("x");
    let breaks = Arc::new(Mutex::new(2));
    let (whole, left) = (bytes.clone(), Arc::clone(&breaks));
    let files = Server::new(move |_| {
        let mut left = left.lock().expect("the count");
        let reply = Reply::new(200, whole.clone());
        if *left == 0 {
            return reply;
        }
        *left -= 1;
        reply.delivery(Delivery::CutAfter(100))
    });
    let registry = Registry::new();
    registry.put_dist(json!({ "tarball": files.url("/x.tgz"), "integrity": sha512(&bytes) }));
    let user = User::of(&registry);
    assert_eq!(paths(&user.fetch("a").expect("a package")).len(), 3);
    assert_eq!(files.asked().len(), 3);
    // Two more tries are made, not any number.
    *breaks.lock().expect("the count") = 9;
    let (kind, _) = net_kind(refused(user.fetch("a")));
    assert!(matches!(kind, ErrorKind::Cut { received: 100 }), "{kind}");
    assert_eq!(files.asked().len(), 6);
}

#[test]
fn a_slow_registry_has_an_end_and_the_user_too() {
    let registry = Registry::new();
    let mut user = User::of(&registry);
    let bytes = skill_package("x");
    registry.publish("a", "1.0.0", &bytes);
    registry.put(
        "/a/-/1.0.0.tgz",
        Reply::new(200, bytes).delivery(Delivery::StallAfter(50)),
    );
    // Ctrl-C while something is awaited.
    let stop = Stop::default();
    struct Stopping(Stop);
    impl Progress for Stopping {
        fn advance(&self, what: &'static str, done: u64, total: u64) {
            assert_eq!((what, done), ("bytes", 50));
            assert!(total > 50);
            self.0.request();
        }
    }
    let started = Instant::now();
    let error = refused(user.run_until(&source("a"), None, &Stopping(stop.clone()), &stop));
    assert!(matches!(net_kind(error).0, ErrorKind::Stopped));
    assert!(started.elapsed() < Duration::from_secs(5));

    user.set("npm_config_fetch_timeout", "150");
    user.set("npm_config_fetch_retries", "0");
    let error = refused(user.fetch("a"));
    assert!(error.to_string().contains("fetch-timeout"), "{error}");
    let (kind, hint) = net_kind(error);
    assert!(
        matches!(
            kind,
            ErrorKind::Timeout {
                waiting: Waiting::Body,
                ..
            }
        ),
        "{kind}"
    );
    assert_eq!(hint, Hint::Slow);
    registry.put(
        "/a",
        Reply::json(200, &json!({})).delivery(Delivery::StallAfter(1)),
    );
    let (kind, _) = net_kind(refused(user.fetch("a")));
    assert!(matches!(kind, ErrorKind::Timeout { .. }), "{kind}");
}

#[test]
fn metadata_is_metadata_and_not_endless() {
    let registry = Registry::new();
    let user = User::of(&registry);
    for text in ["<html>", "7", "{\"versions\": 7}", ""] {
        registry.put("/a", Reply::new(200, text));
        let error = refused(user.fetch("a"));
        assert!(matches!(error, Error::Metadata { .. }), "{text}: {error}");
    }
    registry.put("/a", Reply::new(200, "{}"));
    let error = refused(user.fetch("a"));
    assert!(
        error.to_string().ends_with("it has no version at all"),
        "{error}"
    );
    registry.put(
        "/a",
        Reply::new(200, "{").header("content-length", "999999999"),
    );
    let (kind, _) = net_kind(refused(user.fetch("a")));
    assert!(matches!(kind, ErrorKind::TooLarge { .. }), "{kind}");
    // A tarball larger than what it may unpack to.
    let bytes = skill_package("x");
    registry.publish("a", "1.0.0", &bytes);
    registry.put(
        "/a/-/1.0.0.tgz",
        Reply::new(200, bytes).header("content-length", "999999999"),
    );
    let (kind, _) = net_kind(refused(user.fetch("a")));
    assert!(matches!(kind, ErrorKind::TooLarge { .. }), "{kind}");
}

#[test]
fn refusals_say_what_may_be_missing() {
    let registry = Registry::new();
    let server = &registry.server;
    let mut user = User::of(&registry);
    user.set("npm_config_fetch_retries", "1");
    let key = format!("//{}/", server.authority());

    let error = refused(user.fetch("@team/a"));
    assert_eq!(
        error.to_string(),
        format!(
            "{} has no package @team/a; if it is private, log in: `npm login`, or {key}:_authToken in your .npmrc",
            server.url("/")
        )
    );
    assert_eq!(server.targets(), ["/@team%2fa"]);

    let login = Hint::Login { key: key.clone() };
    for (status, hint) in [(401, login.clone()), (403, login)] {
        registry.put(
            "/a",
            Reply::json(status, &json!({ "error": "who are you" })),
        );
        match refused(user.fetch("a")) {
            Error::Denied {
                code,
                reason,
                hint: given,
                ..
            } => {
                assert_eq!(
                    (code, reason.as_deref(), given),
                    (status, Some("who are you"), hint)
                );
            }
            other => panic!("{other}"),
        }
    }
    // Somebody else's credentials, and some that are not there.
    user.npmrc(&format!(
        "registry={}\n{key}:_authToken=t0ken\n",
        server.url("/")
    ));
    let error = refused(user.fetch("a"));
    assert!(
        matches!(
            &error,
            Error::Denied {
                hint: Hint::OtherLogin,
                ..
            }
        ),
        "{error}"
    );
    assert!(!error.to_string().contains("t0ken"));
    user.npmrc(&format!(
        "registry={}\n{key}:_authToken=${{NPM_TOKEN}}\n",
        server.url("/")
    ));
    let error = refused(user.fetch("a"));
    assert!(
        error
            .to_string()
            .contains("the variable NPM_TOKEN, which is not set"),
        "{error}"
    );
    assert_eq!(
        server
            .asked()
            .last()
            .and_then(|asked| asked.header("authorization")),
        None
    );

    // What may pass is tried again, once here; what will not is not.
    for (status, tries) in [(429, 2), (500, 2), (503, 2), (404, 1), (400, 1)] {
        registry.put("/a", Reply::new(status, ""));
        let count = server.asked().len();
        let error = refused(user.fetch("a"));
        assert_eq!(server.asked().len() - count, tries, "{status}: {error}");
        if tries == 2 {
            assert_eq!(net_kind(error).1, Hint::Busy);
        }
    }
    // A registry that asks for an hour gets no second try.
    registry.put("/a", Reply::new(429, "").header("retry-after", "3600"));
    let count = server.asked().len();
    refused(user.fetch("a"));
    assert_eq!(server.asked().len() - count, 1);

    // The tarball alone is missing.
    registry.publish("a", "1.0.0", &skill_package("x"));
    registry.put("/a/-/1.0.0.tgz", Reply::new(404, ""));
    let error = refused(user.fetch("a"));
    assert!(matches!(error, Error::Denied { code: 404, .. }), "{error}");
}

#[test]
fn a_scope_has_a_registry_and_credentials_of_its_own() {
    let (public, private) = (
        Registry::new(),
        Registry::on(|answer| Server::elsewhere(answer)),
    );
    public.publish("a", "1.0.0", &skill_package("a"));
    private.publish("@team/b", "1.0.0", &skill_package("b"));
    let user = User::new();
    user.npmrc(&format!(
        "registry={}\n@team:registry={}\n//{}/:_authToken=t0ken\n",
        public.server.url(""),
        private.server.url(""),
        private.server.authority()
    ));
    user.fetch("a").expect("a package");
    user.fetch("@team/b").expect("a package");
    refused(user.fetch("@other/b"));
    assert_eq!(
        public.server.targets(),
        ["/a", "/a/-/1.0.0.tgz", "/@other%2fb"]
    );
    assert_eq!(
        private.server.targets(),
        ["/@team%2fb", "/@team/b/-/1.0.0.tgz"]
    );
    for asked in public.server.asked() {
        assert_eq!(asked.header("authorization"), None);
    }
    for asked in private.server.asked() {
        assert_eq!(asked.header("authorization"), Some("Bearer t0ken"));
    }
}

#[test]
fn credentials_come_in_three_forms() {
    let registry = Registry::new();
    registry.publish("a", "1.0.0", &skill_package("a"));
    let key = format!("//{}/", registry.server.authority());
    for (lines, header) in [
        (format!("{key}:_authToken=t0ken"), Some("Bearer t0ken")),
        (
            format!("{key}:_auth=bWU6d29yZA=="),
            Some("Basic bWU6d29yZA=="),
        ),
        (
            format!("{key}:username=me\n{key}:_password=d29yZA=="),
            Some("Basic bWU6d29yZA=="),
        ),
        (format!("{key}:username=me"), None),
        (format!("{key}:_authToken="), None),
        // A key without a registry is nobody's (npm refuses it too).
        ("_authToken=t0ken".to_owned(), None),
        // Another port, another host, a longer path.
        ("//127.0.0.1/:_authToken=t0ken".to_owned(), None),
        (
            format!("//other.test:{}/:_authToken=t0ken", registry.server.port()),
            None,
        ),
        (format!("{key}team/:_authToken=t0ken"), None),
        // Without the slash it is the same key.
        (
            format!("//{}:_authToken=t0ken", registry.server.authority()),
            Some("Bearer t0ken"),
        ),
    ] {
        let user = User::new();
        user.npmrc(&format!("registry={}\n{lines}\n", registry.server.url("")));
        user.fetch("a").expect("a package");
        let asked = registry.server.asked();
        let [.., metadata, file] = asked.as_slice() else {
            panic!("two requests");
        };
        assert_eq!(metadata.header("authorization"), header, "{lines}");
        assert_eq!(file.header("authorization"), header, "{lines}");
    }
}

#[test]
fn credentials_hold_for_a_path_of_a_host() {
    // Two registries of one host, as some products have them.
    let registry = Registry::new();
    let bytes = skill_package("x");
    for team in ["one", "two"] {
        let path = format!("/{team}/files/x.tgz");
        let dist = json!({ "tarball": registry.server.url(&path), "integrity": sha512(&bytes) });
        registry.put(
            &format!("/{team}/a"),
            Reply::json(200, &packument("1.0.0", &[("1.0.0", dist)])),
        );
        registry.put(&path, Reply::new(200, bytes.clone()));
    }
    for (team, header) in [("one", Some("Bearer t0ken")), ("two", None)] {
        let user = User::new();
        let authority = registry.server.authority();
        let url = registry.server.url(&format!("/{team}"));
        user.npmrc(&format!(
            "registry={url}\n//{authority}/one/:_authToken=t0ken\n"
        ));
        user.fetch("a").expect("a package");
        let asked = registry.server.asked();
        for asked in &asked[asked.len() - 2..] {
            assert!(asked.target.starts_with(&format!("/{team}/")));
            assert_eq!(asked.header("authorization"), header, "{}", asked.target);
        }
    }
}

#[test]
fn credentials_that_a_registry_sends_back_are_not_shown_or_kept() {
    let registry = Registry::new();
    let user = User::new();
    let authority = registry.server.authority();
    user.npmrc(&format!(
        "registry={}\n//{authority}/:_authToken=npm_s3cr/etT0ken\n",
        registry.server.url("")
    ));
    registry.put(
        "/a",
        Reply::json(403, &json!({ "error": "no: Bearer npm_s3cr/etT0ken" })),
    );
    let said = refused(user.fetch("a")).to_string();
    assert!(said.contains("(no: …)"), "{said}");
    let bytes = skill_package("x");
    for token in ["npm_s3cr/etT0ken", "npm_s3cr%2FetT0ken"] {
        let path = format!("/{token}/a.tgz");
        registry.put(&path, Reply::new(200, bytes.clone()));
        registry.put_dist(
            json!({ "tarball": registry.server.url(&path), "integrity": sha512(&bytes) }),
        );
        let error = refused(user.fetch("a"));
        assert!(matches!(&error, Error::SecretInAddress { .. }), "{error}");
        assert!(!error.to_string().contains("T0ken"), "{error}");
        assert_eq!(
            registry.server.targets().last().map(String::as_str),
            Some("/a")
        );
        // By a redirect, it is at least not told.
        registry.put_dist(
            json!({ "tarball": registry.server.url("/go"), "integrity": sha512(&bytes) }),
        );
        registry.put("/go", Reply::redirect(302, &format!("/gone/{token}")));
        let said = refused(user.fetch("a")).to_string();
        assert!(
            said.contains("/gone/…") && !said.contains("T0ken"),
            "{said}"
        );
        // Nor where what comes from there cannot be unpacked.
        registry.put("/a", Reply::redirect(302, &format!("/gone/{token}")));
        registry.put(
            &format!("/gone/{token}"),
            Reply::new(200, "no gzip").header("content-encoding", "gzip"),
        );
        let said = refused(user.fetch("a")).to_string();
        assert!(
            said.contains("/gone/…: the answer is not the gzip data"),
            "{said}"
        );
    }
    // In every text that is told of the metadata.
    let dist = json!({ "tarball": "x.tgz", "integrity": "sha512-npm_s3cr/etT0ken" });
    let of = |versions| {
        let tags = json!({ "npm_s3cr/etT0ken": "1.0.0" });
        json!({ "name": "a", "dist-tags": tags, "versions": versions })
    };
    let entry = json!({ "version": "1.0.0", "dist": dist });
    let versions = json!({ "1.0.0": entry, "0.0.1-npm_s3cr/etT0ken": entry });
    for (metadata, wanted, told) in [
        (
            of(versions),
            "a@beta",
            "there are 1.0.0, 0.0.1-… and the tags …",
        ),
        (of(json!({ "1.0.0": entry })), "a@1.0.0", r#""sha512-…""#),
        (of(json!("npm_s3cr/etT0ken")), "a", r#"string "…""#),
    ] {
        registry.put("/a", Reply::json(200, &metadata));
        let said = refused(user.fetch(wanted)).to_string();
        assert!(said.contains(told), "{wanted}: {said}");
        assert!(!said.contains("T0ken"), "{said}");
    }
}

#[test]
fn a_tarball_elsewhere_gets_no_credentials() {
    let bytes = skill_package("x");
    let content = bytes.clone();
    let elsewhere = Server::elsewhere(move |_| Reply::new(200, content.clone()));
    let registry = Registry::new();
    let key = format!("//{}/:_authToken=t0ken\n", registry.server.authority());
    let user = User::new();
    let base = format!("registry={}\n{key}", registry.server.url(""));
    user.npmrc(&base);
    let last = |server: &Server| server.asked().last().cloned().expect("a request");

    // At once, and by a redirect.
    registry.put_dist(json!({ "tarball": elsewhere.url("/x.tgz"), "integrity": sha512(&bytes) }));
    user.fetch("a").expect("a package");
    assert_eq!(last(&elsewhere).header("authorization"), None);
    registry
        .put_dist(json!({ "tarball": registry.server.url("/go"), "integrity": sha512(&bytes) }));
    registry.put("/go", Reply::redirect(302, &elsewhere.url("/x.tgz?sig=1")));
    user.fetch("a").expect("a package");
    assert_eq!(last(&registry.server).target, "/go");
    assert_eq!(
        last(&registry.server).header("authorization"),
        Some("Bearer t0ken")
    );
    assert_eq!(last(&elsewhere).target, "/x.tgz?sig=1");
    assert_eq!(last(&elsewhere).header("authorization"), None);

    // A redirect within the registry keeps them.
    registry.put("/go", Reply::redirect(302, "/x.tgz"));
    registry.put("/x.tgz", Reply::new(200, bytes.clone()));
    user.fetch("a").expect("a package");
    assert_eq!(
        last(&registry.server).header("authorization"),
        Some("Bearer t0ken")
    );

    // Metadata that is led elsewhere.
    let moved = Registry::on(|answer| Server::elsewhere(answer));
    moved.publish("a", "1.0.0", &bytes);
    registry.put("/a", Reply::redirect(307, &moved.server.url("/a")));
    user.fetch("a").expect("a package");
    for asked in moved.server.asked() {
        assert_eq!(asked.header("authorization"), None);
    }

    // Whoever names that host as well gets what they say.
    registry.put_dist(json!({ "tarball": elsewhere.url("/x.tgz"), "integrity": sha512(&bytes) }));
    user.npmrc(&format!(
        "{base}//{}/:_authToken=other\n",
        elsewhere.authority()
    ));
    user.fetch("a").expect("a package");
    assert_eq!(
        last(&elsewhere).header("authorization"),
        Some("Bearer other")
    );
}

#[test]
fn a_mirror_stands_in_for_the_public_registry() {
    let registry = Registry::new();
    let bytes = skill_package("x");
    let public = npmrc_config_rs::registry::DEFAULT_REGISTRY;
    registry
        .put_dist(json!({ "tarball": format!("{public}a/-/x.tgz"), "integrity": sha512(&bytes) }));
    registry.put("/a/-/x.tgz", Reply::new(200, bytes));
    let user = User::of(&registry);
    let fetched = user.fetch("a").expect("a package");
    assert!(
        matches!(fetched.resolved, Resolved::Version { tarball, .. } if tarball == registry.server.url("/a/-/x.tgz"))
    );
}

#[test]
fn the_nearest_configuration_counts() {
    let registries: Vec<Registry> = (0..4).map(|_| Registry::new()).collect();
    for (name, registry) in ["global", "user", "project", "variable"]
        .iter()
        .zip(&registries)
    {
        registry.publish("a", "1.0.0", &skill_package(name));
    }
    let line = |at: usize| format!("registry={}\n", registries[at].server.url("/"));
    let mut user = User::new();
    let which = |user: &User| {
        let fetched = user.fetch("a").expect("a package");
        fs::read_to_string(fetched.staged.directory.join("plugin.json")).expect("a file")
    };
    let prefix = user.place.path().join("prefix");
    user.set("PREFIX", &prefix.to_string_lossy());
    user.place.write("prefix/etc/npmrc", line(0));
    assert_eq!(which(&user), "global");
    user.npmrc(&line(1));
    assert_eq!(which(&user), "user");
    // The project is found from below, and a workspace is part of its root.
    user.place
        .write("work/package.json", r#"{"workspaces":["packages/*"]}"#);
    user.place.write("work/.npmrc", line(2));
    user.place.write("work/packages/p/package.json", "{}");
    user.place.write("work/packages/p/.npmrc", line(1));
    user.place.write("work/packages/p/src/x", "");
    user.environment.directory = user.place.path().join("work/packages/p/src");
    assert_eq!(which(&user), "project");
    user.set("NPM_CONFIG_REGISTRY", &registries[3].server.url("/"));
    assert_eq!(which(&user), "variable");
    user.set("NPM_CONFIG_REGISTRY", "");
    assert_eq!(which(&user), "project");

    // Another file for the user, and the home directory as the project.
    let mut user = User::new();
    let path = user.place.write("elsewhere.npmrc", line(1));
    user.set("NPM_CONFIG_USERCONFIG", &path.to_string_lossy());
    assert_eq!(which(&user), "user");
    user.npmrc(&line(2));
    user.place.write("home/package.json", "{}");
    user.environment.directory = user.place.path().join("home");
    assert_eq!(which(&user), "project");
    // A variable for a scope, and one inside a value.
    user.set(
        "npm_config_@team:registry",
        &registries[3].server.url("/${TEAM}"),
    );
    user.set("TEAM", "x");
    refused(user.fetch("@team/b"));
    assert_eq!(
        registries[3].server.targets().last().map(String::as_str),
        Some("/x/@team%2fb")
    );
}

#[test]
fn a_configuration_that_cannot_be_used_is_named() {
    let mut user = User::new();
    let config = |user: &User| match refused(user.fetch("a")) {
        Error::Config(error) => error,
        other => panic!("{other}"),
    };
    let npmrc = user.npmrc("registry=not an address\n");
    assert_eq!(
        config(&user).to_string(),
        format!(
            "registry in {} is no address that begins with https://",
            npmrc.display()
        )
    );
    user.npmrc("registry=https://${WHERE}/\n");
    assert_eq!(
        config(&user).to_string(),
        format!(
            "registry in {} needs the variable WHERE, which is not set",
            npmrc.display()
        )
    );
    user.npmrc("registry=ftp://a.test/\n");
    assert!(matches!(config(&user), ConfigError::Value { .. }));
    user.npmrc("cafile=none.pem\n");
    assert!(matches!(config(&user), ConfigError::Read { .. }));
    user.npmrc("cafile=~/.npmrc\n");
    assert!(matches!(config(&user), ConfigError::Certificates { .. }));
    user.npmrc("fetch-retries=many\n");
    assert!(matches!(config(&user), ConfigError::Value { .. }));
    user.npmrc("https-proxy=socks5://me:word@127.0.0.1\n");
    let error = refused(user.fetch("a"));
    assert!(
        matches!(error, Error::Proxy(_)) && !error.to_string().contains("word"),
        "{error}"
    );
    user.npmrc("");
    user.environment.home = Some(user.place.path().join("file"));
    user.place.write("file", "a home that is no directory");
    user.set("npm_config_registry", "http://127.0.0.1:1/");
    let (kind, hint) = net_kind(refused(user.fetch("a")));
    assert!(matches!(kind, ErrorKind::Refused { .. }), "{kind}");
    assert_eq!(hint, Hint::Network);
}

#[test]
fn a_registry_with_an_authority_of_its_own() {
    let registry = Registry::on(|answer| Server::tls(answer));
    registry.publish("a", "1.0.0", &skill_package("x"));
    let mut user = User::new();
    let cafile = user.place.write("home/authority.pem", AUTHORITY);
    let other = format!("{}\n", registry.server.url("/"));
    let quoted = AUTHORITY.replace('\n', "\\n");
    for lines in [
        "cafile=~/authority.pem".to_owned(),
        format!("ca=\"{quoted}\""),
        format!("ca[]=\"{quoted}\""),
    ] {
        user.npmrc(&format!("registry={other}{lines}\n"));
        user.fetch("a").expect("a package");
    }
    user.npmrc(&format!("registry={other}"));
    user.set("NODE_EXTRA_CA_CERTS", &cafile.to_string_lossy());
    user.fetch("a").expect("a package");
    user.set("NODE_EXTRA_CA_CERTS", "");

    // Nobody vouches for it. The certificates of the machine may not be there.
    let unrelated = include_str!("../fixtures/tls/server.pem");
    user.place.write("home/unrelated.pem", unrelated);
    user.npmrc(&format!(
        "registry={other}cafile=~/unrelated.pem\nstrict-ssl=false\n"
    ));
    let error = refused(user.fetch("a"));
    assert!(error.to_string().contains("`cafile`"), "{error}");
    let (kind, hint) = net_kind(error);
    assert!(
        matches!(
            kind,
            ErrorKind::Tls {
                certificate: true,
                ..
            }
        ),
        "{kind}"
    );
    assert_eq!(hint, Hint::Authority { not_strict: true });
}

#[test]
fn a_registry_behind_a_proxy() {
    let registry = Registry::on(|answer| Server::tls(answer));
    let bytes = skill_package("x");
    let dist = json!({ "tarball": "https://registry.test/x.tgz", "integrity": sha512(&bytes) });
    registry.put_dist(dist);
    registry.put("/x.tgz", Reply::new(200, bytes));
    let proxy = Proxy::to(&registry.server, None);
    let mut user = User::new();
    user.place.write("home/authority.pem", AUTHORITY);
    let base = "registry=https://registry.test/\ncafile=~/authority.pem\n//registry.test/:_authToken=t0ken\n";
    // By the configuration or by the variables that every program knows.
    for lines in [
        format!("https-proxy={}", proxy.url()),
        format!("proxy={}", proxy.url()),
    ] {
        user.npmrc(&format!("{base}{lines}\n"));
        user.fetch("a").expect("a package");
    }
    user.npmrc(base);
    user.set("HTTPS_PROXY", &proxy.url());
    user.fetch("a").expect("a package");
    for asked in proxy.asked() {
        assert_eq!(
            (asked.method.as_str(), asked.target.as_str()),
            ("CONNECT", "registry.test:443")
        );
        assert_eq!(asked.header("authorization"), None);
    }
    for asked in registry.server.asked() {
        assert_eq!(asked.header("authorization"), Some("Bearer t0ken"));
    }
    // Exceptions lead to a host that is not there.
    let count = proxy.asked().len();
    for lines in ["noproxy=registry.test", "proxy=false"] {
        user.npmrc(&format!("{base}fetch-retries=0\n{lines}\n"));
        let (kind, hint) = net_kind(refused(user.fetch("a")));
        assert!(
            matches!(kind, ErrorKind::Dns { .. } | ErrorKind::Connect { .. }),
            "{kind}"
        );
        assert_eq!(hint, Hint::Network);
    }
    assert_eq!(proxy.asked().len(), count);
}

#[test]
fn an_open_connection_carries_no_credentials() {
    let registry = Registry::new();
    let bytes = skill_package("x");
    registry
        .put_dist(json!({ "tarball": "http://registry.test/x.tgz", "integrity": sha512(&bytes) }));
    registry.put("/x.tgz", Reply::new(200, bytes));
    let proxy = Proxy::to(&registry.server, None);
    let user = User::new();
    // The user says http:, so be it.
    let base = format!("registry=http://registry.test\nproxy={}\n", proxy.url());
    user.npmrc(&base);
    user.fetch("a").expect("a package");
    assert_eq!(proxy.asked()[0].target, "http://registry.test/a");
    let count = proxy.asked().len();
    user.npmrc(&format!("{base}//registry.test/:_authToken=t0ken\n"));
    let error = refused(user.fetch("a"));
    assert!(matches!(error, Error::PlainCredentials { .. }), "{error}");
    assert_eq!(proxy.asked().len(), count);
    // Another host is not reached that way just because the metadata says so.
    user.npmrc(&base);
    registry.put_dist(json!({ "tarball": "http://other.test/x.tgz", "integrity": sha512(b"") }));
    let (kind, _) = net_kind(refused(user.fetch("a")));
    assert!(matches!(kind, ErrorKind::Plain), "{kind}");
}

#[test]
fn fetches_side_by_side_do_not_meet() {
    let registry = Registry::new();
    registry.publish("a", "1.0.0", &skill_package("x"));
    let address = registry.server.url("/");
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let address = address.clone();
            thread::spawn(move || {
                let user = User::new();
                user.npmrc(&format!("registry={address}\n"));
                let fetched = user.fetch("a").expect("a package");
                assert!(
                    Path::new(&fetched.staged.directory)
                        .join("plugin.json")
                        .is_file()
                );
                fetched.staged.tree.entries.len()
            })
        })
        .collect();
    for worker in workers {
        assert_eq!(worker.join().expect("a fetch"), 3);
    }
}

/// Run by `tests/peers/npm.sh`, which names the packages, a file that each holds,
/// and the integrity that npm has for it.
#[test]
#[ignore = "needs the network and the npm configuration of the user"]
fn real_packages_are_fetched_as_npm_has_them() {
    let list = std::env::var("APKIT_REAL_PACKAGES").expect("the list");
    let list = fs::read_to_string(list).expect("the list");
    let place = Place::new();
    let mut environment = Environment {
        home: std::env::home_dir(),
        directory: place.path().to_owned(),
        ..Environment::default()
    };
    environment.variables = std::env::vars_os().collect();
    let mut count = 0;
    for line in list.lines() {
        let parts: Vec<_> = line.split(' ').collect();
        let [name, file, expected] = parts.as_slice() else {
            panic!("{line}");
        };
        count += 1;
        let stage = place.path().join(count.to_string());
        let stage = Stage::new(&stage, Limits::default(), Links::Refuse).expect("a stage");
        let request = Request {
            environment: &environment,
            progress: &Quiet,
            stop: &Stop::default(),
            pinned: None,
            permit: None,
        };
        let fetched = npm::fetch(&source(name), &request, stage).expect(name);
        assert!(paths(&fetched).contains(file), "{name} has no {file}");
        match &fetched.resolved {
            Resolved::Version { integrity, .. } => assert_eq!(integrity, expected, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(count >= 3, "some packages were named");
}
