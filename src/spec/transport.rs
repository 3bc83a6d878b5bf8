//! The types of MCP servers (§7.2.1), and the words that are used for them
//! elsewhere.

/// The variants and the fields each of them has.
pub const VARIANTS: &[(&str, &[&str])] = &[
    ("stdio", &["type", "command", "args", "env", "cwd"]),
    ("streamable-http", &["type", "url", "headers"]),
    ("sse", &["type", "url", "headers"]),
];

/// The type that is meant by a `type` of other formats, or by another spelling.
pub fn meant(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "http" | "https" | "streamable_http" | "streamablehttp" | "streamable-http" => {
            "streamable-http"
        }
        "local" | "command" | "stdio" => "stdio",
        "sse" => "sse",
        _ => return None,
    })
}
