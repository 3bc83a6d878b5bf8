//! The HTTPS client against servers on loopback.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use apkit::net::{
    Client, Error, ErrorKind, MAX_REDIRECTS, Proxies, Request, Response, Retry, Settings, Timeouts,
    Trust, Waiting,
};
use url::Url;

use crate::web::{AUTHORITY, Delivery, Proxy, Reply, Server};

fn url(text: &str) -> Url {
    Url::parse(text).expect("an address")
}

fn settings() -> Settings {
    Settings {
        timeouts: Timeouts {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(10),
            total: Duration::from_secs(20),
        },
        trust: Trust::Only(vec![AUTHORITY.into()]),
        ..Settings::default()
    }
}

fn client(settings: Settings) -> Client {
    Client::new(settings).expect("a client")
}

fn get(text: &str) -> Result<Response, Error> {
    client(settings()).send(Request::get(&url(text)))
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    match result {
        Ok(_) => panic!("that should have failed"),
        Err(error) => error.kind,
    }
}

#[test]
fn an_answer_has_status_headers_and_body() {
    let server = Server::new(|asked| {
        Reply::new(200, format!("{} {}", asked.method, asked.target)).header("x-it", "yes")
    });
    let response = get(&server.url("/a?b")).expect("an answer");
    assert_eq!(response.status, 200);
    assert_eq!(response.header("X-It"), Some("yes"));
    assert_eq!(response.url.as_str(), server.url("/a?b"));
    assert_eq!(response.bytes().expect("a body"), b"GET /a?b");
    let asked = &server.asked()[0];
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
    assert!(
        asked
            .header("user-agent")
            .is_some_and(|agent| agent.starts_with("apkit/"))
    );
    assert_eq!(asked.header("referer"), None);
}

#[test]
fn a_body_is_posted_and_its_redirect_handed_back() {
    let server = Server::new(|_| Reply::redirect(307, "/other"));
    let request = Request::post(&url(&server.url("/up")), b"pack".to_vec())
        .header("content-type", "application/x-git");
    let response = client(settings()).send(request).expect("an answer");
    assert_eq!(response.status, 307);
    assert_eq!(response.header("location"), Some("/other"));
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (asked[0].method.as_str(), asked[0].body.as_slice()),
        ("POST", &b"pack"[..])
    );
    assert_eq!(asked[0].header("content-type"), Some("application/x-git"));
}

#[test]
fn redirects_within_an_origin_keep_secrets() {
    let server = Server::new(|asked| match asked.target.as_str() {
        "/a" => Reply::redirect(301, "b/c"),
        "/b/c" => Reply::redirect(303, "../d?e"),
        "/d?e" => Reply::new(200, "here"),
        _ => Reply::new(404, ""),
    });
    let request = Request::get(&url(&server.url("/a"))).secret("authorization", "Bearer t0ken");
    let response = client(settings()).send(request).expect("an answer");
    assert_eq!(response.url.as_str(), server.url("/d?e"));
    assert_eq!(server.targets(), ["/a", "/b/c", "/d?e"]);
    for asked in server.asked() {
        assert_eq!(asked.header("authorization"), Some("Bearer t0ken"));
    }
}

