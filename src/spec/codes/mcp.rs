//! Codes about `mcp.json` and the servers in it.

codes! { "mcp";
    /// `mcp.json` is a directory, a FIFO, a device, or a link to nothing.
    NOT_A_FILE = "not-a-file", Error, McpDisabled, "§6.2", Some("AP-11"),
        "mcp.json is not a regular file";
    /// `mcp.json` resolves to a file outside the package.
    ESCAPE = "escape", Error, McpDisabled, "§4.1", Some("AP-10"),
        "mcp.json resolves outside the package";
    /// `mcp.json` cannot be read.
    UNREADABLE = "unreadable", Error, McpDisabled, "§6.2", Some("AP-11"),
        "mcp.json cannot be read";
    /// `mcp.json` is larger than apkit reads.
    TOO_LARGE = "too-large", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json is larger than 16 MiB";
    /// `mcp.json` holds bytes that are not UTF-8.
    INVALID_UTF8 = "invalid-utf8", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json is not UTF-8";
    /// `mcp.json` begins with a byte order mark.
    BYTE_ORDER_MARK = "byte-order-mark", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json begins with a byte order mark";
    /// `mcp.json` is not JSON.
    INVALID_JSON = "invalid-json", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json is not JSON";
    /// `mcp.json` is nested too deep or holds too many values.
    TOO_COMPLEX = "too-complex", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json is nested too deep or holds too many values";
    /// The top-level value of `mcp.json` is not an object.
    NOT_AN_OBJECT = "not-an-object", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcp.json is not a JSON object";
    /// A member name stands twice in one object; the last one counts here.
    DUPLICATE_KEY = "duplicate-key", Warning, None, "§7.2.1", None,
        "a member name stands twice in one object";
    /// A string holds half of a surrogate pair.
    LONE_SURROGATE = "lone-surrogate", Warning, None, "§7.2.1", None,
        "a string holds half of a surrogate pair";
    /// `mcp.json` has no `$schema`.
    SCHEMA_MISSING = "schema-missing", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcp.json has no $schema";
    /// `$schema` is no identifier of an Agent Plugins MCP schema.
    SCHEMA_INVALID = "schema-invalid", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "$schema is not a canonical Agent Plugins MCP identifier";
    /// `$schema` names a version of the specification that is not supported.
    SCHEMA_UNSUPPORTED = "schema-unsupported", Error, McpDisabled, "§7.2.2", Some("AP-20"),
        "$schema names an unsupported specification version";
    /// `$schema` names another version than `plugin.json` does.
    SCHEMA_MISMATCH = "schema-mismatch", Error, McpDisabled, "§10.1", Some("AP-12"),
        "mcp.json targets another version than plugin.json";
    /// `mcp.json` has no `mcpServers`.
    SERVERS_MISSING = "servers-missing", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcp.json has no mcpServers";
    /// `mcpServers` is not an object.
    SERVERS_TYPE = "servers-type", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcpServers is not an object";
    /// `mcp.json` holds a top-level field other than `$schema` and `mcpServers`.
    UNKNOWN_FIELD = "unknown-field", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcp.json holds an unknown top-level field";
    /// The name of a server is empty or holds control characters.
    SERVER_NAME = "server-name", Info, None, "apkit", None,
        "a server name is empty or holds control characters";
    /// The name of a server holds half of a surrogate pair.
    SERVER_NAME_INVALID = "server-name-invalid", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a server name holds half of a surrogate pair";
    /// A server entry is not an object.
    SERVER_NOT_AN_OBJECT = "server-not-an-object", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a server entry is not an object";
    /// A server entry has no `type`.
    TYPE_MISSING = "type-missing", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a server entry has no type";
    /// `type` is none of `stdio`, `streamable-http` and `sse`.
    TYPE_UNKNOWN = "type-unknown", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "type names no transport of the specification";
    /// A server entry holds a field that its variant does not have.
    SERVER_UNKNOWN_FIELD = "server-unknown-field", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a server entry holds a field that its type does not have";
    /// A field of a server entry has the wrong type.
    FIELD_TYPE = "field-type", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a field of a server entry has the wrong type";
    /// A stdio server has no `command`.
    COMMAND_MISSING = "command-missing", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a stdio server has no command";
    /// `command` is neither a bare executable name nor a `./` path.
    COMMAND_FORM = "command-form", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "command is neither a bare name nor a ./ path";
    /// `command` is a command line, not a single executable token.
    COMMAND_LINE = "command-line", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "command is a command line, not one executable";
    /// `command` resolves outside the package.
    COMMAND_ESCAPE = "command-escape", Error, ServerSkipped, "§4.1", Some("AP-10"),
        "command resolves outside the package";
    /// The file that `command` names is not in the package.
    COMMAND_NOT_FOUND = "command-not-found", Warning, None, "apkit", None,
        "the file that command names is not in the package";
    /// The file that `command` names cannot be executed.
    COMMAND_NOT_EXECUTABLE = "command-not-executable", Warning, None, "apkit", None,
        "the file that command names is not executable";
    /// `command` holds placeholder text, which no client expands there.
    COMMAND_PLACEHOLDER = "command-placeholder", Warning, None, "§9.2", Some("AP-17"),
        "command holds placeholder text";
    /// A `./` argument depends on the working directory.
    ARGUMENT_RELATIVE = "argument-relative", Warning, None, "apkit", None,
        "an argument is a path relative to the working directory";
    /// `env` sets a variable that only the client may set.
    ENV_RESERVED = "env-reserved", Error, ServerSkipped, "§9.2", Some("AP-13"),
        "env sets PLUGIN_ROOT or PLUGIN_DATA";
    /// `env` sets a reserved variable in other letter case.
    ENV_RESERVED_CASE = "env-reserved-case", Warning, None, "§9.1", Some("AP-13"),
        "env sets a reserved variable in another letter case";
    /// `env` sets a name that no platform can set.
    ENV_NAME = "env-name", Warning, None, "apkit", None,
        "env sets a name that no platform can set";
    /// `cwd` has none of the three permitted forms.
    CWD_FORM = "cwd-form", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "cwd has none of the permitted forms";
    /// `cwd` resolves outside the package or the data directory.
    CWD_ESCAPE = "cwd-escape", Error, ServerSkipped, "§4.1", Some("AP-10"),
        "cwd resolves outside its base directory";
    /// `cwd` names no directory of the package.
    CWD_NOT_A_DIRECTORY = "cwd-not-a-directory", Warning, None, "apkit", None,
        "cwd names no directory of the package";
    /// `cwd` holds a placeholder behind its beginning.
    CWD_PLACEHOLDER = "cwd-placeholder", Warning, None, "§9.2", Some("AP-17"),
        "cwd holds a placeholder behind its beginning";
    /// A remote server has no `url`.
    URL_MISSING = "url-missing", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a remote server has no url";
    /// `url` is not an absolute URL.
    URL_INVALID = "url-invalid", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "url is not an absolute HTTP or HTTPS URL";
    /// `url` holds user information.
    URL_USER_INFORMATION = "url-user-information", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "url holds user information";
    /// `url` holds a fragment.
    URL_FRAGMENT = "url-fragment", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "url holds a fragment";
    /// `url` is plain HTTP to a host that is not loopback.
    URL_NOT_HTTPS = "url-not-https", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "url is plain HTTP to a host that is not loopback";
    /// A header name is no HTTP token.
    HEADER_NAME = "header-name", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a header name is not valid";
    /// A header value holds characters that HTTP forbids.
    HEADER_VALUE = "header-value", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a header value is not valid";
    /// Two header names differ in letter case only.
    HEADER_DUPLICATE = "header-duplicate", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a header name stands twice under different casing";
    /// A header value is legal but not sent alike by all clients.
    HEADER_VALUE_PORTABILITY = "header-value-portability", Warning, None, "§7.2.1", None,
        "a header value is not sent alike by all clients";
    /// A configured header is one that clients generate themselves.
    HEADER_CLIENT_GENERATED = "header-client-generated", Info, None, "§7.2.1", Some("AP-15"),
        "clients replace this header by their own";
    /// A value looks like a credential.
    CREDENTIAL = "credential", Warning, None, "§7.2.1", Some("AP-15"),
        "a value looks like a credential";
    /// Text looks like a placeholder that stays literal.
    UNEXPANDED_PLACEHOLDER = "unexpanded-placeholder", Warning, None, "§9.2", Some("AP-17"),
        "a placeholder stays literal";
    /// Text holds another client's placeholder.
    CLIENT_PLACEHOLDER = "client-placeholder", Warning, None, "§9.2", Some("AP-17"),
        "another client's placeholder stays literal";
    /// `sse` is deprecated and optional for clients.
    SSE_OPTIONAL = "sse-optional", Info, None, "§7.2.1", Some("AP-14"),
        "not every client supports the sse transport";
}
