//! `apkit inspect`.

use apkit::package::{self, Verdict};
use apkit::render::inspect;

use super::args::{Inspect, TextOrJson, When};
use super::exit::Exit;
use super::failure::Failure;
use super::target::{Fetched, Target};
use super::{output, screen};

pub(crate) fn run(arguments: &Inspect, color: When) -> Result<Exit, Failure> {
    let mut fetched = Fetched::default();
    let target = Target::of_source(&arguments.path, &mut fetched)?;
    let options = package::Options {
        drafts: arguments.draft.applies(),
        keep_sources: false,
    };
    let package =
        package::load(&target.root, &target.display, &options).map_err(|error| Failure::Read {
            path: target.root.clone(),
            error,
        })?;
    output::to_stdout(|out| match arguments.format {
        TextOrJson::Text => inspect::write_text(&package, screen::of(color, false), out),
        TextOrJson::Json => inspect::write_json(&package, out),
    })?;
    fetched.tell_left_out();
    target.tell_below(&package);
    Ok(match package.verdict {
        Verdict::Loaded => Exit::Clean,
        Verdict::Rejected => Exit::Findings,
    })
}
