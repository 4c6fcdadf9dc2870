//! Devices by name.
