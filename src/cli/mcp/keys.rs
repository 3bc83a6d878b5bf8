//! The user's credentials for servers.

use std::path::PathBuf;

use apkit::mcp::credential::Keys;

use super::args::Common;
use crate::cli::failure::Failure;
use crate::cli::store::Session;

/// The user's credentials: those of the file, and over them those of the command
/// line.
pub(super) fn of(common: &Common, session: &Session) -> Result<Keys, Failure> {
    let file = match &common.credentials {
        Some(file) => Some(file.clone()),
        None => usual_file(session).filter(|file| file.symlink_metadata().is_ok()),
    };
    let mut keys = match file {
        Some(file) => Keys::read(&file).map_err(Failure::Credentials)?,
        None => Keys::default(),
    };
    for given in &common.given {
        // Not by clap, which would show what it refuses.
        keys.give(given.parse()?);
    }
    Ok(keys)
}

/// `apkit/credentials.toml` where programs of the user have their configuration.
fn usual_file(session: &Session) -> Option<PathBuf> {
    let environment = session.environment();
    let variable = if cfg!(windows) {
        "APPDATA"
    } else {
        "XDG_CONFIG_HOME"
    };
    let directory = environment.get(variable).map(PathBuf::from);
    let directory = directory.filter(|directory| directory.is_absolute());
    let directory = directory.or_else(|| Some(environment.home.as_ref()?.join(".config")))?;
    Some(directory.join("apkit").join("credentials.toml"))
}
