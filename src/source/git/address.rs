//! Addresses of repositories: every spelling git users write, one normal form,
//! and one key for all spellings of the same repository.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;

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

/// Why a text is no address that is taken. Messages read after "failed to read
/// the address …: ". None repeats the text, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing there.
    #[error("it is empty")]
    Empty,
    /// Neither a URL nor `user@host:path`.
    #[error(
        "it is neither a URL nor user@host:path; write https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or file:///PATH"
    )]
    NoAddress,
    /// `http://` or `git://` to another machine.
    #[error(
        "{0}:// is not encrypted and only taken for servers on this machine; use https:// or ssh://"
    )]
    Unprotected(&'static str),
    /// Another scheme.
    #[error("{0}:// is no transport of repositories; use https://, ssh:// or file://")]
    Scheme(String),
    /// `ext::`, `fd::` and their like.
    #[error("{0}:: would have a program of its own run; use https://, ssh:// or file://")]
    Helper(String),
    /// A password in the address.
    #[error(
        "it holds a password, which would end up in files and listings; leave it out and let git's credential helper know it (git help credentials)"
    )]
    Password,
    /// `?query` or `#fragment`.
    #[error("a `{0}` is no part of an address; write %{code:02X} if the path holds one", code = u32::from(*.0))]
    Extra(char),
    /// A control character, white space or backslash.
    #[error("it holds the character U+{:04X}, which no address holds as it is", u32::from(*.0))]
    Character(char),
    /// `%` and not two digits, or not UTF-8, or something that must not be hidden.
    #[error("a `%` in it does not stand for a character of a path")]
    Escape,
    /// No host, or no legal one.
    #[error("its host is missing or no legal name")]
    Host,
    /// A host for `file://`.
    #[error("file:// names a path on this machine, with three slashes: file:///PATH")]
    FileHost,
    /// No legal user name.
    #[error("its user name is empty or not legal")]
    User,
    /// No legal port.
    #[error("its port is no number from 1 to 65535")]
    Port,
    /// No path, or one with `.` or `..`, or one that looks like an option.
    #[error("its path is missing, begins with `-`, or holds `.` or `..` as a part")]
    Path,
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
            (address, None) => Ok(address),
            (_, Some(_)) => Err(AddressError::Password),
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

    /// As [`Address::parse`], for what the user's own git configuration puts in
    /// place of an address: there, a password is a usual thing.
    pub(super) fn parse_with_password(text: &str) -> Result<(Self, Option<String>), AddressError> {
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        let bad = |c: &char| c.is_control() || c.is_whitespace() || *c == '\\';
        if let Some(bad) = text.chars().find(bad) {
            return Err(AddressError::Character(bad));
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            return parse_url(scheme, rest);
        }
        match text.split_once(':') {
            Some((name, rest))
                if rest.starts_with(':') && name.chars().all(char::is_alphanumeric) =>
            {
                Err(AddressError::Helper(name.to_owned()))
            }
            Some((place, _)) if place.len() > 1 && !text.starts_with(['/', '.']) => {
                parse_scp(text).map(|address| (address, None))
            }
            _ => Err(AddressError::NoAddress),
        }
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
        f.write_str(&escaped(&self.path, "/:@!$&'()*+,;="))
    }
}

fn parse_url(scheme: &str, rest: &str) -> Result<(Address, Option<String>), AddressError> {
    let transport = match scheme.to_ascii_lowercase().as_str() {
        "https" => Transport::Https,
        "http" => Transport::Http,
        "ssh" => Transport::Ssh,
        "file" => Transport::File,
        "git" => Transport::Git,
        other => {
            return Err(match other.split_once("::") {
                Some((helper, _)) => AddressError::Helper(helper.to_owned()),
                None => AddressError::Scheme(other.to_owned()),
            });
        }
    };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (userinfo, place) = match authority.rsplit_once('@') {
        Some((userinfo, place)) => (Some(userinfo), place),
        None => (None, authority),
    };
    let (user, password) = match userinfo.map(|info| info.split_once(':').unwrap_or((info, ""))) {
        // `:` alone, as git writes what has no password.
        Some((user, "")) => (Some(unescaped(user)?), None),
        Some((user, password)) => (Some(unescaped(user)?), Some(unescaped(password)?)),
        None => (None, None),
    };
    if let Some(extra) = place
        .chars()
        .chain(path.chars())
        .find(|c| matches!(c, '?' | '#'))
    {
        return Err(AddressError::Extra(extra));
    }
    if transport == Transport::File {
        if user.is_some() || !(place.is_empty() || place.eq_ignore_ascii_case("localhost")) {
            return Err(AddressError::FileHost);
        }
        let address = finish(transport, None, String::new(), None, unescaped(path)?)?;
        return Ok((address, None));
    }
    let (host, port) = host_and_port(transport, place)?;
    let usual = match transport {
        Transport::Https => 443,
        Transport::Http => 80,
        Transport::Git => 9418,
        Transport::Ssh | Transport::File => 22,
    };
    match transport {
        Transport::Http if !is_loopback(&host) => return Err(AddressError::Unprotected("http")),
        Transport::Git if !is_loopback(&host) => return Err(AddressError::Unprotected("git")),
        _ => {}
    }
    let port = port.filter(|port| *port != usual);
    let mut path = unescaped(path)?;
    if transport == Transport::Ssh && path.starts_with("/~") {
        path.remove(0);
    }
    Ok((finish(transport, user, host, port, path)?, password))
}

