//! Frontmatter against a plain reading of its rule.

use apkit::document::frontmatter::{SplitErrorKind, split};
use proptest::prelude::*;

use super::config;

/// Texts of lines that are markers, nearly markers, or something else.
fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => Just("---"),
        1 => prop::sample::select(&["--- ", "---\t ", " ---", "----", "--", "...", "", "a: é", "# x", "\u{FEFF}---"][..]),
    ];
    let ending = prop::sample::select(&["\n", "\r\n", "\r"][..]);
    let lines = prop::collection::vec((line, ending), 0..6);
    (any::<bool>(), lines, "[-a]{0,3}").prop_map(|(bom, lines, last)| {
        let lines: String = lines
            .iter()
            .flat_map(|(line, ending)| [*line, *ending])
            .collect();
        let bom = if bom { "\u{FEFF}" } else { "" };
        format!("{bom}{lines}{last}")
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_markers_are_found_as_the_rule_says(text in texts()) {
        let plain = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
        let plain = plain.replace("\r\n", "\n").replace('\r', "\n");
        let mut lines = plain.split('\n');
        let is_marker = |line: &&str| line.trim_end_matches([' ', '\t']) == "---";
        let first = lines.next().filter(is_marker);
        let expected = first.map(|_| lines.clone().position(|line| is_marker(&line)));
        match split(&text) {
            Ok(found) => {
                prop_assert_eq!(found.bom, text.starts_with('\u{FEFF}'));
                let yaml = &text[found.yaml.start..found.yaml.end];
                let yaml = yaml.replace("\r\n", "\n").replace('\r', "\n");
                prop_assert_eq!(Some(Some(yaml.matches('\n').count())), expected);
                prop_assert_eq!(found.body.end, text.len());
                let marker = &text[found.yaml.end..found.body.start];
                prop_assert_eq!(marker.trim_end(), "---");
            }
            Err(error) => {
                let kind = match expected {
                    None => SplitErrorKind::Missing,
                    Some(None) => SplitErrorKind::Unclosed,
                    Some(Some(_)) => panic!("{error:?}"),
                };
                prop_assert_eq!(error.kind, kind);
                prop_assert!(text.get(error.span.start..error.span.end).is_some());
                prop_assert!(!error.message.contains(['\n', '\r']));
            }
        }
    }

    #[test]
    fn any_text_is_judged(text in any::<String>()) {
        let _result = split(&format!("---\n{text}"));
        if let Ok(found) = split(&text) {
            prop_assert!(text.get(found.yaml.start..found.yaml.end).is_some());
        }
    }
}
