//! Which headers a request carries, and whose value wins (§7.2.1): the client's
//! own, then credentials, then the configured ones, names compared without case.

use std::borrow::Cow;

use crate::mcp::credential::{Credentials, Secrets};
use crate::mcp::plan::Endpoint;
use crate::spec::header::{forbidden_in_value, is_client_generated, is_valid_name};

use super::StartError;

/// A header as it is sent: configured characters beyond ASCII go as UTF-8.
pub(super) type Field = (String, Vec<u8>);

/// What is sent to the origin of the endpoint, and to no other.
#[derive(Clone)]
pub(super) struct Headers {
    fields: Vec<Field>,
    /// The values that must not show up in a message.
    secrets: Secrets,
}

impl Headers {
    pub(super) fn new(endpoint: &Endpoint, credentials: &Credentials) -> Result<Self, StartError> {
        let mut headers = Self {
            fields: Vec::new(),
            secrets: Secrets::of(credentials),
        };
        for (name, value) in &endpoint.headers {
            if !is_client_generated(name) {
                headers.put(name, value.as_bytes().to_vec());
            }
        }
        for (name, value) in &credentials.headers {
            // The value is not shown, nor is what is wrong with it.
            if !is_valid_name(name) || forbidden_in_value(value).is_some() {
                return Err(StartError::Credential { name: name.clone() });
            }
            if is_client_generated(name) {
                return Err(StartError::Generated { name: name.clone() });
            }
            headers.put(name, value.as_bytes().to_vec());
        }
        Ok(headers)
    }

    fn put(&mut self, name: &str, value: Vec<u8>) {
        put(&mut self.fields, name, value);
    }

    /// These and the client's own.
    pub(super) fn with(&self, generated: &[Field]) -> Vec<Field> {
        let mut fields = self.fields.clone();
        for (name, value) in generated {
            put(&mut fields, name, value.clone());
        }
        fields
    }

    pub(super) fn have_credentials(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// `text` without the values of credentials.
    pub(super) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.secrets.masked(text)
    }
}

fn put(fields: &mut Vec<Field>, name: &str, value: Vec<u8>) {
    fields.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    fields.push((name.to_ascii_lowercase(), value));
}

#[cfg(test)]
mod tests {
    use super::Headers;
    use crate::mcp::credential::Credentials;
    use crate::mcp::http::StartError;
    use crate::mcp::plan::Endpoint;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn headers(
        configured: &[(&str, &str)],
        credentials: &[(&str, &str)],
    ) -> Result<Headers, StartError> {
        let endpoint = Endpoint::new("https://a.example/", pairs(configured))
            .unwrap_or_else(|error| unreachable!("{error}"));
        let credentials = Credentials {
            headers: pairs(credentials),
            ..Credentials::default()
        };
        Headers::new(&endpoint, &credentials)
    }

    #[test]
    fn the_clients_own_win_then_credentials_then_configured_ones() {
        let headers = headers(
            &[
                ("X-Tenant", "tïde\t "),
                ("ACCEPT", "text/plain"),
                ("authorization", "configured"),
                ("X-Own", "configured"),
                ("User-Agent", "theirs"),
            ],
            &[("Authorization", "Bearer word")],
        )
        .unwrap_or_else(|error| unreachable!("{error}"));
        let sent = headers.with(&[("x-own".to_owned(), b"ours".to_vec())]);
        let mut sent: Vec<_> = sent
            .iter()
            .map(|(name, value)| (name.as_str(), std::str::from_utf8(value).unwrap_or("?")))
            .collect();
        sent.sort_unstable();
        assert_eq!(
            sent,
            [
                ("authorization", "Bearer word"),
                ("user-agent", "theirs"),
                ("x-own", "ours"),
                ("x-tenant", "tïde\t "),
            ]
        );
        assert_eq!(
            headers.masked("no word for Bearer word"),
            "no [Authorization] for [Authorization]"
        );
    }

    #[test]
    fn credentials_that_cannot_be_sent_are_refused_unseen() {
        for (name, value) in [("X-Key", "word\n"), ("X Key", "word"), ("Host", "word")] {
            let error = headers(&[], &[(name, value)]).err();
            let said = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(said.contains(name) && !said.contains("word\n"), "{said}");
        }
    }
}