#[test]
fn secrets_are_dropped_for_good_on_the_way_to_another_origin() {
    // Another port is another origin, another address too, and the way back does
    // not bring anything back.
    for start in [Server::new, Server::elsewhere] {
        let home = Arc::new(std::sync::OnceLock::<String>::new());
        let back = Arc::clone(&home);
        let other: Server = start(Box::new(move |_: &crate::web::Asked| {
            Reply::redirect(302, &format!("{}/end", back.get().expect("known")))
        }));
        let away = other.url("/away");
        let server = Server::new(move |asked| match asked.target.as_str() {
            "/end" => Reply::new(200, "end"),
            _ => Reply::redirect(302, &away),
        });
        home.set(server.url("")).expect("once");
        let request = Request::get(&url(&server.url("/start")))
            .secret("authorization", "Bearer t0ken")
            .secret("x-api-key", "t0ken")
            .header("accept", "text/x");
        let response = client(settings()).send(request).expect("an answer");
        assert_eq!(response.url.as_str(), server.url("/end"));
        let first = &server.asked()[0];
        assert_eq!(first.header("authorization"), Some("Bearer t0ken"));
        assert_eq!(first.header("x-api-key"), Some("t0ken"));
        for asked in [&other.asked()[0], &server.asked()[1]] {
            assert!(!format!("{asked:?}").contains("t0ken"), "{asked:?}");
            assert_eq!(asked.header("accept"), Some("text/x"));
        }
    }
}

#[test]
fn a_password_in_an_address_is_sent_to_its_origin_only() {
    let other = Server::elsewhere(|_| Reply::new(200, ""));
    // A redirect does not get to name a user either.
    let to = format!("http://you:word@{}/", other.authority());
    let server = Server::new(move |_| Reply::redirect(302, &to));
    let start = format!("http://me:word@{}/", server.authority());
    let response = get(&start).expect("an answer");
    assert_eq!(response.url.as_str(), other.url("/"));
    assert_eq!(
        server.asked()[0].header("authorization"),
        Some("Basic bWU6d29yZA==")
    );
    assert_eq!(other.asked()[0].header("authorization"), None);
}

#[test]
fn redirects_end_somewhere() {
    let server = Server::new(|asked| {
        let count: usize = asked.target[1..].parse().expect("a number");
        Reply::redirect(302, &format!("/{}", count + 1))
    });
    assert!(matches!(kind(get(&server.url("/0"))), ErrorKind::Redirects));
    assert_eq!(server.asked().len(), MAX_REDIRECTS + 1);
}

#[test]
fn a_protected_connection_is_not_left_for_an_open_one() {
    let open = Server::new(|_| Reply::new(200, "open"));
    let to = open.url("/x?sig=word");
    let server = Server::tls(move |_| Reply::redirect(302, &to));
    let error = get(&server.url("/")).map(|_| ()).expect_err("refused");
    assert!(matches!(error.kind, ErrorKind::Downgrade { .. }), "{error}");
    assert!(!error.to_string().contains("word"), "{error}");
    assert_eq!(open.asked().len(), 0);
}

#[test]
fn only_https_to_other_machines() {
    for text in ["http://host.test/", "http://192.0.2.1/"] {
        assert!(matches!(kind(get(text)), ErrorKind::Plain), "{text}");
    }
    for text in ["ftp://127.0.0.1/", "file:///etc/passwd", "data:,x"] {
        assert!(matches!(kind(get(text)), ErrorKind::Scheme), "{text}");
    }
    let server = Server::new(|_| Reply::redirect(302, "http://host.test/"));
    assert!(matches!(kind(get(&server.url("/"))), ErrorKind::Plain));
    let server = Server::new(|_| Reply::redirect(302, "file:///etc/passwd"));
    assert!(matches!(kind(get(&server.url("/"))), ErrorKind::Scheme));
    let server = Server::new(|_| Reply::redirect(302, "https://["));
    assert!(matches!(kind(get(&server.url("/"))), ErrorKind::Location));
}

