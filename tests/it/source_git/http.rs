//! `git http-backend` behind a small HTTP server that can misbehave.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::origin::git;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// What is done about it.
pub(crate) enum Answer {
    /// What git says.
    Git,
    /// What git says, changed.
    Changed(fn(Vec<u8>) -> Vec<u8>),
    /// What git says, in small pieces.
    Slowly,
    /// What git says, but only so many bytes of it.
    Cut(usize),
    /// Nothing at all.
    Silence,
    /// A status, headers, and a body of plain text.
    Status(u16, Vec<(&'static str, String)>, &'static str),
    /// A status and the beginning of a longer body of plain text.
    Begun(u16, &'static str),
    /// A file, as a plain web server gives it.
    File,
}

type Rule = dyn Fn(&Asked) -> Answer + Send + Sync;

pub(crate) struct HttpServer {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl HttpServer {
    /// Serves the repositories below `root`. It ends with the process.
    pub(crate) fn start(
        root: &Path,
        rule: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (root, seen) = (root.to_owned(), Arc::clone(&asked));
        let rule: Arc<Rule> = Arc::new(rule);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (root, seen, rule) = (root.clone(), Arc::clone(&seen), Arc::clone(&rule));
                thread::spawn(move || {
                    let mut stream = stream.expect("a connection");
                    if let Some(asked) = read(&stream) {
                        seen.lock().expect("no panic").push(asked.clone());
                        // Who asked may be gone.
                        let _ = answer(&mut stream, &root, &asked, &rule(&asked));
                    }
                });
            }
        });
        Self { port, asked }
    }

    pub(crate) fn plain(root: &Path) -> Self {
        Self::start(root, |_| Answer::Git)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let mut asked = Asked {
        method: words.next()?.to_owned(),
        ..Asked::default()
    };
    let target = words.next()?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (asked.path, asked.query) = (path.to_owned(), query.to_owned());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let name = name.to_ascii_lowercase();
        asked.headers.push((name, value.trim().to_owned()));
    }
    let length = asked.header("content-length");
    let length = length.map_or(0, |length| length.parse().expect("a length"));
    asked.body = vec![0; length];
    reader.read_exact(&mut asked.body).ok()?;
    Some(asked)
}

fn answer(
    stream: &mut TcpStream,
    root: &Path,
    asked: &Asked,
    answer: &Answer,
) -> std::io::Result<()> {
    let (head, mut body) = match answer {
        Answer::Status(status, headers, text) => {
            let mut head = format!("HTTP/1.1 {status} X\r\n");
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                head += "content-type: text/plain\r\n";
            }
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            (head, text.as_bytes().to_vec())
        }
        Answer::Begun(status, text) => {
            let head = format!("HTTP/1.1 {status} X\r\ncontent-type: text/plain\r\n");
            (head, text.as_bytes().to_vec())
        }
        Answer::File => {
            let path: PathBuf = root.join(asked.path.trim_start_matches('/'));
            match fs::read(path) {
                Ok(file) => (
                    "HTTP/1.1 200 X\r\ncontent-type: text/plain\r\n".to_owned(),
                    file,
                ),
                Err(_) => ("HTTP/1.1 404 X\r\n".to_owned(), Vec::new()),
            }
        }
        Answer::Silence => {
            thread::sleep(Duration::from_secs(20));
            return Ok(());
        }
        _ => backend(root, asked),
    };
    if let Answer::Changed(change) = answer {
        body = change(body);
    }
    let length = match answer {
        Answer::Begun(..) => body.len() + 100,
        _ => body.len(),
    };
    write!(
        stream,
        "{head}content-length: {length}\r\nconnection: close\r\n\r\n"
    )?;
    match answer {
        Answer::Slowly => {
            for piece in body.chunks(body.len() / 20 + 1) {
                stream.write_all(piece)?;
                stream.flush()?;
                thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        }
        Answer::Cut(length) => stream.write_all(&body[..body.len().min(*length)]),
        _ => stream.write_all(&body),
    }
}

/// Runs git as a CGI program (RFC 3875).
pub(crate) fn backend(root: &Path, asked: &Asked) -> (String, Vec<u8>) {
    let mut child = git(root)
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &asked.method)
        .env("PATH_INFO", &asked.path)
        .env("QUERY_STRING", &asked.query)
        .env("CONTENT_TYPE", asked.header("content-type").unwrap_or(""))
        .env("CONTENT_LENGTH", asked.body.len().to_string())
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git http-backend");
    let mut stdin = child.stdin.take().expect("a pipe");
    let body = asked.body.clone();
    let writer = thread::spawn(move || {
        // It may end before it has read everything.
        let _ = stdin.write_all(&body);
    });
    let output = child.wait_with_output().expect("git http-backend ends");
    writer.join().expect("no panic");
    let split = output
        .stdout
        .windows(4)
        .position(|four| four == b"\r\n\r\n");
    let at = split.expect("a head");
    let mut status = "200 OK".to_owned();
    let mut head = String::new();
    for line in String::from_utf8_lossy(&output.stdout[..at]).lines() {
        match line.strip_prefix("Status: ") {
            Some(other) => status = other.to_owned(),
            None => head += &format!("{line}\r\n"),
        }
    }
    let body = output.stdout[at + 4..].to_vec();
    (format!("HTTP/1.1 {status}\r\n{head}"), body)
}
