//! Which machines are reached; no name is looked up for real.

use std::net::IpAddr;
use std::sync::Arc;

use apkit::mcp::credential::Credentials;
use apkit::mcp::http::{Rules, StartError};
use apkit::net::{Egress, Proxies, Trust};

use super::support::{answer, endpoint, refusal, rules, run, streamable, tools};
use crate::web::{AUTHORITY, Proxy, Reply, Server};

/// Rules for which every name is at `addresses`.
fn at(addresses: &[&str]) -> Rules {
    let addresses: Vec<IpAddr> = addresses
        .iter()
        .map(|address| address.parse().expect("an address"))
        .collect();
    Rules {
        lookup: Some(Arc::new(move |_| Ok(addresses.clone()))),
        trust: Trust::Only(vec![AUTHORITY.into()]),
        ..rules()
    }
}

fn allowing(mut rules: Rules, entry: &str) -> Rules {
    rules.egress = Egress::default().allow(entry).expect("an entry");
    rules
}

#[test]
fn names_are_judged_by_where_they_lead() {
    for (address, range) in [
        ("127.0.0.1", "this machine"),
        ("::1", "this machine"),
        ("10.1.2.3", "a private address"),
        (
            "169.254.169.254",
            "link-local, where clouds answer about their machines",
        ),
        ("fd00:ec2::254", "a cloud's metadata service"),
        ("0.0.0.0", "unspecified"),
    ] {
        let error = refusal("https://registry.test/mcp", &[], &at(&[address]));
        let address = match address.contains(':') {
            true => format!("[{address}]"),
            false => address.to_owned(),
        };
        let said = format!(
            "failed to reach https://registry.test/mcp: registry.test is at {address}, which is {range}; no connection is made there"
        );
        assert!(error.contains(&said), "{error}");
    }
}

#[test]
fn literal_addresses_are_judged_too() {
    for (url, range) in [
        ("https://169.254.169.254/mcp", "link-local"),
        ("https://10.0.0.1/mcp", "private"),
        ("https://[fd00:ec2::254]/mcp", "metadata"),
        ("https://[::ffff:192.168.0.1]/mcp", "private"),
        ("https://0.0.0.0/mcp", "unspecified"),
    ] {
        let error = refusal(url, &[], &rules());
        assert!(error.contains(range), "{error}");
    }
}

#[test]
fn what_is_judged_is_what_is_connected_to() {
    let server = Server::tls(answer);
    let url = format!("https://registry.test:{}/mcp", server.port());
    // Of several addresses only those that pass are tried.
    let rules = allowing(at(&["169.254.169.254", "127.0.0.1"]), "127.0.0.1");
    run(async {
        let (service, _) = streamable(&endpoint(&url, &[]), &Credentials::default(), &rules).await;
        let service = service.expect("a session");
        assert_eq!(tools(&service).await.expect("tools"), ["tide"]);
        service.cancel().await.expect("an end");
    });
    let named = allowing(at(&["127.0.0.1"]), "registry.test");
    run(async {
        let (service, _) = streamable(&endpoint(&url, &[]), &Credentials::default(), &named).await;
        service.expect("a session").cancel().await.expect("an end");
    });
    let named = allowing(at(&["169.254.169.254"]), "registry.test");
    assert!(refusal(&url, &[], &named).contains("link-local"));
}

#[test]
fn a_redirect_is_judged_anew() {
    let server = Server::tls(|asked| match asked.method.as_str() {
        "GET" => Reply::redirect(302, "https://169.254.169.254/latest"),
        _ => answer(asked).header("mcp-session-id", "s-1"),
    });
    let url = format!("https://registry.test:{}/mcp", server.port());
    let rules = allowing(at(&["127.0.0.1"]), "registry.test");
    run(async {
        let (service, watch) =
            streamable(&endpoint(&url, &[]), &Credentials::default(), &rules).await;
        let service = service.expect("a session");
        let last = super::support::until(|| watch.last()).await;
        assert!(last.contains("link-local"), "{last}");
        service.cancel().await.expect("an end");
    });
}

#[test]
fn localhost_is_this_machine() {
    let server = Server::new(answer);
    let url = format!("http://localhost:{}/mcp", server.port());
    run(async {
        let endpoint = endpoint(&url, &[]);
        let (service, _) =
            streamable(&endpoint, &Credentials::default(), &at(&["127.0.0.1"])).await;
        service.expect("a session").cancel().await.expect("an end");
    });
    let error = refusal(&url, &[], &at(&["93.184.216.34"]));
    assert!(error.contains("another machine"), "{error}");
    let plain = endpoint("http://app.localhost/mcp", &[]);
    let refused = apkit::mcp::http::streamable(&plain, &Credentials::default(), &rules());
    assert!(matches!(refused, Err(StartError::Plain { .. })));
}

#[test]
fn behind_a_proxy_names_are_its_business_and_literals_are_not() {
    let server = Server::tls(answer);
    let proxy = Proxy::to(&server, None);
    let mut rules = at(&["10.0.0.1"]);
    let mut proxies = Proxies::none();
    proxies
        .set_https("HTTPS_PROXY", &proxy.url())
        .expect("a proxy");
    rules.proxies = proxies;
    run(async {
        let endpoint = endpoint("https://registry.test/mcp", &[("X-Tenant", "tide")]);
        let (service, _) = streamable(&endpoint, &Credentials::default(), &rules).await;
        service.expect("a session").cancel().await.expect("an end");
    });
    assert!(
        proxy
            .asked()
            .iter()
            .all(|asked| asked.header("x-tenant").is_none())
    );
    let before = proxy.asked().len();
    let error = refusal("https://10.0.0.1/mcp", &[], &rules);
    assert!(error.contains("private"), "{error}");
    assert_eq!(proxy.asked().len(), before);
}
