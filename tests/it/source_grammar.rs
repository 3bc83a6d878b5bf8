//! The spellings of a source, through the library.

use std::path::{Path, PathBuf};

use apkit::source::{Environment, Kind, Source};
use proptest::prelude::*;

fn environment() -> Environment {
    Environment {
        directory: PathBuf::from("/place/here"),
        home: Some(PathBuf::from("/home/ada")),
        ..Environment::default()
    }
}

fn parse(text: &str) -> Source {
    Source::parse(text, &environment()).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    match Source::parse(text, &environment()) {
        Ok(source) => panic!("{text} is {source}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_spelling_has_its_normal_form() {
    for (text, wanted) in [
        ("./dir", "dir:/place/here/dir"),
        ("./dir/", "dir:/place/here/dir"),
        (".", "dir:/place/here"),
        ("../x", "dir:/place/x"),
        ("/abs/./x/../y", "dir:/abs/y"),
        ("~/x", "dir:/home/ada/x"),
        ("dir:x", "dir:/place/here/x"),
        ("DIR:x.tgz", "dir:/place/here/x.tgz"),
        ("dir:a b#c%41", "dir:/place/here/a b#c%41"),
        ("./a.tgz", "file:/place/here/a.tgz"),
        ("a.tar.gz", "file:/place/here/a.tar.gz"),
        ("A.ZIP?path=sub/", "file:/place/here/A.ZIP?path=sub"),
        ("file:x.zip", "file:/place/here/x.zip"),
        ("./b.zip#d/x.tgz", "file:/place/here/b.zip#d/x.tgz"),
        ("b.zip#d/x.tgz", "file:/place/here/b.zip#d/x.tgz"),
        (
            "file:/b.zip#d/x.tgz?path=a%23b",
            "file:/b.zip#d/x.tgz?path=a%23b",
        ),
        ("file:///b.zip%23d/x.tgz", "file:/b.zip#d/x.tgz"),
        ("file:///x/a%20b.zip", "file:/x/a b.zip"),
        (
            "git+https://Host.example/o/r.git",
            "git+https://host.example/o/r.git",
        ),
        (
            "git+https://host.example/o/r#v1",
            "git+https://host.example/o/r#v1",
        ),
        (
            "git+https://host.example/o/r#v1:plugins/p",
            "git+https://host.example/o/r?path=plugins/p#v1",
        ),
        (
            "git+https://host.example/o/r:plugins/p#v1",
            "git+https://host.example/o/r?path=plugins/p#v1",
        ),
        (
            "git+https://host.example/o/r?path=plugins/p#v1",
            "git+https://host.example/o/r?path=plugins/p#v1",
        ),
        (
            "git+https://host.example/o/r#v1?path=plugins/p",
            "git+https://host.example/o/r?path=plugins/p#v1",
        ),
        (
            "git+https://host.example/o/r#:p",
            "git+https://host.example/o/r?path=p",
        ),
        (
            "git+https://host.example/o/r?path=a%23b",
            "git+https://host.example/o/r?path=a%23b",
        ),
        (
            "git+https://host.example:8443/o/r:p",
            "git+https://host.example:8443/o/r?path=p",
        ),
        (
            "git+https://[::1]:8443/o/r:p",
            "git+https://[::1]:8443/o/r?path=p",
        ),
        (
            "git+https://host.example/o/r%3Ax",
            "git+https://host.example/o/r%3Ax",
        ),
        (
            "git+ssh://git@host.example/o/r#feature/x",
            "git+ssh://git@host.example/o/r#feature/x",
        ),
        ("git+file:///srv/r.git:p", "git+file:///srv/r.git?path=p"),
        ("git@host.example:o/r.git", "git@host.example:o/r.git"),
        (
            "git@host.example:o/r#v1:p",
            "git@host.example:o/r?path=p#v1",
        ),
        ("git@host.example:o/r:p", "git@host.example:o/r?path=p"),
        ("git+git@host.example:o/r", "git@host.example:o/r"),
        ("github:o/r", "git+https://github.com/o/r"),
        (
            "github:o/r#v1.2.0:plugins/p",
            "git+https://github.com/o/r?path=plugins/p#v1.2.0",
        ),
        ("GitHub:o/r:p", "git+https://github.com/o/r?path=p"),
        ("git+host.example:o/r", "git+host.example:o/r"),
        ("git+host.example:o/r:p", "git+host.example:o/r?path=p"),
        ("git+a+b@host.example:o/r", "git+a+b@host.example:o/r"),
        // Without `git+` where it can be nothing else.
        (
            "https://host.example/o/r.git",
            "git+https://host.example/o/r.git",
        ),
        (
            "https://host.example/o/r.git/#v1:p",
            "git+https://host.example/o/r.git?path=p#v1",
        ),
        (
            "https://host.example:8443/o/r.git:p",
            "git+https://host.example:8443/o/r.git?path=p",
        ),
        (
            "http://127.0.0.1:8000/o/r.git?path=p",
            "git+http://127.0.0.1:8000/o/r.git?path=p",
        ),
        ("file:///srv/r.git:p", "git+file:///srv/r.git?path=p"),
        (
            "git://127.0.0.1/r#v1.2.0:plugins/p",
            "git+git://127.0.0.1/r?path=plugins/p#v1.2.0",
        ),
        (
            "ssh://git@host.example/o/r",
            "git+ssh://git@host.example/o/r",
        ),
        ("npm:left", "npm:left"),
        ("npm:@acme/left", "npm:@acme/left"),
        ("npm:@acme/left@^1.2", "npm:@acme/left@^1.2"),
        ("npm:left@>=1 <3 || 5", "npm:left@>=1 <3 || 5"),
        ("npm:left@next?path=plugin", "npm:left@next?path=plugin"),
        ("https://host.example/a.tgz", "https://host.example/a.tgz"),
        (
            "https://host.example/a.tgz?path=p",
            "https://host.example/a.tgz?path=p",
        ),
        (
            "https://host.example/a.tgz?x=1&path=p%20q&y",
            "https://host.example/a.tgz?x=1&y&path=p%20q",
        ),
        ("http://127.0.0.1:8000/a.zip", "http://127.0.0.1:8000/a.zip"),
        ("builtin:everos", "builtin:everos"),
        ("git+myalias:r", "git+myalias:r"),
        ("git+first+last@host:r", "git+first+last@host:r"),
        (
            "git+host.example:o/r:p#v1",
            "git+host.example:o/r?path=p#v1",
        ),
    ] {
        let source = parse(text);
        assert_eq!(source.to_string(), wanted, "{text}");
        assert_eq!(parse(wanted), source, "{text}");
    }
}

#[test]
fn one_package_has_one_key_however_it_is_spelt() {
    let key = parse("github:o/r:p").key();
    for same in [
        "git+https://github.com/o/r.git?path=p#main",
        "git+https://GITHUB.com/o/r/:p",
        "git@github.com:o/r.git#v2:p",
        "git+ssh://git@github.com/o/r:p",
        "git+ssh://git@github.com:22/o/r.git:p",
    ] {
        assert_eq!(parse(same).key(), key, "{same}");
    }
    for other in [
        "github:o/r",
        "github:o/r:q",
        "github:o/s:p",
        "git@host.example:o/r:p",
    ] {
        assert_ne!(parse(other).key(), key, "{other}");
    }
    assert_eq!(parse("npm:a@1").key(), parse("npm:a@next").key());
    assert_ne!(parse("npm:a").key(), parse("npm:a?path=b").key());
}

#[test]
fn what_is_no_source_says_what_it_was_taken_for_and_what_would_do() {
    for (text, wanted) in [
        ("", "it is empty; write ./DIR,"),
        (
            "tides",
            "write ./tides for the directory or npm:tides for the npm package",
        ),
        (
            "acme/tides",
            "write ./acme/tides for the directory or github:acme/tides for the repository",
        ),
        ("@acme/tides", "write npm:@acme/tides"),
        (
            "https://host.example/o/r",
            "write git+https://host.example/o/r",
        ),
        ("https://github.com/o/r", "write github:o/r"),
        (
            "https://github.com/o/r/tree/main/plugins/p",
            "write github:o/r#main:plugins/p",
        ),
        (
            "http://host.example/a.tgz",
            "write https://host.example/a.tgz",
        ),
        (
            "http://host.example/o/r.git",
            "write git+https://host.example/o/r.git",
        ),
        (
            "git://host.example/o/r",
            "write git+https://host.example/o/r",
        ),
        ("git+http://host.example/o/r", "http://"),
        (
            "svn+https://host.example/o/r",
            "no sources of the kind `svn+https://`",
        ),
        ("pypi:tides", "no sources of the kind `pypi:`"),
        ("github:o", "write github:OWNER/REPO"),
        ("github:o/r/plugins/p", "write github:o/r:plugins/p"),
        ("npm:", "no name"),
        ("npm:a@", "write npm:a or npm:a@VERSION"),
        ("npm:a?x=1", "write npm:a?path=SUBDIR"),
        ("builtin:other", "write builtin:everos"),
        ("file:x", "write dir:x or git+file:///place/here/x"),
        (
            "file:./x.git",
            "write dir:./x.git or git+file:///place/here/x.git",
        ),
        (
            "file:///srv/r:plugins/p",
            "write dir:/srv/r/plugins/p or git+file:///srv/r:plugins/p",
        ),
        (
            "git+file:x.git",
            "`file:` is not followed by `//`; write git+file:///place/here/x.git",
        ),
        ("git+./x.git", "write git+file:///place/here/x.git"),
        ("git+/x.git", "write git+file:///x.git"),
        (
            "git+https:host.example/o/r",
            "write git+https://host.example/o/r",
        ),
        ("git+https://host.example/o/r:p#v1:q", "given twice"),
        (
            "git+https://host.example/o/r?path=../x",
            "the path holds `..`",
        ),
        (
            "git+https://host.example/o/r?path=/x",
            "the path is absolute",
        ),
        ("git+https://host.example/o/r#a..b", "no name of a branch"),
        (
            "git+https://host.example/o/r#--upload-pack=x",
            "it begins with `-`",
        ),
        (
            "https://host.example/a.tgz#v1",
            "write https://host.example/a.tgz",
        ),
        ("./a\u{1b}b", "control character"),
    ] {
        let told = refusal(text);
        assert!(told.contains(wanted), "{text}: {told}");
    }
}

#[test]
fn what_another_tool_would_take_is_told_in_the_spelling_that_is_read_here() {
    for (text, understood, spellings) in [
        (
            "github:acme/tools@v1",
            "behind `#`, not behind `@`",
            &["github:acme/tools#v1"][..],
        ),
        (
            "github:acme/tools@feature/x:sub",
            "behind `#`",
            &["github:acme/tools#feature/x:sub"],
        ),
        (
            "./repo.tar.gz#main",
            "an archive has no `#` reference",
            &["./repo.tar.gz", "dir:./repo.tar.gz#main for the directory"],
        ),
        (
            "/x/repo.zip#main?path=sub",
            "an archive has no `#` reference",
            &["/x/repo.zip?path=sub"],
        ),
        ("repo.tgz#main", "no `#` reference", &["repo.tgz"]),
        (
            "/b.zip#d/x.tgz#v1?path=sub",
            "no `#` reference",
            &["/b.zip#d/x.tgz?path=sub"],
        ),
        (
            "file:/x.tgz?path=p#v1",
            "no `#` reference",
            &["file:/x.tgz?path=p"],
        ),
        (
            "file:///b.zip#d/x.tgz",
            "no `#` reference",
            &["file:///b.zip"],
        ),
        ("file:repo.tgz#main", "no `#` reference", &["file:repo.tgz"]),
        (
            "https://host.example/a.tgz?path=p#v1",
            "no `#` reference",
            &["https://host.example/a.tgz?path=p"],
        ),
        (
            "https://host.example/a.tgz?x=y#v1",
            "no `#` reference",
            &["https://host.example/a.tgz?x=y"],
        ),
        (
            "https://host.example/a.tgz?x=y#v1?path=p",
            "no `#` reference",
            &["https://host.example/a.tgz?x=y&path=p"],
        ),
        (
            "https://host.example/a.zip#v1?path=p",
            "no `#` reference",
            &["https://host.example/a.zip?path=p"],
        ),
        (
            "file:///x/a.tgz#v1",
            "no `#` reference",
            &["file:///x/a.tgz"],
        ),
        (
            "npm:pkg#1.2.3",
            "behind `@`, not behind `#`",
            &["npm:pkg@1.2.3"],
        ),
        (
            "npm:@acme/pkg#next?path=sub",
            "behind `@`",
            &["npm:@acme/pkg@next?path=sub"],
        ),
        (
            "https://github.com/acme/tools/tree/main/sub",
            "the page of a directory",
            &["github:acme/tools#main:sub"],
        ),
        (
            "https://www.github.com/acme/tools/tree/main",
            "the page of a directory",
            &["github:acme/tools#main"],
        ),
        (
            "https://github.com/acme/tools/blob/main/sub/plugin.json",
            "the page of a file",
            &["github:acme/tools#main:sub"],
        ),
        (
            "https://github.com/acme/tools/blob/main/README.md",
            "the page of a file",
            &["github:acme/tools#main"],
        ),
        (
            "https://github.com/acme/tools?tab=readme",
            "the page of a repository",
            &["github:acme/tools"],
        ),
        (
            "git@github.com/acme/tools",
            "no `:` parts the host",
            &["git@github.com:acme/tools"],
        ),
    ] {
        let error = Source::parse(text, &environment()).expect_err(text);
        assert!(error.understood.contains(understood), "{error}");
        assert_eq!(error.spellings, spellings, "{error}");
        for spelling in spellings {
            let (spelling, _) = spelling.split_once(" for ").unwrap_or((spelling, ""));
            parse(spelling);
        }
        assert!(Source::is_spelt(text), "{text}");
    }
}

#[test]
fn a_password_is_told_to_nobody() {
    for text in [
        "git+https://user:hunter2@host.example/o/r",
        "https://user:hunter2@host.example/a.tgz",
        "https://user:hunter2@host.example/o/r",
        "svn://user:hunter2@host.example/o/r",
        // Where hosting services take a token in the place of the user.
        "git+https://ghp_hunter2hunter2hunter2hunter2hunter20@host.example/o/r",
        "git+https://hunter2:x-oauth-basic@host.example/o/r",
        // What signs an address.
        "https://host.example/a.tgz?token=hunter2",
        "https://host.example/a.tgz?path=p&X-Amz-Signature=hunter2",
        "https://host.example/a.zip?sig=hunter2&x=1",
        "https://host.example/a.zip?x=ghp_hunter2hunter2hunter2hunter2hunter20",
    ] {
        let told = refusal(text);
        assert!(!told.contains("hunter2"), "{told}");
        assert!(!Source::shown(text).contains("hunter2"));
    }
}

#[test]
fn a_token_is_refused_with_the_way_out() {
    let hex = "0123456789abcdef".repeat(2);
    let told = refusal(&format!("git+https://{hex}@host.example/o/r"));
    assert!(!told.contains(&hex), "{told}");
    assert!(told.contains("git help credentials"), "{told}");
    let told = refusal("https://host.example/a.tgz?token=hunter2");
    assert!(told.contains("`token` looks like a credential"), "{told}");
    assert!(told.contains("write ./FILE.tgz"), "{told}");
    for text in [
        "git+https://ada@host.example/o/r",
        "https://host.example/a.tgz?version=1&token=",
    ] {
        parse(text);
    }
}

#[test]
fn a_signed_address_may_be_fetched_once_and_is_not_shown() {
    let environment = environment();
    let text = "https://host.example/a.tgz?token=hunter2&path=p";
    let source = Source::parse_for_once(text, &environment).expect("a source");
    assert!(!source.is_recordable());
    assert_eq!(source.to_string(), "https://host.example/a.tgz?…");
    assert_eq!(source.sub_path().map(|path| path.as_str()), Some("p"));
    // Everything else is what it always is.
    for text in ["https://host.example/a.tgz?version=1", "./a", "npm:a"] {
        let source = Source::parse_for_once(text, &environment).expect("a source");
        assert_eq!(source, parse(text));
        assert!(source.is_recordable());
    }
    for text in [
        "http://host.example/a.tgz?token=hunter2",
        "https://user:hunter2@host.example/a.tgz?token=hunter2",
        // A `#` means nothing to an archive, signed or not.
        "https://host.example/a.tgz?token=hunter2#v1",
        "git+https://0123456789abcdef0123456789abcdef@host.example/o/r",
    ] {
        let refused = Source::parse_for_once(text, &environment);
        let told = refused.expect_err("no source").to_string();
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn rules_are_told_one_spelling() {
    for (text, scope, name) in [
        ("git+https://h.example/evil/r", Some("evil"), "r"),
        ("git+https://h.example/evil//r.git", Some("evil"), "r"),
        ("git+https://h.example/evil/r/.git", Some("evil"), "r"),
        ("git+https://h.example/%65vil/%72", Some("evil"), "r"),
        ("git+ssh://h.example/~/evil/r", Some("evil"), "r"),
        ("git@h.example:r", None, "r"),
        ("https://h.example/%65vil.tgz", None, "evil.tgz"),
    ] {
        let source = parse(text);
        assert_eq!(source.scope().as_deref(), scope, "{text}");
        assert_eq!(source.name().as_deref(), Some(name), "{text}");
    }
}

#[test]
fn a_drive_of_windows_is_no_scheme() {
    for text in ["C:\\packages\\tides", "c:/packages/tides"] {
        assert_eq!(parse(text).kind(), Kind::Directory, "{text}");
    }
    assert_eq!(parse("C:/tides.zip").kind(), Kind::Archive);
}

#[test]
fn what_moves_together_is_written_from_there() {
    let base = Path::new("/place/here");
    for (text, wanted) in [
        ("./x", "dir:./x"),
        (".", "dir:."),
        ("./a.tgz?path=p", "file:./a.tgz?path=p"),
        ("/else/x", "dir:/else/x"),
        ("npm:a", "npm:a"),
    ] {
        let source = parse(text);
        assert_eq!(source.written_from(base), wanted);
        assert_eq!(parse(wanted), source);
    }
}

/// Texts that look like sources more often than not.
fn texts() -> impl Strategy<Value = String> {
    let head = prop::sample::select(vec![
        "git+https://h.example/",
        "git+ssh://git@h.example/",
        "git+file:///",
        "git@h.example:",
        "git+h.example:",
        "git://127.0.0.1/",
        "https://h.example/r.git",
        "file:///r.git",
        "github:o/r",
        "npm:",
        "npm:@s/",
        "./",
        "../",
        "/",
        "dir:",
        "file:",
        "https://h.example/",
        "builtin:everos",
        "C:/",
        "",
    ]);
    let pieces = prop::collection::vec(
        prop::sample::select(vec![
            "a", "b.tgz", ".zip", "/", "#", ":", "?path=", "%20", "%3A", "%23", "%", "&", " ", "@",
            "^1", "..", ".", "~", "+", "é", "x/y",
        ]),
        0..8,
    );
    (head, pieces).prop_map(|(head, pieces)| format!("{head}{}", pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_normal_form_is_read_as_the_same_source(text in texts()) {
        if let Ok(source) = Source::parse(&text, &environment()) {
            let normal = source.to_string();
            let again = Source::parse(&normal, &environment());
            prop_assert_eq!(again.as_ref().map_err(ToString::to_string), Ok(&source), "{}", normal);
            let written = source.written_from(Path::new("/place/here"));
            let again = Source::parse(&written, &environment());
            prop_assert_eq!(again.as_ref().map_err(ToString::to_string), Ok(&source), "{}", written);
        }
    }

    #[test]
    fn no_text_is_a_panic(text in "\\PC{0,24}") {
        let _ = Source::parse(&text, &environment());
        let _ = Source::is_spelt(&text);
    }
}
