//! PTX text in the simulator.
#![no_main]

cutec_fuzz::program!(ptx_sim);
