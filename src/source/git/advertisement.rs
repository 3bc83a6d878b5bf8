//! What a server says it has, read along while libgit2 reads it: libgit2 does not
//! pass on the capabilities, and its binding takes every name for UTF-8.

use git2::Oid;

/// A reference the server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advertised {
    /// Full name: `HEAD`, `refs/heads/main`.
    pub name: String,
    /// What it names, a commit or an annotated tag.
    pub id: Oid,
    /// What the tag names, however many tags lie between.
    pub peeled: Option<Oid>,
}

impl Advertised {
    /// The id of the commit it leads to, unless a tag of something else.
    pub(super) fn commit(&self) -> Oid {
        self.peeled.unwrap_or(self.id)
    }
}

/// The first answer of a server (gitprotocol-pack, "Reference Discovery").
#[derive(Debug, Default)]
pub(super) struct Advertisement {
    /// Beginning of a line that is not here as a whole yet.
    pending: Vec<u8>,
    /// Flush lines that are still to come; the last ends the advertisement.
    flushes: u8,
    /// The references, as the server lists them.
    pub references: Vec<Advertised>,
    /// The branch that `HEAD` stands for, in full.
    pub head: Option<String>,
    /// The repository names its objects by something else than SHA-1.
    pub foreign_ids: bool,
    /// Any commit can be asked for that a reference leads to.
    pub any_commit: bool,
    /// A history can be cut off.
    pub shallow: bool,
    started: bool,
}

impl Advertisement {
    /// Over HTTP, a line that names the service and a flush come first.
    pub(super) fn expect(over_http: bool) -> Self {
        Self {
            flushes: if over_http { 2 } else { 1 },
            ..Self::default()
        }
    }

    /// The name a reference is recorded by: for `HEAD`, that of its branch.
    pub(super) fn full_name(&self, reference: &Advertised) -> String {
        match &self.head {
            Some(branch) if reference.name == "HEAD" => branch.clone(),
            _ => reference.name.clone(),
        }
    }

    /// Whether all of it is here.
    pub(super) fn is_whole(&self) -> bool {
        self.flushes == 0
    }

    /// Takes in what was received next. What follows the advertisement, and what
    /// is no part of one, is passed over: libgit2 complains of it.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.flushes == 0 {
            return;
        }
        self.pending.extend_from_slice(bytes);
        let mut at = 0;
        while self.flushes > 0 {
            let rest = self.pending.get(at..).unwrap_or_default();
            let length = rest
                .get(..4)
                .and_then(|digits| str::from_utf8(digits).ok())
                .map(|digits| usize::from_str_radix(digits, 16));
            match length {
                None => break,
                Some(Ok(0)) => {
                    self.flushes -= 1;
                    at += 4;
                }
                Some(Ok(length)) if length >= 4 => {
                    let Some(line) = rest.get(4..length) else {
                        break;
                    };
                    let line = line.to_owned();
                    self.line(&line);
                    at += length;
                }
                Some(_) => self.flushes = 0,
            }
        }
        self.pending.drain(..at.min(self.pending.len()));
        if self.flushes == 0 {
            self.pending = Vec::new();
        }
    }

    fn line(&mut self, line: &[u8]) {
        if line.starts_with(b"# ") {
            return;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut halves = line.splitn(2, |&byte| byte == 0);
        let reference = halves.next().unwrap_or_default();
        if let Some(capabilities) = halves.next().filter(|_| !self.started) {
            self.started = true;
            self.capabilities(&String::from_utf8_lossy(capabilities));
        }
        let Some((id, name)) = str::from_utf8(reference)
            .ok()
            .and_then(|text| text.split_once(' '))
        else {
            return;
        };
        let Ok(id) = Oid::from_str(id) else { return };
        match name.strip_suffix("^{}") {
            // The only line of a repository without references.
            Some("capabilities") => {}
            Some(tag) => {
                let last = self.references.last_mut();
                if let Some(tag) = last.filter(|last| last.name == tag) {
                    tag.peeled = Some(id);
                }
            }
            None => self.references.push(Advertised {
                name: name.to_owned(),
                id,
                peeled: None,
            }),
        }
    }

    fn capabilities(&mut self, text: &str) {
        for word in text.split(' ') {
            match word.split_once('=') {
                Some(("symref", value)) => {
                    if let Some(target) = value.strip_prefix("HEAD:") {
                        self.head = Some(target.to_owned());
                    }
                }
                Some(("object-format", format)) => self.foreign_ids = format != "sha1",
                Some(_) => {}
                None => match word {
                    "allow-reachable-sha1-in-want" => self.any_commit = true,
                    "shallow" => self.shallow = true,
                    _ => {}
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        format!("{:04x}{text}", text.len() + 4)
    }

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn references_and_capabilities_are_read_in_any_pieces() {
        let mut text = line("# service=git-upload-pack\n") + "0000";
        text += &line(&format!(
            "{A} HEAD\0multi_ack shallow symref=HEAD:refs/heads/main object-format=sha1 allow-reachable-sha1-in-want agent=x\n"
        ));
        text += &line(&format!("{A} refs/heads/main\n"));
        text += &line(&format!("{B} refs/tags/v1\n"));
        text += &line(&format!("{A} refs/tags/v1^{{}}\n"));
        text += "0000";
        text += "0008NAK\n";
        for size in [1, 2, 3, 7, 64, text.len()] {
            let mut read = Advertisement::expect(true);
            for piece in text.as_bytes().chunks(size) {
                read.feed(piece);
            }
            let names: Vec<_> = read.references.iter().map(|r| r.name.as_str()).collect();
            assert_eq!(names, ["HEAD", "refs/heads/main", "refs/tags/v1"]);
            let tag = &read.references[2];
            assert_eq!(
                (tag.id.to_string(), tag.commit().to_string()),
                (B.into(), A.into())
            );
            assert_eq!(read.head.as_deref(), Some("refs/heads/main"));
            assert!(read.any_commit && read.shallow && !read.foreign_ids);
        }
    }

    #[test]
    fn odd_advertisements_do_no_harm() {
        let empty = line(&format!("{} capabilities^{{}}\0shallow\n", "0".repeat(40))) + "0000";
        let foreign = line(&format!("{} HEAD\0object-format=sha256\n", "a".repeat(64))) + "0000";
        for text in ["", "0", "zzzz", "0001", "0003", "ffff", "0004", &empty] {
            let mut read = Advertisement::expect(false);
            read.feed(text.as_bytes());
            assert_eq!(read.references, [], "{text}");
        }
        let mut read = Advertisement::expect(false);
        read.feed(foreign.as_bytes());
        assert!(read.foreign_ids);
        let mut read = Advertisement::expect(false);
        read.feed(b"0036");
        read.feed(A.as_bytes());
        read.feed(b" refs/\xff\xfexx0000");
        assert_eq!(read.references, []);
    }
}
