//! From a prompt to a search query (design document, section 6.2).

use super::FENCE;
use super::text::{clip, is_cjk, strip_wrappers};

/// The longest query. The cost of a search grows with the square of its length.
pub const MAX_CHARS: usize = 500;
/// The longest run without a space that is kept.
const MAX_RUN: usize = 400;
/// Fewer words than this recall only noise.
const MIN_TOKENS: usize = 3;
/// Stands for what was folded away.
const FOLD: &str = "[…]";

/// The query for `prompt`; `None` if it is a command or too short to be worth a
/// search. `wrappers` are the names of tags the host puts around what is not
/// the user's own text.
pub fn build(prompt: &str, wrappers: &[&str]) -> Option<String> {
    if prompt.trim_start().starts_with('/') {
        return None;
    }
    let names: Vec<&str> = wrappers.iter().copied().chain([FENCE]).collect();
    let text = strip_wrappers(prompt, &names);
    let text = fold_runs(&fold_code(&text));
    if count_tokens(&text.replace(FOLD, " ")) < MIN_TOKENS {
        return None;
    }
    Some(clip(text.trim(), MAX_CHARS).trim_end().to_owned())
}

/// Words; in scripts without spaces every character counts.
fn count_tokens(text: &str) -> usize {
    let mut count = 0;
    let mut in_word = false;
    for ch in text.chars() {
        if is_cjk(ch) {
            count += 1;
            in_word = false;
        } else if ch.is_alphanumeric() {
            count += usize::from(!in_word);
            in_word = true;
        } else if ch.is_whitespace() {
            in_word = false;
        }
    }
    count
}

/// Folds fenced code blocks; an open one goes to the end.
fn fold_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("```") {
        out.push_str(before);
        out.push_str(FOLD);
        rest = after.split_once("```").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// Folds runs without a space that no person writes; text in scripts that have
/// no spaces is not one of them.
fn fold_runs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        if word.chars().filter(|ch| !is_cjk(*ch)).count() > MAX_RUN {
            out.push_str(FOLD);
            out.push_str(piece.get(word.len()..).unwrap_or_default());
        } else {
            out.push_str(piece);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_short_prompts_are_not_searched_for() {
        for prompt in [
            "",
            "/status now please go",
            " /x a b c",
            "ok",
            "go on",
            "好的",
            "```\na b c d\n```",
            "<x>a b c</x>",
        ] {
            assert_eq!(build(prompt, &["x"]), None, "{prompt}");
        }
        assert_eq!(build("继续吧", &[]).as_deref(), Some("继续吧"));
        assert_eq!(build("用 ruff", &[]), None);
        assert_eq!(build("use ruff 吧", &[]).as_deref(), Some("use ruff 吧"));
    }

    #[test]
    fn noise_goes_and_length_is_bounded() {
        let wrapped = "<system-reminder a=\"1\">x</System-Reminder>why does it\n<everos_memory>old</everos_memory> fail<ide>";
        assert_eq!(
            build(wrapped, &["system-reminder", "ide"]).as_deref(),
            Some("why does it\n fail")
        );
        let code = format!(
            "look at this\n```rust\nfn a() {{}}\n```\nand {} here",
            "A".repeat(401)
        );
        assert_eq!(
            build(&code, &[]).as_deref(),
            Some("look at this\n[…]\nand […] here")
        );
        let chinese = "记".repeat(600);
        assert_eq!(
            build(&chinese, &[]).map(|query| query.chars().count()),
            Some(500)
        );
    }
}
