//! `apkit completions` and `apkit man`.

use clap::CommandFactory as _;

use super::args::{Cli, Completions, Man};
use super::exit::Exit;
use super::failure::Failure;
use super::output;

pub(crate) fn completions(arguments: &Completions) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    // The generator panics when its writer fails: a buffer never does.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    output::to_stdout(|out| out.write_all(&script))?;
    Ok(Exit::Clean)
}

pub(crate) fn man(arguments: &Man) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    // Gives the subcommands their full names.
    root.build();
    let command = match &arguments.command {
        None => root,
        Some(name) => match root.find_subcommand(name) {
            Some(command) => command.clone(),
            None => return Err(Failure::UnknownCommand(name.clone())),
        },
    };
    let page = clap_mangen::Man::new(command);
    output::to_stdout(|mut out| page.render(&mut out))?;
    Ok(Exit::Clean)
}
