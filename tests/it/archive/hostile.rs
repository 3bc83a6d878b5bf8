//! Archives made to do harm, or to be read differently by different programs:
//! each is refused with its entry named, and nothing outside is touched.

use std::fs;
use std::path::{Path, PathBuf};

use apkit::archive::{Limits, Refusal};

use super::compose::{End, Entry, Tar, Zipped, deflate, extra, gzip, pax, zip, zip_with};
use super::take_in;
use crate::support::Place;

/// Path, kind, content and time of everything below but the stage.
fn surroundings(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path == directory.join("stage") {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mut state = format!("{:?} {:?}", metadata.permissions(), metadata.modified());
            if metadata.is_dir() {
                pending.push(path.clone());
            } else if metadata.is_file() {
                state.push_str(&fs::read_to_string(&path).unwrap());
            }
            found.push((path, state));
        }
    }
    found.sort();
    found
}

/// Refused so: the variant and the problem in the words of `Debug`, and the entry
/// in the message.
fn refused(name: &str, bytes: &[u8], variant: &str, entry: &str) {
    refused_within(Limits::default(), name, bytes, variant, entry);
}

fn refused_within(limits: Limits, name: &str, bytes: &[u8], variant: &str, entry: &str) {
    let place = Place::new();
    place.write("stage-evil/file", "sentinel");
    place.write("x", "sentinel");
    place.write("outside/file", "sentinel");
    let before = surroundings(place.path());
    let refusal = match take_in(&place, bytes, limits) {
        Err(refusal) => refusal,
        Ok(staged) => panic!("{name} was taken in: {staged:?}"),
    };
    let debug = format!("{refusal:?}");
    for word in variant.split(' ') {
        assert!(debug.contains(word), "{name}: {debug}");
    }
    assert!(
        debug.starts_with(variant.split(' ').next().unwrap()),
        "{name}: {debug}"
    );
    let message = refusal.to_string();
    assert!(
        message.contains(entry),
        "{name}: {message} names no {entry}"
    );
    assert!(!message.contains(char::is_control), "{name}: {message:?}");
    assert_eq!(surroundings(place.path()), before, "{name}");
    // No entry that is refused was made, whatever came before it.
    fs::remove_dir_all(place.path().join("stage")).unwrap();
    assert_eq!(surroundings(place.path()), before, "{name}");
}

