//! Redirects, with two listeners on two addresses of this machine.

use apkit::mcp::credential::Credentials;
use apkit::net::Trust;

use super::support::{
    answer, credentials, endpoint, message, plain, refusal, rules, run, streamable, tools, until,
};
use crate::web::{AUTHORITY, Asked, Reply, Server};

const HEADERS: [(&str, &str); 2] = [("X-Tenant", "tide"), ("User-Agent", "theirs")];

#[test]
fn messages_never_follow_to_another_origin() {
    let other = Server::elsewhere(answer);
    for status in [301, 302, 303, 307, 308] {
        let to = other.url("/there?word");
        let server = Server::new(move |_| Reply::redirect(status, &to));
        let error = refusal(&server.url("/mcp?word"), &HEADERS, &rules());
        for part in [
            format!(
                "{} answers POST with a redirect ({status})",
                server.url("/mcp?…")
            ),
            format!("to {}", other.url("/there?…")),
            "do not follow to another origin".to_owned(),
        ] {
            assert!(error.contains(&part), "{error}");
        }
        assert!(!error.contains("word"), "{error}");
    }
    assert_eq!(other.targets(), Vec::<String>::new());
}

#[test]
fn a_message_is_sent_again_within_its_origin() {
    for status in [307, 308] {
        let server = Server::new(move |asked| match asked.target.as_str() {
            "/mcp" => Reply::redirect(status, "/there?x"),
            _ => answer(asked),
        });
        run(async {
            let given = credentials(&[("Authorization", "Bearer word")]);
            let endpoint = endpoint(&server.url("/mcp"), &HEADERS);
            let (service, _) = streamable(&endpoint, &given, &rules()).await;
            let service = service.expect("a session");
            assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
            service.cancel().await.expect("an end");
        });
        let there: Vec<_> = server
            .asked()
            .into_iter()
            .filter(|asked| asked.target == "/there?x")
            .collect();
        assert_eq!(message(&there[0])["method"], "initialize");
        for asked in there {
            assert_eq!(asked.header("x-tenant"), Some("tide"));
            assert_eq!(asked.header("authorization"), Some("Bearer word"));
        }
    }
}

#[test]
fn a_message_never_becomes_a_get() {
    for status in [301, 302, 303] {
        let server = Server::new(move |asked| match asked.target.as_str() {
            "/mcp" => Reply::redirect(status, "/there"),
            _ => answer(asked),
        });
        let error = refusal(&server.url("/mcp"), &[], &rules());
        assert!(
            error.contains("as a GET, which loses the message"),
            "{error}"
        );
        assert!(error.contains(&server.url("/there")), "{error}");
        assert_eq!(server.targets(), ["/mcp"]);
    }
}

#[test]
fn redirects_end() {
    let server = Server::new(|_| Reply::redirect(307, "/mcp"));
    let error = refusal(&server.url("/mcp"), &[], &rules());
    assert!(error.contains("leads on and on"), "{error}");
    assert_eq!(server.asked().len(), 6);
}

#[test]
fn a_stream_may_lead_elsewhere_and_takes_nothing_along() {
    let back = Server::elsewhere(|_| Reply::new(405, ""));
    let third = back.url("/third");
    let other = Server::new(move |_| Reply::redirect(302, &third));
    let to = other.url("/there");
    let server = Server::elsewhere(move |asked: &Asked| match asked.method.as_str() {
        "GET" => Reply::redirect(302, &to),
        "POST" if message(asked)["method"] == "initialize" => {
            answer(asked).header("mcp-session-id", "s-1")
        }
        _ => answer(asked),
    });
    run(async {
        let given = credentials(&[("Authorization", "Bearer word")]);
        let endpoint = endpoint(&server.url("/mcp"), &HEADERS);
        let (service, _) = streamable(&endpoint, &given, &rules()).await;
        let service = service.expect("a session");
        until(|| (!back.asked().is_empty()).then_some(())).await;
        service.cancel().await.expect("an end");
    });
    for asked in [other.asked(), back.asked()].concat() {
        assert_eq!(asked.method, "GET");
        let mut names: Vec<_> = asked.headers.keys().map(String::as_str).collect();
        names.retain(|name| *name != "user-agent");
        assert_eq!(names, ["accept", "accept-encoding", "host"]);
        assert!(
            asked
                .header("user-agent")
                .expect("one")
                .starts_with("apkit/")
        );
    }
    let last = server.asked().pop().expect("a request");
    assert_eq!(last.method, "DELETE");
    assert_eq!(last.header("x-tenant"), Some("tide"));
}

#[test]
fn protection_is_never_given_up() {
    let plain_server = Server::new(answer);
    let to = plain_server.url("/mcp");
    let server = Server::tls(move |_| Reply::redirect(307, &to));
    let mut rules = rules();
    rules.trust = Trust::Only(vec![AUTHORITY.into()]);
    let error = refusal(&server.url("/mcp"), &[], &rules);
    assert!(error.contains("leads from https: to http:"), "{error}");
    let server = Server::new(|_| Reply::redirect(307, "http://there.example/mcp"));
    let error = refusal(&server.url("/mcp"), &[], &rules);
    assert!(
        error.contains("without https: on another machine"),
        "{error}"
    );
    assert!(plain_server.asked().is_empty());
}

#[test]
fn a_protected_session_works() {
    let server = Server::tls(answer);
    let mut rules = rules();
    rules.trust = Trust::Only(vec![AUTHORITY.into()]);
    run(async {
        let endpoint = endpoint(&server.url("/mcp"), &[]);
        let (service, _) = streamable(&endpoint, &Credentials::default(), &rules).await;
        let service = service.expect("a session");
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
    // Without the authority it is not trusted.
    rules.trust = Trust::Only(Vec::new());
    let error = refusal(&server.url("/mcp"), &[], &rules);
    assert!(error.contains("no protected connection"), "{error}");
}

#[test]
fn a_redirect_cannot_name_a_user() {
    let server = Server::new(|asked| match asked.target.as_str() {
        "/mcp" => {
            let host = asked.header("host").unwrap_or_default();
            Reply::redirect(307, &format!("http://me:word@{host}/there#x"))
        }
        _ => answer(asked),
    });
    run(async {
        plain(&server.url("/mcp"))
            .await
            .cancel()
            .await
            .expect("an end");
    });
    assert!(
        server
            .asked()
            .iter()
            .all(|asked| asked.header("authorization").is_none())
    );
}
