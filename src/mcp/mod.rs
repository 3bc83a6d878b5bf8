//! The client's side of MCP: what starting or connecting to each server of a
//! package means (§7.2, §9), and doing it.
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`plan`] | [`plan::Plan`]: what would be started or connected to, and what is off and why; nothing happens |
//! | [`gate`] | [`gate::Gate`]: what the user lets start and be connected to |
//! | [`content`] | [`content::digest`]: what a rule names a package's content by |
//! | [`credential`] | [`credential::Credentials`]: what the user has servers given, and where it comes from |
//! | [`stdio`] | a server that is a subprocess: started, spoken with, ended with all it started |
//! | [`http`] | connecting to servers over Streamable HTTP and the older HTTP+SSE, by one rule for headers, redirects and addresses |
//! | [`session`] | [`session::open`]: a session with one server, its tools, calls |
//! | [`serve`] | [`serve::run`]: one stdio server that offers the tools of many |
//! | [`arguments`] | what a tool is called with, as people write it |
//! | [`stray`] | what a server sent that is no message |
//! | [`wire`] | messages whose results keep their text |

pub mod arguments;
pub mod content;
pub mod credential;
pub mod gate;
pub mod http;
mod members;
pub mod plan;
pub mod serve;
pub mod session;
pub mod stdio;
pub mod stray;
pub mod wire;
