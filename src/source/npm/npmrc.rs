//! The text of an `.npmrc` file, as npm reads it.
//!
//! The library that ports npm's configuration reads its variables from the
//! process; here they are data, so the reading is done here.

/// One setting. `name[]` of a list is there once for each element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) value: Value,
}

/// A value with its variables filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    /// Names the first variable that is not set: npm would leave it as it is
    /// written and send that.
    Missing(String),
}

/// Reads a file. Lines below a `[section]` are no settings of npm.
pub(super) fn parse(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Setting> {
    let mut settings = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for line in text.split(['\r', '\n']).map(str::trim) {
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if line.starts_with('[') && line.ends_with(']') {
            break;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (scalar(key), scalar(value)),
            None => (scalar(line), "true".to_owned()),
        };
        let Value::Text(key) = expand(&key, variable) else {
            continue;
        };
        if !key.is_empty() {
            let value = expand(value.trim(), variable);
            settings.push(Setting { key, value });
        }
    }
    settings
}

/// A key or value without its quotes, escapes and the comment behind it.
fn scalar(text: &str) -> String {
    let text = text.trim();
    for quote in ['"', '\''] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            // What is in double quotes is JSON, with `\n` for the line breaks of
            // a certificate.
            return match serde_json::from_str(text) {
                Ok(serde_json::Value::String(value)) => value,
                _ if quote == '"' => text.to_owned(),
                _ => inner.to_owned(),
            };
        }
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            ';' | '#' => break,
            '\\' => match characters.next() {
                Some(c @ (';' | '#' | '\\')) => plain.push(c),
                Some(c) => plain.extend(['\\', c]),
                None => plain.push('\\'),
            },
            c => plain.push(c),
        }
    }
    plain.trim().to_owned()
}

/// Fills in `${NAME}`, and `${NAME?}`, which may be missing. A backslash before
/// it takes the meaning away.
pub(super) fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Value {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, reference) = rest.split_at(at);
        let Some((name, after)) = reference
            .get(2..)
            .and_then(|rest| rest.split_once('}'))
            .filter(|(name, _)| {
                !name.contains(['$', '{']) && !name.trim_end_matches('?').is_empty()
            })
        else {
            out.push_str(before);
            out.push_str("${");
            rest = reference.get(2..).unwrap_or("");
            continue;
        };
        let kept = before.trim_end_matches('\\');
        let escapes = before.len() - kept.len();
        out.push_str(kept);
        out.extend(std::iter::repeat_n('\\', escapes / 2));
        rest = after;
        if escapes % 2 == 1 {
            out.push_str("${");
            out.push_str(name);
            out.push('}');
            continue;
        }
        let (name, optional) = match name.strip_suffix('?') {
            Some(name) => (name, true),
            None => (name, false),
        };
        match variable(name) {
            Some(value) => out.push_str(&value),
            None if optional => {}
            None => return Value::Missing(name.to_owned()),
        }
    }
    out.push_str(rest);
    Value::Text(out)
}

#[cfg(test)]
mod tests {
    use super::{Value, expand, parse};

    fn variable(name: &str) -> Option<String> {
        (name == "TOKEN").then(|| "t0ken".to_owned())
    }

    fn settings(text: &str) -> Vec<(String, String)> {
        parse(text, &variable)
            .into_iter()
            .map(|setting| match setting.value {
                Value::Text(value) => (setting.key, value),
                Value::Missing(name) => (setting.key, format!("MISSING {name}")),
            })
            .collect()
    }

    fn one(line: &str) -> String {
        let all = settings(line);
        assert_eq!(all.len(), 1, "{line}");
        all.into_iter().map(|(_, value)| value).collect()
    }

    #[test]
    fn lines_are_settings_unless_they_are_comments() {
        let text = "\u{feff}a=1\r\n; no\n  # no\n\n//h/:_authToken = x\r@s:registry=http://h\nflag\n=none\n[section]\nb=2\n";
        let expected = [
            ("a", "1"),
            ("//h/:_authToken", "x"),
            ("@s:registry", "http://h"),
            ("flag", "true"),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(settings(text), expected);
    }

    #[test]
    fn values_lose_quotes_escapes_and_comments() {
        for (line, value) in [
            ("a = b ; c", "b"),
            ("a = b # c", "b"),
            (r"a = b\;c\#d\\e\f", r"b;c#d\e\f"),
            (r#"a = "b ; c""#, "b ; c"),
            (r"a = 'b ; c'", "b ; c"),
            (r#"ca = "one\ntwo""#, "one\ntwo"),
            (r#"a = "broken\x""#, r#""broken\x""#),
            ("a = b=c=", "b=c="),
            ("a =", ""),
            ("a = '", "'"),
        ] {
            assert_eq!(one(line), value, "{line}");
        }
    }

    #[test]
    fn variables_are_filled_in() {
        for (text, value) in [
            ("${TOKEN}", "t0ken"),
            ("a${TOKEN}b${TOKEN?}", "at0kenbt0ken"),
            ("${NONE?}x", "x"),
            (r"\${TOKEN}", "${TOKEN}"),
            (r"\\${TOKEN}", r"\t0ken"),
            (r"\\\${TOKEN}", r"\${TOKEN}"),
            ("$TOKEN ${", "$TOKEN ${"),
            ("${}", "${}"),
            ("${A${TOKEN}", "${At0ken"),
        ] {
            assert_eq!(
                expand(text, &variable),
                Value::Text(value.to_owned()),
                "{text}"
            );
        }
        assert_eq!(
            expand("x${NONE}", &variable),
            Value::Missing("NONE".to_owned())
        );
        assert_eq!(one("a=${NONE}"), "MISSING NONE");
    }
}
