//! What archives of honest programs look like, and the one tree they all give.

use std::fs;
use std::io::Cursor;

use apkit::archive::{Format, Limits, Links, Refusal, Stage, root_of, unpack};

use super::compose::{End, Entry, Tar, Zipped, extra, gzip, pax, zip, zip_with};
use super::{check_mode, shown, take_in};
use crate::support::Place;

fn taken(bytes: &[u8]) -> Vec<String> {
    let place = Place::new();
    match take_in(&place, bytes, Limits::default()) {
        Ok(staged) => {
            assert_eq!(staged.left_out, []);
            shown(&staged)
        }
        Err(refusal) => panic!("{refusal}"),
    }
}

#[test]
fn an_npm_package_is_its_files_below_package() {
    let bytes = Tar::default()
        .file("package/package.json", "{}")
        .file("package/plugin.json", "{}")
        .file("package/skills/a/SKILL.md", "text")
        .tgz();
    let files = [
        "package.json={}",
        "plugin.json={}",
        "skills/a/SKILL.md=text",
    ];
    assert_eq!(taken(&bytes), files);
}

#[test]
fn modes_are_two() {
    let modes = [
        ("private", 0o600, ""),
        ("read-only", 0o444, ""),
        ("none", 0o000, ""),
        ("others-may", 0o645, ""),
        ("run", 0o755, "*"),
        ("run-private", 0o700, "*"),
        ("setuid", 0o6755, "*"),
        ("sticky", 0o1777, "*"),
    ];
    let mut tar = Tar::default();
    let mut zipped = Vec::new();
    for (name, mode, _) in modes {
        tar = tar.add(&Entry {
            mode,
            ..Entry::file(name, b"x")
        });
        zipped.push(Zipped::file(name, "x").mode(0o100_000 | mode));
    }
    let mut wanted: Vec<String> = modes
        .iter()
        .map(|(name, _, mark)| format!("{name}{mark}=x"))
        .collect();
    wanted.sort();
    assert_eq!(taken(&tar.tgz()), wanted);
    assert_eq!(taken(&zip(&zipped)), wanted);
    // Made on a system without modes.
    assert_eq!(taken(&zip(&[Zipped::file("a", "x").mode(0)])), ["a=x"]);
}

#[test]
fn long_names_come_in_every_form() {
    let path = format!("{}/{}.md", "d".repeat(140), "f".repeat(150));
    let wanted = [format!("{path}=x")];
    let by_pax = Tar::default().pax(&[("path", path.as_bytes()), ("mtime", b"1.5")]);
    assert_eq!(
        taken(&by_pax.file("short", "x").tgz())[0],
        wanted[0].split_once('/').unwrap().1
    );
    let by_gnu = Tar::default()
        .file("top", "x")
        .extension(b'L', format!("{path}\0"))
        .file("short", "x");
    assert_eq!(taken(&by_gnu.tgz())[0], wanted[0]);
    // Both, and they agree; a size that agrees as well.
    let both = Tar::default()
        .file("top", "x")
        .pax(&[("path", path.as_bytes()), ("size", b"1")])
        .extension(b'L', format!("{path}\0"))
        .file("short", "x");
    assert_eq!(taken(&both.tgz())[0], wanted[0]);
    let target = "t/".repeat(90) + "f";
    for kind in ["pax", "gnu"] {
        let tar = Tar::default().file("top", "x");
        let tar = match kind {
            "pax" => tar.pax(&[("linkpath", target.as_bytes())]),
            _ => tar.extension(b'K', format!("{target}\0")),
        };
        let wanted = [format!("l->{target}"), "top=x".to_owned()];
        assert_eq!(taken(&tar.link("l", "short").tgz()), wanted);
    }
    // The name in two fields of the header.
    let mut split = Tar::default().file("name", "x").0;
    split[345..350].copy_from_slice(b"p/q/r");
    let sum: u32 = split[..148]
        .iter()
        .chain(&split[156..512])
        .map(|&b| u32::from(b))
        .sum();
    split[148..156].copy_from_slice(format!("{:06o}\0 ", sum + 8 * 32).as_bytes());
    split.extend([0; 1024]);
    assert_eq!(taken(&gzip(&split)), ["q/r/name=x"]);
}

