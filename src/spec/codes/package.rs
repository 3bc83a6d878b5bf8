//! Codes about the package as a whole.

codes! { "package";
    /// The manifest is fine, but no skill and no MCP server of the package loads,
    /// so a portable client gets nothing from it. Components are found only in
    /// `skills/` and `mcp.json`; client-native places are not read.
    NO_COMPONENTS = "no-components", Warning, None, "§6.1", None,
        "no portable component loads from the package";
    /// A fixed name stands there in other letter case. Names are compared as
    /// directory entries, so this is another file everywhere, even where the
    /// file system would open it.
    LOCATION_CASE = "location-case", Warning, None, "§6.1", None,
        "a fixed location is spelled in another letter case";
    /// Another manifest beside `plugin.json` names another version.
    VERSION_DRIFT = "version-drift", Warning, None, "apkit", None,
        "another manifest beside plugin.json names another version";
    /// A link at the top of the package leads out of it; clients deny access.
    LINK_ESCAPES = "link-escapes", Warning, None, "§4.1", Some("AP-10"),
        "a link at the top of the package leads out of it";
}
