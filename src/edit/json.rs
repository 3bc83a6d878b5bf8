//! Changes of a JSON text that look as if its author had made them: the line
//! ending, the indentation, and the spaces of what stands around are taken over.

use std::borrow::Cow;

use super::text;
use crate::diagnostic::Span;
use crate::document::{Member, Node};

/// What stands instead of a span.
pub(super) type Change = (Span, String);

/// A JSON text and how it is laid out.
pub(super) struct Layout<'t> {
    text: &'t str,
    newline: &'static str,
    /// One level of indentation.
    unit: Cow<'t, str>,
    /// What stands between a key and its value.
    colon: Cow<'t, str>,
    /// Whether the root stands on one line.
    flat: bool,
}

impl<'t> Layout<'t> {
    /// Reads the layout off the first member of the root.
    pub(super) fn of(text: &'t str, root: &Node) -> Self {
        let mut layout = Self {
            text,
            newline: text::newline(text),
            unit: Cow::Borrowed("  "),
            colon: Cow::Borrowed(": "),
            flat: false,
        };
        let first = root.as_object().and_then(|object| object.members.first());
        if let Some(first) = first {
            let lead = layout.between(root.span.start + 1, first.key_span.start);
            match lead.rsplit_once(['\n', '\r']) {
                Some((_, indent)) if !indent.is_empty() => layout.unit = Cow::Borrowed(indent),
                Some(_) => {}
                None => layout.flat = true,
            }
            let colon = layout.between(first.key_span.end, first.value.span.start);
            if !colon.contains(['\n', '\r']) {
                layout.colon = Cow::Borrowed(colon);
            }
        }
        layout
    }

    fn between(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn raw(&self, span: Span) -> &'t str {
        self.between(span.start, span.end)
    }

    fn member(&self, key: &str, value: &str) -> String {
        format!("{}{}{value}", string(key), self.colon)
    }

