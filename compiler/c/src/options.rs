//! How to compile, load and simulate, by names and values as texts: so options may be added without a new interface.

use crate::error::{Error, guard, read};
use crate::object::{give, take};
use cutec::Emit;
use cutec::codegen::OptLevel;
use cutec::plan::Plan;
use cutec::runtime::abi::Status;
use cutec::runtime::cuda::CudaDevice;
use cutec_dialects::target::Target;
use std::ffi::c_char;
use std::path::PathBuf;

/// Options of compilations, and of simulators.
#[derive(Clone, Debug, Default)]
pub struct Options {
    compile: cutec::Options,
    arch: Arch,
    /// The plan that launches choose by.
    pub plan: Option<PathBuf>,
    /// Where PTX is kept from run to run.
    pub cache: Option<PathBuf>,
    /// Whether the simulator looks for data races.
    pub races: bool,
    /// In which of the legal schedules it runs.
    pub schedule: u64,
}

/// What is compiled for.
#[derive(Clone, Copy, Debug, Default)]
enum Arch {
    /// The plan's target where there is a plan, else the lowest.
    #[default]
    Unsaid,
    /// The first GPU of this machine.
    Native,
    /// A target.
    Named(Target),
}

impl Options {
    /// Options of a compilation, by which the target is known.
    ///
    /// # Errors
    /// Where it is that of a GPU, and there is none; or that of a plan, and unknown.
    pub fn compile(&self, plan: Option<&Plan>) -> Result<cutec::Options, Error> {
        let target = match (self.arch, plan) {
            (Arch::Named(target), _) => target,
            (Arch::Native, _) => native()?,
            (Arch::Unsaid, None) => self.compile.target,
            (Arch::Unsaid, Some(plan)) => parse(&plan.device.arch)?,
        };
        Ok(cutec::Options {
            target,
            ..self.compile.clone()
        })
    }

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
                self.arch = match value {
                    "native" => Arch::Native,
                    _ => Arch::Named(parse(value)?),
                }
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
            "plan" => self.plan = Some(PathBuf::from(value)).filter(|_| !value.is_empty()),
            "cache" => self.cache = Some(PathBuf::from(value)).filter(|_| !value.is_empty()),
            "races" => self.races = switch()?,
            "schedule" => self.schedule = value.parse().map_err(|_| wrong("a number"))?,
            _ => {
                let known =
                    "arch, kernel, level, emit, remarks, threads, plan, cache, races, schedule";
                return Err(Error::new(
                    Status::Option,
                    format!("no option `{name}`: expected one of {known}"),
                ));
            }
        }
        Ok(())
    }
}

fn parse(name: &str) -> Result<Target, Error> {
    Target::parse(name).map_err(|error| Error::new(Status::Option, error))
}

/// What the first GPU of this machine runs.
fn native() -> Result<Target, Error> {
    let capability = CudaDevice::capability_of_gpu(0);
    let (major, minor) = capability.map_err(|error| Error::device(&error))?;
    let target = Target::of_capability(major.unsigned_abs(), minor.unsigned_abs());
    target.ok_or_else(|| {
        let text = format!("cuda:0 is sm_{major}{minor}, which is older than all targets");
        Error::new(Status::Target, text)
    })
}

/// Reads a name and a value, and does with them what is to be done to options.
///
/// # Safety
/// As [`cutec_options_set`].
unsafe fn change(
    options: *mut Options,
    name: *const c_char,
    value: *const c_char,
    error: *mut *mut Error,
    work: impl FnOnce(&mut Options, &str, &str) -> Result<(), Error>,
) -> i32 {
    // SAFETY: of the caller.
    unsafe {
        guard(error, || {
            let options = options.as_mut().ok_or_else(|| Error::null("options"))?;
            work(options, read(name, "name")?, read(value, "value")?)
        })
    }
}

/// Options as they are where nothing is said: PTX for sm_80, fully optimised.
#[unsafe(no_mangle)]
pub extern "C" fn cutec_options_new() -> *mut Options {
    give(Options::default())
}

/// Sets an option: `arch` (`sm_90a`; `native` for that of the first GPU), `kernel` (only this one), `level` (0 to 3), `emit` (`ptx`, `cubin`, … as the program `cutec` has
/// it), `remarks` (`true`: what each copy and gemm became), `threads` (of a compilation, 0 for one a processor), `plan` (a
/// file of `cutec tune`: all configurations that it chooses are compiled, and each launch takes one by its extents; without `arch` for
/// the plan's target), `cache` (a folder in which PTX is kept from run to run); and of the simulator `races` (`true`: look for them) and `schedule` (a number: one of the legal
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
    unsafe { change(options, name, value, error, Options::set) }
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
        change(options, name, value, error, |options, name, value| {
            let defines = &mut options.compile.defines;
            defines.retain(|(known, _)| *known != name);
            defines.push((name.to_owned(), value.to_owned()));
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
    // SAFETY: of the caller.
    drop(unsafe { take(options) });
}
