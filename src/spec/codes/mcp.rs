//! Codes about `mcp.json` and the servers in it.

codes! { "mcp";
    /// Something named `mcp.json` stands at the top of the package, but it does not
    /// resolve to a regular file: it is a directory, a FIFO, a device, or a link to
    /// nothing or in a circle. Clients then treat MCP as invalid for this package, load
    /// no server and go on with `skills/`. Only a package without any entry of that
    /// name simply has no servers. Put a regular file there, or remove the entry.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── mcp.json -> config/gone.json     (no such file)
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// ├── config/
    /// │   └── servers.json
    /// └── mcp.json -> config/servers.json
    /// ```
    NOT_A_FILE = "not-a-file", Error, McpDisabled, "§6.2", Some("AP-11"),
        "mcp.json is not a regular file";
    /// `mcp.json` is a link whose target lies outside the package. Clients must not
    /// read anything of a package from there, so MCP is off for this package and the
    /// skills still load. What counts is the resolved path: a sibling directory whose
    /// name merely begins like the package's is outside, and so is a target that does
    /// not exist yet. Move the file into the package; a link to another file of the
    /// same package is allowed.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── mcp.json -> ../shared/mcp.json
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── mcp.json
    /// ```
    ESCAPE = "escape", Error, McpDisabled, "§4.1", Some("AP-10"),
        "mcp.json resolves outside the package";
    /// `mcp.json` is a regular file of the package, but opening or reading it fails,
    /// mostly because its permissions deny it. The specification does not speak of
    /// this; apkit applies the narrowest boundary, so MCP is off for this package and
    /// the skills load. Grant read permission on the file and search permission on the
    /// directories above it.
    ///
    /// Wrong:
    ///
    /// ```text
    /// ----------  mcp.json
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// -rw-r--r--  mcp.json
    /// ```
    UNREADABLE = "unreadable", Error, McpDisabled, "§6.2", Some("AP-11"),
        "mcp.json cannot be read";
    /// `mcp.json` is larger than 16 MiB, more than apkit reads of one file. The
    /// specification sets no limit, but a configuration of that size is an accident or
    /// an attack, and clients have limits of their own. MCP counts as disabled for this
    /// package. Keep data in files of the package and pass their paths to the server.
    ///
    /// Wrong:
    ///
    /// ```text
    /// -rw-r--r--  29360128  mcp.json
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// -rw-r--r--      1184  mcp.json
    /// -rw-r--r--  29354112  data/stations.json
    /// ```
    TOO_LARGE = "too-large", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json is larger than 16 MiB";
    /// `mcp.json` holds bytes that are not UTF-8, or is UTF-16. JSON that is exchanged
    /// between programs has to be UTF-8, so the file is no valid JSON; clients disable
    /// MCP for the package and load the skills. The usual cause is an editor that saves
    /// in an older or a wider encoding. Save the file as UTF-8 without a byte order
    /// mark.
    ///
    /// Wrong:
    ///
    /// ```text
    /// 22 47 72 F6 DF 65 22        "Größe" in Latin-1
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// 22 47 72 C3 B6 C3 9F 65 22  "Größe" in UTF-8
    /// ```
    INVALID_UTF8 = "invalid-utf8", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json is not UTF-8";
    /// `mcp.json` begins with a byte order mark. RFC 8259 forbids to write one and lets
    /// readers ignore or refuse it, so the same file works in one client and not in the
    /// next. apkit counts it as invalid JSON: MCP is off for this package, and the
    /// skills load. Save the file without the mark; some editors call that "UTF-8" as
    /// opposed to "UTF-8 with BOM".
    ///
    /// Wrong:
    ///
    /// ```text
    /// EF BB BF 7B 22 24 …
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// 7B 22 24 …
    /// ```
    BYTE_ORDER_MARK = "byte-order-mark", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json begins with a byte order mark";
    /// `mcp.json` does not follow the JSON grammar of RFC 8259. Comments, trailing
    /// commas, single quotes, `NaN`, raw line breaks inside strings and text behind the
    /// closing brace all belong to other formats. A client that cannot read the file
    /// disables MCP for the package and goes on with the skills. Mend the place that is
    /// shown; there may be more behind it.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {
    ///   // our servers
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
    ///   "mcpServers": {},
    /// }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
    ///   "mcpServers": {}
    /// }
    /// ```
    INVALID_JSON = "invalid-json", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json is not JSON";
    /// `mcp.json` is nested deeper than 128 levels or holds more than a million values.
    /// RFC 8259 allows a reader to set such limits, and every reader has some, since
    /// deep nesting is a way to exhaust it. MCP counts as disabled for this package. No
    /// valid server needs more than four levels, so something else has got into the
    /// file.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "mcpServers": { "tides": [[[[[[[[ "… and 130 levels more" ]]]]]]]] }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "mcpServers": { "tides": { "type": "stdio", "command": "tides" } }
    /// ```
    TOO_COMPLEX = "too-complex", Error, McpDisabled, "§7.2.2", Some("AP-11"),
        "mcp.json is nested too deep or holds too many values";
    /// `mcp.json` is JSON, but its outermost value is an array, a string, a number, a
    /// boolean or null. The configuration is one object with `$schema` and
    /// `mcpServers`; with anything else clients disable MCP for the package and load
    /// the skills. Wrap the servers accordingly.
    ///
    /// Wrong:
    ///
    /// ```json
    /// [ { "type": "stdio", "command": "tides" } ]
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
    ///   "mcpServers": { "tides": { "type": "stdio", "command": "tides" } }
    /// }
    /// ```
    NOT_AN_OBJECT = "not-an-object", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcp.json is not a JSON object";
    /// A member name stands twice in one object of `mcp.json`, perhaps spelled with an
    /// escape once. JSON leaves the meaning of that open: most readers take the last
    /// one, some the first, some refuse the file. apkit judges the last one and ignores
    /// the others, as most clients do. Header names that differ in letter case only are
    /// another matter, see `mcp::header-duplicate`. Keep the one you mean.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "env": { "STATION": "north", "STATION": "south" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "env": { "STATION": "south" }
    /// ```
    DUPLICATE_KEY = "duplicate-key", Warning, None, "§7.2.1", None,
        "a member name stands twice in one object";
    /// A string of `mcp.json` holds an escape such as `\ud83d` without the other half
    /// of its pair. The JSON grammar allows it, but it stands for no character, and
    /// readers differ: some refuse the whole file, some replace the half, some pass it
    /// on. The file loads here, unless the string has to be a path, a URL, a header or
    /// a server name, where it breaks the rule of that field. Write the character
    /// itself or both halves.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "args": ["--title", "tide \ud83c table"]
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "args": ["--title", "tide \ud83c\udf0a table"]
    /// ```
    LONE_SURROGATE = "lone-surrogate", Warning, None, "§7.2.1", None,
        "a string holds half of a surrogate pair";
    /// `mcp.json` has no `$schema`. It names the version of the specification that the
    /// file is written for, and clients select their rules by it; without it they
    /// disable MCP for the package and load the skills. Files made for one client only
    /// have no such field, and often other differences too. Add the identifier of the
    /// version that `plugin.json` targets.
    ///
    /// Wrong:
    ///
    /// ```json
    /// { "mcpServers": {} }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
    ///   "mcpServers": {}
    /// }
    /// ```
    SCHEMA_MISSING = "schema-missing", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcp.json has no $schema";
    /// `$schema` is no string, or a string that is not the canonical identifier of an
    /// MCP configuration: the identifier of the manifest, another host or scheme, a
    /// trailing `#`. Identifiers are compared as strings; nothing is fetched and
    /// nothing is normalised. With an unknown identifier clients disable MCP for the
    /// package and load the skills. Copy the identifier exactly.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
    /// ```
    SCHEMA_INVALID = "schema-invalid", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "$schema is not a canonical Agent Plugins MCP identifier";
    /// `$schema` is well formed but names a version of the specification that apkit has
    /// no rules for. Compatibility between versions has to be recognised explicitly, so
    /// `1.0.1` is as unknown as `9.0.0`. Clients without rules for a version disable
    /// MCP for the package and load the skills. Target the version of `plugin.json`, or
    /// use a release of apkit that knows the newer one.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "$schema": "https://agent-plugins.org/schemas/9.0.0/mcp.schema.json"
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
    /// ```
    SCHEMA_UNSUPPORTED = "schema-unsupported", Error, McpDisabled, "§7.2.2", Some("AP-20"),
        "$schema names an unsupported specification version";
    /// `mcp.json` targets another version of the specification than `plugin.json` does.
    /// A package targets one version, which the manifest declares; a configuration
    /// written for another one is not used, even if a client knows both. MCP is off for
    /// the package, and the skills load. Change both files together when you move to a
    /// new version.
    ///
    /// Wrong:
    ///
    /// ```text
    /// plugin.json   "$schema": "https://agent-plugins.org/schemas/1.1.0/plugin.schema.json"
    /// mcp.json      "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// plugin.json   "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
    /// mcp.json      "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
    /// ```
    SCHEMA_MISMATCH = "schema-mismatch", Error, McpDisabled, "§10.1", Some("AP-12"),
        "mcp.json targets another version than plugin.json";
    /// `mcp.json` has no `mcpServers`. The field is required, even if no server is
    /// configured; some clients call theirs `servers` or `mcp`, which is another
    /// format. Without it clients disable MCP for the package and load the skills.
    /// Rename the field, or remove the file if there are no servers.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
    /// }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
    ///   "mcpServers": {}
    /// }
    /// ```
    SERVERS_MISSING = "servers-missing", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcp.json has no mcpServers";
    /// `mcpServers` is not an object. Servers are told apart by the member names of
    /// that object, so a list of servers, or null, leaves clients without names: they
    /// disable MCP for the package and load the skills. Give each server a name. An
    /// empty object is fine.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "mcpServers": [ { "type": "stdio", "command": "tides" } ]
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "mcpServers": { "tides": { "type": "stdio", "command": "tides" } }
    /// ```
    SERVERS_TYPE = "servers-type", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcpServers is not an object";
    /// `mcp.json` holds a field beside `$schema` and `mcpServers`. Its top level is
    /// closed and, unlike that of `plugin.json`, not forgiving: one unknown field
    /// disables MCP for the whole package; the skills load. Inputs, comments and
    /// versions of other formats are the usual cause. Remove the field; what one client
    /// needs belongs into `extensions` of `plugin.json`.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
    ///   "inputs": [],
    ///   "mcpServers": {}
    /// }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
    ///   "mcpServers": {}
    /// }
    /// ```
    UNKNOWN_FIELD = "unknown-field", Error, McpDisabled, "§7.2.1", Some("AP-11"),
        "mcp.json holds an unknown top-level field";
    /// The name of a server is empty or holds control characters. The specification
    /// takes any string, so the server loads. But clients show the name to people and
    /// build the names of tools from it, and an empty or invisible name is unusable
    /// there. Choose letters, digits and hyphens.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "mcpServers": { "": { "type": "stdio", "command": "tides" } }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "mcpServers": { "tides": { "type": "stdio", "command": "tides" } }
    /// ```
    SERVER_NAME = "server-name", Info, None, "apkit", None,
        "a server name is empty or holds control characters";
    /// The name of a server holds half of a surrogate pair, an escape such as `\ud83c`
    /// that stands for no character. A name identifies the server in settings, tool
    /// names and reports, and most programs cannot even hold this one; those that
    /// replace the half may make two names equal. The server is skipped and the others
    /// load. Write the character itself, both halves of its pair, or a plain name.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "mcpServers": { "tides\ud83c": { "type": "stdio", "command": "tides" } }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "mcpServers": { "tides": { "type": "stdio", "command": "tides" } }
    /// ```
    SERVER_NAME_INVALID = "server-name-invalid", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a server name holds half of a surrogate pair";
    /// The value of a server name is not an object. There is no short form, such as a
    /// command line or an address alone, and null does not switch a server off. Clients
    /// skip this entry and load the other servers. Write the object with `type` and the
    /// fields of that type, or remove the entry.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "mcpServers": { "tides": "npx -y tides" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "mcpServers": { "tides": { "type": "stdio", "command": "npx", "args": ["-y", "tides"] } }
    /// ```
    SERVER_NOT_AN_OBJECT = "server-not-an-object", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a server entry is not an object";
    /// A server has no `type`. Other formats guess the transport from `command` or
    /// `url`; here the type selects one of three closed variants, and without it no
    /// field can be judged. Clients skip the server and load the others. Add `"type":
    /// "stdio"` for a process, `"type": "streamable-http"` for an address.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "command": "tides" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides" }
    /// ```
    TYPE_MISSING = "type-missing", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a server entry has no type";
    /// `type` is none of `stdio`, `streamable-http` and `sse`. Those words are exact,
    /// so `http`, `streamableHttp` and `STDIO` of other formats are unknown too.
    /// Clients skip the server and load the others; what else the entry holds is not
    /// judged. `http` elsewhere mostly means `streamable-http` here.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "http", "url": "https://tides.example/mcp" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://tides.example/mcp" }
    /// ```
    TYPE_UNKNOWN = "type-unknown", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "type names no transport of the specification";
    /// A server holds a field that its type does not have: a field of one client
    /// (`timeout`, `disabled`, `oauth`), a misspelt one, or one of another type, such
    /// as `url` beside `"type": "stdio"`. The variants are closed so that a
    /// configuration means the same everywhere, and clients skip a server that does not
    /// fit; the others load. stdio servers have `command`, `args`, `env` and `cwd`;
    /// remote ones have `url` and `headers`. Remove the field; client settings belong
    /// into `extensions` of `plugin.json`.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "timeout": 30 }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides" }
    /// ```
    SERVER_UNKNOWN_FIELD = "server-unknown-field", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a server entry holds a field that its type does not have";
    /// A field of a server has a value of the wrong JSON type. `type`, `command`, `cwd`
    /// and `url` are strings, `args` is an array of strings, `env` and `headers` are
    /// objects of strings; a number or a boolean in them has to be quoted, and null is
    /// not the same as leaving a field out. Clients skip the server and load the
    /// others.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "env": { "PORT": 8080 }, "cwd": null }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "env": { "PORT": "8080" } }
    /// ```
    FIELD_TYPE = "field-type", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a field of a server entry has the wrong type";
    /// A server of type `stdio` has no `command`. It is the one thing a client needs to
    /// start the process, so the server is skipped and the others load. Member names
    /// count letter by letter: `Command` is another field. Name the executable; what
    /// follows it goes into `args`.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "args": ["serve"] }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "args": ["serve"] }
    /// ```
    COMMAND_MISSING = "command-missing", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a stdio server has no command";
    /// `command` is neither a bare executable name nor a path that begins with `./`. A
    /// bare name is looked up the way the platform does it, a `./` path starts at the
    /// package; absolute paths, `../` paths, `bin/x`, `~/x`, backslashes, `.`, `./` and
    /// an empty text are neither. Placeholders are not expanded in `command`, so
    /// `${PLUGIN_ROOT}/bin/x` has no permitted form either. Clients skip the server and
    /// load the others. For an executable of the package write `./` and its path.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "${PLUGIN_ROOT}/bin/tides" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "./bin/tides" }
    /// ```
    COMMAND_FORM = "command-form", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "command is neither a bare name nor a ./ path";
    /// `command` is a bare name with white space in it, as in a line for a shell. No
    /// shell is involved: the whole text is taken for the name of one executable, which
    /// does not exist. Clients skip the server and load the others. Put the executable
    /// into `command` and each argument into `args`. A space inside a `./` path is a
    /// part of the file name and allowed.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "npx -y tides" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "npx", "args": ["-y", "tides"] }
    /// ```
    COMMAND_LINE = "command-line", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "command is a command line, not one executable";
    /// `command` begins with `./` but leads out of the package: by `..`, by a link on
    /// its way whose target lies outside, or by a link that runs in a circle. Clients
    /// must not execute such a file; they skip the server and load the others. Paths
    /// are resolved step by step as the operating system does it, and a place below a
    /// link that leads out is outside even if it does not exist yet. Ship the
    /// executable inside the package; links within it are fine.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── bin -> ../tools
    /// ├── mcp.json          "command": "./bin/tides"
    /// └── plugin.json
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── bin/
    /// │   └── tides
    /// ├── mcp.json          "command": "./bin/tides"
    /// └── plugin.json
    /// ```
    COMMAND_ESCAPE = "command-escape", Error, ServerSkipped, "§4.1", Some("AP-10"),
        "command resolves outside the package";
    /// The `./` path in `command` leads to nothing in the package. That is no fault of
    /// the configuration, so clients load the server, and starting it fails. Mostly a
    /// build step has not run, or the file is left out of what is published. Ship the
    /// file, or correct the path.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── mcp.json          "command": "./dist/tides"
    /// ├── plugin.json
    /// └── src/
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── dist/
    /// │   └── tides
    /// ├── mcp.json          "command": "./dist/tides"
    /// └── plugin.json
    /// ```
    COMMAND_NOT_FOUND = "command-not-found", Warning, None, "apkit", None,
        "the file that command names is not in the package";
    /// The `./` path in `command` leads to a directory, or to a file that nobody may
    /// execute. Clients load the server, and starting it fails on systems with
    /// permission bits. The bit is easily lost when files are copied or committed from
    /// a system without it. Set it, also in version control, or start the file through
    /// its interpreter: `"command": "node"` with the path in `args`.
    ///
    /// Wrong:
    ///
    /// ```text
    /// -rw-r--r--  bin/tides
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// -rwxr-xr-x  bin/tides
    /// ```
    COMMAND_NOT_EXECUTABLE = "command-not-executable", Warning, None, "apkit", None,
        "the file that command names is not executable";
    /// `command` has a legal form but holds text that looks like a placeholder.
    /// Placeholders are expanded in `args`, `env` values and `cwd` and never in
    /// `command`, so the client looks for a file or a program of exactly this name. The
    /// server loads and will hardly start. A `./` path already begins at the package;
    /// nothing has to be put before it.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "./${PLUGIN_DATA}/tides" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "node", "args": ["${PLUGIN_DATA}/tides.js"] }
    /// ```
    COMMAND_PLACEHOLDER = "command-placeholder", Warning, None, "§9.2", Some("AP-17"),
        "command holds placeholder text";
    /// An argument, or the value behind the `=` of an option, begins with `./` or `../`,
    /// so it looks like a path. Arguments are
    /// opaque to clients: nobody resolves them against the package, and the server
    /// finds the file only if its working directory is the expected one. Without `cwd`
    /// that should be the package, but not every client gets it right, and a server may
    /// change it. Write the path with a placeholder, which is expanded to an absolute
    /// one. If the argument is no path, ignore this.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "python3", "args": ["./server/main.py"] }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "python3", "args": ["${PLUGIN_ROOT}/server/main.py"] }
    /// ```
    ARGUMENT_RELATIVE = "argument-relative", Warning, None, "apkit", None,
        "an argument is a path relative to the working directory";
    /// `env` holds `PLUGIN_ROOT` or `PLUGIN_DATA`. Clients set these two variables
    /// themselves for every server they start, so that a server can rely on them; a
    /// configured value makes the entry invalid, also if it repeats the placeholder.
    /// Clients skip the server and load the others. Remove the entry: the variables are
    /// there anyway. For a copy under another name, choose that name.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "env": { "PLUGIN_ROOT": "${PLUGIN_ROOT}" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "env": { "TIDES_HOME": "${PLUGIN_ROOT}" }
    /// ```
    ENV_RESERVED = "env-reserved", Error, ServerSkipped, "§9.2", Some("AP-13"),
        "env sets PLUGIN_ROOT or PLUGIN_DATA";
    /// `env` holds a name that equals `PLUGIN_ROOT` or `PLUGIN_DATA` except for letter
    /// case. Only the exact names are forbidden, so the server loads. On Windows, where
    /// variable names ignore case, the client's own value replaces this one; elsewhere
    /// the process gets both. Use a name that differs in more than its case.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "env": { "Plugin_Root": "/srv/tides" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "env": { "TIDES_HOME": "/srv/tides" }
    /// ```
    ENV_RESERVED_CASE = "env-reserved-case", Warning, None, "§9.1", Some("AP-13"),
        "env sets a reserved variable in another letter case";
    /// `env` holds a name that is empty or contains `=` or a NUL. No operating system
    /// can hand such a variable to a process, so clients drop it or fail to start the
    /// server. The specification gives no grammar for names, and the server loads. Use
    /// letters, digits and underscores.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "env": { "TIDES_UNIT=metric": "" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "env": { "TIDES_UNIT": "metric" }
    /// ```
    ENV_NAME = "env-name", Warning, None, "apkit", None,
        "env sets a name that no platform can set";
    /// An argument or the value of a variable holds a NUL character. JSON can write it
    /// (`\u0000`), but no system can hand it to a process: texts end there. The server
    /// loads, since the specification asks for strings and no more, and clients fail to
    /// start it. Remove the character.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "env": { "TIDES_UNIT": "metric\u0000" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "env": { "TIDES_UNIT": "metric" }
    /// ```
    NUL_CHARACTER = "nul-character", Warning, None, "apkit", None,
        "a value holds a NUL, which no process can be given";
    /// An argument begins with `${PLUGIN_ROOT}/`, or is an option with such a value,
    /// and there is nothing in the package where it leads. Clients load the server and
    /// pass the path on; what the server does then is its own affair, but mostly a
    /// build step was forgotten. Ship the file, or correct the path. What a server
    /// makes at run time belongs below `${PLUGIN_DATA}`.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// ├── mcp.json          "args": ["${PLUGIN_ROOT}/dist/tides.js"]
    /// ├── plugin.json
    /// └── src/
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── dist/
    /// │   └── tides.js
    /// ├── mcp.json          "args": ["${PLUGIN_ROOT}/dist/tides.js"]
    /// └── plugin.json
    /// ```
    ARGUMENT_NOT_FOUND = "argument-not-found", Warning, None, "apkit", None,
        "the file that an argument names is not in the package";
    /// `cwd` has none of the three permitted forms: a path that begins with `./`,
    /// `${PLUGIN_ROOT}` alone or with a path behind it, `${PLUGIN_DATA}` alone or with
    /// a path behind it. The form is judged on the text as written, so `.`, `data`,
    /// absolute paths, other variables, and names glued to a placeholder are refused,
    /// and so are backslashes and control characters. Clients skip the server and load
    /// the others. Without `cwd` the server starts in the package, which `"cwd": "."`
    /// mostly means.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "cwd": "." }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "cwd": "./" }
    /// ```
    CWD_FORM = "cwd-form", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "cwd has none of the permitted forms";
    /// `cwd` has a permitted form but does not stay below its base. Below `./` and
    /// `${PLUGIN_ROOT}` the base is the package: `..`, links to the outside and links
    /// in a circle are found by resolving the path as the operating system does it.
    /// Below `${PLUGIN_DATA}` the base is the data directory, which exists only at the
    /// client, so `..` alone can be judged here. Clients skip the server and load the
    /// others. Let the server start inside and pass other places as arguments.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "cwd": "${PLUGIN_DATA}/../shared" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "cwd": "${PLUGIN_DATA}/shared" }
    /// ```
    CWD_ESCAPE = "cwd-escape", Error, ServerSkipped, "§4.1", Some("AP-10"),
        "cwd resolves outside its base directory";
    /// `cwd` leads to nothing in the package, or to a file. Whether the directory
    /// exists is no question of validity, so the server loads, and starting it fails
    /// unless something makes the directory first. Version control does not keep empty
    /// directories, which is a frequent cause. Ship the directory with a file in it, or
    /// use `${PLUGIN_DATA}` for working files, which is writable and survives updates.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "cwd": "./work" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "cwd": "${PLUGIN_DATA}" }
    /// ```
    CWD_NOT_A_DIRECTORY = "cwd-not-a-directory", Warning, None, "apkit", None,
        "cwd names no directory of the package";
    /// `cwd` holds `${PLUGIN_ROOT}` or `${PLUGIN_DATA}` behind its beginning. The form
    /// is fine, so the server loads; but every occurrence is expanded to an absolute
    /// path, and the result is a long path below the base that nobody has made. Each of
    /// the two can only stand first. Name one base and a path below it.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "cwd": "./${PLUGIN_ROOT}/work" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "stdio", "command": "tides", "cwd": "${PLUGIN_ROOT}/work" }
    /// ```
    CWD_PLACEHOLDER = "cwd-placeholder", Warning, None, "§9.2", Some("AP-17"),
        "cwd holds a placeholder behind its beginning";
    /// A server of type `streamable-http` or `sse` has no `url`. There is nothing to
    /// connect to, so clients skip the server and load the others. Fields such as
    /// `endpoint`, `serverUrl` or `URL` of other formats are not read. Add the address
    /// under its own name.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "headers": { "X-Region": "north" } }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://tides.example/mcp", "headers": { "X-Region": "north" } }
    /// ```
    URL_MISSING = "url-missing", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a remote server has no url";
    /// `url` is not an absolute HTTP or HTTPS URL in the form of RFC 3986: it has
    /// another scheme or none, no host, a port beyond 65535, or it holds white space,
    /// control characters or backslashes. Some libraries repair such texts
    /// (`https:/host`, a tab in the middle), others refuse them, so apkit judges the
    /// text as written. Clients skip the server and load the others. Write scheme,
    /// `//`, host and path, with spaces encoded as `%20`.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "tides.example/mcp" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://tides.example/mcp" }
    /// ```
    URL_INVALID = "url-invalid", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "url is not an absolute HTTP or HTTPS URL";
    /// `url` holds an `@` before the host, with a user name, a password or nothing in
    /// front of it. Such a part is visible to everyone who has the package and ends up
    /// in logs, and programs treat it differently, so it is not permitted, not even
    /// empty. Clients skip the server and load the others. Remove it; clients sign in
    /// by their own means.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://reader@tides.example/mcp" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://tides.example/mcp" }
    /// ```
    URL_USER_INFORMATION = "url-user-information", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "url holds user information";
    /// `url` holds a `#`, with or without text behind it. A fragment is never sent to a
    /// server, so it cannot select anything there, and it is not permitted in an
    /// endpoint. Clients skip the server and load the others. Remove it; a literal `#`
    /// in a path is written `%23`.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://tides.example/mcp#north" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://tides.example/mcp?region=north" }
    /// ```
    URL_FRAGMENT = "url-fragment", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "url holds a fragment";
    /// `url` is plain HTTP to a host that is not this machine. Everything that is said
    /// to the server, and everything it answers, could be read and changed on the way.
    /// Plain HTTP is permitted for `localhost`, for addresses from 127.0.0.0 to
    /// 127.255.255.255 written in full, and for `[::1]`; names that merely resolve to
    /// them, and short forms such as `127.1`, do not count. Clients skip the server and
    /// load the others. Offer the server over HTTPS.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "http://tides.example/mcp" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://tides.example/mcp" }
    /// ```
    URL_NOT_HTTPS = "url-not-https", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "url is plain HTTP to a host that is not loopback";
    /// A header name is empty or holds characters that HTTP does not allow in one:
    /// white space, a colon, brackets, quotes, or letters beyond ASCII. A client could
    /// not send it, or would send something else, so it skips the server and loads the
    /// others. Placeholders are not expanded in names either. Use letters, digits and
    /// hyphens.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "headers": { "X Region:": "north" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "headers": { "X-Region": "north" }
    /// ```
    HEADER_NAME = "header-name", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a header name is not valid";
    /// A header value holds a control character, such as a line break or a NUL, or half
    /// of a surrogate pair. In HTTP a line break ends the header, so such a value could
    /// smuggle in further headers, and clients must not send it. They skip the server
    /// and load the others. A tab is allowed. Put the value on one line, or pass the
    /// data in another way.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "headers": { "X-Region": "north\r\nX-Role: admin" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "headers": { "X-Region": "north" }
    /// ```
    HEADER_VALUE = "header-value", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a header value is not valid";
    /// Two members of `headers` differ in letter case only. HTTP knows no case in
    /// header names, so they are one header with two values, and it would depend on the
    /// client which of them is sent. The entry is invalid even if the values are equal:
    /// clients skip the server and load the others. Keep one.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "headers": { "X-Region": "north", "x-region": "south" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "headers": { "X-Region": "north" }
    /// ```
    HEADER_DUPLICATE = "header-duplicate", Error, ServerSkipped, "§7.2.1", Some("AP-13"),
        "a header name stands twice under different casing";
    /// A header value begins or ends with white space, or holds characters beyond
    /// ASCII. Both are legal, so the server loads. But white space around a value is
    /// removed on the way, and libraries encode other characters in different ways or
    /// refuse them, so the server does not see the same value from every client. Use
    /// ASCII without surrounding white space, percent-encoded if need be.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "headers": { "X-Station": " Größe " }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "headers": { "X-Station": "Gr%C3%B6%C3%9Fe" }
    /// ```
    HEADER_VALUE_PORTABILITY = "header-value-portability", Warning, None, "§7.2.1", None,
        "a header value is not sent alike by all clients";
    /// `headers` holds a name that clients set themselves to speak HTTP or MCP, such as
    /// `Accept`, `Host`, `Content-Type` or `Mcp-Session-Id`. The client's value takes
    /// precedence, so the configured one is never sent; where a client lets it through,
    /// the connection may break. The server loads. Remove the header.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "headers": { "Content-Type": "application/json", "X-Region": "north" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "headers": { "X-Region": "north" }
    /// ```
    HEADER_CLIENT_GENERATED = "header-client-generated", Info, None, "§7.2.1", Some("AP-15"),
        "clients replace this header by their own";
    /// The URL holds a character that RFC 3986 does not let stand there unencoded, such
    /// as `<`, `"` or a `%` without its two digits, or it holds `%00`. The host is not
    /// in doubt and the server loads, but what arrives at it differs: some clients
    /// encode the character, some send it as it is, some refuse the URL. Encode it, and
    /// leave `%00` out: it stands for a NUL, which hardly any server takes.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "url": "https://tides.example/mcp?place=<north>"
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "url": "https://tides.example/mcp?place=%3Cnorth%3E"
    /// ```
    URL_CHARACTER = "url-character", Warning, None, "§7.2.1", Some("AP-13"),
        "the URL holds a character that has to be encoded";
    /// A header, a variable, an argument or the query of a URL looks like a secret, by
    /// its name or by the shape of its value. Everything in a package is readable by
    /// everyone who has it, and the specification forbids authors to put credentials
    /// there; it also offers no field that refers to one. The server loads, because no
    /// failure is defined for clients. Remove the value, and revoke it if it was real:
    /// clients sign in to remote servers by themselves, and a local server can ask for
    /// its secret or read it from a place the user has chosen. apkit never prints the
    /// value.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "headers": { "Authorization": "Bearer zz_0123456789abcdef0123" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "headers": { "X-Region": "north" }
    /// ```
    CREDENTIAL = "credential", Warning, None, "§7.2.1", Some("AP-15"),
        "a value looks like a credential";
    /// A text looks like a placeholder that nobody expands here. Clients expand
    /// `${PLUGIN_ROOT}` and `${PLUGIN_DATA}` in `args`, `env` values and `cwd`, and
    /// nothing else anywhere: no environment variables, no defaults, no form without
    /// braces, nothing in `url` and `headers`. The server loads and gets the text as it
    /// stands. Write the value itself. For a secret there is no slot at all: leave the
    /// header or the variable out and let the client provide it.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "args": ["--cache", "${HOME}/.cache/tides"]
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "args": ["--cache", "${PLUGIN_DATA}/cache"]
    /// ```
    UNEXPANDED_PLACEHOLDER = "unexpanded-placeholder", Warning, None, "§9.2", Some("AP-17"),
        "a placeholder stays literal";
    /// A text holds a placeholder that one client or editor expands, such as
    /// `${CLAUDE_PLUGIN_ROOT}`, `${user_config.…}`, `${workspaceFolder}` or
    /// `${input:…}`. A client that follows the specification passes it on as it stands,
    /// and the server gets a path or a value that does not exist. The server loads. Use
    /// `${PLUGIN_ROOT}` and `${PLUGIN_DATA}` in `args`, `env` values and `cwd`, and a
    /// `./` path in `command`; settings of the user, the workspace and the editor
    /// cannot be reached in a portable way.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "args": ["${CLAUDE_PLUGIN_ROOT}/server.js"]
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "args": ["${PLUGIN_ROOT}/server.js"]
    /// ```
    CLIENT_PLACEHOLDER = "client-placeholder", Warning, None, "§9.2", Some("AP-17"),
        "another client's placeholder stays literal";
    /// The server uses the transport `sse`, the HTTP+SSE transport of an early MCP
    /// version, which has been deprecated since. The entry is valid, but clients need
    /// not support it; those that do not skip this server alone. It has nothing to do
    /// with event streams inside Streamable HTTP. If the server speaks that too, name
    /// it; otherwise expect that some clients go without.
    ///
    /// Wrong:
    ///
    /// ```json
    /// "tides": { "type": "sse", "url": "https://tides.example/sse" }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// "tides": { "type": "streamable-http", "url": "https://tides.example/mcp" }
    /// ```
    SSE_OPTIONAL = "sse-optional", Info, None, "§7.2.1", Some("AP-14"),
        "not every client supports the sse transport";
}
