//! What a text looks like, before it is known what it is.

use std::path::Path;

use url::Url;

use crate::spec::credential;

/// What archive files end with.
const ARCHIVE_ENDS: [&str; 3] = [".tgz", ".tar.gz", ".zip"];

/// Whether a text can only be a path.
pub(super) fn is_spelt_as_path(text: &str) -> bool {
    let starts = ["./", "../", ".\\", "..\\", "/", "\\", "~/"];
    let is_drive = match text.as_bytes() {
        [letter, b':', rest @ ..] => {
            letter.is_ascii_alphabetic() && matches!(rest.first(), None | Some(b'/' | b'\\'))
        }
        _ => false,
    };
    is_drive
        || matches!(text, "." | ".." | "~")
        || starts.iter().any(|start| text.starts_with(start))
}

/// The text without `?path=…` behind it.
pub(super) fn path_part(text: &str) -> &str {
    text.rsplit_once("?path=").map_or(text, |(path, _)| path)
}

pub(super) fn is_archive_name(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let lower = name.to_ascii_lowercase();
    ARCHIVE_ENDS
        .iter()
        .any(|end| lower.len() > end.len() && lower.ends_with(end))
}

/// What stands before the first `:`, if that can be a scheme. One letter is a
/// drive of Windows.
pub(super) fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then_some(scheme)
}

/// A scheme of ours, before what need have no address of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Dir,
    File,
    Npm,
    Github,
    Builtin,
}

impl Scheme {
    const ALL: [(&str, Self); 5] = [
        ("dir", Self::Dir),
        ("file", Self::File),
        ("npm", Self::Npm),
        ("github", Self::Github),
        ("builtin", Self::Builtin),
    ];

    /// The one that a text begins with, and what follows its `:`.
    pub(super) fn of(text: &str) -> Option<(Self, &str)> {
        let found = scheme(text)?;
        let rest = text.get(found.len() + 1..)?;
        let mut all = Self::ALL.iter();
        let (_, scheme) = all.find(|(name, _)| found.eq_ignore_ascii_case(name))?;
        Some((*scheme, rest))
    }
}

/// Whether a scheme is a protocol of repositories.
pub(super) fn is_protocol(scheme: &str) -> bool {
    let protocols = ["https", "http", "ssh", "git", "file"];
    protocols
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Whether a URL can only be that of a repository, without `git+` before it: by
/// its protocol, or as its path ends in `.git`.
pub(super) fn is_repository(text: &str) -> bool {
    let Some(scheme) = scheme(text).filter(|scheme| is_protocol(scheme)) else {
        return false;
    };
    if !text[scheme.len()..].starts_with("://") {
        return false;
    }
    if ["git", "ssh"]
        .iter()
        .any(|only| scheme.eq_ignore_ascii_case(only))
    {
        return true;
    }
    let address = text.split(['#', '?']).next().unwrap_or_default();
    let end = path_colon(address).unwrap_or(address.len());
    let address = address.get(..end).unwrap_or_default();
    address.trim_end_matches('/').ends_with(".git")
}

/// Whether a text is written as `scp` writes places: `user@host:path`.
pub(super) fn is_scp(text: &str) -> bool {
    let Some((user, rest)) = text.split_once('@') else {
        return false;
    };
    let is_user = !user.is_empty()
        && user
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let host = rest.split('/').next().unwrap_or_default();
    is_user && host.contains(':')
}

/// Where a `:` in the path of an address may begin a directory: behind the host,
/// its port, and a drive of Windows.
pub(super) fn path_colon(address: &str) -> Option<usize> {
    let path = match address.find("://") {
        Some(at) => {
            let authority = at + "://".len();
            authority + address.get(authority..)?.find('/')?
        }
        None => {
            let bracket = address.find(']').unwrap_or(0);
            bracket + address.get(bracket..)?.find(':')? + 1
        }
    };
    let rest = address.get(path..)?;
    let is_drive =
        matches!(rest.as_bytes(), [b'/', letter, b':', ..] if letter.is_ascii_alphabetic());
    let skipped = if is_drive { 3 } else { 0 };
    Some(path + skipped + rest.get(skipped..)?.find(':')?)
}

/// What git forbids in the name of a reference, in a few words.
pub(super) fn reference_problem(name: &str) -> Option<&'static str> {
    if name.starts_with('-') {
        return Some("it begins with `-`");
    }
    if name.contains("..") || name.contains("@{") || name.contains("//") {
        return Some("it holds `..`, `@{` or `//`");
    }
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "~^*[\\".contains(c);
    if name.contains(forbidden) {
        return Some("it holds white space or one of ~ ^ * [ \\");
    }
    (name.starts_with('/') || name.ends_with(['/', '.']))
        .then_some("it begins or ends with `/`, or ends with `.`")
}