/// The same hostile names and links, in both formats.
#[test]
fn names_and_links_are_refused_in_both_formats() {
    let long = "x".repeat(256);
    let deep = "d/".repeat(32) + "f";
    let far = "0123456789abcde/".repeat(20).repeat(4) + "f";
    type Case<'a> = (&'a str, &'a [(&'a str, Option<&'a str>)], &'a str, &'a str);
    let cases: &[Case<'_>] = &[
        (
            "up",
            &[("package/../../x", None)],
            "Path Parent",
            "package/../../x",
        ),
        ("up at once", &[("../x", None)], "Path Parent", "../x"),
        (
            "absolute",
            &[("/tmp/apkit-x", None)],
            "Path Absolute",
            "/tmp/apkit-x",
        ),
        (
            "share",
            &[("//host/share", None)],
            "Path Absolute",
            "//host/share",
        ),
        ("drive", &[("C:x", None)], "Path Drive", "C:x"),
        (
            "drive and root",
            &[("C:/Windows/x", None)],
            "Path Drive",
            "C:/Windows/x",
        ),
        (
            "stream",
            &[("package/a:b", None)],
            "Path Colon",
            "package/a:b",
        ),
        (
            "backslash",
            &[("package\\..\\x", None)],
            "Path Backslash",
            "package\\\\..\\\\x",
        ),
        (
            "sibling",
            &[("../stage-evil/file", None)],
            "Path Parent",
            "../stage-evil/file",
        ),
        ("empty part", &[("a//b", None)], "Path Dot", "a//b"),
        ("line end", &[("a\nb", None)], "Path Control", "a\\nb"),
        (
            "escape",
            &[("a\u{1b}[2Jb", None)],
            "Path Control",
            "a\\u{1b}[2Jb",
        ),
        ("long part", &[(&long, None)], "Path LongPart", "xxxx"),
        ("deep", &[(&deep, None)], "Path TooDeep(32)", "d/d/d"),
        ("long", &[(&far, None)], "Path TooLong", "0123456789abcde/"),
        (
            "device",
            &[("package/con.txt", None)],
            "Path Device",
            "package/con.txt",
        ),
        (
            "device as directory",
            &[("AUX/x", None)],
            "Path Device",
            "AUX/x",
        ),
        ("numbered device", &[("com1", None)], "Path Device", "com1"),
        ("console", &[("CONIN$", None)], "Path Device", "CONIN$"),
        ("trailing dot", &[("a./b", None)], "Path Trailing", "a./b"),
        ("trailing space", &[("a ", None)], "Path Trailing", "a "),
        (
            "git",
            &[("package/.git/config", None)],
            "Path Git",
            ".git/config",
        ),
        (
            "git in capitals",
            &[(".GIT/hooks/post-checkout", None)],
            "Path Git",
            ".GIT/",
        ),
        (
            "git by its short name",
            &[("git~1/config", None)],
            "Path Git",
            "git~1/",
        ),
        (
            "git for old Macs",
            &[(".g\u{200c}it/config", None)],
            "Path Git",
            "config",
        ),
        (
            "git with a dot",
            &[(".git./config", None)],
            "Path Git",
            ".git./",
        ),
        ("twice", &[("a", None), ("a", None)], "Duplicate", "\"a\""),
        (
            "case",
            &[("package/A", None), ("package/a", None)],
            "Collision package/A",
            "package/a",
        ),
        (
            "case of a directory",
            &[("D/a", None), ("d/b", None)],
            "Collision",
            "d/b",
        ),
        (
            "composition",
            &[("\u{e9}", None), ("e\u{301}", None)],
            "Collision",
            "e\\u{301}",
        ),
        (
            "folding",
            &[("straße", None), ("STRASSE", None)],
            "Collision straße",
            "STRASSE",
        ),
        (
            "below a file",
            &[("a", None), ("a/b", None)],
            "BelowFile",
            "a/b",
        ),
        (
            "file for directory",
            &[("a/b", None), ("a", None)],
            "DirectoryToo",
            "\"a\"",
        ),
        (
            "link for directory",
            &[("a/b", None), ("a", Some("x"))],
            "DirectoryToo",
            "\"a\"",
        ),
        (
            "behind a link",
            &[("package/l", Some("../../")), ("package/l/f", None)],
            "BehindLink",
            "package/l/f",
        ),
        (
            "behind a harmless link",
            &[("d/x", None), ("l", Some("d")), ("l/y", None)],
            "BehindLink",
            "l/y",
        ),
        (
            "link twice",
            &[("l", Some("x")), ("l", None)],
            "Duplicate",
            "\"l\"",
        ),
        (
            "link and case",
            &[("L", Some("/tmp")), ("l/f", None)],
            "Collision",
            "l/f",
        ),
        (
            "absolute link",
            &[("a", None), ("l", Some("/etc/passwd"))],
            "Link Absolute",
            "\"l\"",
        ),
        (
            "link out",
            &[("p/a", None), ("p/l", Some("../x"))],
            "Link Outside",
            "\"l\" to \"../x\"",
        ),
        (
            "link beside the root",
            &[("p/a", None), ("p/l", Some("../../stage-evil/file"))],
            "Link Outside",
            "stage-evil",
        ),
        (
            "link out by a link",
            &[("d/top", Some("..")), ("l", Some("d/top/../outside/file"))],
            "Link Outside",
            "\"l\"",
        ),
        (
            "link out by the case of a link",
            &[("s/d", Some("..")), ("s/l", Some("D/../x")), ("f", None)],
            "Link Outside",
            "\"s/l\"",
        ),
        (
            "link out and in again",
            &[("a", None), ("l", Some("../stage/a"))],
            "Link Outside",
            "\"l\"",
        ),
        (
            "loop",
            &[("a", Some("b")), ("b", Some("a"))],
            "Link Loop",
            "\"a\"",
        ),
        (
            "link to itself",
            &[("f", None), ("d/l", Some("l/x"))],
            "Link Loop",
            "d/l",
        ),
        (
            "link to a drive",
            &[("f", None), ("l", Some("C:\\x"))],
            "Link Absolute",
            "\"l\"",
        ),
        (
            "link with backslashes",
            &[("f", None), ("l", Some("..\\x"))],
            "Link Target",
            "\"l\"",
        ),
        (
            "link to a device",
            &[("f", None), ("l", Some("d/nul"))],
            "Link Target",
            "\"l\"",
        ),
    ];
    for (name, entries, variant, entry) in cases {
        let mut tar = Tar::default();
        let mut zipped = Vec::new();
        for (path, target) in *entries {
            // Names that do not fit into the header have a long form.
            if path.len() > 100 {
                tar = tar.pax(&[("path", path.as_bytes())]);
            }
            let short = if path.len() > 100 { "short" } else { path };
            tar = match target {
                Some(target) => tar.link(short, target),
                None => tar.file(short, "content"),
            };
            zipped.push(match target {
                Some(target) => Zipped::link(path, target),
                None => Zipped::file(path, "content"),
            });
        }
        refused(&format!("tgz: {name}"), &tar.tgz(), variant, entry);
        refused(&format!("zip: {name}"), &zip(&zipped), variant, entry);
    }
}

