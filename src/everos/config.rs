//! Configuration: what each setting is, where it may come from, and which of
//! the places won (design document, section 8).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Host;
use super::http::Endpoint;

/// The command that starts a server.
const DEFAULT_START: [&str; 3] = ["everos", "server", "start"];
/// The recall budget and its bounds, in milliseconds.
const RECALL_MS: (u64, u64, u64) = (500, 5000, 7000);

/// A snapshot of the environment the process was started with. Whoever owns the
/// process takes it; the library reads nothing else.
#[derive(Debug, Clone, Default)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
}

impl Env {
    /// A snapshot of `vars`.
    pub fn new(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self {
            vars: vars.into_iter().collect(),
        }
    }

    /// The variable `name`, unless it is absent, blank, or a placeholder that
    /// nobody filled in.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| is_set(value))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name)
            .map(|value| value.to_string_lossy().trim().to_owned())
    }

    /// The user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME")
            .or_else(|| self.get("USERPROFILE"))
            .map(PathBuf::from)
    }
}

/// Whether a value says something: neither blank nor a literal `${…}`.
fn is_set(value: &OsStr) -> bool {
    let text = value.to_string_lossy();
    let text = text.trim();
    let unfilled = text.starts_with("${") && text.ends_with('}') && text.matches('}').count() == 1;
    !text.is_empty() && !unfilled
}

/// Where a value comes from, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// An argument of the command line.
    Argument,
    /// A variable of the environment.
    Environment,
    /// An option of the plugin, set in the host.
    Option,
    /// The host's own variable for the plugin's data.
    Host,
    /// The operating system.
    System,
    /// Nobody set it.
    Default,
}

impl Layer {
    /// The word a report uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Environment => "environment",
            Self::Option => "plugin option",
            Self::Host => "host",
            Self::System => "operating system",
            Self::Default => "default",
        }
    }
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Its layer.
    pub layer: Layer,
    /// Whether a stronger layer held something that could not be used.
    pub ignored: bool,
}

/// A setting's names. The one list of them; readers, reports and arguments
/// derive from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Address of the server.
    BaseUrl,
    /// Directory to start the server in.
    EverosDir,
    /// Command to start the server with.
    StartCmd,
    /// The user's id.
    UserId,
    /// The project's id.
    ProjectId,
    /// Recall budget in milliseconds.
    RecallTimeoutMs,
    /// Where state and logs are kept.
    DataDir,
    /// Whether to say more.
    Verbose,
    /// Whether to keep a debug log.
    Debug,
    /// Whether secrets are taken out of what is sent.
    Redact,
}

impl Key {
    /// The end of the environment variable's name, after the host's prefix.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::BaseUrl => "BASE_URL",
            Self::EverosDir => "EVEROS_DIR",
            Self::StartCmd => "START_CMD",
            Self::UserId => "USER_ID",
            Self::ProjectId => "PROJECT_ID",
            Self::RecallTimeoutMs => "RECALL_TIMEOUT_MS",
            Self::DataDir => "DATA_DIR",
            Self::Verbose => "VERBOSE",
            Self::Debug => "DEBUG",
            Self::Redact => "REDACT",
        }
    }

    /// Whether the host's plugin options may hold it.
    fn is_option(self) -> bool {
        matches!(self, Self::BaseUrl | Self::EverosDir)
    }
}

/// Values given on a command line.
pub type Arguments = BTreeMap<Key, OsString>;

/// All settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address of the server.
    pub base_url: Setting<Endpoint>,
    /// Directory the server is started in.
    pub everos_dir: Setting<Option<PathBuf>>,
    /// Command that starts the server; never empty.
    pub start_cmd: Setting<Vec<String>>,
    /// The user's id as it was given.
    pub user_id: Setting<Option<String>>,
    /// The project's id as it was given.
    pub project_id: Setting<Option<String>>,
    /// Recall budget.
    pub recall_timeout: Setting<Duration>,
    /// Where state and logs are kept; `None` if there is no home directory.
    pub data_dir: Setting<Option<PathBuf>>,
    /// Whether to say more.
    pub verbose: Setting<bool>,
    /// Whether to keep a debug log.
    pub debug: Setting<bool>,
    /// Whether secrets are taken out of what is sent.
    pub redact: Setting<bool>,
}

/// Reads one setting through its layers.
struct Layers<'a> {
    host: &'a dyn Host,
    env: &'a Env,
    arguments: &'a Arguments,
}

impl Layers<'_> {
    /// The strongest layer whose value `parse` accepts.
    fn find<T>(&self, key: Key, parse: impl Fn(&OsStr) -> Option<T>) -> (Option<(T, Layer)>, bool) {
        let argument = self
            .arguments
            .get(&key)
            .map(OsString::as_os_str)
            .filter(|value| is_set(value));
        let variable = format!("{}{}", self.host.env_prefix(), key.suffix());
        let option = key.is_option().then(|| {
            self.host
                .option_variable(&key.suffix().to_ascii_lowercase())
        });
        let layers = [
            (Layer::Argument, argument),
            (Layer::Environment, self.env.get(&variable)),
            (
                Layer::Option,
                option.as_deref().and_then(|name| self.env.get(name)),
            ),
        ];
        let mut ignored = false;
        for (layer, value) in layers {
            match value
                .map(|value| parse(value.to_str().map_or(value, |text| OsStr::new(text.trim()))))
            {
                Some(Some(parsed)) => return (Some((parsed, layer)), ignored),
                Some(None) => ignored = true,
                None => {}
            }
        }
        (None, ignored)
    }

    fn setting<T>(&self, key: Key, default: T, parse: impl Fn(&OsStr) -> Option<T>) -> Setting<T> {
        match self.find(key, parse) {
            (Some((value, layer)), ignored) => Setting {
                value,
                layer,
                ignored,
            },
            (None, ignored) => Setting {
                value: default,
                layer: Layer::Default,
                ignored,
            },
        }
    }
}