/// What a page of github.com is, and what it shows as a source.
pub(super) fn browsed(url: &Url) -> Option<(&'static str, String)> {
    let parts: Vec<&str> = url.path().trim_matches('/').split('/').collect();
    if !matches!(url.host_str(), Some("github.com" | "www.github.com")) {
        return None;
    }
    let (understood, owner, name, reference, below) = match parts.as_slice() {
        [owner, name] => ("it is the page of a repository", owner, name, None, &[][..]),
        [owner, name, "tree", reference, below @ ..] => {
            let understood = "it is the page of a directory of a repository";
            (understood, owner, name, Some(reference), below)
        }
        [owner, name, "blob", reference, below @ .., _] => {
            let understood =
                "it is the page of a file of a repository, and a package is a directory";
            (understood, owner, name, Some(reference), below)
        }
        _ => return None,
    };
    let mut spelling = format!("github:{owner}/{}", name.trim_end_matches(".git"));
    if let Some(reference) = reference {
        spelling.push('#');
        spelling.push_str(reference);
    }
    if !below.is_empty() {
        spelling.push(':');
        spelling.push_str(&below.join("/"));
    }
    Some((understood, spelling))
}

/// The path of an archive with `#REFERENCE` behind it, as repositories have one: the
/// archive, and `?path=…` if that follows. Of an address, its fragment tells.
pub(super) fn referenced_archive(text: &str) -> Option<(&str, &str)> {
    let path = path_part(text);
    // A directory above an archive may hold a `#` as well.
    if is_archive_name(path) && !text.get(path.len()..)?.contains('#') {
        return None;
    }
    let mut parts = text.rmatch_indices('#').map(|(at, _)| text.split_at(at));
    let (archive, reference) = parts.find(|(before, _)| is_archive_name(path_part(before)))?;
    let is_ours = is_spelt_as_path(text)
        || match scheme(text) {
            Some(_) => {
                let path = Scheme::of(text).filter(|(scheme, _)| *scheme == Scheme::File);
                path.is_some_and(|(_, path)| !path.starts_with("//"))
            }
            None => !is_scp(text),
        };
    is_ours.then_some((archive, path_behind(reference)))
}

/// `?path=…` behind a reference, or nothing.
pub(super) fn path_behind(reference: &str) -> &str {
    let at = reference.find("?path=");
    at.and_then(|at| reference.get(at..)).unwrap_or_default()
}

/// `user@host/path`, which lacks the `:` behind its host.
pub(super) fn slashed_scp(text: &str) -> Option<(&str, &str, &str)> {
    let (user, place) = text.split_once('@')?;
    let (host, path) = place.split_once('/')?;
    let is_scp = host.contains('.') && !path.is_empty() && is_scp(&format!("{user}@{host}:"));
    is_scp.then_some((user, host, path))
}

/// Whether a parameter of an address is what lets one in, as in addresses that are
/// signed for a while.
pub(super) fn is_secret_parameter(name: &str, value: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_signature = ["x-amz-", "x-goog-"]
        .iter()
        .any(|start| lower.starts_with(start))
        || ["sig", "signature", "key", "auth", "code"].contains(&&*lower);
    !value.is_empty()
        && (is_signature || credential::is_secret_name(name) || credential::holds_token(value))
}

/// Whether a query holds what lets one in.
pub(super) fn holds_secret(query: &str) -> bool {
    url::form_urlencoded::parse(query.as_bytes())
        .any(|(name, value)| is_secret_parameter(&name, &value))
}

/// A path with `/` between its parts on every system.
pub(super) fn slashed(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    }
}

/// `%41` is `A`; a `%` before anything else is itself.
pub(super) fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |at: usize| {
            bytes
                .get(at)
                .and_then(|&byte| char::from(byte).to_digit(16))
                .and_then(|digit| u8::try_from(digit).ok())
        };
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high * 16 + low);
                at += 3;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}
