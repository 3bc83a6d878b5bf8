//! Imports as whole processes, beside what people would type instead: a
//! repository of 5 000 files against `git clone --depth 1` from the same
//! `git daemon`, and an npm tarball of 20 MB against `npm pack` and `tar` from the
//! same registry, a stand-in on the loopback interface.
//!
//! `apkit import` also judges the package, hashes each file, and writes the lock.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use apkit_benches::{Case, apkit, compare, load, run};

/// Files of the repository.
const FILES: usize = 5000;
/// Size of the tarball's one large part, in bytes: it does not compress.
const LARGE: usize = 20_000_000;

const MANIFEST: &str =
    r#"{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "large", "version": "1.0.0"}"#;
const SKILL: &str = "---\nname: tides\ndescription: Looks up high and low water. Use when asked about tides.\n---\nAsk for the harbour.\n";

fn main() -> io::Result<()> {
    let apkit = apkit("release")?;
    let root = tempfile::tempdir()?;
    println!("{}, load {}", apkit.display(), load());
    repository(&apkit, root.path())?;
    tarball(&apkit, root.path())?;
    println!("\nload {}", load());
    Ok(())
}

/// Ends with this process.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // The child is `git`, which hands this on to the daemon proper. A kill
        // would leave that behind, holding whatever this process printed to.
        // SAFETY: the pid is that of a child that nobody has waited for.
        unsafe { libc::kill(self.0.id().cast_signed(), libc::SIGTERM) };
        // It may have ended by itself.
        let _ = self.0.wait();
    }
}

