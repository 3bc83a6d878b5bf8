//! Finds credentials in running text.

use super::{MARK, is_env_style, plausible, strength};
use crate::secret::{self, Strength, in_name};

const KEY_MARK: &str = "[redacted private key]";

/// The text without credentials, and how many there were.
pub(super) fn redact(text: &str) -> (String, u64) {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        out: String::new(),
        copied: 0,
        count: 0,
    };
    scan.run();
    let count = scan.count;
    (scan.finish(), count)
}

/// A pass over a text, from left to right.
struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    out: String,
    /// Up to where the input has been copied or replaced.
    copied: usize,
    count: u64,
}

/// Bytes that credentials after a scheme are made of.
fn in_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=')
}

impl<'a> Scan<'a> {
    fn at(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn slice(&self, from: usize, to: usize) -> &'a str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The end of the run of bytes from `from` that satisfy `test`.
    fn run_end(&self, from: usize, test: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        from + rest
            .iter()
            .position(|byte| !test(*byte))
            .unwrap_or(rest.len())
    }

    fn replace(&mut self, from: usize, to: usize, mark: &str) -> usize {
        self.out.push_str(self.slice(self.copied, from));
        self.out.push_str(mark);
        self.copied = to;
        self.count += 1;
        to
    }

    fn finish(mut self) -> String {
        let rest = self.slice(self.copied, self.text.len());
        self.out.push_str(rest);
        self.out
    }

    fn run(&mut self) {
        let mut at = 0;
        while let Some(byte) = self.at(at) {
            at = if byte == b'-' && self.slice(at, self.text.len()).starts_with("-----") {
                self.key_block(at)
            } else if in_name(byte) {
                self.name(at)
            } else if byte == b':' && self.slice(at, at + 3) == "://" {
                self.user_information(at + 3)
            } else {
                at + 1
            };
        }
    }

    /// A private key block, or the end of one whose beginning was cut off.
    fn key_block(&mut self, at: usize) -> usize {
        let rest = self.slice(at, self.text.len());
        let line_end = |from: usize| self.run_end(from, |byte| byte != b'\n' && byte != b'\\');
        let first = self.slice(at, line_end(at).min(at + 80));
        if !first.contains("PRIVATE KEY") {
            return self.run_end(at, |byte| byte == b'-');
        }
        if rest.starts_with("-----BEGIN ") {
            let end = rest
                .find("-----END ")
                .map(|end| at + end)
                .map_or(self.text.len(), |end| {
                    let name = self.run_end(end, |byte| byte == b'-');
                    let close = self
                        .slice(name, self.text.len())
                        .find("-----")
                        .map_or(self.text.len(), |found| name + found);
                    self.run_end(close, |byte| byte == b'-')
                });
            return self.replace(at, end, KEY_MARK);
        }
        if rest.starts_with("-----END ") {
            let name = self.run_end(at, |byte| byte == b'-');
            let close = self
                .slice(name, self.text.len())
                .find("-----")
                .map_or(self.text.len(), |found| name + found);
            let end = self.run_end(close, |byte| byte == b'-');
            // Everything that may be the key's text before it.
            let before = self.bytes.get(self.copied..at).unwrap_or_default();
            let body = before
                .iter()
                .rposition(|byte| !(in_credential(*byte) || matches!(byte, b'\n' | b'\r' | b'\\')));
            return self.replace(
                self.copied + body.map_or(0, |found| found + 1),
                end,
                KEY_MARK,
            );
        }
        self.run_end(at, |byte| byte == b'-')
    }

    /// A password in `scheme://user:password@host`.
    fn user_information(&mut self, from: usize) -> usize {
        let end = self.run_end(from, |byte| {
            !byte.is_ascii_whitespace()
                && !matches!(byte, b'/' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'?' | b'#')
        });
        let authority = self.slice(from, end);
        let password = authority
            .rsplit_once('@')
            .and_then(|(user, _)| user.split_once(':'));
        match password {
            Some((user, password)) if plausible(password, Strength::Strong, true, false) => {
                let start = from + user.len() + 1;
                self.replace(start, start + password.len(), MARK)
            }
            _ => from,
        }
    }

    /// A run of name characters: a token, a scheme, or the name of a value.
    fn name(&mut self, at: usize) -> usize {
        let end = self.run_end(at, in_name);
        let word = self.slice(at, end);
        if let Some(length) = secret::token_at_start(self.slice(at, self.text.len())) {
            return self.replace(at, at + length, MARK);
        }
        // `--password`, `-p`: the dashes are no part of the name.
        let name = word.trim_start_matches('-');
        let flag = name.len() < word.len();
        if name.eq_ignore_ascii_case("bearer") {
            let start = self.run_end(end, |byte| matches!(byte, b' ' | b'\t'));
            let stop = self.run_end(start, in_credential);
            let value = self.slice(start, stop);
            let digits = value.bytes().any(|byte| byte.is_ascii_digit());
            if start > end && value.len() >= 8 && (digits || value.len() >= 20) {
                return self.replace(start, stop, MARK);
            }
            return end;
        }
        if name.eq_ignore_ascii_case("authorization")
            || name.eq_ignore_ascii_case("proxy-authorization")
        {
            return self.authorization(end).unwrap_or(end);
        }
        match strength(name) {
            Some(strength) => self.assignment(name, strength, flag, end).unwrap_or(end),
            None => end,
        }
    }

    /// Passes quotes, backslashes before them, and spaces.
    fn pass_quote(&self, at: usize) -> usize {
        let slashes = self.run_end(at, |byte| byte == b'\\');
        match self.at(slashes) {
            Some(b'"' | b'\'') => slashes + 1,
            _ => at,
        }
    }

    fn pass_blank(&self, at: usize) -> usize {
        self.run_end(at, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// After a name: passes `:`, `=`, `:=` or `=>` with quotes and blanks
    /// around; where the value or its opening quote starts.
    fn separator(&self, end: usize) -> Option<usize> {
        let at = self.pass_blank(self.pass_quote(end));
        let at = match (self.at(at)?, self.at(at + 1)) {
            (b':', Some(b'=')) | (b'=', Some(b'>')) => at + 2,
            (b':', Some(b':')) | (b'=', Some(b'=' | b'~')) => return None,
            (b':' | b'=', _) => at + 1,
            _ => return None,
        };
        Some(self.pass_blank(at))
    }

    /// The value that starts at `at`: its range, and whether it is quoted.
    fn value(&self, at: usize) -> (usize, usize, bool) {
        let start = self.pass_quote(at);
        if start == at {
            let stop = |byte: u8| {
                byte.is_ascii_whitespace()
                    || matches!(
                        byte,
                        b',' | b';'
                            | b')'
                            | b'}'
                            | b']'
                            | b'"'
                            | b'\''
                            | b'`'
                            | b'&'
                            | b'|'
                            | b'\\'
                    )
            };
            return (at, self.run_end(at, |byte| !stop(byte)), false);
        }
        let quote = self.at(start - 1);
        let mut end = start;
        while let Some(byte) = self.at(end) {
            if Some(byte) == quote || byte == b'\n' {
                break;
            }
            end += 1;
        }
        // The backslash before an escaped closing quote.
        while end > start && self.at(end - 1) == Some(b'\\') {
            end -= 1;
        }
        (start, end, true)
    }

    /// `Authorization: Scheme value`.
    fn authorization(&mut self, end: usize) -> Option<usize> {
        let at = self.separator(end)?;
        let start = self.pass_quote(at);
        let stop = self.run_end(start, |byte| {
            !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b'`' | b',')
        });
        let value = self.slice(start, stop);
        let (scheme, secret) = match value.split_once(' ') {
            Some((scheme, secret)) if !scheme.contains(|ch: char| !ch.is_ascii_alphanumeric()) => {
                (scheme.len() + 1, secret)
            }
            _ => (0, value),
        };
        let secret = secret.trim_end();
        if secret.starts_with(['$', '<', '{', '%'])
            || secret.len() < 4
            || secret.starts_with("[redacted")
        {
            return None;
        }
        Some(self.replace(start + scheme, start + scheme + secret.len(), MARK))
    }

    /// `name = value`, `"name": "value"`, `--name value`, `name is value`.
    fn assignment(
        &mut self,
        name: &str,
        strength: Strength,
        flag: bool,
        end: usize,
    ) -> Option<usize> {
        let env_style = is_env_style(name);
        let (at, spoken) = match self.separator(end) {
            Some(at) => (at, false),
            None => {
                let at = self.pass_blank(end);
                if at == end {
                    return None;
                }
                if flag {
                    (at, false)
                } else if strength == Strength::Strong
                    && self.slice(at, at + 3).eq_ignore_ascii_case("is ")
                {
                    (self.pass_blank(at + 3), true)
                } else {
                    return None;
                }
            }
        };
        let (start, stop, quoted) = self.value(at);
        let value = self.slice(start, stop);
        // `password: str = "…"`: the value follows the type.
        if !quoted && !flag {
            let next = self.pass_blank(stop);
            if self.at(next) == Some(b'=') && self.at(next + 1) != Some(b'=') {
                let (start, stop, quoted) = self.value(self.pass_blank(next + 1));
                let secret =
                    quoted && plausible(self.slice(start, stop), strength, true, env_style);
                return secret.then(|| self.replace(start, stop, MARK));
            }
            if self.at(stop) == Some(b'(') {
                return None;
            }
        }
        // A lone word at the end of its line is a value, not prose.
        let alone = !spoken && matches!(self.at(stop), None | Some(b'\n' | b'\r' | b'\\'));
        let quoted = quoted
            || strength == Strength::Strong
                && alone
                && value.len() >= 6
                && !value.contains(['(', '.', '[']);
        let secret = flag && !value.starts_with('-') && plausible(value, strength, true, true)
            || plausible(value, strength, quoted, env_style);
        secret.then(|| self.replace(start, stop, MARK))
    }
}