#[test]
fn tar_entries_of_other_kinds_are_refused() {
    for (kind, noun) in [
        (b'3', "a device"),
        (b'4', "a device"),
        (b'6', "a FIFO"),
        (b'7', "of a kind"),
        (b'S', "a sparse file"),
        (b'M', "of a kind"),
        (b'V', "of a kind"),
        (b'D', "of a kind"),
        (b'Z', "of a kind"),
    ] {
        let bytes = Tar::default().kind("package/odd", kind).tgz();
        refused(noun, &bytes, "Kind", &format!("\"package/odd\" is {noun}"));
    }
    for target in ["/etc/passwd", "package/a", "../x"] {
        let link = Entry {
            kind: b'1',
            ..Entry::link("package/hard", target)
        };
        let bytes = Tar::default().file("package/a", "x").add(&link).tgz();
        refused(
            "hard link",
            &bytes,
            "Kind",
            "\"package/hard\" is a hard link",
        );
    }
    let sparse = [
        ("GNU.sparse.major", &b"1"[..]),
        ("GNU.sparse.minor", b"0"),
        ("GNU.sparse.name", b"package/big"),
        ("GNU.sparse.realsize", b"10737418240"),
    ];
    let bytes = Tar::default()
        .pax(&sparse)
        .file("package/GNUSparseFile.1/big", "x");
    refused(
        "sparse by attributes",
        &bytes.tgz(),
        "Kind",
        "a sparse file",
    );
}

#[test]
fn names_that_tar_gives_twice_are_refused() {
    let innocent = |tar: Tar| tar.file("package/a", "x").tgz();
    let new = Tar::default;
    let cases: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        (
            "path by attribute",
            innocent(new().pax(&[("path", b"../../x")])),
            "Path Parent",
            "../../x",
        ),
        (
            "long name",
            innocent(new().extension(b'L', "../../x\0")),
            "Path Parent",
            "../../x",
        ),
        (
            "NUL in a path",
            innocent(new().pax(&[("path", b"a\0b")])),
            "Path Control",
            "a\\0b",
        ),
        (
            "line end in a path",
            innocent(new().pax(&[("path", b"a\n18 path=../../../x\n")])),
            "Path Control",
            "a\\n18 path=",
        ),
        (
            "path that is no UTF-8",
            innocent(new().pax(&[("path", b"a\xff")])),
            "Path NotUtf8",
            "a\u{fffd}",
        ),
        (
            "two names",
            innocent(new().pax(&[("path", b"a")]).extension(b'L', "b\0")),
            "Disagreement",
            "two names",
        ),
        (
            "one attribute twice",
            innocent(new().pax(&[("path", b"a"), ("path", b"b")])),
            "Damaged",
            "twice",
        ),
        (
            "attributes twice",
            innocent(new().pax(&[("path", b"a")]).pax(&[("mtime", b"1")])),
            "Damaged",
            "twice",
        ),
        (
            "long name twice",
            innocent(new().extension(b'L', "a\0").extension(b'L', "b\0")),
            "Damaged",
            "twice",
        ),
        (
            "path for all",
            innocent(new().extension(b'g', pax(&[("path", b"a")]))),
            "Damaged",
            "all its entries",
        ),
        (
            "size by attribute",
            innocent(new().pax(&[("size", b"1024")])),
            "Disagreement",
            "package/a",
        ),
        (
            "size that is none",
            innocent(new().pax(&[("size", b"+1")])),
            "Disagreement",
            "package/a",
        ),
        (
            "attributes that are none",
            innocent(new().extension(b'x', "99 path=a\n")),
            "Damaged",
            "attributes",
        ),
        (
            "name without an entry",
            new().file("a", "x").extension(b'L', "b\0").tgz(),
            "Damaged",
            "not there",
        ),
        (
            "two targets",
            new()
                .pax(&[("linkpath", b"a")])
                .extension(b'K', "b\0")
                .link("l", "c")
                .tgz(),
            "Disagreement",
            "\"l\"",
        ),
        (
            "target by attribute",
            new()
                .file("a", "x")
                .pax(&[("linkpath", b"/etc/passwd")])
                .link("l", "a")
                .tgz(),
            "Link Absolute",
            "/etc/passwd",
        ),
        (
            "huge attribute",
            innocent(new().pax(&[("comment", &vec![b'x'; 2 << 20])])),
            "Damaged",
            "bytes",
        ),
    ];
    for (name, bytes, variant, entry) in &cases {
        refused(name, bytes, variant, entry);
    }
}

