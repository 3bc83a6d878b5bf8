//! What an export could not carry over: one [`Loss`] for each thing, in one
//! place, with the way out. A loss is data about the input, never an error.

/// How much of the input a loss takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A part of something, or its use in some clients; the rest is there.
    Detail,
    /// A whole component: a skill or a server is not in the result.
    Component,
}

impl Weight {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Detail => "detail",
            Self::Component => "component",
        }
    }
}

macro_rules! loss_kinds {
    ($($(#[doc = $doc:literal])+ $name:ident = $id:literal, $weight:ident, $effect:literal;)+) => {
        /// The kinds of loss. The identifier is stable; the doc comment of a
        /// kind is its explanation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LossKind {
            $($(#[doc = $doc])+ $name,)+
        }

        impl LossKind {
            /// Every kind, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// Stable identifier, kebab-case.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)+ }
            }

            /// How much is lost.
            pub const fn weight(self) -> Weight {
                match self { $(Self::$name => Weight::$weight,)+ }
            }

            /// What the result does instead, as a sentence without its period.
            pub const fn effect(self) -> &'static str {
                match self { $(Self::$name => $effect,)+ }
            }

            /// The explanation: the doc comment, lines joined.
            pub const fn explanation(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+),)+ }
            }
        }
    };
}

loss_kinds! {
    /// The frontmatter of a skill cannot be read, or it lacks a field that the
    /// format requires. Fields are never guessed: a guess could drop what the
    /// author meant as a restriction.
    SkillUnreadable = "skill-unreadable", Component, "the skill is not in the result";
    /// The name of a skill breaks the Agent Skills rule or differs from its
    /// directory, and nobody asked for a new name.
    SkillName = "skill-name", Component, "the skill is not in the result";
    /// Two skills would have the same name, and so the same directory.
    SkillCollision = "skill-collision", Component, "only the first of them is in the result";
    /// A `SKILL.md` lies where the portable format does not look: only
    /// `skills/<name>/SKILL.md` is a skill.
    SkillMisplaced = "skill-misplaced", Component, "the file is kept, clients do not see a skill in it";
    /// The tools of `allowed-tools` cannot be written as one string whose parts
    /// white space separates. Without them the skill would run with other rights.
    AllowedTools = "allowed-tools", Component, "the skill is not in the result";
    /// A frontmatter key that the Agent Skills format does not have. It is kept
    /// word for word; only some clients act upon it, and some skip such a skill.
    ClientFrontmatter = "client-frontmatter", Detail, "the key is kept; clients that do not know it ignore it or skip the skill";
    /// The text of a skill or a file beside it holds a placeholder that one client
    /// replaces and others show to the model as it stands.
    TextPlaceholder = "text-placeholder", Detail, "the text is kept; other clients leave the placeholder as it is";
    /// An option that the user is asked for. The portable format has none.
    UserConfig = "user-config", Detail, "only the native manifest still offers it";
    /// A value of a server needs an option of the user, which no portable client fills in.
    UserConfigValue = "user-config-value", Detail, "the entry is left out of mcp.json";
    /// A value of a server is taken from the user's environment. Portable
    /// clients leave `${NAME}` as it stands, so that it is never written.
    EnvironmentValue = "environment-value", Detail, "the entry is left out of mcp.json";
    /// `${NAME:-default}`: the default is written, the variable no longer read.
    EnvironmentDefault = "environment-default", Detail, "the default is written, the variable is no longer read";
    /// A header, variable, argument or address of a server holds what looks like
    /// a secret. Whatever is in a package is public, so it is never written,
    /// neither to `mcp.json` nor to the copy for one client.
    Credential = "credential", Detail, "the entry is left out everywhere";
    /// A text holds what looks like a credential: a token of a known issuer, a private
    /// key, or a value with the name of a secret. It is not changed, and the export
    /// is refused unless warnings are allowed.
    CredentialInText = "credential-in-text", Detail, "the text is kept as it is";
    /// The address of a server holds a placeholder, and addresses are never expanded.
    ServerUrlPlaceholder = "server-url-placeholder", Component, "the server is not in mcp.json";
    /// An argument, the command or the working directory of a server holds a
    /// placeholder that portable clients do not expand, and leaving it out would
    /// start something else.
    ServerPlaceholder = "server-placeholder", Component, "the server is not in mcp.json";
    /// A secret is part of what names the server (an argument, the address), so
    /// it cannot be left out alone.
    ServerCredential = "server-credential", Component, "the server is left out everywhere";
    /// The address of a server is none that the portable format allows: https,
    /// or http on this machine, without user information and fragment.
    ServerUrl = "server-url", Component, "the server is not in mcp.json";
    /// The command of a server is neither a bare name nor a file of the package.
    ServerCommand = "server-command", Component, "the server is not in mcp.json";
    /// The transport of a server is none of the portable format.
    ServerTransport = "server-transport", Component, "the server is not in mcp.json";
    /// The definition of a server is no object with strings where strings belong.
    ServerMalformed = "server-malformed", Component, "the server is not in mcp.json";
    /// A source of servers cannot be read: a file that is not there, no JSON, a bundle.
    ServersUnreadable = "servers-unreadable", Component, "its servers are not in mcp.json";
    /// How the client signs in to a server. Portable clients find that out with
    /// the server and the user.
    ServerAuthentication = "server-authentication", Detail, "the field is left out of mcp.json";
    /// A field of a server that the portable format does not have.
    ServerField = "server-field", Detail, "the field is left out of mcp.json";
    /// A header whose name or value HTTP does not allow, or that clients set themselves.
    ServerHeader = "server-header", Detail, "the header is left out of mcp.json";
    /// `PLUGIN_ROOT` and `PLUGIN_DATA` are the client's to set.
    EnvironmentReserved = "environment-reserved", Detail, "the entry is left out of mcp.json";
    /// Portable clients start a server in the package, other clients in the
    /// project or wherever their own field says.
    WorkingDirectory = "working-directory", Detail, "the server starts in another directory";
    /// A field of a native manifest that the portable one does not have.
    ManifestField = "manifest-field", Detail, "only the native manifest holds it";
    /// A field of a native manifest that has another type than it must have.
    ManifestType = "manifest-type", Detail, "plugin.json goes without it";
    /// Commands, agents, hooks and other parts that one client knows. They move
    /// to its namespace directory, and its own manifest leads there.
    ClientComponent = "client-component", Detail, "only that client loads it";
    /// A key at the top of a hooks file that some versions of its client refuse
    /// together with the whole file.
    HooksKey = "hooks-key", Detail, "the key is left out of the copy";
    /// A file that was moved to a namespace directory is named elsewhere, or
    /// names others by a relative path.
    MovedReference = "moved-reference", Detail, "the text is kept; what it names lies elsewhere now";
    /// The manifest of a client that reads the portable manifest instead, once
    /// there is one.
    ManifestShadowed = "manifest-shadowed", Detail, "the client no longer reads it beside plugin.json";
    /// What the manifest of a second client names, and the one that was read does not.
    /// The client reads the portable files instead, once there are any.
    ShadowedComponent = "shadowed-component", Component, "it is not in the result, or no client sees it there";
    /// A part that is in two places, one that the manifest names and the default one,
    /// of which the client reads the other.
    Unread = "native-unread", Detail, "no client reads it, as before";
    /// A file that does not belong into a package, or that no part of it asks for.
    FileLeftOut = "file-left-out", Detail, "the file is not in the result";
    /// A link that leads out of the source, or to nothing.
    LinkLeftOut = "link-left-out", Detail, "the link is not in the result";
    /// The client that is exported to drops this server.
    TargetServer = "target-server", Detail, "that client does not load the server";
    /// The client that is exported to expands placeholders which the
    /// specification leaves alone.
    TargetExpansion = "target-expansion", Detail, "that client replaces the text by a variable of the user";
    /// The package already has a manifest for the client that is exported to,
    /// and it does not lead to everything that the package has.
    TargetManifest = "target-manifest", Detail, "the manifest is kept as its author wrote it";
    /// A file where the client that is exported to looks by itself, and clients of
    /// the portable format do not. Nobody has loaded it from this package before.
    TargetDefault = "target-default", Detail, "that client loads it, other clients of the package do not";
}

