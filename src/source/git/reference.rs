//! What the text after `#` means among the references of a repository.

use git2::Oid;

use super::advertisement::Advertised;
use super::error::Error;
use crate::spec::near::nearest;

/// How many names an error lists.
const LISTED: usize = 8;
/// What git puts before a short name, in this order, until there is a reference.
const RULES: [&str; 4] = ["", "refs/", "refs/tags/", "refs/heads/"];
/// What the default branch is asked for by.
const DEFAULT: &str = "HEAD";

/// A text that can be an id, by its digits alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdText {
    /// All digits of a commit.
    Full,
    /// All digits of a commit in a repository of the format SHA-256.
    FullSha256,
    /// So many that git takes them for the beginning of one.
    Beginning,
}

impl IdText {
    /// The fewest digits git takes for the beginning of an id.
    const SHORTEST: usize = 4;
    const FULL: usize = 40;
    const FULL_SHA256: usize = 64;

    pub(super) fn of(text: &str) -> Option<Self> {
        if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        match text.len() {
            Self::FULL => Some(Self::Full),
            Self::FULL_SHA256 => Some(Self::FullSha256),
            Self::SHORTEST..Self::FULL => Some(Self::Beginning),
            _ => None,
        }
    }
}

/// Whether a text is all digits of a commit, in repositories of either format.
pub(crate) fn is_full_id(text: &str) -> bool {
    matches!(IdText::of(text), Some(IdText::Full | IdText::FullSha256))
}

/// Whether the text after `#` means, as far as can be told without asking the
/// repository, what was recorded when `asked` stood there: the commit `id`, which
/// `reference` led to.
pub(crate) fn means_recorded(
    text: &str,
    asked: Option<&str>,
    id: &str,
    reference: Option<&str>,
) -> bool {
    if text == DEFAULT && asked.is_none_or(|asked| asked == DEFAULT) {
        return true;
    }
    let is_id = match IdText::of(text) {
        // No reference counts beside it.
        Some(IdText::Full) => return id.eq_ignore_ascii_case(text),
        Some(IdText::FullSha256) => id.eq_ignore_ascii_case(text),
        Some(IdText::Beginning) => {
            let beginning = id.get(..text.len());
            beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(text))
        }
        None => false,
    };
    let leads_there = |rule: &str| reference.and_then(|it| it.strip_prefix(rule)) == Some(text);
    is_id || RULES.into_iter().any(leads_there)
}

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
            Self::Reference(text) => text.unwrap_or(DEFAULT).to_owned(),
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
    let Some(text) = text.filter(|text| *text != DEFAULT) else {
        return match find(DEFAULT) {
            Some(head) => Ok(Meaning::Reference(head)),
            None if references.is_empty() => Err(Error::Empty),
            None => Err(Error::NoDefault(listed(references))),
        };
    };
    let id = IdText::of(text);
    if id == Some(IdText::Full) {
        return Ok(Meaning::Commit(Oid::from_str(text)?));
    }
    if references.is_empty() {
        return Err(Error::Empty);
    }
    let found = RULES.iter().find_map(|rule| find(&format!("{rule}{text}")));
    match (found, id) {
        (Some(found), _) => Ok(Meaning::Reference(found)),
        (None, Some(IdText::FullSha256)) => Err(Error::Sha256),
        (None, Some(IdText::Beginning)) => Ok(Meaning::Prefix(text.to_ascii_lowercase())),
        (None, _) => Err(missing(text, references)),
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
    fn what_was_recorded_is_known_by_all_its_names() {
        let id = "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef";
        let main = Some("refs/heads/main");
        for (text, asked, reference, wanted) in [
            ("HEAD", None, main, true),
            ("HEAD", Some("HEAD"), main, true),
            ("HEAD", Some("main"), main, false),
            ("main", None, main, true),
            ("heads/main", None, main, true),
            ("refs/heads/main", None, main, true),
            ("dev", None, main, false),
            ("v1", Some("v1"), Some("refs/tags/v1"), true),
            (id, None, main, true),
            ("DEADBEEF", None, main, true),
            ("dead", None, None, true),
            ("dea", None, None, false),
            ("beef", None, None, false),
            ("beef", None, Some("refs/heads/beef"), true),
            (&"0".repeat(40), None, main, false),
            (&id.to_uppercase(), None, None, true),
        ] {
            let is = means_recorded(text, asked, id, reference);
            assert_eq!(is, wanted, "{text} {asked:?} {reference:?}");
        }
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
