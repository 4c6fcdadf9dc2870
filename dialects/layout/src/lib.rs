//! cutec-layout
