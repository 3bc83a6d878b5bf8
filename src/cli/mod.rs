//! The command line: the only place that prints, reads the environment and
//! decides about exit codes. One file for each command.

mod args;
mod everos;
mod exit;
mod explain;
mod export;
mod failure;
mod fix;
#[cfg(unix)]
mod guard;
mod hook;
mod init;
mod inspect;
mod mcp;
mod output;
mod schema;
mod screen;
mod shell;
mod store;
mod sync;
mod target;
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;

#[cfg(unix)]
use apkit::sys::child;
use clap::Parser as _;

use args::{Cli, Command};
use exit::Exit;

/// Runs the program with these arguments, the first of which is its name.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let program = arguments.next();
    let mut arguments = arguments.peekable();
    // A hook runs before every prompt: nothing is set up that it does not need.
    if arguments.next_if(|first| first == "hook").is_some() {
        return hook::run(&arguments.next().unwrap_or_default());
    }
    #[cfg(unix)]
    if arguments.next_if(|first| first == child::GUARD).is_some() {
        return guard::run(&arguments.next().unwrap_or_default());
    }
    let cli = match Cli::try_parse_from(program.into_iter().chain(arguments)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and the version go to standard output and are no failure.
            let exit = if error.use_stderr() {
                Exit::Failed
            } else {
                Exit::Clean
            };
            let _ = error.print();
            return exit.into();
        }
    };
    let result = match &cli.command {
        Command::Validate(arguments) => validate::run(arguments, cli.color),
        Command::Inspect(arguments) => inspect::run(arguments, cli.color),
        Command::Init(arguments) => init::run(arguments),
        Command::Fix(arguments) => fix::run(arguments, cli.color),
        Command::Sync(arguments) => sync::run(arguments),
        Command::Explain(arguments) => explain::run(arguments, cli.color),
        Command::Schema(arguments) => schema::run(arguments),
        Command::Import(arguments) => store::import(arguments, cli.color),
        Command::List(arguments) => store::list(arguments),
        Command::Update(arguments) => store::update(arguments, cli.color),
        Command::Verify(arguments) => store::verify(arguments),
        Command::Remove(arguments) => store::remove(arguments),
        Command::Skills(arguments) => store::skills(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Everos(arguments) => everos::run(arguments),
        Command::Mcp(arguments) => mcp::run(arguments, cli.color),
        Command::Hook(arguments) => return hook::run(&arguments.event),
        Command::Completions(arguments) => shell::completions(arguments),
        Command::Man(arguments) => shell::man(arguments),
    };
    let exit = result.unwrap_or_else(|failure| {
        failure.tell();
        Exit::Failed
    });
    match exit {
        Exit::Failed if store::was_interrupted() => Exit::Interrupted,
        exit => exit,
    }
    .into()
}
