//! Calls of tools: to their server, and the answer back.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rmcp::model::ErrorData;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::Bridge;
use crate::mcp::arguments;
use crate::mcp::members::{Members, object};
use crate::mcp::serve::upstream::{Upstream, lock};
use crate::mcp::session::{CallError, Heard};
use crate::spec::near;

/// How many calls may be on their way.
const CALLS: usize = 4096;

impl Bridge {
    /// Gives up the call that the host names.
    pub(super) fn cancel(&self, params: Option<&RawValue>) {
        let cancelled: Option<Cancelled<'_>> = params.and_then(|params| object(params.get()).ok());
        if let Some(cancelled) = cancelled
            && let Some(call) = lock(&self.calls).remove(&key(cancelled.request_id))
        {
            let _ = call.send(cancelled.reason);
        }
    }

    /// Starts a call of a tool.
    pub(super) async fn start(
        self: &Arc<Self>,
        id: &RawValue,
        params: Option<&RawValue>,
        tasks: &mut JoinSet<()>,
    ) {
        let (name, params) = match called(params) {
            Ok(called) => called,
            Err(why) => {
                let error = ErrorData::invalid_params(why, None);
                return self.out.error(Some(id), &error).await;
            }
        };
        let (cancel, cancelled) = oneshot::channel();
        if let Err(error) = self.enter(id, cancel) {
            return self.out.error(Some(id), &error).await;
        }
        let (bridge, id) = (Arc::clone(self), id.to_owned());
        tasks.spawn(async move {
            bridge.greeted().await;
            match bridge.find(&name).await {
                Ok((upstream, own)) => {
                    let params = Params::of(params, own);
                    bridge.call(&id, &upstream, params, cancelled).await;
                }
                Err(error) => {
                    // One that was given up meanwhile is answered, or wants no answer.
                    if lock(&bridge.calls).contains_key(&key(&id)) {
                        bridge.out.error(Some(&id), &error).await;
                    }
                }
            }
            lock(&bridge.calls).remove(&key(&id));
        });
    }

    /// The server that has a tool, and the tool's own name. A tool that is not
    /// there may be one of a server that is being opened.
    async fn find(&self, name: &str) -> Result<(Arc<Upstream>, String), ErrorData> {
        let look = || {
            let table = self.table();
            let (place, own) = table.find(name)?;
            Some((Arc::clone(self.upstreams.get(place)?), own.to_owned()))
        };
        if let Some(found) = look() {
            return Ok(found);
        }
        self.settle().await;
        self.renew().await;
        look().ok_or_else(|| self.unknown(name))
    }

    /// A tool that is not there, and perhaps another that is meant.
    fn unknown(&self, name: &str) -> ErrorData {
        let mut text = format!("Unknown tool: {name}");
        let table = self.table();
        // A name that shows what its server was given is for the list of tools alone.
        let may_be_shown = |near: &&str| {
            let (place, own) = table.find(near)?;
            Some(self.upstreams.get(place)?.shown(own) == own)
        };
        let near = near::nearest(name, table.names());
        if let Some(near) = near.filter(|near| may_be_shown(near) == Some(true)) {
            text.push_str("; did you mean ");
            text.push_str(near);
            text.push('?');
        }
        ErrorData::invalid_params(text, None)
    }

    /// Notes a call that is on its way, and how it is cancelled.
    fn enter(
        &self,
        id: &RawValue,
        cancel: oneshot::Sender<Option<String>>,
    ) -> Result<(), ErrorData> {
        let mut calls = lock(&self.calls);
        if calls.len() >= CALLS {
            let text = format!("{CALLS} calls are on their way already");
            return Err(ErrorData::internal_error(text, None));
        }
        match calls.entry(key(id)) {
            Entry::Occupied(_) => {
                let text = "a call with this id is on its way already";
                Err(ErrorData::invalid_request(text, None))
            }
            Entry::Vacant(place) => {
                place.insert(cancel);
                Ok(())
            }
        }
    }

    /// Sees a call to its end. A call that the host cancels is not answered.
    async fn call(
        &self,
        id: &RawValue,
        upstream: &Upstream,
        Params { params, token }: Params,
        cancelled: oneshot::Receiver<Option<String>>,
    ) {
        let cancelled = async {
            match cancelled.await {
                Ok(reason) => reason,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::pin!(cancelled);
        let session = tokio::select! {
            session = upstream.session() => session,
            _ = &mut cancelled => return,
        };
        let session = match session {
            Ok(session) => session,
            Err(failure) => {
                let error = CallError::Failed(failure);
                return self.failed(id, upstream, error).await;
            }
        };
        let mut call = session.call(params, token.is_some());
        loop {
            let heard = tokio::select! {
                heard = call.next() => heard,
                reason = &mut cancelled => return call.cancel(reason),
            };
            match heard {
                Heard::Progress(progress) => {
                    if let (Some(token), Some(mut members)) = (&token, Members::of(&progress)) {
                        members.set("progressToken", token.get().to_owned());
                        self.out
                            .notify("notifications/progress", &members.text())
                            .await;
                    }
                }
                Heard::End(Ok(result)) => return self.out.result(id, result.get()).await,
                Heard::End(Err(error)) => return self.failed(id, upstream, error).await,
            }
        }
    }

    async fn failed(&self, id: &RawValue, upstream: &Upstream, error: CallError) {
        let error = match error {
            CallError::Answered(error) => error,
            CallError::Failed(failure) => {
                upstream.failed();
                let failure = upstream.named(failure);
                ErrorData::internal_error(failure.to_string(), None)
            }
        };
        self.out.error(Some(id), &error).await;
    }
}

/// What an identifier of the host is told from others by, itself JSON: a text by its
/// characters, as `"a"` and `"\u0061"` are the same, and a number as it is written. JSON
/// has no one reading of numbers, and what a double makes one of `1` and `1.0` would make
/// one of large ones that differ, too: a call that is not the one meant would be cancelled.
fn key(id: &RawValue) -> String {
    match serde_json::from_str::<String>(id.get()) {
        Ok(text) => Value::String(text).to_string(),
        Err(_) => id.get().to_owned(),
    }
}

/// The tool that is called, and the parameters of the call.
fn called(params: Option<&RawValue>) -> Result<(String, Box<RawValue>), String> {
    let text = params.map_or("null", RawValue::get);
    let Ok(Named { name }) = object(text) else {
        return Err("tools/call needs the name of a tool".to_owned());
    };
    let params = arguments::read(text)
        .map_err(|error| format!("the parameters cannot be passed on: what is there {error}"))?;
    Ok((name, params))
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancelled<'t> {
    #[serde(borrow)]
    request_id: &'t RawValue,
    #[serde(default)]
    reason: Option<String>,
}

/// What a server is asked, and the token by which the host wants progress.
struct Params {
    params: Box<RawValue>,
    token: Option<Box<RawValue>>,
}

impl Params {
    /// The host's parameters with the tool's own name, and without its token.
    fn of(params: Box<RawValue>, own: String) -> Self {
        let mut token = None;
        let Some(mut members) = Members::of(&params) else {
            return Self { params, token };
        };
        members.set("name", Value::String(own).to_string());
        if let Some(mut meta) = members.get("_meta").and_then(Members::of) {
            token = meta.remove("progressToken");
            if meta.is_empty() {
                members.remove("_meta");
            } else {
                members.set("_meta", meta.text());
            }
        }
        let params = members.raw();
        Self { params, token }
    }
}
