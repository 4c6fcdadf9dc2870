//! `.cute` sources in the front end.
#![no_main]

cutec_fuzz::program!(cute_source);
