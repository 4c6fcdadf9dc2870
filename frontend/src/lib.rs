//! cutec-frontend
