//! cutec-runtime
