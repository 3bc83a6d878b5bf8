//! Credentials for https: what the user's `.netrc` and git's own helpers know.
//! Nothing is asked for, and nothing is stored or erased.

use std::path::PathBuf;

use super::child::{self, Running, Trouble};
use super::transport::Context;
use crate::sys;

/// The largest `.netrc` that is read, in bytes.
const MAX_NETRC: u64 = 1 << 20;
/// The most that is read from a helper, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// A name and a password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credential {
    pub user: String,
    pub password: String,
    /// For messages.
    pub from: &'static str,
}

/// Looks for credentials of the server, in git's order. `challenge` is what the
/// server wrote about it.
pub(super) fn find(
    context: &Context,
    challenge: Option<&str>,
) -> Result<Option<Credential>, Trouble> {
    let address = &context.address;
    if let Some(password) = &context.password {
        return Ok(Some(Credential {
            user: address.user().unwrap_or_default().to_owned(),
            password: password.clone(),
            from: "git's configuration",
        }));
    }
    let names: &[&str] = if cfg!(windows) {
        &["_netrc", ".netrc"]
    } else {
        &[".netrc"]
    };
    let home = context.environment.home.as_deref();
    let files = names.iter().filter_map(|name| Some(home?.join(name)));
    if let Some(found) = files
        .filter_map(read)
        .find_map(|text| netrc(&text, address.host(), address.user()))
    {
        return Ok(Some(found));
    }
    ask_helpers(context, challenge)
}

fn read(path: PathBuf) -> Option<String> {
    let bytes = sys::read_regular(&path, MAX_NETRC).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The entry for a host in the text of a `.netrc`.
fn netrc(text: &str, host: &str, user: Option<&str>) -> Option<Credential> {
    let mut words = Words { rest: text };
    // Whether the entry at hand is for us, and what it holds.
    let mut ours = false;
    let (mut login, mut password) = (None, None);
    loop {
        let word = words.next();
        let begins = matches!(
            word.as_deref(),
            None | Some("machine" | "default" | "macdef")
        );
        if begins && ours {
            let name = login.take().or_else(|| user.map(str::to_owned));
            if let (Some(name), Some(password)) = (name, password.take())
                && user.is_none_or(|user| user == name)
            {
                return Some(Credential {
                    user: name,
                    password,
                    from: ".netrc",
                });
            }
        }
        match word?.as_str() {
            "machine" => {
                ours = words.next()?.eq_ignore_ascii_case(host);
                (login, password) = (None, None);
            }
            "default" => {
                ours = true;
                (login, password) = (None, None);
            }
            "macdef" => {
                ours = false;
                words.skip_macro();
            }
            "login" => login = Some(words.next()?),
            "password" => password = Some(words.next()?),
            "account" => {
                words.next()?;
            }
            _ => {}
        }
    }
}

struct Words<'t> {
    rest: &'t str,
}

impl Words<'_> {
    /// A macro goes on to the next empty line.
    fn skip_macro(&mut self) {
        let end = self.rest.find("\n\n").unwrap_or(self.rest.len());
        self.rest = self.rest.get(end..).unwrap_or_default();
    }
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                break;
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.rest = self.rest.get(end..).unwrap_or_default();
        }
        let quoted = self.rest.starts_with('"');
        let mut word = String::new();
        let mut chars = self.rest.char_indices().skip(usize::from(quoted));
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted => {
                    end = at + 1;
                    break;
                }
                '\\' if quoted => word.extend(chars.next().map(|(_, c)| c)),
                c if !quoted && c.is_whitespace() => {
                    end = at;
                    break;
                }
                c => word.push(c),
            }
        }
        let any = !self.rest.is_empty();
        self.rest = self.rest.get(end..).unwrap_or_default();
        any.then_some(word)
    }
}

/// Has git ask the helpers that the user configured. Without git there are none.
fn ask_helpers(context: &Context, challenge: Option<&str>) -> Result<Option<Credential>, Trouble> {
    let address = &context.address;
    let url = address.http_url();
    let scheme = url.split(':').next().unwrap_or_default();
    let mut question = format!("protocol={scheme}\nhost={}\n", address.authority());
    let path = address.path().trim_start_matches('/');
    question += &format!("path={path}\n");
    if let Some(user) = address.user() {
        question += &format!("username={user}\n");
    }
    let challenge = challenge.filter(|text| !text.contains(char::is_control));
    if let Some(challenge) = challenge {
        question += &format!("wwwauth[]={challenge}\n");
    }
    question.push('\n');
    let mut command = child::command("git", &context.environment);
    command
        .args(["credential", "fill"])
        // Ours, which configures nothing, in place of the one around.
        .env("GIT_DIR", &context.git_dir)
        .env_remove("GIT_WORK_TREE")
        // No questions, on no terminal and in no window.
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "")
        .env("SSH_ASKPASS", "")
        .env("GCM_INTERACTIVE", "never");
    let Ok(mut running) = Running::start(&mut command, &context.stop, context.patience) else {
        return Ok(None);
    };
    match running.write(question.as_bytes()) {
        Ok(()) => {}
        Err(Trouble::Stopped) => return Err(Trouble::Stopped),
        // A helper that does not listen has nothing to say.
        Err(_) => return Ok(None),
    }
    running.close_input();
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match running.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(Trouble::Stopped) => return Err(Trouble::Stopped),
            // A helper that says nothing has nothing to say.
            Err(_) => return Ok(None),
        }
        if answer.len() > MAX_ANSWER {
            return Ok(None);
        }
    }
    Ok(answered(&String::from_utf8_lossy(&answer)))
}

fn answered(text: &str) -> Option<Credential> {
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.to_owned())
    };
    Some(Credential {
        user: value("username")?,
        password: value("password")?,
        from: "git's credential helper",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_netrc_is_read_as_others_read_it() {
        let text = "# mine\nmachine a.example login me password one\n\
            macdef init\n machine b.example login x password y\n\n\
            machine B.example\n\tlogin you\n\tpassword \"t w\\\"o\"\n\
            machine b.example login they account z password three\n\
            machine c.example login nobody\n\
            machine d.example password four\n\
            default login any password five\n";
        let found = |host, user| netrc(text, host, user).map(|c| (c.user, c.password));
        let some = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(found("a.example", None), some("me", "one"));
        assert_eq!(found("b.example", None), some("you", "t w\"o"));
        assert_eq!(found("b.example", Some("they")), some("they", "three"));
        assert_eq!(found("c.example", None), some("any", "five"));
        assert_eq!(found("d.example", Some("I")), some("I", "four"));
        assert_eq!(found("e.example", None), some("any", "five"));
        assert_eq!(found("e.example", Some("I")), None);
        for broken in [
            "",
            "machine",
            "machine a login",
            "\"",
            "password x",
            "machine a login b password",
        ] {
            assert!(netrc(broken, "a", None).is_none(), "{broken}");
        }
    }

    #[test]
    fn what_helpers_answer_is_taken_whole_or_not_at_all() {
        let answer = answered("protocol=https\nusername=me\npassword=a=b\n").expect("both");
        assert_eq!(
            (answer.user.as_str(), answer.password.as_str()),
            ("me", "a=b")
        );
        assert!(answered("username=me\n").is_none());
        assert!(answered("quit=1\n").is_none());
    }
}
