//! Handing settings on to the model's shell: what a host tells its hooks alone
//! (options of the plugin, the data directory) is unknown to a command that a
//! skill names, unless a session's start passes it on.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::Context;
use super::config::{Key, Layer};
use crate::sys;

/// The most that is read of the host's file.
const MOST: u64 = 1024 * 1024;

/// Appends the settings that only hooks are told to the file whose lines the
/// host runs before each command of the model's shell, if the host names one.
pub fn hand_on(context: &Context<'_>) {
    let Some(file) = context
        .env
        .get(context.host.shell_environment_variable())
        .map(Path::new)
    else {
        return;
    };
    if let Err(error) = append(file, &lines(context)) {
        context
            .log
            .line(&format!("settings not handed on to the shell: {error}"));
    }
}

/// One assignment for each setting that came from the host. What the user set in
/// the environment reaches the shell by itself.
fn lines(context: &Context<'_>) -> Vec<String> {
    let config = &context.config;
    let path = |path: &Option<std::path::PathBuf>| Some(path.as_deref()?.to_str()?.to_owned());
    let settings = [
        (
            Key::BaseUrl,
            config.base_url.layer,
            Some(config.base_url.value.to_string()),
        ),
        (
            Key::EverosDir,
            config.everos_dir.layer,
            path(&config.everos_dir.value),
        ),
        (
            Key::DataDir,
            config.data_dir.layer,
            path(&config.data_dir.value),
        ),
    ];
    settings
        .into_iter()
        .filter(|(_, layer, _)| matches!(layer, Layer::Option | Layer::Host))
        .filter_map(|(key, _, value)| {
            let name = format!("{}{}", context.host.env_prefix(), key.suffix());
            Some(format!("export {name}={}", quoted(&value?)))
        })
        .collect()
}

/// Appends the lines that are not there yet: a session may start several times.
fn append(file: &Path, lines: &[String]) -> io::Result<()> {
    let before = match fs::metadata(file) {
        Ok(metadata) if !metadata.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
        Ok(_) => {
            let mut text = Vec::new();
            sys::open_regular(file)?.take(MOST).read_to_end(&mut text)?;
            String::from_utf8_lossy(&text).into_owned()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let mut new: String = lines
        .iter()
        .filter(|line| !before.contains(&format!("{line}\n")))
        .map(|line| format!("{line}\n"))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    if !before.is_empty() && !before.ends_with('\n') {
        new.insert(0, '\n');
    }
    // In one piece: hooks of other plugins may append at the same time.
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)?
        .write_all(new.as_bytes())
}

/// A value as one word of a POSIX shell.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}
