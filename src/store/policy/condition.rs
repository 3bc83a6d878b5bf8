//! Conditions of rules about packages and servers that nothing could ever fit: a rule that
//! forbids nothing would be taken for one that does.

use std::ops::Range;

use toml::Spanned;

use super::has_port;
use super::install::RuleText;
use crate::archive::Digest;
use crate::source::git::is_full_id;
use crate::source::{Kind, is_pin};

/// What is wrong, and where.
type Problem = (Range<usize>, String);

impl RuleText {
    /// Refuses a rule without conditions, and conditions that never fit.
    pub(super) fn check(&self, rule: Range<usize>) -> Result<(), Problem> {
        let texts = [
            &self.host,
            &self.scope,
            &self.name,
            &self.plugin,
            &self.version,
            &self.integrity,
        ];
        if self.kind.is_none() && texts.iter().all(|text| text.is_none()) {
            return Err((rule, no_condition("name")));
        }
        if let Some(empty) = (texts.into_iter().flatten()).find(|text| text.get_ref().is_empty()) {
            return Err((empty.span(), EMPTY.to_owned()));
        }
        let kind = self.kind.map(super::install::KindText::kind);
        let checks: [(&Option<Spanned<String>>, Check); 5] = [
            (&self.host, host),
            (&self.scope, scope),
            (&self.name, name),
            (&self.plugin, plugin),
            (&self.integrity, integrity),
        ];
        for (text, check) in checks {
            if let Some(text) = text
                && let Some(problem) = check(text.get_ref(), kind)
            {
                return Err((text.span(), problem));
            }
        }
        Ok(())
    }
}

/// Refuses conditions of a rule about servers that never fit. The name of a server may be
/// any text.
pub(super) fn check_of_server(
    host_of: Option<&Spanned<String>>,
    plugin_of: Option<&Spanned<String>>,
) -> Result<(), Problem> {
    let checks: [(_, Check); 2] = [(host_of, host), (plugin_of, plugin)];
    for (text, check) in checks {
        let Some(text) = text else { continue };
        let problem = match text.get_ref().as_str() {
            "" => Some(EMPTY.to_owned()),
            written => check(written, None),
        };
        if let Some(problem) = problem {
            return Err((text.span(), problem));
        }
    }
    Ok(())
}

/// That a rule has no condition, where one about `key` could stand.
pub(super) fn no_condition(key: &str) -> String {
    format!("the rule has no condition, so it would fit everything; `{key} = \"*\"` says that")
}

const EMPTY: &str = "it is empty, and fits nothing";

type Check = fn(&str, Option<Kind>) -> Option<String>;

fn host(host: &str, kind: Option<Kind>) -> Option<String> {
    if let Some(kind @ (Kind::Directory | Kind::Builtin)) = kind {
        return Some(format!(
            "a source of the kind {:?} has no host",
            kind.as_str()
        ));
    }
    if has_port(host) {
        return Some("a host has no port; a rule holds for all ports of a host".to_owned());
    }
    host.contains(['/', '@'])
        .then(|| "a host is a name or an address alone, such as \"git.example.com\"".to_owned())
}

fn scope(scope: &str, kind: Option<Kind>) -> Option<String> {
    let bare = scope.trim_start_matches('@');
    match kind {
        Some(Kind::Npm) if !scope.starts_with(['@', '*']) => Some(format!(
            "a scope of npm begins with `@`: write \"@{scope}\""
        )),
        Some(Kind::Git) if scope.starts_with('@') => Some(format!(
            "the owner of a repository has no `@`: write {bare:?}"
        )),
        Some(kind @ (Kind::Directory | Kind::Archive | Kind::Builtin)) => Some(format!(
            "a source of the kind {:?} has no scope",
            kind.as_str()
        )),
        _ if bare.contains('/') => {
            let owner = bare.split('/').next().unwrap_or_default();
            Some(format!("a scope is one part of a path, such as {owner:?}"))
        }
        _ => None,
    }
}

fn name(name: &str, kind: Option<Kind>) -> Option<String> {
    let is_of_npm = kind == Some(Kind::Npm)
        || (kind.is_none() && name.starts_with(['@', '*']) && name.matches('/').count() == 1);
    let last = name
        .trim_end_matches(['/', '\\'])
        .rsplit(['/', '\\'])
        .next();
    let last = last.filter(|last| !last.is_empty()).unwrap_or("*");
    if !is_of_npm && name.contains(['/', '\\']) {
        return Some(format!(
            "a name is the last part of a path or address alone: write {last:?}"
        ));
    }
    match (kind, name.strip_suffix(".git")) {
        (Some(Kind::Git), Some(bare)) => Some(format!(
            "the name of a repository is without `.git`: write {bare:?}"
        )),
        _ => None,
    }
}

fn plugin(plugin: &str, _: Option<Kind>) -> Option<String> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-.*".contains(c);
    (!plugin.chars().all(is_known)).then(|| {
        "no package has such a name in its plugin.json; it holds letters, digits, - and . alone"
            .to_owned()
    })
}

fn integrity(text: &str, _: Option<Kind>) -> Option<String> {
    // What is recorded of a commit has small letters.
    let is_commit = is_full_id(text) && !text.contains(char::is_uppercase);
    let is_digest = text
        .parse::<Digest>()
        .is_ok_and(|digest| digest.to_string() == text);
    (!is_commit && !is_pin(text) && !is_digest).then(|| {
        "it is neither a whole digest as apkit.lock has it (\"sha512-…\" of an archive, \"sha256:…\" of a package) nor all digits of a commit"
            .to_owned()
    })
}
