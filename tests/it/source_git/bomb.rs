//! Packs that are small and unpack to much, or for ever.

use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use apkit::source::git::Error;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest as _, Sha1};

use super::world::{World, source};
use crate::web::{Reply, Server};

/// Kinds of objects, as a pack writes them.
const COMMIT: u8 = 1;
const TREE: u8 = 2;
const BLOB: u8 = 3;
const REF_DELTA: u8 = 7;

fn id(kind: &str, content: &[u8]) -> Vec<u8> {
    let mut hash = Sha1::new();
    hash.update(format!("{kind} {}\0", content.len()));
    hash.update(content);
    hash.finalize().to_vec()
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An entry of a pack; `base` comes before the content of a delta.
fn entry(kind: u8, base: &[u8], content: &[u8]) -> Vec<u8> {
    let low = |number: usize, bits: u8| u8::try_from(number & ((1 << bits) - 1)).expect("bits");
    let mut length = content.len() >> 4;
    let mut byte = kind << 4 | low(content.len(), 4);
    let mut entry = Vec::new();
    while length > 0 {
        entry.push(byte | 0x80);
        byte = low(length, 7);
        length >>= 7;
    }
    entry.push(byte);
    entry.extend_from_slice(base);
    let mut encoder = ZlibEncoder::new(entry, Compression::best());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

/// A number as a delta writes it.
fn number(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// A server with one commit and, beside what it needs, a delta that repeats a file
/// of so many bytes so many times.
fn server(size: usize, times: usize) -> Server {
    let base = vec![0; size];
    let mut delta = [number(size), number(size * times)].concat();
    let [low, middle, high, _] = u32::try_from(size).expect("a size").to_le_bytes();
    for _ in 0..times {
        delta.extend_from_slice(&[0x80 | 0x70, low, middle, high]);
    }
    let manifest = crate::support::manifest("tide-table", "\"version\": \"1.0.0\"");
    let tree = [b"100644 plugin.json\0", &*id("blob", manifest.as_bytes())].concat();
    let commit = format!(
        "tree {}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\nx\n",
        hex(&id("tree", &tree))
    );
    let head = hex(&id("commit", commit.as_bytes()));
    let mut pack = [&b"PACK"[..], &2_u32.to_be_bytes(), &5_u32.to_be_bytes()].concat();
    pack.extend(entry(COMMIT, b"", commit.as_bytes()));
    pack.extend(entry(TREE, b"", &tree));
    pack.extend(entry(BLOB, b"", manifest.as_bytes()));
    pack.extend(entry(BLOB, b"", &base));
    pack.extend(entry(REF_DELTA, &id("blob", &base), &delta));
    let sum = Sha1::digest(&pack);
    pack.extend_from_slice(&sum);
    let line = |content: &[u8]| {
        let mut line = format!("{:04x}", content.len() + 4).into_bytes();
        line.extend_from_slice(content);
        line
    };
    let list = [
        line(b"# service=git-upload-pack\n"),
        b"0000".to_vec(),
        line(
            format!("{head} HEAD\0side-band-64k ofs-delta symref=HEAD:refs/heads/main\n")
                .as_bytes(),
        ),
        line(format!("{head} refs/heads/main\n").as_bytes()),
        b"0000".to_vec(),
    ]
    .concat();
    let mut result = line(b"NAK\n");
    for piece in pack.chunks(60_000) {
        result.extend(line(&[b"\x01", piece].concat()));
    }
    result.extend_from_slice(b"0000");
    Server::new(move |asked| match asked.method.as_str() {
        "GET" => Reply::new(200, list.clone()).header(
            "content-type",
            "application/x-git-upload-pack-advertisement",
        ),
        _ => Reply::new(200, result.clone())
            .header("content-type", "application/x-git-upload-pack-result"),
    })
}

#[test]
fn a_delta_on_an_object_named_by_its_id_is_taken() {
    let world = World::new();
    let server = server(1000, 2);
    let got = world
        .fetch(&source(&server.url("/r"), "", ""))
        .expect("a package");
    assert_eq!(got.paths(), ["plugin.json"]);
}

#[test]
fn an_object_without_measure_is_refused() {
    let world = World::new();
    let server = server(1 << 20, 300);
    let error = world
        .fetch(&source(&server.url("/r"), "", ""))
        .expect_err("too much");
    assert!(matches!(error, Error::Memory { .. }), "{error}");
}

#[test]
fn a_pack_without_an_end_is_refused() {
    let world = World::new();
    let server = server(900_000, 1);
    let error = world
        .fetch(&source(&server.url("/r"), "", ""))
        .expect_err("too much");
    assert!(matches!(error, Error::Memory { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("768 MiB of memory, or has no end")
    );
}

#[test]
fn a_pack_without_an_end_is_interrupted() {
    let world = World::new();
    // Whose memory would last for long.
    let server = server(10, 1);
    let stop = world.stop.clone();
    let started = Instant::now();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        stop.request();
    });
    let error = world
        .fetch(&source(&server.url("/r"), "", ""))
        .expect_err("an end");
    assert!(matches!(error, Error::Stopped), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
}
