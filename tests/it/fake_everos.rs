//! A stand-in for an EverOS server: records every request, answers what a test
//! tells it to, and keeps a model of what a real server would have stored.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) const ADD: &str = "/api/v2/memory/add";
pub(crate) const FLUSH: &str = "/api/v2/memory/flush";
pub(crate) const SEARCH: &str = "/api/v2/memory/search";

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: Value,
    pub(crate) at: Instant,
    /// The status that was answered; `None` if nothing was.
    pub(crate) answered: Option<u16>,
}

/// How to answer.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Json(u16, Value),
    /// The same, in chunks.
    Chunked(u16, Value),
    /// The same, ended by the end of the connection.
    UntilEnd(u16, Value),
    /// These bytes and the end of the connection.
    Raw(Vec<u8>),
    /// Nothing, with the connection open.
    Never,
    /// These bytes, one each second.
    Drip(Vec<u8>),
    /// The end of the sending side only, with nothing sent.
    HalfClose,
    After(Duration, Box<Self>),
}

pub(crate) type Script = dyn Fn(&Request) -> Reply + Send + Sync;

/// The server; it ends with the value.
pub(crate) struct FakeEveros {
    port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    script: Arc<Mutex<Arc<Script>>>,
    stop: Arc<AtomicBool>,
}

/// What a healthy server answers.
pub(crate) fn healthy(request: &Request) -> Reply {
    match request.path.as_str() {
        "/health" => Reply::Json(200, health()),
        ADD => Reply::Json(
            200,
            json!({"request_id": "r", "data": {"message_count": 1, "status": "accumulated"}}),
        ),
        FLUSH => Reply::Json(
            200,
            json!({"request_id": "r", "data": {"status": "extracted"}}),
        ),
        SEARCH => Reply::Json(200, found(json!({}))),
        _ => Reply::Json(404, json!({"detail": "Not Found"})),
    }
}

/// The answer to `/health`.
pub(crate) fn health() -> Value {
    json!({"status": "ok", "version": "1.5.1",
        "capabilities": {"llm": true, "embed": true, "rerank": false},
        "disabled_features": ["multimodal_upload"],
        "cascade": {"healthy": true, "reasons": [], "pending": 3},
        "memorize_queue": {"healthy": true, "reasons": []}})
}

/// The answer to a search: these lists, the others empty.
pub(crate) fn found(lists: Value) -> Value {
    let mut data = json!({"episodes": [], "profiles": [], "agent_cases": [], "agent_skills": [], "unprocessed_messages": []});
    for (name, list) in lists.as_object().into_iter().flatten() {
        data[name] = list.clone();
    }
    json!({"request_id": "r", "data": data})
}

impl FakeEveros {
    /// A healthy server.
    pub(crate) fn start() -> Self {
        Self::with(healthy)
    }

    /// A server that answers as `script` says.
    pub(crate) fn with(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Self::on(listener, script)
    }

