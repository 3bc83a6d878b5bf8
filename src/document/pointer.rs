//! RFC 6901 pointers.

use std::fmt;

/// An RFC 6901 pointer to a value, built while walking down a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pointer(String);

impl Pointer {
    /// The whole document.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// The member `key` of the value this points to.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut pointer = self.0.clone();
        pointer.push('/');
        for character in key.chars() {
            match character {
                '~' => pointer.push_str("~0"),
                '/' => pointer.push_str("~1"),
                other => pointer.push(other),
            }
        }
        Self(pointer)
    }

    /// The element `index` of the array this points to.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_escaped() {
        let pointer = Pointer::root().key("a/b").key("m~n").index(3).key("");
        assert_eq!(pointer.to_string(), "/a~1b/m~0n/3/");
    }
}
