//! A server of MCP in a few lines, and a client connected to it.

use std::future::Future;
use std::time::Duration;

use apkit::mcp::credential::Credentials;
use apkit::mcp::http::{self, Reconnect, Rules, Timeouts, Watch};
use apkit::mcp::plan::Endpoint;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};

use crate::web::{Asked, Reply};

pub(super) type Service = RunningService<RoleClient, ClientConfig>;

/// Runs asynchronous work to its end, which must not be far.
pub(super) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(30), work).await })
        .expect("an end")
}

pub(super) fn rules() -> Rules {
    Rules {
        timeouts: Timeouts {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(10),
            idle: Duration::from_secs(10),
            whole: Duration::from_secs(10),
            silence: Duration::from_secs(10),
            endpoint: Duration::from_secs(10),
        },
        reconnect: Reconnect {
            times: 3,
            pause: Duration::from_millis(20),
            longest: Duration::from_millis(80),
        },
        ..Rules::default()
    }
}

pub(super) fn endpoint(url: &str, headers: &[(&str, &str)]) -> Endpoint {
    Endpoint::new(url, pairs(headers)).expect("an address")
}

pub(super) fn credentials(headers: &[(&str, &str)]) -> Credentials {
    Credentials {
        headers: pairs(headers),
        ..Credentials::default()
    }
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

pub(super) fn info() -> ClientConfig {
    ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("test", "1"),
    )
    .with_protocol_version(ProtocolVersion::V_2025_11_25)
}

/// Connects over Streamable HTTP.
pub(super) async fn streamable(
    endpoint: &Endpoint,
    credentials: &Credentials,
    rules: &Rules,
) -> (Result<Service, ClientInitializeError>, Watch) {
    let transport = http::streamable(endpoint, credentials, rules).expect("a transport");
    let watch = transport.watch();
    (info().serve(transport).await, watch)
}

/// The same, without anything special.
pub(super) async fn plain(url: &str) -> Service {
    let (service, _) = streamable(&endpoint(url, &[]), &Credentials::default(), &rules()).await;
    service.expect("a session")
}

/// What connecting to `url` fails with.
pub(super) fn refusal(url: &str, headers: &[(&str, &str)], rules: &Rules) -> String {
    run(async {
        let (service, _) =
            streamable(&endpoint(url, headers), &Credentials::default(), rules).await;
        match service {
            Ok(_) => panic!("that should have failed"),
            Err(error) => error.to_string(),
        }
    })
}

/// The message in the body of a request.
pub(super) fn message(asked: &Asked) -> Value {
    serde_json::from_slice(&asked.body).unwrap_or(Value::Null)
}

/// What a good server without streams answers.
pub(super) fn answer(asked: &Asked) -> Reply {
    match asked.method.as_str() {
        "POST" => {
            let message = message(asked);
            match result(&message) {
                Some(result) => Reply::json(200, &reply(&message, &result)),
                None => Reply::new(202, ""),
            }
        }
        "DELETE" => Reply::new(200, ""),
        _ => Reply::new(405, ""),
    }
}

/// The result of a request; none for anything else.
pub(super) fn result(message: &Value) -> Option<Value> {
    message.get("id")?;
    Some(match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "probe", "version": "1"},
        }),
        "tools/list" => json!({
            "tools": [{"name": "tide", "inputSchema": {"type": "object"}}],
        }),
        _ => json!({}),
    })
}

pub(super) fn reply(message: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

pub(super) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// The names of the server's tools, or what went wrong.
pub(super) async fn tools(service: &Service) -> Result<Vec<String>, String> {
    let tools = service.list_all_tools().await;
    let tools = tools.map_err(|error| error.to_string())?;
    Ok(tools.into_iter().map(|tool| tool.name.into()).collect())
}

/// Waits until `look` finds something.
pub(super) async fn until<T>(look: impl Fn() -> Option<T>) -> T {
    loop {
        match look() {
            Some(found) => return found,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}
