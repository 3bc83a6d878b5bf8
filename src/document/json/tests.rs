use super::*;
use crate::document::ParseErrorKind;

fn accept(text: &str) -> Document {
    parse(text.as_bytes(), LIMITS).unwrap_or_else(|error| panic!("{text:?}: {error:?}"))
}

/// The part of the text an error points at, and its message.
fn refuse(text: &str) -> (&str, String) {
    let error = parse(text.as_bytes(), LIMITS).expect_err(text);
    let span = error.span;
    let part = text.get(span.start..span.end).expect("span on characters");
    (part, error.message)
}

fn kind(bytes: &[u8]) -> (ParseErrorKind, Span, String) {
    let error = parse(bytes, LIMITS).expect_err("not JSON");
    (error.kind, error.span, error.message)
}

#[test]
fn every_node_knows_its_place() {
    let text = " {\"a\": [1, true , null], \"\\u0062\" : {\"c\":\"x\"}} ";
    let document = accept(text);
    let object = document.root.as_object().expect("object");
    let part = |span: Span| &text[span.start..span.end];
    assert_eq!(part(document.root.span), text.trim());
    let a = object.get("a").expect("a");
    assert_eq!(part(a.key_span), "\"a\"");
    assert_eq!(part(a.value.span), "[1, true , null]");
    let parts: Vec<_> = a.value.as_array().expect("array").iter().collect();
    assert_eq!(part(parts[1].span), "true");
    let b = object.get("b").expect("b");
    assert_eq!(part(b.key_span), "\"\\u0062\"");
    assert_eq!(part(b.value.span), "{\"c\":\"x\"}");
}

