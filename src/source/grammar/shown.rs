//! Texts that may be sources, as messages show them: without what may be a
//! credential, however oddly it is spelt.

use super::text::{Scheme, holds_secret, is_spelt_as_path};

/// What stands in place of a credential.
const HIDDEN: &str = "…";
/// What is shorter is not looked for in other texts.
const LEAST: usize = 3;

/// A text that may be a source, taken apart.
pub(super) struct Shown {
    /// The text without credentials.
    pub(super) text: String,
    /// What was taken out, the longest first.
    taken: Vec<String>,
}

impl Shown {
    pub(super) fn of(text: &str) -> Self {
        let mut shown = Self {
            text: String::new(),
            taken: Vec::new(),
        };
        let rest = shown.without_query(text);
        shown.without_users(rest);
        shown.taken.retain(|taken| taken.len() >= LEAST);
        shown
            .taken
            .sort_unstable_by_key(|taken| std::cmp::Reverse(taken.len()));
        shown
    }

    /// Another text about the same source, without what was taken out of this one.
    pub(super) fn hide_in(&self, other: &str) -> String {
        let mut other = other.to_owned();
        for taken in &self.taken {
            other = other.replace(taken, HIDDEN);
        }
        Self::of_message(&other)
    }

    /// A message without the credentials of the addresses in it.
    pub(super) fn of_message(text: &str) -> String {
        let is_border = |c: char| c.is_whitespace() || matches!(c, '`' | '"');
        let pieces = text.split_inclusive(is_border);
        pieces
            .map(|piece| match piece.contains(":/") {
                true => Self::of(piece).text,
                false => piece.to_owned(),
            })
            .collect()
    }

    /// The text up to a query or fragment that holds a secret.
    fn without_query<'t>(&mut self, text: &'t str) -> (&'t str, &'static str) {
        for mark in ["?", "#"] {
            if let Some((head, query)) = text.split_once(mark)
                && query.split(['?', '#']).any(holds_secret)
            {
                let values = query.split(['?', '#', '&']).filter_map(|pair| {
                    let (_, value) = pair.split_once('=')?;
                    Some(value.to_owned())
                });
                self.taken.extend(values);
                return (head, if mark == "?" { "?…" } else { "#…" });
            }
        }
        (text, "")
    }

    fn without_users(&mut self, (text, end): (&str, &str)) {
        let mut rest = text;
        let mut has_address = false;
        while let Some(at) = rest.find(":/") {
            let (before, behind) = rest.split_at(at);
            let address = behind.trim_start_matches(':').trim_start_matches('/');
            let start = rest.len() - address.len();
            self.text.push_str(rest.get(..start).unwrap_or_default());
            rest = address;
            let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
            // One letter is a drive of Windows.
            let scheme = scheme.filter(|scheme| scheme.len() > 1);
            let Some(scheme) = scheme else { continue };
            has_address |= behind.starts_with("://");
            if let Some(user) = user_of(address)
                // The name of a user who comes with a key is no secret.
                && (!scheme.eq_ignore_ascii_case("ssh") || user.contains(':'))
            {
                rest = self.take(address, 0, user.len());
            }
        }
        if !has_address && self.taken.is_empty() && !is_spelt_as_path(text) {
            let whole = format!("{}{rest}", self.text);
            self.text.clear();
            let place = user_without_address(&whole);
            let (start, length) = place.unwrap_or((whole.len(), 0));
            self.text.push_str(whole.get(..start).unwrap_or_default());
            let rest = match length {
                0 => whole.get(start..).unwrap_or_default(),
                length => self.take(&whole, start, length),
            };
            self.text.push_str(rest);
        } else {
            self.text.push_str(rest);
        }
        self.text.push_str(end);
    }

    /// Takes out a part, and gives what follows it.
    fn take<'t>(&mut self, text: &'t str, start: usize, length: usize) -> &'t str {
        let taken = text.get(start..start + length).unwrap_or_default();
        self.text.push_str(HIDDEN);
        self.taken.push(taken.to_owned());
        let password = taken.split_once(':').map(|(_, password)| password);
        self.taken.extend(password.map(str::to_owned));
        text.get(start + length..).unwrap_or_default()
    }
}

