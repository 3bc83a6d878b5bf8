//! What a server answers.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use flate2::read::MultiGzDecoder;
use url::Url;

use super::Sent;
use super::client::{Reactor, Watch};
use super::error::{Error, ErrorKind, Waiting};
use crate::secret;

/// The most of a refusal that is read for its reason, in bytes.
const REASON_BYTES: u64 = 4096;
/// The most of a reason that is told, in characters.
const REASON: usize = 200;
/// How much of a body is read at a time, in bytes.
const PIECE: usize = 64 << 10;

/// An answer, the body of which is still to be read.
pub struct Response {
    /// The status.
    pub status: u16,
    /// Where the answer came from, after redirects.
    pub url: Url,
    headers: reqwest::header::HeaderMap,
    body: Body,
    sent: Sent,
}

impl Response {
    pub(super) fn new(
        response: reqwest::Response,
        url: Url,
        limit: u64,
        reactor: Arc<Reactor>,
        watch: Watch,
        sent: Sent,
    ) -> Result<Self, Error> {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let length = response.content_length();
        if (200..300).contains(&status) && length.is_some_and(|length| length > limit) {
            return Err(Error::new(&url, ErrorKind::TooLarge { limit }));
        }
        let wire = Wire {
            response,
            chunk: Vec::new(),
            at: 0,
            received: 0,
            limit,
            reactor,
            watch,
            url: url.clone(),
        };
        let encoding = headers
            .get("content-encoding")
            .and_then(|value| value.to_str().ok())
            .unwrap_or("")
            .trim()
            .to_ascii_lowercase();
        let empty = length == Some(0) || status == 204 || status == 304;
        let reader = match encoding.as_str() {
            "gzip" | "x-gzip" if watch.compressed && !empty => {
                Reader::Gzip(Box::new(MultiGzDecoder::new(wire)))
            }
            _ => Reader::Plain(Box::new(wire)),
        };
        Ok(Self {
            status,
            headers,
            body: Body {
                reader,
                length,
                given: 0,
                limit,
                url: url.clone(),
                sent: sent.clone(),
            },
            url,
            sent,
        })
    }

    /// A header's value, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The answer, if its status is 2xx.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Status`] for every other status.
    pub fn successful(mut self) -> Result<Self, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let retry_after = self.header("retry-after").and_then(wait);
        let reason = self.reason();
        let kind = ErrorKind::Status {
            code: self.status,
            reason,
            retry_after,
        };
        Err(self.sent.hide(Error::new(&self.url, kind)))
    }

    /// The `error` or `message` of a JSON answer.
    fn reason(&mut self) -> Option<String> {
        let json = self
            .header("content-type")
            .is_some_and(|kind| kind.contains("json"));
        if !json {
            return None;
        }
        let mut text = Vec::new();
        // What cannot be read has no reason to give; the status remains.
        let _ = (&mut self.body).take(REASON_BYTES).read_to_end(&mut text);
        let value: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let said = ["error", "message", "reason"]
            .into_iter()
            .find_map(|key| value.get(key)?.as_str())?;
        // Before it is cut, so that no half of a secret is left.
        let said = self.sent.hidden(said);
        let line = secret::cut(&said.replace(char::is_control, " "), REASON);
        let line = line.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// The body.
    pub fn into_body(self) -> Body {
        self.body
    }

    /// All of the body.
    ///
    /// # Errors
    ///
    /// The body is larger than the cap, broke off, or took too long.
    pub fn bytes(self) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        let mut body = self.body;
        let mut piece = vec![0; PIECE];
        loop {
            match body.next(&mut piece)? {
                0 => return Ok(all),
                read => all.extend_from_slice(piece.get(..read).unwrap_or_default()),
            }
        }
    }

    /// Hands the body to `sink` piece by piece, telling `seen` how much has come
    /// and, if known, of how much (0 otherwise). A failure to write is the outer
    /// one.
    ///
    /// # Errors
    ///
    /// As for [`Response::bytes`].
    pub fn copy(
        self,
        sink: &mut dyn Write,
        seen: &mut dyn FnMut(u64, u64),
    ) -> io::Result<Result<u64, Error>> {
        let mut body = self.body;
        let total = body.length.unwrap_or(0);
        let mut piece = vec![0; PIECE];
        let mut done = 0_u64;
        loop {
            let read = match body.next(&mut piece) {
                Ok(0) => return Ok(Ok(done)),
                Ok(read) => read,
                Err(error) => return Ok(Err(error)),
            };
            sink.write_all(piece.get(..read).unwrap_or_default())?;
            done += read as u64;
            seen(done, total);
        }
    }
}