#[test]
fn what_git_and_other_programs_write_is_taken() {
    // The commit as a comment on all, directories, a name with `./`.
    let bytes = Tar::default()
        .extension(b'g', pax(&[("comment", b"0123456789abcdef")]))
        .kind("./", b'5')
        .kind("./repo-main/", b'5')
        .kind("repo-main/empty/", b'5')
        .file("./repo-main/a", "x")
        .kind("repo-main/", b'5')
        .tgz();
    assert_eq!(taken(&bytes), ["a=x"]);
    // Old archives.
    let old = Entry {
        kind: 0,
        ..Entry::file("d/a", b"x")
    };
    let directory = Entry::file("d/", b"");
    let bytes = Tar::default().add(&directory).add(&old).file("b", "").tgz();
    assert_eq!(taken(&bytes), ["b=", "d/a=x"]);
    // No end, one block of it, or twenty.
    let bare = Tar::default().file("a", "x").0;
    for blocks in [0, 1, 20] {
        let bytes = gzip(&[bare.as_slice(), &vec![0; 512 * blocks]].concat());
        assert_eq!(taken(&bytes), ["a=x"], "{blocks}");
    }
    // Several members of gzip, cut anywhere.
    let tar = Tar::default()
        .file("a", "x".repeat(600))
        .file("b", "y")
        .end();
    for cut in [1, 512, 700, tar.len() - 1] {
        let (one, other) = tar.split_at(cut);
        let bytes = [gzip(one), gzip(b""), gzip(other)].concat();
        assert_eq!(taken(&bytes).len(), 2, "{cut}");
    }
}

#[test]
fn zip_archives_come_in_many_forms() {
    let file = || Zipped::file("r/a", "content");
    let wanted = ["a=content"];
    for (mark, large) in [(true, false), (false, false), (true, true), (false, true)] {
        let entries = [
            file().described(mark, large),
            Zipped::stored("r/b", "").described(mark, large),
        ];
        assert_eq!(taken(&zip(&entries)), ["a=content", "b="], "{mark} {large}");
    }
    assert_eq!(taken(&zip(&[Zipped::stored("r/a", "content")])), wanted);
    let directory = Zipped::stored("r/", "").mode(0o040_755);
    assert_eq!(taken(&zip(&[directory, file()])), wanted);
    let large = End {
        zip64: true,
        ..End::default()
    };
    assert_eq!(taken(&zip_with(&[file()], &large)), wanted);
    let sizes = file().both(|head| {
        let mut numbers = u64::from(head.size).to_le_bytes().to_vec();
        numbers.extend(u64::from(head.compressed).to_le_bytes());
        head.extra = [extra(0x5455, &[0; 5]), extra(1, &numbers)].concat();
        (head.size, head.compressed) = (u32::MAX, u32::MAX);
    });
    assert_eq!(taken(&zip(&[sizes])), wanted);
    let comment = End {
        comment: b"a comment that says nothing".to_vec(),
        ..End::default()
    };
    assert_eq!(taken(&zip_with(&[file()], &comment)), wanted);
    // UTF-8 with its flag, without, and told twice.
    let named = Zipped::file("r/ü", "x");
    assert_eq!(taken(&zip(std::slice::from_ref(&named))), ["ü=x"]);
    assert_eq!(
        taken(&zip(&[named.clone().both(|head| head.flags = 0)])),
        ["ü=x"]
    );
    let told = named.both(|head| head.extra = extra(0x7075, "\u{1}\0\0\0\0r/ü".as_bytes()));
    assert_eq!(taken(&zip(&[told])), ["ü=x"]);
    // What macOS adds is beside the package.
    let mac = [file(), Zipped::file("__MACOSX/r/._a", "x")];
    assert_eq!(taken(&zip(&mac)), wanted);
    // The mark of the end inside of a file.
    let inner = [Zipped::stored("r/a", b"PK\x05\x06".repeat(10))];
    assert_eq!(taken(&zip(&inner)).len(), 1);
}

