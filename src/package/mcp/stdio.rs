//! Servers that are started as subprocesses (§7.2.1 "stdio", §9.2).

use std::path::Path;

use super::super::containment::{self, Resolution};
use super::super::file::quoted;
use super::super::report::Transport;
use super::server::Entry;
use super::values::{self, Value};
use crate::diagnostic::Span;
use crate::document::{Member, Object, Pointer};
use crate::spec::codes::mcp as codes;
use crate::spec::credential;
use crate::spec::placeholder::{self, DATA, NAMES, Owner, ROOT};
use crate::sys;

/// Judges the fields of a stdio server.
pub(super) fn check(entry: &mut Entry<'_, '_>, fields: &Object) -> Option<Transport> {
    let help = "add \"command\": a bare executable name, or a path that begins with ./";
    let command = entry.required(fields, "command", &codes::COMMAND_MISSING, help);
    if let Some(member) = command {
        self::command(entry, member);
    }
    let args = args(entry, fields);
    let env = env(entry, fields);
    let cwd = match fields.get("cwd") {
        Some(member) => cwd(entry, member),
        None => None,
    };
    let command = command?.value.as_text()?.display().into_owned();
    Some(Transport::Stdio {
        command,
        args,
        env,
        cwd,
    })
}

fn command(entry: &mut Entry<'_, '_>, member: &Member) {
    let pointer = entry.pointer.key("command");
    let span = member.value.span;
    let Some(text) = member.value.as_text() else {
        return;
    };
    let shown = text.display();
    let value = text.as_str().unwrap_or("\0");
    let secret = Value {
        span,
        pointer: &pointer,
        name: None,
        text: value,
    };
    values::credential_in(entry, &secret, "the command");
    let placeholder = placeholder::find(value).next();
    let form = |what: &str| {
        (
            format!("command {} {what}", quoted(&shown)),
            form_help(value),
        )
    };
    let problem = if value.is_empty() {
        Some(form("is empty"))
    } else if value.chars().any(char::is_control) {
        Some(form("holds control characters"))
    } else if value.as_bytes().get(1) == Some(&b':') {
        Some(form("names a drive, which is a path on one platform only"))
    } else if value.contains('\\') {
        Some(form(
            "holds a backslash, which is a path on one platform only",
        ))
    } else if let Some(path) = value.strip_prefix("./") {
        let names_something = Path::new(path)
            .components()
            .any(|part| matches!(part, std::path::Component::Normal(_)));
        (!names_something).then(|| form("names a directory, not an executable"))
    } else if value.starts_with('/') {
        Some(form("is an absolute path"))
    } else if value.starts_with("../") {
        Some(form("leads out of the package"))
    } else if value == "." || value == ".." {
        Some(form("names a directory, not an executable"))
    } else if value.chars().any(char::is_whitespace) && !value.starts_with("${") {
        entry.report(
            &codes::COMMAND_LINE,
            span,
            &pointer,
            format!(
                "command {} is a command line; it must be one executable",
                quoted(value)
            ),
            command_line_help(value),
        );
        return;
    } else if value.contains('/') {
        let what = match placeholder {
            Some(_) => "begins with placeholder text, which no client expands in command",
            None => "is neither a bare name nor a path that begins with ./",
        };
        Some(form(what))
    } else if value.chars().any(char::is_whitespace) {
        Some(form("holds white space and is no path"))
    } else {
        None
    };
    if let Some((message, help)) = problem {
        entry.report(&codes::COMMAND_FORM, span, &pointer, message, help);
        return;
    }
    if let Some(found) = placeholder {
        let code = match found.owner {
            Owner::Client | Owner::Editor => &codes::CLIENT_PLACEHOLDER,
            Owner::Specification | Owner::Nobody => &codes::COMMAND_PLACEHOLDER,
        };
        entry.report(
            code,
            span,
            &pointer,
            format!("{} stays literal in command", found.text),
            "name the executable of the package by a path that begins with ./",
        );
    }
    if value.starts_with("./") {
        bundled_command(entry, member, value, &pointer);
    }
}

