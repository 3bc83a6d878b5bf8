//! Servers that are reached over HTTP.

use super::super::super::json::Json;
use super::super::super::loss::LossKind;
use super::super::values::{self, Obstacle};
use super::{Dropped, Server};
use crate::document::Object;
use crate::spec::{header, url};

impl Server<'_, '_> {
    pub(super) fn remote(
        &mut self,
        fields: &Object,
        entry: &mut Vec<(String, Json)>,
    ) -> Result<(), Dropped> {
        let Some((node, written)) = self.string(fields, "url")? else {
            return Err(self.malformed("it has no url"));
        };
        if url::problems(&written).contains(&url::UrlProblem::UserInformation) {
            self.withheld = true;
            let why = "the address holds user information, which may be a secret";
            let help = "leave it out of the address; the client asks the user";
            return Err(self.lose(
                LossKind::ServerCredential,
                &["url"],
                node,
                "",
                why,
                Some(help),
            ));
        }
        let template = match values::portable(&written) {
            Ok(value) if value.expands || value.text.contains('{') => Err(written.clone()),
            Ok(value) => Ok(value),
            Err(Obstacle::Option(name)) => Err(format!("${{user_config.{name}}}")),
            Err(Obstacle::Variable(text)) => Err(text),
        };
        let address = match template {
            Ok(value) => {
                self.told_defaults(&["url"], node, "url", &value.defaults);
                value.text
            }
            Err(text) => {
                let why = format!("{text} in the address is expanded by no portable client");
                let help = "publish the server under one address, or leave it to each user";
                return Err(self.lose(
                    LossKind::ServerUrlPlaceholder,
                    &["url"],
                    node,
                    "",
                    why,
                    Some(help),
                ));
            }
        };
        if let Some(problem) = url::problems(&address).into_iter().next() {
            let why = match problem {
                url::UrlProblem::Invalid(phrase) => format!("the address {phrase}"),
                url::UrlProblem::UserInformation => "the address holds user information".to_owned(),
                url::UrlProblem::Fragment => "the address holds a fragment".to_owned(),
                url::UrlProblem::NotHttps => {
                    "the address is plain HTTP to another machine".to_owned()
                }
            };
            return Err(self.lose(LossKind::ServerUrl, &["url"], node, "", why, None));
        }
        entry.push(("url".to_owned(), Json::String(address)));
        let headers = self.headers(fields)?;
        if !headers.is_empty() {
            entry.push(("headers".to_owned(), Json::Object(headers)));
        }
        Ok(())
    }

    fn headers(&mut self, fields: &Object) -> Result<Vec<(String, Json)>, Dropped> {
        let mut headers: Vec<(String, Json)> = Vec::new();
        // The second is the name that Codex has for it.
        for group in ["headers", "http_headers"] {
            let Some(member) = fields.get(group) else {
                continue;
            };
            let Some(object) = member.value.as_object() else {
                let why = format!("{group} is {}, not an object", member.value.type_name());
                return Err(self.lose(
                    LossKind::ServerMalformed,
                    &[group],
                    &member.value,
                    "",
                    why,
                    None,
                ));
            };
            for item in object.effective() {
                let name = item.key.display().into_owned();
                let place = [group, name.as_str()];
                let what = format!("header {name:?}");
                let node = &item.value;
                let Some(written) = node.as_text().and_then(|text| text.as_str()) else {
                    let why = format!("{what} is {}, not a string", node.type_name());
                    return Err(self.lose(LossKind::ServerMalformed, &place, node, "", why, None));
                };
                let again = headers
                    .iter()
                    .any(|(known, _)| known.eq_ignore_ascii_case(&name));
                let why = if !header::is_valid_name(&name) {
                    Some("HTTP allows no such name")
                } else if header::forbidden_in_value(written).is_some() {
                    Some("HTTP allows no such value")
                } else if header::is_client_generated(&name) {
                    Some("clients set this header themselves")
                } else if again {
                    Some("the same header stands there already, in other letter case")
                } else {
                    None
                };
                if let Some(why) = why {
                    self.lose(LossKind::ServerHeader, &place, node, &what, why, None);
                    continue;
                }
                if let Some(value) = self.named_value(&place, node, &what, written)? {
                    headers.push((name, Json::String(value)));
                }
            }
        }
        Ok(headers)
    }
}
