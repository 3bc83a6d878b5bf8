//! What `plugin.json` and `mcp.json` have in common: finding the file, reading
//! it, and parsing it, each failure with the code of its own family.

use super::Loader;
use super::containment::Resolution;
use super::file::{self, MAX_BYTES, ReadError, Source};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::document::{Document, ParseErrorKind, json};
use crate::spec::codes;

/// The codes for one of the two files.
pub(super) struct Codes {
    pub(super) not_a_file: &'static Code,
    pub(super) escape: &'static Code,
    pub(super) unreadable: &'static Code,
    pub(super) too_large: &'static Code,
    pub(super) invalid_utf8: &'static Code,
    pub(super) byte_order_mark: &'static Code,
    pub(super) invalid_json: &'static Code,
    pub(super) too_complex: &'static Code,
    pub(super) duplicate_key: &'static Code,
    pub(super) lone_surrogate: &'static Code,
}

pub(super) static MANIFEST: Codes = Codes {
    not_a_file: &codes::manifest::NOT_A_FILE,
    escape: &codes::manifest::ESCAPE,
    unreadable: &codes::manifest::UNREADABLE,
    too_large: &codes::manifest::TOO_LARGE,
    invalid_utf8: &codes::manifest::INVALID_UTF8,
    byte_order_mark: &codes::manifest::BYTE_ORDER_MARK,
    invalid_json: &codes::manifest::INVALID_JSON,
    too_complex: &codes::manifest::TOO_COMPLEX,
    duplicate_key: &codes::manifest::DUPLICATE_KEY,
    lone_surrogate: &codes::manifest::LONE_SURROGATE,
};

pub(super) static MCP: Codes = Codes {
    not_a_file: &codes::mcp::NOT_A_FILE,
    escape: &codes::mcp::ESCAPE,
    unreadable: &codes::mcp::UNREADABLE,
    too_large: &codes::mcp::TOO_LARGE,
    invalid_utf8: &codes::mcp::INVALID_UTF8,
    byte_order_mark: &codes::mcp::BYTE_ORDER_MARK,
    invalid_json: &codes::mcp::INVALID_JSON,
    too_complex: &codes::mcp::TOO_COMPLEX,
    duplicate_key: &codes::mcp::DUPLICATE_KEY,
    lone_surrogate: &codes::mcp::LONE_SURROGATE,
};

/// The bytes of the file `name` at the package root, or why there are none.
pub(super) fn read(
    loader: &Loader<'_>,
    name: &str,
    codes: &Codes,
) -> Result<Vec<u8>, Box<Diagnostic>> {
    read_file(loader, name, codes).map_err(Box::new)
}

#[expect(clippy::result_large_err, reason = "boxed by its only caller")]
fn read_file(loader: &Loader<'_>, name: &str, codes: &Codes) -> Result<Vec<u8>, Diagnostic> {
    let finding = |code, message: String| Diagnostic::new(code, name, message);
    let path = match loader.resolve_entry(name) {
        Resolution::File(path) => path,
        Resolution::Directory(_) => {
            return Err(finding(codes.not_a_file, format!("{name} is a directory"))
                .with_help(format!("replace the directory by a JSON file named {name}")));
        }
        Resolution::Special(kind) => {
            return Err(finding(codes.not_a_file, format!("{name} is {kind}"))
                .with_help(format!("replace it by a regular JSON file named {name}")));
        }
        Resolution::Missing(_) => {
            return Err(finding(
                codes.not_a_file,
                format!("{name} is a link to a file that does not exist"),
            )
            .with_help("put the file there, or make the link lead to a file inside the package"));
        }
        Resolution::Loop => {
            return Err(finding(
                codes.not_a_file,
                format!("{name} is a link that leads back to itself"),
            )
            .with_help(format!(
                "replace the link by a regular JSON file named {name}"
            )));
        }
        Resolution::Escape => {
            return Err(finding(
                codes.escape,
                format!("{name} is a link that leads out of the package"),
            )
            .with_help("copy the file into the package; links may only lead to places inside it"));
        }
        Resolution::Unreadable(error) => {
            return Err(finding(
                codes.unreadable,
                format!("{name} cannot be reached: {error}"),
            )
            .with_help("grant read access to the file and the directories on its way"));
        }
    };
    loader.read(&path).map_err(|error| match error {
        ReadError::TooLarge => finding(
            codes.too_large,
            format!("{name} is larger than {MAX_BYTES} bytes"),
        )
        .with_help("keep data out of it; configuration of a plugin is a few kilobytes"),
        ReadError::Io(error) => {
            finding(codes.unreadable, format!("{name} cannot be read: {error}"))
                .with_help("grant read access to the file")
        }
    })
}

/// The tree of the text, with findings about the text itself; `None` after one
/// that leaves no tree.
pub(super) fn parse(
    source: &Source<'_>,
    bytes: &[u8],
    codes: &Codes,
    findings: &mut Vec<Diagnostic>,
) -> Option<Document> {
    let document = match json::parse(bytes, json::LIMITS) {
        Ok(document) => document,
        Err(error) => {
            let (code, help) = match error.kind {
                ParseErrorKind::InvalidUtf8 => (codes.invalid_utf8, Some("save the file as UTF-8")),
                ParseErrorKind::ByteOrderMark => (
                    codes.byte_order_mark,
                    Some("save the file as UTF-8 without a byte order mark"),
                ),
                ParseErrorKind::Syntax => (codes.invalid_json, None),
                ParseErrorKind::TooComplex => (
                    codes.too_complex,
                    Some("flatten the data; no client needs it this deep"),
                ),
            };
            if let Some(target) = file::checked_out_link(bytes) {
                let whole = Span::new(0, target.len());
                let message = file::checked_out_link_message(target);
                findings.push(
                    source
                        .finding(code, whole, message)
                        .with_help(file::CHECKED_OUT_LINK_HELP),
                );
                return None;
            }
            let mut finding = source.finding(code, error.span, error.message);
            finding.help = help.map(str::to_owned);
            findings.push(finding);
            return None;
        }
    };
    for duplicate in &document.duplicates {
        let first = source.lines().locate(duplicate.first);
        let key = text_of(bytes, duplicate.again);
        findings.push(
            source
                .finding(codes.duplicate_key, duplicate.again, format!("the key {key} stands twice; the first is on line {}", first.line))
                .with_help("keep one of them: the last one counts here, other readers may take the first or refuse the file"),
        );
    }
    for &span in &document.lone_surrogates {
        findings.push(
            source
                .finding(
                    codes.lone_surrogate,
                    span,
                    "the string holds half of a surrogate pair, which is no character",
                )
                .with_help("write the character itself, or both halves of its pair"),
        );
    }
    Some(document)
}

/// The text of a span for a message, shortened.
fn text_of(bytes: &[u8], span: Span) -> String {
    let text = bytes
        .get(span.start..span.end)
        .map(String::from_utf8_lossy)
        .unwrap_or_default();
    let inner = text.trim_matches('"');
    file::quoted(inner)
}