#[test]
fn certificates_are_verified() {
    let server = Server::tls(|_| Reply::new(200, "safe"));
    let named = format!("https://localhost:{}/", server.port());
    assert_eq!(
        get(&named).and_then(Response::bytes).expect("an answer"),
        b"safe"
    );
    // By an authority that nobody knows, and for another name.
    let other_name = format!("https://other.localhost:{}/", server.port());
    let unknown = client(Settings {
        trust: Trust::Only(Vec::new()),
        ..settings()
    });
    for result in [unknown.send(Request::get(&url(&named))), get(&other_name)] {
        let kind = kind(result);
        // Not every system resolves names below localhost.
        let unresolved = matches!(kind, ErrorKind::Dns { .. });
        assert!(
            unresolved
                || matches!(
                    kind,
                    ErrorKind::Tls {
                        certificate: true,
                        ..
                    }
                ),
            "{kind}"
        );
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let plain = format!("https://{}/", listener.local_addr().expect("an address"));
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream
            .write_all(b"HTTP/1.1 400 No TLS here\r\n\r\n")
            .expect("sent");
        // Read what comes, or the end of the connection takes the answer along.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let kind = kind(get(&plain));
    assert!(
        matches!(
            kind,
            ErrorKind::Tls {
                certificate: false,
                ..
            }
        ),
        "{kind}"
    );
    server.join().expect("the server");
}

#[test]
fn what_is_no_answer_is_told_apart() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let closed = format!("http://{}/", free.local_addr().expect("an address"));
    drop(free);
    assert!(matches!(
        kind(get(&closed)),
        ErrorKind::Refused { proxy: None }
    ));
    // Longer than a label may be: no name service is asked.
    let host = format!("{}.test", "a".repeat(64));
    let named = client(Settings {
        plain: [host.clone()].into(),
        ..settings()
    });
    let unknown = kind(named.send(Request::get(&url(&format!("http://{host}/")))));
    assert!(
        matches!(unknown, ErrorKind::Dns { proxy: None }),
        "{unknown:?}"
    );
    let silent = Server::new(|_| Reply::new(200, "").delivery(Delivery::Silent));
    assert!(matches!(
        kind(get(&silent.url("/"))),
        ErrorKind::Protocol { .. }
    ));
}

#[test]
fn a_refusal_is_handed_over_with_its_reason() {
    let long = format!("\u{5305}\u{4e0d}:{}", "\u{8bf7}".repeat(300));
    let beginning: String = long.chars().take(200).collect();
    let server = Server::new(move |asked| match asked.target.as_str() {
        "/json" => Reply::json(403, &serde_json::json!({ "error": "no\nentry \u{1b}[31m" }))
            .header("retry-after", "7"),
        "/long" => Reply::json(403, &serde_json::json!({ "error": long })),
        _ => Reply::new(500, "<html>"),
    });
    // Of one word, and cut; nothing in it is an address.
    let refusal = kind(get(&server.url("/long")).and_then(Response::successful));
    let ErrorKind::Status { reason, .. } = refusal else {
        panic!("{refusal}");
    };
    assert_eq!(reason, Some(beginning));
    let refusal = kind(get(&server.url("/json")).and_then(Response::successful));
    let ErrorKind::Status {
        code: 403,
        reason,
        retry_after,
    } = refusal
    else {
        panic!("{refusal}");
    };
    assert_eq!(reason.as_deref(), Some("no entry  [31m"));
    assert_eq!(retry_after, Some(Duration::from_secs(7)));
    let refusal = kind(get(&server.url("/html")).and_then(Response::successful));
    assert!(matches!(
        refusal,
        ErrorKind::Status {
            code: 500,
            reason: None,
            ..
        }
    ));
    // Whoever wants to can read it.
    let response = get(&server.url("/html")).expect("an answer");
    assert_eq!(response.bytes().expect("a body"), b"<html>");
}