impl Config {
    /// Reads the settings of `host` from `arguments` and `env`.
    pub fn resolve(host: &dyn Host, env: &Env, arguments: &Arguments) -> Self {
        let layers = Layers {
            host,
            env,
            arguments,
        };
        let text = |value: &OsStr| value.to_str().map(str::to_owned);
        let optional = |value: &OsStr| text(value).map(Some);
        let path = |value: &OsStr| Some(Some(expand_home(Path::new(value), env)));
        let mut user_id = layers.setting(Key::UserId, None, optional);
        if user_id.value.is_none() {
            let known = env
                .text("USER")
                .or_else(|| env.text("USERNAME"))
                .or_else(crate::sys::user_name);
            user_id = Setting {
                value: known,
                layer: Layer::System,
                ignored: user_id.ignored,
            };
        }
        let mut data_dir = layers.setting(Key::DataDir, None, path);
        if data_dir.value.is_none() {
            data_dir = match env.get(host.data_dir_variable()) {
                Some(given) => Setting {
                    value: Some(PathBuf::from(given)),
                    layer: Layer::Host,
                    ignored: data_dir.ignored,
                },
                None => Setting {
                    value: env.home().map(|home| home.join(host.default_data_dir())),
                    ..data_dir
                },
            };
        }
        let (least, usual, most) = RECALL_MS;
        Self {
            base_url: layers.setting(Key::BaseUrl, Endpoint::usual(), |value| {
                Endpoint::parse(value.to_str()?)
            }),
            everos_dir: layers.setting(Key::EverosDir, None, path),
            start_cmd: layers.setting(
                Key::StartCmd,
                DEFAULT_START.map(str::to_owned).to_vec(),
                |value| split_command(value.to_str()?).filter(|words| !words.is_empty()),
            ),
            user_id,
            project_id: layers.setting(Key::ProjectId, None, optional),
            recall_timeout: layers.setting(
                Key::RecallTimeoutMs,
                Duration::from_millis(usual),
                |value| {
                    let millis = value.to_str()?.parse::<u64>().ok()?;
                    Some(Duration::from_millis(millis.clamp(least, most)))
                },
            ),
            data_dir,
            verbose: layers.setting(Key::Verbose, false, switch),
            debug: layers.setting(Key::Debug, false, switch),
            redact: layers.setting(Key::Redact, true, switch),
        }
    }
}

fn switch(value: &OsStr) -> Option<bool> {
    match value.to_str()?.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A path whose leading `~/` means the home directory: nobody expands it on the
/// way from a settings dialogue to here.
fn expand_home(path: &Path, env: &Env) -> PathBuf {
    match (path.strip_prefix("~"), env.home()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

/// Splits a command line into words as a shell would, quotes and backslashes
/// included, variables and operators not. `None` for an unfinished quote.
fn split_command(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(ch) = chars.next() {
        match ch {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        ch => word.push(ch),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' if matches!(chars.peek(), Some('"' | '\\')) => {
                            word.extend(chars.next())
                        }
                        ch => word.push(ch),
                    }
                }
            }
            // Before anything else a backslash is part of a Windows path.
            '\\' if matches!(chars.peek(), Some(' ' | '"' | '\'' | '\\')) => {
                word.get_or_insert_default().extend(chars.next());
            }
            ch if ch.is_whitespace() => words.extend(word.take()),
            ch => word.get_or_insert_default().push(ch),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_like_a_shell_does() {
        let split = |line| split_command(line).unwrap();
        assert_eq!(
            split("uv run everos server start"),
            ["uv", "run", "everos", "server", "start"]
        );
        assert_eq!(
            split(r#""/opt/my app/everos" --root '/a b' c\ d "" "q\"q""#),
            ["/opt/my app/everos", "--root", "/a b", "c d", "", "q\"q"]
        );
        assert_eq!(
            split(r"C:\tools\everos.exe start"),
            [r"C:\tools\everos.exe", "start"]
        );
        assert_eq!(split_command("everos 'x"), None);
    }

    #[test]
    fn blank_and_unfilled_values_are_unset() {
        for value in [
            "",
            "  \t",
            "${CLAUDE_PLUGIN_DATA}",
            " ${user_config.base_url} ",
        ] {
            assert!(!is_set(OsStr::new(value)), "{value:?}");
        }
        for value in ["0", "/a/${x}", "${x}/${y}", "$HOME"] {
            assert!(is_set(OsStr::new(value)), "{value:?}");
        }
    }
}
