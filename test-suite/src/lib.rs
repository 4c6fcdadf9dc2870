//! cutec-test-suite
