//! Names of npm packages.

use std::fmt;

/// A name that an npm registry can hold: `name` or `@scope/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageName(String);

/// Why a text is no package name. Reads after the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    /// Nothing, or a scope without a name.
    #[error("has no name; write NAME or @SCOPE/NAME")]
    Empty,
    /// Longer than registries take.
    #[error("is longer than 214 characters")]
    TooLong,
    /// A character that has another meaning in an address.
    #[error("holds {0:?}; package names consist of letters, digits, '-', '.', '_' and '~'")]
    Character(char),
    /// Begins like a file name or an option.
    #[error("begins with {0:?}, which package names do not")]
    Start(char),
    /// A name that means something else to npm.
    #[error("is reserved")]
    Reserved,
}

impl PackageName {
    /// Reads a name by npm's rules, those for packages of old included: capital
    /// letters and `!'()*` are let pass, since such packages are there.
    ///
    /// # Errors
    ///
    /// What npm would not ask a registry for.
    pub fn parse(text: &str) -> Result<Self, NameProblem> {
        let (scope, name) = match text.strip_prefix('@') {
            Some(rest) => match rest.split_once('/') {
                Some((scope, name)) => (Some(scope), name),
                None => return Err(NameProblem::Empty),
            },
            None => (None, text),
        };
        for part in scope.into_iter().chain([name]) {
            if part.is_empty() {
                return Err(NameProblem::Empty);
            }
            let foreign = |c: &char| !(c.is_ascii_alphanumeric() || "-._~!'()*".contains(*c));
            if let Some(c) = part.chars().find(foreign) {
                return Err(NameProblem::Character(c));
            }
        }
        if text.len() > 214 {
            return Err(NameProblem::TooLong);
        }
        // A scope `.` or `..` would climb in the address.
        let starts: &[char] = if scope.is_some() {
            &['.']
        } else {
            &['.', '-', '_']
        };
        for part in scope.into_iter().chain([name]) {
            if let Some(start) = part.chars().next().filter(|c| starts.contains(c)) {
                return Err(NameProblem::Start(start));
            }
        }
        let reserved = ["node_modules", "favicon.ico"];
        if scope.is_none() && reserved.iter().any(|name| text.eq_ignore_ascii_case(name)) {
            return Err(NameProblem::Reserved);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scope, with its `@`.
    pub fn scope(&self) -> Option<&str> {
        npmrc_config_rs::registry::extract_scope(&self.0)
    }

    /// The name as one part of a registry's address.
    pub(super) fn in_address(&self) -> String {
        // Every other character stands for itself there.
        self.0.replace('/', "%2f")
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{NameProblem, PackageName};

    #[test]
    fn names_of_today_and_of_old() {
        for text in [
            "a",
            "a-b.c_d~e",
            "@s/a",
            "@S/A",
            "JSONStream",
            "@-s/_a",
            "a!",
            "0",
        ] {
            let name = PackageName::parse(text);
            assert_eq!(name.as_ref().map(PackageName::as_str), Ok(text));
        }
        let name = PackageName::parse("@s/a");
        assert_eq!(name.as_ref().ok().and_then(PackageName::scope), Some("@s"));
        assert_eq!(name.map(|name| name.in_address()), Ok("@s%2fa".to_owned()));
    }

    #[test]
    fn what_is_no_name() {
        use NameProblem::{Character, Empty, Reserved, Start, TooLong};
        for (text, problem) in [
            ("", Empty),
            ("@", Empty),
            ("@s", Empty),
            ("@s/", Empty),
            ("@/a", Empty),
            (".a", Start('.')),
            ("..", Start('.')),
            ("-a", Start('-')),
            ("_a", Start('_')),
            ("@s/.a", Start('.')),
            ("@../a", Start('.')),
            ("a/b", Character('/')),
            ("@s/a/b", Character('/')),
            ("a%2fb", Character('%')),
            ("a b", Character(' ')),
            ("a?b", Character('?')),
            ("a#b", Character('#')),
            ("a\\b", Character('\\')),
            ("a@1", Character('@')),
            ("é", Character('é')),
            ("Node_Modules", Reserved),
            (&"a".repeat(215), TooLong),
        ] {
            assert_eq!(PackageName::parse(text), Err(problem), "{text}");
        }
    }
}