#[test]
fn damaged_and_doubled_tar_archives_are_refused() {
    let good = || Tar::default().file("package/a", "x".repeat(3000));
    let tar = good().end();
    let tgz = gzip(&tar);

    refused(
        "text",
        b"Not an archive at all.",
        "NotAnArchive",
        "tar archive",
    );
    refused("nothing", b"", "NotAnArchive", "tar archive");
    refused("bare tar", &tar, "NotAnArchive", "gzip");
    refused("bzip2", b"BZh91AY&SY", "NotAnArchive", "gzip");
    refused("no entries", &Tar::default().tgz(), "Empty", "empty");
    refused("empty gzip", &gzip(b""), "Empty", "empty");
    let only_directories = Tar::default().kind("package/", b'5');
    refused(
        "directories only",
        &only_directories.tgz(),
        "Empty",
        "empty",
    );

    for cut in [
        3,
        15,
        tgz.len() / 2,
        tgz.len() - 9,
        tgz.len() - 4,
        tgz.len() - 1,
    ] {
        refused(
            &format!("cut at {cut}"),
            &tgz[..cut],
            "Damaged",
            "too early",
        );
    }
    let mut wrong_sum = tgz.clone();
    let at = wrong_sum.len() - 7;
    wrong_sum[at] ^= 1;
    refused("checksum", &wrong_sum, "Damaged", "damaged");
    let mut no_deflate = tgz.clone();
    no_deflate[10..20].fill(0xff);
    refused("no deflate", &no_deflate, "Damaged", "damaged");

    refused("cut inside", &gzip(&tar[..1024]), "Damaged", "too early");
    refused("cut in a header", &gzip(&tar[..300]), "Damaged", "damaged");
    let mut header = tar.clone();
    header[0] = b'q';
    refused("header checksum", &gzip(&header), "Damaged", "checksum");
    let mut number = tar.clone();
    number[124..136].copy_from_slice(b"88888888888\0");
    let sum: u32 = number[..148]
        .iter()
        .chain(&number[156..512])
        .map(|&b| u32::from(b))
        .sum();
    number[148..156].copy_from_slice(format!("{:06o}\0 ", sum + 8 * 32).as_bytes());
    refused(
        "size that is no number",
        &gzip(&number),
        "Damaged",
        "damaged",
    );

    let mut letters = tar.clone();
    letters[148..156].copy_from_slice(b"\x1b[2J\nno\0");
    refused(
        "checksum of letters",
        &gzip(&letters),
        "Damaged",
        "\\u{1b}[2J\\nno",
    );

    let hidden = [tgz.as_slice(), b"appended"].concat();
    refused("appended", &hidden, "Hidden", "behind its end");
    let hidden = [tgz.as_slice(), &[0; 16]].concat();
    refused("appended zeros", &hidden, "Hidden", "behind its end");
    let second = Tar::default().file("package/b", "y").tgz();
    let hidden = [tgz.as_slice(), &second].concat();
    refused("two archives", &hidden, "Hidden", "behind its end");
    let hidden = gzip(&[tar.as_slice(), &good().end()].concat());
    refused("two archives in one", &hidden, "Hidden", "behind its end");
    let mut one_zero_block = good().0;
    one_zero_block.extend([0; 512]);
    one_zero_block.extend(Tar::default().file("package/b", "y").end());
    refused(
        "behind one block",
        &gzip(&one_zero_block),
        "Hidden",
        "behind its end",
    );

    for (kind, name) in [(b'5', "d"), (b'2', "l"), (b'0', "d/")] {
        let odd = Entry {
            kind,
            target: b"a",
            ..Entry::file(name, b"content")
        };
        let bytes = Tar::default().file("a", "x").add(&odd).tgz();
        refused("content", &bytes, "Disagreement", "has content");
    }
}

