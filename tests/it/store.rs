//! The store, through the real program.

mod catalogue;
mod crash;
mod folders;
mod import;
mod lock;
mod policy;
#[cfg(unix)]
mod progress;
mod sources;
mod update;
mod world;
