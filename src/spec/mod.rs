//! The pure rule book: no I/O.

pub mod codes;
