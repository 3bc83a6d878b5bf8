//! `apkit init`.

use std::path::Path;

use apkit::diagnostic::Threshold;
use apkit::edit::init::{self, Options, Server};
use apkit::export::Client;
use apkit::package;
use apkit::render::visible;
use apkit::spec::foreign::NATIVE_MANIFESTS;

use super::args::{Init, ServerKind};
use super::exit::Exit;
use super::failure::{Failure, show};
use super::output;

pub(crate) fn run(arguments: &Init) -> Result<Exit, Failure> {
    let directory = arguments.directory.as_path();
    let fail = |error| Failure::Init {
        path: directory.to_owned(),
        error,
    };
    let options = Options {
        name: arguments.name.as_deref(),
        skill: arguments.skill.as_deref(),
        server: arguments.server.map(|kind| match kind {
            ServerKind::Stdio => Server::Stdio,
            // clap requires it.
            ServerKind::Http => Server::Http(arguments.url.as_deref().unwrap_or_default()),
        }),
    };
    let outputs = init::plan(directory, &options).map_err(fail)?;
    init::write(directory, &outputs).map_err(fail)?;
    let read = |error| Failure::Read {
        path: directory.to_owned(),
        error,
    };
    let package = package::load(directory, "", &package::Options::default()).map_err(read)?;
    let findings = package.diagnostics.iter();
    let findings = findings.filter(|finding| Threshold::Warning.is_reached_by(finding.code));
    let paths: Vec<&str> = findings.map(|finding| finding.path.as_str()).collect();
    let is_ours = |path: &&str| outputs.iter().any(|output| output.path == **path);
    let whose = match paths.iter().any(|path| !is_ours(path)) {
        true => "Of what was there already",
        false => "Of what was written",
    };
    let found = paths.len();
    let shown = show(directory);
    output::to_stdout(|out| {
        for output in &outputs {
            writeln!(out, "wrote {}", show(&directory.join(&output.path)))?;
        }
        let name = package.name.as_deref().unwrap_or_default();
        match found {
            0 => writeln!(out, "\n{} passes `apkit validate --strict`.", visible(name))?,
            1 => writeln!(
                out,
                "\n{whose}, 1 finding is left: apkit validate --strict {shown}"
            )?,
            found => writeln!(
                out,
                "\n{whose}, {found} findings are left: apkit validate --strict {shown}"
            )?,
        }
        writeln!(out, "\nNext:")?;
        for (number, step) in steps(directory, &outputs).iter().enumerate() {
            writeln!(out, "  {}. {step}", number + 1)?;
        }
        writeln!(out, "\nIn a workflow of GitHub (OWNER hosts apkit):\n")?;
        for line in init::WORKFLOW.lines() {
            writeln!(out, "    {line}")?;
        }
        Ok(())
    })?;
    Ok(if found == 0 {
        Exit::Clean
    } else {
        Exit::Findings
    })
}

/// What to do with the new files.
fn steps(directory: &Path, outputs: &[init::Output]) -> Vec<String> {
    let mut steps = vec![format!(
        "Say in {} what the plugin is for; add author, license and repository.",
        show(&directory.join("plugin.json"))
    )];
    let mut has_program = false;
    for output in outputs {
        let path = show(&directory.join(&output.path));
        if output.path.ends_with("SKILL.md") {
            steps.push(format!("Write the skill: {path} says how."));
        } else if output.path.ends_with(".py") {
            steps.push(format!("Put your tools into {path}."));
            has_program = true;
        }
    }
    // The directory has two manifests now: which one is read has to be said.
    let native = NATIVE_MANIFESTS.iter();
    let mut native = native.filter(|(path, _)| directory.join(path).is_file());
    let client = native.find_map(|(_, label)| {
        let mut clients = Client::ALL.into_iter();
        clients.find(|client| client.label() == *label)
    });
    if let Some(client) = client {
        steps.push(format!(
            "Servers, hooks and commands of the plugin for {} are not in it: apkit export {} --from {} --out DIR brings them along.",
            client.label(),
            show(directory),
            client.id()
        ));
    }
    steps.push(format!(
        "Look at what a client gets: apkit inspect {}",
        show(directory)
    ));
    if has_program {
        steps.push(format!(
            "Try the server: apkit mcp check {} --allow-stdio",
            show(directory)
        ));
    }
    steps
}
