//! `allowed-tools` as a list and as the one string of the Agent Skills format:
//! white space separates the tools, except between parentheses, as in
//! `Bash(git add:*) Read`.

/// The one string for these tools, unless one of them cannot stand in it.
pub(super) fn join<'t>(tools: impl IntoIterator<Item = &'t str>) -> Result<String, String> {
    let mut joined = String::new();
    for tool in tools {
        if split(tool) != Some(vec![tool]) {
            return Err(format!(
                "{tool:?} is not one word with balanced parentheses"
            ));
        }
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(tool);
    }
    Ok(joined)
}

/// The tools of such a string, unless its parentheses are not balanced.
pub(super) fn split(text: &str) -> Option<Vec<&str>> {
    let mut tools = Vec::new();
    let mut depth = 0_usize;
    let mut start = None;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        let separates = depth == 0 && character.is_whitespace();
        match start {
            None if !separates => start = Some(at),
            Some(from) if separates => {
                tools.push(text.get(from..at)?);
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        tools.push(text.get(from..)?);
    }
    (depth == 0).then_some(tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_in_parentheses_belongs_to_the_tool() {
        let tools = [
            "Bash(git add:*)",
            "Read",
            "Bash(npm run (a b))",
            "mcp__x__y",
        ];
        let text = join(tools).expect("a string");
        assert_eq!(text, "Bash(git add:*) Read Bash(npm run (a b)) mcp__x__y");
        assert_eq!(split(&text).expect("tools"), tools);
        assert_eq!(split("  a\tb \n"), Some(vec!["a", "b"]));
        assert_eq!(split(""), Some(vec![]));
        assert_eq!(join([]), Ok(String::new()));
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        for tool in ["a b", "", " a", "Bash(", "x)", "a)b("] {
            assert!(join([tool]).is_err(), "{tool:?}");
        }
        assert_eq!(split("a) (b"), None);
    }
}
