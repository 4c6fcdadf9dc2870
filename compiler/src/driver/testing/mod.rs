//! Test blocks.
