//! Reading a source.

use std::path::PathBuf;

use url::Url;

use super::shown::Shown;
use super::text::{
    Scheme, browsed, is_archive_name, is_repository, is_scp, is_secret_parameter, is_spelt_as_path,
    path_behind, path_colon, path_part, percent_decoded, referenced_archive, scheme, slashed,
    slashed_scp,
};
use super::{ArchiveFile, NoSource, SPELLINGS, Source, normal};
use crate::archive::EntryPath;
use crate::source::Environment;
use crate::source::builtin::Builtin;
use crate::source::npm::{NpmSource, PackageName};
use crate::source::remote::RemoteArchive;

/// No spelling would do.
pub(super) const NOTHING: &[&str] = &[];
const REFERENCE: &str = "an archive has no `#` reference";

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) environment: &'t Environment,
    /// Whether the source is recorded nowhere, so that its address may be signed.
    pub(super) is_for_once: bool,
}

impl Parser<'_> {
    pub(super) fn source(&self) -> Result<Source, NoSource> {
        let text = self.text;
        if text.is_empty() {
            return Err(self.error("it is empty", SPELLINGS));
        }
        if let Some(control) = text.chars().find(|c| c.is_control()) {
            let understood = format!("it holds the control character {control:?}");
            return Err(self.error(&understood, NOTHING));
        }
        if let Some((archive, below)) = referenced_archive(text) {
            let mut spellings = self.readable(format!("{archive}{below}"));
            if is_spelt_as_path(text) {
                let directory = self.readable(format!("dir:{text}"));
                spellings.extend(
                    directory
                        .iter()
                        .map(|dir| format!("{dir} for the directory")),
                );
            }
            return Err(self.error(REFERENCE, &spellings));
        }
        if is_spelt_as_path(text) {
            return if is_archive_name(path_part(text)) {
                self.archive_file(text)
            } else {
                self.directory(text)
            };
        }
        if is_repository(text) {
            return self.git(text);
        }
        if let Some((scheme, rest)) = Scheme::of(text) {
            return match scheme {
                Scheme::Dir => self.directory(rest),
                Scheme::File => self.file(rest),
                Scheme::Npm => self.npm(rest),
                Scheme::Github => self.github(rest),
                Scheme::Builtin => self.builtin(rest),
            };
        }
        if let Some((before, address)) = text.split_once('+')
            && before.eq_ignore_ascii_case("git")
        {
            return self.git(address);
        }
        if let Some(scheme) = scheme(text)
            && text[scheme.len()..].starts_with("://")
        {
            return self.url(&scheme.to_ascii_lowercase());
        }
        if is_scp(text) {
            return self.git(text);
        }
        if let Some(scheme) = scheme(text) {
            let understood = format!("there are no sources of the kind `{scheme}:`");
            return Err(self.error(&understood, SPELLINGS));
        }
        if is_archive_name(path_part(text)) {
            return self.archive_file(text);
        }
        Err(self.bare())
    }

    fn builtin(&self, name: &str) -> Result<Source, NoSource> {
        Builtin::named(name).map(Source::Builtin).ok_or_else(|| {
            let known: Vec<String> = Builtin::ALL
                .iter()
                .map(|known| format!("builtin:{}", known.name()))
                .collect();
            self.error("apkit brings no package of that name along", &known)
        })
    }

    /// An address without `git+` before it.
    fn url(&self, scheme: &str) -> Result<Source, NoSource> {
        let text = self.text;
        match scheme {
            "https" | "http" => {
                let url = Url::parse(text)
                    .map_err(|error| self.error(&format!("as an address, {error}"), NOTHING))?;
                if is_archive_name(url.path()) {
                    return self.remote(url);
                }
                let (understood, spelling) = browsed(&url).unwrap_or_else(|| {
                    let understood = "it is the address of neither a .tgz, .tar.gz nor .zip archive; a repository is written with its protocol";
                    (understood, format!("git+{text}"))
                });
                Err(self.error(understood, &self.readable(spelling)))
            }
            _ => Err(self.error(
                &format!("there are no sources of the kind `{scheme}://`"),
                SPELLINGS,
            )),
        }
    }

    fn remote(&self, mut url: Url) -> Result<Source, NoSource> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(self.error(
                "credentials do not belong into a source, which reports and lock files show",
                NOTHING,
            ));
        }
        let mut pairs = url.query_pairs();
        let secret = pairs.find(|(name, value)| is_secret_parameter(name, value));
        if let Some((name, _)) = secret.filter(|_| !self.is_for_once) {
            let understood = format!(
                "its parameter `{name}` looks like a credential, and a lock file would show it; fetch the archive yourself and name the file"
            );
            return Err(self.error(&understood, &["./FILE.tgz"]));
        }
        let is_loopback = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(address)) => address.is_loopback(),
            Some(url::Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if url.scheme() != "https" && !is_loopback {
            let secure = format!("https{}", &self.text["http".len()..]);
            return Err(self.error("nothing protects what http:// carries", &[secure]));
        }
        if url.fragment().is_some() {
            return Err(self.fragment());
        }
        let mut sub_path = None;
        let mut rest: Vec<&str> = Vec::new();
        let query = url.query().unwrap_or_default().to_owned();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.strip_prefix("path=") {
                Some(_) if sub_path.is_some() => {
                    return Err(self.error("the directory in it is given twice", NOTHING));
                }
                Some(path) => sub_path = self.sub_path(path)?,
                _ => rest.push(pair),
            }
        }
        let rest = rest.join("&");
        url.set_query((!rest.is_empty()).then_some(&rest));
        Ok(Source::RemoteArchive(RemoteArchive { url, sub_path }))
    }

    /// The address of an archive with a `#` in it, which no server is asked for.
    fn fragment(&self) -> NoSource {
        let (address, reference) = self.text.split_once('#').unwrap_or((self.text, ""));
        let below = path_behind(reference);
        let meant = match address.contains('?') {
            true => format!("{address}{}", below.replacen('?', "&", 1)),
            false => format!("{address}{below}"),
        };
        self.error(REFERENCE, &self.readable(meant))
    }

    fn directory(&self, path: &str) -> Result<Source, NoSource> {
        self.absolute(path).map(Source::Directory)
    }

    fn file(&self, path: &str) -> Result<Source, NoSource> {
        // `file:///x` is an address, `file:/x` and `file:./x` are paths.
        let decoded;
        let path = match path.strip_prefix("//") {
            Some(_) => {
                decoded = self.file_url()?;
                &decoded
            }
            None => path,
        };
        if is_archive_name(path_part(path)) {
            self.archive_file(path)
        } else {
            // A directory in it is written behind a `:`, which begins none in a path.
            let colon = path_colon(&format!("file://{path}")).map(|at| at - "file://".len());
            let (whole, below) = match colon.and_then(|at| path.split_at_checked(at)) {
                Some((whole, below)) => (whole, below),
                None => (
                    path_part(path),
                    path.get(path_part(path).len()..).unwrap_or_default(),
                ),
            };
            let directory = below.trim_start_matches("?path=").trim_start_matches(':');
            let dir = format!("{}/{directory}", path_part(whole).trim_end_matches('/'));
            let dir = format!("dir:{}", dir.trim_end_matches('/'));
            let repository = match self.absolute(whole) {
                Ok(whole) => vec![dir, format!("git+file://{}{below}", slashed(&whole))],
                Err(_) => vec![dir],
            };
            Err(self.error(
                "it names neither a .tgz, .tar.gz nor .zip archive",
                &repository,
            ))
        }
    }

    fn file_url(&self) -> Result<String, NoSource> {
        let url = Url::parse(self.text)
            .map_err(|error| self.error(&format!("as an address, {error}"), NOTHING))?;
        if url.fragment().is_some() && is_archive_name(url.path()) {
            return Err(self.fragment());
        }
        let path = url
            .to_file_path()
            .map_err(|()| self.error("the address names a file of another machine", NOTHING))?;
        let path = path
            .to_str()
            .ok_or_else(|| self.error("the path is no Unicode", NOTHING))?;
        let query = url.query().map(|query| format!("?{query}"));
        Ok(format!("{path}{}", query.unwrap_or_default()))
    }

    fn archive_file(&self, text: &str) -> Result<Source, NoSource> {
        let (path, sub_path) = match text.rsplit_once("?path=") {
            Some((path, sub_path)) => (path, self.sub_path(sub_path)?),
            None => (text, None),
        };
        let path = self.absolute(path)?;
        Ok(Source::ArchiveFile(ArchiveFile { path, sub_path }))
    }

    /// The path from the root of the file system, with `.` and `..` resolved.
    pub(super) fn absolute(&self, path: &str) -> Result<PathBuf, NoSource> {
        if path.is_empty() {
            return Err(self.error("it names no path", &["dir:PATH".to_owned()]));
        }
        let path = match (path.strip_prefix("~/"), &self.environment.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        };
        let absolute = normal(&self.environment.directory.join(path));
        match absolute.to_str() {
            None => Err(self.error("the path is no Unicode", NOTHING)),
            // It would be read as something else the next time.
            Some(text) if text.contains("?path=") || text.contains(char::is_control) => {
                Err(self.error("no path may hold `?path=` or a control character", NOTHING))
            }
            Some(_) => Ok(absolute),
        }
    }

    pub(super) fn sub_path(&self, text: &str) -> Result<Option<EntryPath>, NoSource> {
        let decoded = percent_decoded(text);
        if matches!(&*decoded, b"" | b"." | b"./") {
            return Ok(None);
        }
        let path = EntryPath::parse(&decoded).map_err(|problem| {
            let understood = format!("of the directory `{text}` in it, the path {problem}");
            self.error(&understood, NOTHING)
        })?;
        Ok(Some(path))
    }

    fn npm(&self, rest: &str) -> Result<Source, NoSource> {
        let (package, sub_path) = match rest.split_once('?') {
            None => (rest, None),
            Some((package, query)) => match query.strip_prefix("path=") {
                Some(path) => (package, self.sub_path(path)?),
                None => {
                    let wanted = format!("npm:{package}?path=SUBDIR");
                    return Err(self.error("`?` is not followed by `path=`", &[wanted]));
                }
            },
        };
        // The first character may be the `@` of a scope.
        let at = package.char_indices().skip(1).find(|&(_, c)| c == '@');
        let (name, wanted) = match at {
            Some((at, _)) => (&package[..at], Some(package[at + 1..].trim())),
            None => (package, None),
        };
        if let Some((name, version)) = package.split_once('#')
            && at.is_none()
        {
            let below = rest.get(package.len()..).unwrap_or_default();
            let understood = "a version is written behind `@`, not behind `#`";
            let meant = match version {
                "" => format!("npm:{name}{below}"),
                version => format!("npm:{name}@{version}{below}"),
            };
            return Err(self.error(understood, &self.readable(meant)));
        }
        if wanted == Some("") {
            return Err(self.error(
                "no version follows the `@`",
                &[format!("npm:{name}"), format!("npm:{name}@VERSION")],
            ));
        }
        let name = PackageName::parse(name).map_err(|problem| {
            let understood = format!("the name `{name}` of an npm package {problem}");
            self.error(&understood, &["npm:NAME", "npm:@SCOPE/NAME"])
        })?;
        Ok(Source::Npm(NpmSource {
            name,
            wanted: wanted.map(str::to_owned),
            sub_path,
        }))
    }

    /// A source whose normal form would be read as another one.
    pub(super) fn ambiguous(&self) -> NoSource {
        self.error(
            "written down, it would be read as something else; write it without characters that have a meaning in sources",
            NOTHING,
        )
    }

    /// A text that could be several things.
    fn bare(&self) -> NoSource {
        let text = self.text;
        if text.starts_with('@') {
            let npm = format!("npm:{text}");
            return self.error("it looks like an npm package with a scope", &[npm]);
        }
        if self.environment.directory.join(text).is_dir() {
            let understood = "a directory is written as a path, and this one is there";
            return self.error(understood, &[format!("./{text}")]);
        }
        if let Some((user, host, path)) = slashed_scp(text) {
            let meant = self.readable(format!("{user}@{host}:{path}"));
            return self.error(
                "no `:` parts the host from the path of a repository",
                &meant,
            );
        }
        let slashes = text.matches(['/', '\\']).count();
        let here = format!("./{text} for the directory");
        if slashes == 1 {
            let github = format!("github:{text} for the repository");
            return self.error("it could be a directory or a repository", &[here, github]);
        }
        if slashes > 1 {
            return self.error("it could be a directory or more", &[here]);
        }
        let npm = format!("npm:{text} for the npm package");
        self.error("it could be a directory or an npm package", &[here, npm])
    }

    /// What was probably meant, if that is a source.
    pub(super) fn readable(&self, meant: String) -> Vec<String> {
        let parser = Parser {
            text: &meant,
            ..*self
        };
        match parser.source() {
            Ok(_) => vec![meant],
            Err(_) => Vec::new(),
        }
    }

    pub(super) fn error(&self, understood: &str, spellings: &[impl AsRef<str>]) -> NoSource {
        let shown = Shown::of(self.text);
        NoSource {
            understood: shown.hide_in(understood),
            spellings: spellings
                .iter()
                .map(|spelling| shown.hide_in(spelling.as_ref()))
                .collect(),
            text: shown.text,
        }
    }
}
