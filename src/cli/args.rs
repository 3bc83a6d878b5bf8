//! The command line, as clap sees it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use apkit::diagnostic::{Code, Threshold};
use apkit::edit::sync;
use apkit::spec::codes::package;
use apkit::spec::name::is_reverse_domain;
use apkit::spec::version::VERSIONS;

use super::{exit, store};

/// Judge, make, fetch and run Agent Plugins packages as a conforming client does.
#[derive(Debug, Parser)]
#[command(
    name = "apkit",
    version = version(),
    after_help = "Run `apkit help COMMAND` for examples and all options.",
    after_long_help = exit::HELP,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = false
)]
pub(crate) struct Cli {
    /// Whether to colour what people read
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: When,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to write terminal escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb; also if
    /// CLICOLOR_FORCE is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge packages as a conforming client would
    Validate(Validate),
    /// Show what a client gets from a package
    Inspect(Inspect),
    /// Begin a package in a directory
    Init(Init),
    /// Mend what has one right answer
    Fix(Fix),
    /// Keep other manifests in step with plugin.json
    Sync(Sync),
    /// Explain a diagnostic code, or list all of them
    Explain(Explain),
    /// Print a JSON Schema
    Schema(Schema),
    /// Write a package out of skills, packages and plugins of clients
    Export(Box<Export>),
    /// Put packages in place: from a directory, repository, npm package or archive
    Import(store::Import),
    /// List installed packages, or those that could be
    List(store::List),
    /// Bring packages to what their sources have now
    Update(store::Update),
    /// Compare installed packages with the lock file
    Verify(store::Verify),
    /// Remove a package
    Remove(store::Remove),
    /// List the skills of installed packages, or show one
    Skills(store::Skills),
    /// Work with the MCP servers of a package
    Mcp(super::mcp::Mcp),
    /// Look at the EverOS memory of Claude Code
    Everos(super::everos::Everos),
    /// Run a hook of the memory plugin, for a host
    ///
    /// Reads the event's payload on standard input, writes one JSON object or
    /// nothing, and always ends with exit status 0.
    Hook(Hook),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// session-start, user-prompt-submit, stop, session-end or pre-compact
    #[arg(value_name = "EVENT")]
    pub(crate) event: std::ffi::OsString,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  apkit validate                        the package in this directory
  apkit validate plugins/*              several packages
  apkit validate --recursive .          every package below this directory
  apkit validate --strict --format github     in a workflow, with annotations
  apkit validate --format sarif --output apkit.sarif
";

#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES, after_long_help = format!("{VALIDATE_EXAMPLES}\n{}", exit::HELP))]
pub(crate) struct Validate {
    /// Package directories, or the plugin.json in them; or sources to fetch, as
    /// `apkit import` takes them
    #[arg(value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Look for packages at any depth below each PATH
    ///
    /// A package is a directory that holds a `plugin.json`. What .gitignore names,
    /// `.git`, `node_modules`, `target` and the directories of client-native
    /// manifests are left out; links are not followed.
    #[arg(long, short)]
    pub(crate) recursive: bool,

    /// Leave out what this pattern matches, in the syntax of .gitignore
    /// (repeatable)
    #[arg(long, value_name = "GLOB", requires = "recursive")]
    pub(crate) exclude: Vec<String>,

    /// How to write the report
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// Write the report to this file instead of standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// The least finding that makes the exit status 1
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL")]
    pub(crate) fail_on: FailOn,

    /// The same as --fail-on warning
    #[arg(long, conflicts_with = "fail_on")]
    pub(crate) strict: bool,

    /// Also fail if a package loads without any skill or MCP server
    #[arg(long)]
    pub(crate) require_components: bool,

    #[command(flatten)]
    pub(crate) draft: Draft,

    /// In text, show only findings that make the run fail, and the summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Validate {
    /// From which finding on the run counts as failed.
    fn threshold(&self) -> Threshold {
        if self.strict {
            return Threshold::Warning;
        }
        match self.fail_on {
            FailOn::Rejected => Threshold::Rejected,
            FailOn::Skipped => Threshold::Skipped,
            FailOn::Warning => Threshold::Warning,
        }
    }

    /// Whether a finding with this code makes the run fail.
    pub(crate) fn fails_on(&self, code: &Code) -> bool {
        self.threshold().is_reached_by(code)
            || (self.require_components && *code == package::NO_COMPONENTS)
    }

    /// Whether something that a source has and its package lacks makes the run fail.
    pub(crate) fn fails_on_left_out(&self) -> bool {
        self.threshold() == Threshold::Warning
    }
}

/// Report formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// One document, see `apkit schema report`
    Json,
    /// Workflow commands: annotations in a pull request
    Github,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for test reports
    Junit,
    /// One JSON object per package and line, for conformance suites
    LoadReport,
}

/// Thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FailOn {
    /// Only a rejected package
    Rejected,
    /// Anything that does not load: every error
    #[default]
    Skipped,
    /// Warnings, too
    Warning,
}

/// Which drafts of the specification apply.
#[derive(Debug, Args)]
pub(crate) struct Draft {
    /// Also apply this draft of the specification
    #[arg(long = "spec-draft", value_name = "VERSION", value_parser = PossibleValuesParser::new(versions(true)))]
    version: Option<String>,
}

impl Draft {
    /// Whether drafts apply.
    pub(crate) fn applies(&self) -> bool {
        self.version.is_some()
    }
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  apkit inspect plugins/acme
  apkit inspect plugins/acme --format json | jq '.package.mcp.loaded'

The exit status is 1 if the package is rejected.
";

#[derive(Debug, Args)]
#[command(after_help = INSPECT_EXAMPLES)]
pub(crate) struct Inspect {
    /// Package directory, or the plugin.json in it; or a source to fetch, as
    /// `apkit import` takes it
    #[arg(value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,

    /// How to write it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: TextOrJson,

    #[command(flatten)]
    pub(crate) draft: Draft,
}

/// Formats of whatever is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum TextOrJson {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

const INIT_EXAMPLES: &str = "\
Examples:
  apkit init tide-table                 plugin.json and one skill
  apkit init --name tide-table --skill tides
  apkit init tide-table --server stdio  with a small MCP server to build on
  apkit init tide-table --server http --url https://tides.example.com/mcp

What is there is never touched. A package.json, or a manifest of a single client,
in the directory gives the new plugin.json its version, description and so on.
";

#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub(crate) struct Init {
    /// The directory; it need not be there, and need not be empty
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,

    /// Name of the plugin [default: that of a manifest that is there, or of the
    /// directory]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Name of the skill [default: that of the plugin, unless there are skills]
    #[arg(long, value_name = "NAME")]
    pub(crate) skill: Option<String>,

    /// Add an MCP server
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) server: Option<ServerKind>,

    /// Where the server of --server http is
    #[arg(
        long,
        value_name = "URL",
        required_if_eq("server", "http"),
        requires = "server",
        value_hint = ValueHint::Url
    )]
    pub(crate) url: Option<String>,
}

/// Kinds of MCP servers to begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServerKind {
    /// A program of the package, which the client starts
    Stdio,
    /// One that is reached over HTTP
    Http,
}

const FIX_EXAMPLES: &str = "\
Examples:
  apkit fix                             the package in this directory
  apkit fix --dry-run plugins/*         what would change, as a diff
  apkit fix --namespace com.example.client      unknown fields go there
  apkit fix --unsafe                    also what only you can know to be right

`apkit explain CODE` says what is done about a finding.
Exit status: 1 if an error is left; with --dry-run, if something would change.
";

#[derive(Debug, Args)]
#[command(after_help = FIX_EXAMPLES)]
pub(crate) struct Fix {
    /// Package directories, or the plugin.json in them
    #[arg(value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    /// Look for packages at any depth below each PATH
    #[arg(long, short)]
    pub(crate) recursive: bool,

    /// Write nothing; print a unified diff
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,

    /// Also make changes that may not be what you mean: names, guesses
    #[arg(long = "unsafe")]
    pub(crate) risky: bool,

    /// Move unknown fields of plugin.json into `extensions`, to this namespace
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    pub(crate) namespace: Option<String>,

    /// How to tell what was done
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: TextOrJson,

    #[command(flatten)]
    pub(crate) draft: Draft,
}

fn namespace(text: &str) -> Result<String, &'static str> {
    if is_reverse_domain(text) {
        Ok(text.to_owned())
    } else {
        Err("a namespace is a reverse-domain name, such as com.example.client")
    }
}

const SYNC_EXAMPLES: &str = "\
Examples:
  apkit sync                            write what plugin.json says into the others
  apkit sync --check                    only list what differs, for CI
  apkit sync --from package.json --field version        after `npm version`

A field is kept in step where both files have it. Exit status: 1 if --check finds
a difference, or one is left that only you can correct.
";

#[derive(Debug, Args)]
#[command(after_help = SYNC_EXAMPLES)]
pub(crate) struct Sync {
    /// Package directory, or the plugin.json in it
    #[arg(value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,

    /// Write nothing; list every difference
    #[arg(long)]
    pub(crate) check: bool,

    /// The file that is right: plugin.json, package.json or a client's manifest
    #[arg(long, value_name = "FILE", default_value = "plugin.json")]
    pub(crate) from: String,

    /// Only this field (repeatable)
    #[arg(long, value_name = "FIELD", value_parser = PossibleValuesParser::new(sync::FIELDS))]
    pub(crate) field: Vec<String>,

    /// How to tell what differs
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: TextOrJson,
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  apkit explain                         all codes
  apkit explain skill::name-mismatch
  apkit explain env-reserved            the family may be left out
";

#[derive(Debug, Args)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(crate) struct Explain {
    /// A code such as `skill::name-mismatch`, or its second half
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,

    /// How to write it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: TextOrJson,
}

const SCHEMA_EXAMPLES: &str = "\
Examples:
  apkit schema plugin > plugin.schema.json
  apkit schema mcp --spec 1.1.0
  apkit schema report                   of `apkit validate --format json`
  apkit schema update                   of `apkit update --json`
  apkit schema policy                   of apkit.toml, for editors
";

#[derive(Debug, Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
pub(crate) struct Schema {
    /// Which document the schema describes
    #[arg(value_enum, value_name = "DOCUMENT")]
    pub(crate) document: Document,

    /// Version of the specification, for plugin and mcp [default: the published one]
    #[arg(long, value_name = "VERSION", value_parser = PossibleValuesParser::new(all_versions()))]
    pub(crate) spec: Option<String>,
}

/// Documents with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// plugin.json
    Plugin,
    /// mcp.json
    Mcp,
    /// The report of `apkit validate --format json`
    Report,
    /// The report of `apkit export --format json`
    Export,
    /// What `apkit mcp plan --json` prints
    McpPlan,
    /// What `apkit mcp tools --json` prints
    McpTools,
    /// What `apkit mcp call --json` prints
    McpCall,
    /// What `apkit mcp check --json` prints
    McpCheck,
    /// What `apkit inspect --format json` prints
    Inspect,
    /// What `apkit import --json` prints
    Import,
    /// What `apkit list --json` prints, also with --available
    List,
    /// What `apkit update --json` prints, also with --check
    Update,
    /// What `apkit verify --json` prints
    Verify,
    /// What `apkit remove --json` prints
    Remove,
    /// What `apkit skills --json` and `apkit skills show --json` print
    Skills,
    /// apkit.lock
    #[value(alias = "apkit.lock")]
    Lock,
    /// apkit.toml
    #[value(alias = "apkit.toml")]
    Policy,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  apkit export ./skills --name tide-table --out tide-table
  apkit export ./claude-plugin --out package --dry-run
  apkit export git+https://git.example/o/market --plugin tides --out tides
  apkit export ./package --target all --marketplace --out market
  apkit export ./package --out tide-table.tgz --npm
  apkit export --server tides --url https://tides.example.com/mcp --out tides
  apkit export builtin:everos --out memory --marketplace
      and then: claude plugin marketplace add ./memory
                claude plugin install everos@everos

A directory that an export wrote, and nobody changed since, is replaced. Never
replaced, not with --force either: a SOURCE, what holds one or lies in one, the
working directory, the home directory, and what holds a git repository.

Exit status:
  0  written; at most details were lost
  1  written, but a whole skill or server is missing; or --deny-losses and
     something would be lost, and nothing was written
  2  nothing was written
";

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct Export {
    /// A package, a plugin of Claude Code, Codex or GitHub Copilot, directories
    /// of skills, or builtin:everos
    #[arg(value_name = "SOURCE", value_hint = ValueHint::AnyPath, required_unless_present = "server")]
    pub(crate) sources: Vec<OsString>,

    /// What to write: a directory, or an archive NAME.tgz or NAME.zip
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,

    /// Whom the result is for; it is a package in any case, but for `skills`
    #[arg(long, value_enum, default_value_t, value_name = "TARGET")]
    pub(crate) target: ExportTarget,

    /// Export this plugin of the marketplace that SOURCE is
    #[arg(long, value_name = "NAME", conflicts_with = "server")]
    pub(crate) plugin: Option<String>,

    /// Read SOURCE as a plugin of this client, if it has several manifests
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub(crate) from: Option<ExportClient>,

    #[command(flatten)]
    pub(crate) identity: ExportIdentity,

    #[command(flatten)]
    pub(crate) server: ExportServer,

    /// Give skills whose names break the rule the names that would do
    #[arg(long)]
    pub(crate) rename: bool,

    /// The namespace in `extensions` of what apkit itself notes
    #[arg(long, value_name = "NAMESPACE", default_value = "works.ever")]
    pub(crate) namespace: String,

    /// Write a marketplace that holds the package
    #[arg(long, conflicts_with = "npm")]
    pub(crate) marketplace: bool,

    /// Make it a package of npm: with a package.json, archives below package/
    #[arg(long)]
    pub(crate) npm: bool,

    /// Write what only warnings speak against
    #[arg(long)]
    pub(crate) allow_warnings: bool,

    /// Write nothing if anything would be lost
    #[arg(long)]
    pub(crate) deny_losses: bool,

    /// Show what would be written and lost, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// How to write the report; `apkit schema export` describes the JSON
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: TextOrJson,

    /// Replace whatever PATH is: what no export wrote is deleted; --dry-run lists it
    #[arg(long)]
    pub(crate) force: bool,

    /// For builtin:everos: the program to put into the package, instead of this one
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) bin: Option<PathBuf>,
}

/// What plugin.json says; wins over the source.
#[derive(Debug, Args)]
#[command(next_help_heading = "Metadata")]
pub(crate) struct ExportIdentity {
    /// Name of the package
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Version of the package
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,

    /// What it is, in a sentence
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Who made it: `Name <email> (url)`
    #[arg(long, value_name = "PERSON")]
    pub(crate) author: Option<String>,

    /// Its website
    #[arg(long, value_name = "URL")]
    pub(crate) homepage: Option<String>,

    /// Where its sources are
    #[arg(long, value_name = "URL")]
    pub(crate) repository: Option<String>,

    /// Its licence, an SPDX expression
    #[arg(long, value_name = "LICENSE")]
    pub(crate) license: Option<String>,

    /// A keyword; may be repeated
    #[arg(long = "keyword", value_name = "WORD")]
    pub(crate) keywords: Vec<String>,
}

/// A server to describe.
#[derive(Debug, Args)]
#[command(next_help_heading = "A server to describe")]
pub(crate) struct ExportServer {
    /// Describe an MCP server of this name, alone or beside what SOURCE has
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// Its address
    #[arg(long, value_name = "URL", requires = "server")]
    pub(crate) url: Option<String>,

    /// Its transport
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "TRANSPORT",
        requires = "url"
    )]
    pub(crate) transport: ExportTransport,

    /// A fixed header, NAME=VALUE, never a credential; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    pub(crate) headers: Vec<(String, String)>,

    /// The program that is the server: a name, or ./PATH in SOURCE
    #[arg(
        long,
        value_name = "COMMAND",
        requires = "server",
        conflicts_with = "url"
    )]
    pub(crate) command: Option<String>,

    /// An argument of it; may be repeated
    #[arg(
        long = "arg",
        value_name = "ARG",
        requires = "command",
        allow_hyphen_values = true
    )]
    pub(crate) args: Vec<String>,

    /// A variable for it, NAME=VALUE, never a credential; may be repeated
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = pair, requires = "command")]
    pub(crate) env: Vec<(String, String)>,

    /// Where it starts: ./DIR, or below ${PLUGIN_ROOT} or ${PLUGIN_DATA}
    #[arg(long, value_name = "DIR", requires = "command")]
    pub(crate) cwd: Option<String>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it is not NAME=VALUE".to_owned()),
    }
}

/// Whom an export is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportTarget {
    /// Whoever reads Agent Plugins
    #[default]
    AgentPlugins,
    /// Claude Code, too
    ClaudeCode,
    /// Codex, too
    Codex,
    /// GitHub Copilot, too
    Copilot,
    /// All three
    All,
    /// The skills alone, as a directory of them
    Skills,
}

/// Clients with a format of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportClient {
    /// .claude-plugin/plugin.json
    ClaudeCode,
    /// .codex-plugin/plugin.json
    Codex,
    /// .github/plugin/plugin.json
    Copilot,
}

/// Transports over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ExportTransport {
    /// MCP Streamable HTTP
    #[default]
    StreamableHttp,
    /// The deprecated one
    Sse,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  apkit completions bash > ~/.local/share/bash-completion/completions/apkit\n"
)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  apkit man | man -l -\n  apkit man validate > apkit-validate.1\n"
)]
pub(crate) struct Man {
    /// A command with a page of its own
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

/// The versions in the table, drafts or published ones.
fn versions(draft: bool) -> Vec<&'static str> {
    let wanted = VERSIONS.iter().filter(|version| version.draft == draft);
    wanted.map(|version| version.id).collect()
}

fn all_versions() -> Vec<&'static str> {
    VERSIONS.iter().map(|version| version.id).collect()
}

/// What `--version` prints behind the name.
fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut text = format!(
            "{} (Agent Plugins {}",
            env!("CARGO_PKG_VERSION"),
            versions(false).join(", ")
        );
        for draft in versions(true) {
            text.push_str(&format!("; draft {draft} with --spec-draft"));
        }
        text.push(')');
        text
    });
    &TEXT
}
