//! The user's npm configuration: what the environment and the `.npmrc` files of
//! project, user and machine say, in this order.

use std::io;
use std::path::{Path, PathBuf};

use npmrc_config_rs::registry::{DEFAULT_REGISTRY, parse_registry_url, scope_registry_key};
use npmrc_config_rs::{global_config_path, global_prefix_from, project_config_path};
use url::Url;

use super::error::ConfigError;
use super::name::PackageName;
use super::npmrc::{self, Setting, Value, expand};
use super::project;
use crate::source::Environment;
use crate::sys;

/// Largest configuration that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// All settings, the strongest place first.
pub(super) struct Config {
    layers: Vec<Layer>,
    home: Option<PathBuf>,
    directory: PathBuf,
}

struct Layer {
    place: Place,
    settings: Vec<Setting>,
}

/// Where a setting stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A variable `npm_config_…`.
    Environment,
    /// A file.
    File(PathBuf),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Environment => f.write_str("the environment"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Config {
    /// Reads what is there.
    ///
    /// # Errors
    ///
    /// A file that exists and cannot be read.
    pub(super) fn read(environment: &Environment) -> Result<Self, ConfigError> {
        let variable = |name: &str| {
            let value = environment.variables.get(std::ffi::OsStr::new(name));
            value.map(|value| value.to_string_lossy().into_owned())
        };
        let mut config = Self {
            layers: vec![Layer {
                place: Place::Environment,
                settings: from_variables(environment, &variable),
            }],
            home: environment.home.clone(),
            directory: environment.directory.clone(),
        };
        let user = match config.path("userconfig")? {
            Some(path) => Some(path),
            None => environment.home.as_ref().map(|home| home.join(".npmrc")),
        };
        let project = project_config_path(&project::root(&environment.directory));
        // In the home directory both are one file, which is the user's.
        if Some(&project) != user.as_ref() {
            config.add(project, &variable)?;
        }
        if let Some(user) = user {
            config.add(user, &variable)?;
        }
        let global = match config.path("globalconfig")? {
            Some(path) => Some(path),
            None => {
                let prefix = match config.path("prefix")? {
                    Some(prefix) => Some(prefix),
                    None => global_prefix_from(
                        variable("PREFIX").as_deref(),
                        node(environment).as_deref(),
                        variable("DESTDIR").as_deref(),
                        cfg!(windows),
                    ),
                };
                prefix.map(|prefix| global_config_path(&prefix))
            }
        };
        if let Some(global) = global {
            config.add(global, &variable)?;
        }
        Ok(config)
    }

    fn add(
        &mut self,
        path: PathBuf,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), ConfigError> {
        // How npm is told to read none; no other device is opened.
        if path == Path::new("/dev/null") {
            return Ok(());
        }
        let bytes = match sys::read_regular(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(());
            }
            Err(error) => return Err(ConfigError::Read { path, error }),
        };
        let settings = npmrc::parse(&String::from_utf8_lossy(&bytes), variable);
        self.layers.push(Layer {
            place: Place::File(path),
            settings,
        });
        Ok(())
    }

    /// What is set for `key`, and where: the last line of the strongest place.
    pub(super) fn setting(&self, key: &str) -> Option<(&Place, &Value)> {
        self.layers.iter().find_map(|layer| {
            let found = layer
                .settings
                .iter()
                .rev()
                .find(|setting| setting.key == key)?;
            Some((&layer.place, &found.value))
        })
    }

    /// The same as text: nothing if it is empty or `null`.
    ///
    /// # Errors
    ///
    /// It needs a variable that is not set.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, ConfigError> {
        let Some((place, value)) = self.setting(key) else {
            return Ok(None);
        };
        let text = filled(place, key, value)?;
        Ok(Some(text).filter(|text| !matches!(*text, "" | "null" | "undefined")))
    }

    /// The elements of a list that is given as `key[]` lines, or as one value.
    ///
    /// # Errors
    ///
    /// As for [`Config::text`].
    pub(super) fn list(&self, key: &str) -> Result<Vec<&str>, ConfigError> {
        let element = format!("{key}[]");
        for layer in &self.layers {
            let of_list = |setting: &&Setting| setting.key == element;
            let elements: Vec<_> = layer.settings.iter().filter(of_list).collect();
            if !elements.is_empty() {
                return elements
                    .into_iter()
                    .map(|setting| filled(&layer.place, key, &setting.value))
                    .collect();
            }
            if layer.settings.iter().any(|setting| setting.key == key) {
                break;
            }
        }
        Ok(self.text(key)?.into_iter().collect())
    }

    /// A path: `~/` is the home directory, and what is relative starts from the
    /// directory of the run.
    ///
    /// # Errors
    ///
    /// As for [`Config::text`].
    pub(super) fn path(&self, key: &str) -> Result<Option<PathBuf>, ConfigError> {
        Ok(self
            .text(key)?
            .map(|text| match (text.strip_prefix("~/"), &self.home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => self.directory.join(text),
            }))
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// It is none, or as for [`Config::text`].
    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, ConfigError> {
        let Some(text) = self.text(key)? else {
            return Ok(None);
        };
        match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(self.wrong(key, "no whole number")),
        }
    }

    /// The registry of a package: that of its scope, or the one for all.
    ///
    /// # Errors
    ///
    /// It is no address of a registry.
    pub(super) fn registry(&self, name: &PackageName) -> Result<Url, ConfigError> {
        if let Some(scope) = name.scope() {
            let key = scope_registry_key(scope);
            if let Some(text) = self.text(&key)? {
                return self.address(&key, text);
            }
        }
        let text = self.text("registry")?.unwrap_or(DEFAULT_REGISTRY);
        self.address("registry", text)
    }

    fn address(&self, key: &str, text: &str) -> Result<Url, ConfigError> {
        let mut url = parse_registry_url(text)
            .ok()
            .filter(|url| matches!(url.scheme(), "https" | "http") && url.has_host())
            .ok_or_else(|| self.wrong(key, "no address that begins with https://"))?;
        url.set_query(None);
        url.set_fragment(None);
        Ok(url)
    }

    /// An error about the value of `key`, which is not repeated: it may be secret.
    pub(super) fn wrong(&self, key: &str, problem: &'static str) -> ConfigError {
        let place = self.setting(key).map(|(place, _)| place.clone());
        ConfigError::Value {
            place: place.unwrap_or(Place::Environment),
            key: key.to_owned(),
            problem,
        }
    }
}