/// `user@host:path`. The path is not escaped.
fn parse_scp(text: &str) -> Result<Address, AddressError> {
    let (user, rest) = match text.split_once('@') {
        Some((user, rest)) if !user.contains(['/', ':', '[']) => (Some(user.to_owned()), rest),
        _ => (None, text),
    };
    let split = match rest.strip_prefix('[') {
        Some(_) => rest.find("]:").map(|at| at + 1),
        None => rest.find(':'),
    };
    let at = split.ok_or(AddressError::NoAddress)?;
    let (place, path) = (&rest[..at], &rest[at + 1..]);
    if place.contains('/') {
        return Err(AddressError::NoAddress);
    }
    let (host, port) = host_and_port(Transport::Ssh, place)?;
    if port.is_some() {
        return Err(AddressError::Port);
    }
    finish(Transport::Ssh, user, host, None, path.to_owned())
}

fn finish(
    transport: Transport,
    user: Option<String>,
    host: String,
    port: Option<u16>,
    path: String,
) -> Result<Address, AddressError> {
    if let Some(user) = &user {
        let bad = |c: char| c.is_control() || c.is_whitespace() || "@:/\\\"'".contains(c);
        if user.is_empty() || user.starts_with('-') || user.contains(bad) {
            return Err(AddressError::User);
        }
    }
    let trimmed = path.trim_end_matches('/');
    let odd = |part: &str| part == "." || part == "..";
    if trimmed.is_empty()
        || trimmed.starts_with('-')
        || trimmed.split('/').any(odd)
        || !(trimmed.starts_with('/') || transport == Transport::Ssh)
    {
        return Err(AddressError::Path);
    }
    let path = trimmed.to_owned();
    Ok(Address {
        transport,
        user,
        host,
        port,
        path,
    })
}

fn host_and_port(transport: Transport, place: &str) -> Result<(String, Option<u16>), AddressError> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(AddressError::Host)?;
            let address: Ipv6Addr = host.parse().map_err(|_| AddressError::Host)?;
            let port = match after {
                "" => None,
                _ => Some(after.strip_prefix(':').ok_or(AddressError::Host)?),
            };
            (address.to_string(), port)
        }
        None => {
            let (host, port) = match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            };
            (host_name(transport, host)?, port)
        }
    };
    let port = match port.filter(|port| !port.is_empty()) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let port = digits.parse().ok().filter(|port| *port != 0);
            Some(port.ok_or(AddressError::Port)?)
        }
        Some(_) => return Err(AddressError::Port),
        None => None,
    };
    Ok((host, port))
}

fn host_name(transport: Transport, host: &str) -> Result<String, AddressError> {
    if transport != Transport::Ssh {
        // As the HTTP client reads it, which also knows numbers for addresses.
        let host = url::Host::parse(host).map_err(|_| AddressError::Host)?;
        return Ok(host.to_string());
    }
    // A name of the user's ssh configuration as well as one of the network; what
    // begins with `-` would be an option of ssh.
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if host.is_empty() || host.starts_with('-') || !host.chars().all(legal) {
        return Err(AddressError::Host);
    }
    Ok(host.to_owned())
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn bracketed(host: &str) -> Cow<'_, str> {
    if host.contains(':') && !host.starts_with('[') {
        Cow::Owned(format!("[{host}]"))
    } else {
        Cow::Borrowed(host)
    }
}

