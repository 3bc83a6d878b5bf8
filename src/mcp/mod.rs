//! The client's side of MCP: what starting or connecting to each server of a
//! package means (§7.2, §9), and doing it.
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`http`] | connecting to servers over Streamable HTTP and the older HTTP+SSE, by one rule for headers, redirects and addresses |
//! | [`plan`] | [`plan::Plan`]: what would be started or connected to, and what is off and why; nothing happens |
//! | [`gate`] | [`gate::Gate`]: what the user lets start and be connected to |
//! | [`credential`] | [`credential::Credentials`]: what the user has servers given, and where it comes from |
//! | [`stdio`] | a server that is a subprocess: started, spoken with, ended with all it started |

pub mod credential;
pub mod gate;
pub mod http;
pub mod plan;
pub mod stdio;
