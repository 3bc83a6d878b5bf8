//! The store, through the real program.

mod catalogue;
mod crash;
mod folders;
mod import;
mod lock;
mod policy;
#[cfg(unix)]
mod progress;
mod schemas;
mod sources;
#[cfg(unix)]
mod stranger;
mod update;
pub(crate) mod world;
