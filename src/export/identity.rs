//! Who a package is: the metadata of `plugin.json`.

use super::json::Json;
use crate::spec::name::{plugin_name_problem, plugin_name_suggestion};
use crate::spec::version;

/// What the user says about the package; each field wins over the source's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// `name`.
    pub name: Option<String>,
    /// `version`.
    pub version: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `author`.
    pub author: Option<Author>,
    /// `homepage`.
    pub homepage: Option<String>,
    /// `repository`.
    pub repository: Option<String>,
    /// `license`.
    pub license: Option<String>,
    /// `keywords`.
    pub keywords: Vec<String>,
}

/// `author` (§5.4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Author {
    /// `name`.
    pub name: Option<String>,
    /// `email`.
    pub email: Option<String>,
    /// `url`.
    pub url: Option<String>,
}

impl Author {
    /// `Name <email> (url)`, each part optional, as npm writes people.
    pub fn parse(text: &str) -> Self {
        let mut author = Self::default();
        let mut rest = text.trim().to_owned();
        for (open, close, field) in [('(', ')', &mut author.url), ('<', '>', &mut author.email)] {
            if let Some(start) = rest.rfind(open)
                && rest.ends_with(close)
            {
                let inner = rest.get(start + 1..rest.len() - 1).unwrap_or_default();
                *field = Some(inner.trim().to_owned()).filter(|text| !text.is_empty());
                rest = rest.get(..start).unwrap_or_default().trim().to_owned();
            }
        }
        author.name = Some(rest).filter(|text| !text.is_empty());
        author
    }

    pub(super) fn json(&self) -> Json {
        let fields = [
            ("name", &self.name),
            ("email", &self.email),
            ("url", &self.url),
        ];
        Json::object(
            fields
                .into_iter()
                .filter_map(|(key, value)| value.clone().map(|value| (key, Json::String(value)))),
        )
    }
}

impl Identity {
    /// What is given here, and the rest from `other`.
    #[must_use]
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            name: self.name.or(other.name),
            version: self.version.or(other.version),
            description: self.description.or(other.description),
            author: self.author.or(other.author),
            homepage: self.homepage.or(other.homepage),
            repository: self.repository.or(other.repository),
            license: self.license.or(other.license),
            keywords: if self.keywords.is_empty() {
                other.keywords
            } else {
                self.keywords
            },
        }
    }

    /// The fields in the order of the specification, name aside.
    fn fields(&self) -> Vec<(&'static str, Json)> {
        let string = |value: &Option<String>| value.clone().map(Json::String);
        let author = self.author.as_ref().map(Author::json);
        let keywords = (!self.keywords.is_empty()).then(|| Json::strings(self.keywords.clone()));
        [
            ("version", string(&self.version)),
            ("description", string(&self.description)),
            (
                "author",
                author.filter(|author| author.as_object().is_some_and(|fields| !fields.is_empty())),
            ),
            ("homepage", string(&self.homepage)),
            ("repository", string(&self.repository)),
            ("license", string(&self.license)),
            ("keywords", keywords),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
    }

    /// A manifest that targets the published specification.
    pub(super) fn manifest(&self, name: &str) -> Json {
        let mut manifest = Json::object([
            ("$schema", Json::string(version::current().plugin_schema)),
            ("name", Json::string(name)),
        ]);
        self.write_to(&mut manifest);
        manifest
    }

    /// Puts the fields, name aside, into a manifest.
    pub(super) fn write_to(&self, manifest: &mut Json) {
        for (key, value) in self.fields() {
            manifest.set(key, value);
        }
    }

    /// The identity that a manifest of the specification states. Fields of
    /// another type say nothing.
    pub(super) fn of(manifest: &Json) -> Self {
        let string = |key: &str| Some(manifest.get(key)?.as_str()?.to_owned());
        let author = manifest.get("author").map(|author| {
            let field = |key: &str| Some(author.get(key)?.as_str()?.to_owned());
            Author {
                name: field("name"),
                email: field("email"),
                url: field("url"),
            }
        });
        let keywords = match manifest.get("keywords") {
            Some(Json::Array(items)) => items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        };
        Self {
            name: string("name"),
            version: string("version"),
            description: string("description"),
            author: author.filter(|author| *author != Author::default()),
            homepage: string("homepage"),
            repository: string("repository"),
            license: string("license"),
            keywords,
        }
    }
}

/// Why a package cannot have its name, and the one it could have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageName {
    /// The name.
    pub name: String,
    /// What is wrong with it, as a phrase behind "the name …".
    pub problem: String,
    /// One that would do.
    pub suggestion: Option<String>,
}

/// The name, if a package can have it.
pub(super) fn package_name(name: &str) -> Result<(), PackageName> {
    match plugin_name_problem(name) {
        None => Ok(()),
        Some(problem) => Err(PackageName {
            name: name.to_owned(),
            problem,
            suggestion: plugin_name_suggestion(name),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_as_npm_writes_them() {
        let some = |text: &str| Some(text.to_owned());
        for (text, name, email, url) in [
            ("A B", some("A B"), None, None),
            ("A <a@b.example>", some("A"), some("a@b.example"), None),
            (
                "A <a@b.example> (https://a.example)",
                some("A"),
                some("a@b.example"),
                some("https://a.example"),
            ),
            (
                "A (https://a.example)",
                some("A"),
                None,
                some("https://a.example"),
            ),
            ("<a@b.example>", None, some("a@b.example"), None),
            ("", None, None, None),
        ] {
            assert_eq!(Author::parse(text), Author { name, email, url }, "{text}");
        }
    }
}
