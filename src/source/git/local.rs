//! Repositories on this machine, read where they are: nothing is copied, and
//! nothing is written there.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use git2::{ErrorCode, Repository, opts};

use super::address::Address;
use super::advertisement::{Advertised, Advertisement};
use super::error::Error;
use super::reference::{Meaning, Wanted, missing};
use super::{Found, lookup};

/// Opens the repository at a `file://` address; not one further up. Whose it is
/// counts unless it is `safe`.
pub(super) fn open(address: &Address, safe: bool) -> Result<Repository, Error> {
    let path = address.local_path();
    opened(&path, safe).map_err(|error| {
        let mut reason = error.message().to_owned();
        if error.code() == ErrorCode::Owner {
            reason.push_str("; if you trust them: git config --global --add safe.directory ");
            reason.push_str(&path.to_string_lossy());
        }
        // There is no code for it; a test holds the words.
        if reason.contains("object format") {
            return Error::Sha256;
        }
        Error::NoRepository { path, reason }
    })
}

#[expect(
    unsafe_code,
    reason = "the setting is one for the whole process; all that open a repository here hold the lock meanwhile"
)]
fn opened(path: &Path, safe: bool) -> Result<Repository, git2::Error> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !safe {
        return Repository::open(path);
    }
    unsafe { opts::set_verify_owner_validation(false) }?;
    let repository = Repository::open(path);
    unsafe { opts::set_verify_owner_validation(true) }?;
    repository
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
