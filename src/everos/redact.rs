//! Takes credentials out of text before it leaves the machine. Everything that
//! is sent passes through a [`Redactor`]; nothing else looks for secrets.
//!
//! Recognised: private key blocks, authorization values, the shapes of known
//! tokens, passwords in URLs, and values assigned to names like `API_KEY`,
//! `*_TOKEN`, `*_SECRET` or `PASSWORD`.

mod scan;

use super::json::Json;
use super::text::Text;
use crate::secret::{self, Place, Strength};

const MARK: &str = "[redacted]";

/// Values that stand for no secret.
const EMPTY_VALUES: [&str; 16] = [
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "number",
    "int",
    "bool",
    "any",
    "bytes",
    "option",
    "required",
    "optional",
];

/// Takes credentials out and counts them.
#[derive(Debug)]
pub struct Redactor {
    on: bool,
    /// How many values were taken out.
    pub count: u64,
}

impl Redactor {
    /// A redactor; one that is off changes nothing.
    pub fn new(on: bool) -> Self {
        Self { on, count: 0 }
    }

    /// The text without credentials.
    pub fn string(&mut self, text: &str) -> String {
        if !self.on {
            return text.to_owned();
        }
        let (text, count) = scan::redact(text);
        self.count += count;
        text
    }

    /// Takes credentials out of a text value.
    pub fn text(&mut self, text: &mut Text) {
        if self.on {
            text.edit(|part| *part = self.string(part));
        }
    }

    /// Takes credentials out of a tree of values; a member with the name of a
    /// secret loses its value whole.
    pub fn tree(&mut self, tree: &mut Json) {
        if !self.on {
            return;
        }
        tree.each_text("", &mut |name, text| match strength(name) {
            Some(strength) if plausible(&text.head, strength, true, is_env_style(name)) => {
                *text = MARK.into();
                self.count += 1;
            }
            _ => self.text(text),
        });
    }

    /// The text without what its author marked as private: everything between
    /// `<private>` and `</private>`, or to the end. Works even when redaction
    /// is off: the author asked for it.
    pub fn private(&mut self, text: &str) -> String {
        let mut kept = String::new();
        let mut rest = text;
        while let Some((before, after)) = split_ignoring_case(rest, "<private>") {
            kept.push_str(before);
            self.count += 1;
            rest = split_ignoring_case(after, "</private>").map_or("", |(_, after)| after);
        }
        kept.push_str(rest);
        kept
    }
}

/// Splits around the first `mark` (ASCII), in any case.
fn split_ignoring_case<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let at = text.match_indices('<').map(|(at, _)| at).find(|at| {
        text.as_bytes()
            .get(*at..*at + mark.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(mark.as_bytes()))
    })?;
    Some((text.get(..at)?, text.get(at + mark.len()..)?))
}

/// `PAY_TOKEN`: capitals, as names in an environment are written.
fn is_env_style(name: &str) -> bool {
    name.contains('_') && !name.contains(|ch: char| ch.is_ascii_lowercase())
}

/// Whether values of `name` are secret. In an environment the word that says so
/// may be followed by another (`TOKEN_PROD`).
fn strength(name: &str) -> Option<Strength> {
    let place = if is_env_style(name) {
        Place::Anywhere
    } else {
        Place::End
    };
    secret::strength(name, place)
}