/// A `./` command: where it leads, and whether it could be started.
fn bundled_command(entry: &mut Entry<'_, '_>, member: &Member, value: &str, pointer: &Pointer) {
    let span = member.value.span;
    let root = entry.loader.root;
    match containment::resolve(root, root, Path::new(value)) {
        Resolution::Escape => entry.report(
            &codes::COMMAND_ESCAPE,
            span,
            pointer,
            format!("command {} leads out of the package", quoted(value)),
            "put the executable into the package and name it from there",
        ),
        Resolution::Loop => entry.report(
            &codes::COMMAND_ESCAPE,
            span,
            pointer,
            format!(
                "command {} is a link that leads back to itself",
                quoted(value)
            ),
            "replace the link by the executable",
        ),
        Resolution::Missing(_) => entry.report(
            &codes::COMMAND_NOT_FOUND,
            span,
            pointer,
            format!("there is no file {} in the package", quoted(value)),
            "add the file; if a build step makes it, ship the package with it",
        ),
        Resolution::Unreadable(error) => entry.report(
            &codes::COMMAND_NOT_FOUND,
            span,
            pointer,
            format!("the file {} cannot be reached: {error}", quoted(value)),
            "grant search access to the directories on its way",
        ),
        Resolution::Directory(_) => entry.report(
            &codes::COMMAND_NOT_EXECUTABLE,
            span,
            pointer,
            format!("{} is a directory, not an executable", quoted(value)),
            "name the executable inside it",
        ),
        Resolution::Special(kind) => entry.report(
            &codes::COMMAND_NOT_EXECUTABLE,
            span,
            pointer,
            format!("{} is {kind}, not an executable", quoted(value)),
            "name a regular file",
        ),
        Resolution::File(file) => {
            if std::fs::metadata(&file).is_ok_and(|metadata| !sys::is_executable(&metadata)) {
                entry.report(
                    &codes::COMMAND_NOT_EXECUTABLE,
                    span,
                    pointer,
                    format!("the file {} is not executable", quoted(value)),
                    format!(
                        "run chmod +x {value}, and commit the mode: git add --chmod=+x {value}"
                    ),
                );
            }
        }
    }
}

fn form_help(value: &str) -> String {
    // Whoever writes a placeholder for the package here means a file of it.
    let inside = placeholder::find(value)
        .next()
        .filter(|found| found.offset == 0 && found.text.ends_with("PLUGIN_ROOT}"))
        .and_then(|found| value.strip_prefix(found.text)?.strip_prefix('/'));
    let relative = value
        .split('/')
        .all(|part| !part.is_empty() && part != "..")
        && !value.contains(['\\', '$', '\0']);
    match inside {
        Some(rest) => format!("write \"./{rest}\"; a ./ path is resolved against the package"),
        None if value.starts_with('~') => {
            "no shell expands the ~; write a bare executable name, or ship the executable in the package".to_owned()
        }
        None if relative && value.contains('/') => format!("write \"./{value}\""),
        None => {
            "write a bare executable name, or a path that begins with ./ and stays in the package"
                .to_owned()
        }
    }
}

fn command_line_help(value: &str) -> String {
    let all: Vec<&str> = value.split_whitespace().collect();
    let secret = all.iter().enumerate().any(|(at, word)| {
        let before = at
            .checked_sub(1)
            .and_then(|before| all.get(before).copied());
        credential::held_by_argument(word, before).is_some()
            || credential::option_value(word, before)
                .is_some_and(|(name, _)| credential::is_secret_name(name))
    });
    if secret || value.len() > 400 {
        return "write the executable alone, and each argument as an element of args".to_owned();
    }
    let mut words = value.split_whitespace();
    match words.next() {
        Some(first) => {
            let rest: Vec<String> = words.map(|word| format!("{word:?}")).collect();
            format!(
                "write \"command\": {first:?}, \"args\": [{}]",
                rest.join(", ")
            )
        }
        None => "write one executable name".to_owned(),
    }
}

