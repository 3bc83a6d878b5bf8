//! `initialize`: which version is spoken, and what the server says of itself.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::connection::Connection;
use super::failure::{Failure, Step};
use crate::mcp::members::{object, within};

/// The version of MCP that is asked for.
pub const LATEST: &str = "2025-11-25";
/// The versions that are spoken, newest first. Later ones have no `initialize`.
pub const VERSIONS: [&str; 4] = [LATEST, "2025-06-18", "2025-03-26", "2024-11-05"];

/// What a server said of itself.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// The version of MCP that is spoken with it.
    pub protocol_version: String,
    /// Its name and version.
    #[serde(default, deserialize_with = "within")]
    pub server_info: Info,
    /// What it offers.
    #[serde(default)]
    pub capabilities: Map<String, Value>,
    /// How it wants to be used.
    #[serde(default)]
    pub instructions: Option<String>,
}

/// The name and the version of a server's program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Info {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

pub(super) async fn initialize(server: &str, connection: &Connection) -> Result<Facts, Failure> {
    let masked = |text: &str| connection.secrets().masked(text).into_owned();
    let params = json!({
        "protocolVersion": LATEST,
        "capabilities": {},
        "clientInfo": {"name": "apkit", "version": env!("CARGO_PKG_VERSION")},
    });
    let answer = connection.ask("initialize", &params).end(None).await;
    let answer = answer.map_err(|error| {
        let error = error.without(connection.secrets());
        error.during(server, Step::Initialize)
    })?;
    let mut facts: Facts = object(answer.get()).map_err(|error| {
        let cause = format!("its answer to initialize cannot be read: {error}");
        Failure::new(server, Step::Initialize, masked(&cause))
    })?;
    let info = &mut facts.server_info;
    for said in [&mut info.name, &mut info.version] {
        *said = masked(said);
    }
    if !VERSIONS.contains(&facts.protocol_version.as_str()) {
        let version: String = masked(&facts.protocol_version).chars().take(40).collect();
        let cause = format!(
            "it speaks version {version:?} of MCP, apkit speaks {}",
            VERSIONS.join(", ")
        );
        return Err(Failure::new(server, Step::Initialize, cause)
            .help("use a release of the server that speaks one of these")
            .lasting());
    }
    connection.notify("notifications/initialized").await;
    Ok(facts)
}
