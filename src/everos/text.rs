//! Text helpers: long values kept at both ends, clipping at character
//! boundaries, and the removal of wrappers that nobody wrote.

use super::digest;

/// How much of the start of one string value is kept in memory, in bytes. Holds
/// the head of the largest guard at four bytes a character.
pub const HEAD_BYTES: usize = 64 * 1024;
/// How much of its end is kept, in bytes.
pub const TAIL_BYTES: usize = 32 * 1024;

/// A string value of any size, of which about [`HEAD_BYTES`] + [`TAIL_BYTES`]
/// are held at most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    /// The whole value, or its start when there is a [`Tail`].
    pub head: String,
    /// What follows the head, when the value was too long to keep.
    pub tail: Option<Tail>,
}

/// The end of a long value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tail {
    /// Characters left out between head and tail.
    pub skipped: usize,
    /// The last part of the value.
    pub text: String,
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self {
            head: text.to_owned(),
            tail: None,
        }
    }
}

impl From<String> for Text {
    fn from(head: String) -> Self {
        Self { head, tail: None }
    }
}

impl Text {
    /// Whether there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.tail.is_none() && self.head.trim().is_empty()
    }

    /// The number of characters of the whole value.
    pub fn chars(&self) -> usize {
        let tail = self
            .tail
            .as_ref()
            .map_or(0, |tail| tail.skipped + tail.text.chars().count());
        self.head.chars().count() + tail
    }

    /// How many bytes are held.
    pub fn held(&self) -> usize {
        self.head.len() + self.tail.as_ref().map_or(0, |tail| tail.text.len())
    }

    /// A short digest by which two values are known to be equal, white space at
    /// the ends aside. Of a value too long to hold, the held parts count.
    pub fn digest(&self) -> String {
        match &self.tail {
            None => digest::hex(self.head.trim().as_bytes(), 16),
            Some(tail) => digest::hex(
                format!("{}\0{}", self.head.trim_start(), tail.text.trim_end()).as_bytes(),
                16,
            ),
        }
    }

    /// Applies `edit` to each held part.
    pub fn edit(&mut self, mut edit: impl FnMut(&mut String)) {
        edit(&mut self.head);
        if let Some(tail) = &mut self.tail {
            edit(&mut tail.text);
        }
    }

    /// Appends `other` after `separator`. When one of the two was too long to be
    /// held, the result keeps the first head and the last tail.
    pub fn join(&mut self, separator: &str, other: Self) {
        match &mut self.tail {
            None => {
                self.head.push_str(separator);
                self.head.push_str(&other.head);
                self.tail = other.tail;
            }
            Some(tail) => {
                tail.text.push_str(separator);
                tail.text.push_str(&other.head);
                if let Some(end) = other.tail {
                    tail.skipped += end.skipped + tail.text.chars().count();
                    tail.text = end.text;
                }
            }
        }
    }

    /// The text, at most `limit` characters of it: what is longer keeps 70 % of
    /// the limit from the start and 30 % from the end around a marker that says
    /// how many characters are missing (design document, section 7).
    pub fn guard(&self, limit: usize) -> String {
        let total = self.chars();
        if total <= limit && self.tail.is_none() {
            return self.head.clone();
        }
        let (head_limit, tail_limit) = if total <= limit {
            (usize::MAX, usize::MAX)
        } else {
            (limit * 7 / 10, limit - limit * 7 / 10)
        };
        let head = clip(&self.head, head_limit);
        let tail = clip_end(
            self.tail
                .as_ref()
                .map_or(self.head.as_str(), |tail| &tail.text),
            tail_limit,
        );
        let kept = head.chars().count() + tail.chars().count();
        format!(
            "{head}\n[... trimmed {} chars ...]\n{tail}",
            total.saturating_sub(kept)
        )
    }
}

/// The first `limit` characters of `text`.
pub fn clip(text: &str, limit: usize) -> &str {
    match text.char_indices().nth(limit) {
        Some((at, _)) => text.get(..at).unwrap_or(text),
        None => text,
    }
}

/// The last `limit` characters of `text`.
pub fn clip_end(text: &str, limit: usize) -> &str {
    if limit == 0 {
        return "";
    }
    match text.char_indices().rev().nth(limit - 1) {
        Some((at, _)) => text.get(at..).unwrap_or(text),
        None => text,
    }
}

/// Whether `ch` belongs to a script written without spaces between words.
pub fn is_cjk(ch: char) -> bool {
    matches!(ch,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ac00}'..='\u{d7af}' | '\u{20000}'..='\u{3134f}')
}

/// A tag found in a text: `<name …>` or `</name …>`.
struct Tag<'a> {
    name: &'a str,
    closing: bool,
    /// Byte position after the `>`.
    end: usize,
}

/// The tag that starts at `at`, where `text` has a `<`.
fn tag_at(text: &str, at: usize) -> Option<Tag<'_>> {
    let rest = text.get(at + 1..)?;
    let closing = rest.starts_with('/');
    let name_start = at + 1 + usize::from(closing);
    let rest = text.get(name_start..)?;
    let length = rest
        .find(|ch: char| !(ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-' | ':' | '.')))
        .unwrap_or(rest.len());
    let name = rest.get(..length)?;
    let after = rest.get(length..)?;
    // A tag does not hold another `<`; without a `>` it is no tag.
    let close = after.find(['>', '<'])?;
    if name.is_empty() || after.as_bytes().get(close) != Some(&b'>') {
        return None;
    }
    Some(Tag {
        name,
        closing,
        end: name_start + length + close + 1,
    })
}

/// Removes every `<name …>…</name>` whose name is one of `names`, and what is
/// left of such tags without a partner.
pub fn strip_wrappers(text: &str, names: &[&str]) -> String {
    let known = |tag: &Tag<'_>| {
        names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(tag.name))
    };
    let mut kept = String::with_capacity(text.len());
    // Names of which no further closing tag exists: asked once, not per opener.
    let mut unclosed = vec![false; names.len()];
    let mut at = 0;
    while let Some(next) = text
        .get(at..)
        .and_then(|rest| rest.find('<'))
        .map(|found| at + found)
    {
        kept.push_str(text.get(at..next).unwrap_or_default());
        let found = tag_at(text, next).and_then(|tag| known(&tag).map(|index| (tag, index)));
        let Some((tag, index)) = found else {
            kept.push('<');
            at = next + 1;
            continue;
        };
        at = tag.end;
        if tag.closing || unclosed.get(index) == Some(&true) {
            continue;
        }
        match closing_after(text, tag.end, tag.name) {
            Some(end) => at = end,
            None => {
                if let Some(flag) = unclosed.get_mut(index) {
                    *flag = true;
                }
            }
        }
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    kept
}

/// Where the first closing tag `name` after `from` ends.
fn closing_after(text: &str, from: usize, name: &str) -> Option<usize> {
    let mut at = from;
    loop {
        let next = at + text.get(at..)?.find("</")?;
        match tag_at(text, next) {
            Some(tag) if tag.name.eq_ignore_ascii_case(name) => return Some(tag.end),
            _ => at = next + 2,
        }
    }
}
