//! The grammars of plugin names (§5.5) and skill names (Agent Skills), in code:
//! the published pattern needs a look-ahead that linear regex engines lack, and
//! its `$` lets a trailing line feed pass in others.

/// Longest plugin name and longest skill name, in characters.
pub const MAX_NAME: usize = 64;

/// What is wrong with a plugin name, as a phrase that follows "the name …".
pub fn plugin_name_problem(name: &str) -> Option<String> {
    problem(name, &['-', '.'])
}

/// What is wrong with a skill name, as a phrase that follows "the name …".
pub fn skill_name_problem(name: &str) -> Option<String> {
    problem(name, &['-'])
}

/// A valid plugin name near `name`, if letters or digits are left to build one.
pub fn plugin_name_suggestion(name: &str) -> Option<String> {
    suggestion(name, &['-', '.'])
}

/// A valid skill name near `name`, if letters or digits are left to build one.
pub fn skill_name_suggestion(name: &str) -> Option<String> {
    suggestion(name, &['-'])
}

/// Whether an extension namespace (§8) is one: at least two labels of letters,
/// digits and hyphens, separated by periods.
pub fn is_reverse_domain(namespace: &str) -> bool {
    namespace.contains('.')
        && namespace.split('.').all(|label| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
}

fn problem(name: &str, separators: &[char]) -> Option<String> {
    if name.is_empty() {
        return Some("is empty".into());
    }
    if let Some(bad) = name
        .chars()
        .find(|&c| !is_alphanumeric(c) && !separators.contains(&c))
    {
        let kind = if bad.is_ascii_uppercase() {
            "an upper-case letter"
        } else if bad.is_whitespace() {
            "white space"
        } else if bad.is_control() {
            "a control character"
        } else {
            "a character that is not allowed"
        };
        return Some(format!("holds {kind}: {bad:?}"));
    }
    let edge = |c: Option<char>| c.filter(|&c| !is_alphanumeric(c));
    if let Some(first) = edge(name.chars().next()) {
        return Some(format!("begins with {first:?}"));
    }
    if let Some(last) = edge(name.chars().next_back()) {
        return Some(format!("ends with {last:?}"));
    }
    for separator in separators {
        let twice: String = [*separator; 2].iter().collect();
        if name.contains(&twice) {
            return Some(format!("holds {twice:?}"));
        }
    }
    // Only ASCII has passed, so bytes are characters.
    (name.len() > MAX_NAME).then(|| {
        format!(
            "is {} characters long; at most {MAX_NAME} are allowed",
            name.len()
        )
    })
}

fn suggestion(name: &str, separators: &[char]) -> Option<String> {
    // A name that loses letters is another name.
    if name.chars().any(|c| c.is_alphabetic() && !c.is_ascii()) {
        return None;
    }
    let mut built = String::with_capacity(name.len().min(MAX_NAME));
    for character in name.chars() {
        let character = character.to_ascii_lowercase();
        let next = if is_alphanumeric(character) || separators.contains(&character) {
            character
        } else {
            '-'
        };
        let doubled =
            separators.contains(&next) && built.ends_with(|last| separators.contains(&last));
        if !doubled && built.len() < MAX_NAME {
            built.push(next);
        }
    }
    let trimmed = built.trim_matches(separators);
    (!trimmed.is_empty() && trimmed != name).then(|| trimmed.to_owned())
}

fn is_alphanumeric(character: char) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_names() {
        let long = "a".repeat(64);
        for good in [
            "a",
            "0",
            "my-plugin",
            "acme.tools",
            "lint3r",
            "a.-b",
            "a-.b",
            &long,
        ] {
            assert_eq!(plugin_name_problem(good), None, "{good}");
        }
        let too_long = "a".repeat(65);
        let bad = [
            "", "A", "a--b", "a..b", "-a", "a-", ".a", "a.", "a_b", "a b", "a\n", "ä", "a/b",
            &too_long,
        ];
        for bad in bad {
            assert!(plugin_name_problem(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn skill_names_have_no_periods() {
        assert_eq!(skill_name_problem("pdf-processing"), None);
        for bad in [
            "a.b", "PDF", "-pdf", "pdf-", "pdf--x", "pdf\n", " pdf", "é", "",
        ] {
            assert!(skill_name_problem(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn suggestions_are_valid_names() {
        for (name, wanted) in [
            ("My Plugin", Some("my-plugin")),
            ("--x--", Some("x")),
            ("a..b", Some("a.b")),
            ("项目", None),
            ("café", None),
            ("ok", None),
        ] {
            assert_eq!(plugin_name_suggestion(name).as_deref(), wanted, "{name}");
        }
        assert_eq!(
            skill_name_suggestion("Data.Analysis").as_deref(),
            Some("data-analysis")
        );
        let long = plugin_name_suggestion(&"Ab".repeat(80)).expect("a suggestion");
        assert_eq!(plugin_name_problem(&long), None);
    }

    #[test]
    fn reverse_domains() {
        assert!(is_reverse_domain("com.example.client"));
        assert!(is_reverse_domain("works.ever"));
        for bad in [
            "client",
            "",
            "com.",
            ".com",
            "com..x",
            "com.exa mple",
            "com.exämple",
        ] {
            assert!(!is_reverse_domain(bad), "{bad}");
        }
    }
}
