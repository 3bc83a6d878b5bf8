//! Who and where: the ids under which memories are written and searched (design
//! document, section 5). What is captured is found again only if the ids of
//! both are equal to the letter.

use std::path::Path;

use super::Host;
use super::config::Config;
use super::digest;
use super::git::Repository;
use super::text::clip;

/// The longest id EverOS takes.
const MAX_ID: usize = 128;
/// Digits of the digest that stands in for lost characters.
const DIGEST: usize = 8;
/// The project of a directory without a usable name.
const FALLBACK: &str = "default";
/// Names that EverOS keeps for itself.
const RESERVED: [&str; 2] = ["default_app", "default_project"];

/// The ids of one hook call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The host's partition.
    pub app: &'static str,
    /// The project's partition.
    pub project: String,
    /// Where the project id comes from.
    pub project_source: ProjectSource,
    /// The user, if one is known.
    pub user: Option<String>,
    /// The agent.
    pub agent: &'static str,
}

/// What a project id was derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectSource {
    /// It was configured.
    Configured,
    /// The address of the git remote `origin`.
    Remote,
    /// The name of the repository's root directory.
    Repository,
    /// The name of the working directory.
    Directory,
}

impl ProjectSource {
    /// A few words for a report.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Remote => "git remote",
            Self::Repository => "repository directory",
            Self::Directory => "working directory",
        }
    }
}

impl Identity {
    /// The ids for work in `directory`.
    pub fn resolve(host: &dyn Host, config: &Config, directory: &Path) -> Self {
        let (project, project_source) = match &config.project_id.value {
            Some(configured) => (safe_id(configured), ProjectSource::Configured),
            None => project_of(directory),
        };
        Self {
            app: host.app_id(),
            project,
            project_source,
            user: config.user_id.value.as_deref().map(safe_id),
            agent: host.agent_id(),
        }
    }
}

fn project_of(directory: &Path) -> (String, ProjectSource) {
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    match Repository::around(directory) {
        Some(repository) => match repository.origin().and_then(|url| remote_id(&url)) {
            Some(id) => (id, ProjectSource::Remote),
            None => (safe_id(&name(&repository.root)), ProjectSource::Repository),
        },
        None => (safe_id(&name(directory)), ProjectSource::Directory),
    }
}

/// The id of a git remote: host, owner and repository. Every spelling of one
/// address gives the same id.
pub fn remote_id(url: &str) -> Option<String> {
    let (host, path) = split_remote(url.trim())?;
    let host = host.to_ascii_lowercase();
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut segments: Vec<&str> = path
        .split(['/', '\\'])
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if !host.is_empty() {
        segments.insert(0, &host);
    }
    let last = segments.len().saturating_sub(3);
    let kept = segments
        .get(last..)
        .filter(|kept| !kept.is_empty())?
        .join("_");
    // Segments left out are lost characters too: two nested groups that end
    // alike must stay apart.
    Some(safe_id_of(
        &kept,
        (last > 0).then(|| segments.join("/")).as_deref(),
    ))
}

/// Host (empty for a local path) and path of a remote.
fn split_remote(url: &str) -> Option<(&str, &str)> {
    if let Some((_, rest)) = url.split_once("://") {
        let (authority, path) = rest.split_at(rest.find('/')?);
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let host = match host.strip_prefix('[') {
            Some(bracketed) => bracketed.split(']').next().unwrap_or(bracketed),
            None => host.split(':').next().unwrap_or(host),
        };
        return Some((host, path.split(['?', '#']).next().unwrap_or(path)));
    }
    // `host:path`, unless a slash comes first or the host is a drive letter.
    let colon = url
        .find(':')
        .filter(|colon| *colon > 1 && !url.get(..*colon).unwrap_or_default().contains('/'));
    match colon {
        Some(colon) => {
            let (authority, path) = url.split_at(colon);
            let host = authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host);
            Some((host, path.strip_prefix(':').unwrap_or(path)))
        }
        None => Some(("", url)).filter(|_| !url.is_empty()),
    }
}