    /// What separates two members of an object on one line.
    fn comma(&self) -> &'static str {
        if self.colon.ends_with(' ') { ", " } else { "," }
    }

    /// The blanks between the bracket of an object and its first member.
    fn lead(&self, object: &Node) -> &'t str {
        let first = object.as_object().and_then(|object| object.members.first());
        first.map_or("", |first| {
            self.between(object.span.start + 1, first.key_span.start)
        })
    }

    /// What separates the members of an object that has some.
    fn separator(&self, object: &Node) -> Cow<'t, str> {
        let members = object.as_object().map(|object| object.members.as_slice());
        if let Some([.., before, last]) = members {
            return Cow::Borrowed(self.between(before.value.span.end, last.key_span.start));
        }
        let lead = self.lead(object);
        match lead.contains(['\n', '\r']) {
            true => Cow::Owned(format!(",{lead}")),
            false => Cow::Borrowed(self.comma()),
        }
    }

    /// A member at the beginning of an object.
    pub(super) fn insert_first(&self, object: &Node, key: &str, value: &str) -> Change {
        let first = object.as_object().and_then(|object| object.members.first());
        let Some(first) = first else {
            return self.fill(object, key, value);
        };
        let at = first.key_span.start;
        let lead = self.lead(object);
        let behind = match lead.contains(['\n', '\r']) {
            true => format!(",{lead}"),
            false => self.comma().to_owned(),
        };
        let inserted = format!("{}{behind}", self.member(key, value));
        (Span::new(at, at), inserted)
    }

    /// A member at the end of an object; `kept` is its last member that stays,
    /// and `until` where what goes behind that ends.
    fn insert_behind(
        &self,
        object: &Node,
        kept: &Member,
        until: usize,
        key: &str,
        value: &str,
    ) -> Change {
        let separator = self.separator(object);
        (
            Span::new(kept.value.span.end, until),
            format!("{separator}{}", self.member(key, value)),
        )
    }

    /// A member at the end of an object.
    pub(super) fn insert_last(&self, object: &Node, key: &str, value: &str) -> Change {
        match object.as_object().and_then(|object| object.members.last()) {
            Some(last) => self.insert_behind(object, last, last.value.span.end, key, value),
            None => self.fill(object, key, value),
        }
    }

    /// The only member of an object that had none.
    fn fill(&self, object: &Node, key: &str, value: &str) -> Change {
        let inside = Span::new(object.span.start + 1, object.span.end.saturating_sub(1));
        let indent = text::indentation(self.text, object.span.start);
        let member = self.member(key, value);
        let filled = match self.flat {
            true => member,
            false => format!(
                "{newline}{indent}{}{member}{newline}{indent}",
                self.unit,
                newline = self.newline
            ),
        };
        (inside, filled)
    }

    /// An object of its own with these members, as the value of a member of
    /// `container`, `depth` levels below it.
    pub(super) fn object(
        &self,
        container: &Node,
        depth: usize,
        members: &[(String, String)],
    ) -> String {
        let list = |between: &str| {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| self.member(key, value))
                .collect();
            members.join(between)
        };
        if !self.lead(container).contains(['\n', '\r']) && self.flat {
            return format!("{{{}}}", list(self.comma()));
        }
        let outer = format!(
            "{}{}",
            text::indentation(self.text, container.span.start),
            self.unit.repeat(depth)
        );
        let inner = format!("{outer}{}", self.unit);
        let newline = self.newline;
        format!(
            "{{{newline}{inner}{}{newline}{outer}}}",
            list(&format!(",{newline}{inner}"))
        )
    }

    /// The text of a member's value, for a place that is indented like a value of
    /// a member `depth` levels below `container`.
    pub(super) fn moved(&self, member: &Member, container: &Node, depth: usize) -> String {
        let raw = self.raw(member.value.span);
        let from = text::indentation(self.text, member.key_span.start);
        let to = format!(
            "{}{}",
            text::indentation(self.text, container.span.start),
            self.unit.repeat(depth)
        );
        // No string of JSON goes over a line, so a line begins with blanks only.
        let mut lines = raw.split_inclusive('\n');
        let mut moved = lines.next().unwrap_or_default().to_owned();
        for line in lines {
            match line.strip_prefix(from) {
                Some(rest) => {
                    moved.push_str(&to);
                    moved.push_str(rest);
                }
                None => moved.push_str(line),
            }
        }
        moved
    }

    /// Takes the members that `goes` names out of an object, and puts `last`, if
    /// given, at its end.
    pub(super) fn remove(
        &self,
        object: &Node,
        goes: impl Fn(&Member) -> bool,
        last: Option<(&str, &str)>,
    ) -> Vec<Change> {
        let members = object
            .as_object()
            .map_or(&[][..], |object| object.members.as_slice());
        let mut changes = Vec::new();
        let mut kept: Option<&Member> = None;
        let mut run: Option<&Member> = None;
        for member in members {
            if goes(member) {
                run = run.or(Some(member));
                continue;
            }
            if let Some(first) = run.take() {
                changes.push((
                    Span::new(first.key_span.start, member.key_span.start),
                    String::new(),
                ));
            }
            kept = Some(member);
        }
        match (kept, run.and(members.last()), last) {
            (Some(kept), gone, Some((key, value))) => {
                let until = gone.map_or(kept.value.span.end, |gone| gone.value.span.end);
                changes.push(self.insert_behind(object, kept, until, key, value));
            }
            (Some(kept), Some(gone), None) => changes.push((
                Span::new(kept.value.span.end, gone.value.span.end),
                String::new(),
            )),
            (None, _, Some((key, value))) => changes.push(self.fill(object, key, value)),
            (None, Some(_), None) => changes.push((
                Span::new(object.span.start + 1, object.span.end.saturating_sub(1)),
                String::new(),
            )),
            (_, None, None) => {}
        }
        changes
    }

    /// An array of strings in the place of `array`, one element a line if it had
    /// that.
    pub(super) fn strings(&self, array: &Node, values: &[&str]) -> String {
        let raw = self.raw(array.span);
        let values: Vec<String> = values.iter().map(|value| string(value)).collect();
        if values.is_empty() {
            return "[]".to_owned();
        }
        let first = array.as_array().and_then(|items| items.first());
        let lead = first.map_or("", |first| {
            self.between(array.span.start + 1, first.span.start)
        });
        let end = raw.len()
            - raw
                .strip_suffix(']')
                .map_or(0, |inner| inner.len() - inner.trim_end().len() + 1);
        let tail = if first.is_some() {
            raw.get(end..).unwrap_or("]")
        } else {
            "]"
        };
        let between = match array.as_array() {
            Some([one, two, ..]) => self.between(one.span.end, two.span.start).to_owned(),
            _ if lead.contains(['\n', '\r']) => format!(",{lead}"),
            _ => self.comma().to_owned(),
        };
        format!("[{lead}{}{tail}", values.join(&between))
    }
}

