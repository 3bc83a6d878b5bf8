//! What identity needs of git, read from its files: asking the `git` program
//! costs more time than everything else a hook does.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::sys;

/// The largest configuration file that is read.
const MAX_CONFIG: u64 = 1024 * 1024;
/// How deep configuration files may include each other.
const MAX_INCLUDES: usize = 8;

/// A repository around a directory.
#[derive(Debug)]
pub struct Repository {
    /// The working tree's root; the directory itself for a bare repository.
    pub root: PathBuf,
    /// Where the shared configuration lies.
    common: PathBuf,
    /// The worktree's own directory.
    own: PathBuf,
}

impl Repository {
    /// The repository that `directory` belongs to.
    pub fn around(directory: &Path) -> Option<Self> {
        let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        directory.ancestors().find_map(|root| {
            let entry = root.join(".git");
            let own = match fs::metadata(&entry) {
                Ok(found) if found.is_dir() => is_git_dir(&entry).then_some(entry)?,
                Ok(_) => pointed_to(&entry)?,
                Err(_) => is_git_dir(root).then(|| root.to_owned())?,
            };
            Some(Self {
                root: root.to_owned(),
                common: common_dir(&own),
                own,
            })
        })
    }

    /// The address of the remote `origin`, as it is written.
    pub fn origin(&self) -> Option<String> {
        let mut found = None;
        read_config(&self.common.join("config"), &mut found, 0);
        // Present only with the worktree extension; later wins.
        read_config(&self.own.join("config.worktree"), &mut found, 0);
        found.filter(|url| !url.trim().is_empty())
    }
}

fn is_git_dir(path: &Path) -> bool {
    // A worktree's directory has `commondir` instead of `objects` and `refs`.
    path.join("HEAD").is_file()
        && (path.join("commondir").is_file()
            || path.join("objects").is_dir() && path.join("refs").is_dir())
}

/// The directory that a `.git` file points to (worktrees, submodules).
fn pointed_to(file: &Path) -> Option<PathBuf> {
    let text = read_small(file)?;
    let target = text.strip_prefix("gitdir:")?.trim();
    let path = file.parent()?.join(target);
    path.is_dir().then_some(path)
}

fn common_dir(own: &Path) -> PathBuf {
    match read_small(&own.join("commondir")) {
        Some(text) => own.join(text.trim()),
        None => own.to_owned(),
    }
}

fn read_small(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    sys::open_regular(path)
        .ok()?
        .take(MAX_CONFIG)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn read_config(path: &Path, found: &mut Option<String>, depth: usize) {
    let Some(text) = (depth < MAX_INCLUDES).then(|| read_small(path)).flatten() else {
        return;
    };
    let mut section = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (header, after) = section_header(rest);
            section = header;
            line = after.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, mut raw) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), value.to_owned()),
            None => continue,
        };
        // A backslash at the end continues the value on the next line.
        while raw.ends_with('\\') && !raw.ends_with("\\\\") {
            raw.pop();
            raw.push_str(lines.next().unwrap_or_default());
        }
        if section == "remote.origin" && name.eq_ignore_ascii_case("url") {
            *found = Some(config_value(&raw));
        } else if section == "include" && name.eq_ignore_ascii_case("path") {
            let target = config_value(&raw);
            // `~/…` names a file of the user, not of the repository.
            if let Some(parent) = path.parent().filter(|_| !target.starts_with('~')) {
                read_config(&parent.join(target), found, depth + 1);
            }
        }
    }
}

/// The section a header opens, `name.sub` with the name in lower case, and what
/// follows the header on its line.
fn section_header(rest: &str) -> (String, &str) {
    let mut header = String::new();
    let mut quoted = false;
    let mut chars = rest.char_indices();
    while let Some((at, ch)) = chars.next() {
        match ch {
            '"' => quoted = !quoted,
            '\\' if quoted => header.extend(chars.next().map(|(_, ch)| ch)),
            ']' if !quoted => return (header, rest.get(at + 1..).unwrap_or_default()),
            ' ' | '\t' if !quoted => {
                if !header.ends_with('.') {
                    header.push('.');
                }
            }
            ch if quoted => header.push(ch),
            ch => header.push(ch.to_ascii_lowercase()),
        }
    }
    (header, "")
}

/// A value without quotes, escapes and comments.
fn config_value(raw: &str) -> String {
    let mut value = String::new();
    // Length up to which white space counts because it was quoted.
    let mut firm = 0;
    let mut quoted = false;
    let mut chars = raw.trim().chars();
    while let Some(ch) = chars.next() {
        match ch {
            '"' => {
                quoted = !quoted;
                firm = value.len();
            }
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
                None => {}
            },
            '#' | ';' if !quoted => break,
            ch => value.push(ch),
        }
        if quoted {
            firm = value.len();
        }
    }
    let end = value.trim_end().len().max(firm);
    value.truncate(end);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_git_writes() {
        assert_eq!(
            section_header("remote \"Or]ig\\\"in\"] url = x"),
            ("remote.Or]ig\"in".to_owned(), " url = x")
        );
        assert_eq!(section_header("REMOTE.Origin]").0, "remote.origin");
        assert_eq!(config_value(" \"a ; b\" # note"), "a ; b");
        assert_eq!(
            config_value(" https://h/o/r.git  ; note"),
            "https://h/o/r.git"
        );
        assert_eq!(config_value(r"a\\b\tc"), "a\\b\tc");
    }
}
