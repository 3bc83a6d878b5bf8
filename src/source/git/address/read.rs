//! Addresses as they are written.

use std::net::{IpAddr, Ipv6Addr};

use super::{Address, Transport};

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
        "it holds a password or token, which would end up in files and listings; leave it out and let git's credential helper know it (git help credentials)"
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
    /// As [`Address::parse`], for what the user's own git configuration puts in
    /// place of an address: there, a password is a usual thing.
    pub(in super::super) fn parse_with_password(
        text: &str,
    ) -> Result<(Self, Option<String>), AddressError> {
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
    // An escaped `~` is a letter of a path from the root.
    let is_home = transport == Transport::Ssh && path.starts_with("/~");
    let mut path = unescaped(path)?;
    if is_home {
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
