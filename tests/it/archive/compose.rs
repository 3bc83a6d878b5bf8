//! Archives byte by byte, also those that no program would write.

use std::io::Write as _;

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
    deflate.write_all(bytes).unwrap();
    deflate.finish().unwrap()
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// One header of a tar archive and what follows it.
pub(super) struct Entry<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: u8,
    pub(super) target: &'a [u8],
    pub(super) mode: u32,
    pub(super) content: &'a [u8],
    /// What the header claims.
    pub(super) size: u64,
}

impl<'a> Entry<'a> {
    pub(super) fn file(name: &'a (impl AsRef<[u8]> + ?Sized), content: &'a [u8]) -> Self {
        Self {
            name: name.as_ref(),
            kind: b'0',
            target: b"",
            mode: 0o644,
            content,
            size: content.len() as u64,
        }
    }

    pub(super) fn of_kind(name: &'a (impl AsRef<[u8]> + ?Sized), kind: u8) -> Self {
        Self {
            kind,
            ..Self::file(name, b"")
        }
    }

    pub(super) fn link(
        name: &'a (impl AsRef<[u8]> + ?Sized),
        target: &'a (impl AsRef<[u8]> + ?Sized),
    ) -> Self {
        Self {
            kind: b'2',
            target: target.as_ref(),
            ..Self::file(name, b"")
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut header = [0; 512];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        assert!(self.name.len() <= 100 && self.target.len() <= 100);
        put(0, self.name);
        put(100, format!("{:07o}\0", self.mode).as_bytes());
        put(108, b"0001750\0");
        put(116, b"0001750\0");
        if self.size < 1 << 33 {
            put(124, format!("{:011o}\0", self.size).as_bytes());
        } else {
            put(124, &[0x80, 0, 0, 0]);
            put(128, &self.size.to_be_bytes());
        }
        put(136, b"14000000000\0");
        put(148, b"        ");
        put(156, &[self.kind]);
        put(157, self.target);
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut bytes = header.to_vec();
        bytes.extend(self.content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

/// A tar archive.
#[derive(Default)]
pub(super) struct Tar(pub(super) Vec<u8>);

impl Tar {
    pub(super) fn add(mut self, entry: &Entry<'_>) -> Self {
        self.0.extend(entry.bytes());
        self
    }

    pub(super) fn file(self, name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        self.add(&Entry::file(&name, content.as_ref()))
    }

    pub(super) fn link(self, name: &str, target: &str) -> Self {
        self.add(&Entry::link(name, target))
    }

    pub(super) fn kind(self, name: &str, kind: u8) -> Self {
        self.add(&Entry::of_kind(name, kind))
    }

    /// An extension with this content.
    pub(super) fn extension(self, kind: u8, content: impl AsRef<[u8]>) -> Self {
        self.add(&Entry {
            kind,
            ..Entry::file("././@extension", content.as_ref())
        })
    }

    /// PAX records about the next entry.
    pub(super) fn pax(self, records: &[(&str, &[u8])]) -> Self {
        self.extension(b'x', pax(records))
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        self.0
    }

    pub(super) fn tgz(self) -> Vec<u8> {
        gzip(&self.end())
    }
}

pub(super) fn pax(records: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in records {
        let rest = key.len() + value.len() + 3;
        let mut length = rest;
        while length != rest + length.to_string().len() {
            length = rest + length.to_string().len();
        }
        bytes.extend(format!("{length} {key}=").into_bytes());
        bytes.extend(*value);
        bytes.push(b'\n');
    }
    bytes
}

/// What a zip archive tells about an entry, in one of the two places.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) name: Vec<u8>,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u32,
    pub(super) size: u32,
    pub(super) extra: Vec<u8>,
}

/// An entry of a zip archive.
#[derive(Clone)]
pub(super) struct Zipped {
    /// Before the content.
    pub(super) local: Head,
    /// In the directory.
    pub(super) central: Head,
    pub(super) data: Vec<u8>,
    /// What follows the content.
    pub(super) behind: Vec<u8>,
    /// Mode on Unix.
    pub(super) mode: u32,
    pub(super) disk: u16,
    /// Where the directory says it starts, if not where it does.
    pub(super) start: Option<u32>,
}

impl Zipped {
    pub(super) fn file(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        let data = deflate(content);
        let head = Head {
            name: name.as_ref().to_vec(),
            flags: 1 << 11,
            method: 8,
            crc: crc(content),
            compressed: data.len() as u32,
            size: content.len() as u32,
            extra: Vec::new(),
        };
        Self {
            local: head.clone(),
            central: head,
            data,
            behind: Vec::new(),
            mode: 0o100_644,
            disk: 0,
            start: None,
        }
    }

    pub(super) fn stored(name: &str, content: impl AsRef<[u8]>) -> Self {
        let mut entry = Self::file(name, &content);
        entry.data = content.as_ref().to_vec();
        entry.both(|head| {
            head.method = 0;
            head.compressed = head.size;
        })
    }

    pub(super) fn link(name: &str, target: &str) -> Self {
        Self::stored(name, target).mode(0o120_777)
    }

    pub(super) fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    pub(super) fn both(mut self, change: impl Fn(&mut Head)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    pub(super) fn local(mut self, change: impl Fn(&mut Head)) -> Self {
        change(&mut self.local);
        self
    }

    pub(super) fn central(mut self, change: impl Fn(&mut Head)) -> Self {
        change(&mut self.central);
        self
    }

    pub(super) fn behind(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.behind = bytes.as_ref().to_vec();
        self
    }

    /// Sizes and checksum behind the content, as streams are written.
    pub(super) fn described(self, mark: bool, large: bool) -> Self {
        let mut descriptor = if mark {
            b"PK\x07\x08".to_vec()
        } else {
            Vec::new()
        };
        descriptor.extend(self.central.crc.to_le_bytes());
        for number in [self.central.compressed, self.central.size] {
            descriptor.extend(number.to_le_bytes());
            descriptor.extend(if large { &[0; 4][..] } else { &[] });
        }
        self.behind(descriptor)
            .both(|head| head.flags |= 1 << 3)
            .local(|head| (head.crc, head.compressed, head.size) = (0, 0, 0))
    }
}

/// How a zip archive ends.
#[derive(Clone, Default)]
pub(super) struct End {
    pub(super) before: Vec<u8>,
    /// Behind the list of entries.
    pub(super) behind_list: Vec<u8>,
    /// The number of entries, if not what it is.
    pub(super) count: Option<u16>,
    pub(super) zip64: bool,
    /// The number of entries in the larger form.
    pub(super) count_64: Option<u64>,
    pub(super) comment: Vec<u8>,
    pub(super) disk: u16,
}

pub(super) fn zip(entries: &[Zipped]) -> Vec<u8> {
    zip_with(entries, &End::default())
}

pub(super) fn zip_with(entries: &[Zipped], end: &End) -> Vec<u8> {
    let mut bytes = end.before.clone();
    let mut list = Vec::new();
    for entry in entries {
        let start = entry.start.unwrap_or(bytes.len() as u32);
        bytes.extend(b"PK\x03\x04\x14\0");
        put_head(&mut bytes, &entry.local);
        bytes.extend(&entry.local.name);
        bytes.extend(&entry.local.extra);
        bytes.extend(&entry.data);
        bytes.extend(&entry.behind);
        list.extend(b"PK\x01\x02\x14\x03\x14\0");
        put_head(&mut list, &entry.central);
        list.extend([0; 2]);
        list.extend(entry.disk.to_le_bytes());
        list.extend([0; 2]);
        list.extend((entry.mode << 16).to_le_bytes());
        list.extend(start.to_le_bytes());
        list.extend(&entry.central.name);
        list.extend(&entry.central.extra);
    }
    list.extend(&end.behind_list);
    let start = bytes.len();
    bytes.extend(&list);
    let count = end.count.unwrap_or(entries.len() as u16);
    if end.zip64 {
        let at = bytes.len() as u64;
        let count = end.count_64.unwrap_or(count.into());
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend([45, 3, 45, 0]);
        bytes.extend([0; 8]);
        for number in [count, count, list.len() as u64, start as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07");
        bytes.extend([0; 4]);
        bytes.extend(at.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
    }
    bytes.extend(b"PK\x05\x06");
    bytes.extend(end.disk.to_le_bytes());
    bytes.extend([0; 2]);
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    let large = |number: usize| if end.zip64 { u32::MAX } else { number as u32 };
    bytes.extend(large(list.len()).to_le_bytes());
    bytes.extend(large(start).to_le_bytes());
    bytes.extend((end.comment.len() as u16).to_le_bytes());
    bytes.extend(&end.comment);
    bytes
}

fn put_head(to: &mut Vec<u8>, head: &Head) {
    to.extend(head.flags.to_le_bytes());
    to.extend(head.method.to_le_bytes());
    to.extend(0x5a21_0000_u32.to_le_bytes());
    to.extend(head.crc.to_le_bytes());
    to.extend(head.compressed.to_le_bytes());
    to.extend(head.size.to_le_bytes());
    to.extend((head.name.len() as u16).to_le_bytes());
    to.extend((head.extra.len() as u16).to_le_bytes());
}

/// An extra field.
pub(super) fn extra(id: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = id.to_le_bytes().to_vec();
    bytes.extend((value.len() as u16).to_le_bytes());
    bytes.extend(value);
    bytes
}
