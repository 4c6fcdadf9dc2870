//! PTX → cubin: the program `ptxas`, or libnvJitLink, loaded at run time, where the program is missing or too old.
//!
//! The library compiles for linking, as `ptxas -c` does, and there is no option against that. Kernels that fill the
//! registers then have up to a third more instructions: of 13.5, `attention_sm80` 3096 instead of 2256.
//!
//! Both report registers, stack and spills of every entry in the same words (`ptxas info`), which
//! [`parse_resources`] reads.

use super::locate::{self, NotFound, Program};
use super::timings::Timings;
use crate::files::temporary::Folder;
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// How to assemble.
#[derive(Debug, Clone)]
pub struct CubinOptions {
    /// `sm_80`, `sm_90a`, …
    pub arch: String,
    /// 0 … 3, the assembler's `-O`.
    pub level: u8,
    /// Keep the source lines of `.loc` in the cubin, for profilers and debuggers.
    pub line_info: bool,
}

/// Kernels are assembled on as many threads as there are processors. Every assembler that reads PTX as new as
/// ours knows the option, and the code is that of one thread.
const ON_ALL_PROCESSORS: &str = "--split-compile=0";

/// An assembled module.
#[derive(Debug, Clone)]
pub struct Cubin {
    /// The ELF file.
    pub bytes: Vec<u8>,
    /// What each kernel uses.
    pub kernels: Vec<KernelResources>,
    /// The assembler's log.
    pub log: String,
}

/// What one kernel uses, in the assembler's words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelResources {
    /// The entry's name.
    pub entry: String,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of spill stores a thread.
    pub spill_stores: u32,
    /// Bytes of spill loads a thread.
    pub spill_loads: u32,
    /// Bytes of stack frame a thread.
    pub stack: u32,
    /// Bytes of static shared memory a block.
    pub shared: u32,
}

/// Why there is no cubin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CubinError {
    /// Neither the library nor the program is to be had.
    #[error("no PTX assembler: {library}; {program}")]
    NoAssembler {
        /// About libnvJitLink.
        library: String,
        /// About `ptxas`.
        program: NotFound,
    },
    /// The assembler refused the PTX.
    #[error("{assembler} refused the PTX for {arch}:\n{log}")]
    Refused {
        /// `libnvJitLink` or `ptxas`.
        assembler: &'static str,
        /// The target.
        arch: String,
        /// Its log.
        log: String,
    },
    /// The text contains a NUL byte, which no assembler takes.
    #[error("the PTX contains a NUL byte")]
    NulByte,
    /// Running `ptxas` failed.
    #[error("cannot run {program}: {reason}")]
    Run {
        /// Its path.
        program: PathBuf,
        /// The system's words.
        reason: std::io::Error,
    },
}

/// Assembles `ptx`.
///
/// # Errors
/// `NoAssembler` when nothing is installed, `Refused` when the PTX is wrong for the target.
pub fn assemble(
    ptx: &str,
    options: &CubinOptions,
    timings: &mut Timings,
) -> Result<Cubin, CubinError> {
    let assembled = Program::Ptxas
        .find()
        .map(|program| timings.measure("assemble cubin", || run_ptxas(program, ptx, options)));
    let assembled = match assembled {
        Ok(Ok(cubin)) => return Ok(cubin),
        other => other,
    };
    let library = timings.measure("load libnvJitLink", || {
        NVJITLINK.get_or_init(NvJitLink::load)
    });
    match (library, assembled) {
        (Ok(library), _) => timings.measure("assemble cubin", || library.assemble(ptx, options)),
        (Err(_), Ok(refused)) => refused,
        (Err(reason), Err(program)) => Err(CubinError::NoAssembler {
            library: reason.clone(),
            program,
        }),
    }
}

static NVJITLINK: OnceLock<Result<NvJitLink, String>> = OnceLock::new();

type Handle = *mut c_void;

/// `nvJitLinkInputType::NVJITLINK_INPUT_PTX`
const INPUT_PTX: c_int = 2;

/// The entry points of libnvJitLink. All of one version: the library exports each once a version
/// (`__nvJitLinkCreate_13_0`), the bare names exist only as inline functions of its header.
struct NvJitLink {
    create: unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    add_data: unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int,
    complete: unsafe extern "C" fn(Handle) -> c_int,
    cubin_size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    cubin: unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
    error_log_size: LogSize,
    error_log: Log,
    info_log_size: LogSize,
    info_log: Log,
    /// Last, so that the functions are gone before the library.
    _library: Library,
}

