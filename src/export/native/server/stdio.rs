//! Servers that are started as subprocesses.

use super::super::super::client::Client;
use super::super::super::json::Json;
use super::super::super::loss::LossKind;
use super::super::super::paths::relative;
use super::super::values;
use super::{Dropped, Server};
use crate::document::{Node, Object};
use crate::spec::codes::mcp as codes;

/// Where the native client starts a server.
#[derive(Debug, PartialEq, Eq)]
enum Base {
    /// In the project that the user works in.
    Project,
    /// In this directory of the package; empty for its root.
    Package(String),
    /// In the directory for the package's data.
    Data,
}

impl Server<'_, '_> {
    pub(super) fn stdio(
        &mut self,
        fields: &Object,
        entry: &mut Vec<(String, Json)>,
    ) -> Result<(), Dropped> {
        let Some((node, command)) = self.string(fields, "command")? else {
            return Err(self.malformed("it has no command"));
        };
        let base = self.base(fields);
        let command = self.command(node, &command, &base)?;
        entry.push(("command".to_owned(), Json::String(command)));
        if let Some(args) = self.args(fields, &base)?
            && !args.is_empty()
        {
            entry.push(("args".to_owned(), Json::Array(args)));
        }
        let env = self.env(fields)?;
        if !env.is_empty() {
            entry.push(("env".to_owned(), Json::Object(env)));
        }
        if let Some(cwd) = self.cwd(fields)? {
            entry.push(("cwd".to_owned(), Json::String(cwd)));
        }
        Ok(())
    }

    /// The bare name or the `./` path that starts the server.
    fn command(&mut self, node: &Node, written: &str, base: &Base) -> Result<String, Dropped> {
        let value = match values::portable(written) {
            Ok(value) => {
                self.told_defaults(&["command"], node, "command", &value.defaults);
                value.text
            }
            Err(obstacle) => {
                let why = format!("the command cannot be started: {}", obstacle.why());
                return Err(self.lose(
                    LossKind::ServerPlaceholder,
                    &["command"],
                    node,
                    "",
                    why,
                    None,
                ));
            }
        };
        let refused = |server: &mut Self, why: String| {
            let help =
                "name an executable on the PATH, or ship it in the package and name it from there";
            Err(server.lose(
                LossKind::ServerCommand,
                &["command"],
                node,
                "",
                why,
                Some(help),
            ))
        };
        if let Some(inside) = value
            .strip_prefix("${PLUGIN_ROOT}/")
            .or_else(|| value.strip_prefix("./"))
        {
            if !is_inside(inside) {
                return refused(
                    self,
                    format!("the command {written:?} names no file of the package"),
                );
            }
            // Where the server starts in a directory of the package, that is meant.
            let below = match base {
                Base::Package(directory) if value.starts_with("./") => below(directory, inside),
                _ => None,
            };
            if let Some(below) = below.filter(|below| self.draft.has(below)) {
                self.make_executable(&below);
                return Ok(format!("./{below}"));
            }
            if value.starts_with("./") && !self.draft.has(inside) {
                let why = format!("the command {written:?} is no file of the package");
                return refused(self, why);
            }
            self.make_executable(inside);
            return Ok(format!("./{inside}"));
        }
        if value.contains(['/', '\\', '$']) || value.is_empty() || value.contains("..") {
            return refused(
                self,
                format!("the command {written:?} is neither a bare name nor a file of the package"),
            );
        }
        if value.contains(char::is_whitespace) {
            return refused(
                self,
                format!("the command {written:?} is a command line, not one executable"),
            );
        }
        Ok(value)
    }

    /// Gives a program of the package the bit that starts it, where its first
    /// bytes show that it is one.
    fn make_executable(&mut self, path: &str) {
        const MAGIC: &[&[u8]] = &[b"#!", b"\x7FELF", b"\xCF\xFA\xED\xFE", b"\xCA\xFE\xBA\xBE"];
        if let Some(file) = self.draft.tree.files.get_mut(path)
            && !file.executable
            && MAGIC.iter().any(|magic| file.bytes.starts_with(magic))
        {
            file.executable = true;
            self.draft.note(format!(
                "{path}: marked as executable, since a server runs it"
            ));
        }
    }

