//! A server within the test: a closure that is shown each message of the client
//! and says what comes back.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::connection::{Post, Words};
use super::{Deadline, Failure, Logs, Options, Session};
use crate::mcp::http::Rules;
use crate::mcp::stdio::Limits;
use crate::mcp::wire;

/// What a server writes: lines. Without it, the connection ends.
pub(crate) type Lines = mpsc::UnboundedSender<String>;

struct Fake {
    sent: mpsc::UnboundedSender<Value>,
    lines: mpsc::UnboundedReceiver<String>,
}

impl Transport<RoleClient> for Fake {
    type Error = Infallible;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let text = wire::text(&item).expect("JSON");
        let _ = self.sent.send(serde_json::from_slice(&text).expect("JSON"));
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = self.lines.recv().await?;
        Some(wire::server_message(&line).expect("a message"))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Options that suit a server within the test.
pub(crate) fn options() -> Options {
    Options {
        opening: Duration::from_secs(5),
        call: Some(Duration::from_secs(5)),
        stdio: Limits::new("/nowhere".into()),
        http: Rules::default(),
        room: super::Room::default(),
    }
}

/// A session with a server that does what `script` says. It is shown every
/// message; what it does not answer itself is answered as [`usual`] does. The
/// connection ends when the script says `false`.
pub(crate) async fn session(
    name: &str,
    options: &Options,
    mut script: impl FnMut(&Value, &Lines) -> bool + Send + 'static,
) -> Result<(Session, Logs), Failure> {
    let (sent, mut seen) = mpsc::unbounded_channel::<Value>();
    let (to, lines) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(message) = seen.recv().await {
            if !script(&message, &to) {
                break;
            }
        }
    });
    let post = Post {
        secrets: crate::mcp::credential::Secrets::default(),
        room: options.room.clone(),
        words: Box::new(|| Words {
            stderr: vec!["the last line".to_owned()],
            ..Words::default()
        }),
        dying: Duration::ZERO,
    };
    let deadline = Deadline::after(options.opening);
    Session::over(name, Fake { sent, lines }, post, options, deadline).await
}

/// Answers what every server answers.
pub(crate) fn usual(message: &Value, lines: &Lines) {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "serverInfo": {"name": "fake", "version": "1"},
            "capabilities": {"tools": {}, "logging": {}},
            "instructions": "Be gentle.",
        }),
        Some("tools/list") => json!({"tools": [{"name": "echo", "inputSchema": {}}]}),
        Some("tools/call") => json!({"content": [], "params": message["params"]}),
        _ => return,
    };
    answer(message, lines, &result.to_string());
}

/// Answers a request with this text as the result.
pub(crate) fn answer(message: &Value, lines: &Lines, result: &str) {
    let id = &message["id"];
    say(
        lines,
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
    );
}

/// Writes a line.
pub(crate) fn say(lines: &Lines, line: &str) {
    let _ = lines.send(line.to_owned());
}
