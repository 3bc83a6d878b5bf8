//! The client's side of MCP: what starting or connecting to each server of a
//! package means (§7.2, §9), and doing it.
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`http`] | connecting to servers over Streamable HTTP and the older HTTP+SSE, by one rule for headers, redirects and addresses |
//! | [`plan`] | [`plan::Plan`]: what would be started or connected to, and what is off and why; nothing happens |

pub mod credential;
pub mod http;
pub mod plan;
