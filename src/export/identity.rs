//! Who a package is: the metadata of `plugin.json`.

use super::json::Json;
use crate::spec::metadata::Person;
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
    pub author: Option<Person>,
    /// `homepage`.
    pub homepage: Option<String>,
    /// `repository`.
    pub repository: Option<String>,
    /// `license`.
    pub license: Option<String>,
    /// `keywords`.
    pub keywords: Vec<String>,
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
        let author = self.author.as_ref().map(|author| {
            let parts = author.parts();
            Json::object(parts.map(|(key, value)| (key, Json::string(value))))
        });
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

    /// The names of the fields that say something, name aside.
    pub(super) fn given(&self) -> Vec<&'static str> {
        self.fields().into_iter().map(|(key, _)| key).collect()
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

    /// The person that an object of `author` states.
    pub(super) fn person(author: &Json) -> Option<Person> {
        let field = |key: &str| Some(author.get(key)?.as_str()?.to_owned());
        let person = Person {
            name: field("name"),
            email: field("email"),
            url: field("url"),
        };
        (person != Person::default()).then_some(person)
    }

    /// The identity that a manifest of the specification states. Fields of
    /// another type say nothing.
    pub(super) fn of(manifest: &Json) -> Self {
        let string = |key: &str| Some(manifest.get(key)?.as_str()?.to_owned());
        let author = manifest.get("author").and_then(Self::person);
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
            author,
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
