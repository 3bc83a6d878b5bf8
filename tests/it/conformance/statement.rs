//! `CONFORMANCE.md`: for each thing that is asked of a client the tests that show
//! it. `rows.toml` beside this file names them; nothing else is written by hand.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::case;

/// What stands above the rows.
const INTRODUCTION: &str = "\
# Conformance

apkit is a client of Agent Plugins 1.0.0 for both component types, skills and MCP
servers, and for all transports: stdio, Streamable HTTP and the deprecated HTTP+SSE.
This page lists what is asked of such a client and where it is shown.

The page is generated from `tests/it/conformance/rows.toml`, and a test fails if it
differs or if something it names is gone. After a change of the rows:

```sh
APKIT_BLESS=1 cargo test --test it conformance::statement
```

- *cases* are directories of [conformance-fixtures/](conformance-fixtures/README.md),
  `*` standing for the rest of a name. Each holds a package and the report that
  `apkit validate` must give about it.
- *tests* are in `tests/it/`, or in `src/` where the name begins with `apkit::`.
  `cargo test NAME` runs one, NAME being what follows `apkit::`.
- *peers* are scripts of `tests/peers/`, which drive software of others: real
  servers, the official SDKs, real clients. `.ci/run` runs them.

A row that is not met, or that asks nothing of apkit, says so and why.
";

/// The rows, part by part. The text of each is ours; the section leads to theirs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    client: Vec<Row>,
    checklist: Vec<Row>,
    requirement: Vec<Row>,
    suite: Vec<Row>,
}

/// Something that is asked of a client, and where it is shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    says: String,
    section: String,
    #[serde(default)]
    cases: Vec<String>,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    peers: Vec<String>,
    /// Why it is not met.
    no: Option<String>,
    /// Why it asks nothing of apkit.
    idle: Option<String>,
}

/// A part of the page.
struct Part<'r> {
    title: &'static str,
    text: &'static str,
    rows: &'r [Row],
    /// The ids it must have, in this order; `None` if the list is another's to change.
    ids: Option<Vec<String>>,
}

impl Rows {
    fn read() -> Self {
        let path = top().join("tests/it/conformance/rows.toml");
        let text = fs::read_to_string(path).expect("rows.toml");
        toml::from_str(&text).expect("rows of the known form")
    }

    fn parts(&self) -> [Part<'_>; 4] {
        let numbered = |prefix: &str, last: usize| -> Vec<String> {
            (1..=last).map(|n| format!("{prefix}{n}")).collect()
        };
        let mut client = numbered("11.1.", 8);
        client.push("11.2".to_owned());
        client.extend(numbered("11.3.", 4));
        [
            Part {
                title: "Client conformance",
                text: "Section 11 of the [specification](https://github.com/agentplugins/agent-plugins-spec/blob/main/spec/1.0.0.md).",
                rows: &self.client,
                ids: Some(client),
            },
            Part {
                title: "Checklist",
                text: "Appendix A of the specification, numbered in its order.",
                rows: &self.checklist,
                ids: Some(numbered("A.", 25)),
            },
            Part {
                title: "Requirements",
                text: "The numbers that `case.toml` and `apkit explain` use.",
                rows: &self.requirement,
                ids: Some(numbered("AP-", 23)),
            },
            Part {
                title: "Public conformance suite",
                text: "The cases of [agent-plugins-conformance](https://github.com/agentplugins/agent-plugins-conformance), by their names there. That suite lets a model report what it sees of a client; here the same is shown by tests of our own.",
                rows: &self.suite,
                ids: None,
            },
        ]
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What there is that a row can name.
struct Evidence {
    cases: BTreeSet<String>,
    /// Requirements that cases name themselves.
    named: BTreeSet<String>,
    /// The peers' shell scripts, which are all run.
    scripts: Vec<(String, String)>,
}

impl Evidence {
    fn collect() -> Self {
        let cases = case::all();
        let named = cases.iter().flat_map(|case| case.requirement.clone());
        let scripts = fs::read_dir(top().join("tests/peers"))
            .expect("the peers")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|kind| kind == "sh"))
            .map(|path| {
                let name = path.file_name().unwrap_or_default();
                let text = fs::read_to_string(&path).expect("a script");
                (name.to_string_lossy().into_owned(), text)
            })
            .collect();
        Self {
            named: named.collect(),
            cases: cases.into_iter().map(|case| case.id).collect(),
            scripts,
        }
    }

