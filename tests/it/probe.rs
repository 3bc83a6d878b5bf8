//! The probe, an MCP server for tests (`tests/probe`), and a client for it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use apkit::mcp::credential::Credentials;
use apkit::mcp::plan::Process;
use apkit::mcp::stdio::{Limits, StartError, Stdio, Watch};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation,
    ProtocolVersion,
};
use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};

use crate::support::Place;

/// When the program, or the last of its sources, was changed.
fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path)
        .and_then(|file| file.modified())
        .ok()
}

/// The program. It stands beside the tests, and is built if only they were.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let test = std::env::current_exe().expect("this program's path");
        let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/it");
        let name = format!("probe{}", std::env::consts::EXE_SUFFIX);
        let program = profile.join("examples").join(name);
        let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/probe"));
        let sources = sources.expect("the probe's sources");
        let newest = sources
            .filter_map(|source| changed(&source.expect("an entry").path()))
            .max();
        if changed(&program) < newest {
            let name = profile.file_name().expect("a profile").to_string_lossy();
            let name = if name == "debug" { "dev" } else { &name };
            let built = Command::new(env!("CARGO"))
                .args(["build", "--quiet", "--example", "probe", "--profile", name])
                .arg("--manifest-path")
                .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
                .arg("--target-dir")
                .arg(profile.parent().expect("the target directory"))
                .status();
            assert!(built.expect("cargo runs").success(), "the probe builds");
        }
        program
    })
}

/// The usual limits, with less patience.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits::new(env!("CARGO_BIN_EXE_apkit").into());
    limits.send = Duration::from_secs(5);
    limits.end_of_input = Duration::from_secs(5);
    limits
}

/// Starts the probe in `root`, with `data` beside it.
pub(crate) fn process(place: &Place, args: &[&str]) -> Process {
    // As on macOS, the temporary directory may be named through a link.
    let base = place.path().canonicalize().expect("a directory");
    let root = base.join("root");
    std::fs::create_dir_all(&root).expect("a directory");
    let data = base.join("data");
    let env = [("PLUGIN_ROOT", &root), ("PLUGIN_DATA", &data)]
        .map(|(name, path)| (OsString::from(name), path.into()));
    Process {
        program: program().to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: BTreeMap::from(env),
        cwd: root,
        create_cwd: false,
        content: None,
    }
}

/// A started server, not yet spoken to.
pub(crate) async fn start(process: &Process, limits: &Limits) -> Result<Stdio, StartError> {
    Stdio::start(process, &Credentials::default(), limits).await
}

pub(crate) type Running = RunningService<RoleClient, ClientConfig>;

/// Shakes hands.
pub(crate) async fn greet(server: Stdio) -> Result<Running, ClientInitializeError> {
    let own = Implementation::new("tests", "1");
    let info = ClientConfig::new(ClientCapabilities::default(), own)
        .with_protocol_version(ProtocolVersion::V_2025_11_25);
    info.serve(server).await
}

/// A server that runs and has been greeted.
pub(crate) async fn open(place: &Place, args: &[&str], limits: &Limits) -> (Running, Watch) {
    let server = start(&process(place, args), limits).await;
    let server = server.expect("the probe starts");
    let watch = server.watch();
    (greet(server).await.expect("a handshake"), watch)
}

pub(crate) async fn call(
    client: &Running,
    tool: &'static str,
    arguments: Value,
) -> Result<CallToolResult, ServiceError> {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let params = CallToolRequestParams::new(tool).with_arguments(arguments);
    client.call_tool(params).await
}

/// The text a call gave.
pub(crate) async fn text(client: &Running, tool: &'static str, arguments: Value) -> String {
    let result = call(client, tool, arguments).await.expect("an answer");
    let content = result.content.first().and_then(|content| content.as_text());
    content.expect("a text").text.clone()
}

/// What the probe was given.
pub(crate) async fn report(client: &Running) -> Value {
    let text = text(client, "report", json!({})).await;
    serde_json::from_str(&text).expect("JSON")
}

/// Whether a process is there and not only waiting to be reaped.
pub(crate) fn runs(id: u32) -> bool {
    let zombie = std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| rest.starts_with(" Z"))
    });
    apkit::sys::is_running(id) && !zombie
}

/// Waits until a condition holds. `false` if it never did.
pub(crate) fn soon(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + patience;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
