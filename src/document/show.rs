//! How messages show pieces of a text.

/// The start of a text that may be long, in one line.
pub(super) fn clip(text: &str) -> String {
    const MOST: usize = 40;
    let mut shown: String = text
        .chars()
        .take(MOST)
        .map(|found| match found {
            found if is_visible(found) => found,
            _ => char::REPLACEMENT_CHARACTER,
        })
        .collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

/// One character: itself in backticks, or its code point.
pub(super) fn character(found: char) -> String {
    match found {
        '`' => "a backtick".to_owned(),
        _ if is_visible(found) => format!("`{found}`"),
        _ => format!("U+{:04X}", u32::from(found)),
    }
}

/// Whether a character shows as itself within a line.
fn is_visible(found: char) -> bool {
    let space = found.is_whitespace() && found != ' ';
    !space && !found.is_control() && found != '\u{FEFF}'
}
