//! Reading the address of a repository.

use super::NoSource;
use super::Source;
use super::parse::{NOTHING, Parser};
use super::text::{is_protocol, is_spelt_as_path, path_colon, reference_problem, scheme, slashed};
use crate::archive::EntryPath;
use crate::source::git::{Address, AddressError, GitSource};

impl Parser<'_> {
    pub(super) fn github(&self, rest: &str) -> Result<Source, NoSource> {
        let end = rest.find(['#', '?', ':']).unwrap_or(rest.len());
        let (repository, rest) = rest.split_at(end);
        let parts: Vec<&str> = repository.trim_end_matches('/').split('/').collect();
        let is_name = |part: &str| {
            !part.is_empty()
                && !matches!(part, "." | "..")
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        if let Some((place, reference)) = repository.split_once('@')
            && place.contains('/')
        {
            let meant = match rest.starts_with('#') {
                true => format!("github:{place}{rest}"),
                false => format!("github:{place}#{reference}{rest}"),
            };
            let understood = "a branch, tag or commit is written behind `#`, not behind `@`";
            return Err(self.error(understood, &self.readable(meant)));
        }
        match parts.as_slice() {
            [owner, name] if is_name(owner) && is_name(name) => {
                self.git(&format!("https://github.com/{owner}/{name}{rest}"))
            }
            [owner, name, below @ ..] if is_name(owner) && is_name(name) => Err(self.error(
                "more than OWNER/REPO stands before the directory",
                &[format!("github:{owner}/{name}:{}", below.join("/"))],
            )),
            _ => Err(self.error(
                "it names no repository of github.com",
                &["github:OWNER/REPO[#REF][:SUBDIR]"],
            )),
        }
    }

    /// A repository: its address, then `#REF`, and `?path=` or `:SUBDIR` behind
    /// the address or behind the reference.
    pub(super) fn git(&self, text: &str) -> Result<Source, NoSource> {
        self.is_address(text)?;
        let (place, fragment) = match text.split_once('#') {
            Some((place, fragment)) => (place, Some(fragment)),
            None => (text, None),
        };
        let (address, mut sub_path) = self.below(place, path_colon(place))?;
        let mut reference = None;
        if let Some(fragment) = fragment {
            let (name, below) = self.below(fragment, fragment.find(':'))?;
            reference = (!name.is_empty()).then(|| name.to_owned());
            match (&sub_path, below) {
                (Some(_), Some(_)) => {
                    return Err(self.error("the directory in it is given twice", NOTHING));
                }
                (None, below) => sub_path = below,
                (Some(_), None) => {}
            }
        }
        if let Some(reference) = &reference
            && let Some(problem) = reference_problem(reference)
        {
            let understood =
                format!("`{reference}` is no name of a branch, tag or commit: {problem}");
            return Err(self.error(&understood, NOTHING));
        }
        let address = Address::parse(address).map_err(|problem| {
            let understood = format!("as the address of a repository, {problem}");
            let protected = match &problem {
                AddressError::Unprotected(scheme) => text
                    .get(scheme.len()..)
                    .map(|rest| format!("git+https{rest}")),
                _ => None,
            };
            let protected: Vec<String> = protected.into_iter().collect();
            self.error(&understood, &protected)
        })?;
        Ok(Source::Git(GitSource {
            address,
            reference,
            sub_path,
        }))
    }

    /// Whether a text can begin an address at all: a path, or a protocol without its
    /// slashes, would otherwise be a host of ssh.
    fn is_address(&self, text: &str) -> Result<(), NoSource> {
        let local = |path: &str| match self.absolute(path) {
            Ok(path) => format!("git+file://{}", slashed(&path)),
            Err(_) => "git+file:///PATH".to_owned(),
        };
        if is_spelt_as_path(text) {
            return Err(self.error(
                "a repository on this machine is written with its protocol",
                &[local(text)],
            ));
        }
        let Some(protocol) = scheme(text).filter(|scheme| is_protocol(scheme)) else {
            return Ok(());
        };
        let rest = text.get(protocol.len() + 1..).unwrap_or_default();
        if rest.starts_with("//") {
            return Ok(());
        }
        let wanted = if protocol.eq_ignore_ascii_case("file") {
            local(rest)
        } else {
            format!("git+{protocol}://{}", rest.trim_start_matches('/'))
        };
        let understood = format!("`{protocol}:` is not followed by `//`");
        Err(self.error(&understood, &[wanted]))
    }

    /// Splits `?path=SUBDIR`, or `:SUBDIR` at `colon`, from the end of `text`.
    fn below<'a>(
        &self,
        text: &'a str,
        colon: Option<usize>,
    ) -> Result<(&'a str, Option<EntryPath>), NoSource> {
        let (head, sub_path) = match text.split_once('?') {
            Some((head, query)) => match query.strip_prefix("path=") {
                Some(path) => (head, Some(path)),
                None => {
                    return Err(self.error(
                        "`?` is not followed by `path=`",
                        &["?path=SUBDIR behind the address"],
                    ));
                }
            },
            None => (text, None),
        };
        match (colon.filter(|&colon| colon < head.len()), sub_path) {
            (Some(_), Some(_)) => Err(self.error("the directory in it is given twice", NOTHING)),
            (Some(colon), None) => Ok((&head[..colon], self.sub_path(&head[colon + 1..])?)),
            (None, Some(path)) => Ok((head, self.sub_path(path)?)),
            (None, None) => Ok((head, None)),
        }
    }
}
