//! Codes about the package as a whole.

codes! { "package";
    /// The manifest is fine, yet no skill and no MCP server of the package loads,
    /// so a portable client installs it and gets nothing. Clients look for
    /// components in `skills/` and `mcp.json` only; places that belong to one
    /// client (`commands/`, `agents/`, `.mcp.json`) and fields of `plugin.json`
    /// are not read for them. Often a build step that fills `skills/` has not run,
    /// or every component has an error of its own, reported beside this. Put at
    /// least one component in a portable place; `--require-components` turns
    /// this warning into a failure of the run.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── commands/
    ///     └── tides.md
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
    NO_COMPONENTS = "no-components", Warning, None, "§6.1", None,
        "no portable component loads from the package";
    /// A fixed name stands at the top of the package in other letter case, and the
    /// exact name is absent. The names `skills` and `mcp.json` are compared as
    /// directory entries, so a conforming client takes the component for absent;
    /// on a file system that ignores case another client may open it all the same,
    /// and the package behaves differently from machine to machine. Rename the
    /// entry to lower case (with version control on such a file system, in two
    /// steps or with its own move command).
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// ├── MCP.json
    /// └── Skills/
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// ├── mcp.json
    /// └── skills/
    /// ```
    LOCATION_CASE = "location-case", Warning, None, "§6.1", None,
        "a fixed location is spelled in another letter case";
    /// A manifest of one client, or `package.json`, stands beside `plugin.json` and
    /// names another version. Portable clients use the version in `plugin.json` and
    /// no other, so they load the package; but each client then shows its own number,
    /// and one that compares numbers may miss an update or offer one for ever. Write
    /// the same version everywhere, best from one source when you release. A private
    /// `package.json` with the placeholder version `0.0.0` is left alone.
    ///
    /// Wrong:
    ///
    /// ```text
    /// plugin.json                  "version": "1.4.0"
    /// .claude-plugin/plugin.json   "version": "1.3.2"
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// plugin.json                  "version": "1.4.0"
    /// .claude-plugin/plugin.json   "version": "1.4.0"
    /// ```
    VERSION_DRIFT = "version-drift", Warning, None, "apkit", None,
        "another manifest beside plugin.json names another version";
    /// A link at the top of the package resolves to a place outside it. Clients must
    /// deny access to that path, whatever reads it, and load the rest. Such a link
    /// also breaks as soon as the package is copied, packed or installed from a
    /// registry. Copy the target into the package, or drop the link; links whose
    /// target lies inside the package are fine.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── docs -> ../../shared/docs
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── docs/
    ///     └── stations.md
    /// ```
    LINK_ESCAPES = "link-escapes", Warning, None, "§4.1", Some("AP-10"),
        "a link at the top of the package leads out of it";
}