fn filled<'v>(place: &Place, key: &str, value: &'v Value) -> Result<&'v str, ConfigError> {
    match value {
        Value::Text(text) => Ok(text),
        Value::Missing(variable) => Err(ConfigError::Variable {
            place: place.clone(),
            key: key.to_owned(),
            variable: variable.clone(),
        }),
    }
}

/// `npm_config_KEY=VALUE`, in any case; `_` stands for `-` but at the start and
/// in the keys that name a registry.
fn from_variables(
    environment: &Environment,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<Setting> {
    const PREFIX: &str = "npm_config_";
    let mut settings = Vec::new();
    for (name, value) in &environment.variables {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else {
            continue;
        };
        let key = match name.split_at_checked(PREFIX.len()) {
            Some((prefix, key)) if prefix.eq_ignore_ascii_case(PREFIX) => key,
            _ => continue,
        };
        let mut characters = key.chars();
        let (Some(first), false) = (characters.next(), value.is_empty()) else {
            continue;
        };
        let key = if key.starts_with("//") {
            key.to_owned()
        } else {
            let rest = characters.map(|c| if c == '_' { '-' } else { c });
            std::iter::once(first)
                .chain(rest)
                .collect::<String>()
                .to_lowercase()
        };
        let value = expand(value.trim(), variable);
        settings.push(Setting { key, value });
    }
    settings
}

/// The `node` that npm would run with.
fn node(environment: &Environment) -> Option<PathBuf> {
    let name = if cfg!(windows) { "node.exe" } else { "node" };
    std::env::split_paths(environment.get("PATH")?)
        .map(|directory| directory.join(name))
        .find(|path: &PathBuf| path.is_file())
        .and_then(|path: PathBuf| Path::canonicalize(&path).ok())
}