fn args(entry: &mut Entry<'_, '_>, fields: &Object) -> Vec<String> {
    let Some(member) = fields.get("args") else {
        return Vec::new();
    };
    let pointer = entry.pointer.key("args");
    let Some(items) = member.value.as_array() else {
        entry.wrong_type(
            member.value.span,
            &pointer,
            "args",
            member.value.type_name(),
            "an array of strings",
        );
        return Vec::new();
    };
    let mut args = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let pointer = pointer.index(index);
        let Some(text) = item.as_text() else {
            entry.wrong_type(
                item.span,
                &pointer,
                &format!("args[{index}]"),
                item.type_name(),
                "a string",
            );
            continue;
        };
        let value = text.display().into_owned();
        relative_argument(entry, item.span, &pointer, &value);
        bundled_argument(entry, item.span, &pointer, &value);
        nul(entry, item.span, &pointer, "the argument", &value);
        let text = Value {
            span: item.span,
            pointer: &pointer,
            name: None,
            text: &value,
        };
        values::expanded(entry, &text);
        let before = args.last().map(String::as_str);
        let secret = match credential::option_value(&value, before) {
            Some((option, part)) => Value {
                name: Some(option),
                text: part,
                ..text
            },
            None => text,
        };
        values::credential_in(entry, &secret, "the argument");
        args.push(value);
    }
    args
}

/// An argument as the option with its `=`, if there is one, and the value.
fn option_path(argument: &str) -> (&str, &str) {
    match argument.find('=') {
        Some(at) if argument.starts_with('-') => argument.split_at(at + 1),
        _ => ("", argument),
    }
}

/// An argument, or the value of an option in it, that names a file of the package
/// which is not there. Where else it leads is the server's affair.
fn bundled_argument(entry: &mut Entry<'_, '_>, span: Span, pointer: &Pointer, argument: &str) {
    let (_, path) = option_path(argument);
    // Another client's name for the package means the same files.
    let inside = placeholder::find(path)
        .next()
        .filter(|found| found.offset == 0)
        .filter(|found| found.text == ROOT || placeholder::counterpart(found.text) == Some(ROOT))
        .and_then(|found| path.strip_prefix(found.text)?.strip_prefix('/'));
    // More than one path, a pattern, or what is known at run time only.
    let Some(inside) = inside
        .filter(|inside| !inside.contains(|c: char| ":;,*?[$\\".contains(c) || c.is_control()))
    else {
        return;
    };
    let root = entry.loader.root;
    if matches!(
        containment::resolve(root, root, Path::new(inside)),
        Resolution::Missing(_)
    ) {
        entry.report(
            &codes::ARGUMENT_NOT_FOUND,
            span,
            pointer,
            format!("there is no file {} in the package", quoted(inside)),
            format!("add the file; if a build step makes it, ship the package with it; what is made at run time goes below {DATA}"),
        );
    }
}

/// A NUL in `what`, which no process can be given.
fn nul(entry: &mut Entry<'_, '_>, span: Span, pointer: &Pointer, what: &str, value: &str) {
    if value.contains('\0') {
        entry.report(
            &codes::NUL_CHARACTER,
            span,
            pointer,
            format!("{what} holds a NUL character, which no process can be given"),
            "remove it",
        );
    }
}

/// An argument, or the value of an option in it, that is a path relative to the
/// working directory.
fn relative_argument(entry: &mut Entry<'_, '_>, span: Span, pointer: &Pointer, argument: &str) {
    let (option, path) = option_path(argument);
    let help = if let Some(rest) = path.strip_prefix("./") {
        format!("write \"{option}{ROOT}/{rest}\" if it names a file of the package")
    } else if path.starts_with("../") {
        "copy what it names into the package and write a path that begins with ${PLUGIN_ROOT}/"
            .to_owned()
    } else {
        return;
    };
    entry.report(
        &codes::ARGUMENT_RELATIVE,
        span,
        pointer,
        format!(
            "the argument {} depends on the directory the server is started in",
            quoted(argument)
        ),
        help,
    );
}

fn env(entry: &mut Entry<'_, '_>, fields: &Object) -> Vec<(String, String)> {
    let mut env = Vec::new();
    for (member, value, pointer) in entry.strings_of(fields, "env") {
        let name = member.key.display().into_owned();
        if NAMES.contains(&name.as_str()) {
            entry.report(
                &codes::ENV_RESERVED,
                member.key_span,
                &pointer,
                format!("env sets {name}, which only the client sets"),
                "remove it; the client sets it to the directory of this package",
            );
        } else if NAMES
            .iter()
            .any(|reserved| name.eq_ignore_ascii_case(reserved))
        {
            entry.report(
                &codes::ENV_RESERVED_CASE,
                member.key_span,
                &pointer,
                format!(
                    "env sets {name}, which is a reserved name where case does not count (Windows)"
                ),
                "use another name; clients replace this one there",
            );
        } else if name.is_empty() || name.contains(['=', '\0']) {
            entry.report(
                &codes::ENV_NAME,
                member.key_span,
                &pointer,
                format!("no platform can set a variable named {}", quoted(&name)),
                "use letters, digits and underscores",
            );
        }
        let what = format!("the value of {}", quoted(&name));
        nul(entry, member.value.span, &pointer, &what, &value);
        let text = Value {
            span: member.value.span,
            pointer: &pointer,
            name: Some(&name),
            text: &value,
        };
        values::expanded(entry, &text);
        values::credential(entry, &text);
        env.push((name, value));
    }
    env
}

