//! `allowed-tools` as a list and as the one string of the Agent Skills format:
//! white space separates the tools, except between parentheses, as in
//! `Bash(git add:*) Read`.

use crate::spec::skill;

/// The one string for these tools, unless one of them cannot stand in it.
pub(super) fn join<'t>(tools: impl IntoIterator<Item = &'t str>) -> Result<String, String> {
    let mut joined = String::new();
    for tool in tools {
        if skill::tools(tool) != Some(vec![tool]) {
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
        assert_eq!(skill::tools(&text).expect("tools"), tools);
        assert_eq!(join([]), Ok(String::new()));
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        for tool in ["a b", "", " a", "Bash(", "x)", "a)b("] {
            assert!(join([tool]).is_err(), "{tool:?}");
        }
    }
}
