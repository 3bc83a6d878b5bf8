//! The store, through the real program.

#[cfg(target_os = "linux")]
mod aside;
mod catalogue;
mod copies;
mod crash;
mod dry_run;
mod fetches;
mod folders;
mod import;
mod lock;
mod policy;
#[cfg(unix)]
mod progress;
mod record;
mod schemas;
mod sources;
#[cfg(unix)]
mod stranger;
mod update;
mod way_out;
pub(crate) mod world;
