//! The arguments of the commands around the store.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::super::args::{Draft, TextOrJson};

/// Which store.
#[derive(Debug, Default, Args)]
pub(crate) struct Place {
    /// The store [default: $APKIT_HOME, else ~/.agents]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) root: Option<PathBuf>,

    /// The store of the project in this directory: ./.agents
    #[arg(long, conflicts_with = "root")]
    pub(crate) project: bool,
}

impl Place {
    /// This one, unless it names none.
    pub(super) fn or<'p>(&'p self, other: &'p Self) -> &'p Self {
        match self.root.is_none() && !self.project {
            true => other,
            false => self,
        }
    }
}

/// How to write what was done.
#[derive(Debug, Args)]
pub(crate) struct Shape {
    /// How to write it
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: TextOrJson,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Shape {
    pub(super) fn is_json(&self) -> bool {
        self.json || self.format == TextOrJson::Json
    }
}

const IMPORT_EXAMPLES: &str = "\
A SOURCE is one of
  ./DIR, /DIR, dir:PATH                        a directory
  FILE.tgz, .tar.gz or .zip, file:PATH,
  https://HOST/FILE.tgz                        an archive; ?path=SUBDIR names the package in it
  github:OWNER/REPO, git@HOST:PATH,
  git+https://HOST/PATH, git+ssh://, git+file://
                                               a repository, with #REF and :SUBDIR
  npm:NAME, npm:NAME@RANGE                     a package of an npm registry
  builtin:everos                               the memory plugin

Examples:
  apkit import ./tide-table
  apkit import github:OWNER/REPO#v1.2.0:plugins/tide-table
  apkit import npm:@acme/tide-table@^1
  apkit import git@host.example:acme/tools.git --project
  apkit import --frozen --project       what ./.agents/apkit.lock says, and nothing else

Exit status: 0 all are in place, 1 a package was rejected or a rule denies it,
2 something else failed, 130 interrupted.
";

#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct Import {
    /// Where the packages come from: a directory, repository, npm package or archive;
    /// with --frozen also the name of a package
    #[arg(value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(super) sources: Vec<String>,

    #[command(flatten)]
    pub(super) place: Place,

    /// Install exactly what the lock file says; without SOURCE, all of it
    #[arg(long, conflicts_with_all = ["replace", "skills_to"])]
    pub(super) frozen: bool,

    /// Fetch and judge, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Refuse packages with any finding at or above warning
    #[arg(long)]
    pub(super) strict: bool,

    /// Replace a package of the same name that comes from another source
    #[arg(long)]
    pub(super) replace: bool,

    /// Also copy the skills to DIR, for clients that read plain skill folders
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) skills_to: Vec<PathBuf>,

    /// Copy the scripts of skills, too: programs that a client may run; for what
    /// --skills-to copies now or has copied before; with --frozen, where the lock
    /// file has them
    #[arg(long)]
    pub(super) allow_scripts: bool,

    #[command(flatten)]
    pub(super) draft: Draft,

    #[command(flatten)]
    pub(super) shape: Shape,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  apkit list
  apkit list --available --from ./packages
")]
pub(crate) struct List {
    #[command(flatten)]
    pub(super) place: Place,

    /// List the packages in the directories that apkit.toml names, instead of
    /// what is installed
    #[arg(long)]
    pub(super) available: bool,

    /// Look into this directory, too (repeatable)
    #[arg(long, value_name = "DIR", requires = "available", value_hint = ValueHint::DirPath)]
    pub(super) from: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) draft: Draft,

    #[command(flatten)]
    pub(super) shape: Shape,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  apkit update                          all packages
  apkit update --check                  only say what is new
  apkit update tide-table --to v1.3.0   move to another tag, branch, commit or version

A package is named by its name, or by any spelling of its source.

Exit status: 0 all are current or were updated, 1 something new is there (--check), was
rejected or is denied by a rule, 2 something could not be reached or failed, 130 interrupted.
")]
pub(crate) struct Update {
    /// The packages; all if none is named
    #[arg(value_name = "NAME")]
    pub(super) names: Vec<String>,

    #[command(flatten)]
    pub(super) place: Place,

    /// Only look, change nothing
    #[arg(long)]
    pub(super) check: bool,

    /// Move one package to this branch, tag, commit or version
    #[arg(
        long,
        value_name = "REF|VERSION",
        requires = "names",
        allow_hyphen_values = true
    )]
    pub(super) to: Option<String>,

    /// Refuse what has any finding at or above warning
    #[arg(long)]
    pub(super) strict: bool,

    #[command(flatten)]
    pub(super) draft: Draft,

    #[command(flatten)]
    pub(super) shape: Shape,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  apkit verify                          all packages, and what apkit has not put there
  apkit verify tide-table               this one alone

A package is named by its name, or by any spelling of its source.

The files of each package are compared with what was imported, and the copies of its skills
with what was copied. Nothing is changed and nothing is fetched.

Exit status: 0 all is as the lock file says, 1 something is not, 2 it failed.
")]
pub(crate) struct Verify {
    /// The packages; all if none is named
    #[arg(value_name = "NAME")]
    pub(super) names: Vec<String>,

    #[command(flatten)]
    pub(super) place: Place,

    #[command(flatten)]
    pub(super) shape: Shape,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  apkit remove tide-table
  apkit remove tide-table --skills-to ~/.claude/skills   what import --skills-to put there

A package is named by its name, or by any spelling of its source.
")]
pub(crate) struct Remove {
    /// The packages
    #[arg(value_name = "NAME", required = true)]
    pub(super) names: Vec<String>,

    #[command(flatten)]
    pub(super) place: Place,

    /// Remove only the copies of its skills in DIR, and make no more there; the
    /// package stays (repeatable)
    #[arg(long, value_name = "DIR", conflicts_with = "purge", value_hint = ValueHint::DirPath)]
    pub(super) skills_to: Vec<PathBuf>,

    /// Delete what the package has stored, too
    #[arg(long)]
    pub(super) purge: bool,

    #[command(flatten)]
    pub(super) shape: Shape,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  apkit skills
  apkit skills show tide-table/tides
")]
pub(crate) struct Skills {
    #[command(subcommand)]
    pub(super) command: Option<SkillsCommand>,

    #[command(flatten)]
    pub(super) place: Place,

    #[command(flatten)]
    pub(super) shape: Shape,
}

impl Skills {
    /// Whether JSON is asked for, before `show` or behind it.
    pub(super) fn is_json(&self) -> bool {
        let shown = match &self.command {
            Some(SkillsCommand::Show(show)) => show.shape.is_json(),
            None => false,
        };
        shown || self.shape.is_json()
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum SkillsCommand {
    /// Print the text of one skill, and name the files beside it
    Show(ShowSkill),
}

#[derive(Debug, Args)]
pub(super) struct ShowSkill {
    /// The skill; its name alone if one package has it
    #[arg(value_name = "[PACKAGE/]NAME")]
    pub(super) skill: String,

    #[command(flatten)]
    pub(super) place: Place,

    #[command(flatten)]
    pub(super) shape: Shape,
}
