use super::*;
use crate::document::ParseErrorKind;

fn whole(text: &str) -> Result<Document, ParseError> {
    parse(text, Span::new(0, text.len()), LIMITS)
}

fn accept(text: &str) -> Document {
    whole(text).unwrap_or_else(|error| panic!("{text:?}: {error:?}"))
}

/// The tree in a line: strings in quotes, the rest as written.
fn show(node: &Node) -> String {
    match node.value() {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(text) => text.to_string(),
        Value::String(text) => format!("{:?}", text.display()),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(show).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let member = |m: &Member| format!("{}: {}", m.key.display(), show(&m.value));
            let members: Vec<_> = object.members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Alias(_) => unreachable!("followed"),
    }
}

#[test]
fn values_are_those_of_the_core_schema() {
    for (text, shown) in [
        ("", "null"),
        ("# only a comment\n", "null"),
        ("---\n", "null"),
        (
            "a: no\nb: 1.10\nc: '1'\nd: 012\n",
            "{a: \"no\", b: 1.10, c: \"1\", d: 012}",
        ),
        (
            "a:\nb: ~\nc: ''\nd: True\n",
            "{a: null, b: null, c: \"\", d: true}",
        ),
        (
            "a: !!str 1\nb: !!int \"3\"\nc: ! 1\n",
            "{a: \"1\", b: 3, c: \"1\"}",
        ),
        (
            "a: !x 1\nb: !!timestamp 2001-01-01\n",
            "{a: \"1\", b: \"2001-01-01\"}",
        ),
        (
            "a: !!str\nb: !x\nc: !!null\n",
            "{a: \"\", b: \"\", c: null}",
        ),
        ("a: !x [1]\nb: !!set {c}\n", "{a: [1], b: {c: null}}"),
        (
            "a: |\n  x\n   y\nb: >-\n  x\n  y\n",
            "{a: \"x\\n y\\n\", b: \"x y\"}",
        ),
        (
            "- 1\n-\n- [a, {b: c}, d: e]\n",
            "[1, null, [\"a\", {b: \"c\"}, {d: \"e\"}]]",
        ),
        ("<<: {a: 1}\nb: 2\n", "{<<: {a: 1}, b: 2}"),
        ("a: &x [1]\nb: *x\n", "{a: [1], b: [1]}"),
        ("&k a: 1\nb: *k\n*k : 2\n", "{a: 1, b: \"a\", a: 2}"),
        ("? a\n? b\n: 1\n", "{a: null, b: 1}"),
        ("a: 1\n...\n", "{a: 1}"),
        ("a: b # c\r\nd: |\r\n  e\r\n", "{a: \"b\", d: \"e\\n\"}"),
        ("a: b\rc: d\r", "{a: \"b\", c: \"d\"}"),
    ] {
        assert_eq!(show(&accept(text).root), shown, "{text:?}");
    }
}

#[test]
fn keys_that_are_no_strings_are_given_as_written() {
    let document = accept("1: a\ntrue: b\nx: c\n'2': d\n~: e\n: f\n&n 3: g\n*n : h\n");
    let object = document.root.as_object().expect("mapping");
    let keys: Vec<_> = object
        .members
        .iter()
        .map(|member| (member.key.display().into_owned(), member.key_is_string))
        .collect();
    let expected = [
        ("1", false),
        ("true", false),
        ("x", true),
        ("2", true),
        ("~", false),
        ("", false),
        ("3", false),
        ("3", false),
    ];
    assert_eq!(keys, expected.map(|(key, string)| (key.to_owned(), string)));
}

#[test]
fn repeated_keys_are_kept_and_the_last_wins() {
    let text = "a: 1\nb: {c: 1, \"c\": 2}\n'a': 2\n1: x\n\"1\": y\n";
    let document = accept(text);
    let listed: Vec<_> = document
        .duplicates
        .iter()
        .map(|d| {
            (
                &text[d.first.start..d.first.end],
                &text[d.again.start..d.again.end],
            )
        })
        .collect();
    assert_eq!(listed, [("c", "\"c\""), ("a", "'a'"), ("1", "\"1\"")]);
    let object = document.root.as_object().expect("mapping");
    assert_eq!(
        object.get("a").map(|m| show(&m.value)),
        Some("2".to_owned())
    );
    assert_eq!(object.members.iter().filter(|m| m.shadowed).count(), 2);
}

