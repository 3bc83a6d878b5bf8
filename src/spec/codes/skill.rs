//! Codes about one skill: its directory, its frontmatter, its body.

codes! { "skill";
    /// `SKILL.md`, or the skill's directory, resolves outside the package.
    ESCAPE = "escape", Error, SkillSkipped, "§4.1", Some("AP-10"),
        "the skill resolves outside the package";
    /// `SKILL.md` is a directory, a FIFO, a device, or a link to nothing: no
    /// skill is discovered.
    NOT_A_FILE = "not-a-file", Warning, None, "§7.1", Some("AP-7"),
        "SKILL.md is not a regular file";
    /// The file is named `skill.md` or the like: no skill is discovered.
    FILE_CASE = "file-case", Warning, None, "§7.1", Some("AP-7"),
        "SKILL.md is spelled in another letter case";
    /// The directory's name is not UTF-8, so no skill name can equal it.
    DIRECTORY_NOT_UTF8 = "directory-not-utf8", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the skill's directory name is not UTF-8";
    /// `SKILL.md` cannot be read.
    UNREADABLE = "unreadable", Error, SkillSkipped, "§7.1", Some("AP-9"),
        "SKILL.md cannot be read";
    /// `SKILL.md` is larger than apkit reads.
    TOO_LARGE = "too-large", Error, SkillSkipped, "§7.1", Some("AP-9"),
        "SKILL.md is larger than 16 MiB";
    /// `SKILL.md` holds bytes that are not UTF-8.
    INVALID_UTF8 = "invalid-utf8", Error, SkillSkipped, "Agent Skills", Some("AP-9"),
        "SKILL.md is not UTF-8";
    /// `SKILL.md` begins with a byte order mark.
    BYTE_ORDER_MARK = "byte-order-mark", Info, None, "apkit", None,
        "SKILL.md begins with a byte order mark";
    /// `SKILL.md` does not begin with frontmatter.
    FRONTMATTER_MISSING = "frontmatter-missing", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "SKILL.md does not begin with frontmatter";
    /// The frontmatter is never closed.
    FRONTMATTER_UNCLOSED = "frontmatter-unclosed", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the frontmatter is never closed";
    /// The frontmatter is not YAML.
    FRONTMATTER_INVALID = "frontmatter-invalid", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the frontmatter is not YAML";
    /// The frontmatter is nested too deep or holds too many values.
    FRONTMATTER_TOO_COMPLEX = "frontmatter-too-complex", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the frontmatter is nested too deep or holds too many values";
    /// The frontmatter is not a mapping of keys to values.
    FRONTMATTER_NOT_A_MAPPING = "frontmatter-not-a-mapping", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the frontmatter is not a mapping";
    /// A key stands twice in the frontmatter.
    DUPLICATE_KEY = "duplicate-key", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "a frontmatter key stands twice";
    /// The frontmatter has no `name`.
    NAME_MISSING = "name-missing", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the skill has no name";
    /// `name` breaks the grammar of skill names.
    NAME_INVALID = "name-invalid", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "name breaks the grammar of skill names";
    /// `name` differs from the name of the skill's directory.
    NAME_MISMATCH = "name-mismatch", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "name differs from the skill's directory";
    /// The frontmatter has no `description`.
    DESCRIPTION_MISSING = "description-missing", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the skill has no description";
    /// `description` is empty or white space.
    DESCRIPTION_EMPTY = "description-empty", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "description is empty";
    /// `description` is longer than 1 024 characters.
    DESCRIPTION_TOO_LONG = "description-too-long", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "description is longer than 1024 characters";
    /// `compatibility` is empty or longer than 500 characters.
    COMPATIBILITY_LENGTH = "compatibility-length", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "compatibility is not 1 to 500 characters long";
    /// A frontmatter field that must be a string is not.
    FIELD_TYPE = "field-type", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "a frontmatter field has the wrong type";
    /// `metadata` is not a mapping, or holds lists or mappings.
    METADATA_TYPE = "metadata-type", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "metadata is not a map of strings to strings";
    /// A value (or key) of `metadata` is a number, a boolean or null.
    METADATA_NOT_A_STRING = "metadata-not-a-string", Warning, None, "Agent Skills", Some("AP-8"),
        "a metadata entry is not a string";
    /// `allowed-tools` is a list; the field is a space-separated string.
    ALLOWED_TOOLS_TYPE = "allowed-tools-type", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "allowed-tools is not a string";
    /// `allowed-tools` separates its tools by commas.
    ALLOWED_TOOLS_COMMAS = "allowed-tools-commas", Info, None, "Agent Skills", Some("AP-8"),
        "allowed-tools is separated by commas";
    /// The frontmatter holds a key that the Agent Skills format does not list.
    UNKNOWN_KEY = "unknown-key", Warning, None, "Agent Skills", Some("AP-8"),
        "the frontmatter holds a key outside the Agent Skills format";
    /// A plain scalar means a string in YAML 1.2 and something else in YAML 1.1.
    YAML_AMBIGUOUS = "yaml-ambiguous", Info, None, "apkit", None,
        "a plain value is read differently by YAML 1.1 readers";
    /// `SKILL.md` has more than 500 lines.
    TOO_LONG = "too-long", Warning, None, "Agent Skills", None,
        "SKILL.md has more than 500 lines";
    /// A relative link in the body leads out of the skill's directory.
    LINK_LEAVES_SKILL = "link-leaves-skill", Warning, None, "Agent Skills", None,
        "a link leads out of the skill's directory";
    /// A relative link in the body leads to a file that is not there.
    LINK_BROKEN = "link-broken", Warning, None, "Agent Skills", None,
        "a link leads to a file that is not there";
    /// A link in the skill's directory leads out of the package.
    RESOURCE_ESCAPES = "resource-escapes", Warning, None, "§4.1", Some("AP-10"),
        "a file of the skill resolves outside the package";
    /// The body speaks a placeholder that one client alone expands.
    CLIENT_PLACEHOLDER = "client-placeholder", Warning, None, "apkit", None,
        "the body uses a placeholder that only some clients expand";
}