#[test]
fn links_of_the_package_itself_are_kept() {
    let links = [
        ("r/l", "d/f"),
        ("r/d/up", "../a"),
        ("r/d/dir", "../d/"),
        ("r/none", "nothing"),
    ];
    let mut tar = Tar::default().file("r/a", "x").file("r/d/f", "y");
    let mut zipped = vec![Zipped::file("r/a", "x"), Zipped::file("r/d/f", "y")];
    for (path, target) in links {
        tar = tar.link(path, target);
        zipped.push(Zipped::link(path, target));
    }
    let wanted = [
        "a=x",
        "d/dir->../d/",
        "d/f=y",
        "d/up->../a",
        "l->d/f",
        "none->nothing",
    ];
    assert_eq!(taken(&tar.tgz()), wanted);
    assert_eq!(taken(&zip(&zipped)), wanted);
}

#[test]
fn links_out_may_be_left_out_and_named() {
    let place = Place::new();
    let directory = place.path().join("stage");
    let mut stage = Stage::new(&directory, Limits::default(), Links::LeaveOut).unwrap();
    stage.file(b"p/a", false, &mut &b"x"[..]).unwrap();
    stage.file(b"beside", false, &mut &b"x"[..]).unwrap();
    for (path, target) in [
        ("p/good", "a"),
        ("p/beside", "../beside"),
        ("p/by-link", "beside"),
        ("p/etc", "/etc/passwd"),
        ("p/self", "self"),
        ("p/odd", "a\\b"),
        ("q/etc", "/etc/passwd"),
    ] {
        stage.link(path.as_bytes(), target.as_bytes()).unwrap();
    }
    stage.link(b"p/raw", b"\xff").unwrap();
    stage.leave_out(b"p/module", apkit::archive::LeftOutReason::Submodule);
    stage.leave_out(b"module", apkit::archive::LeftOutReason::Submodule);
    let staged = stage.finish("p").unwrap();
    assert_eq!(shown(&staged), ["a=x", "good->a"]);
    let left_out: Vec<String> = staged.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        [
            "\"beside\": a link to \"../beside\", which leads out of the package",
            "\"by-link\": a link to \"beside\", which leads out of the package",
            "\"etc\": a link to \"/etc/passwd\", which is absolute",
            "\"module\": a submodule; its content is not fetched",
            "\"odd\": a link to \"a\\\\b\", which is no path that all systems read alike",
            "\"raw\": a link to \"\u{fffd}\", which is no path that all systems read alike",
            "\"self\": a link to \"self\", which leads back to it",
        ]
    );
    assert_eq!(fs::read_dir(directory.join("p")).unwrap().count(), 2);
}

