//! Paths inside a package.

use std::fmt;

use super::fold::fold;

/// A path inside a package: relative, `/` between its parts, and no part that
/// any system reads differently.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryPath(String);

impl EntryPath {
    /// The most bytes one part may have: what common file systems can name.
    pub const MAX_PART: usize = 255;
    /// The most bytes of a whole path: with the place it is installed at, it stays
    /// below what every system can open.
    pub const MAX_LENGTH: usize = 1024;

    /// Reads a path as an archive or a repository spells it. `./` at the start and
    /// one `/` at the end are let pass and dropped; nothing else is changed.
    ///
    /// How many parts are too many is for [`super::Limits::parts`] to say.
    ///
    /// # Errors
    ///
    /// When some system would take the path for another one, or for none.
    pub fn parse(raw: &[u8]) -> Result<Self, PathProblem> {
        let text = str::from_utf8(raw).map_err(|_| PathProblem::NotUtf8)?;
        let mut text = text;
        while let Some(rest) = text.strip_prefix("./") {
            text = rest;
        }
        let text = match text.strip_suffix('/') {
            // `/` itself is not the package, but the root of the file system.
            Some("") if raw == b"/" => return Err(PathProblem::Absolute),
            Some(rest) => rest,
            None => text,
        };
        if text.is_empty() || text == "." {
            return Err(PathProblem::Empty);
        }
        if text.starts_with('/') {
            return Err(PathProblem::Absolute);
        }
        if let Some(bad) = text.chars().find(|c| c.is_control()) {
            return Err(PathProblem::Control(bad));
        }
        if text.contains('\\') {
            return Err(PathProblem::Backslash);
        }
        let bytes = text.as_bytes();
        if bytes.len() > 1 && bytes[1] == b':' && bytes[0].is_ascii_alphabetic() {
            return Err(PathProblem::Drive);
        }
        if bytes.len() > Self::MAX_LENGTH {
            return Err(PathProblem::TooLong);
        }
        text.split('/').try_for_each(check_part)?;
        Ok(Self(text.to_owned()))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of `other` below this one.
    ///
    /// # Errors
    ///
    /// As for [`EntryPath::parse`].
    pub fn join(&self, other: &str) -> Result<Self, PathProblem> {
        // By itself first, or an absolute path would pass for one with `//`.
        let other = Self::parse(other.as_bytes())?;
        Self::parse(format!("{self}/{other}").as_bytes())
    }

    /// The directory the entry lies in; nothing for the top of the package.
    #[must_use]
    pub fn parent(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(parent, _)| parent)
    }

    /// What is left of the path below the directory `dir` (`""` is the top).
    #[must_use]
    pub fn strip_prefix(&self, dir: &str) -> Option<&str> {
        if dir.is_empty() {
            return Some(&self.0);
        }
        self.0
            .strip_prefix(dir)?
            .strip_prefix('/')
            .filter(|rest| !rest.is_empty())
    }

    /// The path seen from the directory `dir`, if it lies below that.
    pub(super) fn below(&self, dir: &str) -> Option<Self> {
        self.strip_prefix(dir).map(|rest| Self(rest.to_owned()))
    }

