//! What the rules say of a fetch, also of a package that is not installed: a denied
//! source is denied to whoever looks at its package or runs it.

use std::path::Path;
use std::sync::Arc;

use super::policy::{Content, Facts};
use super::{Error, Policy};
use crate::net;
use crate::package;
use crate::source::{self, Fetched, Request, Source};

impl Policy {
    /// Fetches the package that `source` names into `directory`, if the rules let it
    /// be fetched and let its content be used. What lies on this machine is not
    /// fetched, and the rules do not speak of it here: they are about what is
    /// installed from there.
    ///
    /// # Errors
    ///
    /// When a rule forbids it ([`Error::is_denied`]), or the source gives nothing.
    pub fn fetch(
        &self,
        source: &Source,
        request: &Request<'_>,
        directory: &Path,
    ) -> Result<Fetched, Error> {
        if source.is_here() {
            return Ok(source::fetch(source, request, directory)?);
        }
        self.check(&Facts::before(source))?;
        let permit = self.permit(source);
        let asking = Request {
            permit: Some(&permit),
            ..*request
        };
        let fetched = source::fetch(source, &asking, directory)?;
        let manifest = package::load_manifest(
            &fetched.staged.directory,
            "",
            &package::Options {
                drafts: true,
                ..package::Options::default()
            },
        );
        let manifest = manifest.ok();
        let content = Content {
            plugin: manifest.as_ref().and_then(|found| found.name.as_deref()),
            version: manifest.as_ref().and_then(|found| found.version.as_deref()),
            resolved: &fetched.resolved,
            digest: &fetched.staged.tree.digest().to_string(),
        };
        self.check(&Facts::after(source, content))?;
        Ok(fetched)
    }

    /// Holds hosts that only the configuration of a source names against the rules.
    pub(super) fn permit(&self, source: &Source) -> net::Permit {
        let (policy, source) = (self.clone(), source.clone());
        Arc::new(move |host| {
            let facts = Facts::at(&source, host);
            let denied = policy.check(&facts);
            denied.map_err(|denied| format!("{host} may not be asked: {denied}"))
        })
    }
}
