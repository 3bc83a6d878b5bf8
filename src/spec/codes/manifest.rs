//! Codes about `plugin.json`.

codes! { "manifest";
    /// There is no `plugin.json` at the package root.
    MISSING = "missing", Error, PackageRejected, "§5.1", Some("AP-1"),
        "the package has no plugin.json";
    /// `plugin.json` is a directory, a FIFO, a device, or a link to nothing.
    NOT_A_FILE = "not-a-file", Error, PackageRejected, "§4.1", Some("AP-1"),
        "plugin.json is not a regular file";
    /// `plugin.json` resolves to a file outside the package.
    ESCAPE = "escape", Error, PackageRejected, "§4.1", Some("AP-10"),
        "plugin.json resolves outside the package";
    /// `plugin.json` cannot be read.
    UNREADABLE = "unreadable", Error, PackageRejected, "§5.1", Some("AP-1"),
        "plugin.json cannot be read";
    /// `plugin.json` is larger than apkit reads.
    TOO_LARGE = "too-large", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is larger than 16 MiB";
    /// `plugin.json` holds bytes that are not UTF-8.
    INVALID_UTF8 = "invalid-utf8", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is not UTF-8";
    /// `plugin.json` begins with a byte order mark.
    BYTE_ORDER_MARK = "byte-order-mark", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json begins with a byte order mark";
    /// `plugin.json` is not JSON.
    INVALID_JSON = "invalid-json", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is not JSON";
    /// `plugin.json` is nested too deep or holds too many values.
    TOO_COMPLEX = "too-complex", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is nested too deep or holds too many values";
    /// The top-level value of `plugin.json` is not an object.
    NOT_AN_OBJECT = "not-an-object", Error, PackageRejected, "§5.2", Some("AP-1"),
        "plugin.json is not a JSON object";
    /// A member name stands twice in one object; the last one counts here.
    DUPLICATE_KEY = "duplicate-key", Warning, None, "§5.2", None,
        "a member name stands twice in one object";
    /// A string holds half of a surrogate pair.
    LONE_SURROGATE = "lone-surrogate", Warning, None, "§5.2", None,
        "a string holds half of a surrogate pair";
    /// The manifest has no `$schema` and carries another client's fields.
    FOREIGN_FORMAT = "foreign-format", Error, PackageRejected, "§5.2", Some("AP-20"),
        "plugin.json is another client's manifest";
    /// The manifest has no `$schema`.
    SCHEMA_MISSING = "schema-missing", Error, PackageRejected, "§5.3", Some("AP-20"),
        "the manifest has no $schema";
    /// `$schema` is no identifier of an Agent Plugins manifest schema.
    SCHEMA_INVALID = "schema-invalid", Error, PackageRejected, "§5.2", Some("AP-20"),
        "$schema is not a canonical Agent Plugins identifier";
    /// `$schema` names a version of the specification that is not supported.
    SCHEMA_UNSUPPORTED = "schema-unsupported", Error, PackageRejected, "§5.2", Some("AP-20"),
        "$schema names an unsupported specification version";
    /// The package targets a draft of the specification.
    DRAFT_VERSION = "draft-version", Info, None, "§10.1", Some("AP-20"),
        "the package targets a draft of the specification";
    /// The manifest has no `name`.
    NAME_MISSING = "name-missing", Error, PackageRejected, "§5.3", Some("AP-2"),
        "the manifest has no name";
    /// `name` breaks the grammar of plugin names.
    NAME_INVALID = "name-invalid", Error, PackageRejected, "§5.5", Some("AP-3"),
        "name breaks the grammar of plugin names";
    /// A permitted field has another type than the specification gives it.
    FIELD_TYPE = "field-type", Error, PackageRejected, "§5.4", Some("AP-2"),
        "a manifest field has the wrong type";
    /// `author` holds a field other than `name`, `email` and `url`.
    AUTHOR_UNKNOWN_FIELD = "author-unknown-field", Error, PackageRejected, "§5.4", Some("AP-2"),
        "author holds an unknown field";
    /// The manifest holds a top-level field that the specification does not know.
    UNKNOWN_FIELD = "unknown-field", Warning, FieldIgnored, "§5.2", Some("AP-4"),
        "the manifest holds an unknown field";
    /// `extensions` is not an object.
    EXTENSIONS_NOT_AN_OBJECT = "extensions-not-an-object", Warning, FieldIgnored, "§8.1", Some("AP-4"),
        "extensions is not an object";
    /// The value of a namespace in `extensions` is not an object.
    EXTENSION_NOT_AN_OBJECT = "extension-not-an-object", Error, PackageRejected, "§8.1", Some("AP-6"),
        "the value of an extension namespace is not an object";
    /// A key of `extensions` is no reverse-domain namespace.
    EXTENSION_NAMESPACE = "extension-namespace", Warning, None, "§8", Some("AP-6"),
        "an extension namespace is not a reverse-domain name";
    /// `version` is not Semantic Versioning.
    VERSION_NOT_SEMVER = "version-not-semver", Info, None, "§10.2", Some("AP-21"),
        "version is not Semantic Versioning";
    /// `license` is no SPDX licence expression.
    LICENSE_NOT_SPDX = "license-not-spdx", Info, None, "§5.4", Some("AP-5"),
        "license is not an SPDX expression";
    /// `icon` (1.1.0 draft) is no path inside the package.
    ICON_IGNORED = "icon-ignored", Warning, FieldIgnored, "§5.8", None,
        "icon is not a path inside the package";
}
