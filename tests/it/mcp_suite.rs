//! The cases of the public conformance suite that need a running server, and what
//! else only a server can see (§7.2, §9): each is told by a server that apkit
//! starts or connects to.

mod isolation;
mod launch;
mod remote;

use std::fs;

use serde_json::{Value, json};

use crate::probe::program;
use crate::support::{Place, Run, finish, manifest, mcp};

/// A package whose program, the probe, has a space in its name.
fn package(place: &Place, path: &str, name: &str, servers: &Value) {
    place.write(&format!("{path}/plugin.json"), manifest(name, ""));
    place.write(&format!("{path}/mcp.json"), mcp(&servers.to_string()));
    let file = place.write(&format!("{path}/bin/probe server"), "");
    fs::copy(program(), file).expect("the probe");
    place.write(&format!("{path}/work dir/x"), "");
}

fn stdio(more: Value) -> Value {
    let mut server = json!({"type": "stdio", "command": "./bin/probe server"});
    let all = server.as_object_mut().expect("an object");
    all.extend(more.as_object().expect("an object").clone());
    server
}

fn run(place: &Place, arguments: &[&str]) -> Run {
    let mut command = place.apkit();
    // What is found by its name is found here, and the store is the test's own.
    let directories = std::env::var_os("PATH").unwrap_or_default();
    command.env("HOME", place.path()).env("PATH", directories);
    finish(command.arg("mcp").args(arguments))
}

/// What a server says it was given.
fn report(place: &Place, package: &str, server: &str) -> Value {
    let run = run(
        place,
        &["call", package, server, "report", "--allow-stdio", "--json"],
    );
    let result: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    result["structuredContent"].clone()
}
