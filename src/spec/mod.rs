//! The pure rule book: no I/O.
//!
//! | module | what it decides |
//! | --- | --- |
//! | [`codes`] | every diagnostic code, declared once |
//! | [`version`] | which specification versions there are and what differs |
//! | [`name`] | the grammars of plugin and skill names |
//! | [`url`] | which endpoint URLs a server may have (§7.2.1) |
//! | [`header`] | which HTTP header fields are valid |
//! | [`placeholder`] | what looks like a placeholder, and whose it is |
//! | [`credential`] | what looks like a secret |
//! | [`foreign`] | how to tell another client's manifest |
//! | [`metadata`] | the shapes in which manifests write people and repositories |
//! | [`near`] | what was probably meant by an unknown word |
//! | [`pattern`] | which names a pattern with `*` stands for |
//! | [`schema`] | the embedded JSON Schemas |
//! | [`skill`] | the keys of skills, and lists of tools |
//! | [`transport`] | the types of MCP servers and what else they are called |

pub mod codes;
pub mod credential;
pub mod foreign;
pub mod header;
pub mod metadata;
pub mod name;
pub mod near;
pub mod pattern;
pub mod placeholder;
pub mod schema;
pub mod skill;
pub mod transport;
pub mod url;
pub mod version;
