//! Codes about `plugin.json`.

codes! { "manifest";
    /// The package directory has no entry named exactly `plugin.json`. That file is
    /// the one portable manifest, so a client rejects the package and discovers
    /// nothing in it; it must not guess a name from the directory or take another
    /// client's manifest instead. Write `plugin.json` at the top of the package, in
    /// lower case, with `$schema` and `name`. If the packages lie further down, as in
    /// a repository of several, name their directories or let `--recursive` find them.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// └── .claude-plugin/
    ///     └── plugin.json
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// ├── plugin.json
    /// └── .claude-plugin/
    ///     └── plugin.json
    /// ```
    MISSING = "missing", Error, PackageRejected, "§5.1", Some("AP-1"),
        "the package has no plugin.json";
    /// `plugin.json` exists, but it is a directory, a FIFO, a socket or a device, or
    /// a link that leads nowhere or in a circle. There is no manifest to read, so
    /// clients reject the package; apkit does not open such an entry, since reading
    /// a FIFO could wait for ever. Put a regular file there. A link to a regular file
    /// inside the package is allowed.
    ///
    /// Wrong:
    ///
    /// ```text
    /// plugin.json -> build/plugin.json     (never built)
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// plugin.json                          (a regular file)
    /// ```
    NOT_A_FILE = "not-a-file", Error, PackageRejected, "§4.1", Some("AP-1"),
        "plugin.json is not a regular file";
    /// `plugin.json` is a link that resolves to a file outside the package. Clients
    /// must reject the package without reading the file: a package that could name
    /// any file of the machine as its manifest would not be contained. This is also
    /// what a directory made of links into its parent looks like. Copy the file into
    /// the package, or validate the directory that really holds it.
    ///
    /// Wrong:
    ///
    /// ```text
    /// tide-table/
    /// └── plugin.json -> ../plugin.json
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// tide-table/
    /// └── plugin.json
    /// ```
    ESCAPE = "escape", Error, PackageRejected, "§4.1", Some("AP-10"),
        "plugin.json resolves outside the package";
    /// `plugin.json` is a regular file, but the system refuses to open or read it,
    /// mostly for want of permission. Without its manifest a package cannot be
    /// loaded, so it is rejected. Make the file readable for everyone who uses the
    /// package.
    ///
    /// Wrong:
    ///
    /// ```text
    /// ----------  plugin.json
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// -rw-r--r--  plugin.json
    /// ```
    UNREADABLE = "unreadable", Error, PackageRejected, "§5.1", Some("AP-1"),
        "plugin.json cannot be read";
    /// `plugin.json` is larger than the 16 MiB that apkit reads. The specification
    /// sets no limit, but a reader without one can be made to eat all memory, so this
    /// guard rejects the package and says so. A manifest needs a few hundred bytes:
    /// move data out of it, into files of the package.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"extensions": {"com.example.client": {"model": "… 20 MiB of base64 …"}}}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"extensions": {"com.example.client": {"model": "com.example.client/model.bin"}}}
    /// ```
    TOO_LARGE = "too-large", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is larger than 16 MiB";
    /// `plugin.json` holds bytes that are not UTF-8. JSON that systems exchange is
    /// UTF-8 and nothing else, so the text is not JSON for clients and they reject
    /// the package. The usual cause is an editor that saves Latin-1, Windows-1252 or
    /// UTF-16. Save the file as UTF-8 without a byte order mark, or write the
    /// character as a `\u` escape.
    ///
    /// Wrong:
    ///
    /// ```text
    /// "author": {"name": "Zo<EB>"}         (the single byte EB, Latin-1)
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// "author": {"name": "Zo<C3 AB>"}      (two bytes, UTF-8)
    /// ```
    INVALID_UTF8 = "invalid-utf8", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is not UTF-8";
    /// `plugin.json` begins with a byte order mark. It is no part of the JSON grammar;
    /// a reader may skip it or refuse the text, and most refuse, so apkit takes the
    /// text for what it is to them: not JSON, and the package is rejected. Editors do
    /// not show the mark. Save the file as "UTF-8", not as "UTF-8 with BOM" or as
    /// UTF-16.
    ///
    /// Wrong:
    ///
    /// ```text
    /// <EF BB BF>{"$schema": …
    /// ```
    ///
    /// Right:
    ///
    /// ```text
    /// {"$schema": …
    /// ```
    BYTE_ORDER_MARK = "byte-order-mark", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json begins with a byte order mark";
    /// `plugin.json` is not JSON in the sense of RFC 8259, so clients reject the
    /// package. Comments, trailing commas, single quotes, `NaN`, raw line breaks
    /// inside strings, a second value behind the first and an empty file are all
    /// outside the grammar, even where editors and JavaScript tools put up with them.
    /// The position is where reading had to stop; the fault often lies just before.
    ///
    /// Wrong:
    ///
    /// ```text
    /// {
    ///   // the plugin
    ///   "name": "tide-table",
    /// }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "name": "tide-table"
    /// }
    /// ```
    INVALID_JSON = "invalid-json", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is not JSON";
    /// `plugin.json` is JSON, but it is nested more than 128 levels deep or holds
    /// more values than apkit reads. JSON lets a reader set such limits, and a reader
    /// without them can be crashed by a small file; clients differ in theirs, so such
    /// a manifest loads in few places. Only data under `extensions` can get that
    /// deep: flatten it, or keep it in a file of the package.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"extensions": {"com.example.client": {"tree": [[[["… 200 levels …"]]]]}}}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"extensions": {"com.example.client": {"tree": "com.example.client/tree.json"}}}
    /// ```
    TOO_COMPLEX = "too-complex", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is nested too deep or holds too many values";
    /// `plugin.json` is JSON, but its top-level value is an array, a string, a number,
    /// a boolean or `null`. A manifest is one object, so clients reject the package.
    /// One package is one directory with one manifest; several plugins in one file are
    /// the catalogue of a marketplace, which is something else.
    ///
    /// Wrong:
    ///
    /// ```json
    /// [{"name": "tide-table"}, {"name": "star-chart"}]
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
    ///   "name": "tide-table"
    /// }
    /// ```
    NOT_AN_OBJECT = "not-an-object", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is not a JSON object";
    /// One object of `plugin.json` holds the same member name twice. JSON only asks
    /// for unique names, and readers disagree: most take the last value, some the
    /// first, some refuse the file. apkit judges by the last one and loads the
    /// package, but what a given client sees is open. Names are compared after
    /// decoding, so `"na\u006de"` repeats `"name"`. Keep one of the two members.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"version": "1.3.0", "version": "1.4.0"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"version": "1.4.0"}
    /// ```
    DUPLICATE_KEY = "duplicate-key", Warning, None, "§5.2", None,
        "a member name stands twice in one object";
    /// A string of `plugin.json` holds an escape from the surrogate range that has no
    /// partner, such as `\ud83d` alone. The grammar of JSON allows it, yet it stands
    /// for no character: some readers replace it, some refuse the whole file, so the
    /// package loads here and may be rejected elsewhere. Escape a character beyond
    /// U+FFFF as a high and a low half, in this order, or write it literally in UTF-8.
    /// In `name` the same fault is a violation of the grammar of names.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"description": "Tides \ud83c for sailors"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"description": "Tides \ud83c\udf0a for sailors"}
    /// ```
    LONE_SURROGATE = "lone-surrogate", Warning, None, "§5.2", None,
        "a string holds half of a surrogate pair";
    /// `plugin.json` declares the `$schema` of another format, or none while it holds
    /// fields that no Agent Plugins manifest has: it was written for something else, one
    /// client's own plugin format, an editor extension, a dashboard panel, a template.
    /// Clients must reject what does not declare the version it targets, so nothing is
    /// loaded and nothing is guessed.
    /// To make it an Agent Plugins package, add `$schema`, keep the portable fields,
    /// and leave the rest to that client's own manifest in that client's own place.
    /// Mind that a root `plugin.json` with `$schema` can make a client leave its old
    /// loader for the portable one.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {
    ///   "name": "tide-table",
    ///   "displayName": "Tide Table",
    ///   "skills": "./skills/",
    ///   "hooks": "./hooks/hooks.json"
    /// }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
    ///   "name": "tide-table"
    /// }
    /// ```
    FOREIGN_FORMAT = "foreign-format", Error, PackageRejected, "§5.2", Some("AP-20"),
        "plugin.json is another client's manifest";
    /// The manifest has no `$schema`. The field is required: it names the version of
    /// the specification that the package targets, and with it the rules by which the
    /// rest is read, so clients reject a manifest without it and nothing else in it is
    /// judged. Add the identifier of version 1.0.0 exactly as written below; it is an
    /// identifier and never fetched.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {
    ///   "name": "tide-table"
    /// }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
    ///   "name": "tide-table"
    /// }
    /// ```
    SCHEMA_MISSING = "schema-missing", Error, PackageRejected, "§5.3", Some("AP-20"),
        "the manifest has no $schema";
    /// `$schema` is there, but it is not a string or not the canonical identifier of an
    /// Agent Plugins manifest schema. Identifiers are compared as strings: another
    /// scheme, host or letter case, a trailing slash or `#`, a relative path and the
    /// identifier of the `mcp.json` schema are all different values. Clients then do
    /// not know which rules apply, reject the package and judge nothing else in it.
    /// Copy the identifier exactly.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"$schema": "http://agent-plugins.org/schemas/1.0.0/plugin.schema.json#"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"}
    /// ```
    SCHEMA_INVALID = "schema-invalid", Error, PackageRejected, "§5.2", Some("AP-20"),
        "$schema is not a canonical Agent Plugins identifier";
    /// `$schema` is built like a canonical identifier, but it names a version of the
    /// specification that apkit does not support. A client must reject a version that
    /// it does not explicitly recognise; that 1.0.1 looks close to 1.0.0 implies
    /// nothing. Target 1.0.0, or update apkit once it knows the version. The draft of
    /// 1.1.0 is known but off: `--spec-draft 1.1.0` turns it on.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"$schema": "https://agent-plugins.org/schemas/2.0.0/plugin.schema.json"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"}
    /// ```
    SCHEMA_UNSUPPORTED = "schema-unsupported", Error, PackageRejected, "§5.2", Some("AP-20"),
        "$schema names an unsupported specification version";
    /// The package targets a version of the specification that is still a draft, and
    /// you asked apkit to accept it. Its rules may still change, and clients that know
    /// published versions only must reject the package. Publish with the newest
    /// published version, and keep drafts for trying things out.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"$schema": "https://agent-plugins.org/schemas/1.1.0/plugin.schema.json"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"}
    /// ```
    DRAFT_VERSION = "draft-version", Info, None, "§10.1", Some("AP-20"),
        "the package targets a draft of the specification";
    /// The manifest has no `name`. The field is required, and no client may make up a
    /// name from the directory, so the package is rejected. Add a short, stable
    /// identifier in lower case: it is what the package is installed and updated by.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
    ///   "description": "Tide tables for sailors"
    /// }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
    ///   "name": "tide-table",
    ///   "description": "Tide tables for sailors"
    /// }
    /// ```
    NAME_MISSING = "name-missing", Error, PackageRejected, "§5.3", Some("AP-2"),
        "the manifest has no name";
    /// `name` is a string outside the grammar of plugin names, so clients reject the
    /// package. A name has 1 to 64 characters out of `a` to `z`, `0` to `9`, `-` and
    /// `.`; it begins and ends with a letter or digit, and neither `--` nor `..` occurs
    /// in it (`.-` and `-.` may). Capitals, spaces, underscores, slashes and a line
    /// feed at the end are all outside. Rename the package; there is no other field
    /// for a pretty label in version 1.0.0.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"name": "Tide_Table"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"name": "tide-table"}
    /// ```
    NAME_INVALID = "name-invalid", Error, PackageRejected, "§5.5", Some("AP-3"),
        "name breaks the grammar of plugin names";
    /// A field that the specification knows has a value of another type. Every such
    /// violation is fatal, whatever the field: clients reject the package. `null` is a
    /// type of its own and not the same as leaving the field out, and each element of
    /// `keywords` must be a string. Write the value in the right type, or remove an
    /// optional field.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {
    ///   "version": 1.4,
    ///   "author": "Mara Quist",
    ///   "homepage": null,
    ///   "keywords": "tides, sea"
    /// }
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {
    ///   "version": "1.4.0",
    ///   "author": {"name": "Mara Quist"},
    ///   "keywords": ["tides", "sea"]
    /// }
    /// ```
    FIELD_TYPE = "field-type", Error, PackageRejected, "§5.4", Some("AP-2"),
        "a manifest field has the wrong type";
    /// `author` holds something other than `name`, `email` and `url`. Unknown fields
    /// are harmless only at the top level of the manifest: the author object is closed,
    /// and clients must reject the package. Remove the field, or move it under
    /// `extensions` in a namespace of your own.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"author": {"name": "Mara Quist", "organization": "Quist Charts"}}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"author": {"name": "Mara Quist", "url": "https://charts.example/"}}
    /// ```
    AUTHOR_UNKNOWN_FIELD = "author-unknown-field", Error, PackageRejected, "§5.4", Some("AP-2"),
        "author holds an unknown field";
    /// The manifest holds a top-level field that its version of the specification does
    /// not define, of whatever type. Clients must report it, ignore it and load the
    /// package, so the field does nothing: a component declared there is not loaded.
    /// Check the spelling; components belong in `skills/` and `mcp.json`, and data for
    /// one client under `extensions`, keyed by that client's namespace.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"name": "tide-table", "skills": ["./skills/tides"], "licence": "MIT"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"name": "tide-table", "license": "MIT"}
    /// ```
    UNKNOWN_FIELD = "unknown-field", Warning, FieldIgnored, "§5.2", Some("AP-4"),
        "the manifest holds an unknown field";
    /// `extensions` is not an object. This is one of the few faults that do not cost
    /// the package: clients must report the field, ignore it as a whole and go on, so
    /// whatever a client was to find there is lost. Make it an object with one
    /// member for each client, keyed by the client's namespace, or remove it.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"extensions": ["com.example.client"]}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"extensions": {"com.example.client": {"station": "north"}}}
    /// ```
    EXTENSIONS_NOT_AN_OBJECT = "extensions-not-an-object", Warning, FieldIgnored, "§8.1", Some("AP-4"),
        "extensions is not an object";
    /// A namespace under `extensions` has a value that is not an object. Clients do not
    /// look into namespaces that they do not implement, but the type of the value
    /// itself is part of the closed manifest, and any violation of it other than an
    /// unknown field or a non-object `extensions` is fatal: the package is rejected.
    /// The text leaves room for another reading, and some clients load such a package;
    /// an object is safe with all of them.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"extensions": {"com.example.client": true}}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"extensions": {"com.example.client": {"enabled": true}}}
    /// ```
    EXTENSION_NOT_AN_OBJECT = "extension-not-an-object", Error, PackageRejected, "§8.1", Some("AP-6"),
        "the value of an extension namespace is not an object";
    /// A key of `extensions` does not look like a reverse-domain name: it has no dot,
    /// an empty part between dots, or characters that no domain name has. Namespaces
    /// are to be built from a domain that the client controls, so that two clients
    /// never claim the same key; no grammar is given for them, so the package loads
    /// and the entry is ignored like any other. Use the namespace that the client's
    /// documentation names.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"extensions": {"client": {}, "com..example": {}, "my_org.client": {}}}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"extensions": {"com.example.client": {}}}
    /// ```
    EXTENSION_NAMESPACE = "extension-namespace", Warning, None, "§8", Some("AP-6"),
        "an extension namespace is not a reverse-domain name";
    /// `version` is not a version in the sense of Semantic Versioning 2.0.0. That is
    /// recommended, not required: no client may reject the package for it. But clients
    /// may compare versions to find updates, and what they make of `1.4` or `v1.4.0` is
    /// open. Write three numbers without a leading `v`, with a pre-release or build
    /// part behind them where needed.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"version": "v1.4"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"version": "1.4.0"}
    /// ```
    VERSION_NOT_SEMVER = "version-not-semver", Info, None, "§10.2", Some("AP-21"),
        "version is not Semantic Versioning";
    /// `license` is not an SPDX licence expression. SPDX is recommended, not required:
    /// no client may reject the package for it, but tools that check licences by
    /// machine cannot read anything else. Use an identifier of the SPDX list, an
    /// expression made of them, or `LicenseRef-` with a name of your own for a licence
    /// that is not on the list.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"license": "Apache License, Version 2.0"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"license": "Apache-2.0"}
    /// ```
    LICENSE_NOT_SPDX = "license-not-spdx", Info, None, "§5.4", Some("AP-5"),
        "license is not an SPDX expression";
    /// `icon`, which the draft of 1.1.0 defines, is a string but no path inside the
    /// package: it does not begin with `./`, is a URL, or resolves to a place outside.
    /// The field is advisory, so clients ignore it and load the package, without an
    /// icon; none may fetch it from the network. Ship the image in the package and
    /// name it with `./`.
    ///
    /// Wrong:
    ///
    /// ```json
    /// {"icon": "https://charts.example/icon.png"}
    /// ```
    ///
    /// Right:
    ///
    /// ```json
    /// {"icon": "./assets/icon.png"}
    /// ```
    ICON_IGNORED = "icon-ignored", Warning, FieldIgnored, "§5.8", None,
        "icon is not a path inside the package";
}
