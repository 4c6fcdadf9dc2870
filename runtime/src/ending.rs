//! How programs say why they end.

use std::error::Error;
use std::io::{self, Write};

/// Writes a line to standard error; a closed one is nobody's fault.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Whether an error is that nobody reads standard output any more, as behind `| head`: there is nobody to tell, and nothing to
/// mend.
pub fn is_unread(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
