//! The table of fixes: which codes each answers, and what it does.

use super::{Fix, files, manifest, quote, server, skill, text};
use crate::spec::codes;

/// Every fix. Of several for one code, the first that knows an answer counts.
pub static FIXES: &[Fix] = &[
    Fix {
        codes: &[
            &codes::manifest::BYTE_ORDER_MARK,
            &codes::mcp::BYTE_ORDER_MARK,
            &codes::skill::BYTE_ORDER_MARK,
        ],
        does: "removes a byte order mark of UTF-8",
        risk: None,
        run: text::byte_order_mark,
    },
    Fix {
        codes: &[&codes::manifest::INVALID_JSON, &codes::mcp::INVALID_JSON],
        does: "removes a comma behind the last member or element",
        risk: None,
        run: text::trailing_comma,
    },
    Fix {
        codes: &[&codes::manifest::DUPLICATE_KEY, &codes::mcp::DUPLICATE_KEY],
        does: "removes the earlier of two members that say the same",
        risk: None,
        run: text::duplicate_key,
    },
    Fix {
        codes: &[
            &codes::manifest::SCHEMA_MISSING,
            &codes::mcp::SCHEMA_MISSING,
        ],
        does: "adds `$schema`; with --unsafe also where another client's manifest stands beside plugin.json",
        risk: None,
        run: manifest::add_schema,
    },
    Fix {
        codes: &[
            &codes::manifest::SCHEMA_INVALID,
            &codes::mcp::SCHEMA_INVALID,
        ],
        does: "corrects an identifier that differs in scheme, letter case, a final `#` or `/`, or in the kind of document",
        risk: None,
        run: manifest::correct_schema,
    },
    Fix {
        codes: &[&codes::mcp::SCHEMA_MISMATCH],
        does: "takes over the version of plugin.json",
        risk: Some("only you know which version is meant"),
        run: manifest::match_schema,
    },
    Fix {
        codes: &[&codes::manifest::UNKNOWN_FIELD],
        does: "renames a misspelt field",
        risk: Some("it guesses which field is meant"),
        run: manifest::rename_field,
    },
    Fix {
        codes: &[&codes::manifest::UNKNOWN_FIELD],
        does: "moves unknown fields into `extensions`, under the namespace given with --namespace",
        risk: None,
        run: manifest::move_unknown_fields,
    },
    Fix {
        codes: &[&codes::manifest::FIELD_TYPE],
        does: "writes `author`, `repository`, `license` and `keywords` of npm's shapes in the ones of Agent Plugins, numbers and booleans as strings, and removes `null`",
        risk: None,
        run: manifest::field_type,
    },
    Fix {
        codes: &[&codes::manifest::EXTENSIONS_NOT_AN_OBJECT],
        does: "removes `extensions` where it says nothing",
        risk: None,
        run: manifest::empty_extensions,
    },
    Fix {
        codes: &[&codes::manifest::EXTENSION_NOT_AN_OBJECT],
        does: "makes a namespace that is `null` an empty object",
        risk: None,
        run: manifest::null_extension,
    },
    Fix {
        codes: &[&codes::manifest::NAME_INVALID],
        does: "writes the nearest valid name",
        risk: Some("a package is installed and updated by its name"),
        run: manifest::name,
    },
    Fix {
        codes: &[&codes::mcp::UNKNOWN_FIELD],
        does: "renames `servers` to `mcpServers`",
        risk: None,
        run: server::servers,
    },
    Fix {
        codes: &[&codes::mcp::TYPE_UNKNOWN],
        does: "writes the type of the specification: `http` is `streamable-http`, `local` is `stdio`",
        risk: None,
        run: server::type_unknown,
    },
    Fix {
        codes: &[&codes::mcp::TYPE_MISSING],
        does: "adds the type where `command` or `url` tells it",
        risk: None,
        run: server::type_missing,
    },
    Fix {
        codes: &[&codes::mcp::SERVER_UNKNOWN_FIELD],
        does: "renames a misspelt field",
        risk: Some("it guesses which field is meant"),
        run: server::rename_field,
    },
    Fix {
        codes: &[&codes::mcp::FIELD_TYPE],
        does: "writes numbers and booleans in `args` and `env` as strings",
        risk: None,
        run: server::field_type,
    },
    Fix {
        codes: &[&codes::mcp::COMMAND_FORM],
        does: "writes a command inside the package as a path that begins with `./`",
        risk: None,
        run: server::command_form,
    },
    Fix {
        codes: &[&codes::mcp::COMMAND_LINE],
        does: "splits a command line into `command` and `args`",
        risk: Some("some shells split it in another way"),
        run: server::command_line,
    },
    Fix {
        codes: &[&codes::mcp::COMMAND_NOT_EXECUTABLE],
        does: "makes the file of a `./` command executable",
        risk: None,
        run: files::make_executable,
    },
    Fix {
        codes: &[&codes::mcp::CWD_FORM],
        does: "writes `cwd` as a path that begins with `./` or `${PLUGIN_ROOT}`",
        risk: None,
        run: server::cwd_form,
    },
    Fix {
        codes: &[&codes::mcp::ARGUMENT_RELATIVE],
        does: "begins an argument that names a file of the package with `${PLUGIN_ROOT}/`",
        risk: None,
        run: server::argument_relative,
    },
    Fix {
        codes: &[&codes::mcp::CLIENT_PLACEHOLDER],
        does: "writes one client's placeholder for the package or its data as the one of the specification",
        risk: None,
        run: server::client_placeholder,
    },
    Fix {
        codes: &[&codes::mcp::ENV_RESERVED],
        does: "removes a variable that the client sets, and sets to the same",
        risk: None,
        run: server::env_reserved,
    },
    Fix {
        codes: &[&codes::mcp::URL_FRAGMENT],
        does: "removes the fragment, which is never sent",
        risk: None,
        run: server::url_fragment,
    },
    Fix {
        codes: &[&codes::mcp::HEADER_VALUE_PORTABILITY],
        does: "removes white space around a header's value",
        risk: None,
        run: server::header_value,
    },
    Fix {
        codes: &[
            &codes::skill::FRONTMATTER_MISSING,
            &codes::skill::FRONTMATTER_UNCLOSED,
        ],
        does: "corrects a marker line that is not exactly `---`, and removes blank lines before the first",
        risk: None,
        run: skill::marker,
    },
    Fix {
        codes: &[&codes::skill::FRONTMATTER_INVALID],
        does: "quotes a value that YAML does not read as one text",
        risk: None,
        run: quote::quote_value,
    },
    Fix {
        codes: &[
            &codes::skill::FIELD_TYPE,
            &codes::skill::METADATA_NOT_A_STRING,
            &codes::skill::YAML_AMBIGUOUS,
        ],
        does: "quotes numbers, booleans and words that YAML 1.1 takes for them",
        risk: None,
        run: skill::quote_scalar,
    },
    Fix {
        codes: &[
            &codes::skill::FIELD_TYPE,
            &codes::skill::COMPATIBILITY_LENGTH,
            &codes::skill::ALLOWED_TOOLS_TYPE,
        ],
        does: "removes an optional field that has no value",
        risk: None,
        run: skill::remove_empty,
    },
    Fix {
        codes: &[&codes::skill::ALLOWED_TOOLS_TYPE],
        does: "writes a list of tools as one string",
        risk: None,
        run: skill::tools_list,
    },
    Fix {
        codes: &[&codes::skill::ALLOWED_TOOLS_COMMAS],
        does: "separates tools by spaces in the place of commas",
        risk: None,
        run: skill::tools_commas,
    },
    Fix {
        codes: &[&codes::skill::NAME_MISSING],
        does: "adds the name, which is that of the directory",
        risk: None,
        run: skill::name_missing,
    },
    Fix {
        codes: &[&codes::skill::NAME_MISMATCH, &codes::skill::NAME_INVALID],
        does: "writes the directory's name, or renames the directory where its name cannot be one of a skill",
        risk: Some("a skill is called by its name"),
        run: skill::name,
    },
    Fix {
        codes: &[&codes::skill::UNKNOWN_KEY],
        does: "renames a misspelt key",
        risk: Some("it guesses which key is meant"),
        run: skill::rename_key,
    },
    Fix {
        codes: &[
            &codes::skill::FILE_CASE,
            &codes::package::LOCATION_CASE,
            &codes::manifest::MISSING,
        ],
        does: "corrects the letter case of a file's name",
        risk: Some("clients will load what they did not see before"),
        run: files::letter_case,
    },
];