/// The user information that an address begins with. A password that was not
/// encoded ends the authority early; then what looks like a port is no number.
fn user_of(address: &str) -> Option<&str> {
    let authority = address.split(['/', '?', '#']).next()?;
    if let Some((user, _)) = authority.rsplit_once('@') {
        return Some(user);
    }
    let (_, port) = authority.rsplit_once(':')?;
    let is_port = port
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b']');
    let (user, _) = address.rsplit_once('@').filter(|_| !is_port)?;
    Some(user)
}

/// Where user information stands in what has no address: `user:password@host:path`,
/// and anything before the owner of a repository of github.
fn user_without_address(text: &str) -> Option<(usize, usize)> {
    let kind = Scheme::of(text);
    let is_git = text
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("git+"));
    let start = match kind {
        Some((_, rest)) => text.len() - rest.len(),
        None if is_git => 4,
        None => 0,
    };
    let place = text.get(start..)?.split('#').next()?;
    let user = if matches!(kind, Some((Scheme::Github, _))) {
        place.split('/').next()?.rsplit_once('@')?.0
    } else {
        // What has no `:` before its first `@` has no password; an `@` may be part
        // of one.
        let (user, _) = place.split_once('@')?;
        user.find(':').and_then(|_| place.rsplit_once('@'))?.0
    };
    (!user.is_empty()).then_some((start, user.len()))
}

#[cfg(test)]
mod tests {
    use super::Shown;

    #[test]
    fn credentials_are_taken_out_of_every_spelling() {
        for (text, wanted) in [
            ("https://u:S3CRETPW@h/x.tgz", "https://…@h/x.tgz"),
            ("https://S3CRETPW@h/x.tgz", "https://…@h/x.tgz"),
            ("https://u:S3C/RETPW@h/x.tgz", "https://…@h/x.tgz"),
            ("git+https://u:S3CRETPW@h/x#v1", "git+https://…@h/x#v1"),
            ("git+ssh://u:S3CRETPW@h/x", "git+ssh://…@h/x"),
            ("git://u:S3CRETPW@h/x", "git://…@h/x"),
            ("https://h/x.tgz?token=S3CRETPW", "https://h/x.tgz?…"),
            ("https://h/x?X-Amz-Signature=S3CRETPW", "https://h/x?…"),
            ("https://h/x#access_token=S3CRETPW", "https://h/x#…"),
            ("npm:https://u:S3CRETPW@h/", "npm:https://…@h/"),
            ("npm:u:S3CRETPW@h", "npm:…@h"),
            ("github:S3CRETPW@o/r#v@1", "github:…@o/r#v@1"),
            ("github:u:S3CRETPW@o/r", "github:…@o/r"),
            ("https:/u:S3CRETPW@h/x.git", "https:/…@h/x.git"),
            ("u:S3CRETPW@h:o/r", "…@h:o/r"),
            ("u:S3C@RETPW@h:o/r", "…@h:o/r"),
            ("git+u:S3CRETPW@h:o/r", "git+…@h:o/r"),
            ("dir:https://u:S3CRETPW@h/x", "dir:https://…@h/x"),
            ("file:https://u:S3CRETPW@h/x", "file:https://…@h/x"),
            ("/srv/https:/u:S3CRETPW@h/x", "/srv/https:/…@h/x"),
            ("dir:/srv/https:/u:S3CRETPW@h/x", "dir:/srv/https:/…@h/x"),
        ] {
            let shown = Shown::of(text);
            assert_eq!(shown.text, wanted);
            let told = shown.hide_in(&format!("`{text}` as `u:S3CRETPW`: S3CRETPW"));
            let is_whole = text.contains("S3CRETPW");
            assert!(!(is_whole && told.contains("S3CRETPW")), "{text}: {told}");
        }
        for text in [
            "git@host:o/r",
            "ssh://git@host/o/r",
            "git+ssh://git@host/o/r#v1",
            "npm:@acme/tide@^1",
            "npm:tide@1.0.0",
            "github:o/r#v@1",
            "https://h:8080/x@1/a.tgz",
            "https://h/x.tgz?path=a",
            "./a:b@c",
            "C:/a@b",
            "tide-table",
            "dir:./x@y",
            "file:/home/a/x.tgz",
        ] {
            assert_eq!(Shown::of(text).text, text);
        }
        assert_eq!(
            Shown::of_message("fetch \"https://u:p@h/x\": no `git+https://t@h`"),
            "fetch \"https://…@h/x\": no `git+https://…@h`"
        );
    }
}
