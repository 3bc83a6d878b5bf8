use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::mcp::plan::{Endpoint, Off, Process};

const SECRET: &str = "s3cret-Value-0123456789";

fn remote(name: &str, url: &str) -> ServerPlan {
    ServerPlan {
        name: name.to_owned(),
        launch: Ok(Launch::StreamableHttp(
            Endpoint::new(url, Vec::new()).expect("a URL"),
        )),
    }
}

fn local(name: &str) -> ServerPlan {
    ServerPlan {
        name: name.to_owned(),
        launch: Ok(Launch::Stdio(Process {
            program: PathBuf::from("/bin/x"),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: PathBuf::from("/"),
            create_cwd: false,
            content: None,
        })),
    }
}

fn environment() -> BTreeMap<OsString, OsString> {
    BTreeMap::from([("KEY".into(), SECRET.into()), ("EMPTY".into(), "".into())])
}

/// A private file with this text.
fn file(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
    }
    path
}

fn given(texts: &[&str]) -> Keys {
    let mut keys = Keys::default();
    for text in texts {
        keys.give(text.parse().expect(text));
    }
    keys
}

/// What is given without any helper.
fn get(
    keys: &Keys,
    package: &str,
    server: &ServerPlan,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<Credentials, CredentialError> {
    let helpers = Helpers {
        guard: PathBuf::new(),
        limit: std::time::Duration::from_secs(60),
        listener: std::sync::Arc::new(|_| {}),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let given = Credentials::for_server(keys, package, server, environment, &helpers);
    runtime.expect("a runtime").block_on(given)
}

fn headers(keys: &Keys, url: &str) -> Result<Vec<(String, String)>, String> {
    let server = remote("tides", url);
    get(keys, "tide-table", &server, &environment())
        .map(|credentials| credentials.headers)
        .map_err(|error| error.to_string())
}

const URL: &str = "https://tides.example.com/mcp";

#[test]
fn the_command_line_names_a_server_a_name_and_a_source() {
    let keys = given(&[
        "tides:Authorization=Bearer env:KEY",
        "almanac:API_KEY=env:KEY",
    ]);
    let bearer = format!("Bearer {SECRET}");
    assert_eq!(
        headers(&keys, URL),
        Ok(vec![("Authorization".to_owned(), bearer)])
    );
    let almanac = local("almanac");
    let got = get(&keys, "tide-table", &almanac, &environment());
    let env = got.expect("credentials").env;
    assert_eq!(env, [("API_KEY".to_owned(), SECRET.to_owned())]);
    // By the package, where several have such a server; a colon in the name.
    let keys = given(&[
        "tide-table/tides:A=env:KEY",
        "other/tides:B=env:KEY",
        "a:b:C=env:KEY",
    ]);
    assert_eq!(headers(&keys, URL).expect("headers").len(), 1);
    assert_eq!(keys.slots("x", &local("a:b")).len(), 1);
    // By the SOURCE, where several packages have one name, or it has none.
    for package in ["tide-table", ""] {
        let names = |source| Names {
            package,
            source,
            ..Names::default()
        };
        let keys = given(&["git:x/y/tides:A=env:KEY"]);
        assert_eq!(keys.slots(names("git:x/y"), &remote("tides", URL)).len(), 1);
        assert!(
            keys.slots(names("./copy"), &remote("tides", URL))
                .is_empty()
        );
        let keys = given(&["/tides:A=env:KEY"]);
        assert!(keys.slots(names(""), &remote("tides", URL)).is_empty());
    }
    // The SOURCE wins over the name of another package.
    let names = Names {
        package: "almanac",
        source: "./copy",
        is_taken: true,
    };
    let keys = given(&["almanac/tides:A=env:KEY"]);
    assert!(keys.slots(names, &remote("tides", URL)).is_empty());
    // With `=` in it, or in the place of the value.
    for (text, server) in [
        ("./x=1/tides:A=env:KEY", "./x=1/tides"),
        ("npm:x@>=1/tides:A=Bearer env:KEY", "npm:x@>=1/tides"),
        ("a.tgz?path=env:x/tides:A=env:KEY", "a.tgz?path=env:x/tides"),
        ("tides:A=file:/x=env:y", "tides"),
        ("tides:A=file:/b:C=env:KEY", "tides"),
    ] {
        let keys = given(&[text]);
        assert_eq!(keys.servers_given().collect::<Vec<_>>(), [server]);
        assert!(Given::can_name(server), "{server}");
    }
    assert!(!Given::can_name("a:b=file:c/tides"));
    // The later one wins, as header names go.
    let keys = given(&["tides:X-Key=env:NOT_SET", "tides:x-key=env:KEY"]);
    assert_eq!(
        headers(&keys, URL),
        Ok(vec![("x-key".to_owned(), SECRET.to_owned())])
    );
    for (text, wanted) in [
        ("", NotGiven::Form),
        ("tides=env:KEY", NotGiven::Form),
        (":A=env:KEY", NotGiven::Form),
        ("tides:=env:KEY", NotGiven::Form),
        ("tides:A", NotGiven::Form),
        ("tides:A=s3cret", NotGiven::Source),
        ("tides:A=Bearer s3cret", NotGiven::Source),
        ("tides:A=env:", NotGiven::Source),
        ("tides:A=value:x", NotGiven::Source),
        ("./x=1/tides:A=s3cret", NotGiven::Source),
        ("./x=1/tides", NotGiven::Form),
        ("tides:A=env:KEY=1", NotGiven::Source),
    ] {
        let refused = text.parse::<Given>().expect_err(text);
        assert_eq!(refused, wanted, "{text}");
        assert!(!refused.to_string().contains("s3cret"));
    }
}

#[test]
fn what_cannot_be_had_or_sent_is_named_and_not_shown() {
    for (text, wanted) in [
        (
            "tides:A=env:NOT_SET",
            "the credential A of tides: the variable NOT_SET is not set",
        ),
        (
            "tides:A=env:EMPTY",
            "the credential A of tides: the variable EMPTY is empty",
        ),
        (
            "tides:A=file:/nowhere/x",
            "the credential A of tides: /nowhere/x: ",
        ),
    ] {
        let error = headers(&given(&[text]), URL).expect_err(text);
        assert!(error.starts_with(wanted), "{error}");
        let keys = given(&[text]);
        let server = remote("tides", URL);
        assert!(
            keys.slots("p", &server)[0]
                .problem(&environment())
                .is_some()
        );
    }
    for (text, server) in [
        ("s:Host=env:KEY", remote("s", URL)),
        ("s:Mcp-Session-Id=env:KEY", remote("s", URL)),
        ("s:a b=env:KEY", remote("s", URL)),
        ("s:PLUGIN_ROOT=env:KEY", local("s")),
        ("s:plugin_data=env:KEY", local("s")),
    ] {
        let keys = given(&[text]);
        let error = get(&keys, "p", &server, &environment());
        let error = error.expect_err(text).to_string();
        assert!(!error.contains(SECRET), "{error}");
    }
    let injected = BTreeMap::from([("KEY".into(), format!("{SECRET}\r\nX: y").into())]);
    let keys = given(&["s:A=env:KEY"]);
    let error = get(&keys, "p", &remote("s", URL), &injected);
    let error = error.expect_err("two lines").to_string();
    assert!(
        error.contains("control character") && !error.contains(SECRET),
        "{error}"
    );
}

#[test]
fn a_file_binds_headers_to_an_origin() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = format!(
        r#"
[[server]]
plugin = "tide-table"
server = "tides"
origin = "https://tides.example.com:443/"
headers.Authorization = {{ prefix = "Bearer ", env = "KEY" }}
headers.X-Key = {{ value = "{SECRET}" }}
env.FOR_A_PROGRAM = {{ env = "KEY" }}

[[server]]
plugin = "tide-table"
server = "almanac"
env.API_KEY = {{ value = "{SECRET}" }}
"#
    );
    let keys = Keys::read(&file(directory.path(), "c.toml", &text)).expect("keys");
    let got = headers(&keys, URL).expect("headers");
    assert_eq!(got.len(), 2);
    assert_eq!(got[1], ("X-Key".to_owned(), SECRET.to_owned()));
    // An update that leads elsewhere gets nothing: host, port, scheme.
    for elsewhere in [
        "https://evil.example.com/mcp",
        "https://tides.example.com:8443/mcp",
        "http://tides.example.com/mcp",
    ] {
        let error = headers(&keys, elsewhere).expect_err(elsewhere);
        assert!(
            error.contains("it is for https://tides.example.com,"),
            "{error}"
        );
    }
    // Another package with a server of this name, and another server.
    let server = remote("tides", URL);
    assert!(keys.slots("other", &server).is_empty());
    assert!(keys.slots("tide-table", &remote("other", URL)).is_empty());
    // A program gets no header, and a server that is off nothing.
    let names = |server: &ServerPlan| {
        let slots = keys.slots("tide-table", server);
        slots
            .iter()
            .map(|slot| slot.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&local("tides")), ["FOR_A_PROGRAM"]);
    let off = ServerPlan {
        name: "tides".to_owned(),
        launch: Err(Off::Policy(String::new())),
    };
    assert!(names(&off).is_empty());
    // The command line wins.
    let mut keys = keys;
    keys.give("tides:authorization=env:KEY".parse().expect("given"));
    let got = headers(&keys, URL).expect("headers");
    assert_eq!(got[0], ("authorization".to_owned(), SECRET.to_owned()));
    // Nothing shows a value.
    let almanac = get(&keys, "tide-table", &local("almanac"), &environment());
    let almanac = almanac.expect("credentials");
    assert_eq!(almanac.env[0].1, SECRET);
    for shown in [
        format!("{keys:?}"),
        format!("{almanac:?}"),
        format!("{:?}", keys.slots("tide-table", &server)),
    ] {
        assert!(!shown.contains(SECRET), "{shown}");
    }
    assert!(format!("{almanac:?}").contains("API_KEY"));
}

#[test]
fn mistakes_in_the_file_are_named_by_line_and_not_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    let entry = "[[server]]\nplugin = \"p\"\nserver = \"s\"\n";
    for (more, wanted) in [
        ("colour = 1\n", ":4: unknown field `colour`"),
        (
            "headers.A = { env = \"KEY\" }\n",
            ":1: there are headers and no origin",
        ),
        (
            "origin = \"tides.example.com\"\n",
            ":4: origin is not scheme, host and port",
        ),
        (
            "origin = \"https://tides.example.com/mcp\"\n",
            ":4: origin is not scheme",
        ),
        (
            "env.A = \"s3cret\"\n",
            ":4: expected a table that says where",
        ),
        ("env.A = { command = \"s3cret\" }\n", ":4: expected a list"),
        ("env.A = { value = 12345 }\n", ":4: expected a string"),
        (
            "env.A = {}\n",
            ":4: A needs one of env, file, command and value",
        ),
        (
            "env.A = { env = \"X\", value = \"s3cret\" }\n",
            ":4: A needs one of env, file, command and value, and that alone",
        ),
        ("env.A = { command = [] }\n", ":4: A needs one of"),
        (
            "env.PLUGIN_ROOT = { env = \"X\" }\n",
            ":4: PLUGIN_ROOT: it is set by apkit",
        ),
        ("env.A = { value = \"s3cret }\n", ":4: "),
        (
            "env.A = { env = \"X\" }\n\n[[server]]\nplugin = \"p\"\nserver = \"s\"\nenv.A = { value = \"s3cret\" }\n",
            ":9: env.A of this server stands in line 4 already",
        ),
        (
            "env.A = { value = \"s3cret\" }\nenv.B = { env = \"X\" }\nenv . A = { value = \"s3cret\" }\n",
            ":6: duplicate key; it stands in line 4 already",
        ),
        (
            "[server.env]\nB = { env = \"X\" }\nA = { env = \"X\" }\nB = { value = \"s3cret\" }\n",
            ":7: duplicate key; it stands in line 5 already",
        ),
        (
            "\n\nenv = { A = { env = \"X\" }, A = { value = \"s3cret\" } }\n",
            ":6: duplicate key",
        ),
        (
            "origin = \"https://example.com\"\nheaders.X-Key = { env = \"X\" }\nheaders.x-key = { value = \"s3cret\" }\n",
            ":6: headers.x-key of this server stands in line 5 already",
        ),
        (
            "origin = \"https://example.com\"\nheaders.x-key = { env = \"X\" }\nheaders.X-Key = { value = \"s3cret\" }\n",
            ":6: headers.X-Key of this server stands in line 5 already",
        ),
    ] {
        let path = file(directory.path(), "c.toml", &format!("{entry}{more}"));
        let error = Keys::read(&path).expect_err(more).to_string();
        let place = format!("{}{wanted}", path.display());
        assert!(error.starts_with(&place), "{more}: {error}");
        assert!(
            !error.contains("s3cret") && !error.contains("12345"),
            "{error}"
        );
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn one_name_may_be_for_several_origins_servers_and_kinds() {
    let directory = tempfile::tempdir().expect("a directory");
    let entry = |server: &str, origin: &str| {
        format!(
            "[[server]]\nplugin = \"p\"\nserver = \"{server}\"\norigin = \"{origin}\"\n\
             headers.A = {{ env = \"KEY\" }}\n"
        )
    };
    let text = [
        entry("tides", "https://tides.example.com"),
        "env.A = { env = \"KEY\" }\n".to_owned(),
        entry("tides", "https://other.example.com"),
        entry("moon", "https://tides.example.com"),
    ];
    let keys = Keys::read(&file(directory.path(), "c.toml", &text.concat())).expect("keys");
    let server = remote("tides", URL);
    assert_eq!(keys.slots("p", &server).len(), 1);
    // What is of the wrong kind is named once.
    assert_eq!(keys.unfitting("p", &server), [(Kind::Env, "A")]);
    assert_eq!(keys.unfitting("p", &local("tides")), [(Kind::Header, "A")]);
    assert!(keys.unfitting("p", &remote("moon", URL)).is_empty());
    assert!(keys.unfitting("q", &server).is_empty());
    // The kind of one of the command line is for the transport to say.
    assert!(
        given(&["tides:A=env:KEY"])
            .unfitting("p", &local("tides"))
            .is_empty()
    );
}

#[cfg(unix)]
#[test]
fn files_that_others_may_read_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().expect("a directory");
    let path = file(directory.path(), "c.toml", "");
    assert!(Keys::read(&path).is_ok());
    let key = file(directory.path(), "key", &format!("{SECRET}\n"));
    let keys = given(&[&format!("tides:A=file:{}", key.display())]);
    assert_eq!(
        headers(&keys, URL),
        Ok(vec![("A".to_owned(), SECRET.to_owned())])
    );
    for mode in [0o640, 0o604, 0o620, 0o644] {
        for path in [&path, &key] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        let error = Keys::read(&path).expect_err("others").to_string();
        assert!(error.contains("chmod 600"), "{error}");
        let error = headers(&keys, URL).expect_err("others");
        assert!(error.contains("chmod 600"), "{error}");
    }
    let error = Keys::read(directory.path()).expect_err("a directory");
    assert!(error.to_string().contains("no regular file"), "{error}");
}

#[test]
#[cfg(unix)]
fn another_users_file_is_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = file(directory.path(), "key", SECRET);
    assert!(value::open_private(&path).is_ok());
    // Only the superuser may give files away, and could read them all the same.
    if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() {
        let problem = value::open_private(&path).expect_err("another user's");
        assert!(problem.ends_with("belongs to another user, who may read it"));
    }
}

#[test]
fn a_relative_file_lies_beside_the_one_that_names_it() {
    let place = tempfile::tempdir().expect("a directory");
    file(place.path(), "key", SECRET);
    let text = "[[server]]\nplugin = \"p\"\nserver = \"s\"\nenv.A = { file = \"key\" }\n";
    let keys = Keys::read(&file(place.path(), "c.toml", text)).expect("credentials");
    let got = get(&keys, "p", &local("s"), &environment()).expect("a credential");
    assert_eq!(got.env, [("A".to_owned(), SECRET.to_owned())]);
}
