//! The same over TLS: whose certificates count, and that nothing leads out of it.

use apkit::source::git::{Error, Failure};

use super::http::{self, HttpServer, backend};
use super::origin::PACKAGE_PATHS;
use super::world::{World, source};
use crate::web::{self, AUTHORITY, Reply, Server};

/// What git says to a question that came over TLS.
fn reply(root: &std::path::Path, asked: &web::Asked) -> Reply {
    let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let asked = http::Asked {
        method: asked.method.clone(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: asked.headers.clone().into_iter().collect(),
        body: asked.body.clone(),
    };
    let (head, body) = backend(root, &asked);
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status.and_then(|status| status.parse().ok());
    let mut reply = Reply::new(status.expect("a status"), body);
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header");
        reply = reply.header(name, value);
    }
    reply
}

#[test]
fn certificates_are_verified_against_the_users() {
    let mut world = World::new();
    world.origin("r.git").package("main", "one");
    let root = world.path().join("repos");
    let server = Server::tls(move |asked| reply(&root, asked));
    let address = source(&server.url("/r.git"), "", "");
    let error = world.fetch(&address).expect_err("an unknown authority");
    assert!(error.to_string().contains("certificate"), "{error}");

    world.home_file("authority.pem", AUTHORITY);
    world.set("GIT_SSL_CAINFO", "home/authority.pem");
    let got = world.fetch(&address).expect("a package");
    assert_eq!(got.paths(), PACKAGE_PATHS);
    assert!(server.asked().len() >= 2);
    world.set("GIT_SSL_CAINFO", "");
    for path in ["home/authority.pem", "~/authority.pem"] {
        world.home_file(".gitconfig", &format!("[http]\n\tsslCAInfo = {path}\n"));
        world.fetch(&address).expect("a package");
    }
    world.home_file(".gitconfig", "[http]\n\tsslCAInfo = home/nothing.pem\n");
    let error = world.fetch(&address).expect_err("no such file");
    assert!(error.to_string().contains("nothing.pem"), "{error}");
}

#[test]
fn nothing_leads_from_https_to_http() {
    let mut world = World::new();
    world.origin("r.git").package("main", "one");
    world.home_file("authority.pem", AUTHORITY);
    world.set("GIT_SSL_CAINFO", "home/authority.pem");
    let plain = HttpServer::plain(&world.path().join("repos"));
    let to = plain.url("r.git/info/refs?service=git-upload-pack");
    let server = Server::tls(move |_| Reply::redirect(302, &to));
    let error = world.fetch(&source(&server.url("/r.git"), "", ""));
    let error = error.expect_err("not followed");
    assert!(
        error.to_string().contains("from https: to http:"),
        "{error}"
    );
    assert!(matches!(error, Error::Connection(Failure::Http(_))));
    assert!(plain.asked().is_empty());
}