#[test]
fn the_package_starts_where_it_is_asked_for() {
    let many = Tar::default().file("a/x", "1").file("b/c/x", "2").tgz();
    let one = Tar::default().file("a/x", "1").file("a/c/x", "2").tgz();
    let file = Tar::default().file("plugin.json", "1").tgz();
    for (bytes, sub_path, wanted) in [
        (&many, None, Ok("")),
        (&many, Some("b/c"), Ok("b/c")),
        (&many, Some("./b/"), Ok("b")),
        (&one, None, Ok("a")),
        (&one, Some("c"), Ok("a/c")),
        (&one, Some("a/c"), Ok("a/c")),
        (&one, Some("x"), Err("no directory \"x\"; at its top are c")),
        (&many, Some("b/d"), Err("\"b/d\"; in \"b\" are c")),
        (&one, Some("C"), Err("it holds no directory \"C\"")),
        (&file, None, Ok("")),
        (&file, Some("../a"), Err("`..`")),
        (&file, Some(""), Err("is empty")),
    ] {
        let place = Place::new();
        let directory = place.path().join("stage");
        let mut stage = Stage::new(&directory, Limits::default(), Links::Refuse).unwrap();
        unpack(&mut Cursor::new(bytes), &mut stage).unwrap();
        match (root_of(&stage, sub_path), wanted) {
            (Ok(root), Ok(wanted)) => {
                assert_eq!(root, wanted);
                let staged = stage.finish(&root).unwrap();
                assert_eq!(staged.directory, directory.join(wanted));
                check_mode(&staged.directory, 0o755);
            }
            (Err(refusal), Err(wanted)) => {
                assert!(refusal.to_string().contains(wanted), "{refusal}");
            }
            (found, wanted) => panic!("{found:?} is not {wanted:?}"),
        }
    }
}

#[test]
fn a_stage_begins_in_an_empty_directory() {
    let place = Place::new();
    place.write("full/file", "x");
    place.write("file", "x");
    fs::create_dir(place.path().join("empty")).unwrap();
    let new = |name: &str| {
        Stage::new(&place.path().join(name), Limits::default(), Links::Refuse).map(|_| ())
    };
    assert!(new("full").is_err());
    assert!(new("file").is_err());
    assert!(new("no/parent").is_err());
    assert!(new("empty").is_ok());
    assert!(new("new").is_ok());
    let stage = Stage::new(&place.path().join("x"), Limits::default(), Links::Refuse).unwrap();
    assert!(matches!(
        stage.finish("no"),
        Err(Refusal::NoDirectory { .. })
    ));
}

#[test]
fn the_format_is_told_by_content() {
    assert_eq!(Format::of(&gzip(b"")), Some(Format::TarGz));
    assert_eq!(Format::of(&zip(&[])), Some(Format::Zip));
    assert_eq!(
        Format::of(&zip(&[Zipped::file("a", "x")])),
        Some(Format::Zip)
    );
    assert_eq!(Format::of(b"PK"), None);
    assert_eq!(Format::of(b""), None);
}

/// The part of [`the_mask_has_no_say`] that runs under another mask.
#[cfg(unix)]
#[test]
#[ignore = "run by the_mask_has_no_say under another mask"]
fn take_in_under_the_mask() {
    let directory = std::env::var_os("APKIT_TEST_DIRECTORY").expect("the directory of the test");
    let directory = std::path::PathBuf::from(directory);
    let mut stage = Stage::new(&directory.join("stage"), Limits::default(), Links::Refuse).unwrap();
    let mut file = fs::File::open(directory.join("archive.tgz")).unwrap();
    unpack(&mut file, &mut stage).unwrap();
    stage.finish("r").unwrap();
}

#[cfg(unix)]
#[test]
fn the_mask_has_no_say() {
    for mask in ["000", "022", "077", "377"] {
        let place = Place::new();
        let run = Entry {
            mode: 0o755,
            ..Entry::file("r/d/run", b"y")
        };
        place.write(
            "archive.tgz",
            Tar::default().file("r/a", "x").add(&run).tgz(),
        );
        let test = std::env::current_exe().unwrap();
        let run = std::process::Command::new("sh")
            .arg("-c")
            .arg(format!("umask {mask}; exec \"$0\" --exact archive::accepted::take_in_under_the_mask --ignored"))
            .arg(test)
            .env("APKIT_TEST_DIRECTORY", place.path())
            .output()
            .unwrap();
        assert!(run.status.success(), "{mask}: {run:?}");
        let root = place.path().join("stage/r");
        for (path, mode) in [("", 0o755), ("a", 0o644), ("d", 0o755), ("d/run", 0o755)] {
            check_mode(&root.join(path), mode);
        }
    }
}
