//! The integration tests: one binary, one module for each area.

#![cfg(test)]

mod conformance;
mod layers;
mod render;
