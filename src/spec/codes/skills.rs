//! Codes about the component location `skills/`.

codes! { "skills";
    /// Something named `skills` stands at the top of the package, but it does not
    /// resolve to a directory: it is a file, a FIFO, or a link to nothing or in a
    /// circle. Clients then treat the component type as invalid, load no skill and
    /// go on with `mcp.json`. A package without skills simply has no entry of that
    /// name, which is no fault at all; so remove the entry, or make it the directory
    /// that holds one directory for each skill.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── skills            (a text file with a list of skills)
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── skills/
    ///     └── tides/
    ///         └── SKILL.md
    /// ```
    NOT_A_DIRECTORY = "not-a-directory", Error, SkillsInvalid, "§6.2", Some("AP-7"),
        "skills is not a directory";
    /// `skills` is a link whose target lies outside the package. Clients must not
    /// read it: they treat the component type as invalid, load no skill, and go on
    /// with `mcp.json`. What matters is the resolved path, and a sibling directory
    /// whose name merely begins like the package's is outside too. Move the skills
    /// into the package; a link to another directory of the same package is allowed.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── skills -> ../common-skills
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// ├── content/
    /// │   └── tides/
    /// │       └── SKILL.md
    /// └── skills -> content
    /// ```
    ESCAPE = "escape", Error, SkillsInvalid, "§4.1", Some("AP-10"),
        "skills resolves outside the package";
    /// `skills` is a directory, but its entries cannot be listed, mostly because its
    /// permissions deny reading. Nothing in it can be discovered, so no skill loads;
    /// `mcp.json` is not touched by that. Grant read and search permission on the
    /// directory.
    ///
    /// Wrong:
    ///
    /// ```text
    /// d--x--x--x  skills/
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// drwxr-xr-x  skills/
    /// ```
    UNREADABLE = "unreadable", Error, SkillsInvalid, "§6.2", Some("AP-7"),
        "skills cannot be listed";
    /// A `SKILL.md` stands at a depth where clients do not look: at the top of the
    /// package, directly in `skills/`, or one level too deep. Each skill is an
    /// immediate child directory of `skills/` with a `SKILL.md` in it, and clients
    /// must not search further down, so this one is never discovered. Move it (with
    /// its resources) to `skills/<name>/SKILL.md`. A `SKILL.md` below a directory
    /// that is a skill itself belongs to that skill and is not reported.
    ///
    /// Wrong:
    ///
    /// ```text
    /// skills/
    /// ├── SKILL.md
    /// └── sea/
    ///     └── tides/
    ///         └── SKILL.md
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// skills/
    /// ├── sea/
    /// │   └── SKILL.md
    /// └── tides/
    ///     └── SKILL.md
    /// ```
    MISPLACED_SKILL = "misplaced-skill", Warning, None, "§7.1", Some("AP-7"),
        "a SKILL.md stands where no client looks for one";
}