fn repository(apkit: &Path, root: &Path) -> io::Result<()> {
    let tree = root.join("repositories/large");
    package(&tree)?;
    for index in 0..FILES {
        let directory = tree.join(format!("assets/{}", index / 100));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("{index}.txt")), format!("File {index}.\n").repeat(40))?;
    }
    let git = |arguments: &[&str]| tool(Command::new("git").arg("-C").arg(&tree).args(arguments));
    git(&["init", "-q", "-b", "main"])?;
    git(&["add", "-A"])?;
    git(&["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "All of it"])?;
    git(&["repack", "-adq"])?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let _daemon = Daemon(
        Command::new("git")
            .args(["daemon", "--listen=127.0.0.1", "--export-all", "--reuseaddr"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", root.join("repositories").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?,
    );
    answers(port)?;
    let url = format!("git://127.0.0.1:{port}/large");
    let source = format!("git+{url}");
    let mut cases = [
        import("apkit import", apkit, root, &source),
        fresh("git clone --depth 1", root.join("clone"), "plugin.json", move |to| {
            let mut command = Command::new("git");
            command.args(["clone", "-q", "--depth", "1", &url]).arg(to);
            vec![command]
        }),
    ];
    compare(&format!("a repository of {FILES} files"), 7, &mut cases).map(drop)
}

fn tarball(apkit: &Path, root: &Path) -> io::Result<()> {
    let tree = root.join("package");
    package(&tree)?;
    fs::write(tree.join("package.json"), r#"{"name": "large", "version": "1.0.0"}"#)?;
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        // Numbers of Marsaglia's xorshift: nothing a compressor finds anything in.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(LARGE)
    .collect();
    fs::create_dir_all(tree.join("assets"))?;
    for (index, part) in noise.chunks(LARGE / 20).enumerate() {
        fs::write(tree.join(format!("assets/{index}.bin")), part)?;
    }
    drop(noise);
    if Command::new("npm").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("\nnpm is MISSING here: the tarball is left out");
        return Ok(());
    }
    tool(Command::new("npm").args(["pack", "--silent"]).current_dir(&tree).stdout(Stdio::null()))?;
    let packed = tree.join("large-1.0.0.tgz");
    let integrity = Command::new("sh")
        .args(["-c", r#"openssl dgst -sha512 -binary "$1" | openssl base64 -A"#, "sh"])
        .arg(&packed)
        .output()?;
    let integrity = format!("sha512-{}", String::from_utf8_lossy(&integrity.stdout));
    let registry = serve(packed, integrity)?;
    let home = root.join("home");
    fs::create_dir_all(&home)?;
    fs::write(home.join(".npmrc"), format!("registry={registry}\n"))?;
    let with_home = |command: &mut Command| {
        command.env("HOME", &home).env("npm_config_userconfig", home.join(".npmrc"));
    };
    let mut cases = [
        import("apkit import", apkit, root, "npm:large"),
        fresh("npm pack, then tar xzf", root.join("unpacked"), "package/plugin.json", |to| {
            let mut pack = Command::new("npm");
            pack.args(["pack", "--silent", "large", "--prefer-online"]).arg("--pack-destination").arg(to).current_dir(root);
            with_home(&mut pack);
            let mut tar = Command::new("tar");
            tar.arg("xzf").arg(to.join("large-1.0.0.tgz")).arg("-C").arg(to);
            vec![pack, tar]
        }),
    ];
    compare(&format!("a tarball of {} MB", LARGE / 1_000_000), 7, &mut cases).map(drop)
}

fn package(tree: &Path) -> io::Result<()> {
    fs::create_dir_all(tree.join("skills/tides"))?;
    fs::write(tree.join("plugin.json"), MANIFEST)?;
    fs::write(tree.join("skills/tides/SKILL.md"), SKILL)
}

/// An import into an empty store.
fn import<'a>(name: &'a str, apkit: &'a Path, root: &'a Path, source: &str) -> Case<'a> {
    let source = source.to_owned();
    fresh(name, root.join("store"), "plugins/large/plugin.json", move |to| {
        let mut command = Command::new(apkit);
        command.arg("import").arg("--root").arg(to).arg(&source).current_dir(root);
        command.env("HOME", root.join("home")).env("npm_config_userconfig", root.join("home/.npmrc"));
        vec![command]
    })
}

/// Commands that bring `wanted` into `to`, which is empty each time. Their costs
/// are one.
fn fresh<'a>(name: &'a str, to: PathBuf, wanted: &'a str, mut commands: impl FnMut(&Path) -> Vec<Command> + 'a) -> Case<'a> {
    let run = move || {
        if to.exists() {
            fs::remove_dir_all(&to)?;
        }
        fs::create_dir_all(&to)?;
        let mut sum: Option<apkit_benches::Cost> = None;
        for mut command in commands(&to) {
            let cost = run(&mut command)?;
            sum = Some(match sum {
                None => cost,
                Some(sum) => apkit_benches::Cost {
                    cpu: sum.cpu + cost.cpu,
                    wall: sum.wall + cost.wall,
                    memory: sum.memory.max(cost.memory),
                },
            });
        }
        // What was to be measured has happened.
        fs::metadata(to.join(wanted))?;
        sum.ok_or_else(|| io::Error::other("nothing was run"))
    };
    (name, Box::new(run))
}

fn tool(command: &mut Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    Err(io::Error::other(format!("{name} {}: {status}", arguments.join(" "))))
}

fn answers(port: u16) -> io::Result<()> {
    let start = Instant::now();
    while let Err(error) = TcpStream::connect(("127.0.0.1", port)) {
        if start.elapsed() > Duration::from_secs(10) {
            return Err(error);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A registry with one package. Its address.
fn serve(tarball: PathBuf, integrity: String) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}/", listener.local_addr()?);
    let mut metadata = String::new();
    let _ = write!(
        metadata,
        r#"{{"name":"large","dist-tags":{{"latest":"1.0.0"}},"versions":{{"1.0.0":{{"name":"large","version":"1.0.0","dist":{{"tarball":"{address}large/-/large-1.0.0.tgz","integrity":"{integrity}"}}}}}}}}"#
    );
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (tarball, metadata) = (tarball.clone(), metadata.clone());
            // A client that goes away is none of the server's business.
            thread::spawn(move || answer(stream, &tarball, &metadata).is_ok());
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream, tarball: &Path, metadata: &str) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let (kind, length, is_tarball) = if first.contains(".tgz") {
        ("application/octet-stream", fs::metadata(tarball)?.len(), true)
    } else {
        ("application/json", metadata.len() as u64, false)
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")?;
    if is_tarball {
        io::copy(&mut fs::File::open(tarball)?, &mut stream)?;
    } else {
        stream.write_all(metadata.as_bytes())?;
    }
    stream.flush()
}
