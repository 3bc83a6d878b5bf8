//! Packages from git repositories, over every transport, sound and hostile.

mod bomb;
mod credentials;
mod daemon;
mod http;
mod origin;
mod over_http;
mod over_https;
mod over_ssh;
mod process;
mod references;
mod sshd;
mod trees;
mod world;
