//! Credentials in the files of a source: files that hold nothing else are left out,
//! and texts in which one stands are named. Servers and manifests are looked at
//! value by value where they are translated.

use super::draft::Draft;
use super::loss::{Loss, LossKind};
use crate::spec::credential;

/// Names of files that hold the credentials of one user.
const NAMES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
];
/// Ends of paths that do.
const ENDS: &[&str] = &[
    ".aws/credentials",
    ".docker/config.json",
    ".kube/config",
    ".config/gh/hosts.yml",
];
/// Ends of names of key stores.
const STORES: &[&str] = &[".p12", ".pfx", ".ppk"];
/// Last parts of the names of `.env` files that only show what is to be set.
const SHOWN: &[&str] = &[
    "example", "examples", "sample", "template", "tmpl", "dist", "defaults", "schema",
];
/// Keys of a configuration of npm or Python whose values are credentials.
const REGISTRY_KEYS: &[&str] = &["_authtoken", "_auth", "_password", "password"];

/// Takes files out that hold credentials and nothing that a package needs.
pub(super) fn leave_out(draft: &mut Draft) {
    let found: Vec<(String, &'static str)> = draft
        .tree
        .files
        .iter()
        .filter_map(|(path, file)| Some((path.clone(), is_credential_file(path, &file.bytes)?)))
        .collect();
    for (path, why) in found {
        draft.tree.files.remove(&path);
        draft.lose(Loss::new(LossKind::FileLeftOut, &path, &path, why));
    }
}

/// Why a file holds credentials as a whole.
fn is_credential_file(path: &str, bytes: &[u8]) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_environment = name == ".env"
        || name.strip_prefix(".env.").is_some_and(|rest| {
            !rest
                .rsplit('.')
                .next()
                .is_some_and(|last| SHOWN.contains(&last))
        });
    if is_environment {
        return Some("such a file holds the secrets of one user");
    }
    let is_end = |end: &&str| {
        path.strip_suffix(*end)
            .is_some_and(|front| front.is_empty() || front.ends_with('/'))
    };
    if NAMES.contains(&name) || ENDS.iter().any(is_end) {
        return Some("such a file holds the credentials of one user");
    }
    if STORES.iter().any(|end| name.ends_with(end)) {
        return Some("such a file holds private keys");
    }
    let text = std::str::from_utf8(bytes).ok()?;
    if matches!(name, ".npmrc" | ".pypirc") && text.lines().any(sets_registry_credential) {
        return Some("it holds credentials for a registry");
    }
    let begins = text.trim_start().starts_with("-----BEGIN ");
    let is_account = name.ends_with(".json") && text.contains("\"private_key\"");
    ((begins || is_account) && private_key(text).is_some()).then_some("it holds a private key")
}

/// `//registry.example/:_authToken=…`, but for what is taken from the environment.
fn sets_registry_credential(line: &str) -> bool {
    let Some((key, value)) = line.split_once('=') else {
        return false;
    };
    let key = key.trim().rsplit([':', '/']).next().unwrap_or_default();
    let value = value.trim().trim_matches('"');
    REGISTRY_KEYS.contains(&key.to_ascii_lowercase().as_str())
        && credential::is_filled(value)
        && !credential::is_slot(value)
}

/// The offset of a private key that is one, not only the mark of it.
fn private_key(text: &str) -> Option<usize> {
    const LEAST: usize = 40;
    text.match_indices("-----BEGIN ").find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let (mark, body) = rest.split_once("PRIVATE KEY")?;
        let body = body.trim_start_matches(" BLOCK").strip_prefix("-----")?;
        let length = body
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=\\".contains(byte))
            .count();
        (mark.len() < 40 && length >= LEAST).then_some(at)
    })
}

/// Names the texts that still hold what looks like a credential, with the first
/// line of each.
pub(super) fn survey(draft: &mut Draft) {
    let mut losses = Vec::new();
    for (path, file) in &draft.tree.files {
        // Its values are judged one by one, by the rule book.
        if path == "mcp.json" {
            continue;
        }
        let Ok(text) = std::str::from_utf8(&file.bytes) else {
            continue;
        };
        let mut lines: Vec<usize> = credential::shown_in(text)
            .into_iter()
            .chain(private_key(text))
            .map(|at| text.get(..at).unwrap_or_default().matches('\n').count() + 1)
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let Some(first) = lines.first() else {
            continue;
        };
        let more = match lines.len() - 1 {
            0 => String::new(),
            1 => "; so does another line".to_owned(),
            more => format!("; so do {more} other lines"),
        };
        let why = format!("line {first} holds what looks like a credential{more}");
        losses.push(
            Loss::new(LossKind::CredentialInText, path, path, why)
                .with_help("take it out; if it is none, --allow-warnings lets it pass")
                .on_line(*first),
        );
    }
    losses.into_iter().for_each(|loss| draft.lose(loss));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_credentials_are_known() {
        let key = format!(
            "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n",
            "b3Bl".repeat(20)
        );
        let account = format!(
            "{{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{}\"}}",
            "b3Bl".repeat(20)
        );
        for (path, text) in [
            (".env", "A=1"),
            ("a/.env.local", ""),
            (".env.production", ""),
            (".npmrc", "a=b\n//registry.example/:_authToken=npm-zz\n"),
            (".pypirc", "[pypi]\npassword = zz-hush"),
            ("a/.netrc", ""),
            ("keys/id_rsa", ""),
            ("server.pem", key.as_str()),
            ("notes", key.as_str()),
            ("account.json", account.as_str()),
            ("store.p12", ""),
            (".aws/credentials", ""),
        ] {
            assert!(
                is_credential_file(path, text.as_bytes()).is_some(),
                "{path}"
            );
        }
        let shown = format!("An example:\n{key}");
        for (path, text) in [
            (".env.example", "A=1"),
            (".env.production.sample", ""),
            (
                ".npmrc",
                "registry=https://registry.example/\n//registry.example/:_authToken=${NPM_TOKEN}\n",
            ),
            ("id_rsa.pub", ""),
            ("ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n"),
            ("credentials", ""),
            ("SKILL.md", shown.as_str()),
            ("short.pem", "-----BEGIN PRIVATE KEY-----\n...\n"),
        ] {
            assert_eq!(is_credential_file(path, text.as_bytes()), None, "{path}");
        }
        assert_eq!(private_key(&shown), Some(12));
    }
}
