//! Thin adapters, one per host: its payloads in, its transcripts as turns, its
//! answers out. Everything a host does not have to itself is in
//! [`everos`](crate::everos).

pub mod claude_code;
mod jsonl;