    /// The parts, outermost first.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for EntryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for EntryPath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for EntryPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// What is wrong with a path. Messages read after "its path ".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// Nothing is named.
    #[error("is empty")]
    Empty,
    /// `/etc/passwd`.
    #[error("is absolute")]
    Absolute,
    /// `C:file`: relative to some drive of Windows.
    #[error("names a drive")]
    Drive,
    /// A `:` elsewhere: a stream of a file on Windows, a separator on old Macs.
    #[error("holds a `:`, which names a stream on Windows")]
    Colon,
    /// A separator on Windows, a letter elsewhere.
    #[error("holds a backslash")]
    Backslash,
    /// `..`, which leads out.
    #[error("holds `..`")]
    Parent,
    /// `a//b` or `a/./b`.
    #[error("holds an empty part or `.`")]
    Dot,
    /// NUL, a line end, an escape.
    #[error("holds the control character U+{:04X}", u32::from(*.0))]
    Control(char),
    /// Bytes that are no UTF-8.
    #[error("is not UTF-8")]
    NotUtf8,
    /// `name.` and `name ` are `name` on Windows.
    #[error("has a part that ends with a dot or a space, which Windows drops")]
    Trailing,
    /// `nul.txt`, `COM1`.
    #[error("has a part that names a device on Windows")]
    Device,
    /// `.git` in any spelling that some system takes for it.
    #[error("has a part that is `.git` to some system; what git keeps there can run programs")]
    Git,
    /// A part of more than [`EntryPath::MAX_PART`] bytes.
    #[error("has a part of more than {} bytes", EntryPath::MAX_PART)]
    LongPart,
    /// More than [`EntryPath::MAX_LENGTH`] bytes.
    #[error("has more than {} bytes", EntryPath::MAX_LENGTH)]
    TooLong,
    /// More parts than [`super::Limits::parts`].
    #[error("has more than {0} parts")]
    TooDeep(usize),
}

/// Refuses a part that some system reads differently.
pub(super) fn check_part(part: &str) -> Result<(), PathProblem> {
    match part {
        "" | "." => return Err(PathProblem::Dot),
        ".." => return Err(PathProblem::Parent),
        _ => {}
    }
    if part.len() > EntryPath::MAX_PART {
        return Err(PathProblem::LongPart);
    }
    if part.contains(':') {
        return Err(PathProblem::Colon);
    }
    if is_git(part) {
        return Err(PathProblem::Git);
    }
    let folded = fold(part);
    let bare = folded.trim_end_matches(['.', ' ']);
    // Dots between invisible characters are a trailing dot as well.
    if bare.len() < folded.len() || folded.is_empty() {
        return Err(PathProblem::Trailing);
    }
    if is_device(&folded) {
        return Err(PathProblem::Device);
    }
    Ok(())
}

/// Whether some system takes the name for `.git`, or for a stream of it.
pub(crate) fn is_git(name: &str) -> bool {
    let folded = fold(name);
    let file = folded.split(':').next().unwrap_or_default();
    matches!(file.trim_end_matches(['.', ' ']), ".git" | "git~1")
}

