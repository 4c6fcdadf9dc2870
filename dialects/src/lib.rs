//! cutec-dialects
