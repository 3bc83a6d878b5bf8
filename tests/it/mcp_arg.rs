//! `apkit mcp call --arg`.

use serde_json::{Value, json};

use crate::mcp_support::{package_of, run};
use crate::support::Place;
use crate::web::{Asked, Reply, Server};

/// A server whose one tool says which arguments it got.
fn with_schema(place: &Place) -> Server {
    let server = Server::new(|asked: &Asked| {
        let message: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
            }),
            Some("tools/list") => json!({"tools": [{"name": "t", "inputSchema": {
                "type": "object",
                "properties": {
                    "port": {"type": "string"},
                    "days": {"type": "integer"},
                    "exact": {"type": "boolean"},
                    "marks": {"type": "array", "items": {"type": "number"}},
                    "box": {"type": "object"},
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
            }}]}),
            Some("tools/call") => {
                let text = message["params"]["arguments"].to_string();
                json!({"content": [{"type": "text", "text": text}]})
            }
            _ if asked.method == "POST" => return Reply::new(202, ""),
            _ => return Reply::new(405, ""),
        };
        Reply::json(
            200,
            &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
        )
    });
    let entries = json!({"s": {"type": "streamable-http", "url": server.url("/mcp")}});
    package_of(place, "p", &entries);
    server
}

#[test]
fn single_arguments_are_what_the_schema_says() {
    let place = Place::new();
    let _server = with_schema(&place);
    let call = |arguments: &[&str]| run(&place, &[&["call", "p", "s", "t"], arguments].concat());
    let called = call(&[
        "--arg",
        "port=5=6",
        "--arg",
        "days=-3",
        "--arg=exact=true",
        "--arg",
        "marks=[1, 2.5]",
        "--arg",
        "note=null",
        "--args",
        r#"{"box": {"a": "b"}}"#,
    ]);
    assert_eq!(called.status, Some(0), "{called:?}");
    assert_eq!(
        called.stdout,
        "{\"box\":{\"a\":\"b\"},\"days\":-3,\"exact\":true,\"marks\":[1,2.5],\"note\":null,\"port\":\"5=6\"}\n"
    );
    assert_eq!(call(&["--arg", "port="]).stdout, "{\"port\":\"\"}\n");
    for (arguments, said) in [
        (&["--arg", "port"][..], "write NAME=VALUE"),
        (
            &["--arg", "days=many"],
            "`days` has to be an integer, and the value is no JSON: expected value at line 1 column 1",
        ),
        (
            &["--arg", "days=1.5"],
            "`days` has to be an integer, and the value is a number",
        ),
        (
            &["--arg", "box=[1]"],
            "`box` has to be an object, and the value is an array",
        ),
        (
            &["--arg", "marks=1e400"],
            "`marks` has to be an array, and the value holds a number that is out of range at line 1 column 1: 1e400",
        ),
        (
            &["--arg", "markz=[]"],
            "the tool takes no argument `markz`; did you mean `marks`?",
        ),
        (
            &["--arg", "port=a", "--arg", "port=b"],
            "`port` has a value already, by another --arg; a list is JSON, NAME='[1, 2]'",
        ),
        (
            &["--arg", "port=a", "--args", r#"{"port": "b"}"#],
            "`port` has a value already, by --args",
        ),
    ] {
        let called = call(arguments);
        assert_eq!(
            (called.status, called.stderr),
            (Some(2), format!("error: failed to read --arg: {said}\n"))
        );
    }
}
