//! The Agent Skills format: its keys, and what a list of tools is.

/// The keys the format lists; others are kept and warned about.
pub const KEYS: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

/// The tools of a string such as `Bash(git add:*) Read`, unless its parentheses
/// are not balanced: white space separates them, except between parentheses.
pub fn tools(text: &str) -> Option<Vec<&str>> {
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

/// Whether a tool's name holds no white space outside parentheses, so that it
/// is one word of a space-separated string.
pub fn is_one_tool(tool: &str) -> bool {
    !tool.is_empty() && !outside_parentheses(tool, char::is_whitespace)
}

/// Whether a comma stands outside parentheses: `Bash(git add, git commit)` is
/// one tool.
pub fn has_separating_comma(tools: &str) -> bool {
    outside_parentheses(tools, |character| character == ',')
}

/// Whether a character outside parentheses is one of those looked for.
fn outside_parentheses(text: &str, wanted: impl Fn(char) -> bool) -> bool {
    let mut depth = 0_usize;
    text.chars().any(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && wanted(character)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_in_parentheses_belongs_to_the_tool() {
        assert_eq!(
            tools("Bash(git add:*) Read Bash(npm run (a b)) mcp__x__y"),
            Some(vec![
                "Bash(git add:*)",
                "Read",
                "Bash(npm run (a b))",
                "mcp__x__y",
            ])
        );
        assert_eq!(tools("  a\tb \n"), Some(vec!["a", "b"]));
        assert_eq!(tools(""), Some(vec![]));
        assert_eq!(tools("a) (b"), None);
    }

    #[test]
    fn commas_inside_parentheses_do_not_separate() {
        assert!(has_separating_comma("Read, Grep"));
        assert!(!has_separating_comma("Bash(git add, git commit) Read"));
        assert!(has_separating_comma("Bash(a),Read"));
        assert!(is_one_tool("Bash(git add *)"));
        assert!(!is_one_tool("Read Grep"));
        assert!(!is_one_tool(""));
    }
}
