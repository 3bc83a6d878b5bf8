//! Repositories on this machine, read where they are: nothing is copied, and
//! nothing is written there.

use git2::Repository;

use super::address::Address;
use super::advertisement::{Advertised, Advertisement};
use super::error::Error;
use super::reference::{Meaning, Wanted, missing};
use super::{Found, lookup};

/// Opens the repository at a `file://` address; not one further up.
pub(super) fn open(address: &Address) -> Result<Repository, Error> {
    let path = address.local_path();
    Repository::open(&path).map_err(|error| {
        let reason = error.message().to_owned();
        // There is no code for it; a test holds the words.
        if reason.contains("object format") {
            return Error::Sha256;
        }
        Error::NoRepository { path, reason }
    })
}

/// The commit that is wanted.
pub(super) fn find(repository: &Repository, wanted: &Wanted<'_>) -> Result<Found, Error> {
    let list = list(repository)?;
    let text = wanted.text();
    Ok(match wanted.meaning(&list.references)? {
        Meaning::Reference(known) => Found {
            id: lookup::commit(repository, known.id, &text)?,
            reference: Some(list.full_name(known)),
        },
        Meaning::Commit(id) => Found {
            id: lookup::commit(repository, id, &text)?,
            reference: wanted.pinned_reference(),
        },
        Meaning::Prefix(prefix) => Found {
            id: lookup::prefix(repository, &prefix)?
                .ok_or_else(|| missing(&text, &list.references))?,
            reference: None,
        },
    })
}

/// What a server would say of the repository.
fn list(repository: &Repository) -> Result<Advertisement, Error> {
    let mut list = Advertisement::default();
    if let Ok(head) = repository.head()
        && let Some(id) = head.target()
    {
        list.head = head.name().ok().map(str::to_owned);
        list.references.push(Advertised {
            name: "HEAD".to_owned(),
            id,
            peeled: None,
        });
    }
    for reference in repository.references()? {
        // A broken one is nothing that can be asked for.
        let Ok(reference) = reference else { continue };
        let Ok(name) = reference.name() else { continue };
        let resolved = reference.resolve();
        let Some(id) = resolved.ok().and_then(|resolved| resolved.target()) else {
            continue;
        };
        let peeled = reference
            .peel(git2::ObjectType::Any)
            .map(|object| object.id())
            .ok()
            .filter(|peeled| *peeled != id);
        list.references.push(Advertised {
            name: name.to_owned(),
            id,
            peeled,
        });
    }
    Ok(list)
}
