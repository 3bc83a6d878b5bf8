//! Which names some file system takes for one and the same.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// Characters that the file system of older Macs leaves out of account when it
/// compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

/// The form of `text` that is equal for all names that any file system takes for
/// the same: without regard to case, composition and invisible characters.
///
/// It goes over the whole path as over each part, because `/` neither folds nor
/// composes.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    // Some letters meet in upper case only (`ſ` and `s`, `ß` and `ss`), others in
    // lower case only (`ẞ` and `ß`).
    let folded: String = text
        .nfd()
        .filter(|&c| !is_ignorable(c))
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect();
    Cow::Owned(folded.nfd().collect())
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn names_that_meet_somewhere_fold_alike() {
        for (one, other) in [
            ("README", "readme"),
            ("a/B", "A/b"),
            ("é", "e\u{301}"),
            ("É", "e\u{301}"),
            ("straße", "STRASSE"),
            ("\u{212a}elvin", "kelvin"),
            ("\u{17f}ocket", "socket"),
            ("ΟΔΟΣ", "οδος"),
            ("ﬁle", "file"),
            ("a\u{200c}b", "ab"),
            ("\u{1e9e}", "ss"),
            ("\u{1fb3}", "\u{1fbc}"),
        ] {
            assert_eq!(fold(one), fold(other), "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("é", "e"), ("ab", "a b"), ("١", "1")] {
            assert_ne!(fold(one), fold(other), "{one} {other}");
        }
    }

    #[test]
    fn a_path_folds_part_by_part() {
        let path = "É/\u{301}x/\u{338}Y/ß";
        let parts: Vec<_> = path
            .split('/')
            .map(|part| fold(part).into_owned())
            .collect();
        assert_eq!(fold(path), parts.join("/"));
    }
}