/// One thing that the export could not carry over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// What kind of loss it is; carries effect and weight.
    pub kind: LossKind,
    /// What is lost: `server "x": header "Authorization"`.
    pub what: String,
    /// Why, with the value where it may be shown.
    pub why: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The file of the source, relative and `/`-separated.
    pub path: String,
    /// RFC 6901 pointer of the value in a JSON text or in frontmatter.
    pub pointer: Option<String>,
    /// Line of the value, from 1.
    pub line: Option<usize>,
}

impl Loss {
    /// A loss at the file `path` as a whole.
    pub fn new(
        kind: LossKind,
        path: impl Into<String>,
        what: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            what: what.into(),
            why: why.into(),
            help: None,
            path: path.into(),
            pointer: None,
            line: None,
        }
    }

    /// Adds the way out.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the place in the file.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>, line: usize) -> Self {
        self.pointer = Some(pointer.into());
        self.line = Some(line);
        self
    }

    /// Adds the line alone, where there is no pointer (Markdown).
    #[must_use]
    pub fn on_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn identifiers_are_unique_and_explained() {
        let ids: BTreeSet<_> = LossKind::ALL.iter().map(|kind| kind.id()).collect();
        assert_eq!(ids.len(), LossKind::ALL.len());
        for kind in LossKind::ALL {
            assert!(
                kind.id()
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                "{}",
                kind.id()
            );
            assert!(kind.explanation().trim().ends_with('.'), "{}", kind.id());
            assert!(!kind.effect().ends_with('.'), "{}", kind.id());
        }
    }
}