#[test]
fn strings_are_decoded() {
    let document = accept(r#""\"\\\/\b\f\n\r\t\u00e9\uD834\uDD1E é""#);
    let text = document.root.as_text().expect("string");
    assert_eq!(text, &"\"\\/\u{8}\u{c}\n\r\té𝄞 é");
    assert!(document.lone_surrogates.is_empty());
}

#[test]
fn lone_surrogates_are_kept_and_listed() {
    for escape in [r"\ud800", r"\uDC00", r"\ud800x", r"\ud800A", r"\ud800\n"] {
        let text = format!("[\"{escape}\"]");
        let document = accept(&text);
        assert_eq!(document.lone_surrogates, [Span::new(1, text.len() - 1)]);
        let string = document
            .root
            .as_array()
            .and_then(|items| items[0].as_text());
        assert_eq!(string.and_then(Text::as_str), None, "{text}");
    }
    // Two high ones before a low one: the first is alone.
    let document = accept(r#"{"\ud83d\ud83d\ude00": 1}"#);
    let key = &document.root.as_object().expect("object").members[0].key;
    assert_eq!(key.display(), "\u{FFFD}😀");
    assert_eq!(document.lone_surrogates.len(), 1);
}

#[test]
fn numbers_stay_text() {
    for number in [
        "0",
        "-0",
        "1e400",
        "-1.50E+07",
        "123456789012345678901234567890",
    ] {
        assert_eq!(accept(number).root.kind, Value::Number(number.into()));
    }
}

#[test]
fn repeated_keys_are_kept_and_the_last_wins() {
    let text = r#"{"a":1,"b":{"c":1,"c":2},"\u0061":2,"a":3}"#;
    let document = accept(text);
    let object = document.root.as_object().expect("object");
    let shadowed: Vec<bool> = object.members.iter().map(|m| m.shadowed).collect();
    assert_eq!(shadowed, [true, false, true, false]);
    assert_eq!(
        object.get("a").map(|m| &m.value.kind),
        Some(&Value::Number("3".into()))
    );
    let listed: Vec<_> = document
        .duplicates
        .iter()
        .map(|d| (d.first.start, d.again.start))
        .collect();
    assert_eq!(listed, [(12, 18), (1, 25), (1, 36)]);
}

#[test]
fn large_objects_find_their_repeated_keys_too() {
    let mut text = String::from("{");
    for index in 0..100_000 {
        text.push_str(&format!("\"k{}\":{index},", index % 60_000));
    }
    text.push_str("\"k0\":0}");
    let document = accept(&text);
    assert_eq!(document.duplicates.len(), 40_001);
    let object = document.root.as_object().expect("object");
    assert_eq!(object.effective().count(), 60_000);
    let k0: Vec<_> = object.members.iter().filter(|m| m.key == "k0").collect();
    assert_eq!(
        k0.iter().map(|m| m.shadowed).collect::<Vec<_>>(),
        [true, true, false]
    );
    let last = document.duplicates.last().expect("k0");
    assert_eq!((last.first, last.again), (k0[0].key_span, k0[2].key_span));
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    accept(&nested(128));
    let objects = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
    accept(&objects(128));
    for (text, at) in [
        (nested(129), 128),
        (objects(129), 128 * 5),
        ("[".repeat(100_000), 128),
    ] {
        let (kind, span, _) = kind(text.as_bytes());
        assert_eq!(
            (kind, span),
            (ParseErrorKind::TooComplex, Span::new(at, at + 1))
        );
    }
    let limits = Limits {
        depth: 1,
        nodes: 4,
        key_bytes: 9,
    };
    assert!(parse(b"[1,2,3]", limits).is_ok());
    assert!(parse(b"{\"a\":1}", limits).is_ok());
    let error = parse(b"[1,2,3,44]", limits).expect_err("five nodes");
    assert_eq!(
        (error.kind, error.span),
        (ParseErrorKind::TooComplex, Span::new(7, 9))
    );
}

#[test]
fn other_encodings_are_named() {
    use ParseErrorKind::{ByteOrderMark, InvalidUtf8};
    let utf16 = |little: bool| -> Vec<u8> {
        let units = "{\"a\":1}".encode_utf16();
        units
            .flat_map(|unit| {
                if little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect()
    };
    let cases: [(&[u8], _, _, &str); 8] = [
        (b"\xEF\xBB\xBF{}", ByteOrderMark, (0, 3), "byte order mark"),
        (
            b"\xFF\xFE{\0}\0",
            ByteOrderMark,
            (0, 2),
            "UTF-16 (little-endian)",
        ),
        (
            b"\xFE\xFF\0{\0}",
            ByteOrderMark,
            (0, 2),
            "UTF-16 (big-endian)",
        ),
        (
            b"\xFF\xFE\0\0{\0\0\0}\0\0\0",
            ByteOrderMark,
            (0, 4),
            "UTF-32 (little-endian)",
        ),
        (
            b"\0\0\xFE\xFF\0\0\0{",
            ByteOrderMark,
            (0, 4),
            "UTF-32 (big-endian)",
        ),
        (&utf16(true), InvalidUtf8, (0, 2), "UTF-16 (little-endian)"),
        (&utf16(false), InvalidUtf8, (0, 2), "UTF-16 (big-endian)"),
        (
            b"{\0\0\0}\0\0\0",
            InvalidUtf8,
            (0, 4),
            "UTF-32 (little-endian)",
        ),
    ];
    for (bytes, expected, (start, end), named) in cases {
        let (kind, span, message) = kind(bytes);
        assert_eq!((kind, span), (expected, Span::new(start, end)), "{bytes:?}");
        assert!(message.contains(named), "{message}");
    }
}

#[test]
fn bytes_that_are_no_utf8_are_located() {
    for (bytes, start, end) in [
        (&b"{\"a\":\"\xFF\"}"[..], 6, 7),
        (b"[\"\xE2\x82\"]", 2, 4),
        (b"[\"\xED\xA0\x80\"]", 2, 3),
        (b"[\"\xC0\xAF\"]", 2, 3),
        (b"[1,\xF0\x9F", 3, 5),
        (b"\x80", 0, 1),
    ] {
        let (kind, span, _) = kind(bytes);
        assert_eq!(
            (kind, span),
            (ParseErrorKind::InvalidUtf8, Span::new(start, end))
        );
    }
}

#[test]
fn the_usual_mistakes_are_named() {
    // Text, what is pointed at, a piece of the message.
    for (text, part, piece) in [
        ("", "", "the file is empty"),
        (" \n", "", "only white space"),
        ("[1,]", ",", "no comma before `]`"),
        ("{\"a\":1 ,\n}", ",", "no comma before `}`"),
        ("[,1]", ",", "a value was expected, found `,`"),
        ("{\"a\":1}\n// x\n", "// x", "no comments"),
        ("// x\n{}", "// x", "no comments"),
        ("{\"a\": 1, /* x */ \"b\": 2}", "/* x */", "no comments"),
        ("[1 # x\n]", "# x", "no comments"),
        ("{'a': 1}", "'a'", "`'` is no quote"),
        ("{\"a\": 'it'}", "'it'", "`'` is no quote"),
        ("{\u{201C}a\u{201D}: 1}", "\u{201C}a\u{201D}", "is no quote"),
        ("[NaN]", "NaN", "no number `NaN`"),
        ("[Infinity]", "Infinity", "no number `Infinity`"),
        ("[-Infinity]", "-Infinity", "no number `-Infinity`"),
        ("[True]", "True", "must be written `true`"),
        ("[None]", "None", "write `null`"),
        ("{\"a\": undefined}", "undefined", "write `null`"),
        ("[abc]", "abc", "in double quotes"),
        ("[nullx]", "nullx", "in double quotes"),
        ("{a: 1}", "a", "the key `a` must be in double quotes"),
        ("{1: 1}", "1", "the key `1` must be in double quotes"),
        ("{\"a\": 1, b-c: 2}", "b", "must be in double quotes"),
        ("[\"a\tb\"]", "\t", "written `\\t`"),
        ("[\"a\u{1}b\"]", "\u{1}", "written `\\u0001`"),
        ("[\"a\nb\"]", "\n", "not closed on its line"),
        ("[\"a\r\nb\"]", "\r\n", "not closed on its line"),
        ("[\"ab", "\"ab", "the string is not closed"),
        ("[\"ab\\", "\\", "the string is not closed"),
        ("[\"a\\x\"]", "\\x", "no JSON escape"),
        ("[\"C:\\dir\"]", "\\d", "a backslash is written `\\\\`"),
        ("[\"\\u12g4\"]", "\\u12", "four hexadecimal digits"),
        ("[\"\\u+123\"]", "\\u", "four hexadecimal digits"),
        ("[012]", "012", "must not start with `0`"),
        ("[-01]", "-01", "must not start with `0`"),
        ("[+1]", "+1", "must not start with `+`"),
        ("[.5]", ".5", "a digit before the point"),
        ("[1.]", "1.", "is no JSON number"),
        ("[1.2.3]", "1.2.3", "is no JSON number"),
        ("[1e]", "1e", "is no JSON number"),
        ("[0x1F]", "0x1F", "is no JSON number"),
        ("[1_000]", "1_000", "is no JSON number"),
        ("[-]", "-", "digits were expected"),
        ("{} {}", "{", "`{` behind the JSON value"),
        ("1 \"x\"", "\"x\"", "the string \"x\" behind"),
        ("[1 2]", "2", "`,` is missing before `2`"),
        (
            "{\"a\":1\n\"b\":2}",
            "\"b\"",
            "`,` is missing before the string \"b\"",
        ),
        ("[1}", "}", "`,` or `]` was expected, found `}`"),
        ("{\"a\":1]", "]", "`,` or `}` was expected, found `]`"),
        (
            "{\"a\" 1}",
            "1",
            "`:` was expected behind the key, found `1`",
        ),
        ("{\"a\"}", "}", "`:` was expected"),
        ("{\"a\":}", "}", "a value was expected, found `}`"),
        ("{,}", ",", "a key in double quotes was expected"),
        ("{[]: 1}", "[", "a key in double quotes was expected"),
        (
            "{\n\"a\": [1,",
            "",
            "before the array that opens in line 2 is closed",
        ),
        (
            "{\n\"a\"",
            "",
            "before the object that opens in line 1 is closed",
        ),
        ("[\u{A0}1]", "\u{A0}", "found U+00A0"),
        ("[\u{FEFF}]", "\u{FEFF}", "found U+FEFF"),
        ("[1\u{C}]", "\u{C}", "found U+000C"),
        ("é", "é", "found `é`"),
        ("\0\u{FEFF}", "\0", "found U+0000"),
    ] {
        let (found, message) = refuse(text);
        assert_eq!(found, part, "{text:?}: {message}");
        assert!(message.contains(piece), "{text:?}: {message}");
        assert!(!message.contains(['\n', '\r']), "{message:?}");
    }
}
