//! An archive from the network: into a file without a name, and only once its
//! digest is right into the stage.

use std::fs::File;
use std::io::{self, Seek as _};
use std::sync::Arc;

use super::integrity::{Found, Hasher, Integrity};
use super::{Fetched, Request, Resolved, Stop};
use crate::archive::{EntryPath, Refusal, Stage, below_top, root_of, unpack};
use crate::net::{self, Client, Interrupt};
use crate::sys;

/// Why an archive could not be had.
#[derive(Debug)]
pub(super) enum Failure {
    Net(net::Error),
    Io(io::Error),
}

/// Fetches what `ask` asks for into a file that vanishes when it is closed.
/// What comes is at most what the stage would hold.
pub(super) fn download<'i>(
    client: &Client,
    ask: &net::Request,
    stage: &Stage,
    request: &Request<'_>,
    wanted: impl IntoIterator<Item = &'i Integrity> + Clone,
) -> Result<(File, Found), Failure> {
    let mut trouble = None;
    let found = client.retrying(|| {
        let mut seen = |done, total| request.progress.advance("bytes", done, total);
        let response = client
            .send(ask.clone().limit(stage.limits().total))?
            .successful()?;
        // Each try begins anew: what came of the last one is not trusted.
        let save = || -> io::Result<_> {
            let file = sys::nameless_file(stage.path())?;
            let mut hasher = Hasher::new(&file, wanted.clone());
            let copied = response.copy(&mut hasher, &mut seen)?;
            let found = hasher.finish();
            Ok(copied.map(|_| (file, found)))
        };
        match save() {
            Ok(copied) => copied.map(Some),
            Err(error) => {
                trouble = Some(error);
                Ok(None)
            }
        }
    });
    match found {
        Err(error) => Err(Failure::Net(error)),
        Ok(Some((mut file, found))) => match file.rewind() {
            Ok(()) => {
                request.progress.take_in(stage.count());
                Ok((file, found))
            }
            Err(error) => Err(Failure::Io(error)),
        },
        Ok(None) => Err(Failure::Io(
            trouble.unwrap_or_else(|| io::ErrorKind::Other.into()),
        )),
    }
}

/// Takes the archive into the stage.
pub(super) fn take(
    mut file: File,
    mut stage: Stage,
    sub_path: Option<&EntryPath>,
    resolved: Resolved,
) -> Result<Fetched, Refusal> {
    unpack(&mut file, &mut stage)?;
    drop(file);
    let root = root_of(&stage, sub_path.map(EntryPath::as_str))?;
    let sub_path = below_top(&stage, &root);
    let staged = stage.finish(&root)?;
    Ok(Fetched {
        staged,
        sub_path,
        resolved,
        is_weak: false,
    })
}

/// Ends waiting when the user wants to stop.
pub(super) fn interrupt(stop: &Stop) -> Interrupt {
    let stop = stop.clone();
    Arc::new(move || stop.is_requested())
}
