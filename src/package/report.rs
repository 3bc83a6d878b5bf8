//! What came out of loading packages: the data every report format shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Severity};

/// Everything that one run found, in the order the packages were named.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// One entry for each package.
    pub packages: Vec<Package>,
}

/// One package as a conforming client sees it, and what was found on the way.
#[derive(Debug, Clone)]
pub struct Package {
    /// The package directory as the user named it (`/`-separated for display).
    pub path: String,
    /// Whether anything of it loads.
    pub verdict: Verdict,
    /// `name` of the manifest, if it is a string.
    pub name: Option<String>,
    /// `version` of the manifest, if it is a string.
    pub version: Option<String>,
    /// The specification version whose rules were applied.
    pub spec_version: Option<&'static str>,
    /// The skills. `Absent` and empty for a rejected package: not examined.
    pub skills: Skills,
    /// The MCP servers. `Absent` and empty for a rejected package: not examined.
    pub mcp: Mcp,
    /// The findings, by file and then by place.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts of the files that findings with a place refer to, by their
    /// package-relative path; bytes that are no UTF-8 stand as U+FFFD (offsets
    /// then no longer fit, and such findings are shown without source).
    pub sources: BTreeMap<String, Arc<str>>,
}

/// Whether a package loads at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Its components are discovered.
    Loaded,
    /// Nothing of it is discovered (§5.2, §5.3).
    Rejected,
}

/// The skills of a package.
#[derive(Debug, Clone, Default)]
pub struct Skills {
    /// State of the component type.
    pub state: SkillsState,
    /// Skills that load, by directory name.
    pub loaded: Vec<Skill>,
    /// Directories that hold a skill which does not load.
    pub skipped: Vec<SkippedSkill>,
}

/// State of the component type `skills`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillsState {
    /// There is no `skills/`.
    #[default]
    Absent,
    /// `skills/` was searched.
    Loaded,
    /// `skills` is not a directory inside the package.
    Invalid,
}

/// A skill that loads.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Its name, which is its directory's name.
    pub name: String,
    /// Its directory, relative to the package (`skills/x`).
    pub path: String,
    /// Its description.
    pub description: String,
}

/// A skill that does not load.
#[derive(Debug, Clone)]
pub struct SkippedSkill {
    /// Its directory, relative to the package (`skills/y`).
    pub path: String,
}

/// The MCP servers of a package.
#[derive(Debug, Clone, Default)]
pub struct Mcp {
    /// State of the component type.
    pub state: McpState,
    /// Servers that load, in the order of `mcp.json`.
    pub loaded: Vec<Server>,
    /// Names of the entries that do not load, in the order of `mcp.json`.
    pub skipped: Vec<String>,
}

/// State of the component type `mcp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McpState {
    /// There is no `mcp.json`.
    #[default]
    Absent,
    /// `mcp.json` is in force.
    Enabled,
    /// `mcp.json` as a whole is invalid.
    Disabled,
}

/// A server that loads.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name in `mcpServers`.
    pub name: String,
    /// How to reach it.
    pub transport: Transport,
}

/// The closed union of server variants (§7.2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A subprocess.
    Stdio {
        /// Bare executable name or `./` path, as written.
        command: String,
        /// Arguments as written, placeholders unexpanded.
        args: Vec<String>,
        /// Configured environment as written, in the order of the text.
        env: Vec<(String, String)>,
        /// Working directory as written; `None` is the package root.
        cwd: Option<String>,
    },
    /// MCP Streamable HTTP.
    StreamableHttp {
        /// Endpoint.
        url: String,
        /// Fixed headers as written.
        headers: Vec<(String, String)>,
    },
    /// The deprecated HTTP+SSE transport.
    Sse {
        /// Endpoint.
        url: String,
        /// Fixed headers as written.
        headers: Vec<(String, String)>,
    },
}

impl Transport {
    /// The value of `type` in `mcp.json`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::StreamableHttp { .. } => "streamable-http",
            Self::Sse { .. } => "sse",
        }
    }
}

/// Counts over a whole [`Report`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Packages looked at.
    pub packages: usize,
    /// Packages that load.
    pub loaded: usize,
    /// Packages that are rejected.
    pub rejected: usize,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Findings of severity info.
    pub infos: usize,
}

impl Report {
    /// Counts packages and findings.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for package in &self.packages {
            summary.packages += 1;
            match package.verdict {
                Verdict::Loaded => summary.loaded += 1,
                Verdict::Rejected => summary.rejected += 1,
            }
            for diagnostic in &package.diagnostics {
                match diagnostic.severity() {
                    Severity::Error => summary.errors += 1,
                    Severity::Warning => summary.warnings += 1,
                    Severity::Info => summary.infos += 1,
                }
            }
        }
        summary
    }
}
