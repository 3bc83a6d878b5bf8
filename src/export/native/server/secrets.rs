//! Secrets in fields that are not looked at one by one.

use super::super::super::json::Json;
use super::super::values;

/// Removes members with secrets and gives their names. Arguments and addresses
/// have been judged before.
pub(super) fn strip_secrets(value: &mut Json, name: Option<&str>, found: &mut Vec<String>) {
    match value {
        Json::Object(members) => {
            members.retain(|(key, member)| match member {
                Json::String(text)
                    if !matches!(key.as_str(), "command" | "url")
                        && !names_a_variable(name.unwrap_or_default(), key, text)
                        && values::is_secret(Some(key), text) =>
                {
                    found.push(key.clone());
                    false
                }
                _ => true,
            });
            for (key, member) in members {
                strip_secrets(member, Some(key), found);
            }
        }
        Json::Array(items) if name != Some("args") => {
            items.retain(|item| match item {
                Json::String(text) if values::is_secret(name, text) => {
                    found.push(name.unwrap_or_default().to_owned());
                    false
                }
                _ => true,
            });
        }
        _ => {}
    }
}

/// Whether a value is the name of a variable, as its field says.
fn names_a_variable(group: &str, field: &str, value: &str) -> bool {
    let about = |name: &str| name.to_ascii_lowercase().replace('_', "").contains("env");
    (about(field) || (about(group) && group != "env"))
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !value.starts_with(|c: char| c.is_ascii_digit())
}
