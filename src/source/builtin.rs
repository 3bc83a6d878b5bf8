//! Packages that apkit brings along: the files of `package/`, and this program,
//! which the hooks and skills of the memory plugin run.

use std::fs;
use std::io;
use std::path::Path;

/// Name of the memory plugin. Its manifests say the same, as a test proves.
pub const NAME: &str = "everos";

/// The version of every manifest. There is one version: the program's.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What stands for the version in the sources.
const VERSION_MARK: &str = "@VERSION@";

macro_rules! sources {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../package/", $path)))),*]
    };
}

/// The files of the package, by their paths in it.
const SOURCES: &[(&str, &str)] = sources![
    ".claude-plugin/plugin.json",
    "README.md",
    "README_zh.md",
    "com.anthropic.claude-code/hooks/hooks.json",
    "plugin.json",
    "skills/search/SKILL.md",
    "skills/status/SKILL.md",
];

/// The licence is that of the program.
const LICENSE: &str = include_str!("../../LICENSE");

/// A program to put into the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The executable's content.
    pub bytes: Vec<u8>,
    /// What its name ends with: empty, or `.exe` for Windows.
    pub suffix: &'static str,
}

impl Program {
    /// The program in this file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is empty.
    pub fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        if bytes.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty"));
        }
        let is_exe = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("exe"));
        Ok(Self {
            bytes,
            suffix: if is_exe { ".exe" } else { "" },
        })
    }
}

/// A package that apkit brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// The EverOS memory plugin for Claude Code.
    Everos,
}

/// A file of such a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path in the package.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it is a program.
    pub executable: bool,
}

impl Builtin {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Everos];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }

    /// How a source names it behind `builtin:`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Everos => NAME,
        }
    }

    /// Its files, with `program` in the place of this one.
    pub fn files(self, program: Program) -> Vec<File> {
        let Self::Everos = self;
        let text = |path: &str, text: String| File {
            path: path.to_owned(),
            bytes: text.into_bytes(),
            executable: false,
        };
        let mut files: Vec<File> = SOURCES
            .iter()
            .map(|(path, content)| text(path, versioned(content)))
            .collect();
        files.push(text("LICENSE", LICENSE.to_owned()));
        files.push(File {
            path: format!("bin/apkit{}", program.suffix),
            bytes: program.bytes,
            executable: true,
        });
        files
    }
}

/// A text of `package/` with the version in it.
pub fn versioned(text: &str) -> String {
    text.replace(VERSION_MARK, VERSION)
}