#[test]
fn spans_are_tight_and_count_from_the_start_of_the_text() {
    let before = "\u{FEFF}---\n";
    let yaml = "a: b \nc: \"d\"  # x\ne: |2- # | no\n   one\n\n   two  \n\n\n# c\nf: >\n\ng:   # y\n\
                h: {i: [j], k}  \nl: &m !!str v\nn: *m\no:\n  - p\n  -\nq: r\n  s\n? t\n";
    let text = format!("{before}{yaml}---\nbody: x");
    let range = Span::new(before.len(), before.len() + yaml.len());
    let document = parse(&text, range, LIMITS).expect("YAML");
    let object = document.root.as_object().expect("mapping");
    let part = |span: Span| &text[span.start..span.end];
    for (key, value) in [
        ("a", "b"),
        ("c", "\"d\""),
        ("e", "|2- # | no\n   one\n\n   two  "),
        ("f", ">"),
        ("g", ""),
        ("h", "{i: [j], k}"),
        ("l", "v"),
        ("n", "*m"),
        ("o", "- p\n  -"),
        ("q", "r\n  s"),
        ("t", ""),
    ] {
        let member = object.get(key).expect(key);
        assert_eq!(part(member.key_span), key);
        assert_eq!(part(member.value.span), value, "{key}");
    }
    let g = object.get("g").expect("g");
    assert_eq!(g.value.span.start, g.key_span.end + 1);
    assert_eq!(part(document.root.span), yaml.trim_end());
}

#[test]
fn absent_values_stand_behind_their_colon() {
    for (text, key, at) in [
        ("a:  # c\n", "a", 2),
        ("{a: }", "a", 3),
        ("{\"a\":}", "a", 5),
        ("{a , b}", "a", 2),
        ("[a: , b]", "a", 3),
        ("? a\n: \n", "a", 5),
        ("? a\n:b: c\n", "a", 3),
        ("a: &x\n", "a", 5),
        ("a: !!null\n", "a", 9),
        (": b\n", "", 0),
    ] {
        let document = accept(text);
        let mut root = &document.root;
        if let Some([first, ..]) = root.as_array() {
            root = first;
        }
        let member = root.as_object().and_then(|object| object.get(key));
        let span = member.map(|member| match key {
            "" => member.key_span,
            _ => member.value.span,
        });
        assert_eq!(span, Some(Span::new(at, at)), "{text:?}");
    }
}

