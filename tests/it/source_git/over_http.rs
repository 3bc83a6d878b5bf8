//! Servers that redirect, break off, refuse, or are no git servers at all.

use apkit::archive::Limits;
use apkit::source::git::{Error, Failure};

use super::http::{Answer, Asked, HttpServer};
use super::world::{Got, World, source};

fn serve(world: &World, rule: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> HttpServer {
    HttpServer::start(&world.path().join("repos"), rule)
}

fn fetch(world: &World, server: &HttpServer) -> Result<Got, Error> {
    world.fetch(&source(&server.url("r.git"), "", ""))
}

/// The failure, and what is said of it.
fn failure(world: &World, server: &HttpServer) -> (Failure, String) {
    let error = fetch(world, server).expect_err("a failure");
    let said = error.to_string();
    match error {
        Error::Connection(failure) => (failure, said),
        other => panic!("{other}"),
    }
}

fn world_with_package() -> World {
    let world = World::new();
    world.origin("r.git").package("main", "one");
    world
}

#[test]
fn redirects_are_followed_once_and_for_the_rest_of_the_fetch() {
    let world = world_with_package();
    let moved = serve(&world, |asked| match asked.path.strip_prefix("/old") {
        Some(rest) => {
            let to = format!("/r.git{rest}?{}", asked.query);
            Answer::Status(301, vec![("location", to)], "")
        }
        None => Answer::Git,
    });
    let got = world.fetch(&source(&moved.url("old"), "", ""));
    assert_eq!(got.expect("a package").paths().len(), 5);
    let asked: Vec<_> = moved
        .asked()
        .iter()
        .map(|asked| asked.path.clone())
        .collect();
    assert_eq!(asked[..2], ["/old/info/refs", "/r.git/info/refs"]);
    assert!(
        asked[2..]
            .iter()
            .all(|path| path == "/r.git/git-upload-pack")
    );

    // To another origin as well, as long as nothing secret goes along.
    let there = HttpServer::plain(&world.path().join("repos"));
    let to = there.url("r.git/info/refs?service=git-upload-pack");
    let here = serve(&world, move |_| {
        Answer::Status(302, vec![("location", to.clone())], "")
    });
    fetch(&world, &here).expect("a package");
    assert_eq!(here.asked().len(), 1);
    assert!(there.asked().len() >= 2);
}

#[test]
fn redirects_that_lead_astray_are_not_followed() {
    let world = world_with_package();
    for (to, wanted) in [
        (
            "http://host.example/r.git/info/refs?service=git-upload-pack",
            "http",
        ),
        ("/r.git/HEAD", "HEAD"),
        ("ftp://127.0.0.1/x", "https"),
        ("/r.git/info/refs?service=git-upload-pack", "10 times"),
    ] {
        let server = serve(&world, move |asked| {
            if asked.path.ends_with("/HEAD") {
                let kind = "application/x-git-upload-pack-advertisement".to_owned();
                return Answer::Status(200, vec![("content-type", kind)], "0000");
            }
            Answer::Status(302, vec![("location", to.to_owned())], "")
        });
        let (_, said) = failure(&world, &server);
        assert!(said.contains(wanted), "{to}: {said}");
    }
    // Later ones are not followed at all.
    let server = serve(&world, |asked| match asked.method.as_str() {
        "POST" => Answer::Status(
            307,
            vec![("location", "/else/git-upload-pack".to_owned())],
            "",
        ),
        _ => Answer::Git,
    });
    let (failure, said) = failure(&world, &server);
    assert!(matches!(failure, Failure::Redirect { .. }), "{said}");
    assert!(said.contains("/else/git-upload-pack"), "{said}");
}

#[test]
fn statuses_are_told_apart() {
    let world = world_with_package();
    let status = |status: u16| {
        serve(&world, move |_| {
            Answer::Status(status, Vec::new(), "no entry\x1b[31m\nfor you\n")
        })
    };
    let (found, said) = failure(&world, &status(403));
    assert!(matches!(found, Failure::Denied { .. }), "{said}");
    assert!(said.ends_with("no entry [31m; for you"), "{said:?}");
    let (found, said) = failure(&world, &status(404));
    assert!(matches!(found, Failure::NotFound { .. }), "{said}");
    assert!(said.contains("/r.git, or none"), "{said}");
    let (found, said) = failure(&world, &status(503));
    assert!(
        matches!(found, Failure::Status { status: 503, .. }),
        "{said}"
    );
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = nobody.local_addr().expect("an address").port();
    drop(nobody);
    let error = world.fetch(&source(&format!("http://127.0.0.1:{port}/r"), "", ""));
    assert!(error.expect_err("nobody").to_string().contains("refused"));
}

#[test]
fn what_is_no_git_server_is_told() {
    let world = world_with_package();
    let origin = super::origin::Origin {
        path: world.path().join("repos/r.git"),
    };
    origin.git(&["update-server-info"], b"");
    let dumb = serve(&world, |_| Answer::File);
    let (found, said) = failure(&world, &dumb);
    assert!(matches!(found, Failure::NotGit { .. }), "{said}");
    assert!(said.contains("text/plain"), "{said}");
    let page = serve(&world, |_| {
        let kind = "text/html; charset=utf-8".to_owned();
        Answer::Status(200, vec![("content-type", kind)], "<p>Hello")
    });
    let (_, said) = failure(&world, &page);
    assert!(said.contains("answers with text/html,"), "{said}");
}

#[test]
fn answers_may_be_slow_but_not_broken_off() {
    let mut world = world_with_package();
    let slow = serve(&world, |_| Answer::Slowly);
    fetch(&world, &slow).expect("a package");
    for length in [0, 3, 60, 200, 300] {
        let cut = serve(&world, move |_| Answer::Cut(length));
        let error = fetch(&world, &cut).expect_err("broken off");
        assert!(error.to_string().contains("broke off"), "{length}: {error}");
        let cut = serve(&world, move |asked| match asked.method.as_str() {
            "POST" => Answer::Cut(length),
            _ => Answer::Git,
        });
        let error = fetch(&world, &cut).expect_err("broken off");
        assert!(error.to_string().contains("broke off"), "{length}: {error}");
    }
    world.set("GIT_HTTP_LOW_SPEED_TIME", "1");
    let silent = serve(&world, |_| Answer::Silence);
    let (_, said) = failure(&world, &silent);
    assert!(said.contains("no answer came within 1 s"), "{said}");
}

#[test]
fn made_up_answers_end_in_an_error() {
    let world = world_with_package();
    for change in [
        (|_| Vec::new()) as fn(Vec<u8>) -> Vec<u8>,
        |_| b"zzzz".to_vec(),
        |_| b"0000".to_vec(),
        |_| b"001e# service=git-upload-pack\n0000ffff".to_vec(),
        |_| b"001e# service=git-upload-pack\n0000000bERR nono0000".to_vec(),
        |body| body.iter().map(|byte| byte ^ 1).collect(),
    ] {
        let listing = serve(&world, move |asked| match asked.method.as_str() {
            "GET" => Answer::Changed(change),
            _ => Answer::Git,
        });
        fetch(&world, &listing).expect_err("no list");
        let pack = serve(&world, move |asked| match asked.method.as_str() {
            "POST" => Answer::Changed(change),
            _ => Answer::Git,
        });
        fetch(&world, &pack).expect_err("no pack");
    }
    // A pack that claims to hold all objects there can be.
    let boasting = serve(&world, |asked| match asked.method.as_str() {
        "POST" => Answer::Changed(|mut body| {
            let at = body.windows(4).position(|part| part == b"PACK");
            let count = at.expect("a pack") + 8;
            body[count..count + 4].fill(0xff);
            body
        }),
        _ => Answer::Git,
    });
    fetch(&world, &boasting).expect_err("no sound pack");
    // A bit of the pack turned over.
    let flipped = serve(&world, |asked| match asked.method.as_str() {
        "POST" => Answer::Changed(|mut body| {
            let at = body.windows(4).position(|part| part == b"PACK");
            body[at.expect("a pack") + 40] ^= 1;
            body
        }),
        _ => Answer::Git,
    });
    fetch(&world, &flipped).expect_err("no sound pack");
}

#[test]
fn names_that_are_no_text_do_no_harm() {
    let world = world_with_package();
    let odd = serve(&world, |asked| match asked.method.as_str() {
        "GET" => Answer::Changed(|mut body| {
            let old = b"refs/heads/odd";
            let at = body.windows(old.len()).position(|part| part == old);
            let at = at.expect("it is there");
            body[at + 11] = 0xff;
            body
        }),
        _ => Answer::Git,
    });
    let origin = super::origin::Origin {
        path: world.path().join("repos/r.git"),
    };
    origin.git(&["branch", "odd", "main"], b"");
    fetch(&world, &odd).expect("a package");
}

#[test]
fn no_more_is_received_than_a_package_may_be() {
    let mut world = world_with_package();
    // At least 128 MiB are taken in any case; the server says how much it has.
    world.limits = Limits {
        total: 1 << 20,
        ..Limits::default()
    };
    let large = serve(&world, |asked| match asked.method.as_str() {
        "POST" => Answer::Changed(|_| vec![b'0'; (128 << 20) + 1]),
        _ => Answer::Git,
    });
    let (_, said) = failure(&world, &large);
    assert!(said.contains("larger than 134217728 bytes"), "{said}");
    let endless = serve(&world, |_| {
        Answer::Changed(|body| {
            let line = b"003dffffffffffffffffffffffffffffffffffffffff refs/heads/branch\n";
            let mut whole = body[..body.len() - 4].to_vec();
            whole.extend(line.repeat((128 << 20) / line.len() + 1));
            whole
        })
    });
    let (_, said) = failure(&world, &endless);
    assert!(said.contains("larger than 134217728 bytes"), "{said}");
}
