//! One server of a native plugin → one entry of `mcp.json`, and the same
//! definition for its own client without secrets.

mod remote;
mod stdio;

use super::super::client::Client;
use super::super::draft::Draft;
use super::super::json::{Json, Text};
use super::super::loss::{Loss, LossKind};
use super::secrets;
use super::values::{self, Obstacle};
use crate::document::{Member, Node, Object, Pointer, Value};

/// What becomes of a server.
#[derive(Debug)]
pub(super) struct Translated {
    /// The entry of `mcp.json`, if there can be one.
    pub(super) portable: Option<Json>,
    /// The definition for the native client; `None` if a secret is part of it.
    pub(super) native: Option<Json>,
}

/// A server while it is translated.
pub(super) struct Server<'a, 't> {
    draft: &'a mut Draft,
    client: Client,
    text: &'a Text<'t>,
    name: &'a str,
    pointer: Pointer,
    node: &'a Node,
    native: Json,
    /// Nothing of it may go anywhere.
    withheld: bool,
}

/// The server cannot be in `mcp.json`; the loss is recorded.
struct Dropped;

/// Fields about signing in.
fn is_authentication(field: &str) -> bool {
    let field = field.to_ascii_lowercase().replace('_', "");
    field.starts_with("oauth")
        || field.starts_with("auth")
        || [
            "bearertokenenvvar",
            "envhttpheaders",
            "headershelper",
            "scopes",
            "clientid",
            "clientsecret",
        ]
        .contains(&field.as_str())
}

/// Fields whose value says nothing, and so no loss.
fn says_nothing(field: &str, value: &Node) -> bool {
    let all =
        |items: &[Node]| matches!(items, [only] if only.as_text().is_some_and(|text| *text == "*"));
    match (field, value.value()) {
        ("enabled", Value::Bool(enabled)) => *enabled,
        ("disabled", Value::Bool(disabled)) => !*disabled,
        ("tools", Value::Array(items)) => all(items),
        _ => false,
    }
}

impl<'a, 't> Server<'a, 't> {
    /// Translates the member `member` of an object of servers.
    pub(super) fn translate(
        draft: &'a mut Draft,
        client: Client,
        text: &'a Text<'t>,
        pointer: &Pointer,
        member: &'a Member,
    ) -> Translated {
        let name = member.key.display();
        let mut server = Server {
            draft,
            client,
            text,
            name: &name,
            pointer: pointer.key(&name),
            node: &member.value,
            native: Json::of(&member.value),
            withheld: false,
        };
        // First of all: whatever else is wrong with it, no secret may stay.
        let portable = match member.value.as_object() {
            _ if server.starts_with_a_secret() => None,
            Some(fields) => server.entry(fields).ok(),
            None => {
                let what = member.value.type_name();
                server.malformed(format!("its definition is {what}, not an object"));
                None
            }
        };
        server.other_secrets();
        Translated {
            portable,
            native: (!server.withheld).then_some(server.native),
        }
    }

    fn lose(
        &mut self,
        kind: LossKind,
        keys: &[&str],
        node: &Node,
        what: &str,
        why: impl Into<String>,
        help: Option<&str>,
    ) -> Dropped {
        let pointer = keys
            .iter()
            .fold(self.pointer.clone(), |pointer, key| pointer.key(key));
        let what = match what {
            "" => format!("server {:?}", self.name),
            what => format!("server {:?}: {what}", self.name),
        };
        let loss = Loss::new(kind, self.text.path, what, why).at(pointer, self.text.line(node));
        self.draft.lose(match help {
            Some(help) => loss.with_help(help),
            None => loss,
        });
        Dropped
    }

    /// The definition as a whole is none.
    fn malformed(&mut self, why: impl Into<String>) -> Dropped {
        let node = self.node;
        self.lose(LossKind::ServerMalformed, &[], node, "", why, None)
    }