/// A JSON string.
pub(super) fn string(text: &str) -> String {
    // Writing a string cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Document, json};
    use crate::edit::text::{Edit, apply};

    fn parse(text: &str) -> Document {
        json::parse(text.as_bytes(), json::LIMITS).expect(text)
    }

    fn changed(text: &str, changes: Vec<Change>) -> String {
        let edits: Vec<Edit> = changes
            .into_iter()
            .map(|(span, replacement)| Edit {
                path: "x".into(),
                span,
                replacement,
            })
            .collect();
        apply(text, &edits).expect(text)
    }

    #[test]
    fn members_are_put_in_as_their_neighbours_are() {
        for (text, first, last) in [
            ("{}", "{\n  \"k\": 1\n}", "{\n  \"k\": 1\n}"),
            (r#"{"a":1}"#, r#"{"k":1,"a":1}"#, r#"{"a":1,"k":1}"#),
            (
                r#"{ "a": 1 }"#,
                r#"{ "k": 1, "a": 1 }"#,
                r#"{ "a": 1, "k": 1 }"#,
            ),
            (
                "{\r\n\t\"a\" : 1\r\n}",
                "{\r\n\t\"k\" : 1,\r\n\t\"a\" : 1\r\n}",
                "{\r\n\t\"a\" : 1,\r\n\t\"k\" : 1\r\n}",
            ),
            (
                "{ \"a\": 1\n, \"b\": 2\n}\n",
                "{ \"k\": 1, \"a\": 1\n, \"b\": 2\n}\n",
                "{ \"a\": 1\n, \"b\": 2\n, \"k\": 1\n}\n",
            ),
        ] {
            let document = parse(text);
            let layout = Layout::of(text, &document.root);
            let change = layout.insert_first(&document.root, "k", "1");
            assert_eq!(changed(text, vec![change]), first);
            let change = layout.insert_last(&document.root, "k", "1");
            assert_eq!(changed(text, vec![change]), last);
        }
    }

    #[test]
    fn members_go_with_their_commas() {
        for (text, gone, left) in [
            (
                "{\"a\": 1, \"b\": 2, \"c\": 3}",
                "a",
                "{\"b\": 2, \"c\": 3}",
            ),
            ("{\"a\": 1, \"b\": 2, \"c\": 3}", "bc", "{\"a\": 1}"),
            ("{\"a\": 1, \"b\": 2, \"c\": 3}", "ac", "{\"b\": 2}"),
            ("{\n  \"a\": 1\n}", "a", "{}"),
            ("{\n  \"a\": 1,\n  \"b\": 2\n}", "b", "{\n  \"a\": 1\n}"),
            ("{\"a\": 1}", "", "{\"a\": 1}"),
        ] {
            let document = parse(text);
            let layout = Layout::of(text, &document.root);
            let goes = |member: &Member| gone.contains(&*member.key.display());
            let changes = layout.remove(&document.root, goes, None);
            assert_eq!(changed(text, changes), left);
        }
        let text = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}";
        let document = parse(text);
        let layout = Layout::of(text, &document.root);
        let goes = |member: &Member| member.key != "a";
        let changes = layout.remove(&document.root, goes, Some(("z", "9")));
        assert_eq!(changed(text, changes), "{\n  \"a\": 1,\n  \"z\": 9\n}");
    }

    #[test]
    fn arrays_keep_their_layout() {
        for (text, wanted) in [
            ("[\"x\",\"y\"]", "[\"a\",\"b\",\"c\"]"),
            ("[ \"x\", \"y\" ]", "[ \"a\", \"b\", \"c\" ]"),
            ("[\n  \"x\"\n]", "[\n  \"a\",\n  \"b\",\n  \"c\"\n]"),
            ("[]", "[\"a\", \"b\", \"c\"]"),
        ] {
            let document = parse(text);
            let layout = Layout::of(text, &document.root);
            assert_eq!(layout.strings(&document.root, &["a", "b", "c"]), wanted);
        }
    }
}
