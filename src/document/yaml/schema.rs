//! The core schema of YAML 1.2: what type a scalar has (YAML 1.2.2, 10.3.2).

use granit_parser::{ScalarStyle, Tag};

use crate::document::{Text, Value};

/// The value of a scalar; `None` if its tag does not fit.
pub(super) fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Option<Value> {
    let string = || Value::String(Text::new(text));
    let Some(tag) = tag else {
        return Some(match style {
            ScalarStyle::Plain => plain(text).unwrap_or_else(string),
            _ => string(),
        });
    };
    let Some(core) = tag.core_suffix() else {
        return Some(string());
    };
    let value = plain(text);
    match core {
        "str" => Some(string()),
        "null" => value.filter(|value| matches!(value, Value::Null)),
        "bool" => value.filter(|value| matches!(value, Value::Bool(_))),
        "int" => value.filter(|_| is_integer(text)),
        "float" => value.filter(|value| matches!(value, Value::Number(_))),
        // Collections.
        _ => None,
    }
}

/// The value of a plain scalar that is no string.
fn plain(text: &str) -> Option<Value> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        _ if is_integer(text) || is_float(text) => Some(Value::Number(text.into())),
        _ => None,
    }
}

fn is_integer(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0o") {
        return is_all(digits, |byte| matches!(byte, b'0'..=b'7'));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return is_all(digits, |byte| byte.is_ascii_hexdigit());
    }
    is_digits(unsigned(text))
}

fn is_float(text: &str) -> bool {
    let number = unsigned(text);
    if matches!(number, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let mantissa = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) if is_digits(unsigned(exponent)) => mantissa,
        Some(_) => return false,
        None => number,
    };
    match mantissa.split_once('.') {
        Some(("", fraction)) => is_digits(fraction),
        Some((integer, fraction)) => {
            is_digits(integer) && (fraction.is_empty() || is_digits(fraction))
        }
        None => is_digits(mantissa),
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn is_digits(text: &str) -> bool {
    is_all(text, |byte| byte.is_ascii_digit())
}

fn is_all(text: &str, belongs: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(belongs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_schema_decides_plain_scalars() {
        for null in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(plain(null), Some(Value::Null), "{null:?}");
        }
        for number in [
            "0",
            "-1",
            "+12",
            "007",
            "0o17",
            "0xFf",
            "1.",
            ".5",
            "-1.5e+3",
            "1e3",
            ".inf",
            "-.INF",
            "+.Inf",
            ".nan",
            "1E-2",
            "99999999999999999999999999999999",
        ] {
            let expected = Some(Value::Number(number.into()));
            assert_eq!(plain(number), expected, "{number:?}");
        }
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "nULL",
            "tRUE",
            "1_000",
            "0b1",
            "-0x1",
            "0o8",
            "0x",
            "1e",
            "e3",
            ".",
            "-",
            "+",
            "1.2.3",
            "-.nan",
            "1:30",
            "2001-01-01",
            ".e3",
            "١",
            "--1",
        ] {
            assert_eq!(plain(text), None, "{text:?}");
        }
    }
}
