//! Batches of a host, which version 2025-03-26 alone has (Base protocol: batching).

use std::sync::Arc;

use rmcp::model::ErrorData;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::Bridge;
use crate::mcp::serve::host::{self, Message};
use crate::mcp::serve::upstream::lock;

/// The version with batches.
const VERSION: &str = "2025-03-26";

impl Bridge {
    /// Answers each message of a batch as if it had come alone, or refuses them all.
    pub(super) async fn batch(self: &Arc<Self>, texts: Vec<&str>, tasks: &mut JoinSet<()>) {
        if texts.is_empty() {
            return self.refuse(None, "the batch holds no message").await;
        }
        let version = *lock(&self.version);
        let no_batches = match version {
            Some(VERSION) => None,
            Some(other) => Some(format!(
                "only version {VERSION} of MCP has batches, and this session speaks {other}: send each message by itself"
            )),
            None => Some(format!(
                "only version {VERSION} of MCP has batches, and there they come after initialize: send each message by itself"
            )),
        };
        let mut is_told = false;
        for text in texts {
            match (host::message(text), &no_batches) {
                // Whoever waits for an answer is to be told, by the name it waits for.
                (Ok(Message::Request { id, .. }), Some(why)) => {
                    is_told = true;
                    self.refuse(Some(id), why).await;
                }
                (_, Some(_)) => {}
                (Ok(Message::Request { id, method, .. }), None) if method == "initialize" => {
                    self.refuse(Some(id), "initialize comes alone, not in a batch")
                        .await;
                }
                (message, None) => self.take(message, tasks).await,
            }
        }
        if let Some(why) = no_batches.filter(|_| !is_told) {
            self.refuse(None, &why).await;
        }
    }

    async fn refuse(&self, id: Option<&RawValue>, why: &str) {
        let error = ErrorData::invalid_request(why.to_owned(), None);
        self.out.error(id, &error).await;
    }
}
