//! The declaration of a rule as readers of a report see it.

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Legal; worth knowing.
    Info,
    /// Legal or ignored by clients, but it will hurt somewhere.
    Warning,
    /// Something of the package does not load.
    Error,
}

impl Severity {
    /// The word used in every report format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// What a conforming client does about a finding: the narrowest boundary that
/// the specification allows (sections 4.1, 5.2, 6.2, 7.1 and 7.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The whole package is rejected; nothing of it is discovered.
    PackageRejected,
    /// Skills are off for this package; MCP servers go on.
    SkillsInvalid,
    /// MCP is off for this package; skills go on.
    McpDisabled,
    /// This skill alone is skipped.
    SkillSkipped,
    /// This server alone is skipped.
    ServerSkipped,
    /// This field is ignored and everything else loads.
    FieldIgnored,
    /// Nothing changes for a conforming client.
    None,
}

impl Effect {
    /// The word used in every report format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PackageRejected => "package-rejected",
            Self::SkillsInvalid => "skills-invalid",
            Self::McpDisabled => "mcp-disabled",
            Self::SkillSkipped => "skill-skipped",
            Self::ServerSkipped => "server-skipped",
            Self::FieldIgnored => "field-ignored",
            Self::None => "none",
        }
    }

    /// The effect as a sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::PackageRejected => "clients reject the whole package",
            Self::SkillsInvalid => "clients load no skills of this package",
            Self::McpDisabled => "clients load no MCP servers of this package",
            Self::SkillSkipped => "clients skip this skill and load the others",
            Self::ServerSkipped => "clients skip this server and load the others",
            Self::FieldIgnored => "clients ignore this field and load the package",
            Self::None => "nothing else changes for clients",
        }
    }
}

/// The one declaration of a diagnostic code.
///
/// The first half of [`Code::id`] (its family) names the module under
/// `src/package/` that checks it and the module under `src/spec/codes/` that
/// declares it.
#[derive(Debug)]
pub struct Code {
    /// Stable identifier, `family::kebab-name`.
    pub id: &'static str,
    /// Severity of every finding with this code.
    pub severity: Severity,
    /// What a conforming client does about it.
    pub effect: Effect,
    /// Section of the published text (`§5.2`), or `Agent Skills`, or `apkit`
    /// for advice that no text demands.
    pub spec: &'static str,
    /// Requirement of the interop document (`AP-4`), where one exists.
    pub requirement: Option<&'static str>,
    /// One line: what the rule says.
    pub summary: &'static str,
    /// The long text that `apkit explain` prints, Markdown.
    pub explanation: &'static str,
}

impl Code {
    /// The part before `::`.
    pub fn family(&self) -> &'static str {
        self.id
            .split_once("::")
            .map_or(self.id, |(family, _)| family)
    }
}

// A code is declared once, so its identifier is its identity.
impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Code {}
