//! `apkit mcp`: the MCP servers of packages.

mod args;
mod call;
mod check;
mod connect;
mod gate;
mod keys;
mod place;
mod plan;
mod reports;
mod serve;
mod stop;
mod subject;
mod subjects;
mod tools;
mod trouble;

use super::args::When;
use super::exit::Exit;
use super::failure::Failure;

pub(crate) use self::args::Mcp;
pub(crate) use self::call::SCHEMA as CALL_SCHEMA;
pub(crate) use self::check::SCHEMA as CHECK_SCHEMA;
pub(crate) use self::plan::SCHEMA as PLAN_SCHEMA;
pub(crate) use self::tools::SCHEMA as TOOLS_SCHEMA;
pub(crate) use self::trouble::Trouble;

use self::args::Command;

pub(crate) fn run(arguments: &Mcp, color: When) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Plan(arguments) => plan::run(arguments, color),
        Command::Tools(arguments) => tools::run(arguments),
        Command::Call(arguments) => call::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Serve(arguments) => serve::run(arguments),
    }
}
