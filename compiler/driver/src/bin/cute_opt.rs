//! The program `cute-opt`: MLIR's own driver over cutec's dialects and passes.

cutec::only_own_registrations!();

fn main() {
    end_unread();
    cutec_driver::mlir_tool::run(cutec::passes::opt_main)
}

/// Lets the program end where nobody reads its output any more, as behind `| head`: LLVM's streams would abort it with a message.
#[cfg(unix)]
fn end_unread() {
    // SAFETY: puts the system's own handler in its place, before any thread has begun.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

#[cfg(not(unix))]
fn end_unread() {}
