//! How to compile, load and simulate, by names and values as texts: so options may be added without a new interface.

use crate::error::{Error, guard, read};
use cutec::Emit;
use cutec::codegen::OptLevel;
use cutec::runtime::abi::Status;
use cutec_dialects::target::Target;
use std::ffi::c_char;
use std::path::PathBuf;

/// Options of compilations, and of simulators.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Of compilations.
    pub compile: cutec::Options,
    /// Where PTX is kept from run to run.
    pub cache: Option<PathBuf>,
    /// Whether the simulator looks for data races.
    pub races: bool,
    /// In which of the legal schedules it runs.
    pub schedule: u64,
}

impl Options {
    fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let wrong = |expected: &str| {
            Error::new(
                Status::Option,
                format!("option `{name}`: expected {expected}, found `{value}`"),
            )
        };
        let switch = || match value {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(wrong("true or false")),
        };
        match name {
            "arch" => {
                let target = Target::parse(value);
                self.compile.target = target.map_err(|error| Error::new(Status::Option, error))?;
            }
            "kernel" => {
                self.compile.kernel = Some(value.to_owned()).filter(|name| !name.is_empty())
            }
            "level" => {
                let level = value.parse().ok().and_then(OptLevel::from_digit);
                self.compile.level = level.ok_or_else(|| wrong("0, 1, 2 or 3"))?;
            }
            "emit" => {
                let emit = Emit::ALL.into_iter().find(|emit| emit.name() == value);
                let names = Emit::ALL.map(Emit::name).join(", ");
                self.compile.emit = emit.ok_or_else(|| wrong(&format!("one of {names}")))?;
            }
            "remarks" => self.compile.remarks = switch()?,
            "threads" => {
                self.compile.threads = value.parse().map_err(|_| wrong("a number of threads"))?
            }
            "cache" => self.cache = Some(PathBuf::from(value)).filter(|_| !value.is_empty()),
            "races" => self.races = switch()?,
            "schedule" => self.schedule = value.parse().map_err(|_| wrong("a number"))?,
            _ => {
                let known = "arch, kernel, level, emit, remarks, threads, cache, races, schedule";
                return Err(Error::new(
                    Status::Option,
                    format!("no option `{name}`: expected one of {known}"),
                ));
            }
        }
        Ok(())
    }
}

/// Options as they are where nothing is said: PTX for sm_80, fully optimised.
#[unsafe(no_mangle)]
pub extern "C" fn cutec_options_new() -> *mut Options {
    Box::into_raw(Box::default())
}

/// Sets an option: `arch` (`sm_90a`), `kernel` (only this one), `level` (0 to 3), `emit` (`ptx`, `cubin`, … as the program `cutec` has
/// it), `remarks` (`true`: what each copy and gemm became), `threads` (of a compilation, 0 for one a processor), `cache` (a folder in
/// which PTX is kept from run to run); and of the simulator `races` (`true`: look for them) and `schedule` (a number: one of the legal
/// orders).
///
/// # Safety
/// `options` comes from `cutec_options_new`, and no other thread uses it meanwhile; the texts are texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_options_set(
    options: *mut Options,
    name: *const c_char,
    value: *const c_char,
    error: *mut *mut Error,
) -> i32 {
    // SAFETY: of the caller.
    unsafe {
        guard(error, || {
            let options = options.as_mut().ok_or_else(|| Error::null("options"))?;
            options.set(read(name, "name")?, read(value, "value")?)
        })
    }
}

/// Sets a compile-time parameter of kernels, as `-D name=value` does.
///
/// # Safety
/// As [`cutec_options_set`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_options_define(
    options: *mut Options,
    name: *const c_char,
    value: *const c_char,
    error: *mut *mut Error,
) -> i32 {
    // SAFETY: of the caller.
    unsafe {
        guard(error, || {
            let options = options.as_mut().ok_or_else(|| Error::null("options"))?;
            let (name, value) = (
                read(name, "name")?.to_owned(),
                read(value, "value")?.to_owned(),
            );
            let defines = &mut options.compile.defines;
            defines.retain(|(known, _)| *known != name);
            defines.push((name, value));
            Ok(())
        })
    }
}

/// Gives options back.
///
/// # Safety
/// They come from `cutec_options_new`, and nobody uses them any more; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cutec_options_free(options: *mut Options) {
    if !options.is_null() {
        // SAFETY: of the caller.
        drop(unsafe { Box::from_raw(options) });
    }
}
