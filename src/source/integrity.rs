//! Digests of what was fetched, written as npm writes them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::digest::DynDigest;

/// How a digest is made, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Algorithm {
    /// Broken for long; all that registries gave before 2017.
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    const ALL: [Self; 4] = [Self::Sha1, Self::Sha256, Self::Sha384, Self::Sha512];

    fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    fn hash(self) -> Box<dyn DynDigest> {
        match self {
            Self::Sha1 => Box::new(sha1::Sha1::default()),
            Self::Sha256 => Box::new(sha2::Sha256::default()),
            Self::Sha384 => Box::new(sha2::Sha384::default()),
            Self::Sha512 => Box::new(sha2::Sha512::default()),
        }
    }

    fn written(self, digest: &str) -> String {
        format!("{}-{digest}", self.name())
    }
}

/// What content has to match: one algorithm, and any of its digests (base64).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Integrity {
    algorithm: Algorithm,
    digests: Vec<String>,
}

impl Integrity {
    /// Whether others can make content that matches as well.
    pub(super) fn is_weak(&self) -> bool {
        self.algorithm == Algorithm::Sha1
    }

    /// Reads `sha512-… sha1-…`: the strongest algorithm counts, and each of its
    /// digests is good. Nothing if there is none that is understood.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut best: Option<Self> = None;
        for (algorithm, digest) in text.split_ascii_whitespace().filter_map(single) {
            match &mut best {
                Some(found) if found.algorithm > algorithm => {}
                Some(found) if found.algorithm == algorithm => found.digests.push(digest),
                _ => {
                    best = Some(Self {
                        algorithm,
                        digests: vec![digest],
                    });
                }
            }
        }
        best
    }

    /// Whether a text promises a digest by an algorithm that is known.
    pub(super) fn is_promised(text: &str) -> bool {
        let promises = |part: &str| {
            part.split_once('-')
                .is_some_and(|(name, _)| Algorithm::ALL.iter().any(|known| known.name() == name))
        };
        text.split_ascii_whitespace().any(promises)
    }

    /// The `shasum` of old packages: SHA-1 in hexadecimal.
    pub(super) fn from_shasum(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() != 40 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let bytes: Option<Vec<u8>> = (0..text.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
            .collect();
        Some(Self {
            algorithm: Algorithm::Sha1,
            digests: vec![STANDARD.encode(bytes?)],
        })
    }

    /// Whether both speak of the same algorithm and have no digest in common:
    /// then they cannot be of the same content.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        let common = |digest| other.digests.contains(digest);
        self.algorithm == other.algorithm && !self.digests.iter().any(common)
    }

    /// What was found instead of this, if it is not this.
    pub(super) fn mismatch(&self, found: &Found) -> Option<String> {
        match found.0.get(&self.algorithm) {
            Some(digest) if self.digests.contains(digest) => None,
            Some(digest) => Some(self.algorithm.written(digest)),
            None => Some(found.pin()),
        }
    }
}

impl fmt::Display for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, digest) in self.digests.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{}", self.algorithm.written(digest))?;
        }
        Ok(())
    }
}

/// Whether a text is what a lock file pins of an archive: a whole `sha512-…`, alone.
pub(crate) fn is_pin(text: &str) -> bool {
    let found = single(text).filter(|(algorithm, _)| *algorithm == Algorithm::Sha512);
    found.is_some_and(|(algorithm, digest)| algorithm.written(&digest) == text)
}

/// `sha512-BASE64`, with the options after `?` that nobody uses.
fn single(text: &str) -> Option<(Algorithm, String)> {
    let (name, rest) = text.split_once('-')?;
    let algorithm = Algorithm::ALL
        .into_iter()
        .find(|algorithm| algorithm.name() == name)?;
    let digest = rest.split('?').next()?;
    let bytes = STANDARD.decode(digest).ok()?;
    (bytes.len() == algorithm.hash().output_size()).then(|| (algorithm, digest.to_owned()))
}

/// Hashes what it passes on.
pub(super) struct Hasher<W> {
    to: W,
    hashes: BTreeMap<Algorithm, Box<dyn DynDigest>>,
}

