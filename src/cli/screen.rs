//! What the reader's screen can show. The environment decides here, and only
//! here.

use std::env;
use std::io::{self, IsTerminal};

use apkit::render::Screen;

use super::args::When;

/// Columns where there is no screen to ask, and the most that prose takes.
const WIDTH: usize = 100;

/// The screen behind standard output, or none, if the text goes to a file.
pub(crate) fn of(when: When, to_file: bool) -> Screen {
    let is_terminal = !to_file && io::stdout().is_terminal();
    let columns = terminal_size::terminal_size_of(io::stdout())
        .filter(|_| is_terminal)
        .map_or(WIDTH, |(width, _)| usize::from(width.0));
    Screen {
        color: match when {
            When::Always => true,
            When::Never => false,
            When::Auto if to_file || is_set("NO_COLOR") => false,
            When::Auto if is_set("CLICOLOR_FORCE") && value("CLICOLOR_FORCE") != "0" => true,
            When::Auto => is_terminal && value("TERM") != "dumb",
        },
        unicode: cfg!(windows) || locale_is_utf8(),
        width: columns.min(WIDTH),
    }
}

fn value(name: &str) -> String {
    let value = env::var_os(name).unwrap_or_default();
    value.to_string_lossy().into_owned()
}

/// A variable that is empty counts as not set, as these conventions have it.
fn is_set(name: &str) -> bool {
    !value(name).is_empty()
}

/// The first of these that is set decides, as in POSIX.
fn locale_is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .map(value)
        .find(|value| !value.is_empty())
        .unwrap_or_default()
        .to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}