    fn args(&mut self, fields: &Object, base: &Base) -> Result<Option<Vec<Json>>, Dropped> {
        let Some(member) = fields.get("args") else {
            return Ok(None);
        };
        let Some(items) = member.value.as_array() else {
            let why = format!("args is {}, not an array", member.value.type_name());
            return Err(self.lose(
                LossKind::ServerMalformed,
                &["args"],
                &member.value,
                "",
                why,
                None,
            ));
        };
        let mut args = Vec::with_capacity(items.len());
        let command = fields
            .get("command")
            .and_then(|member| member.value.as_text());
        let is_shell = command.is_some_and(|command| is_shell(&command.display()));
        for (position, item) in items.iter().enumerate() {
            let index = position.to_string();
            let place = ["args", index.as_str()];
            let Some(written) = item.as_text().and_then(|text| text.as_str()) else {
                let why = format!("an argument is {}, not a string", item.type_name());
                return Err(self.lose(LossKind::ServerMalformed, &place, item, "", why, None));
            };
            let script = is_shell && items.get(..position).is_some_and(takes_script);
            let braced = if script {
                values::braced(written)
            } else {
                written.to_owned()
            };
            let value = match values::portable(&braced) {
                Ok(value) => value,
                Err(obstacle) => {
                    let why = format!(
                        "argument {index} cannot be left out alone: {}",
                        obstacle.why()
                    );
                    return Err(self.lose(
                        LossKind::ServerPlaceholder,
                        &place,
                        item,
                        "",
                        why,
                        None,
                    ));
                }
            };
            self.told_defaults(&place, item, &format!("argument {index}"), &value.defaults);
            let text = self.argument(&place, item, value.text, base);
            args.push(Json::String(text));
        }
        Ok(Some(args))
    }

    /// The directory that the native client starts the server in.
    fn base(&self, fields: &Object) -> Base {
        let member = fields.get("cwd").and_then(|member| member.value.as_text());
        let Some(written) = member.and_then(|text| text.as_str()) else {
            return match self.client {
                Client::Copilot => Base::Package(String::new()),
                _ => Base::Project,
            };
        };
        let value = values::portable(written).map(|value| value.text);
        let value = value.unwrap_or_default();
        if value.starts_with("${PLUGIN_DATA}") {
            return Base::Data;
        }
        if value == "." && self.client == Client::Copilot {
            return Base::Project;
        }
        let inside = match value.strip_prefix("${PLUGIN_ROOT}") {
            Some(rest) => rest.trim_start_matches('/'),
            None => value.as_str(),
        };
        match relative(inside).filter(|inside| !inside.contains('$')) {
            Some(inside) if !value.is_empty() => Base::Package(inside),
            _ => Base::Project,
        }
    }

    /// An argument that is a relative path names what it names from the directory the
    /// server starts in. From the project, a file of the package must be meant if
    /// there is one; a directory may be either.
    fn argument(&mut self, place: &[&str], node: &Node, text: String, base: &Base) -> String {
        let (option, path) = match text.split_once('=') {
            Some((option, path)) if option.starts_with('-') => (format!("{option}="), path),
            _ => (String::new(), text.as_str()),
        };
        if !(matches!(path, "." | "..") || path.starts_with("./") || path.starts_with("../")) {
            return text;
        }
        let is_file = |path: &String| self.draft.has(path);
        let is_there = |path: &String| is_file(path) || self.draft.tree.has_directory(path);
        let inside = match base {
            Base::Project => relative(path).filter(is_file),
            // Claude Code has no such field, so that its author may have meant either.
            Base::Package(directory) => below(directory, path).filter(is_there).or_else(|| {
                let from_root = relative(path).filter(is_there);
                from_root.filter(|_| self.client == Client::ClaudeCode)
            }),
            Base::Data => None,
        };
        match inside.as_deref() {
            Some("") => return format!("{option}${{PLUGIN_ROOT}}"),
            Some(inside) => return format!("{option}${{PLUGIN_ROOT}}/{inside}"),
            None => {}
        }
        self.draft.announce("mcp.json", &codes::ARGUMENT_RELATIVE);
        if *base != Base::Project {
            self.draft.note(format!(
                "server {:?}: the argument {text:?} is kept; the server starts in the same directory as before",
                self.name
            ));
            return text;
        }
        let why = format!(
            "the argument {text:?} depends on the directory the server starts in, which is the package and no longer the project"
        );
        self.lose(
            LossKind::WorkingDirectory,
            place,
            node,
            &format!("argument {text:?}"),
            why,
            None,
        );
        text
    }