/// An id EverOS takes, from any name. What loses a character on the way gets a
/// digest of the original, so that distinct names stay distinct.
pub fn safe_id(raw: &str) -> String {
    safe_id_of(raw, None)
}

/// Like [`safe_id`]; `original` is what `raw` was cut from, if it was.
fn safe_id_of(raw: &str, original: Option<&str>) -> String {
    let name = raw.trim();
    if matches!(name, "" | "." | "..") {
        return FALLBACK.to_owned();
    }
    let safe = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '.' | '@' | '+' | '-');
    let clean: String = name
        .chars()
        .map(|ch| if safe(ch) { ch } else { '_' })
        .collect();
    let whole =
        clean == name && clean.len() <= MAX_ID && !RESERVED.contains(&name) && original.is_none();
    if whole {
        return clean;
    }
    let digest = digest::hex(original.unwrap_or(name).as_bytes(), DIGEST);
    format!("{}_{digest}", clip(&clean, MAX_ID - DIGEST - 1))
}

/// A session id as EverOS takes it: any characters, at most 128 of them.
pub fn session_id(raw: &str) -> &str {
    clip(raw, MAX_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_remote_gives_one_id() {
        for url in [
            "https://github.com/acme/api.git",
            "https://github.com/acme/api",
            "https://GitHub.com/acme/api/",
            "https://github.com/acme/api.git/",
            "https://user:pass@github.com/acme/api.git",
            "https://x-access-token:abc@github.com:443/acme/api.git",
            "http://github.com/acme/api",
            "git://github.com/acme/api.git",
            "ssh://git@github.com/acme/api.git",
            "ssh://git@github.com:22/acme/api",
            "git+ssh://git@github.com/acme/api.git",
            "git@github.com:acme/api.git",
            "git@github.com:/acme/api.git",
            "github.com:acme/api",
            "  https://github.com//acme/api.git \n",
        ] {
            assert_eq!(
                remote_id(url).as_deref(),
                Some("github.com_acme_api"),
                "{url}"
            );
        }
        assert_eq!(
            remote_id("https://github.com/Acme/API").as_deref(),
            Some("github.com_Acme_API")
        );
        assert_eq!(
            remote_id("/srv/git/team/api.git")
                .as_deref()
                .map(|id| id.starts_with("git_team_api_")),
            Some(true)
        );
        assert_eq!(remote_id("../api.git").as_deref(), Some(".._api"));
        assert_eq!(
            remote_id("C:\\work\\api").as_deref(),
            Some(safe_id("C:_work_api").as_str())
        );
        assert_eq!(
            remote_id("https://github.com/"),
            Some("github.com".to_owned())
        );
        assert_eq!(remote_id(""), None);
    }

    #[test]
    fn nested_groups_that_end_alike_stay_apart() {
        let one = remote_id("https://gitlab.com/one/team/app/api").unwrap();
        let two = remote_id("https://gitlab.com/two/team/app/api").unwrap();
        assert!(one.starts_with("team_app_api_") && two.starts_with("team_app_api_") && one != two);
        assert_eq!(remote_id("git@gitlab.com:one/team/app/api.git"), Some(one));
    }

    #[test]
    fn ids_keep_distinct_names_distinct() {
        assert_eq!(safe_id("repo-1.x@y+z"), "repo-1.x@y+z");
        assert_eq!(safe_id(" .. "), "default");
        assert_eq!(safe_id(""), "default");
        let (a, b) = (safe_id("项目"), safe_id("测试"));
        assert!(a.starts_with("___") && b.starts_with("___") && a != b && a.len() == 11);
        let long = "x".repeat(200);
        let id = safe_id(&long);
        assert_eq!(id.len(), MAX_ID);
        assert_ne!(id, safe_id(&format!("{long}y")));
        assert_ne!(safe_id("default_project"), "default_project");
        assert_eq!(session_id(&"é".repeat(130)).chars().count(), 128);
    }
}
