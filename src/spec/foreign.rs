//! How to tell another client's manifest from one of Agent Plugins.

/// Another kind of manifest that stands in a file named `plugin.json`.
#[derive(Debug)]
pub struct Format {
    /// What it is, as a noun phrase.
    pub name: &'static str,
    /// All of these top-level fields are there.
    fields: &'static [&'static str],
}

/// The formats, the most telling first.
static FORMATS: &[Format] = &[
    Format {
        name: "a Grafana plugin manifest",
        fields: &["type", "id", "info"],
    },
    Format {
        name: "a Codex plugin manifest",
        fields: &["interface"],
    },
    Format {
        name: "a Codex plugin manifest",
        fields: &["apps"],
    },
    Format {
        name: "a Claude Code plugin manifest",
        fields: &["mcpServers"],
    },
    Format {
        name: "a Claude Code plugin manifest",
        fields: &["lspServers"],
    },
    Format {
        name: "a Claude Code plugin manifest",
        fields: &["outputStyles"],
    },
    Format {
        name: "a Claude Code plugin manifest",
        fields: &["userConfig"],
    },
    Format {
        name: "a Claude Code plugin manifest",
        fields: &["hooks"],
    },
    Format {
        name: "a Claude Code plugin manifest",
        fields: &["commands"],
    },
    Format {
        name: "a Claude Code plugin manifest",
        fields: &["agents"],
    },
    Format {
        name: "a Claude Code plugin manifest",
        fields: &["skills"],
    },
    Format {
        name: "a VS Code extension manifest",
        fields: &["contributes"],
    },
    Format {
        name: "a package manifest of Node.js",
        fields: &["engines"],
    },
    Format {
        name: "another client's plugin manifest",
        fields: &["displayName"],
    },
];

/// Manifests of single clients, by their path in a package; the first part of
/// the path is an entry of the package root.
pub const NATIVE_MANIFESTS: &[(&str, &str)] = &[
    (".claude-plugin/plugin.json", "Claude Code"),
    (".codex-plugin/plugin.json", "Codex"),
    (".cursor-plugin/plugin.json", "Cursor"),
    (".github/plugin/plugin.json", "GitHub Copilot"),
];

/// What a manifest with these top-level fields looks like.
pub fn recognise(fields: &[&str]) -> Option<&'static str> {
    let has_all = |format: &&Format| format.fields.iter().all(|wanted| fields.contains(wanted));
    FORMATS.iter().find(has_all).map(|format| format.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_manifests_are_named() {
        assert_eq!(
            recognise(&["name", "mcpServers"]),
            Some("a Claude Code plugin manifest")
        );
        assert_eq!(
            recognise(&["type", "id", "info"]),
            Some("a Grafana plugin manifest")
        );
        assert_eq!(
            recognise(&["name", "interface", "skills"]),
            Some("a Codex plugin manifest")
        );
        assert_eq!(recognise(&["name", "version", "type"]), None);
    }
}