#[test]
fn bodies_have_a_cap() {
    let server = Server::new(|asked| {
        let body = vec![0; 5000];
        match asked.target.as_str() {
            "/claim" => Reply::new(200, "x").header("content-length", "99999999"),
            "/length" => Reply::new(200, body),
            "/chunked" => Reply::new(200, body).delivery(Delivery::Chunked),
            "/gzip" => Reply::new(200, body).gzip(),
            _ => Reply::new(200, vec![b'x'; 4999])
                .gzip()
                .delivery(Delivery::Chunked),
        }
    });
    let ask = |path: &str, limit| {
        let request = Request::get(&url(&server.url(path)))
            .compressed()
            .limit(limit);
        client(settings()).send(request).and_then(Response::bytes)
    };
    for path in ["/claim", "/length", "/chunked", "/gzip"] {
        assert!(
            matches!(kind(ask(path, 4999)), ErrorKind::TooLarge { limit: 4999 }),
            "{path}"
        );
    }
    for path in ["/length", "/chunked", "/gzip"] {
        assert_eq!(ask(path, 5000).expect("a body").len(), 5000, "{path}");
    }
    assert_eq!(ask("/fits", 4999).expect("a body"), vec![b'x'; 4999]);
    assert_eq!(server.asked()[0].header("accept-encoding"), Some("gzip"));
}

#[test]
fn what_is_not_asked_to_be_compressed_stays_as_it_comes() {
    let server = Server::new(|_| Reply::new(200, "content").gzip());
    let body = get(&server.url("/"))
        .and_then(Response::bytes)
        .expect("a body");
    assert_eq!(body[..2], [0x1f, 0x8b]);
}

#[test]
fn a_body_that_ends_early_is_no_body() {
    let server = Server::new(|asked| match asked.target.as_str() {
        "/cut" => Reply::new(200, vec![7; 1000]).delivery(Delivery::CutAfter(10)),
        "/gzip" => Reply::new(200, vec![7; 100_000])
            .gzip()
            .delivery(Delivery::CutAfter(30)),
        _ => Reply::new(200, "no gzip").header("content-encoding", "gzip"),
    });
    let ask = |path: &str| {
        let request = Request::get(&url(&server.url(path))).compressed();
        kind(client(settings()).send(request).and_then(Response::bytes))
    };
    assert!(matches!(ask("/cut"), ErrorKind::Cut { received: 10 }));
    assert!(matches!(ask("/gzip"), ErrorKind::Cut { received: 30 }));
    assert!(matches!(ask("/wrong"), ErrorKind::Encoding { .. }));
}

#[test]
fn waiting_has_an_end() {
    let server = Server::new(|asked| match asked.target.as_str() {
        "/head" => {
            thread::sleep(Duration::from_millis(600));
            Reply::new(200, "late")
        }
        "/body" => Reply::new(200, "12345").delivery(Delivery::StallAfter(2)),
        _ => {
            Reply::new(200, vec![0; 500]).delivery(Delivery::Trickle(1, Duration::from_millis(10)))
        }
    });
    let quick = client(Settings {
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            idle: Duration::from_millis(200),
            total: Duration::from_millis(500),
        },
        ..settings()
    });
    for (path, expected) in [
        ("/head", Waiting::Answer),
        ("/body", Waiting::Body),
        // Each piece comes in time, all of them together do not.
        ("/trickle", Waiting::Whole),
    ] {
        let request = Request::get(&url(&server.url(path)));
        match kind(quick.send(request).and_then(Response::bytes)) {
            ErrorKind::Timeout { waiting, .. } => assert_eq!(waiting, expected, "{path}"),
            other => panic!("{path}: {other}"),
        }
    }
}

#[test]
fn the_user_may_stop_at_any_time() {
    let server = Server::new(|_| Reply::new(200, "12345").delivery(Delivery::StallAfter(2)));
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let client = client(Settings {
        interrupt: Some(Arc::new(move || asked.load(Ordering::Relaxed))),
        retry: Retry {
            times: 1,
            pause: Duration::from_secs(15),
            longest: Duration::from_secs(15),
        },
        ..settings()
    });
    let mut body = client
        .send(Request::get(&url(&server.url("/"))))
        .expect("an answer")
        .into_body();
    let mut two = [0; 2];
    body.read_exact(&mut two).expect("what has come");
    let started = Instant::now();
    let later = Arc::clone(&stop);
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        later.store(true, Ordering::Relaxed);
    });
    let error = body.read(&mut two).expect_err("stopped");
    let error = Error::from_read(error).expect("one of ours");
    assert!(matches!(error.kind, ErrorKind::Stopped));
    // In the pause before another try as well.
    let again = client.retrying(|| -> Result<(), Error> {
        Err(Error::new(
            &url("https://a.test/"),
            ErrorKind::Cut { received: 0 },
        ))
    });
    assert!(matches!(kind(again), ErrorKind::Stopped));
    assert!(started.elapsed() < Duration::from_secs(5));
    stopper.join().expect("the stopper");
}