#[test]
fn limits_hold_for_tar() {
    let limits = Limits {
        entries: 4,
        file: 100,
        total: 150,
        ..Limits::default()
    };
    let files = |count: usize, size: usize| {
        let tar = |tar: Tar, at| tar.file(format!("f{at}"), "x".repeat(size));
        (0..count).fold(Tar::default(), tar).tgz()
    };
    refused_within(limits, "files", &files(5, 1), "TooMany", "more than 4");
    let nested = Tar::default().file("a/b/c/d/e", "x").tgz();
    refused_within(limits, "directories", &nested, "TooMany", "more than 4");
    refused_within(limits, "size", &files(1, 101), "FileTooLarge", "\"f0\"");
    refused_within(limits, "total", &files(2, 80), "TotalTooLarge", "\"f1\"");

    let claim = Entry {
        size: 10 << 30,
        ..Entry::file("package/big", b"small")
    };
    let bytes = Tar::default().add(&claim).tgz();
    refused("claim of 10 GiB", &bytes, "FileTooLarge", "package/big");
}

#[test]
fn what_unpacks_to_far_more_than_its_size_is_refused() {
    let limits = Limits {
        total: 8 << 20,
        ..Limits::default()
    };
    let taken = |bytes: &[u8]| take_in(&Place::new(), bytes, limits).is_ok();
    for (size, is_fair) in [(200 << 10, true), (300 << 10, false)] {
        let zeros = vec![0; size];
        let tgz = Tar::default().file("package/zeros", &zeros).tgz();
        let zip = zip(&[Zipped::file("zeros", &zeros)]);
        if is_fair {
            assert!(taken(&tgz) && taken(&zip));
        } else {
            refused_within(limits, "tgz", &tgz, "Ratio", "200 times");
            refused_within(limits, "zip", &zip, "Ratio", "200 times");
        }
    }
    // Behind the end, between entries, in names: it counts wherever it is.
    let comments = pax(&[("comment", &vec![b'x'; 300 << 10])]);
    let bytes = Tar::default()
        .extension(b'g', comments)
        .file("a", "x")
        .tgz();
    refused_within(limits, "comment", &bytes, "Ratio", "200 times");
    let mut padded = Tar::default().file("a", "x").end();
    padded.resize(padded.len() + (300 << 10), 0);
    refused_within(limits, "padding", &gzip(&padded), "Ratio", "200 times");
}

#[test]
fn zip_entries_of_other_kinds_are_refused() {
    let file = || Zipped::file("p/a", "content");
    let other = |mode: u32| zip(&[file().mode(mode)]);
    refused("FIFO", &other(0o010_644), "Kind", "p/a");
    refused("device", &other(0o020_644), "Kind", "p/a");
    refused(
        "directory by mode",
        &other(0o040_755),
        "Disagreement",
        "p/a",
    );
    let link = Zipped::stored("p/", "").mode(0o120_777);
    refused("directory by name", &zip(&[link]), "Disagreement", "p/");
    let full = Zipped::file("p/", "content").mode(0o040_755);
    refused(
        "directory with content",
        &zip(&[full]),
        "Disagreement",
        "has content",
    );
    for flag in [0, 6, 13] {
        let bytes = zip(&[file().both(|head| head.flags |= 1 << flag)]);
        refused("encrypted", &bytes, "Encrypted", "p/a");
    }
    for method in [1, 9, 12, 14, 93, 95, 99] {
        let bytes = zip(&[file().both(|head| head.method = method)]);
        refused(
            "method",
            &bytes,
            "Method",
            &format!("\"p/a\" is compressed by method {method}"),
        );
    }
    let patch = zip(&[file().both(|head| head.flags |= 1 << 5)]);
    refused("patch", &patch, "Method", "p/a");
    let old = zip(&[Zipped::file(b"p/\x81", "x").both(|head| head.flags = 0)]);
    refused("old encoding", &old, "Path NotUtf8", "p/\u{fffd}");
    let long = Zipped::link("l", &"x/".repeat(600));
    refused("long target", &zip(&[long]), "Link Target", "\"l\"");
}

