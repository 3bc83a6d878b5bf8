//! Servers over HTTP, against real listeners on two addresses of this machine.

mod bounds;
mod egress;
mod redirects;
mod sse;
mod streamable;
mod support;
