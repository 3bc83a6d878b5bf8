//! The integration tests: one binary, one module for each area.

#![cfg(test)]

mod cli;
mod conformance;
mod document;
mod layers;
mod render;
mod sarif;
mod support;