/// Whether Windows takes the folded name for a device, whatever follows its first
/// dot.
fn is_device(folded: &str) -> bool {
    let stem = folded.split('.').next().unwrap_or_default();
    let stem = stem.trim_end_matches(' ');
    if matches!(stem, "con" | "prn" | "aux" | "nul" | "conin$" | "conout$") {
        return true;
    }
    let number = stem
        .strip_prefix("com")
        .or_else(|| stem.strip_prefix("lpt"));
    let mut number = number.unwrap_or_default().chars();
    matches!(
        (number.next(), number.next()),
        (Some('1'..='9' | '¹' | '²' | '³'), None)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_taken_as_it_is_spelt() {
        for (raw, wanted) in [
            ("a", "a"),
            ("./a/b", "a/b"),
            ("././a/", "a"),
            ("a/b.c/.d", "a/b.c/.d"),
            ("skills/ü/SKILL.md", "skills/ü/SKILL.md"),
            ("...a", "...a"),
            (".gitignore", ".gitignore"),
            (".github/x", ".github/x"),
            ("git", "git"),
            ("git~2", "git~2"),
            ("console", "console"),
            ("com10", "com10"),
            ("com", "com"),
            ("com0", "com0"),
            ("a con", "a con"),
            (" leading", " leading"),
            ("👨\u{200d}👩", "👨\u{200d}👩"),
            ("a*b?", "a*b?"),
        ] {
            let path = EntryPath::parse(raw.as_bytes()).unwrap_or_else(|e| panic!("{raw}: {e}"));
            assert_eq!(path.as_str(), wanted);
        }
    }

    #[test]
    fn what_some_system_reads_differently_is_refused() {
        use PathProblem::*;
        let long = "x".repeat(256);
        let deep = "0123456789/".repeat(100);
        for (raw, wanted) in [
            ("", Empty),
            (".", Empty),
            ("./", Empty),
            ("/", Absolute),
            ("/a", Absolute),
            (".//a", Absolute),
            ("//host/share", Absolute),
            ("C:x", Drive),
            ("c:/x", Drive),
            ("a/b:c", Colon),
            ("ab:c", Colon),
            ("a\\b", Backslash),
            ("..", Parent),
            ("a/../b", Parent),
            ("./..", Parent),
            ("../a", Parent),
            ("a//b", Dot),
            ("a/./b", Dot),
            ("a//", Dot),
            ("a/.", Dot),
            ("a\0b", Control('\0')),
            ("a\nb", Control('\n')),
            ("a\u{1b}[1m", Control('\u{1b}')),
            ("a\u{7f}", Control('\u{7f}')),
            ("a\u{85}", Control('\u{85}')),
            ("a.", Trailing),
            ("a /b", Trailing),
            ("...", Trailing),
            (".\u{200d}.", Trailing),
            ("\u{feff}", Trailing),
            ("con", Device),
            ("a/NUL.txt", Device),
            ("nul .txt", Device),
            ("CONIN$", Device),
            ("conout$.x", Device),
            ("com1", Device),
            ("Lpt9.a.b", Device),
            ("COM¹", Device),
            (".git", Git),
            (".GIT/config", Git),
            ("a/.git/hooks/x", Git),
            ("git~1", Git),
            ("GIT~1/config", Git),
            (".git.", Git),
            (".git ", Git),
            (".g\u{200c}it", Git),
            (".gi\u{feff}T", Git),
            (&long, LongPart),
            (&deep, TooLong),
        ] {
            assert_eq!(EntryPath::parse(raw.as_bytes()), Err(wanted), "{raw:?}");
        }
        assert_eq!(EntryPath::parse(b"a\xff"), Err(NotUtf8));
    }

    #[test]
    fn paths_are_joined_and_taken_apart() {
        let path = EntryPath::parse(b"a/b").unwrap();
        assert_eq!(path.join("c/d").unwrap().as_str(), "a/b/c/d");
        assert_eq!(path.join("./c/").unwrap().as_str(), "a/b/c");
        assert_eq!(path.join("/c"), Err(PathProblem::Absolute));
        assert_eq!(path.join("../c"), Err(PathProblem::Parent));
        assert_eq!(path.join("C:x"), Err(PathProblem::Drive));
        assert_eq!(path.join(""), Err(PathProblem::Empty));
        assert_eq!(path.parent(), Some("a"));
        assert_eq!(EntryPath::parse(b"a").unwrap().parent(), None);
        assert_eq!(path.strip_prefix(""), Some("a/b"));
        assert_eq!(path.strip_prefix("a"), Some("b"));
        assert_eq!(path.strip_prefix("a/b"), None);
        let sibling = EntryPath::parse(b"plug-evil/x").unwrap();
        assert_eq!(sibling.strip_prefix("plug"), None);
    }

    proptest! {
        #[test]
        fn what_is_accepted_stays_below_and_reads_the_same_again(raw in "[a.:/\\\\ ~gitGIT\u{200c}\u{301}]{0,12}") {
            if let Ok(path) = EntryPath::parse(raw.as_bytes()) {
                prop_assert_eq!(EntryPath::parse(path.as_str().as_bytes()), Ok(path.clone()));
                let native = std::path::Path::new(path.as_str());
                prop_assert!(native.components().all(|part| matches!(part, std::path::Component::Normal(_))));
                prop_assert_eq!(native.components().count(), path.parts().count());
            }
        }
    }
}
