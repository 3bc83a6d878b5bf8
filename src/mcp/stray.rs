//! What a server sent that is no message.

use std::fmt;

/// The longest text that is no message in a remark, in characters.
const SHOWN: usize = 100;

/// What a server sent though it is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// How many texts there were; over stdio, lines that are not blank.
    pub texts: u64,
    /// The first of them, cut to a length that fits a message.
    pub first: String,
    over: Over,
}

/// What it came over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Over {
    Http,
    Stdio,
}

impl Stray {
    /// Adds one more to `strays`. `text` is asked for the first only, and gives it
    /// without the values of credentials.
    pub(super) fn add(strays: &mut Option<Self>, over: Over, text: impl FnOnce() -> String) {
        match strays {
            Some(stray) => stray.texts += 1,
            none => {
                let first = text().trim().chars().take(SHOWN).collect();
                *none = Some(Self {
                    texts: 1,
                    first,
                    over,
                });
            }
        }
    }
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { texts, first, over } = self;
        match (over, texts) {
            (Over::Http, 1) => write!(f, "it sent what is no JSON-RPC message: `{first}`"),
            (Over::Http, texts) => write!(
                f,
                "it sent {texts} texts that are no JSON-RPC messages, the first: `{first}`"
            ),
            (Over::Stdio, 1) => write!(
                f,
                "it wrote a line to standard output that is no JSON-RPC message: `{first}`; logs \
                 belong on standard error"
            ),
            (Over::Stdio, lines) => write!(
                f,
                "it wrote {lines} lines to standard output that are no JSON-RPC messages, the \
                 first: `{first}`; logs belong on standard error"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_shown_and_the_others_are_counted() {
        for (over, one, two) in [
            (
                Over::Http,
                "it sent what is no JSON-RPC message: `a`",
                "it sent 2 texts that are no JSON-RPC messages, the first: `a`",
            ),
            (
                Over::Stdio,
                "it wrote a line to standard output that is no JSON-RPC message: `a`; logs belong \
                 on standard error",
                "it wrote 2 lines to standard output that are no JSON-RPC messages, the first: \
                 `a`; logs belong on standard error",
            ),
        ] {
            let mut strays = None;
            Stray::add(&mut strays, over, || " a\n".to_owned());
            assert_eq!(
                strays.as_ref().map(ToString::to_string).as_deref(),
                Some(one)
            );
            Stray::add(&mut strays, over, || unreachable!("it is not shown"));
            assert_eq!(strays.map(|stray| stray.to_string()).as_deref(), Some(two));
        }
        let mut long = None;
        Stray::add(&mut long, Over::Http, || "x".repeat(SHOWN + 1));
        assert_eq!(long.map(|stray| stray.first.len()), Some(SHOWN));
    }
}