/// Whether `value` looks like a secret and not like code or prose about one.
fn plausible(value: &str, strength: Strength, quoted: bool, env_style: bool) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let masked = value
        .chars()
        .all(|ch| matches!(ch, '*' | '.' | 'x' | 'X' | '•' | '-' | '_'));
    if value.is_empty()
        || masked
        || EMPTY_VALUES.contains(&lower.as_str())
        || lower.starts_with("[redacted")
    {
        return false;
    }
    if value.starts_with(['$', '<', '%', '{', '[', '(']) {
        return false;
    }
    let code = value.contains(['(', '[', '{'])
        || value.contains('.')
            && value.split('.').all(|part| {
                part.starts_with(|ch: char| ch.is_ascii_alphabetic() || ch == '_')
                    && part
                        .chars()
                        .all(|ch| ch.is_ascii_alphanumeric() || ch == '_')
            });
    let mixed = value.chars().any(|ch| ch.is_ascii_digit())
        || value.contains(['!', '@', '#', '$', '%', '^', '+', '/']);
    let length = value.chars().count();
    match (quoted, env_style, strength) {
        (true, _, Strength::Strong) => true,
        (true, true, _) => length >= 4,
        (true, false, Strength::Weak) => {
            !value.contains(' ') && (mixed && length >= 6 || length >= 20)
        }
        (false, true, _) => !code || mixed,
        (false, false, Strength::Strong) => !code && mixed && length >= 4,
        (false, false, Strength::Weak) => !code && mixed && length >= 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(text: &str) -> String {
        Redactor::new(true).string(text)
    }

    #[test]
    fn credentials_go() {
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA==\n-----END OPENSSH PRIVATE KEY-----";
        for (text, expected) in [
            (
                "export PAY_TOKEN=zz_0123456789abcdef0123",
                "export PAY_TOKEN=[redacted]",
            ),
            (
                "export DB_PASSWORD=\"two words\"",
                "export DB_PASSWORD=\"[redacted]\"",
            ),
            (
                "{\"api_key\": \"abc123def\", \"n\": 1}",
                "{\"api_key\": \"[redacted]\", \"n\": 1}",
            ),
            (
                r#"{\"client_secret\": \"hush\", \"n\": 1}"#,
                r#"{\"client_secret\": \"[redacted]\", \"n\": 1}"#,
            ),
            ("password: hunter2", "password: [redacted]"),
            ("Password: swordfish\nnext", "Password: [redacted]\nnext"),
            (
                "the password is hunter2, ok",
                "the password is [redacted], ok",
            ),
            (
                "mysql --password hunter2 db",
                "mysql --password [redacted] db",
            ),
            ("curl --token=abcdef12 x", "curl --token=[redacted] x"),
            (
                "Authorization: Bearer abc.def-ghi",
                "Authorization: Bearer [redacted]",
            ),
            (
                "-H 'Authorization: Basic dXNlcjpwYXNz' url",
                "-H 'Authorization: Basic [redacted]' url",
            ),
            (
                "\"authorization\":\"token0123\"",
                "\"authorization\":\"[redacted]\"",
            ),
            (
                "use Bearer 0123456789abcdef now",
                "use Bearer [redacted] now",
            ),
            ("X-Api-Key: 0123456789", "X-Api-Key: [redacted]"),
            (
                "git clone https://me:s3cret@host/r.git",
                "git clone https://me:[redacted]@host/r.git",
            ),
            ("ghp_0123456789abcdefghij0123456789abcdef", "[redacted]"),
            ("key AKIAIOSFODNN7EXAMPLE.", "key [redacted]."),
            (
                "t=eyJhbGciOiJI.eyJzdWIiOiIxMjM0.sig_nature-1",
                "t=[redacted]",
            ),
            (
                "password: str = \"s3cr3t\"",
                "password: str = \"[redacted]\"",
            ),
            ("clientSecret = 'abc'", "clientSecret = '[redacted]'"),
        ] {
            assert_eq!(redact(text), expected, "{text}");
        }
        assert_eq!(redact(&format!("a {key} b")), "a [redacted private key] b");
        assert_eq!(redact(&key[..60]), "[redacted private key]");
        assert_eq!(
            redact(&format!("text:\n{}", &key[40..])),
            "text:[redacted private key]"
        );
        assert_eq!(redact(&key.replace('\n', "\\n")), "[redacted private key]");
    }

    #[test]
    fn what_only_speaks_of_credentials_stays() {
        for text in [
            "let token = parse_token(input);",
            "max_tokens: 4096",
            "token: string",
            "password: str",
            "const secret = config.secret",
            "API_KEY=$KEY",
            "API_KEY=${KEY}",
            "API_KEY=<your key>",
            "if token == expected { }",
            "TOKEN_FILE=/run/secrets/t",
            "the secret is out",
            "basic authentication",
            "bearer authentication",
            "std::token::Token",
            "https://host:8080/path@x",
            "sk-learn is a nickname for a library",
            "-----BEGIN CERTIFICATE-----",
            "password=***",
            "项目 password",
            "tokenizer = 12345678",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn trees_private_marks_and_the_switch() {
        let mut tree = Json::parse(br#"{"env":{"DB_PASSWORD":"x y","PATH":"/bin"},"command":"curl -u a --token abcd1234"}"#).unwrap();
        let mut redactor = Redactor::new(true);
        redactor.tree(&mut tree);
        assert_eq!(
            tree.to_compact(100),
            r#"{"env":{"DB_PASSWORD":"[redacted]","PATH":"/bin"},"command":"curl -u a --token [redacted]"}"#
        );
        assert_eq!(redactor.count, 2);
        assert_eq!(
            redactor.private("a <private>b</PRIVATE> c<Private>d"),
            "a  c"
        );
        assert_eq!(
            Redactor::new(false).string("password: hunter2"),
            "password: hunter2"
        );
    }
}
