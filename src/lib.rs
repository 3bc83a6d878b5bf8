//! apkit: one rule book for Agent Plugins v1 packages.
//!
//! # The map
//!
//! Imports go downwards only; `tests/it/layers.rs` fails on an upward one.
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`render`] | the report formats: a report in, bytes out |
//! | [`export`] | writing packages: a plan, and its application as a whole or not at all |
//! | [`edit`] | changing packages in place: mending findings, keeping manifests in step, beginning one |
//! | [`store`] | installed packages: lock file, whole changes, rules, catalogue |
//! | [`mcp`] | the client of MCP servers: launch plans, transports, sessions, one server for all |
//! | [`host`] | thin adapters, one per host of the memory plugin: payloads in, transcripts as turns, answers out |
//! | [`source`] | where packages come from: git, npm, archives, directories → a contained tree |
//! | [`everos`] | the memory plugin, host-neutral: recall, capture, seal |
//! | [`package`] | a directory → [`package::Package`]: what a client loads, and every finding |
//! | [`spec`] | the pure rule book: versions, names, schemas, and [`spec::codes`], where each diagnostic code is declared once |
//! | [`document`] | one spanned tree for JSON and YAML frontmatter |
//! | [`diagnostic`] | findings, severities, effects, places in a text |
//! | [`archive`] | trees of files from outside, entry by entry: the one way in, and archives in and out |
//! | [`net`] | the one HTTPS client: redirects, proxies, caps, deadlines |
//! | [`secret`] | what tokens and names of secrets look like |
//! | [`sys`] | what differs between operating systems |
//!
//! A diagnostic code leads to its rule: `family::name` is declared in
//! `src/spec/codes/family.rs` and checked in `src/package/family.rs` (or the
//! directory of that name).

pub mod archive;
pub mod diagnostic;
pub mod document;
pub mod edit;
pub mod everos;
pub mod export;
pub mod host;
pub mod mcp;
pub mod net;
pub mod package;
pub mod render;
pub mod secret;
pub mod source;
pub mod spec;
pub mod store;
pub mod sys;
