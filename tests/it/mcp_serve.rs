//! `apkit mcp serve`, through the program.

mod end;
mod isolation;
mod offer;
mod pass;
mod reports;
#[cfg(target_os = "linux")]
mod soak;
