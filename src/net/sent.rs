//! What was sent to a server and is told to nobody else.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::error::{Error, ErrorKind};

/// What is shorter is no secret, and masking it would make any text unreadable.
const LEAST: usize = 4;
/// What is shorter may be part of an address by chance.
const LEAST_IN_ADDRESS: usize = 8;

/// The secrets that went along with a request. A server may send them back, in a
/// reason or an address; no message and no file is to show them then.
#[derive(Clone, Default)]
pub struct Sent {
    /// The longest first, as one may hold another.
    texts: Vec<String>,
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sent(…)")
    }
}

impl Sent {
    /// Those in values of secret headers: the value, what follows its scheme, and of
    /// `Basic` what is encoded in it.
    pub fn headers<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        let mut texts = Vec::new();
        for value in values {
            texts.push(value.to_owned());
            let Some((scheme, rest)) = value.split_once(' ') else {
                continue;
            };
            texts.push(rest.to_owned());
            texts.push(rest.trim_end_matches('=').to_owned());
            let plain = STANDARD.decode(rest).ok();
            let plain = plain.and_then(|plain| String::from_utf8(plain).ok());
            if let Some(plain) = plain.filter(|_| scheme.eq_ignore_ascii_case("basic")) {
                texts.extend(plain.split_once(':').map(|(_, word)| word.to_owned()));
                texts.push(plain);
            }
        }
        let encoded = texts.iter().map(|text| {
            let bytes = text.as_bytes();
            url::form_urlencoded::byte_serialize(bytes).collect::<String>()
        });
        let encoded: Vec<_> = encoded.collect();
        texts.extend(encoded);
        texts.retain(|text| text.len() >= LEAST);
        texts.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        texts.dedup();
        Self { texts }
    }

    /// The text with `…` in place of each of them.
    pub fn hidden(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.texts {
            if text.contains(secret) {
                text = text.replace(secret, "…");
            }
        }
        text
    }

    /// An address as messages show it (see [`super::shown`]), without them: whoever is
    /// asked chooses where it leads to.
    pub fn shown(&self, url: &Url) -> String {
        self.hidden(&super::shown(url))
    }

    /// Of a text of which no more was read, as [`Sent::hidden`]; the end of it may be
    /// the beginning of one of them.
    pub fn hidden_in_part(&self, text: &str) -> String {
        let mut text = self.hidden(text.trim_end_matches(char::REPLACEMENT_CHARACTER));
        let begun = self.texts.iter().flat_map(|secret| {
            let ends = secret.char_indices().map(|(end, _)| end);
            ends.filter_map(|end| secret.get(..end))
        });
        let begun = begun.filter(|part| part.len() >= LEAST && text.ends_with(*part));
        if let Some(length) = begun.map(str::len).max() {
            text.truncate(text.len() - length);
            text.push('…');
        }
        text
    }

    /// Whether an address holds one of them.
    pub fn is_in(&self, address: &str) -> bool {
        let mut long = self.texts.iter();
        long.any(|secret| secret.len() >= LEAST_IN_ADDRESS && address.contains(secret))
    }

    /// The failure without them.
    pub(crate) fn hide(&self, error: Error) -> Error {
        let hidden = |text: String| self.hidden(&text);
        let kind = match error.kind {
            ErrorKind::Status {
                code,
                reason,
                retry_after,
            } => ErrorKind::Status {
                code,
                reason: reason.map(hidden),
                retry_after,
            },
            ErrorKind::Downgrade { to } => ErrorKind::Downgrade { to: hidden(to) },
            // It names the host that the server leads to.
            ErrorKind::Forbidden { reason } => ErrorKind::Forbidden {
                reason: hidden(reason),
            },
            ErrorKind::Tls {
                detail,
                certificate,
            } => ErrorKind::Tls {
                detail: hidden(detail),
                certificate,
            },
            kind => kind,
        };
        Error {
            address: hidden(error.address),
            kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sent;

    #[test]
    fn what_was_sent_is_hidden_in_every_form() {
        // `me:s3cr/et+word`, whose encoding ends in `=`.
        let encoded = "bWU6czNjci9ldCt3b3JkIQ==";
        let sent = Sent::headers([&*format!("Basic {encoded}"), "Bearer npm_T0ken", "x"]);
        for text in [
            encoded,
            encoded.trim_end_matches('='),
            "me:s3cr/et+word!",
            "s3cr/et+word!",
            "s3cr%2Fet%2Bword%21",
            "Bearer npm_T0ken",
            "npm_T0ken",
        ] {
            let hidden = sent.hidden(&format!("<{text}> x"));
            assert_eq!(hidden.replace("Basic ", ""), "<…> x", "{text}");
            assert!(sent.is_in(&format!("https://h/{text}/x")), "{text}");
        }
        assert_eq!(sent.hidden("me"), "me");
        for (text, wanted) in [
            ("not npm_T0", "not …"),
            ("not npm_T0ken", "not …"),
            ("not npm_T\u{fffd}", "not …"),
            ("not np", "not np"),
            ("npm_T is not", "npm_T is not"),
        ] {
            assert_eq!(sent.hidden_in_part(text), wanted);
        }
        // Too short to tell.
        let short = Sent::headers(["Basic YTphY21l"]);
        assert_eq!(short.hidden("acme"), "…");
        assert!(!short.is_in("https://h/acme/"));
    }
}
