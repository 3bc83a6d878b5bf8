//! The specification versions, as rows of one table (§10.1).

/// The type a manifest field must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// `$schema`: the canonical identifier, already judged when fields are.
    Schema,
    /// `name`: a string of the plugin name grammar.
    Name,
    /// A string without further constraint.
    String,
    /// The closed `author` object.
    Author,
    /// An array of strings.
    Strings,
    /// `extensions`: an object of objects.
    Extensions,
    /// `icon` of the 1.1.0 draft: a string; ignored when it is no path inside the package.
    Icon,
}

/// One version of the specification.
#[derive(Debug)]
pub struct Version {
    /// `1.0.0`.
    pub id: &'static str,
    /// Whether the text is unpublished; drafts are off unless asked for.
    pub draft: bool,
    /// Canonical identifier of the manifest schema.
    pub plugin_schema: &'static str,
    /// Canonical identifier of the MCP configuration schema.
    pub mcp_schema: &'static str,
    /// The permitted top-level fields of `plugin.json`.
    pub manifest_fields: &'static [(&'static str, FieldKind)],
}

macro_rules! schema_id {
    ($version:literal, $kind:literal) => {
        concat!(
            "https://agent-plugins.org/schemas/",
            $version,
            "/",
            $kind,
            ".schema.json"
        )
    };
}

const FIELDS_1_0_0: &[(&str, FieldKind)] = &[
    ("$schema", FieldKind::Schema),
    ("name", FieldKind::Name),
    ("version", FieldKind::String),
    ("description", FieldKind::String),
    ("author", FieldKind::Author),
    ("homepage", FieldKind::String),
    ("repository", FieldKind::String),
    ("license", FieldKind::String),
    ("keywords", FieldKind::Strings),
    ("extensions", FieldKind::Extensions),
];

// A draft's list is its own: the text may still change any of it.
const FIELDS_1_1_0: &[(&str, FieldKind)] = &[
    ("$schema", FieldKind::Schema),
    ("name", FieldKind::Name),
    ("displayName", FieldKind::String),
    ("icon", FieldKind::Icon),
    ("version", FieldKind::String),
    ("description", FieldKind::String),
    ("author", FieldKind::Author),
    ("homepage", FieldKind::String),
    ("repository", FieldKind::String),
    ("license", FieldKind::String),
    ("keywords", FieldKind::Strings),
    ("extensions", FieldKind::Extensions),
];

/// Every version apkit has rules for, oldest first.
pub static VERSIONS: &[Version] = &[
    Version {
        id: "1.0.0",
        draft: false,
        plugin_schema: schema_id!("1.0.0", "plugin"),
        mcp_schema: schema_id!("1.0.0", "mcp"),
        manifest_fields: FIELDS_1_0_0,
    },
    Version {
        id: "1.1.0",
        draft: true,
        plugin_schema: schema_id!("1.1.0", "plugin"),
        mcp_schema: schema_id!("1.1.0", "mcp"),
        manifest_fields: FIELDS_1_1_0,
    },
];

/// The fields `author` may hold (§5.4), each a string.
pub const AUTHOR_FIELDS: &[&str] = &["name", "email", "url"];

/// The published version that new packages should target.
pub fn current() -> &'static Version {
    let newest = VERSIONS.iter().rev().find(|version| !version.draft);
    newest.unwrap_or(&VERSIONS[0])
}

/// The version with this number.
pub fn find(id: &str) -> Option<&'static Version> {
    VERSIONS.iter().find(|version| version.id == id)
}

/// Which of the two documents a `$schema` belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaKind {
    /// `plugin.json`.
    Plugin,
    /// `mcp.json`.
    Mcp,
}

impl SchemaKind {
    /// The canonical identifier of this kind for a version.
    pub fn id(self, version: &Version) -> &'static str {
        match self {
            Self::Plugin => version.plugin_schema,
            Self::Mcp => version.mcp_schema,
        }
    }
}

/// What a `$schema` value says.
#[derive(Debug, PartialEq, Eq)]
pub enum Selection<'v> {
    /// A version whose rules apply.
    Supported(&'static str),
    /// A draft apkit knows but was not asked to apply.
    DraftOff(&'static str),
    /// A canonical identifier of a version apkit has no rules for.
    Unknown(&'v str),
    /// The identifier of the other document.
    OtherDocument,
    /// No canonical identifier at all.
    NotCanonical,
}

/// Reads a `$schema` value. Identifiers are compared as strings after JSON
/// decoding: no URL normalisation, no trailing `#` (§5.2).
pub fn select(value: &str, kind: SchemaKind, drafts: bool) -> Selection<'_> {
    let other = match kind {
        SchemaKind::Plugin => SchemaKind::Mcp,
        SchemaKind::Mcp => SchemaKind::Plugin,
    };
    for version in VERSIONS {
        if value == kind.id(version) {
            return if version.draft && !drafts {
                Selection::DraftOff(version.id)
            } else {
                Selection::Supported(version.id)
            };
        }
        if value == other.id(version) {
            return Selection::OtherDocument;
        }
    }
    // What surrounds the number in every canonical identifier of this kind.
    let sample = VERSIONS
        .first()
        .and_then(|version| kind.id(version).split_once(version.id));
    let number = sample.and_then(|(head, tail)| value.strip_prefix(head)?.strip_suffix(tail));
    match number {
        Some(number) if !number.is_empty() && !number.contains('/') => Selection::Unknown(number),
        _ => Selection::NotCanonical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_select_by_string_equality() {
        let id = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
        fn plugin(value: &str, drafts: bool) -> Selection<'_> {
            select(value, SchemaKind::Plugin, drafts)
        }
        assert_eq!(plugin(id, false), Selection::Supported("1.0.0"));
        assert_eq!(
            plugin(&id.replace("1.0.0", "1.1.0"), false),
            Selection::DraftOff("1.1.0")
        );
        assert_eq!(
            plugin(&id.replace("1.0.0", "1.1.0"), true),
            Selection::Supported("1.1.0")
        );
        assert_eq!(
            plugin(&id.replace("1.0.0", "1.0.1"), true),
            Selection::Unknown("1.0.1")
        );
        assert_eq!(
            plugin(&id.replace("plugin.s", "mcp.s"), false),
            Selection::OtherDocument
        );
        for near in [
            format!("{id}#"),
            id.replace("https", "http"),
            id.to_uppercase(),
            String::new(),
        ] {
            assert_eq!(plugin(&near, true), Selection::NotCanonical, "{near}");
        }
    }

    #[test]
    fn the_current_version_is_published() {
        assert_eq!(current().id, "1.0.0");
    }
}