#[test]
fn zip_archives_that_contradict_themselves_are_refused() {
    let file = || Zipped::file("p/a", "content");
    for (name, entry) in [
        ("name", file().local(|head| head.name = b"../x".to_vec())),
        (
            "name in the list",
            file().central(|head| head.name = b"p/b".to_vec()),
        ),
        ("method", file().local(|head| head.method = 0)),
        ("flags", file().local(|head| head.flags = 0)),
        ("crc", file().local(|head| head.crc ^= 1)),
        ("size", file().local(|head| head.size += 1)),
        ("compressed", file().local(|head| head.compressed += 1)),
        ("size of both, less", file().both(|head| head.size = 3)),
        ("size of both, more", file().both(|head| head.size = 30)),
        (
            "stored sizes",
            Zipped::stored("p/a", "content").both(|head| head.size = 3),
        ),
        (
            "descriptor",
            file()
                .described(true, false)
                .behind(b"PK\x07\x08nothing good"),
        ),
        (
            "descriptor and header",
            file().described(true, false).local(|head| head.size = 1),
        ),
        (
            "second name",
            file().both(|head| head.extra = extra(0x7075, b"\x01\0\0\0\0../../x")),
        ),
        (
            "second name in the list",
            file().central(|head| head.extra = extra(0x7075, b"\x01\0\0\0\0../../x")),
        ),
        (
            "large size missing",
            file().central(|head| head.size = u32::MAX),
        ),
        (
            "large size twice",
            file().central(|head| {
                head.extra = [extra(1, &[0; 8]), extra(1, &[0; 8])].concat();
            }),
        ),
    ] {
        refused(name, &zip(&[entry]), "Disagreement", "p/");
    }
    let wrong = zip(&[file().both(|head| head.crc ^= 1)]);
    refused("checksum", &wrong, "Damaged", "p/a");
    let mut corrupt = file();
    corrupt.data.fill(0xff);
    refused("no deflate", &zip(&[corrupt]), "Damaged", "damaged");
}

#[test]
fn zip_archives_with_hidden_parts_are_refused() {
    let file = |name: &str| Zipped::file(name, format!("content of {name}"));
    let hidden = |name: &str, bytes: &[u8], place: &str| refused(name, bytes, "Hidden", place);

    let bytes = zip(&[file("a").behind("gap"), file("b")]);
    hidden("gap", &bytes, "behind the entry \"a\"");
    let bytes = zip(&[file("a"), file("b").behind("gap")]);
    hidden("gap at the end", &bytes, "behind the entry");
    let mut inner = zip(&[file("inner")]);
    inner.truncate(inner.len() / 2);
    let before = End {
        before: inner,
        ..End::default()
    };
    hidden(
        "entry before the first",
        &zip_with(&[file("a")], &before),
        "before its first",
    );
    let before = End {
        before: b"#!/bin/sh\n".to_vec(),
        ..End::default()
    };
    refused(
        "script before",
        &zip_with(&[file("a")], &before),
        "NotAnArchive",
        "zip",
    );

    let mut long = file("a");
    long.data.extend(b"more");
    let long = long.both(|head| head.compressed += 4);
    hidden("behind the deflate stream", &zip(&[long]), "in the entry");

    let good = zip(&[file("a")]);
    hidden(
        "appended",
        &[good.as_slice(), b"appended"].concat(),
        "behind its end",
    );
    let comment = End {
        comment: good.clone(),
        ..End::default()
    };
    hidden(
        "archive in the comment",
        &zip_with(&[file("b")], &comment),
        "comment",
    );
    let comment = End {
        comment: b"PK\x05\x06".repeat(8),
        ..End::default()
    };
    let bytes = zip_with(&[file("b")], &comment);
    hidden("end in the comment", &bytes, "");
    refused(
        "two archives",
        &[good.as_slice(), &zip(&[file("b")])].concat(),
        "Damaged",
        "where it should be",
    );
    let list = End {
        behind_list: b"PK\x05\x05\x04\0sign".to_vec(),
        ..End::default()
    };
    hidden(
        "behind the list",
        &zip_with(&[file("a")], &list),
        "list of entries",
    );
    let fewer = End {
        count: Some(1),
        ..End::default()
    };
    hidden(
        "entry not counted",
        &zip_with(&[file("a"), file("b")], &fewer),
        "list of entries",
    );
}

