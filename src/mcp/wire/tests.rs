use super::*;

const RESULT: &str =
    r#"{ "content":[{"type":"text","text":"x","own":1.0}],"n":12345678901234567890123 }"#;

fn answer_of(message: ServerJsonRpcMessage) -> String {
    match message.into() {
        Incoming::Answer(RequestId::Number(7), Ok(result)) => result.get().to_owned(),
        _ => panic!("no answer"),
    }
}

#[test]
fn results_keep_their_text_here_and_through_rmcp() {
    let line = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{RESULT}}}"#);
    assert_eq!(answer_of(server_message(&line).expect("a message")), RESULT);
    let through = serde_json::from_str(&veiled(&line)).expect("a message");
    assert_eq!(answer_of(through), RESULT);
    // What rmcp alone makes of it.
    let lossy = answer_of(serde_json::from_str(&line).expect("a message"));
    assert!(!lossy.contains("own"), "{lossy}");
}

#[test]
fn the_answer_to_initialize_has_its_type() {
    let line = r#"{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-06-18","capabilities":{"x":{}},"serverInfo":{"name":"a","version":"1"}}}"#;
    assert_eq!(veiled(line), line);
    let ServerJsonRpcMessage::Response(response) = server_message(line).expect("a message") else {
        panic!("no answer");
    };
    assert!(matches!(response.result, ServerResult::InitializeResult(_)));
}

#[test]
fn other_messages_are_read_alike() {
    let read = |message: ServerJsonRpcMessage| match message.into() {
        Incoming::Answer(id, Err(error)) => {
            format!("{id} {} {} {:?}", error.code.0, error.message, error.data)
        }
        Incoming::Request(id, method) => format!("{id} {method}"),
        Incoming::Notification(method, params) => {
            format!(
                "{method} {}",
                params.map_or(String::new(), |params| params.get().into())
            )
        }
        _ => "?".to_owned(),
    };
    for (line, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"no","data":{"a":[1]}}}"#,
            r#"1 -32099 no Some(Object {"a": Array [Number(1)]})"#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"roots/list"}"#,
            "x roots/list",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
            "notifications/tools/list_changed ",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/own","params":{"a":1}}"#,
            r#"notifications/own {"a":1}"#,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"a":1.50}}"#,
            r#"notifications/progress {"progressToken":1,"progress":1,"a":1.50}"#,
        ),
    ] {
        assert_eq!(read(server_message(line).expect("a message")), expected);
        let rmcp = serde_json::from_str(&veiled(line)).expect("a message");
        assert_eq!(read(rmcp), expected);
    }
    for line in [
        "",
        "[]",
        "{}",
        r#"{"id":1}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
    ] {
        assert!(server_message(line).is_err(), "{line}");
    }
    let odd =
        server_message(r#"{"jsonrpc":"2.0","id":1,"error":{"message":5}}"#).expect("a message");
    assert_eq!(read(odd), "1 -32603 5 None");
}
