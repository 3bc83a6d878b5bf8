//! The shapes in which manifests hold a person and the address of a repository.

/// Somebody, as `author` has it (§5.4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// `name`.
    pub name: Option<String>,
    /// `email`.
    pub email: Option<String>,
    /// `url`.
    pub url: Option<String>,
}

impl Person {
    /// Reads `Name <mail> (page)`, in which each part may be missing.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim();
        let mut person = Self::default();
        if let Some((front, url)) = rest
            .strip_suffix(')')
            .and_then(|rest| rest.rsplit_once('('))
        {
            let url = url.trim();
            if !is_address(url) {
                return None;
            }
            person.url = Some(url.to_owned());
            rest = front.trim_end();
        }
        if let Some((front, email)) = rest
            .strip_suffix('>')
            .and_then(|rest| rest.rsplit_once('<'))
        {
            person.email = Some(email.trim().to_owned());
            rest = front.trim_end();
        }
        if rest.contains(['<', '>']) {
            return None;
        }
        person.name = Some(rest.to_owned()).filter(|name| !name.is_empty());
        (person != Self::default()).then_some(person)
    }

    /// The same; what has another shape is a name as a whole.
    pub fn named(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| Self {
            name: Some(text.trim().to_owned()).filter(|name| !name.is_empty()),
            ..Self::default()
        })
    }

    /// The parts that are there, by the names of their fields
    /// ([`AUTHOR_FIELDS`](super::version::AUTHOR_FIELDS)).
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [
            ("name", &self.name),
            ("email", &self.email),
            ("url", &self.url),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }

    /// The part of this name.
    pub fn part(&mut self, key: &str) -> Option<&mut Option<String>> {
        match key {
            "name" => Some(&mut self.name),
            "email" => Some(&mut self.email),
            "url" => Some(&mut self.url),
            _ => None,
        }
    }

    /// `Name <mail> (page)`.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.name.clone());
        parts.extend(self.email.as_ref().map(|email| format!("<{email}>")));
        parts.extend(self.url.as_ref().map(|url| format!("({url})")));
        parts.join(" ")
    }
}

/// Whether a text is an address on the web as it stands.
pub fn is_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Hosts whose repositories have their web address under the same path, with the
/// short form that npm reads.
const HOSTS: &[(&str, &str)] = &[
    ("github:", "github.com"),
    ("gitlab:", "gitlab.com"),
    ("bitbucket:", "bitbucket.org"),
];

/// The address of a repository for people: without what only git needs. Of an
/// address that only git can use (ssh, the git protocol) the page is known for
/// well-known hosts alone; others, and those with a port, stay as they are.
pub fn web_address(repository: &str) -> String {
    let text = repository.trim();
    let bare = text.strip_prefix("git+").unwrap_or(text);
    let bare = bare.strip_suffix(".git").unwrap_or(bare);
    for (short, host) in HOSTS {
        if let Some(path) = bare.strip_prefix(short) {
            return format!("https://{host}/{path}");
        }
    }
    if is_address(bare) {
        return bare.to_owned();
    }
    if let Some(page) = page(bare) {
        return page;
    }
    // `owner/name` alone is short for GitHub.
    let mut parts = bare.split('/');
    let part = |part: Option<&str>| {
        part.is_some_and(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        })
    };
    if part(parts.next()) && part(parts.next()) && parts.next().is_none() {
        return format!("https://github.com/{bare}");
    }
    text.to_owned()
}

/// The page of a repository that an address of git leads to.
fn page(address: &str) -> Option<String> {
    let rest = match address.split_once("://") {
        Some(("git" | "ssh", rest)) => rest,
        Some(_) => return None,
        None => address,
    };
    let rest = rest.strip_prefix("git@").unwrap_or(rest);
    let end = rest.find(['/', ':'])?;
    let (host, path) = (rest.get(..end)?, rest.get(end + 1..)?);
    let known = HOSTS
        .iter()
        .find(|(_, known)| host.eq_ignore_ascii_case(known));
    let (_, host) = known?;
    // Behind a colon there may be a port.
    let first = path.split('/').next().unwrap_or_default();
    let is_port =
        rest.get(end..)?.starts_with(':') && first.bytes().all(|byte| byte.is_ascii_digit());
    (!is_port && path.contains('/')).then(|| format!("https://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_read_as_npm_writes_them() {
        for (text, name, email, url) in [
            ("Mara", Some("Mara"), None, None),
            (
                "Mara Zoë <m@example.com> (https://example.com)",
                Some("Mara Zoë"),
                Some("m@example.com"),
                Some("https://example.com"),
            ),
            ("<m@example.com>", None, Some("m@example.com"), None),
            (
                "Mara (http://x.example)",
                Some("Mara"),
                None,
                Some("http://x.example"),
            ),
        ] {
            let person = Person::parse(text).expect(text);
            assert_eq!(person.name.as_deref(), name);
            assert_eq!(person.email.as_deref(), email);
            assert_eq!(person.url.as_deref(), url);
            assert_eq!(person.line(), text);
        }
        for text in ["", " ", "a <b> c <d", "Mara (she)"] {
            assert_eq!(Person::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn repositories_have_one_address() {
        for text in [
            "https://github.com/a/b",
            "git+https://github.com/a/b.git",
            "git://github.com/a/b.git",
            "git@github.com:a/b.git",
            "ssh://git@github.com/a/b.git",
            "git+ssh://git@github.com/a/b.git",
            "github:a/b",
            "a/b",
        ] {
            assert_eq!(web_address(text), "https://github.com/a/b", "{text}");
        }
        for text in [
            "ssh://git@git.corp.example:2222/team/r.git",
            "ssh://git@github.com:2222/a/b.git",
            "git@git.corp.example:team/r.git",
            "git://git.corp.example/team/r.git",
            "file:///srv/r.git",
        ] {
            assert_eq!(web_address(text), text);
        }
        assert_eq!(
            web_address("git+ssh://git@github.com:a/b.git"),
            "https://github.com/a/b"
        );
        assert_eq!(web_address("gitlab:a/b"), "https://gitlab.com/a/b");
        assert_eq!(web_address("https://x.example/a"), "https://x.example/a");
        assert_eq!(web_address("./a/b/c"), "./a/b/c");
    }
}