#[test]
fn zip_entries_that_overlap_are_refused() {
    // One content under many names.
    let first = Zipped::stored("a", "x".repeat(100));
    let mut again = first.clone();
    again.start = Some(0);
    again.central.name = b"b".to_vec();
    refused(
        "same start",
        &zip(&[first.clone(), again]),
        "Overlap",
        "\"b\"",
    );
    // An entry in the content of another.
    let inner = zip(&[Zipped::stored("b", "y")]);
    let outer = Zipped::stored("a", &inner);
    let mut nested = Zipped::stored("b", "y");
    nested.start = Some(31);
    refused("nested", &zip(&[outer, nested]), "Overlap", "\"b\"");
    // Content that reaches into the list of entries.
    let beyond = Zipped::stored("a", "x").both(|head| {
        head.compressed = 60;
        head.size = 60;
    });
    refused("beyond", &zip(&[beyond]), "Damaged", "beyond its end");
}

#[test]
fn damaged_zip_archives_are_refused() {
    let files = [Zipped::file("a", "content"), Zipped::file("b", "other")];
    let good = zip(&files);
    for cut in [4, 10, 40, good.len() / 2, good.len() - 22] {
        refused(
            &format!("cut at {cut}"),
            &good[..cut],
            "Damaged",
            "too early",
        );
    }
    refused("cut at the end", &good[..good.len() - 1], "Hidden", "");
    refused("no entries", &zip(&[]), "Empty", "empty");
    for (name, end) in [
        (
            "more than there are",
            End {
                count: Some(3),
                ..End::default()
            },
        ),
        (
            "disk",
            End {
                disk: 1,
                ..End::default()
            },
        ),
        (
            "two counts",
            End {
                zip64: true,
                count_64: Some(1),
                ..End::default()
            },
        ),
    ] {
        refused(name, &zip_with(&files, &end), "Damaged", "");
    }
    let mut other_disk = files.clone();
    other_disk[1].disk = 1;
    refused("entry on another disk", &zip(&other_disk), "Damaged", "");
    let mut list = good.clone();
    let at = list.len() - 6;
    list[at] ^= 1;
    refused("list elsewhere", &list, "Damaged", "where it should be");
}

#[test]
fn limits_hold_for_zip() {
    let limits = Limits {
        entries: 3,
        file: 100,
        total: 150,
        ..Limits::default()
    };
    let files = |count: usize, size: usize| {
        let file = |at| Zipped::file(format!("f{at}"), "x".repeat(size));
        zip(&(0..count).map(file).collect::<Vec<_>>())
    };
    refused_within(limits, "files", &files(4, 1), "TooMany", "more than 3");
    refused_within(limits, "size", &files(1, 101), "FileTooLarge", "\"f0\"");
    refused_within(limits, "total", &files(2, 80), "TotalTooLarge", "\"f1\"");
    // A claim alone is enough, and too small a claim is no way around.
    let claim = Zipped::file("f", "x").both(|head| head.size = 101);
    refused_within(limits, "claim", &zip(&[claim]), "FileTooLarge", "\"f\"");
    let mut small = Zipped::file("f", "x".repeat(50));
    small.data = deflate(&[b'x'; 5000]);
    let length = small.data.len() as u32;
    let small = small.both(|head| head.compressed = length);
    refused_within(
        limits,
        "small claim",
        &zip(&[small]),
        "Disagreement",
        "\"f\"",
    );
}

#[test]
fn a_refusal_is_an_error_of_the_run() {
    fn is_error<T: std::error::Error + Send + Sync + 'static>() {}
    is_error::<Refusal>();
}
