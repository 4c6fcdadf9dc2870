//! Errors and diagnostics as objects of C, and the guard around every call.

use crate::object::{count, give, item, take};
use cutec::fault::Fault;
use cutec::runtime::abi::Status;
use cutec::runtime::{DeviceError, RunError};
use cutec::{CacheError, Calls, Diagnostics, RenderOptions, Severity, SourceMap, report};
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// What was wrong with a call.
pub struct Error {
    status: Status,
    message: CString,
    diagnostics: Vec<Kept>,
}

/// A message about a place in a source. Its texts live as long as what it was asked of.
#[repr(C)]
pub struct Diagnostic {
    /// `error`, `warning` or `remark`.
    pub severity: *const c_char,
    /// The code, such as `E0101`: `cutec explain` says more about it.
    pub code: *const c_char,
    /// One sentence: what was expected and what was found.
    pub message: *const c_char,
    /// The file; "" where there is no place.
    pub file: *const c_char,
    /// Where the place begins, both from 1; 0 where there is none.
    pub line: u32,
    /// Its column, in characters.
    pub column: u32,
    /// Where it ends: the line of the first character behind it.
    pub end_line: u32,
    /// And its column.
    pub end_column: u32,
    /// Facts that explain it.
    pub notes: *const *const c_char,
    /// How many there are.
    pub note_count: usize,
    /// How to mend it; null where that is not known.
    pub help: *const c_char,
    /// All of it as text, with the lines of the source.
    pub rendered: *const c_char,
}

/// A diagnostic with what its pointers point to.
pub struct Kept {
    view: Diagnostic,
    _texts: Vec<CString>,
    _notes: Box<[*const c_char]>,
}

// SAFETY: the pointers are to texts that it owns and that never change.
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

impl Kept {
    /// A diagnostic of a source.
    pub fn new(diagnostic: &cutec::Diagnostic, sources: &SourceMap) -> Kept {
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
        };
        let span = diagnostic.span();
        let file = sources.file(span.file);
        let (start, end) = (file.line_column(span.start), file.line_column(span.end));
        let one = std::slice::from_ref(diagnostic);
        let rendered = report::render(one, &[], sources, RenderOptions::PLAIN);
        let mut texts = Vec::new();
        let mut keep = |text: &str| {
            texts.push(self::text(text));
            texts.last().map_or(ptr::null(), |text| text.as_ptr())
        };
        let notes: Box<[*const c_char]> = diagnostic.notes.iter().map(|note| keep(note)).collect();
        let view = Diagnostic {
            severity: keep(severity),
            code: keep(&diagnostic.code.to_string()),
            message: keep(&diagnostic.message),
            file: keep(file.name()),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            notes: notes.as_ptr(),
            note_count: notes.len(),
            help: diagnostic.help.as_deref().map_or(ptr::null(), &mut keep),
            rendered: keep(rendered.trim_end()),
        };
        Kept {
            view,
            _texts: texts,
            _notes: notes,
        }
    }

    /// As C sees it.
    pub fn view(&self) -> *const Diagnostic {
        &self.view
    }
}

impl Error {
    /// An error of one text.
    pub fn new(status: Status, message: impl ToString) -> Error {
        Error {
            status,
            message: text(&message.to_string()),
            diagnostics: Vec::new(),
        }
    }

    /// A source that does not compile.
    pub fn source(error: &Diagnostics) -> Error {
        let problems = error.problems.iter();
        Error {
            diagnostics: problems
                .map(|problem| Kept::new(problem, &error.sources))
                .collect(),
            ..Error::new(Status::Compile, error)
        }
    }

    /// A compilation by way of the cache that gives nothing.
    pub fn cached(error: &CacheError) -> Error {
        match error {
            CacheError::Source(error) => Error::source(error),
            CacheError::Artifact(error) => Error::new(Status::Compile, error),
        }
    }

    /// A device that failed.
    pub fn device(error: &DeviceError) -> Error {
        Error::new(error.status(), error)
    }

    /// A launch that went wrong; `sources` are those of the kernel, and `calls` led to its places.
    pub fn run(kernel: &str, error: &RunError, sources: &SourceMap, calls: &Calls) -> Error {
        let error = match error {
            RunError::Bind(error) => return Error::new(error.status(), error),
            RunError::Device(error) => error,
        };
        if error.sim().is_none() {
            return Error::device(error);
        }
        let Some(found) = Fault::of(error, sources, calls).diagnostic(kernel) else {
            return Error::new(error.status(), format!("`{kernel}` failed: {error}"));
        };
        let one = std::slice::from_ref(&found);
        let rendered = report::render(one, &[], sources, RenderOptions::PLAIN);
        Error {
            diagnostics: vec![Kept::new(&found, sources)],
            ..Error::new(error.status(), rendered.trim_end())
        }
    }

    /// Which kind of error it is.
    pub fn status(&self) -> Status {
        self.status
    }

    /// A null pointer where there must be something.
    pub fn null(what: &str) -> Error {
        Error::new(Status::Null, format!("{what}: a null pointer"))
    }
}

/// Does what a call is for, and tells its caller what was wrong.
///
/// # Safety
/// `error` is null or may be written.
pub unsafe fn guard(error: *mut *mut Error, work: impl FnOnce() -> Result<(), Error>) -> i32 {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        let said = said.unwrap_or("no more is known");
        Err(Error::new(
            Status::Panic,
            format!("a bug of cutec, which it would be kind to report: {said}"),
        ))
    });
    let (status, failed) = match done {
        Ok(()) => (Status::Ok, ptr::null_mut()),
        Err(failed) => (failed.status, give(failed)),
    };
    // SAFETY: of the caller.
    match unsafe { error.as_mut() } {
        Some(place) => *place = failed,
        // SAFETY: it was made above.
        None => drop(unsafe { take(failed) }),
    }
    status.code()
}

/// A text of C.
///
/// # Safety
/// It is null, or a text that stays as it is for `'a`.
pub unsafe fn read<'a>(text: *const c_char, what: &str) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(Error::null(what));
    }
    // SAFETY: of the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Error::new(Status::Option, format!("{what}: expected UTF-8")))
}

/// A text for C; a NUL in it is shown as a replacement character.
pub fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{FFFD}")).unwrap_or_default()
}

/// The number of what was wrong.
///
/// # Safety
/// `error` comes from a call, and nobody frees it meanwhile; null is no error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_error_status(error: *const Error) -> i32 {
    // SAFETY: of the caller.
    unsafe { error.as_ref() }.map_or(0, |error| error.status.code())
}

/// What was wrong, in words; of a source that does not compile all diagnostics, with its lines.
///
/// # Safety
/// As [`cutec_error_status`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_error_message(error: *const Error) -> *const c_char {
    // SAFETY: of the caller.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// How many places of a source an error is about.
///
/// # Safety
/// As [`cutec_error_status`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_error_diagnostic_count(error: *const Error) -> usize {
    // SAFETY: of the caller.
    unsafe { count(error, |error| &error.diagnostics) }
}

/// One of them; null beyond the last.
///
/// # Safety
/// As [`cutec_error_status`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_error_diagnostic(
    error: *const Error,
    index: usize,
) -> *const Diagnostic {
    // SAFETY: of the caller.
    unsafe { item(error, |error| &error.diagnostics, index, Kept::view) }
}

/// Gives an error back.
///
/// # Safety
/// It comes from a call, and nobody uses it any more; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_error_free(error: *mut Error) {
    // SAFETY: of the caller.
    drop(unsafe { take(error) });
}
