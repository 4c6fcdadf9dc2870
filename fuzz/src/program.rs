//! What the programs in `fuzz_targets` consist of.

use std::ffi::{c_char, c_int};

unsafe extern "C" {
    fn LLVMFuzzerRunDriver(
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
        run: extern "C" fn(*const u8, usize) -> c_int,
    ) -> c_int;
    fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> c_int;
}

/// A program that runs a target: its mutator, the target, and `main`.
#[macro_export]
macro_rules! program {
    ($target:ident) => {
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::mutate::mutate(data, size, max_size, seed)
        });
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$target(data));

        /// libFuzzer has a `main` too, but one of MLIR's libraries stands before it.
        #[unsafe(no_mangle)]
        extern "C" fn main(
            argc: std::ffi::c_int,
            argv: *mut *mut std::ffi::c_char,
        ) -> std::ffi::c_int {
            $crate::program::drive(argc, argv)
        }
    };
}

/// libFuzzer's `main`.
pub fn drive(mut argc: c_int, mut argv: *mut *mut c_char) -> c_int {
    extern "C" fn one(data: *const u8, size: usize) -> c_int {
        // SAFETY: libFuzzer passes that many bytes.
        unsafe { LLVMFuzzerTestOneInput(data, size) }
    }
    // SAFETY: these are the arguments that the C runtime gave.
    unsafe { LLVMFuzzerRunDriver(&mut argc, &mut argv, one) }
}
