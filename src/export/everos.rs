//! The everos memory plugin as a package: the files of `package/`, and this
//! program, which its hooks and skills run.

use super::{Output, Plan};

/// How the command line names this source.
pub const SOURCE: &str = "builtin:everos";

/// Name of the plugin and of its marketplace. The manifests say the same, as a
/// test proves.
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

/// A marketplace that offers the package.
const MARKETPLACE: &str = include_str!("../../package/marketplace/marketplace.json");

/// A program to put into the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The executable's content.
    pub bytes: Vec<u8>,
    /// What its name ends with: empty, or `.exe` for Windows.
    pub suffix: &'static str,
}

/// What to write: the package, or with `marketplace` a marketplace that holds
/// the package in a directory of its name.
pub fn plan(program: Program, marketplace: bool) -> Plan {
    let root = if marketplace { NAME } else { "" };
    let within = |path: &str| match root {
        "" => path.to_owned(),
        root => format!("{root}/{path}"),
    };
    let mut outputs: Vec<Output> = SOURCES
        .iter()
        .map(|(path, text)| Output::text(within(path), versioned(text)))
        .collect();
    outputs.push(Output::text(within("LICENSE"), LICENSE));
    outputs.push(Output {
        path: within(&format!("bin/apkit{}", program.suffix)),
        bytes: program.bytes,
        executable: true,
    });
    if marketplace {
        outputs.push(Output::text(
            ".claude-plugin/marketplace.json",
            versioned(MARKETPLACE),
        ));
    }
    Plan {
        outputs,
        packages: vec![root.to_owned()],
        source: SOURCE,
        name: NAME.to_owned(),
        version: Some(VERSION.to_owned()),
        ..Plan::default()
    }
}

fn versioned(text: &str) -> String {
    text.replace(VERSION_MARK, VERSION)
}