fn cwd(entry: &mut Entry<'_, '_>, member: &Member) -> Option<String> {
    let pointer = entry.pointer.key("cwd");
    let span = member.value.span;
    let Some(text) = member.value.as_text() else {
        entry.wrong_type(span, &pointer, "cwd", member.value.type_name(), "a string");
        return None;
    };
    let shown = text.display().into_owned();
    let value = text.as_str().unwrap_or("\0");
    // The form is judged on the raw value, then placeholders are expanded, then
    // the path is resolved (§7.2.1).
    let below = |base: &str| {
        let rest = value.strip_prefix(base)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    let (rest, in_package) = if value.contains('\\') || value.chars().any(char::is_control) {
        (None, false)
    } else if let Some(rest) = value.strip_prefix("./") {
        (Some(rest.trim_start_matches('/')), true)
    } else if let Some(rest) = below(ROOT) {
        (Some(rest), true)
    } else {
        (below(DATA), false)
    };
    let Some(rest) = rest else {
        entry.report(
            &codes::CWD_FORM,
            span,
            &pointer,
            format!("cwd {} is not a permitted form", quoted(&shown)),
            cwd_help(value),
        );
        return None;
    };
    let nested = NAMES
        .iter()
        .any(|name| rest.contains(&format!("${{{name}}}")));
    if nested {
        entry.report(
            &codes::CWD_PLACEHOLDER,
            span,
            &pointer,
            format!(
                "cwd {} puts an absolute path below another directory",
                quoted(value)
            ),
            format!("use one of {ROOT} and {DATA}, at the beginning"),
        );
    } else {
        values::expanded(
            entry,
            &Value {
                span,
                pointer: &pointer,
                name: None,
                text: value,
            },
        );
    }
    // How deep a placeholder leads is known at run time only; what stands before
    // it leads out or does not.
    let judged = match rest.split_once("${") {
        Some((before, _)) if nested => before.rsplit_once('/').map_or("", |(start, _)| start),
        _ => rest,
    };
    let escape = if in_package {
        let root = entry.loader.root;
        match containment::resolve(root, root, Path::new(judged)) {
            Resolution::Escape => Some("leads out of the package"),
            Resolution::Loop => Some("is a link that leads back to itself"),
            Resolution::Directory(_) | Resolution::Unreadable(_) => None,
            _ if nested => None,
            Resolution::Missing(_) => {
                entry.report(
                    &codes::CWD_NOT_A_DIRECTORY,
                    span,
                    &pointer,
                    format!("there is no directory {} in the package", quoted(value)),
                    format!("add it, or use {DATA} for a directory that is made at run time"),
                );
                None
            }
            Resolution::File(_) | Resolution::Special(_) => {
                entry.report(
                    &codes::CWD_NOT_A_DIRECTORY,
                    span,
                    &pointer,
                    format!("{} is not a directory", quoted(value)),
                    "name a directory",
                );
                None
            }
        }
    } else {
        // The data directory exists only at run time; its links are a matter of then.
        (!containment::stays_below(Path::new(judged))).then_some("leads out of the data directory")
    };
    if let Some(what) = escape {
        entry.report(
            &codes::CWD_ESCAPE,
            span,
            &pointer,
            format!("cwd {} {what}", quoted(value)),
            format!("name a directory below {ROOT} or {DATA}"),
        );
    }
    Some(shown)
}

fn cwd_help(value: &str) -> String {
    let plain = !value.is_empty()
        && !value.contains(['\\', '$', '\0'])
        && !value.starts_with(['/', '~', '.']);
    if value == "." {
        "write \"./\", or leave cwd out: the package is the default".to_owned()
    } else if plain {
        format!("write \"./{value}\"")
    } else {
        format!("begin with ./, {ROOT} or {DATA}")
    }
}