    /// The same, on a listener that is there already.
    pub(crate) fn on(
        listener: TcpListener,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let port = listener.local_addr().expect("an address").port();
        let script: Arc<Script> = Arc::new(script);
        let fake = Self {
            port,
            requests: Arc::default(),
            script: Arc::new(Mutex::new(script)),
            stop: Arc::default(),
        };
        let (requests, script, stop) = (
            fake.requests.clone(),
            fake.script.clone(),
            fake.stop.clone(),
        );
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (requests, script) = (requests.clone(), script.clone());
                thread::spawn(move || stream.map(|stream| serve(stream, &requests, &script)));
            }
        });
        fake
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From now on answers as `script` says.
    pub(crate) fn answer(&self, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The requests to `path`.
    pub(crate) fn to(&self, path: &str) -> Vec<Request> {
        self.requests()
            .into_iter()
            .filter(|request| request.path == path)
            .collect()
    }

    /// The bodies of the requests to `path`.
    pub(crate) fn bodies(&self, path: &str) -> Vec<Value> {
        self.to(path)
            .into_iter()
            .map(|request| request.body)
            .collect()
    }

    pub(crate) fn forget(&self) {
        self.requests.lock().unwrap().clear();
    }

    /// What a real server would have stored of a session, in the order of its
    /// seals, and what it would still hold in the buffer. Messages with the same
    /// time and place in their batch as one in the buffer are dropped there.
    pub(crate) fn stored(&self, session: &str) -> (Vec<Value>, Vec<Value>) {
        let mut sealed = Vec::new();
        let mut buffer: Vec<Value> = Vec::new();
        let mut known = BTreeSet::new();
        for request in self.requests() {
            let ours = request.body["session_id"] == session && request.answered == Some(200);
            if ours && request.path == ADD {
                for (index, message) in request.body["messages"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .enumerate()
                {
                    let project = request.body["project_id"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned();
                    if known.insert((project, message["timestamp"].as_i64(), index)) {
                        buffer.push(message.clone());
                    }
                }
            } else if ours && request.path == FLUSH {
                sealed.append(&mut buffer);
                known.clear();
            }
        }
        (sealed, buffer)
    }
}

impl Drop for FakeEveros {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(mut stream: TcpStream, requests: &Mutex<Vec<Request>>, script: &Mutex<Arc<Script>>) {
    let Some(request) = read(&mut stream) else {
        return;
    };
    let script = script.lock().unwrap().clone();
    let reply = script(&request);
    // A client that is gone changes nothing: the request counts as stored.
    requests.lock().unwrap().push(Request {
        answered: status_of(&reply),
        ..request
    });
    write(&mut stream, reply);
}

fn status_of(reply: &Reply) -> Option<u16> {
    match reply {
        Reply::Json(status, _) | Reply::Chunked(status, _) | Reply::UntilEnd(status, _) => {
            Some(*status)
        }
        Reply::After(_, reply) => status_of(reply),
        _ => None,
    }
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .ok()?;
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        match stream.read(&mut piece).ok()? {
            0 => return None,
            length => bytes.extend_from_slice(&piece[..length]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")
                .map(|value| value.trim().parse::<usize>().unwrap())
        })
        .unwrap_or(0);
    while bytes.len() < end + 4 + length {
        match stream.read(&mut piece).ok()? {
            0 => return None,
            received => bytes.extend_from_slice(&piece[..received]),
        }
    }
    let mut first = head.lines().next()?.split(' ');
    let body = &bytes[end + 4..end + 4 + length];
    Some(Request {
        method: first.next()?.to_owned(),
        path: first.next()?.to_owned(),
        body: if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(body).expect("a JSON body")
        },
        head,
        at: Instant::now(),
        answered: None,
    })
}

fn write(stream: &mut TcpStream, reply: Reply) {
    let head = |status: u16, rest: &str| {
        format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{rest}\r\n")
    };
    let sent = match reply {
        Reply::Json(status, value) => {
            let body = value.to_string();
            stream.write_all(
                (head(status, &format!("Content-Length: {}\r\n", body.len())) + &body).as_bytes(),
            )
        }
        Reply::Chunked(status, value) => {
            let body = value.to_string();
            let mut text = head(status, "Transfer-Encoding: chunked\r\n");
            for chunk in body.as_bytes().chunks(7) {
                text.push_str(&format!(
                    "{:x};ext=1\r\n{}\r\n",
                    chunk.len(),
                    String::from_utf8_lossy(chunk)
                ));
            }
            stream.write_all((text + "0\r\nTrailer: x\r\n\r\n").as_bytes())
        }
        Reply::UntilEnd(status, value) => {
            stream.write_all((head(status, "") + &value.to_string()).as_bytes())
        }
        Reply::Raw(bytes) => stream.write_all(&bytes),
        Reply::Never => {
            // Until the client gives up.
            let mut rest = [0; 1];
            let _ = stream.read(&mut rest);
            return;
        }
        Reply::Drip(bytes) => bytes.iter().try_for_each(|byte| {
            thread::sleep(Duration::from_secs(1));
            stream.write_all(&[*byte])
        }),
        Reply::HalfClose => {
            let _ = stream.shutdown(Shutdown::Write);
            let mut rest = [0; 1];
            let _ = stream.read(&mut rest);
            Ok(())
        }
        Reply::After(delay, reply) => {
            thread::sleep(delay);
            return write(stream, *reply);
        }
    };
    // A client that has given up is part of what is tested.
    drop(sent);
}
