//! JSON against `serde_json`.

use apkit::document::{ParseErrorKind, Text, json};
use proptest::prelude::*;

use super::promises::{judge_json, walk};
use super::{apply, config, edits};

/// JSON texts with everything the grammar allows: white space, escapes (lone
/// surrogates among them), numbers of any size, repeated keys.
fn texts() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?",
        strings(),
    ];
    let value = scalar.prop_recursive(4, 24, 5, |inner| {
        let key = prop_oneof![
            Just("\"a\"".to_owned()),
            Just(r#""\u0061""#.to_owned()),
            strings()
        ];
        let space = "[ \t\n\r]{0,2}";
        let item = (space, inner, space).prop_map(|(a, value, b)| a + &value + &b);
        let member = (space, key, space, item.clone())
            .prop_map(|(a, key, b, value)| format!("{a}{key}{b}:{value}"));
        let list = |items: Vec<String>| items.join(",");
        prop_oneof![
            prop::collection::vec(item, 0..5).prop_map(move |items| format!("[{}]", list(items))),
            prop::collection::vec(member, 0..12)
                .prop_map(move |members| format!("{{{}}}", list(members))),
        ]
    });
    ("[ \t\n\r]{0,2}", value, "[ \t\n\r]{0,2}").prop_map(|(a, value, b)| a + &value + &b)
}

fn strings() -> impl Strategy<Value = String> {
    let plain = any::<char>().prop_map(|found| match found {
        '"' | '\\' => format!("\\{found}"),
        '\0'..='\u{1F}' => format!("\\u{:04x}", u32::from(found)),
        other => other.to_string(),
    });
    let piece = prop_oneof![
        6 => plain,
        2 => r#"\\["\\/bfnrt]"#,
        1 => any::<u16>().prop_map(|unit| format!("\\u{unit:04X}")),
        1 => (0xD800_u16..0xE000).prop_map(|unit| format!("\\u{unit:04x}")),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn legal_texts_mean_what_they_mean_to_serde_json(text in texts()) {
        prop_assert!(judge_json(text.as_bytes()).is_some());
    }

    #[test]
    fn changed_texts_are_judged_as_serde_json_judges_them(text in texts(), edits in edits()) {
        judge_json(&apply(&edits, &text));
    }

    #[test]
    fn every_beginning_of_a_text_is_judged(text in texts()) {
        for end in 0..text.len() {
            judge_json(&text.as_bytes()[..end]);
        }
    }

    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        judge_json(&bytes);
    }

    #[test]
    fn invalid_utf8_is_located_anywhere(text in texts(), at in any::<prop::sample::Index>()) {
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = *at.get(&boundaries);
        let mut bytes = text.into_bytes();
        bytes.insert(at, 0xFF);
        let error = json::parse(&bytes, json::LIMITS).expect_err("no UTF-8");
        prop_assert_eq!(error.kind, ParseErrorKind::InvalidUtf8);
        prop_assert_eq!((error.span.start, error.span.end), (at, at + 1));
    }

    #[test]
    fn every_span_reads_as_its_node(text in texts()) {
        let document = json::parse(text.as_bytes(), json::LIMITS).expect("JSON");
        // White space in place of what stands before keeps the offsets.
        let alone = |start: usize, end: usize| {
            let bytes = [" ".repeat(start).as_bytes(), &text.as_bytes()[start..end]].concat();
            json::parse(&bytes, json::LIMITS).expect("part").root
        };
        walk(&document.root, &mut |node| {
            assert_eq!(&alone(node.span.start, node.span.end), node);
            for member in node.as_object().into_iter().flat_map(|object| &object.members) {
                let key = alone(member.key_span.start, member.key_span.end);
                assert_eq!(key.as_text(), Some(&member.key));
            }
        });
        let mut lone = Vec::new();
        walk(&document.root, &mut |node| {
            let alone = |text: &Text| text.as_str().is_none();
            if node.as_text().is_some_and(alone) {
                lone.push(node.span);
            }
            let members = node.as_object().into_iter().flat_map(|object| &object.members);
            lone.extend(members.filter(|member| alone(&member.key)).map(|member| member.key_span));
        });
        lone.sort_by_key(|span| span.start);
        prop_assert_eq!(lone, document.lone_surrogates);
    }
}
