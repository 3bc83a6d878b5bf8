//! Codes about the component location `skills/`.

codes! { "skills";
    /// `skills` is not a directory.
    NOT_A_DIRECTORY = "not-a-directory", Error, SkillsInvalid, "§6.2", Some("AP-7"),
        "skills is not a directory";
    /// `skills` resolves to a directory outside the package.
    ESCAPE = "escape", Error, SkillsInvalid, "§4.1", Some("AP-10"),
        "skills resolves outside the package";
    /// `skills/` cannot be listed.
    UNREADABLE = "unreadable", Error, SkillsInvalid, "§6.2", Some("AP-7"),
        "skills cannot be listed";
    /// A `SKILL.md` stands where no client looks for one.
    MISPLACED_SKILL = "misplaced-skill", Warning, None, "§7.1", Some("AP-7"),
        "a SKILL.md stands where no client looks for one";
}
