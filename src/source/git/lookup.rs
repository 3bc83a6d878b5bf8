//! Commits by their ids.

use git2::{ErrorCode, ObjectType, Oid, Repository};

use super::error::Error;

/// How many ids an error lists.
const LISTED: usize = 5;

/// The commit that `id` stands for: itself, or what an annotated tag names.
pub(super) fn commit(repository: &Repository, id: Oid, text: &str) -> Result<Oid, Error> {
    let object = repository.find_object(id, None).map_err(|error| {
        if error.code() == ErrorCode::NotFound {
            Error::NoCommit { id: id.to_string() }
        } else {
            error.into()
        }
    })?;
    // A commit would be peeled to its tree.
    let object = match object.kind() {
        Some(ObjectType::Tag) => object.peel(ObjectType::Any)?,
        _ => object,
    };
    match object.kind() {
        Some(ObjectType::Commit) => Ok(object.id()),
        kind => Err(Error::NotACommit {
            wanted: text.to_owned(),
            kind: kind
                .map_or("object of no known kind", |kind| kind.str())
                .to_owned(),
        }),
    }
}

/// The one commit whose id begins with `prefix`, in lower case; only where there
/// is none, the tag.
pub(super) fn prefix(repository: &Repository, prefix: &str) -> Result<Option<Oid>, Error> {
    let odb = repository.odb()?;
    let digits: Vec<u8> = prefix
        .chars()
        .filter_map(|c| c.to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    let begins = |id: &Oid| {
        let nibbles = id.as_bytes().iter().flat_map(|byte| [byte >> 4, byte & 15]);
        nibbles.zip(&digits).all(|(one, other)| one == *other)
    };
    let mut all = Vec::new();
    odb.foreach(|id| {
        if begins(id) {
            all.push(*id);
        }
        true
    })?;
    // An object may be in two packs.
    all.sort_unstable();
    all.dedup();
    let of_kind = |kind| {
        let mut found = Vec::new();
        for id in &all {
            if odb.read_header(*id)?.1 == kind {
                found.push(*id);
            }
        }
        Ok::<_, Error>(found)
    };
    let mut found = of_kind(ObjectType::Commit)?;
    if found.is_empty() {
        found = of_kind(ObjectType::Tag)?;
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => commit(repository, *one, prefix).map(Some),
        several => Err(Error::Ambiguous {
            prefix: prefix.to_owned(),
            ids: several.iter().take(LISTED).map(Oid::to_string).collect(),
        }),
    }
}
