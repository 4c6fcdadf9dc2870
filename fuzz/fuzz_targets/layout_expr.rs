//! The text of layouts and the expression language.
#![no_main]

cutec_fuzz::program!(layout_expr);