type LogSize = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Log = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

impl NvJitLink {
    fn load() -> Result<Self, String> {
        let mut reasons = vec![locate::nvjitlink_not_found().to_string()];
        for path in locate::nvjitlink_candidates() {
            // SAFETY: loading runs the library's initialisers; it is NVIDIA's, from a place of trust.
            match unsafe { Library::new(&path) } {
                Ok(library) => match Self::resolve(library) {
                    Some(library) => return Ok(library),
                    None => reasons.push(format!("{} is not libnvJitLink", path.display())),
                },
                Err(error) if path.is_absolute() => reasons.push(error.to_string()),
                Err(_) => {}
            }
        }
        Err(reasons.join("; "))
    }

    fn resolve(library: Library) -> Option<Self> {
        let versions = (0..=9)
            .rev()
            .map(|minor| format!("_13_{minor}"))
            .chain((0..=9).rev().map(|minor| format!("_12_{minor}")));
        let suffix = std::iter::once(String::new())
            .chain(versions)
            .find(|suffix| {
                let name = symbol_name("Create", suffix);
                // SAFETY: the symbol is only looked for.
                unsafe { library.get::<*const c_void>(name.as_bytes()) }.is_ok()
            })?;
        // SAFETY: the types are those of nvJitLink.h, the same in every version since 12.0; the
        // pointers live as long as the library, which is kept beside them.
        unsafe {
            macro_rules! function {
                ($name:literal) => {
                    *library.get(symbol_name($name, &suffix).as_bytes()).ok()?
                };
            }
            Some(Self {
                create: function!("Create"),
                destroy: function!("Destroy"),
                add_data: function!("AddData"),
                complete: function!("Complete"),
                cubin_size: function!("GetLinkedCubinSize"),
                cubin: function!("GetLinkedCubin"),
                error_log_size: function!("GetErrorLogSize"),
                error_log: function!("GetErrorLog"),
                info_log_size: function!("GetInfoLogSize"),
                info_log: function!("GetInfoLog"),
                _library: library,
            })
        }
    }

    fn assemble(&self, ptx: &str, options: &CubinOptions) -> Result<Cubin, CubinError> {
        let text = CString::new(ptx).map_err(|_| CubinError::NulByte)?;
        let mut arguments = vec![
            format!("-arch={}", options.arch),
            format!("-O{}", if options.level == 0 { 0 } else { 3 }),
            "-verbose".to_owned(),
            format!("-Xptxas={ON_ALL_PROCESSORS}"),
        ];
        // It knows 0 and 3 alone, but the assembler in it knows those between.
        if let 1 | 2 = options.level {
            arguments.push(format!("-Xptxas=-O{}", options.level));
        }
        if options.line_info {
            arguments.push("-lineinfo".to_owned());
        }
        let arguments: Vec<CString> = arguments
            .into_iter()
            .map(|argument| CString::new(argument).map_err(|_| CubinError::NulByte))
            .collect::<Result<_, _>>()?;
        let pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        let refused = |log: String| CubinError::Refused {
            assembler: "libnvJitLink",
            arch: options.arch.clone(),
            log: log.trim().to_owned(),
        };

        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: strings and buffers outlive the calls that use them; sizes come from the library.
        unsafe {
            let status = (self.create)(&mut handle, pointers.len() as u32, pointers.as_ptr());
            if status != 0 {
                return Err(refused(format!(
                    "it does not take {} (status {status})",
                    options.arch
                )));
            }
            let session = Session {
                library: self,
                handle,
            };
            let bytes = text.as_bytes_with_nul();
            let mut status = (self.add_data)(
                handle,
                INPUT_PTX,
                bytes.as_ptr().cast(),
                bytes.len(),
                c"kernel.ptx".as_ptr(),
            );
            if status == 0 {
                status = (self.complete)(handle);
            }
            let mut size = 0;
            if status == 0 {
                status = (self.cubin_size)(handle, &mut size);
            }
            let mut cubin = vec![0_u8; size];
            if status == 0 {
                status = (self.cubin)(handle, cubin.as_mut_ptr().cast());
            }
            if status != 0 {
                let log = session.log(self.error_log_size, self.error_log);
                return Err(refused(if log.is_empty() {
                    format!("status {status}")
                } else {
                    log
                }));
            }
            let log = session.log(self.info_log_size, self.info_log);
            Ok(Cubin {
                bytes: cubin,
                kernels: parse_resources(&log),
                log,
            })
        }
    }
}