    /// A string field.
    fn string<'n>(
        &mut self,
        fields: &'n Object,
        field: &str,
    ) -> Result<Option<(&'n Node, String)>, Dropped> {
        let Some(member) = fields.get(field) else {
            return Ok(None);
        };
        match member.value.as_text().and_then(|text| text.as_str()) {
            Some(text) => Ok(Some((&member.value, text.to_owned()))),
            None => {
                let why = format!("{field} is {}, not a string", member.value.type_name());
                Err(self.lose(
                    LossKind::ServerMalformed,
                    &[field],
                    &member.value,
                    "",
                    why,
                    None,
                ))
            }
        }
    }

    fn entry(&mut self, fields: &Object) -> Result<Json, Dropped> {
        let declared = self.string(fields, "type")?;
        let transport = match &declared {
            Some((node, declared)) => match declared.as_str() {
                "stdio" | "local" => "stdio",
                "http" | "streamable-http" | "streamableHttp" | "streamable_http" => {
                    "streamable-http"
                }
                "sse" => "sse",
                other => {
                    let why = format!("the portable format has no transport {other:?}");
                    return Err(self.lose(
                        LossKind::ServerTransport,
                        &["type"],
                        node,
                        "",
                        why,
                        None,
                    ));
                }
            },
            None if fields.get("command").is_some() => "stdio",
            None if fields.get("url").is_some() => {
                self.draft.note(format!(
                    "server {:?}: its type, streamable-http, was inferred from its url",
                    self.name
                ));
                "streamable-http"
            }
            None => return Err(self.malformed("it has neither a command nor a url")),
        };
        let mut entry = vec![("type".to_owned(), Json::string(transport))];
        let known: &[&str] = if transport == "stdio" {
            self.stdio(fields, &mut entry)?;
            &["type", "command", "args", "env", "cwd", "env_vars"]
        } else {
            self.remote(fields, &mut entry)?;
            &["type", "url", "headers", "http_headers"]
        };
        for member in fields.effective() {
            let field = member.key.display();
            if known.contains(&&*field) || says_nothing(&field, &member.value) {
                continue;
            }
            let what = format!("field {field:?}");
            if is_authentication(&field) {
                let why = "portable clients find out with the server and the user how to sign in";
                self.lose(
                    LossKind::ServerAuthentication,
                    &[&field],
                    &member.value,
                    &what,
                    why,
                    None,
                );
            } else {
                let why = "a server of the portable format has no such field";
                self.lose(
                    LossKind::ServerField,
                    &[&field],
                    &member.value,
                    &what,
                    why,
                    None,
                );
            }
        }
        Ok(Json::Object(entry))
    }

    /// The value of a variable or header, if it can be written.
    fn named_value(
        &mut self,
        place: &[&str; 2],
        node: &Node,
        what: &str,
        written: &str,
    ) -> Result<Option<String>, Dropped> {
        let [group, name] = *place;
        let is_header = group != "env";
        if !is_header && matches!(name, "PLUGIN_ROOT" | "PLUGIN_DATA") {
            // What an export for a client adds, so that the server finds both.
            let own = [
                format!("${{CLAUDE_{name}}}"),
                format!("${{{name}}}"),
                format!("${{COPILOT_{name}}}"),
            ];
            if !own.iter().any(|own| own == written) {
                let why = format!("{name} is the client's to set");
                self.lose(LossKind::EnvironmentReserved, place, node, what, why, None);
            }
            return Ok(None);
        }
        let help = match is_header {
            true => format!(
                "each user sets the header {name} in their own client; say so in the description"
            ),
            false => {
                format!("each user sets {name} in their own environment; say so in the description")
            }
        };
        if values::is_secret(Some(name), written) {
            self.withhold(group, name);
            let why = secrets::WHY;
            self.lose(LossKind::Credential, place, node, what, why, Some(&help));
            return Ok(None);
        }
        if values::is_secret_slot(name, written) {
            let why = "its value only stands for a secret that each user has to fill in";
            self.lose(
                LossKind::EnvironmentValue,
                place,
                node,
                what,
                why,
                Some(&help),
            );
            return Ok(None);
        }
        let variable = self.client == Client::Copilot && is_shell_variable(written);
        let value = match values::portable(written) {
            _ if variable => Err(Obstacle::Variable(written.to_owned())),
            Ok(value) if is_header && value.expands => {
                Err(Obstacle::Variable("a placeholder in a header".to_owned()))
            }
            other => other,
        };
        match value {
            Ok(value) => {
                self.told_defaults(place, node, what, &value.defaults);
                if values::is_secret(Some(name), &value.text) {
                    self.withhold(group, name);
                    let why =
                        "its default looks like a secret, and whatever is in a package is public";
                    self.lose(LossKind::Credential, place, node, what, why, Some(&help));
                    return Ok(None);
                }
                Ok(Some(value.text))
            }
            Err(obstacle) => {
                let kind = match obstacle {
                    Obstacle::Option(_) => LossKind::UserConfigValue,
                    Obstacle::Variable(_) => LossKind::EnvironmentValue,
                };
                self.lose(kind, place, node, what, obstacle.why(), Some(&help));
                Ok(None)
            }
        }
    }

    /// Takes an entry out of the definition for the native client.
    fn withhold(&mut self, group: &str, name: &str) {
        if let Some(mut entries) = self.native.get(group).cloned() {
            entries.remove(name);
            self.native.set(group, entries);
        }
    }

    fn told_defaults(&mut self, place: &[&str], node: &Node, what: &str, defaults: &[String]) {
        for default in defaults {
            let why = format!(
                "{default} is expanded by no portable client; its default stands there now"
            );
            self.lose(LossKind::EnvironmentDefault, place, node, what, why, None);
        }
    }

    /// A secret that cannot be left out alone; the loss is recorded, and nothing of
    /// the server goes anywhere.
    fn starts_with_a_secret(&mut self) -> bool {
        let written = match &self.native {
            Json::String(text) => values::is_secret(None, text).then(Vec::new),
            other => secrets::in_start(other),
        };
        let Some(keys) = written else {
            return false;
        };
        self.withheld = true;
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let (what, help) = match keys[..] {
            ["url"] => (
                "the address".to_owned(),
                "leave it out of the address; the client asks the user",
            ),
            ["args", index] => (
                format!("argument {index}"),
                "let the server read it from its environment, and leave it out of the package",
            ),
            _ => (
                "the command".to_owned(),
                "let the server read it from its environment, and leave it out of the package",
            ),
        };
        let node = secrets::node(self.node, &keys);
        let why = format!("{what} holds what looks like a secret");
        self.lose(LossKind::ServerCredential, &keys, node, "", why, Some(help));
        true
    }

    /// Secrets that translating did not come to stay out of the native definition,
    /// too.
    fn other_secrets(&mut self) {
        if self.withheld {
            return;
        }
        for keys in secrets::strip(&mut self.native) {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let what = match keys[..] {
                ["env", name] => format!("variable {name}"),
                ["headers" | "http_headers", name] => format!("header {name:?}"),
                _ => format!("field {:?}", keys.join("/")),
            };
            let node = secrets::node(self.node, &keys);
            self.lose(LossKind::Credential, &keys, node, &what, secrets::WHY, None);
        }
    }
}

/// `$NAME`, as Copilot expands it.
fn is_shell_variable(text: &str) -> bool {
    text.strip_prefix('$').is_some_and(|name| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}
