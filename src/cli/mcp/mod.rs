//! `apkit mcp`: the MCP servers of packages.

mod args;
mod gate;
mod place;
mod plan;

use super::args::When;
use super::exit::Exit;
use super::failure::Failure;

pub(crate) use self::args::Mcp;
pub(crate) use self::plan::SCHEMA as PLAN_SCHEMA;

use self::args::Command;

pub(crate) fn run(arguments: &Mcp, color: When) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Plan(arguments) => plan::run(arguments, color),
    }
}