/// A link in progress, destroyed on every way out.
struct Session<'a> {
    library: &'a NvJitLink,
    handle: Handle,
}

impl Session<'_> {
    fn log(&self, size: LogSize, text: Log) -> String {
        let mut length = 0;
        // SAFETY: the buffer is one byte longer than the library asks for.
        unsafe {
            if size(self.handle, &mut length) != 0 {
                return String::new();
            }
            let mut buffer = vec![0_u8; length + 1];
            if text(self.handle, buffer.as_mut_ptr().cast()) != 0 {
                return String::new();
            }
            String::from_utf8_lossy(&buffer)
                .trim_end_matches('\0')
                .to_owned()
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle was created by `create` and is destroyed once.
        unsafe {
            (self.library.destroy)(&mut self.handle);
        }
    }
}

fn symbol_name(function: &str, suffix: &str) -> String {
    if suffix.is_empty() {
        format!("nvJitLink{function}\0")
    } else {
        format!("__nvJitLink{function}{suffix}\0")
    }
}

fn run_ptxas(program: PathBuf, ptx: &str, options: &CubinOptions) -> Result<Cubin, CubinError> {
    let failed = |reason: std::io::Error| CubinError::Run {
        program: program.clone(),
        reason,
    };
    let folder = Folder::new().map_err(failed)?;
    let input = folder.path().join("kernel.ptx");
    let output = folder.path().join("kernel.cubin");
    std::fs::write(&input, ptx).map_err(failed)?;
    let mut command = Command::new(&program);
    command
        .arg(format!("-arch={}", options.arch))
        .arg(format!("-O{}", options.level))
        .arg("-v")
        .arg(ON_ALL_PROCESSORS)
        .args(options.line_info.then_some("-lineinfo"))
        .arg(&input)
        .arg("-o")
        .arg(&output);
    let result = command.output().map_err(failed)?;
    let log = String::from_utf8_lossy(&result.stderr).into_owned();
    if !result.status.success() {
        return Err(CubinError::Refused {
            assembler: "ptxas",
            arch: options.arch.clone(),
            log: log.trim().to_owned(),
        });
    }
    Ok(Cubin {
        bytes: std::fs::read(&output).map_err(failed)?,
        kernels: parse_resources(&log),
        log,
    })
}

/// Reads registers, stack, spills and shared memory of every entry from an assembler's verbose log.
pub fn parse_resources(log: &str) -> Vec<KernelResources> {
    let mut kernels: Vec<KernelResources> = Vec::new();
    for line in log.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            if let Some((entry, _)) = rest.split_once('\'') {
                kernels.push(KernelResources {
                    entry: entry.to_owned(),
                    ..Default::default()
                });
            }
            continue;
        }
        let Some(kernel) = kernels.last_mut() else {
            continue;
        };
        let read = |words: &str, into: &mut u32| {
            if let Some(number) = number_before(line, words) {
                *into = number;
            }
        };
        read(" bytes stack frame", &mut kernel.stack);
        read(" bytes spill stores", &mut kernel.spill_stores);
        read(" bytes spill loads", &mut kernel.spill_loads);
        read(" registers", &mut kernel.registers);
        read(" bytes smem", &mut kernel.shared);
    }
    kernels
}

/// The number right before `words` in `line`.
fn number_before(line: &str, words: &str) -> Option<u32> {
    let before = &line[..line.find(words)?];
    let digits = before
        .rfind(|character: char| !character.is_ascii_digit())
        .map_or(before, |index| &before[index + 1..]);
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_entry_by_entry() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 49152 bytes smem, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Used 14 registers, 360 bytes cmem[0]
";
        let kernels = parse_resources(log);
        assert_eq!(
            kernels,
            [
                KernelResources {
                    entry: "first".to_owned(),
                    registers: 255,
                    spill_stores: 8,
                    spill_loads: 12,
                    stack: 16,
                    shared: 49152,
                },
                KernelResources {
                    entry: "second".to_owned(),
                    registers: 14,
                    ..Default::default()
                },
            ]
        );
    }
}
