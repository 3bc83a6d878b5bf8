//! Codes about one skill: its directory, its frontmatter, its body.

codes! { "skill";
    /// The skill's directory or its `SKILL.md` is a link that resolves outside the
    /// package. Clients must not read or even list what lies there: they skip this
    /// skill and load the others. Links inside the package are fine, and the skill is
    /// then named after the entry in `skills/`, not after the target. Copy the skill
    /// into the package.
    ///
    /// Wrong:
    ///
    /// ```text
    /// skills/
    /// └── tides -> ../../other-package/skills/tides
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// skills/
    /// └── tides/
    ///     └── SKILL.md
    /// ```
    ESCAPE = "escape", Error, SkillSkipped, "§4.1", Some("AP-10"),
        "the skill resolves outside the package";
    /// `SKILL.md` is a directory, a FIFO, a socket or a device, or it, or the skill's
    /// entry in `skills/`, is a link that leads nowhere or in a circle. A skill is
    /// discovered only where `SKILL.md` resolves to a regular file, so for clients
    /// there is no skill here, and nothing tells the user. Put a regular file there,
    /// repair the link, or remove the entry.
    ///
    /// Wrong:
    ///
    /// ```text
    /// skills/
    /// └── tides/
    ///     └── SKILL.md -> ../../docs/tides.md      (does not exist)
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// skills/
    /// └── tides/
    ///     └── SKILL.md
    /// ```
    NOT_A_FILE = "not-a-file", Warning, None, "§7.1", Some("AP-7"),
        "SKILL.md is not a regular file";
    /// The directory holds a file such as `skill.md` or `Skill.md`, but none named
    /// exactly `SKILL.md`. The name is compared as a directory entry, so no skill is
    /// discovered; a client that simply opens `SKILL.md` finds it where the file system
    /// ignores case and misses it everywhere else. Rename the file.
    ///
    /// Wrong:
    ///
    /// ```text
    /// skills/tides/skill.md
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// skills/tides/SKILL.md
    /// ```
    FILE_CASE = "file-case", Warning, None, "§7.1", Some("AP-7"),
        "SKILL.md is spelled in another letter case";
    /// The name of the skill's directory is not UTF-8 (or, on Windows, not UTF-16). A
    /// skill's name must equal its directory's name and consists of ASCII, so no name
    /// can match, and clients skip the skill. Rename the directory.
    ///
    /// Wrong:
    ///
    /// ```text
    /// skills/mar<E9>e/SKILL.md
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// skills/maree/SKILL.md
    /// ```
    DIRECTORY_NOT_UTF8 = "directory-not-utf8", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the skill's directory name is not UTF-8";
    /// `SKILL.md`, or the directory it lies in, is there, but the system refuses to
    /// read it, mostly for want of permission. The skill is skipped and the others
    /// load. Grant read permission on the file, and search permission on the directory.
    ///
    /// Wrong:
    ///
    /// ```text
    /// ----------  skills/tides/SKILL.md
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// -rw-r--r--  skills/tides/SKILL.md
    /// ```
    UNREADABLE = "unreadable", Error, SkillSkipped, "§7.1", Some("AP-9"),
        "SKILL.md cannot be read";
    /// `SKILL.md` is larger than the 16 MiB that apkit reads. The format sets no limit,
    /// but the whole file goes into a model's context once the skill is used, so a file
    /// of that size is a mistake or an attack; the skill is skipped. Move data into
    /// `assets/` or `references/`.
    ///
    /// Wrong:
    ///
    /// ```text
    /// 21M  skills/tides/SKILL.md
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// 4K   skills/tides/SKILL.md
    /// 21M  skills/tides/assets/stations.csv
    /// ```
    TOO_LARGE = "too-large", Error, SkillSkipped, "§7.1", Some("AP-9"),
        "SKILL.md is larger than 16 MiB";
    /// `SKILL.md` holds bytes that are not UTF-8, in the frontmatter or in the body.
    /// There is no telling which characters were meant, so clients skip the skill.
    /// The usual cause is an editor that saves Latin-1, Windows-1252 or UTF-16. Save
    /// the file as UTF-8.
    ///
    /// Wrong:
    ///
    /// ```text
    /// description: Heights at S<E3>o Pedro        (the single byte E3, Latin-1)
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// description: Heights at S<C3 A3>o Pedro     (two bytes, UTF-8)
    /// ```
    INVALID_UTF8 = "invalid-utf8", Error, SkillSkipped, "Agent Skills", Some("AP-9"),
        "SKILL.md is not UTF-8";
    /// `SKILL.md` begins with a UTF-8 byte order mark, as some editors on Windows write
    /// it. YAML permits the mark, so the skill loads here; but some clients then see no
    /// `---` at the beginning and drop the skill without a word. Save the file as
    /// "UTF-8", not as "UTF-8 with BOM".
    ///
    /// Wrong:
    ///
    /// ```text
    /// <EF BB BF>---
    /// name: tides
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// ---
    /// name: tides
    /// ```
    BYTE_ORDER_MARK = "byte-order-mark", Info, None, "apkit", None,
        "SKILL.md begins with a byte order mark";
    /// The first line of `SKILL.md` is not `---`. Name and description are read from
    /// YAML frontmatter at the very beginning of the file, so without it there is no
    /// valid skill and clients skip it. A blank line, a heading or a comment before the
    /// marker, and a line of four dashes, are no frontmatter either; an empty file has
    /// none.
    ///
    /// Wrong:
    ///
    /// ```markdown
    /// # Tides
    ///
    /// Look up the next high water.
    /// ```
    ///
    /// Right:
    ///
    /// ```markdown
    /// ---
    /// name: tides
    /// description: Look up high and low water. Use when the user asks about tides.
    /// ---
    ///
    /// # Tides
    ///
    /// Look up the next high water.
    /// ```
    FRONTMATTER_MISSING = "frontmatter-missing", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "SKILL.md does not begin with frontmatter";
    /// The frontmatter begins with `---`, but no later line consists of `---`, so its
    /// end is unknown and clients skip the skill. An indented `---`, one inside a value
    /// and a line `...` do not close it. Put `---` on a line of its own, at the
    /// beginning of that line, behind the last field.
    ///
    /// Wrong:
    ///
    /// ```markdown
    /// ---
    /// name: tides
    /// description: Look up high and low water.
    ///
    /// # Tides
    /// ```
    ///
    /// Right:
    ///
    /// ```markdown
    /// ---
    /// name: tides
    /// description: Look up high and low water.
    /// ---
    ///
    /// # Tides
    /// ```
    FRONTMATTER_UNCLOSED = "frontmatter-unclosed", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the frontmatter is never closed";
    /// The frontmatter is not YAML, so no field of it can be trusted and clients skip
    /// the skill; repairing it by guesswork could lose a restriction such as
    /// `allowed-tools`. By far the most frequent cause is an unquoted value that holds
    /// a colon followed by a space, or that begins with a character YAML reserves
    /// (an at sign, a backtick, an asterisk, a bracket or a brace): quote the value. A
    /// tab used for indentation is another.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: tides
    /// description: Two answers: high water and low water
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: "Two answers: high water and low water"
    /// ```
    FRONTMATTER_INVALID = "frontmatter-invalid", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the frontmatter is not YAML";
    /// The frontmatter is nested deeper or stands for more values than apkit reads.
    /// Aliases make it possible that a few lines stand for billions of values, and a
    /// reader that expands them never comes back; apkit counts and skips the skill.
    /// Frontmatter is a short, flat list of fields: write the values out, or move data
    /// into a file of the skill.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// a: &a [x, x, x, x, x, x, x, x, x]
    /// b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]
    /// c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]
    /// # … and so on
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water.
    /// ```
    FRONTMATTER_TOO_COMPLEX = "frontmatter-too-complex", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the frontmatter is nested too deep or holds too many values";
    /// The frontmatter is YAML, but a list or a single text, not a mapping of keys to
    /// values. There is no name and no description in it, so clients skip the skill.
    /// Often the space behind a colon is missing, which makes the line one plain text.
    /// Write each field as a key, a colon, a space and the value, without a dash before
    /// it.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// - name: tides
    /// - description: Look up high and low water.
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water.
    /// ```
    FRONTMATTER_NOT_A_MAPPING = "frontmatter-not-a-mapping", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the frontmatter is not a mapping";
    /// A mapping in the frontmatter holds the same key twice. YAML demands unique keys
    /// and readers refuse such a text, so clients skip the skill; taking one of the two
    /// values would be a guess. Remove one of the lines.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high water.
    /// description: Look up low water.
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water.
    /// ```
    DUPLICATE_KEY = "duplicate-key", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "a frontmatter key stands twice";
    /// The frontmatter has no `name`. The field is required, and a conforming client
    /// does not take the directory's name for it, so the skill is skipped. Add `name`
    /// with exactly the directory's name; keys are lower case.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// # skills/tides/SKILL.md
    /// description: Look up high and low water.
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// # skills/tides/SKILL.md
    /// name: tides
    /// description: Look up high and low water.
    /// ```
    NAME_MISSING = "name-missing", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the skill has no name";
    /// `name` is a string outside the grammar of skill names, so clients skip the
    /// skill. A name has 1 to 64 characters out of `a` to `z`, `0` to `9` and `-`; it
    /// neither begins nor ends with a hyphen and holds no two hyphens in a row. Unlike
    /// the name of a plugin it has no periods. Blanks and line feeds around the name
    /// count, as a quoted text or a block scalar may carry them. Rename the skill and
    /// its directory together.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: Tide_Lookup.v2
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tide-lookup-v2
    /// ```
    NAME_INVALID = "name-invalid", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "name breaks the grammar of skill names";
    /// `name` is a valid name, but not the name of the directory that holds `SKILL.md`.
    /// The two must be equal, so clients skip the skill; several load it all the same,
    /// under one name or the other. Where the directory is a link, the name of the
    /// entry in `skills/` counts. Change one of the two; the directory is what users
    /// and other files refer to, so mostly the field is the one to change.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// # skills/tides/SKILL.md
    /// name: tide-lookup
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// # skills/tides/SKILL.md
    /// name: tides
    /// ```
    NAME_MISMATCH = "name-mismatch", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "name differs from the skill's directory";
    /// The frontmatter has no `description`. The field is required: it is all a model
    /// sees of the skill until it decides to use it, so clients skip a skill without
    /// one and do not make one up from the body. Say what the skill does and when to
    /// use it.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: tides
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water. Use when the user asks about tides.
    /// ```
    DESCRIPTION_MISSING = "description-missing", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "the skill has no description";
    /// `description` is an empty string or nothing but white space. The format asks for
    /// a text that is not empty, so clients skip the skill. Say what the skill does and
    /// when to use it; a key with nothing behind the colon is `null` and not a string
    /// at all, which is reported as a wrong type.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: tides
    /// description: ""
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water. Use when the user asks about tides.
    /// ```
    DESCRIPTION_EMPTY = "description-empty", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "description is empty";
    /// `description` is longer than 1 024 characters, so clients skip the skill. The
    /// description of every installed skill is always in the model's context, hence the
    /// limit. Characters are Unicode code points, not bytes, and the line feed at the
    /// end of a block scalar counts (`>-` and `|-` leave it out). Keep what decides when
    /// to use the skill, and move the rest into the body.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water at … # 1 500 characters
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water. Use when the user asks about tides.
    /// ```
    DESCRIPTION_TOO_LONG = "description-too-long", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "description is longer than 1024 characters";
    /// `compatibility` is an empty string or longer than 500 characters. The field is
    /// optional, but where it stands it has 1 to 500 characters (Unicode code points),
    /// so clients skip the skill otherwise. Remove the field, as most skills do not
    /// need it, or shorten it to what the skill needs from its environment.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water.
    /// compatibility: ""
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water.
    /// compatibility: Needs network access
    /// ```
    COMPATIBILITY_LENGTH = "compatibility-length", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "compatibility is not 1 to 500 characters long";
    /// `name`, `description`, `license` or `compatibility` is a number, a boolean,
    /// `null`, a list or a mapping instead of a string. Clients skip the skill: some
    /// readers would turn `1e3` or `true` into text, each in its own way, and a value
    /// that differs from client to client is no name. Quote the value. An optional
    /// field that has no value is to be left out, since `license:` alone is `null`.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: 2048
    /// description: [high water, low water]
    /// license:
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: "2048"
    /// description: Look up high and low water.
    /// ```
    FIELD_TYPE = "field-type", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "a frontmatter field has the wrong type";
    /// `metadata` is not a mapping, or one of its values is a list or a mapping. The
    /// field maps strings to strings, one level deep, so clients skip the skill.
    /// Flatten the keys, or write a list as one text; data for one client that needs
    /// more structure belongs into a file of the skill.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// metadata:
    ///   authors: [Mara, Idris]
    ///   release:
    ///     version: "1.4"
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// metadata:
    ///   authors: Mara, Idris
    ///   release-version: "1.4"
    /// ```
    METADATA_TYPE = "metadata-type", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "metadata is not a map of strings to strings";
    /// A key or value of `metadata` is a number, a boolean or `null`. The format asks
    /// for strings. Nearly every reader turns such a value into text, so apkit loads
    /// the skill, but the text need not be the one you wrote: `1.10` can come back as
    /// `1.1`, a date in another form. Quote it; then it is the same everywhere.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// metadata:
    ///   version: 1.10
    ///   reviewed: true
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// metadata:
    ///   version: "1.10"
    ///   reviewed: "true"
    /// ```
    METADATA_NOT_A_STRING = "metadata-not-a-string", Warning, None, "Agent Skills", Some("AP-8"),
        "a metadata entry is not a string";
    /// `allowed-tools` is a list or another value that is not a string. The format
    /// defines one string with the tools separated by spaces, so conforming clients skip
    /// the skill, although some clients take lists in a format of their own. Write the
    /// one string; a field without a value is to be left out.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// allowed-tools: [Read, Grep]
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// allowed-tools: Read Grep
    /// ```
    ALLOWED_TOOLS_TYPE = "allowed-tools-type", Error, SkillSkipped, "Agent Skills", Some("AP-8"),
        "allowed-tools is not a string";
    /// `allowed-tools` is a string, but its tools are separated by commas. Any string
    /// loads; the format, however, separates tools by spaces, and a client that follows
    /// it looks for a tool named `Read,` and finds none. Use spaces alone.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// allowed-tools: Read, Grep, Bash(git:*)
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// allowed-tools: Read Grep Bash(git:*)
    /// ```
    ALLOWED_TOOLS_COMMAS = "allowed-tools-commas", Info, None, "Agent Skills", Some("AP-8"),
        "allowed-tools is separated by commas";
    /// The frontmatter holds a key that the Agent Skills format does not define. The
    /// format does not close its list of keys, so a conforming client loads the skill
    /// and ignores the key; yet several clients drop such skills, and none but the
    /// key's inventor acts on it. Move your own data under `metadata`. For a key that
    /// one client understands, decide whether that client is worth losing others.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water.
    /// version: "1.4"
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: tides
    /// description: Look up high and low water.
    /// metadata:
    ///   version: "1.4"
    /// ```
    UNKNOWN_KEY = "unknown-key", Warning, None, "Agent Skills", Some("AP-8"),
        "the frontmatter holds a key outside the Agent Skills format";
    /// An unquoted value is a string in YAML 1.2, which apkit reads, and a boolean or a
    /// number for the many readers that still follow YAML 1.1: `yes`, `no`, `on`, `off`,
    /// `y`, `n`, digits with underscores, and groups of digits with colons. The skill loads here, and such a client may skip it. Quote
    /// the value.
    ///
    /// Wrong:
    ///
    /// ```yaml
    /// name: on
    /// license: no
    /// ```
    ///
    /// Right:
    ///
    /// ```yaml
    /// name: "on"
    /// license: "no"
    /// ```
    YAML_AMBIGUOUS = "yaml-ambiguous", Info, None, "apkit", None,
        "a plain value is read differently by YAML 1.1 readers";
    /// `SKILL.md` has more than 500 lines, frontmatter included. The format advises to
    /// stay below, since the whole file enters the model's context as soon as the
    /// skill is used; conforming clients load it, and some cut long files without
    /// saying so. Keep the steps in `SKILL.md` and move detail into files that are read
    /// when needed.
    ///
    /// Wrong:
    ///
    /// ```text
    /// 1240 lines  skills/tides/SKILL.md
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    ///  120 lines  skills/tides/SKILL.md
    /// 1120 lines  skills/tides/references/stations.md
    /// ```
    TOO_LONG = "too-long", Warning, None, "Agent Skills", None,
        "SKILL.md has more than 500 lines";
    /// A relative link in the body climbs out of the skill's directory. The skill
    /// loads, but what such a link finds depends on where a client has put the skill:
    /// some copy each skill on its own, and the target is then gone. The format resolves
    /// references from the skill's directory. Move the file into the skill, or refer to
    /// another skill by its name.
    ///
    /// Wrong:
    ///
    /// ```markdown
    /// See [the list of stations](../../docs/stations.md).
    /// ```
    ///
    /// Right:
    ///
    /// ```markdown
    /// See [the list of stations](references/stations.md).
    /// ```
    LINK_LEAVES_SKILL = "link-leaves-skill", Warning, None, "Agent Skills", None,
        "a link leads out of the skill's directory";
    /// A relative link in the body names a file that is not in the skill's directory.
    /// The skill loads, and the model that follows the link wastes a step or works
    /// without the text it needs. Paths are relative to the skill's directory, and
    /// letter case counts. Correct the path, or add the file; build steps and packing
    /// lists that leave `references/` out are a frequent cause.
    ///
    /// Wrong:
    ///
    /// ```markdown
    /// See [the list of stations](reference/Stations.md).
    /// ```
    ///
    /// Right:
    ///
    /// ```markdown
    /// See [the list of stations](references/stations.md).
    /// ```
    LINK_BROKEN = "link-broken", Warning, None, "Agent Skills", None,
        "a link leads to a file that is not there";
    /// A symbolic link somewhere in the skill's directory resolves outside the package.
    /// The skill itself loads; clients must deny access to this one path, so whatever
    /// it was to supply is missing, and some installers refuse the skill altogether.
    /// Copy the target into the skill.
    ///
    /// Wrong:
    ///
    /// ```text
    /// skills/tides/
    /// ├── SKILL.md
    /// └── references -> ../../../shared/references
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// skills/tides/
    /// ├── SKILL.md
    /// └── references/
    ///     └── stations.md
    /// ```
    RESOURCE_ESCAPES = "resource-escapes", Warning, None, "§4.1", Some("AP-10"),
        "a file of the skill resolves outside the package";
    /// The body of `SKILL.md` holds a placeholder such as `${CLAUDE_PLUGIN_ROOT}`,
    /// `${user_config.key}`, or a path below `${PLUGIN_ROOT}`. No portable client expands anything
    /// in a skill: `${PLUGIN_ROOT}` and `${PLUGIN_DATA}` have a meaning in `mcp.json`
    /// only, the others with one client only. Everywhere else the model reads the
    /// literal text and runs commands on a path that does not exist. Use paths relative
    /// to the skill's directory.
    ///
    /// Wrong:
    ///
    /// ```markdown
    /// Run `python3 ${CLAUDE_PLUGIN_ROOT}/skills/tides/scripts/lookup.py`.
    /// ```
    ///
    /// Right:
    ///
    /// ```markdown
    /// Run `python3 scripts/lookup.py` (the path is relative to this skill).
    /// ```
    CLIENT_PLACEHOLDER = "client-placeholder", Warning, None, "apkit", None,
        "the body uses a placeholder that only some clients expand";
}
