//! Addresses of repositories: every spelling git users write, one normal form,
//! and one key for all spellings of the same repository.

mod read;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::path::PathBuf;

pub use read::AddressError;

use crate::secret;

/// How a repository is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// `https://`.
    Https,
    /// `http://`, on this machine only.
    Http,
    /// `git://`, the protocol of `git daemon`, on this machine only.
    Git,
    /// `ssh://` and `user@host:path`.
    Ssh,
    /// `file://`.
    File,
}

/// Where a repository is. It never carries a password.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    transport: Transport,
    user: Option<String>,
    /// Without brackets; empty for [`Transport::File`].
    host: String,
    /// Only if it is not the usual one.
    port: Option<u16>,
    /// Without percent escapes and slashes at the end. It begins with `/` unless
    /// it is relative to the home directory on an ssh server.
    path: String,
}

impl Address {
    /// Reads an address: `https://…`, `ssh://…`, `user@host:path`, `file://…`, and
    /// `http://…` or `git://…` for hosts on this machine.
    ///
    /// # Errors
    ///
    /// For everything else, with what to write instead.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        match Self::parse_with_password(text)? {
            (address, None) if !address.has_secret_user() => Ok(address),
            _ => Err(AddressError::Password),
        }
    }

    /// The address of a repository on github.com.
    ///
    /// # Errors
    ///
    /// When either is no legal name.
    pub fn github(owner: &str, repository: &str) -> Result<Self, AddressError> {
        let legal = |name: &str| {
            let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            !name.is_empty() && name.chars().all(part)
        };
        if !legal(owner) || !legal(repository) {
            return Err(AddressError::Path);
        }
        Self::parse(&format!("https://github.com/{owner}/{repository}"))
    }

    /// Whether the user is none, but a token: hosting services take one in its place.
    fn has_secret_user(&self) -> bool {
        let user = self.user.as_deref().unwrap_or_default();
        let is_random = user.len() >= 32 && user.bytes().all(|byte| byte.is_ascii_hexdigit());
        matches!(self.transport, Transport::Https | Transport::Http)
            && (is_random || secret::tokens(user).next().is_some())
    }

    /// How the repository is reached.
    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The user to come as.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The host, without brackets and in lower case; empty for `file://`. An ssh
    /// host is as it was written: it may be a name of the user's configuration.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, if it is not the usual one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The path, without escapes and slashes at the end. It begins with `/` unless
    /// it is relative to the home directory on an ssh server.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// One text for all spellings of one repository: over https and ssh, with and
    /// without a user, `.git` or `/` at the end, the usual port, or capital
    /// letters in the host.
    #[must_use]
    pub fn key(&self) -> String {
        let path = self.path.trim_start_matches('/');
        if self.transport == Transport::File {
            // `/x/repo` and `/x/repo.git` can both be there; a working tree and
            // its `.git` are one.
            let path = path.strip_suffix("/.git").unwrap_or(path);
            return format!("file:///{path}");
        }
        let path = path.strip_suffix(".git").unwrap_or(path);
        let path = path.trim_end_matches('/');
        let mut key = bracketed(&self.host).to_ascii_lowercase();
        if let Some(port) = self.port {
            let _ = write!(key, ":{port}");
        }
        key.push('/');
        // Relative to somebody's home, it is another repository for everybody;
        // hosting services have one user `git` for all.
        if let Some(user) = self.user.as_deref().filter(|user| *user != "git")
            && !self.path.starts_with('/')
        {
            let _ = write!(key, "~{user}/");
        }
        key.push_str(path);
        key
    }

    /// Host and port as in an address.
    pub(super) fn authority(&self) -> String {
        match self.port {
            Some(port) => format!("{}:{port}", bracketed(&self.host)),
            None => bracketed(&self.host).into_owned(),
        }
    }

    /// The URL of the repository without the user, for [`Transport::Https`] and
    /// [`Transport::Http`].
    pub(super) fn http_url(&self) -> String {
        Self {
            user: None,
            ..self.clone()
        }
        .to_string()
    }

    /// The directory, for [`Transport::File`].
    pub(super) fn local_path(&self) -> PathBuf {
        let path = match self.path.as_bytes() {
            [b'/', drive, b':', ..] if cfg!(windows) && drive.is_ascii_alphabetic() => {
                &self.path[1..]
            }
            _ => &self.path,
        };
        PathBuf::from(path)
    }
}

impl fmt::Display for Address {
    /// The normal form; [`Address::parse`] reads it back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relative = !self.path.starts_with('/');
        if relative && !self.path.starts_with('~') {
            if let Some(user) = &self.user {
                write!(f, "{user}@")?;
            }
            return write!(f, "{}:{}", bracketed(&self.host), self.path);
        }
        f.write_str(match self.transport {
            Transport::Https => "https://",
            Transport::Http => "http://",
            Transport::Git => "git://",
            Transport::Ssh => "ssh://",
            Transport::File => "file://",
        })?;
        if let Some(user) = &self.user {
            write!(f, "{}@", escaped(user, ""))?;
        }
        f.write_str(&bracketed(&self.host))?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        if relative {
            f.write_char('/')?;
        }
        let path = escaped(&self.path, "/:@!$&'()*+,;=");
        match path.strip_prefix("/~") {
            // It is not somebody's home.
            Some(rest) if self.transport == Transport::Ssh => write!(f, "/%7E{rest}"),
            _ => f.write_str(&path),
        }
    }
}

fn bracketed(host: &str) -> Cow<'_, str> {
    if host.contains(':') && !host.starts_with('[') {
        Cow::Owned(format!("[{host}]"))
    } else {
        Cow::Borrowed(host)
    }
}

fn escaped(text: &str, also_plain: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || also_plain.contains(c) {
            escaped.push(c);
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