#[test]
fn a_failure_is_tried_again_as_often_as_is_said() {
    let client = client(Settings {
        retry: Retry {
            times: 2,
            pause: Duration::from_millis(1),
            longest: Duration::from_secs(1),
        },
        ..settings()
    });
    let mut tries = 0;
    let mut attempt = |good: u32, code| {
        tries = 0;
        let result = client.retrying(|| {
            tries += 1;
            if tries >= good {
                return Ok(tries);
            }
            let kind = ErrorKind::Status {
                code,
                reason: None,
                retry_after: None,
            };
            Err(Error::new(&url("https://a.test/"), kind))
        });
        (result.ok(), tries)
    };
    assert_eq!(attempt(3, 503), (Some(3), 3));
    assert_eq!(attempt(4, 503), (None, 3));
    assert_eq!(attempt(2, 404), (None, 1));
}

#[test]
fn proxies_are_passed_through() {
    let server = Server::tls(|_| Reply::new(200, "behind"));
    let proxy = Proxy::to(&server, Some("Basic bWU6d29yZA=="));
    let through = |spelled: String, bypass: &str| {
        let mut proxies = Proxies::none();
        proxies.set_https("test", &spelled).expect("a proxy");
        proxies.set_bypass(bypass);
        client(Settings {
            proxies,
            ..settings()
        })
    };
    let target = url("https://registry.test/x");
    let spelled = format!("http://me:word@{}", proxy.authority());
    let request = Request::get(&target).secret("authorization", "Bearer t0ken");
    let body = through(spelled.clone(), "")
        .send(request.clone())
        .and_then(Response::bytes);
    assert_eq!(body.expect("an answer"), b"behind");
    let asked = &proxy.asked()[0];
    assert_eq!(
        (asked.method.as_str(), asked.target.as_str()),
        ("CONNECT", "registry.test:443")
    );
    assert_eq!(asked.header("authorization"), None);
    assert_eq!(
        server.asked()[0].header("authorization"),
        Some("Bearer t0ken")
    );
    assert_eq!(server.asked()[0].header("proxy-authorization"), None);
    // One that wants to know who asks.
    let error = through(proxy.url(), "")
        .send(request)
        .map(|_| ())
        .expect_err("refused");
    assert!(
        matches!(&error.kind, ErrorKind::Connect { proxy: Some(_), .. }),
        "{error}"
    );
    assert!(error.to_string().contains(&proxy.authority()), "{error}");
    // This machine is reached without it.
    let count = proxy.asked().len();
    let direct = through(spelled, "").send(Request::get(&url(&server.url("/"))));
    assert_eq!(
        direct.and_then(Response::bytes).expect("an answer"),
        b"behind"
    );
    assert_eq!(proxy.asked().len(), count);
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let gone = free.local_addr().expect("an address");
    drop(free);
    let mut proxies = Proxies::none();
    proxies
        .set_https("test", &format!("http://me:word@{gone}"))
        .expect("a proxy");
    let client = client(Settings {
        proxies,
        ..settings()
    });
    let error = client
        .send(Request::get(&url("https://registry.test/")))
        .map(|_| ())
        .expect_err("refused");
    assert!(
        matches!(error.kind, ErrorKind::Refused { proxy: Some(_) }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains(&gone.to_string()) && !text.contains("word"),
        "{text}"
    );
}
