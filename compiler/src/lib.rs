//! cutec