impl<W: Write> Hasher<W> {
    /// Hashes what goes to `to` by SHA-512, and by what `wanted` needs.
    pub(super) fn new<'i>(to: W, wanted: impl IntoIterator<Item = &'i Integrity>) -> Self {
        let wanted = wanted.into_iter().map(|integrity| integrity.algorithm);
        let hashes = wanted
            .chain([Algorithm::Sha512])
            .map(|algorithm| (algorithm, algorithm.hash()))
            .collect();
        Self { to, hashes }
    }

    /// The digests of all that was written.
    pub(super) fn finish(self) -> Found {
        let encoded = |(algorithm, hash): (Algorithm, Box<dyn DynDigest>)| {
            (algorithm, STANDARD.encode(hash.finalize()))
        };
        Found(self.hashes.into_iter().map(encoded).collect())
    }
}

impl<W: Write> Write for Hasher<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        for hash in self.hashes.values_mut() {
            hash.update(bytes.get(..written).unwrap_or_default());
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The digests of some content, SHA-512 always among them.
#[derive(Debug)]
pub(super) struct Found(BTreeMap<Algorithm, String>);

impl Found {
    /// What a lock file pins: `sha512-…`.
    pub(super) fn pin(&self) -> String {
        let digest = self.0.get(&Algorithm::Sha512).map_or("", String::as_str);
        Algorithm::Sha512.written(digest)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{Algorithm, Found, Hasher, Integrity};

    // The digests of "abc" (FIPS 180).
    const SHA1: &str = "sha1-qZk+NkcGgWq6PiVxeFDCbJzQ2J0=";
    const SHA256: &str = "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";
    const SHA384: &str = "sha384-ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP/W+2AhgcroefMI1i67KE0yCWn";
    const SHA512: &str = "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";

    fn parse(text: &str) -> Integrity {
        Integrity::parse(text).unwrap_or_else(|| unreachable!("{text}"))
    }

    fn abc(wanted: &[&Integrity]) -> Found {
        let mut hasher = Hasher::new(Vec::new(), wanted.iter().copied());
        hasher
            .write_all(b"abc")
            .unwrap_or_else(|error| unreachable!("{error}"));
        hasher.finish()
    }

    #[test]
    fn each_algorithm_is_checked() {
        for text in [SHA1, SHA256, SHA384, SHA512] {
            let integrity = parse(text);
            assert_eq!(integrity.mismatch(&abc(&[&integrity])), None, "{text}");
            assert_eq!(integrity.to_string(), text);
        }
        let shasum = Integrity::from_shasum("a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(shasum, Some(parse(SHA1)));
        assert_eq!(abc(&[]).pin(), SHA512);
    }

    #[test]
    fn the_strongest_counts_and_any_of_it_is_good() {
        let other = SHA512.replace("3a81", "3a82");
        let integrity = parse(&format!("{SHA1} {other}  {SHA256} {SHA512}?opt"));
        assert_eq!(integrity.algorithm, Algorithm::Sha512);
        assert_eq!(integrity.mismatch(&abc(&[&integrity])), None);
        // A weaker one that is right does not help.
        let integrity = parse(&format!("{SHA256} {other}"));
        assert_eq!(
            integrity.mismatch(&abc(&[&integrity])).as_deref(),
            Some(SHA512)
        );
        assert!(integrity.contradicts(&parse(SHA512)));
        assert!(!integrity.contradicts(&parse(SHA256)));
    }

    #[test]
    fn what_is_no_digest_is_none() {
        for text in [
            "",
            "sha512",
            "sha512-",
            "sha512-AAAA",
            "md5-kAFQmDzST7DWlj99KOF/cg==",
            "sha1-not base64",
        ] {
            assert_eq!(Integrity::parse(text), None, "{text}");
        }
        for text in [
            "",
            "a9993e",
            "zz993e364706816aba3e25717850c26c9cd0d89d",
            "é9993e364706816aba3e25717850c26c9cd0d89",
        ] {
            assert_eq!(Integrity::from_shasum(text), None, "{text}");
        }
    }
}
