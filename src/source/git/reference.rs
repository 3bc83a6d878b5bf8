//! What the text after `#` means among the references of a repository.

use git2::Oid;

use super::advertisement::Advertised;
use super::error::Error;
use crate::spec::near::nearest;

/// How many names an error lists.
const LISTED: usize = 8;
/// The fewest digits git takes for the beginning of an id.
const SHORTEST: usize = 4;

/// Which commit is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'t> {
    /// Exactly this one, that a reference led to once.
    Pinned { id: Oid, reference: Option<&'t str> },
    /// What the text after `#` means; the default branch without.
    Reference(Option<&'t str>),
}

impl Wanted<'_> {
    /// What is wanted among the references of a repository.
    pub(super) fn meaning<'a>(&self, references: &'a [Advertised]) -> Result<Meaning<'a>, Error> {
        match self {
            Self::Pinned { id, .. } => Ok(Meaning::Commit(*id)),
            Self::Reference(text) => meaning(*text, references),
        }
    }

    /// For messages.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Pinned { id, .. } => id.to_string(),
            Self::Reference(text) => text.unwrap_or("HEAD").to_owned(),
        }
    }

    /// The reference that led to a pinned commit.
    pub(super) fn pinned_reference(&self) -> Option<String> {
        match self {
            Self::Pinned { reference, .. } => reference.map(str::to_owned),
            Self::Reference(_) => None,
        }
    }
}

/// What a reference means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// One of the repository's references.
    Reference(&'a Advertised),
    /// A full commit id.
    Commit(Oid),
    /// The beginning of a commit id, in lower case.
    Prefix(String),
}

/// Reads a reference as git does: all 40 digits are an id, whatever branches may
/// be called; then come the names, `NAME`, `refs/NAME`, a tag, a branch; then the
/// beginning of an id. Nothing means the default branch.
fn meaning<'a>(text: Option<&str>, references: &'a [Advertised]) -> Result<Meaning<'a>, Error> {
    let find = |name: &str| references.iter().find(|known| known.name == name);
    let Some(text) = text.filter(|text| *text != "HEAD") else {
        return match find("HEAD") {
            Some(head) => Ok(Meaning::Reference(head)),
            None if references.is_empty() => Err(Error::Empty),
            None => Err(Error::NoDefault(listed(references))),
        };
    };
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if digits && text.len() == 40 {
        return Ok(Meaning::Commit(Oid::from_str(text)?));
    }
    if references.is_empty() {
        return Err(Error::Empty);
    }
    let rules = ["", "refs/", "refs/tags/", "refs/heads/"];
    let found = rules.iter().find_map(|rule| find(&format!("{rule}{text}")));
    match found {
        Some(found) => Ok(Meaning::Reference(found)),
        None if digits && text.len() == 64 => Err(Error::Sha256),
        None if digits && (SHORTEST..40).contains(&text.len()) => {
            Ok(Meaning::Prefix(text.to_ascii_lowercase()))
        }
        None => Err(missing(text, references)),
    }
}

/// The error for a reference that is not there.
pub(super) fn missing(text: &str, references: &[Advertised]) -> Error {
    let near = nearest(text, references.iter().filter_map(short)).map(str::to_owned);
    Error::NoReference {
        wanted: text.to_owned(),
        near,
        there: listed(references),
    }
}

/// The name users know a branch or tag by.
fn short(reference: &Advertised) -> Option<&str> {
    let name = reference.name.as_str();
    name.strip_prefix("refs/heads/")
        .or_else(|| name.strip_prefix("refs/tags/"))
}

/// The first branches and tags.
fn listed(references: &[Advertised]) -> Vec<String> {
    let mut names = references
        .iter()
        .filter_map(short)
        .filter(|name| !name.contains(char::is_control));
    let mut listed: Vec<_> = names.by_ref().take(LISTED).map(str::to_owned).collect();
    if names.next().is_some() {
        listed.push("…".to_owned());
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(names: &[&str]) -> Vec<Advertised> {
        names
            .iter()
            .enumerate()
            .map(|(at, name)| Advertised {
                name: (*name).to_owned(),
                id: Oid::from_str(&format!("{:040x}", at + 1)).expect("an id"),
                peeled: None,
            })
            .collect()
    }

    #[test]
    fn names_and_ids_are_told_apart_as_git_does() {
        let full = "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef";
        let branch_like_full = format!("refs/heads/{full}");
        let there = references(&[
            "HEAD",
            "refs/heads/main",
            "refs/heads/both",
            "refs/tags/both",
            "refs/heads/deadbee",
            "refs/heads/heads/odd",
            "refs/heads/odd",
            "refs/pull/1/head",
            &branch_like_full,
        ]);
        for (text, wanted) in [
            (None, "HEAD"),
            (Some("HEAD"), "HEAD"),
            (Some("main"), "refs/heads/main"),
            (Some("both"), "refs/tags/both"),
            (Some("heads/both"), "refs/heads/both"),
            (Some("deadbee"), "refs/heads/deadbee"),
            (Some("heads/odd"), "refs/heads/odd"),
            (Some("refs/pull/1/head"), "refs/pull/1/head"),
            (Some(branch_like_full.as_str()), &branch_like_full),
        ] {
            match meaning(text, &there) {
                Ok(Meaning::Reference(found)) => assert_eq!(found.name, wanted),
                other => panic!("{text:?}: {other:?}"),
            }
        }
        assert_eq!(
            meaning(Some(full), &there).expect("an id"),
            Meaning::Commit(Oid::from_str(full).expect("an id"))
        );
        assert_eq!(
            meaning(Some("DEADB"), &there).expect("a prefix"),
            Meaning::Prefix("deadb".to_owned())
        );
    }

    #[test]
    fn what_is_missing_names_what_is_there() {
        let there = references(&["refs/heads/main", "refs/heads/stable", "refs/tags/v1.0"]);
        let said = |text| meaning(text, &there).expect_err("nothing").to_string();
        assert!(said(Some("stabl")).contains("did you mean \"stable\""));
        assert!(said(Some("nothing-like-it")).contains("main, stable, v1.0"));
        assert!(said(None).contains("no default branch"));
        assert!(matches!(meaning(Some("x"), &[]), Err(Error::Empty)));
        assert!(matches!(
            meaning(Some(&"a".repeat(64)), &there),
            Err(Error::Sha256)
        ));
        assert!(matches!(
            meaning(Some("abc"), &there),
            Err(Error::NoReference { .. })
        ));
    }
}
