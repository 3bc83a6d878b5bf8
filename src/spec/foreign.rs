//! How to tell another tool's manifest from one of Agent Plugins.

use super::version::VERSIONS;

/// Another kind of manifest that stands in a file named `plugin.json`.
#[derive(Debug)]
struct Format {
    /// What it is, as a noun phrase.
    name: &'static str,
    /// All of these top-level fields are there.
    fields: &'static [&'static str],
}

const CLAUDE: &str = "a Claude Code or GitHub Copilot plugin manifest";

/// The formats, the most telling first. A field that no format here has makes a
/// manifest foreign all the same, without a name.
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
        name: "a VS Code extension manifest",
        fields: &["contributes"],
    },
    Format {
        name: CLAUDE,
        fields: &["mcpServers"],
    },
    Format {
        name: CLAUDE,
        fields: &["lspServers"],
    },
    Format {
        name: CLAUDE,
        fields: &["hooks"],
    },
    Format {
        name: CLAUDE,
        fields: &["commands"],
    },
    Format {
        name: CLAUDE,
        fields: &["agents"],
    },
    Format {
        name: CLAUDE,
        fields: &["skills"],
    },
];

/// Manifests of single clients, by their path in a package; the first part of
/// the path is an entry of the package root.
pub const NATIVE_MANIFESTS: &[(&str, &str)] = &[
    (".claude-plugin/plugin.json", "Claude Code"),
    (".codex-plugin/plugin.json", "Codex"),
    (".cursor-plugin/plugin.json", "Cursor"),
    (".github/plugin/plugin.json", "GitHub Copilot"),
    (".plugin/plugin.json", "GitHub Copilot"),
];

/// The manifest of Node packages, at the package root.
pub const NODE_MANIFEST: &str = "package.json";

/// The catalogue that Claude Code and GitHub Copilot read.
pub const CLAUDE_MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// The catalogue that Codex reads.
pub const CODEX_MARKETPLACE: &str = ".agents/plugins/marketplace.json";

/// Catalogues that offer plugins, by their path in the directory that their
/// entries' paths are relative to.
pub const MARKETPLACES: &[&str] = &[
    CLAUDE_MARKETPLACE,
    CODEX_MARKETPLACE,
    ".cursor-plugin/marketplace.json",
    ".github/plugin/marketplace.json",
];

/// Whether the `version` of a [`NODE_MANIFEST`] says nothing, since a release
/// step fills it in or the package is never published.
pub fn is_placeholder_version(private: bool, version: &str) -> bool {
    (private && version == "0.0.0") || version.starts_with("0.0.0-")
}

/// What a manifest without `$schema` looks like.
#[derive(Debug, PartialEq, Eq)]
pub struct Likeness<'k> {
    /// The kind of manifest, if its fields tell.
    pub name: Option<&'static str>,
    /// The fields that no Agent Plugins manifest has.
    pub fields: Vec<&'k str>,
}

/// What a manifest with these top-level fields looks like, if it holds any that
/// no published version of the specification knows.
pub fn recognise<'k>(fields: &[&'k str]) -> Option<Likeness<'k>> {
    let known = |field: &str| {
        // A draft's fields tell nothing yet: other clients had them first.
        let published = VERSIONS.iter().filter(|version| !version.draft);
        let mut all = published.flat_map(|version| version.manifest_fields);
        all.any(|(name, _)| *name == field)
    };
    let others: Vec<&str> = fields
        .iter()
        .copied()
        .filter(|field| !known(field))
        .collect();
    let has_all = |format: &&Format| format.fields.iter().all(|wanted| others.contains(wanted));
    let name = FORMATS.iter().find(has_all).map(|format| format.name);
    (!others.is_empty()).then_some(Likeness {
        name,
        fields: others,
    })
}

/// The host that a `$schema` of another format names; `None` for what may be
/// meant as an identifier of Agent Plugins, and for no URL at all.
pub fn schema_host(schema: &str) -> Option<&str> {
    let rest = schema
        .strip_prefix("https://")
        .or_else(|| schema.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#']).next()?;
    let ours = schema.to_ascii_lowercase().contains("agent-plugins");
    (!ours && !host.is_empty()).then_some(host)
}

/// The client that looks for its manifest in a directory of this path: one of
/// [`NATIVE_MANIFESTS`], or by the custom of clients `.NAME-plugin`. Such a directory is no package root.
pub fn native_directory(path: &str) -> Option<&str> {
    let ends_with = |place: &str| {
        let directory = place.strip_suffix("/plugin.json").unwrap_or(place);
        path == directory
            || path
                .strip_suffix(directory)
                .is_some_and(|front| front.ends_with('/'))
    };
    if let Some((_, client)) = NATIVE_MANIFESTS.iter().find(|(place, _)| ends_with(place)) {
        return Some(client);
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    let name = last.strip_prefix('.')?;
    name.strip_suffix("-plugin").filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_manifests_are_named_where_their_fields_tell() {
        let name = |fields: &[&'static str]| recognise(fields).map(|likeness| likeness.name);
        assert_eq!(name(&["name", "mcpServers"]), Some(Some(CLAUDE)));
        assert_eq!(
            name(&["type", "id", "info"]),
            Some(Some("a Grafana plugin manifest"))
        );
        assert_eq!(
            name(&["name", "interface", "skills"]),
            Some(Some("a Codex plugin manifest"))
        );
        assert_eq!(name(&["name", "vendor"]), Some(None));
        assert_eq!(name(&["name", "version", "description", "author"]), None);
        assert_eq!(name(&["name", "displayName"]), Some(None));
    }

    #[test]
    fn schemas_of_others_are_told_from_slips() {
        assert_eq!(
            schema_host("https://json.example/x.json"),
            Some("json.example")
        );
        for slip in [
            "http://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
            "https://example.com/agent-plugins/1.0.0",
            "plugin.schema.json",
            "",
            "https://",
        ] {
            assert_eq!(schema_host(slip), None, "{slip}");
        }
    }

    #[test]
    fn directories_of_clients_are_no_package_roots() {
        for (path, client) in [
            (".claude-plugin", Some("Claude Code")),
            ("a/.codex-plugin", Some("Codex")),
            ("x/.github/plugin", Some("GitHub Copilot")),
            ("x/.grok-plugin", Some("grok")),
            ("x/.plugin", Some("GitHub Copilot")),
            ("x/my-plugin", None),
            ("x/not.github/plugin", None),
            ("x/.-plugin", None),
        ] {
            assert_eq!(native_directory(path), client, "{path}");
        }
    }
}
