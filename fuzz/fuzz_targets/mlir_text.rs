//! MLIR text of the `cute` dialect.
#![no_main]

cutec_fuzz::program!(mlir_text);
