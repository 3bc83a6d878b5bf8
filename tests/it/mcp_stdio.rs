//! MCP servers that are subprocesses: how they are started, spoken with and ended.

mod end;
#[cfg(unix)]
mod killed;
mod misbehaviour;
mod start;
