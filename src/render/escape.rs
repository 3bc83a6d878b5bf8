//! Making package data harmless for a terminal, XML, workflow commands, URIs.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use serde::Serialize;

/// Whether `character`, shown as it is, would steer the terminal, reorder the
/// text around it, break the line, or not be seen at all.
fn is_hazardous(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            // Marks, embeddings, overrides and isolates of the bidirectional
            // algorithm, and the line and paragraph separators among them.
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
            // Invisible ones. The joiners U+200C and U+200D are left alone:
            // several scripts and many emoji need them.
            | '\u{200B}' | '\u{2060}'..='\u{2065}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
            // Tags: a second, invisible alphabet.
            | '\u{E0000}'..='\u{E007F}'
        )
}

/// How a hazardous character is written where a person reads it.
fn push_visible(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // A code point in braces; writing into a string cannot fail.
        other => {
            let _ = write!(out, "{}", other.escape_unicode());
        }
    }
}

/// `text` on one line with everything hazardous written out (`\n`, `\u{1b}`):
/// control characters, terminal escapes, bidirectional controls, line
/// separators and invisible characters.
///
/// Logs of workflow runners obey lines that begin with `::` and whatever holds
/// `##[`, and prose is broken into lines at spaces: both get a backslash.
pub fn visible(text: &str) -> Cow<'_, str> {
    let obeyed = text.contains("::") || text.contains("##[");
    if !obeyed && !text.chars().any(is_hazardous) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let begins_word = out.is_empty() || out.ends_with(char::is_whitespace);
        if begins_word && rest.starts_with("::") {
            out.push('\\');
        }
        push_visible_or(&mut out, character);
        if out.ends_with("##") && rest.get(1..).is_some_and(|next| next.starts_with('[')) {
            out.push('\\');
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    Cow::Owned(out)
}

/// [`visible`] for one character.
pub(super) fn push_visible_or(out: &mut String, character: char) {
    if is_hazardous(character) {
        push_visible(out, character);
    } else {
        out.push(character);
    }
}

/// [`visible`], cut to about `most` characters.
pub(super) fn visible_cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => visible(text),
        Some((at, _)) => {
            let (kept, rest) = text.split_at(at);
            Cow::Owned(format!(
                "{} [{} more characters]",
                visible(kept),
                rest.chars().count()
            ))
        }
    }
}

/// Writes `value` as JSON with every hazardous character as `\uXXXX`, and a
/// final line feed. Readers get the same value; a terminal that shows the text
/// gets nothing to obey.
///
/// # Errors
///
/// Fails only if `out` does, or `value` cannot be serialised.
pub fn write_json(out: &mut dyn io::Write, value: &impl Serialize, pretty: bool) -> io::Result<()> {
    let text = if pretty {
        serde_json::to_string_pretty(value)?
    } else {
        serde_json::to_string(value)?
    };
    // The serializer has escaped C0 inside of strings and sets no other
    // hazardous character outside of them than its own line feeds.
    let mut start = 0;
    for (at, character) in text.char_indices() {
        if character == '\n' || !is_hazardous(character) {
            continue;
        }
        out.write_all(text.get(start..at).unwrap_or_default().as_bytes())?;
        for unit in character.encode_utf16(&mut [0; 2]) {
            write!(out, "\\u{unit:04x}")?;
        }
        start = at + character.len_utf8();
    }
    out.write_all(text.get(start..).unwrap_or_default().as_bytes())?;
    out.write_all(b"\n")
}

/// `text` for XML 1.0 content and attribute values. Characters that XML cannot
/// hold even as references are written out; hazardous ones become references.
pub(super) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{0}'..='\u{8}'
            | '\u{B}'
            | '\u{C}'
            | '\u{E}'..='\u{1F}'
            | '\u{FFFE}'
            | '\u{FFFF}' => {
                push_visible(&mut out, character);
            }
            // References survive the normalisation of attribute values.
            other if is_hazardous(other) => {
                let _ = write!(out, "&#{};", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out
}

/// `text` as the message of a workflow command.
pub(super) fn workflow_message(text: &str) -> String {
    workflow(text, false)
}

/// `text` as a property value of a workflow command.
pub(super) fn workflow_property(text: &str) -> String {
    workflow(text, true)
}

fn workflow(text: &str, property: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            ':' if property => out.push_str("%3A"),
            ',' if property => out.push_str("%2C"),
            other => push_visible_or(&mut out, other),
        }
    }
    out
}

/// `path` (`/`-separated) as an RFC 3986 reference: everything but unreserved
/// characters and `/` is percent-encoded, so no segment reads as a scheme.
pub(super) fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_commands_in_prose_are_broken() {
        for (text, shown) in [
            ("::error::x", "\\::error::x"),
            ("a ::add-mask::x", "a \\::add-mask::x"),
            ("mcp::x", "mcp::x"),
            ("##[error]x", "##\\[error]x"),
            ("##[", "##\\["),
        ] {
            assert_eq!(visible(text), shown, "{text}");
        }
    }

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        for (raw, shown) in [
            ("plain é 漢 👩‍💻", "plain é 漢 👩‍💻"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\nb\r\tc\0", "a\\nb\\r\\tc\\u{0}"),
            ("\u{7f}\u{9b}", "\\u{7f}\\u{9b}"),
            (
                "\u{202e}x\u{2066}y\u{2069}",
                "\\u{202e}x\\u{2066}y\\u{2069}",
            ),
            ("\u{200b}\u{feff}\u{e0041}", "\\u{200b}\\u{feff}\\u{e0041}"),
            ("\u{2028}", "\\u{2028}"),
        ] {
            assert_eq!(visible(raw), shown);
            assert!(!visible(raw).chars().any(is_hazardous));
        }
    }

    #[test]
    fn long_text_is_cut_and_counted() {
        assert_eq!(visible_cut("abc", 3), "abc");
        assert_eq!(visible_cut("äbcd\n", 3), "äbc [2 more characters]");
    }

    #[test]
    fn json_stays_the_same_value_without_a_hazardous_byte() {
        let value = "a\u{1b}\u{9b}\u{202e}\u{e0041}\u{7f}\né\"\\";
        for pretty in [false, true] {
            let mut out = Vec::new();
            write_json(&mut out, &[value], pretty).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(
                !text.chars().any(|c| c != '\n' && is_hazardous(c)),
                "{text:?}"
            );
            let back: Vec<String> = serde_json::from_str(&text).unwrap();
            assert_eq!(back, [value]);
        }
    }

    #[test]
    fn xml_holds_legal_characters_only() {
        assert_eq!(
            xml("<a b=\"c\" d='e'>&]]>\u{1b}\u{fffe}\n\t\u{85}é"),
            "&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;]]&gt;\\u{1b}\\u{fffe}&#10;&#9;&#133;é"
        );
    }

    #[test]
    fn workflow_commands_cannot_be_ended_or_forged() {
        assert_eq!(
            workflow_message("50% done\r\n::error::x\u{1b}"),
            "50%25 done%0D%0A::error::x\\u{1b}"
        );
        assert_eq!(workflow_property("a:b,c%\n"), "a%3Ab%2Cc%25%0A");
    }

    #[test]
    fn uris_hold_unreserved_characters_only() {
        assert_eq!(uri("a:b/c d#é?%.json"), "a%3Ab/c%20d%23%C3%A9%3F%25.json");
    }
}
