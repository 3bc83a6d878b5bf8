//! YAML against `yaml_serde`, which is libyaml underneath: YAML 1.1 grammar,
//! core schema with a few scalars of its own.

use apkit::diagnostic::Span;
use apkit::document::{Document, Node, ParseError, Text, Value, yaml};
use proptest::prelude::*;

use super::promises::{judge_yaml, walk};
use super::{apply, config, edits};

/// A value and how it is to be written.
#[derive(Debug, Clone)]
enum Model {
    /// What stands in one line, in block and in flow context.
    Line(String),
    /// Header and lines of a block scalar; in flow context they are joined.
    Block(&'static str, Vec<String>),
    List(Style, Vec<Self>),
    Mapping(Style, Vec<(&'static str, Self)>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    Flow,
    Block,
    /// Block, begun in the line of a list's hyphen.
    Compact,
}

fn models() -> impl Strategy<Value = Model> {
    let plain = prop::sample::select(
        &[
            "x",
            "a b",
            "no",
            "yes",
            "1",
            "-1",
            "0x1F",
            "0o17",
            "1.5",
            ".inf",
            "-.INF",
            "1e3",
            "~",
            "null",
            "true",
            "FALSE",
            "it's",
            "a#b",
            "a:b",
            "é ü 😀",
            "2001-01-01",
            "1_000",
            "-x",
            "=",
            "http://x.y/z?a=b",
            "",
            "!!str 1",
            "!!int \"3\"",
            "0",
            "0.",
            ".5",
        ][..],
    );
    let quoted = prop_oneof![
        r#"([ -!#-\[\]-~é😀]|\\[nt"\\/]|\\u00e9|\\x41|\\U0001F600){0,6}"#
            .prop_map(|text| format!("\"{text}\"")),
        "([ -&(-~é😀]|''){0,6}".prop_map(|text| format!("'{text}'")),
    ];
    let line = (
        prop_oneof![plain.prop_map(str::to_owned), quoted],
        any::<bool>(),
    );
    let header = prop::sample::select(&["|", ">", "|-", ">-", "|+", ">+"][..]);
    let lines = prop::collection::vec("[a-z#:][a-z #:]{0,4}|", 1..4);
    let leaf = prop_oneof![
        4 => line.prop_map(|(text, _)| Model::Line(text)),
        1 => (header, lines).prop_map(|(header, lines)| Model::Block(header, lines)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let style = || prop::sample::select(&[Style::Flow, Style::Block, Style::Compact][..]);
        let keys =
            prop::sample::subsequence(&["a", "'b'", "\"c\"", "d e", "1", "é", "<<"][..], 0..5);
        let items = prop::collection::vec(inner.clone(), 0..4);
        let values = prop::collection::vec(inner, 5);
        prop_oneof![
            (style(), items).prop_map(|(style, items)| Model::List(style, items)),
            (style(), keys, values).prop_map(|(style, keys, values)| Model::Mapping(
                style,
                keys.into_iter().zip(values).collect()
            )),
        ]
    })
}

impl Model {
    fn document(&self) -> String {
        let mut text = self.below(0, true);
        if text.starts_with(' ') {
            text.remove(0);
        }
        text
    }

    /// The text behind `key:` or `-`, to the end of its last line. Block
    /// collections stand `indent` columns in.
    fn below(&self, indent: usize, compact: bool) -> String {
        let pad = " ".repeat(indent);
        match self {
            Self::Block(header, lines) => {
                let body: String = lines.iter().map(|line| format!("{pad} {line}\n")).collect();
                format!(" {header}\n{body}")
            }
            Self::List(style, items) if *style != Style::Flow && !items.is_empty() => {
                let item = |item: &Self| format!("{pad}-{}", item.below(indent + 2, true));
                let text: String = items.iter().map(item).collect();
                self.begin(text, indent, compact, *style)
            }
            Self::Mapping(style, members) if *style != Style::Flow && !members.is_empty() => {
                let member = |(key, value): &(&str, Self)| {
                    format!("{pad}{key}:{}", value.below(indent + 2, false))
                };
                let text: String = members.iter().map(member).collect();
                self.begin(text, indent, compact, *style)
            }
            _ => format!(" {}  # c\n", self.flow()),
        }
    }

    fn begin(&self, text: String, indent: usize, compact: bool, style: Style) -> String {
        if compact && style == Style::Compact && indent > 0 {
            format!(" {}", &text[indent..])
        } else {
            format!("\n{text}")
        }
    }

    fn flow(&self) -> String {
        match self {
            Self::Line(text) => text.clone(),
            Self::Block(_, lines) => format!("\"{}\"", lines.concat()),
            Self::List(_, items) => {
                let items: Vec<_> = items
                    .iter()
                    .map(Self::flow)
                    .filter(|item| !item.is_empty())
                    .collect();
                format!("[{}]", items.join(" , "))
            }
            Self::Mapping(_, members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| format!("{key}: {}", value.flow()))
                    .collect();
                format!("{{{}}}", members.join(", "))
            }
        }
    }
}

fn parse(text: &str) -> Result<Document, ParseError> {
    yaml::parse(text, Span::new(0, text.len()), yaml::LIMITS)
}

fn to_serde(node: &Node) -> serde_yaml::Value {
    match node.value() {
        Value::Null => serde_yaml::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Number(text) => number(text),
        Value::String(text) => string(text),
        Value::Array(items) => serde_yaml::Value::Sequence(items.iter().map(to_serde).collect()),
        Value::Object(object) => {
            let member = |m: &apkit::document::Member| {
                let key = if m.key_is_string {
                    string(&m.key)
                } else {
                    number(m.key.as_str().expect("UTF-8"))
                };
                (key, to_serde(&m.value))
            };
            serde_yaml::Value::Mapping(object.effective().map(member).collect())
        }
        Value::Alias(_) => unreachable!("followed"),
    }
}

fn string(text: &Text) -> serde_yaml::Value {
    serde_yaml::Value::String(text.as_str().expect("UTF-8").to_owned())
}

/// What they make of a plain scalar that is no string to us. Numbers with
/// leading zeros, and those beyond `f64`, are strings to them.
fn number(text: &str) -> serde_yaml::Value {
    serde_yaml::from_str(text).expect("a scalar")
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn legal_texts_mean_what_they_mean_to_yaml_serde(model in models()) {
        let text = model.document();
        let document = judge(&text).unwrap_or_else(|| panic!("{:?}", parse(&text)));
        let theirs: serde_yaml::Value = serde_yaml::from_str(&text).expect("their YAML");
        prop_assert_eq!(to_serde(&document.root), theirs, "{}", text);
    }

    #[test]
    fn changed_texts_are_judged(model in models(), edits in edits()) {
        let text = model.document();
        let Ok(text) = String::from_utf8(apply(&edits, &text)) else { return Ok(()) };
        judge(&text);
        // A last line without its end is longer to us if it is a block scalar's.
        let text = text + "\n";
        if let (Some(document), true) = (judge(&text), reads_alike(&text))
            && let Ok(theirs) = serde_yaml::from_str::<serde_yaml::Value>(&text)
        {
            prop_assert_eq!(to_serde(&document.root), theirs, "{}", text);
        }
    }

    #[test]
    fn every_beginning_of_a_text_is_judged(model in models()) {
        let text = model.document();
        for (end, _) in text.char_indices() {
            judge(&text[..end]);
        }
    }

    #[test]
    fn any_text_is_judged(text in "[\\[\\]{}\"',:?&*!|>%@`#~ \t\r\n.a0é<-]{0,40}") {
        judge(&text);
    }

    #[test]
    fn every_span_reads_as_its_node(model in models()) {
        let text = model.document();
        let document = parse(&text).expect("YAML");
        walk(&document.root, &mut |node| {
            let absent = node.span.is_empty();
            let tagged = text[..node.span.start].trim_end().ends_with("!!str")
                || text[..node.span.start].trim_end().ends_with("!!int");
            if !absent && !tagged {
                assert_eq!(&alone(&text, node.span), node, "{text}");
            }
            for member in node.as_object().into_iter().flat_map(|object| &object.members) {
                let key = alone(&text, member.key_span);
                assert_eq!(key.as_text().is_some(), member.key_is_string);
                let number = Value::Number(member.key.display().into());
                assert!(key.as_text() == Some(&member.key) || key.kind == number);
            }
        });
    }
}

/// What stands at `span` read for itself, with blanks in place of what stands
/// before it, so that offsets and columns stay.
fn alone(text: &str, span: Span) -> Node {
    let blank = |byte| match byte {
        b'\n' => '\n',
        _ => ' ',
    };
    let before: String = text.bytes().take(span.start).map(blank).collect();
    // Lines that end a block scalar may be empty.
    let rest = &text[span.end..];
    let empty = &rest[..rest.len() - rest.trim_start().len()];
    let ending = empty.rfind('\n').map_or("", |at| &empty[..=at]);
    let alone = before + &text[span.start..span.end] + ending;
    parse(&alone)
        .unwrap_or_else(|error| panic!("{alone:?}: {error:?}"))
        .root
}

fn judge(text: &str) -> Option<Document> {
    judge_yaml(text, Span::new(0, text.len()))
}

/// Whether both readers agree about what is in the text, if both read it. They
/// keep the tags that are not of the core schema, take octal numbers with a
/// sign and binary ones, and differ about `?` in flow collections, about colons
/// in the names of anchors, and about a block scalar that is the whole document.
fn reads_alike(text: &str) -> bool {
    let radix = ["0o", "0x", "0b"]
        .iter()
        .any(|prefix| text.contains(prefix));
    !radix && !text.contains(['!', '?', '&', '*']) && !text.trim_start().starts_with(['|', '>'])
}
