//! The clients that have a plugin format of their own: where their files lie,
//! as measured with the clients themselves.

/// A client with a native format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// GitHub Copilot.
    Copilot,
}

/// A part of a native plugin that its manifest may point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// The field of the manifest.
    pub(super) field: &'static str,
    /// Where the client looks if the manifest has no such field.
    pub(super) default: &'static str,
    /// What it is, as a plural.
    pub(super) what: &'static str,
    /// Whether a pointer must name each file: the client takes no directory.
    pub(super) each_file: bool,
}

const fn part(field: &'static str, default: &'static str, what: &'static str) -> Part {
    Part {
        field,
        default,
        what,
        each_file: false,
    }
}

impl Client {
    /// In the order in which a source with several manifests is read.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Copilot];

    /// The word of the command line and of reports.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
        }
    }

    /// The name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Copilot => "GitHub Copilot",
        }
    }

    /// The key in `extensions`, and the directory, of what is its own (§8).
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::ClaudeCode => "com.anthropic.claude-code",
            Self::Codex => "com.openai.codex",
            Self::Copilot => "com.github.copilot",
        }
    }

    /// Where its manifest lies, the first that is there.
    pub(super) const fn manifests(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &[".claude-plugin/plugin.json"],
            Self::Codex => &[".codex-plugin/plugin.json"],
            Self::Copilot => &[".github/plugin/plugin.json", ".plugin/plugin.json"],
        }
    }

    /// Its parts beside skills.
    pub(super) const fn parts(self) -> &'static [Part] {
        match self {
            Self::ClaudeCode => {
                const {
                    &[
                        part("commands", "commands", "commands"),
                        Part {
                            each_file: true,
                            ..part("agents", "agents", "agents")
                        },
                        part(HOOKS, "hooks/hooks.json", "hooks"),
                        part(SERVERS, ".mcp.json", "MCP servers"),
                        part("outputStyles", "output-styles", "output styles"),
                        part("lspServers", ".lsp.json", "language servers"),
                    ]
                }
            }
            Self::Codex => {
                const {
                    &[
                        part(HOOKS, "hooks/hooks.json", "hooks"),
                        part(SERVERS, ".mcp.json", "MCP servers"),
                        part("apps", ".app.json", "apps"),
                    ]
                }
            }
            Self::Copilot => {
                const {
                    &[
                        part("commands", "commands", "commands"),
                        part("agents", "agents", "agents"),
                        part(HOOKS, "hooks/hooks.json", "hooks"),
                        part(SERVERS, ".mcp.json", "MCP servers"),
                        part("lspServers", "lsp.json", "language servers"),
                    ]
                }
            }
        }
    }

    /// What it reads of a part that both its manifest names and the default place
    /// holds: measured with Claude Code 2.1.197, Codex 0.171.0 and Copilot 1.0.102.
    pub(super) fn reads(self, field: &str) -> Reads {
        match self {
            Self::ClaudeCode if [HOOKS, SERVERS, "lspServers"].contains(&field) => Reads::Both,
            Self::Copilot if field == SERVERS => Reads::Default,
            _ => Reads::Named,
        }
    }

    /// Keys that the top of a hooks file may have without endangering it.
    pub(super) const fn hooks_keys(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeCode => &["hooks", "description"],
            Self::Codex => &["hooks"],
            Self::Copilot => &["version", "hooks"],
        }
    }
}

/// What a client reads of a part that is in two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Both; what the manifest names comes last and wins.
    Both,
    /// What the manifest names.
    Named,
    /// What lies at the default place.
    Default,
}

/// The field for hooks, in every native manifest.
pub(super) const HOOKS: &str = "hooks";
/// The field for servers, in every native manifest.
pub(super) const SERVERS: &str = "mcpServers";
