//! A real ssh server on a free port, with keys of its own.

use std::fs;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::world::{World, exec_path};

pub(crate) struct Sshd {
    child: Child,
    pub(crate) port: u16,
    pub(crate) user: String,
    keys: PathBuf,
}

/// Where the server program is, or `None` after having said so: it is not
/// installed everywhere. `APKIT_NEEDS_SSHD` makes that a failure.
fn program() -> Option<PathBuf> {
    let found = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"]
        .into_iter()
        .map(PathBuf::from)
        .find(|path| path.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("APKIT_NEEDS_SSHD").is_none(),
            "sshd is not installed (Debian: openssh-server)"
        );
        // Not by a macro: what those print is not shown for a test that passes.
        let _ = io::stderr().write_all(
            b"SKIPPED: sshd is not installed (Debian: openssh-server), nothing was tried over ssh\n",
        );
    }
    found
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

fn key(path: &Path) {
    run(Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path));
}

impl Sshd {
    /// Starts it and has the user's environment point to it.
    pub(crate) fn start(world: &mut World) -> Option<Self> {
        let program = program()?;
        let keys = world.path().join("keys");
        fs::create_dir(&keys).expect("a directory");
        for name in ["host", "user", "stranger"] {
            key(&keys.join(name));
        }
        fs::copy(keys.join("user.pub"), keys.join("authorized")).expect("a copy");
        let mut whoami = Command::new("id");
        let user = whoami.arg("-un").output().expect("id is installed").stdout;
        let user = String::from_utf8_lossy(&user).trim().to_owned();
        if user == "root" {
            // Where it locks itself up; the system's start script makes it.
            fs::create_dir_all("/run/sshd").expect("a directory");
        }
        for _ in 0..5 {
            if let Some(server) = Self::try_start(&program, &keys, &user) {
                server.configure(world, "user");
                return Some(server);
            }
        }
        panic!("sshd does not start");
    }

    fn try_start(program: &Path, keys: &Path, user: &str) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let path = std::env::var("PATH").expect("a search path");
        let configuration = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {keys}/host\nPidFile none\n\
             AuthorizedKeysFile {keys}/authorized\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nPermitUserRC no\nPrintMotd no\nLogLevel QUIET\n\
             SetEnv PATH={}:{path} GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null\n",
            exec_path().display(),
            keys = keys.display(),
        );
        let file = keys.join("sshd_config");
        fs::write(&file, configuration).expect("a file");
        let child = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("sshd starts");
        let mut server = Self {
            child,
            port,
            user: user.to_owned(),
            keys: keys.to_owned(),
        };
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until && server.child.try_wait().expect("a child").is_none() {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// Has ssh use one of the keys and know the host.
    pub(crate) fn configure(&self, world: &mut World, key: &str) {
        let keys = self.keys.display();
        let host = fs::read_to_string(self.keys.join("host.pub")).expect("a key");
        let known = format!("[127.0.0.1]:{} {host}", self.port);
        fs::write(self.keys.join("known_hosts"), known).expect("a file");
        let file = format!(
            "IdentityFile {keys}/{key}\nIdentitiesOnly yes\nIdentityAgent none\n\
             UserKnownHostsFile {keys}/known_hosts\nGlobalKnownHostsFile /dev/null\n\
             StrictHostKeyChecking yes\nHost tides\n  HostName 127.0.0.1\n  Port {}\n  User {}\n",
            self.port, self.user
        );
        fs::write(self.keys.join("config"), file).expect("a file");
        world.set("GIT_SSH_COMMAND", format!("ssh -F '{keys}/config'"));
    }

    pub(crate) fn forget_host(&self) {
        fs::write(self.keys.join("known_hosts"), "").expect("a file");
    }

    pub(crate) fn url(&self, path: &Path) -> String {
        format!(
            "ssh://{}@127.0.0.1:{}{}",
            self.user,
            self.port,
            path.display()
        )
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
