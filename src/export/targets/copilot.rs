//! GitHub Copilot: reads a package of the specification itself and then ignores
//! every other manifest; its own directory `com.github.copilot/` holds hooks and
//! commands. It expands every `${NAME}` of a server, not only the two of the
//! specification.

use super::super::client::Client;
use super::super::draft::Draft;
use super::{Facts, report_expansion};

pub(super) fn add(draft: &mut Draft, facts: &Facts) {
    for (name, definition) in &facts.servers {
        report_expansion(draft, Client::Copilot, name, definition);
    }
}
