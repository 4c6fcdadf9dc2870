//! The program `cutec`; everything is in the library.

cutec::only_own_registrations!();

/// MLIR and LLVM make and drop many small objects; this allocator, which takes C++'s `malloc` too, is quicker at it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    cutec_driver::main()
}