fn unescaped(text: &str) -> Result<String, AddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || {
            rest.next()
                .and_then(|digit| char::from(digit).to_digit(16))
                .ok_or(AddressError::Escape)
        };
        let value = (digit()? << 4) | digit()?;
        match u8::try_from(value) {
            // A hidden separator would make another path of it.
            Ok(b'/' | b'\\') | Err(_) => return Err(AddressError::Escape),
            Ok(value) => bytes.push(value),
        }
    }
    let text = String::from_utf8(bytes).map_err(|_| AddressError::Escape)?;
    if text.chars().any(char::is_control) {
        return Err(AddressError::Escape);
    }
    Ok(text)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> String {
        Address::parse(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .key()
    }

    #[test]
    fn every_spelling_of_one_repository_has_one_key() {
        for text in [
            "https://host.example/o/r",
            "https://host.example/o/r/",
            "https://host.example/o/r.git",
            "https://host.example/o/r.git/",
            "HTTPS://Host.Example:443/o/r",
            "https://me@host.example/o/r",
            "ssh://git@host.example/o/r.git",
            "ssh://git@HOST.example:22/o/r",
            "ssh://me@host.example/o/r",
            "git@host.example:o/r.git",
            "git@host.example:/o/r",
            "host.example:o/r",
        ] {
            assert_eq!(key(text), "host.example/o/r", "{text}");
        }
        for other in [
            "https://host.example:8443/o/r",
            "https://host.example/O/r",
            "me@host.example:o/r",
            "file:///host.example/o/r",
            "https://host.example/o/r.git.git",
        ] {
            assert_ne!(key(other), "host.example/o/r", "{other}");
        }
        assert_eq!(key("file:///x/repo/.git/"), key("file:///x/repo"));
        assert_ne!(key("file:///x/repo.git"), key("file:///x/repo"));
    }

    #[test]
    fn the_normal_form_reads_back_as_itself() {
        for (text, normal) in [
            (
                "https://Host.example:443/o/r.git/",
                "https://host.example/o/r.git",
            ),
            (
                "https://host.example/a%20b/%c3%a4",
                "https://host.example/a%20b/%C3%A4",
            ),
            (
                "https://me@host.example:8443/r",
                "https://me@host.example:8443/r",
            ),
            ("ssh://git@Host:22/o/r", "ssh://git@Host/o/r"),
            ("ssh://git@host:2222/~me/r", "ssh://git@host:2222/~me/r"),
            ("git@host:~/r", "ssh://git@host/~/r"),
            ("git@host:o/r.git", "git@host:o/r.git"),
            ("git@host:/o/r.git", "ssh://git@host/o/r.git"),
            ("git@[::1]:o/r", "git@[::1]:o/r"),
            ("ssh://git@[::1]:2222/o/r", "ssh://git@[::1]:2222/o/r"),
            ("http://127.0.0.1:80/r", "http://127.0.0.1/r"),
            ("http://[::1]:8080/r", "http://[::1]:8080/r"),
            ("http://LOCALHOST:1/r", "http://localhost:1/r"),
            ("git://[::1]:9418/r", "git://[::1]/r"),
            ("file:///x/y%20z/", "file:///x/y%20z"),
            ("file://localhost/x", "file:///x"),
        ] {
            let address = Address::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(address.to_string(), normal, "{text}");
            assert_eq!(Address::parse(normal), Ok(address), "{text}");
        }
        let github = Address::github("o", "r").expect("legal names");
        assert_eq!(github.to_string(), "https://github.com/o/r");
    }

    #[test]
    fn what_is_not_taken_says_what_to_write() {
        use AddressError::*;
        for (text, wanted) in [
            ("", Empty),
            ("o/r", NoAddress),
            ("./o:r", NoAddress),
            ("/x/y", NoAddress),
            ("C:/x", NoAddress),
            ("git://host/r", Unprotected("git")),
            ("git@host:o/r b", Character(' ')),
            ("http://host.example/r", Unprotected("http")),
            ("http://127.0.0.1.evil.example/r", Unprotected("http")),
            ("ftp://host/r", Scheme("ftp".to_owned())),
            ("ext::sh -c x", Character(' ')),
            ("ext::sh", Helper("ext".to_owned())),
            ("ext::http://x/y", Helper("ext".to_owned())),
            ("https://me:secret@host/r", Password),
            ("https://:secret@host/r", User),
            ("https://host/r?x", Extra('?')),
            ("https://host#x/r", Extra('#')),
            ("https://host/r\n", Character('\n')),
            ("https://host/a b", Character(' ')),
            ("https://host\\@evil/r", Character('\\')),
            ("https://host/%zz", Escape),
            ("https://host/%2f", Escape),
            ("https://host/a%0ab", Escape),
            ("https://host/%ff", Escape),
            ("https:///r", Host),
            ("https://ho st/r", Character(' ')),
            ("https://a%00b/r", Host),
            ("ssh://-oProxyCommand=x/r", Host),
            ("ssh://ho$t/r", Host),
            ("ssh://[::g]/r", Host),
            ("-oProxyCommand=x:r", Host),
            ("-x@host:r", User),
            ("ssh://-l@host/r", User),
            ("https://host:0/r", Port),
            ("https://host:65536/r", Port),
            ("https://host:x/r", Port),
            ("ssh://host:+1/r", Port),
            ("https://host", Path),
            ("https://host///", Path),
            ("https://host/a/../b", Path),
            ("https://host/%2e%2e/b", Path),
            ("git@host:-x", Path),
            ("git@host:", Path),
            ("file://x/y", FileHost),
            ("file://", Path),
        ] {
            assert_eq!(Address::parse(text), Err(wanted), "{text:?}");
        }
        assert!(Address::github("o", "..").is_err());
        assert!(Address::github("o/p", "r").is_err());
        assert!(Address::github("", "r").is_err());
    }

    #[test]
    fn no_message_repeats_a_password() {
        let error = Address::parse("https://me:hunter2@host/r").expect_err("a password");
        assert!(!error.to_string().contains("hunter2"));
        let (address, password) =
            Address::parse_with_password("https://me:hunter2%40@host/r").expect("an address");
        assert_eq!(password.as_deref(), Some("hunter2@"));
        assert!(!format!("{address} {address:?}").contains("hunter2"));
    }
}