    fn env(&mut self, fields: &Object) -> Result<Vec<(String, Json)>, Dropped> {
        let mut env = Vec::new();
        if let Some(member) = fields.get("env") {
            let Some(object) = member.value.as_object() else {
                let why = format!("env is {}, not an object", member.value.type_name());
                return Err(self.lose(
                    LossKind::ServerMalformed,
                    &["env"],
                    &member.value,
                    "",
                    why,
                    None,
                ));
            };
            for variable in object.effective() {
                let name = variable.key.display().into_owned();
                let place = ["env", name.as_str()];
                let node = &variable.value;
                let what = format!("variable {name}");
                let Some(written) = node.as_text().and_then(|text| text.as_str()) else {
                    let why = format!("{what} is {}, not a string", node.type_name());
                    return Err(self.lose(LossKind::ServerMalformed, &place, node, "", why, None));
                };
                if let Some(value) = self.named_value(&place, node, &what, written)? {
                    env.push((name, Json::String(value)));
                }
            }
        }
        // Codex: names of variables that it passes on.
        if let Some(member) = fields.get("env_vars") {
            for item in member.value.as_array().unwrap_or_default() {
                let name = item
                    .as_text()
                    .map(|text| text.display().into_owned())
                    .unwrap_or_default();
                let why = "the portable format passes no variable of the user on by name";
                self.lose(
                    LossKind::EnvironmentValue,
                    &["env_vars"],
                    item,
                    &format!("variable {name}"),
                    why,
                    Some("each user sets it in their own environment"),
                );
            }
        }
        Ok(env)
    }

    fn cwd(&mut self, fields: &Object) -> Result<Option<String>, Dropped> {
        let Some((node, written)) = self.string(fields, "cwd")? else {
            if self.client != Client::Copilot {
                self.draft.note(format!(
                    "stdio servers start in the package's directory, not in the project as with {}",
                    self.client.label()
                ));
            }
            return Ok(None);
        };
        let value = values::portable(&written).map(|value| value.text);
        let value = value.unwrap_or_default();
        let value = value.trim_end_matches('/');
        if matches!(value, "${PLUGIN_ROOT}") || (value == "." && self.client != Client::Copilot) {
            return Ok(None);
        }
        let relative = ["${PLUGIN_ROOT}/", "${PLUGIN_DATA}/", "./"]
            .iter()
            .find_map(|prefix| value.strip_prefix(prefix));
        if value == "${PLUGIN_DATA}" || relative.is_some_and(is_inside) {
            return Ok(Some(value.to_owned()));
        }
        if is_inside(value) && !value.contains('$') && value != "." {
            return Ok(Some(format!("./{value}")));
        }
        let why = format!("the directory {written:?} is none below the package or its data");
        self.lose(LossKind::WorkingDirectory, &["cwd"], node, "cwd", why, None);
        Ok(None)
    }
}

/// A relative path as seen from the package.
fn below(directory: &str, path: &str) -> Option<String> {
    match directory {
        "" => relative(path),
        directory => relative(&format!("{directory}/{path}")),
    }
}

/// Whether the command is a shell.
fn is_shell(command: &str) -> bool {
    let name = command.rsplit('/').next().unwrap_or_default();
    ["sh", "bash", "dash", "zsh", "ksh"].contains(&name)
}

/// Whether a script follows these arguments of a shell.
fn takes_script(before: &[Node]) -> bool {
    let last = before.last().and_then(Node::as_text);
    last.is_some_and(|last| {
        let last = last.display();
        last.starts_with('-') && !last.starts_with("--") && last.ends_with('c')
    })
}

/// A path that stays where it starts.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && path.split('/').all(|part| part != "..")
        && !path.starts_with('/')
        && !path.contains('\\')
}