#[test]
fn aliases_share_and_stay_bounded() {
    // Nine levels of nine aliases each.
    let mut bomb = "a0: &a0 x\n".to_owned();
    for level in 1..=9 {
        let items = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    let error = whole(&bomb).expect_err("a bomb");
    assert_eq!(error.kind, ParseErrorKind::TooComplex);
    assert_eq!(&bomb[error.span.start..error.span.end], "*a4");

    // A chain is as deep as what it stands for.
    let chain = |length: usize| {
        let mut text = "- &a0 [x]\n".to_owned();
        for level in 1..length {
            text.push_str(&format!("- &a{level} [*a{}]\n", level - 1));
        }
        text
    };
    accept(&chain(63));
    let error = whole(&chain(64)).expect_err("too deep");
    assert_eq!(error.kind, ParseErrorKind::TooComplex);

    let document = accept("a: &x {b: 1}\nc: *x\n");
    let object = document.root.as_object().expect("mapping");
    let shared: Vec<_> = object
        .members
        .iter()
        .filter_map(|member| match &member.value.kind {
            Value::Alias(node) => Some(Arc::as_ptr(node)),
            _ => None,
        })
        .collect();
    assert!(matches!(shared[..], [first, second] if first == second));
}

#[test]
fn depth_and_size_are_bounded() {
    let flow = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let maps = |depth: usize| {
        let line = |level: usize| format!("{}a:\n", " ".repeat(level));
        (0..depth).map(line).collect::<String>()
    };
    let lists = |depth: usize| "- ".repeat(depth) + "x";
    let mixed = |depth: usize| "- ".repeat(depth - 10) + &flow(10);
    accept(&flow(64));
    accept(&maps(64));
    accept(&lists(64));
    accept(&mixed(64));
    let many = format!("[{}]", vec!["1"; 10_000].join(","));
    for text in [
        flow(65),
        maps(65),
        lists(65),
        mixed(65),
        many.clone(),
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        maps(3_000),
    ] {
        let error = whole(&text).expect_err("too much");
        assert_eq!(error.kind, ParseErrorKind::TooComplex, "{error:?}");
    }
    accept(&many.replacen("1,", "", 1));
    accept(&format!("a: {}", "x y ".repeat(500_000)));
    accept(&format!("a: |\n{}", "  x\n".repeat(100_000)));
}

#[test]
fn mistakes_are_named_and_located() {
    // Text, what is pointed at, a piece of the message.
    for (text, part, piece) in [
        ("description: a: b\nx: y\n", "a: b", "quote the whole value"),
        ("a: b: c: d\n", "b: c: d", "quote the whole value"),
        ("a: \"b\": c\n", "\"b\": c", "quote the whole value"),
        ("a: b\n  c: d\n", "c: d", "indented too far"),
        ("a: @b\n", "@", "cannot start with `@`: quote"),
        ("a: `b`\n", "`", "cannot start with a backtick"),
        ("a: %b\n", "%", "cannot start with `%`"),
        ("a: , b\n", ",", "cannot start with `,`"),
        ("- ]\n", "]", "closes nothing"),
        ("a: [b]]\n", "]", "closes nothing"),
        ("a: [b}\n", "[", "mismatched bracket"),
        ("a: *b c\n", "*b", "no anchor for the alias `*b`"),
        ("a: **b**\n", "**b**", "no anchor for the alias"),
        ("a: * b\n", "*", "a name must follow"),
        ("a: &x [*x]\n", "*x", "inside its own anchor"),
        ("a:\tb\n", "\t", "a tab stands before the value"),
        ("a: \tb\n", "\t", "a tab stands before the value"),
        ("a: &x\tb\n", "\t", "a tab stands before the value"),
        ("a:\t|\n  b\n", "\t", "a tab stands before the value"),
        ("-\tb\n", "\t", "a tab stands before the value"),
        ("\ta: b\n", "\t", "a tab cannot indent"),
        ("a:\n\tb: c\n", "\t", "a tab cannot indent"),
        ("a: b\n\tc: d\n", "\t", "a tab cannot indent"),
        ("a: |\n\tb\n", "\t", "a tab cannot indent"),
        ("a: [\n\tb]\n", "\t", "a tab cannot indent"),
        ("a: 'b\n", "'b", "never closed"),
        ("a: \"b\nc: d\n", "\"b", "never closed"),
        ("a: [b\nc: d\n", "[", "never closed"),
        ("a: 'it's'\n", "s'", "behind the closing quote"),
        ("a: \"b\" c\n", "c", "behind the closing quote"),
        ("a: \"C:\\dir\"\n", "\\d", "unknown escape"),
        ("a: [b] [c]\n", "[c]", "behind the closing bracket"),
        ("a: - b\n", "-", "a list cannot start"),
        ("a: b\nc\nd: e\n", "c", "`:` is missing"),
        (" a: b\nc: d\n", "c: d", "check its indentation"),
        ("- a\nb: c\n", "b: c", "check its indentation"),
        ("a: 1\n---\nb: 2\n", "---", "a second YAML document"),
        ("a: 1\n...\nb: 2\n", "b: 2", "a second YAML document"),
        ("? [a]\n: b\n", "[", "a key must be a scalar"),
        ("? a: b\n: c\n", "a", "a key must be a scalar"),
        ("a: {{ b }}\n", "{{", "quote a value that starts with it"),
        ("a: &x [b]\n*x : c\n", "*x", "a key must be a scalar"),
        ("a: !!int b\n", "b", "the tag `!!int` does not fit"),
        (
            "a: !!str [b]\n",
            "[",
            "the tag `!!str` does not fit a sequence",
        ),
        ("a: !!seq b\n", "b", "does not fit this scalar"),
        (
            "a: b\u{1}c\n",
            "\u{1}",
            "does not allow the character U+0001",
        ),
        ("a: \u{FFFE}\n", "\u{FFFE}", "does not allow the character"),
    ] {
        let error = whole(text).expect_err(text);
        assert_eq!(error.kind, ParseErrorKind::Syntax, "{text:?}");
        let found = &text[error.span.start..error.span.end];
        assert_eq!(found, part, "{text:?}: {error}");
        assert!(error.message.contains(piece), "{text:?}: {error}");
        assert!(!error.message.contains(['\n', '\r']), "{error}");
    }
}