/// `Retry-After`: seconds, or a date.
fn wait(value: &str) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = http_date(value)?;
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7; the obsolete forms are not
/// read).
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let mut parts = text.split_once(", ")?.1.split(' ');
    let day: i64 = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let month = i64::try_from(MONTHS.iter().position(|month| *month == name)?).ok()? + 1;
    let year: i64 = parts.next()?.parse().ok()?;
    let mut time = parts
        .next()?
        .splitn(3, ':')
        .map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if parts.next()? != "GMT" || !(1970..10_000).contains(&year) {
        return None;
    }
    // Days since 1970-01-01, counting years from March.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?))
}

/// A body, read piece by piece and never further than the cap. Its errors hold
/// an [`Error`] (see [`Error::from_read`]).
pub struct Body {
    reader: Reader,
    length: Option<u64>,
    given: u64,
    limit: u64,
    url: Url,
    sent: Sent,
}

enum Reader {
    Plain(Box<Wire>),
    Gzip(Box<MultiGzDecoder<Wire>>),
}

impl Body {
    /// The next bytes; 0 at the end. Every failure of a body leaves from here, so
    /// that none of them shows what was sent.
    fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let read = match &mut self.reader {
            Reader::Plain(wire) => wire.read(buffer),
            Reader::Gzip(decoder) => decoder.read(buffer),
        };
        let read = read.map_err(|error| {
            Error::from_read(error).unwrap_or_else(|_| {
                // What is not of the wire is of the decoder.
                let encoding = "gzip".to_owned();
                Error::new(&self.url, ErrorKind::Encoding { encoding })
            })
        });
        let read = read.map_err(|error| self.sent.hide(error))?;
        self.given += read as u64;
        if self.given > self.limit {
            let limit = self.limit;
            let error = Error::new(&self.url, ErrorKind::TooLarge { limit });
            return Err(self.sent.hide(error));
        }
        Ok(read)
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.next(buffer).map_err(io::Error::other)
    }
}

/// The bytes as they come.
struct Wire {
    response: reqwest::Response,
    chunk: Vec<u8>,
    at: usize,
    received: u64,
    limit: u64,
    reactor: Arc<Reactor>,
    watch: Watch,
    url: Url,
}

impl Wire {
    fn next(&mut self) -> Result<Option<Vec<u8>>, ErrorKind> {
        let chunk = self
            .reactor
            .wait(&self.watch, Waiting::Body, self.response.chunk())?;
        let chunk = chunk.map_err(|_| ErrorKind::Cut {
            received: self.received,
        })?;
        let Some(chunk) = chunk else { return Ok(None) };
        self.received += chunk.len() as u64;
        if self.received > self.limit {
            return Err(ErrorKind::TooLarge { limit: self.limit });
        }
        Ok(Some(chunk.into()))
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            match self.next() {
                Ok(Some(chunk)) => {
                    self.chunk = chunk;
                    self.at = 0;
                }
                Ok(None) => return Ok(0),
                Err(kind) => return Err(io::Error::other(Error::new(&self.url, kind))),
            }
        }
        let waiting = self.chunk.get(self.at..).unwrap_or_default();
        let read = waiting.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..read), waiting.get(..read)) {
            to.copy_from_slice(from);
        }
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::{http_date, wait};
    use std::time::{Duration, SystemTime};

    #[test]
    fn dates_are_read() {
        let at = |text| {
            http_date(text)
                .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
                .map(|since| since.as_secs())
        };
        assert_eq!(at("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(at("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(at("Tue, 29 Feb 2028 23:59:59 GMT"), Some(1_835_481_599));
        assert_eq!(at("Sunday, 06-Nov-94 08:49:37 GMT"), None);
        assert_eq!(at("soon"), None);
    }

    #[test]
    fn a_server_may_ask_to_wait() {
        assert_eq!(wait(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("-1"), None);
    }
}
