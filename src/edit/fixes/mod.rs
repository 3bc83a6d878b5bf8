//! What can be mended, and how: one function for each fix.
//!
//! A fix answers findings: it is given one and says which edits end it, or why a
//! person must decide. Whether the edits are made is not decided here.
//!
//! | module | findings about |
//! | --- | --- |
//! | `text` | the text as such: byte order marks, commas, double keys |
//! | `manifest` | `$schema`, the fields of `plugin.json` |
//! | `server` | the entries of `mcp.json` |
//! | `skill` | the frontmatter of `SKILL.md` |
//! | `files` | names and modes of files |

mod files;
mod manifest;
mod server;
mod skill;
mod text;

use std::path::{Path, PathBuf};

use super::json::{self, Layout};
use super::text::Edit;
use super::tree::{self, Found};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::document::frontmatter::{self, Frontmatter};
use crate::document::{Document, Node, json as json_text, yaml};
use crate::package::Package;
use crate::spec::codes;

/// One way to end findings.
#[derive(Debug)]
pub struct Fix {
    /// The codes it answers.
    pub codes: &'static [&'static Code],
    /// What it does, as a phrase that follows "apkit fix": `adds …`.
    pub does: &'static str,
    /// Why it is only made when asked for, if it always is.
    pub risk: Option<&'static str>,
    run: fn(&Site<'_>) -> Answer,
}

/// The edits that end a finding, or why there are none, as a phrase.
type Answer = Result<Change, String>;

/// What a fix would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// Edits of files of the package, by their physical paths.
    pub(super) edits: Vec<Edit>,
    /// What is done to a file beside its text.
    pub(super) operation: Option<Operation>,
    /// Why it is only made when asked for.
    pub(super) risk: Option<String>,
}

/// A change that is none of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Give an entry another name in the same directory.
    Rename {
        /// Where it is.
        from: PathBuf,
        /// Where it will be.
        to: PathBuf,
    },
    /// Set the executable bits of a file, where it may be read.
    MakeExecutable(PathBuf),
}

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
        run: skill::quote_value,
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

/// The fixes that answer findings with this code.
pub fn of(code: &Code) -> impl Iterator<Item = &'static Fix> {
    let id = code.id;
    FIXES
        .iter()
        .filter(move |fix| fix.codes.iter().any(|code| code.id == id))
}

impl Fix {
    /// What it would do about the finding.
    pub(super) fn answer(&self, site: &Site<'_>) -> Answer {
        let mut change = (self.run)(site)?;
        if let Some(risk) = self.risk {
            change.risk.get_or_insert_with(|| risk.to_owned());
        }
        Ok(change)
    }
}

/// What a fix may look at.
pub(super) struct Site<'s> {
    /// The physical package root.
    pub(super) root: &'s Path,
    /// The package as it is judged now.
    pub(super) package: &'s Package,
    /// The finding to end.
    pub(super) finding: &'s Diagnostic,
    /// The file it is about, unless it is about none that is read.
    pub(super) file: Option<&'s File>,
    /// Where unknown fields go.
    pub(super) namespace: Option<&'s str>,
}

/// A file of the package: its physical path and its text.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl<'s> Site<'s> {
    fn file(&self) -> Result<&'s File, String> {
        self.file
            .ok_or_else(|| "the file is not readable as UTF-8".to_owned())
    }

    fn text(&self) -> &'s str {
        self.file.map_or("", |file| file.text.as_str())
    }

    fn code(&self, code: &Code) -> bool {
        self.finding.code == code
    }

    fn raw(&self, span: Span) -> &'s str {
        self.text().get(span.start..span.end).unwrap_or_default()
    }

    /// The bytes the finding is about.
    fn span(&self) -> Result<Span, String> {
        let location = self.finding.location.ok_or_else(nothing)?;
        Ok(Span::new(
            location.offset,
            location.offset + location.length,
        ))
    }

    fn edit(&self, span: Span, replacement: impl Into<String>) -> Answer {
        self.edits([(span, replacement.into())])
    }

    fn edits(&self, changes: impl IntoIterator<Item = json::Change>) -> Answer {
        let path = &self.file()?.path;
        let edits = changes.into_iter().map(|(span, replacement)| Edit {
            path: path.clone(),
            span,
            replacement,
        });
        Ok(Change {
            edits: edits.collect(),
            ..Change::default()
        })
    }

    fn json(&self) -> Result<Document, String> {
        json_text::parse(self.file()?.text.as_bytes(), json_text::LIMITS)
            .map_err(|error| error.message)
    }

    /// The frontmatter of the skill, split and parsed.
    fn skill(&self) -> Result<(Frontmatter, Document), String> {
        let text = &self.file()?.text;
        let parts = frontmatter::split(text).map_err(|error| error.message)?;
        let document =
            yaml::parse(text, parts.yaml, yaml::LIMITS).map_err(|error| error.message)?;
        Ok((parts, document))
    }

    /// The value the finding points to.
    fn found<'d>(&self, document: &'d Document) -> Result<Found<'d>, String> {
        let pointer = self.finding.pointer.as_deref().ok_or_else(nothing)?;
        tree::at(&document.root, pointer).ok_or_else(nothing)
    }

    /// The keys that lead to the value the finding points to.
    fn keys(&self) -> Vec<String> {
        tree::keys(self.finding.pointer.as_deref().unwrap_or_default()).collect()
    }

    fn layout(&self, root: &Node) -> Layout<'s> {
        Layout::of(self.text(), root)
    }
}

/// There is no answer, and nothing to say about it.
fn nothing() -> String {
    String::new()
}

/// A phrase that says why there is no answer.
fn left(reason: impl Into<String>) -> Answer {
    Err(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fix_says_what_it_does() {
        for fix in FIXES {
            assert!(!fix.codes.is_empty());
            assert!(
                !fix.does.ends_with('.') && fix.does.contains(' '),
                "{}",
                fix.does
            );
            for code in fix.codes {
                assert!(codes::find(code.id).is_some());
            }
        }
    }
}
