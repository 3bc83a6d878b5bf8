//! What is asked of a server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::Sent;

/// A header, and whether others than the first server may see it.
#[derive(Clone)]
pub(super) struct Header {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) secret: bool,
}

/// A request.
#[derive(Clone)]
pub struct Request {
    pub(super) url: Url,
    pub(super) headers: Vec<Header>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) limit: u64,
    pub(super) follow: bool,
    pub(super) compressed: bool,
}

impl Request {
    /// What an answer may hold unless [`Request::limit`] says otherwise, in bytes.
    pub const DEFAULT_LIMIT: u64 = 16 << 20;

    /// Asks for what is at `url`. A user name and password inside it become a
    /// secret `authorization` header.
    pub fn get(url: &Url) -> Self {
        let mut request = Self {
            url: url.clone(),
            headers: Vec::new(),
            body: None,
            limit: Self::DEFAULT_LIMIT,
            follow: true,
            compressed: false,
        };
        if let Some(value) = user_info(&mut request.url) {
            request = request.secret("authorization", value);
        }
        request
    }

    /// Sends `body` to `url`. Redirects of it are handed back, not followed.
    pub fn post(url: &Url, body: Vec<u8>) -> Self {
        Self {
            body: Some(body),
            follow: false,
            ..Self::get(url)
        }
    }

    /// Sends a header along, to whoever the request is led on to. A second one
    /// of the same name replaces the first.
    pub fn header(self, name: &'static str, value: impl Into<String>) -> Self {
        self.put(name, value.into(), false)
    }

    /// Sends a header along as long as scheme, host and port stay the same.
    pub fn secret(self, name: &'static str, value: impl Into<String>) -> Self {
        self.put(name, value.into(), true)
    }

    /// The secrets among the headers.
    pub fn secrets(&self) -> Sent {
        let secret = self.headers.iter().filter(|header| header.secret);
        Sent::headers(secret.map(|header| header.value.as_str()))
    }

    fn put(mut self, name: &'static str, value: String, secret: bool) -> Self {
        self.headers.retain(|header| header.name != name);
        self.headers.push(Header {
            name,
            value,
            secret,
        });
        self
    }

    /// Takes at most so many bytes of body, after decompression and before.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Hands a redirect back instead of following it.
    pub fn stay(mut self) -> Self {
        self.follow = false;
        self
    }

    /// Lets the server compress the body (gzip); the reader sees it unpacked.
    pub fn compressed(mut self) -> Self {
        self.compressed = true;
        self
    }
}

/// Takes user name and password out of an address.
fn user_info(url: &mut Url) -> Option<String> {
    let name = url.username().to_owned();
    let password = url.password().unwrap_or("").to_owned();
    if name.is_empty() && password.is_empty() {
        return None;
    }
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let mut plain = percent_decoded(&name);
    plain.push(b':');
    plain.extend(percent_decoded(&password));
    Some(format!("Basic {}", STANDARD.encode(plain)))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let pair = bytes
            .get(at + 1)
            .copied()
            .and_then(digit)
            .zip(bytes.get(at + 2).copied().and_then(digit));
        match pair {
            // Two hexadecimal digits fit a byte.
            Some((high, low)) if byte == b'%' => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'%'));
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Request, percent_decoded};
    use url::Url;

    #[test]
    fn a_password_in_an_address_becomes_a_secret_header() {
        let url = Url::parse("https://me:a%3Ab@a.example/p")
            .unwrap_or_else(|error| unreachable!("{error}"));
        let request = Request::get(&url);
        assert_eq!(request.url.as_str(), "https://a.example/p");
        let header = &request.headers[0];
        assert_eq!(
            (header.name, header.value.as_str(), header.secret),
            ("authorization", "Basic bWU6YTpi", true)
        );
        let request = request.secret("authorization", "Bearer x");
        assert_eq!(request.headers.len(), 1);
        assert_eq!(request.headers[0].value, "Bearer x");
    }

    #[test]
    fn only_whole_escapes_are_decoded() {
        assert_eq!(percent_decoded("a%20b%2"), b"a b%2");
        assert_eq!(percent_decoded("%zz%C3%A9"), "%zzé".as_bytes());
    }
}
