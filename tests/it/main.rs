//! The integration tests: one binary, one module for each area.

#![cfg(test)]

mod archive;
mod cli;
mod cli_output;
mod client;
mod conformance;
mod document;
mod everos_cli;
mod export;
mod export_archives;
mod export_laws;
mod export_losses;
mod export_marketplace;
mod export_native;
mod export_packages;
mod export_place;
mod export_skills;
mod export_support;
mod export_targets;
mod fake_everos;
mod fix;
mod hook_capture;
mod hook_content;
mod hook_disk;
mod hook_faults;
mod hook_large;
mod hook_recall;
mod hook_seal;
mod hook_start;
mod hook_support;
mod init;
mod layers;
mod mcp_arg;
mod mcp_batch;
mod mcp_call;
mod mcp_check;
mod mcp_gate;
#[cfg(unix)]
mod mcp_helpers;
mod mcp_http;
mod mcp_plan;
mod mcp_schema;
mod mcp_secrets;
mod mcp_serve;
mod mcp_source;
mod mcp_stdio;
mod mcp_suite;
mod mcp_support;
mod mcp_tools;
mod mcp_unanswered;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod measure;
mod net;
mod probe;
mod readme;
mod render;
mod sarif;
mod source_git;
mod source_grammar;
mod source_npm;
mod source_remote;
mod store;
mod support;
mod sync;
mod web;
