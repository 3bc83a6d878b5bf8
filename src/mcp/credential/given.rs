//! A credential as the command line has it.

use std::str::FromStr;

use super::Key;
use super::value::{From, Value};

/// `SERVER:NAME=SOURCE`, where SOURCE is `env:VARIABLE` or `file:PATH`, behind a
/// word such as `Bearer` if the value is to stand behind one:
///
/// ```text
/// almanac:API_KEY=env:TIDES_KEY
/// tides:Authorization=Bearer env:TIDES_TOKEN
/// tide-table/tides:X-Api-Key=file:/run/secrets/tides
/// ```
///
/// What stands before a server is a package's name or its SOURCE, see
/// [`Names`](super::Names).
///
/// For a server that is started, NAME is a variable; for one that is connected
/// to, a header.
///
/// SERVER may hold `=`, as a SOURCE may: the first one counts behind which a source stands.
#[derive(Debug, Clone)]
pub struct Given(pub(super) Key);

/// What a text must be to be a [`Given`]. Never shows the text, which may hold a
/// secret by mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// There is no server, name or source in it.
    #[error("write SERVER:NAME=SOURCE, such as tides:Authorization=Bearer env:TIDES_TOKEN")]
    Form,
    /// It holds a value, or a source of another kind.
    #[error(
        "SOURCE is env:VARIABLE or file:PATH: what stands on a command line can be read by others"
    )]
    Source,
}

impl FromStr for Given {
    type Err = NotGiven;

    fn from_str(text: &str) -> Result<Self, NotGiven> {
        let mut problem = NotGiven::Form;
        for (at, _) in text.match_indices('=') {
            let (whose, source) = (&text[..at], &text[at + 1..]);
            match Self::of(whose, source) {
                Ok(given) => return Ok(given),
                Err(NotGiven::Source) => problem = NotGiven::Source,
                Err(NotGiven::Form) => {}
            }
        }
        Err(problem)
    }
}

impl Given {
    /// Whether a credential can be given to a server by this text, with whatever NAME and
    /// SOURCE: an `=` in it may be read as the end of its own NAME.
    pub fn can_name(server: &str) -> bool {
        let given = format!("{server}:NAME=env:VARIABLE").parse::<Self>();
        given.is_ok_and(|given| given.0.server == server)
    }

    /// What stands before an `=` and behind it.
    fn of(whose: &str, source: &str) -> Result<Self, NotGiven> {
        let (server, name) = whose.rsplit_once(':').ok_or(NotGiven::Form)?;
        if server.is_empty() || name.is_empty() {
            return Err(NotGiven::Form);
        }
        // The word before the source, with its space.
        let at = match source.split_once(' ') {
            Some((word, _)) if !word.contains(':') => word.len() + 1,
            _ => 0,
        };
        let (prefix, source) = source.split_at(at);
        let from = match source.split_once(':') {
            // No variable can have `=` in its name.
            Some(("env", variable)) if !variable.is_empty() && !variable.contains('=') => {
                From::Variable(variable.to_owned())
            }
            Some(("file", path)) if !path.is_empty() => From::File(path.into()),
            _ => return Err(NotGiven::Source),
        };
        Ok(Self(Key {
            package: None,
            server: server.to_owned(),
            origin: None,
            kind: None,
            name: name.to_owned(),
            value: Value {
                prefix: prefix.to_owned(),
                from,
            },
        }))
    }
}