    fn has_case(&self, pattern: &str) -> bool {
        match pattern.strip_suffix('*') {
            Some(prefix) => self.cases.iter().any(|id| id.starts_with(prefix)),
            None => self.cases.contains(pattern),
        }
    }

    /// `script` or `script: check`, where the script holds that text.
    fn has_peer(&self, name: &str) -> Result<(), String> {
        let (file, check) = name
            .split_once(": ")
            .map_or((name, None), |(file, check)| (file, Some(check)));
        let run = |(script, text): &(String, String)| script == file || text.contains(file);
        if !self.scripts.iter().any(run) {
            return Err(format!("no script of tests/peers runs {file}"));
        }
        let text = fs::read_to_string(top().join("tests/peers").join(file))
            .map_err(|error| format!("tests/peers/{file}: {error}"))?;
        match check {
            Some(check) if !text.contains(&format!("\"{check}\"")) => {
                Err(format!("tests/peers/{file} has no check {check:?}"))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with a row.
    fn problems(&self, row: &Row) -> Vec<String> {
        let mut problems = Vec::new();
        for pattern in &row.cases {
            if !self.has_case(pattern) {
                problems.push(format!("there is no case {pattern}"));
            }
        }
        problems.extend(row.tests.iter().filter_map(|name| has_test(name).err()));
        problems.extend(
            row.peers
                .iter()
                .filter_map(|name| self.has_peer(name).err()),
        );
        if row.no.is_some() && row.idle.is_some() {
            problems.push("it cannot be both not met and not asked for".to_owned());
        }
        let shown = !row.cases.is_empty() || !row.tests.is_empty() || self.named.contains(&row.id);
        if !shown && row.no.is_none() && row.idle.is_none() {
            // Peers alone do not do: `cargo test` has to notice when it breaks.
            problems.push("no case and no test shows it".to_owned());
        }
        problems
    }
}

/// Whether there is a test of this name that is compiled and not ignored.
fn has_test(name: &str) -> Result<(), String> {
    let (root, first, path) = match name.strip_prefix("apkit::") {
        Some(path) => ("src", "lib.rs", path),
        None => ("tests/it", "main.rs", name),
    };
    let mut parts: Vec<&str> = path.split("::").collect();
    let function = parts.pop().unwrap_or_default();
    let mut directory = top().join(root);
    let mut file = directory.join(first);
    for part in parts {
        let text = fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
        let declares = |line: &str| {
            let line = line.trim_start();
            let line = line.strip_prefix("pub ").unwrap_or(line);
            let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
            line.strip_prefix("mod ")
                .and_then(|rest| rest.strip_prefix(part))
                .and_then(|rest| rest.trim_start().chars().next())
        };
        match text.lines().find_map(declares) {
            // Its text is in this file.
            Some('{') => break,
            Some(';') => {
                let (flat, deep) = (format!("{part}.rs"), PathBuf::from(part).join("mod.rs"));
                file = directory.join(flat);
                if !file.is_file() {
                    file = directory.join(deep);
                }
                directory.push(part);
            }
            _ => return Err(format!("{name}: {} has no module {part}", file.display())),
        }
    }
    let text = fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let starts = |line: &&str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(function))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let at = lines
        .iter()
        .position(starts)
        .ok_or_else(|| format!("{name}: {} has no such function", file.display()))?;
    let above = lines.get(..at).unwrap_or_default().iter().rev();
    let attributes: Vec<&&str> = above
        .take_while(|line| line.starts_with('#') || line.starts_with("//"))
        .collect();
    let is = |what: &str| attributes.iter().any(|line| line.starts_with(what));
    if !(is("#[test]") || is("#[tokio::test")) || is("#[ignore") {
        return Err(format!("{name} is no test that is run"));
    }
    Ok(())
}

fn list(page: &mut String, kind: &str, names: &[String]) {
    if !names.is_empty() {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "  - {kind}: {}", names.join(", "));
    }
}

fn page(parts: &[Part<'_>], evidence: &Evidence) -> String {
    let mut page = INTRODUCTION.to_owned();
    for part in parts {
        let _ = write!(page, "\n## {}\n\n{}\n\n", part.title, part.text);
        for row in part.rows {
            let (id, says, section) = (&row.id, &row.says, &row.section);
            let _ = writeln!(page, "- **{id}** {says} ({section})");
            if let Some(reason) = &row.no {
                let _ = writeln!(page, "  - **not met**: {reason}");
            }
            if let Some(reason) = &row.idle {
                let _ = writeln!(page, "  - nothing is asked of apkit: {reason}");
            }
            if evidence.named.contains(id) {
                let _ = writeln!(page, "  - cases: all that name {id}");
            }
            list(&mut page, "cases", &row.cases);
            list(&mut page, "tests", &row.tests);
            list(&mut page, "peers", &row.peers);
        }
    }
    page
}

#[test]
fn every_row_is_shown_by_something_that_is_there() {
    let rows = Rows::read();
    let evidence = Evidence::collect();
    let mut problems = Vec::new();
    for part in rows.parts() {
        let ids: Vec<String> = part.rows.iter().map(|row| row.id.clone()).collect();
        if let Some(wanted) = part.ids {
            assert_eq!(ids, wanted, "the rows of {:?}", part.title);
        }
        let different: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "an id stands twice: {ids:?}");
        for row in part.rows {
            let found = evidence.problems(row);
            problems.extend(found.iter().map(|what| format!("{}: {what}", row.id)));
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn the_page_is_what_the_rows_give() {
    let rows = Rows::read();
    let wanted = page(&rows.parts(), &Evidence::collect());
    let path = top().join("CONFORMANCE.md");
    if std::env::var_os("APKIT_BLESS").is_some() {
        fs::write(&path, &wanted).expect("CONFORMANCE.md");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found.replace("\r\n", "\n") == wanted,
        "CONFORMANCE.md is not what rows.toml gives; \
         APKIT_BLESS=1 cargo test --test it conformance::statement writes it"
    );
}

#[test]
fn evidence_that_is_gone_is_noticed() {
    assert_eq!(
        has_test("conformance::every_case_gives_the_report_it_states"),
        Ok(())
    );
    assert_eq!(
        has_test("conformance::statement::evidence_that_is_gone_is_noticed"),
        Ok(())
    );
    for gone in [
        "conformance::statement::has_test",
        "conformance::statement::no_such_test",
        "conformance::no_such_module::a_test",
        "source_npm::real_packages_are_fetched_as_npm_has_them",
        "apkit::no_such_module::tests::a_test",
    ] {
        assert!(has_test(gone).is_err(), "{gone} was found");
    }
    let evidence = Evidence::collect();
    assert!(evidence.has_case("manifest/minimal") && evidence.has_case("mcp/url-*"));
    assert!(!evidence.has_case("manifest/minima") && !evidence.has_case("mcp/no-such-*"));
    assert_eq!(evidence.has_peer("npm.sh"), Ok(()));
    for gone in [
        "no-such.sh",
        "no_such.py: a check",
        "everos_peer.py: no such check",
    ] {
        assert!(evidence.has_peer(gone).is_err(), "{gone} was found");
    }
}
