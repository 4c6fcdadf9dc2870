//! LLVM dialect → LLVM IR → optimised LLVM IR → PTX text, in process and in memory.
//!
//! ```text
//! LlvmModule::translate(gpu.module) ─ optimize() ─ ptx()
//!                        └ ir_text() before or after
//! ```
//!
//! Nothing that LLVM does may end the process. Its diagnostics are collected instead of printed,
//! and what LLVM calls a fatal error (an instruction that cannot be selected, say) is returned too:
//! LLVM's fatal error handler must not return and cannot unwind, so optimisation and emission run on
//! a thread of their own, which the handler parks for good after handing over the message.

use super::ffi;
use super::timings::Timings;
use melior::ir::OperationRef;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

/// Blocks of a function above which only passes of linear time run on it. The others need quadratic time in the
/// number of loops: InstCombine asks every condition on a value whenever it looks at the value, loop passes renumber
/// the dominator tree after each loop. The largest kernels that people write have a hundred blocks; thousands
/// come from unrolling.
const MANY_BLOCKS: u32 = 1000;
const TRIPLE: &CStr = c"nvptx64-nvidia-cuda";
/// Instruction selection recurses over the DAG; unrolled kernels make it deep.
const STACK_BYTES: usize = 256 << 20;

/// The chip that code is generated for, as LLVM's NVPTX backend names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    /// `sm_80`, `sm_90a`, …
    pub name: String,
    /// PTX ISA version times ten: 80 is PTX 8.0. LLVM 22 knows versions up to 9.0; what it does not
    /// know it takes for 8.0 without a word.
    pub ptx_isa: u32,
}

/// How much LLVM optimises: `-O0` … `-O3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub enum OptLevel {
    /// No optimisation but that fragments are registers.
    O0,
    /// Cheap optimisations.
    O1,
    /// LLVM's usual set.
    O2,
    /// Everything; the default.
    #[default]
    O3,
}

impl OptLevel {
    /// The digit of `-O`.
    pub fn digit(self) -> u8 {
        self as u8
    }

    /// LLVM's passes of this level.
    fn pipeline(self) -> String {
        match self {
            // What kernels need and no more: fragments into registers, loop invariants out of loops,
            // small loops unrolled. LLVM's own list of this level gives the same code for the example
            // kernels and takes more than twice as long, most of it in repeated instcombine. Early CSE has
            // found the loads that repeat others before GVN looks at the arithmetic.
            Self::O3 => [
                "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>",
                "loop-mssa(loop-rotate,licm),simplifycfg",
                "loop(loop-idiom,indvars,loop-deletion,loop-unroll-full),sroa<modify-cfg>,gvn<no-memdep>",
                "loop-mssa(licm),loop-unroll<O3>,instcombine<no-verify-fixpoint>,simplifycfg)",
            ]
            .join(","),
            // Fragments are registers at any level: products read accumulators that nothing has written where they begin with zeros.
            Self::O0 => "function(sroa<preserve-cfg>)".to_owned(),
            level => format!("default<O{}>", level.digit()),
        }
    }

    /// The passes of this level for a function of more than [`MANY_BLOCKS`] blocks: those of linear time.
    fn linear_pipeline(self) -> String {
        match self {
            Self::O0 => self.pipeline(),
            Self::O1 | Self::O2 | Self::O3 => [
                "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg",
                "loop-mssa(licm),instsimplify,simplifycfg)",
            ]
            .join(","),
        }
    }

    /// The level of a digit 0 … 3.
    pub fn from_digit(digit: u8) -> Option<Self> {
        [Self::O0, Self::O1, Self::O2, Self::O3]
            .get(usize::from(digit))
            .copied()
    }
}

/// Why LLVM produced nothing.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LlvmError {
    /// MLIR refused to translate; the reasons went to the context's diagnostic handlers.
    #[error("the module cannot be translated to LLVM IR")]
    Translate,
    /// The LLVM build at hand has no NVPTX backend, or not for this chip.
    #[error("LLVM has no code generator for {chip}: {reason}")]
    Target {
        /// The chip asked for.
        chip: String,
        /// LLVM's words.
        reason: String,
    },
    /// The translated module is not valid LLVM IR.
    #[error("invalid LLVM IR: {reason}")]
    Invalid {
        /// LLVM's words.
        reason: String,
    },
    /// The optimiser refused the module.
    #[error("LLVM's optimiser failed: {reason}")]
    Optimize {
        /// LLVM's words.
        reason: String,
    },
    /// The backend reported errors.
    #[error("LLVM cannot generate code for {chip}: {}", reasons.join("; "))]
    Emit {
        /// The chip asked for.
        chip: String,
        /// LLVM's words, one entry an error.
        reasons: Vec<String>,
    },
    /// The backend gave up where it usually ends the process.
    #[error("LLVM gave up on the code for {chip}: {reason}")]
    Fatal {
        /// The chip asked for.
        chip: String,
        /// LLVM's words.
        reason: String,
    },
    /// No thread to generate code on.
    #[error("cannot start a thread for code generation: {reason}")]
    Thread {
        /// The system's words.
        reason: String,
    },
}

/// An LLVM module with its context and the machine that code is generated for.
pub struct LlvmModule {
    context: NonNull<ffi::Context>,
    module: NonNull<ffi::Module>,
    machine: NonNull<ffi::TargetMachine>,
    chip: Chip,
    level: OptLevel,
    /// Whether some function has more than [`MANY_BLOCKS`] blocks, as translated.
    many_blocks: bool,
    /// Boxed: the context's diagnostic handler keeps its address.
    errors: Box<RefCell<Vec<String>>>,
}

// SAFETY: an LLVM context and what belongs to it may be used from any thread, one at a time.
unsafe impl Send for LlvmModule {}

impl LlvmModule {
    /// Translates a `gpu.module` (or a module) of LLVM dialect operations.
    ///
    /// # Errors
    /// `Translate` when MLIR refuses, `Target` when LLVM cannot generate code for `chip`, `Invalid`
    /// when LLVM's verifier refuses the result.
    pub fn translate(
        operation: OperationRef<'_, '_>,
        chip: &Chip,
        level: OptLevel,
        timings: &mut Timings,
    ) -> Result<Self, LlvmError> {
        initialize();
        // Without its register coalescer the backend copies accumulators of `wgmma` that are under way.
        let machine = target_machine(chip, level.max(OptLevel::O1))?;
        let start = Instant::now();
        // SAFETY: the context outlives the module translated into it; both are disposed of in
        // `Drop`, the module first.
        let mut module = unsafe {
            let context = NonNull::new(ffi::LLVMContextCreate()).ok_or(LlvmError::Translate)?;
            let errors = Box::new(RefCell::new(Vec::new()));
            ffi::LLVMContextSetDiagnosticHandler(
                context.as_ptr(),
                collect_diagnostic,
                (&raw const *errors).cast_mut().cast::<c_void>(),
            );
            let module = ffi::cutec_translate_to_llvm_ir(operation.to_raw(), context.as_ptr());
            let Some(module) = NonNull::new(module) else {
                ffi::LLVMContextDispose(context.as_ptr());
                ffi::LLVMDisposeTargetMachine(machine.as_ptr());
                return Err(LlvmError::Translate);
            };
            ffi::LLVMSetTarget(module.as_ptr(), TRIPLE.as_ptr());
            let layout = ffi::LLVMCreateTargetDataLayout(machine.as_ptr());
            ffi::LLVMSetModuleDataLayout(module.as_ptr(), layout);
            ffi::LLVMDisposeTargetData(layout);
            Self {
                context,
                module,
                machine,
                chip: chip.clone(),
                level,
                many_blocks: false,
                errors,
            }
        };
        module.verify()?;
        module.many_blocks = module.has_many_blocks();
        if module.many_blocks {
            // The passes of the backend that optimise ask ScalarEvolution, which looks at all loops before one.
            let linear = target_machine(chip, OptLevel::O0)?;
            let usual = std::mem::replace(&mut module.machine, linear);
            // SAFETY: the machine was made here, and the module has another one now.
            unsafe { ffi::LLVMDisposeTargetMachine(usual.as_ptr()) };
        }
        timings.add("translate to LLVM IR", start.elapsed());
        Ok(module)
    }

    /// The module as LLVM IR text.
    pub fn ir_text(&self) -> String {
        // SAFETY: the module is alive; the message is ours to dispose of.
        unsafe { take_message(ffi::LLVMPrintModuleToString(self.module.as_ptr())) }
    }

    /// Runs LLVM's passes of the module's level.
    ///
    /// # Errors
    /// `Optimize` or `Fatal`; the module is gone then.
    pub fn optimize(self, timings: &mut Timings) -> Result<Self, LlvmError> {
        let start = Instant::now();
        let result = on_own_thread(self, |module| {
            module.run_passes()?;
            Ok(module)
        });
        timings.add("LLVM optimisation", start.elapsed());
        result
    }

    /// Generates PTX. Code generation rewrites the module, so it is consumed.
    ///
    /// # Errors
    /// `Emit` with the backend's errors, or `Fatal`.
    pub fn ptx(self, timings: &mut Timings) -> Result<String, LlvmError> {
        let start = Instant::now();
        let result = on_own_thread(self, |module| module.generate());
        timings.add("LLVM code generation", start.elapsed());
        result
    }

    /// [`LlvmModule::optimize`] and [`LlvmModule::ptx`], which share a thread, and so its memory.
    ///
    /// # Errors
    /// As both.
    pub fn optimized_ptx(self, timings: &mut Timings) -> Result<String, LlvmError> {
        let start = Instant::now();
        let (ptx, optimised) = on_own_thread(self, move |module| {
            module.run_passes()?;
            let optimised = start.elapsed();
            Ok((module.generate()?, optimised))
        })?;
        timings.add("LLVM optimisation", optimised);
        timings.add("LLVM code generation", start.elapsed() - optimised);
        Ok(ptx)
    }

    fn run_passes(&self) -> Result<(), LlvmError> {
        let pipeline = match self.many_blocks {
            true => self.level.linear_pipeline(),
            false => self.level.pipeline(),
        };
        let pipeline = CString::new(pipeline).expect("a pipeline has no NUL");
        // SAFETY: module and machine are alive; options and message are disposed of here.
        unsafe {
            let options = ffi::LLVMCreatePassBuilderOptions();
            let error = ffi::LLVMRunPasses(
                self.module.as_ptr(),
                pipeline.as_ptr(),
                self.machine.as_ptr(),
                options,
            );
            ffi::LLVMDisposePassBuilderOptions(options);
            if !error.is_null() {
                let message = ffi::LLVMGetErrorMessage(error);
                let reason = CStr::from_ptr(message).to_string_lossy().into_owned();
                ffi::LLVMDisposeErrorMessage(message);
                return Err(LlvmError::Optimize { reason });
            }
            super::schedule::place_conversions(self.module.as_ptr());
        }
        self.collected_errors()
    }

    fn has_many_blocks(&self) -> bool {
        // SAFETY: the module is alive, and so are its functions.
        unsafe {
            let first = ffi::LLVMGetFirstFunction(self.module.as_ptr());
            let next = |function: &*mut ffi::Value| ffi::LLVMGetNextFunction(*function);
            let not_null = |function: *mut ffi::Value| (!function.is_null()).then_some(function);
            std::iter::successors(not_null(first), |function| not_null(next(function)))
                .any(|function| ffi::LLVMCountBasicBlocks(function) > MANY_BLOCKS)
        }
    }

    fn generate(&self) -> Result<String, LlvmError> {
        // SAFETY: module and machine are alive; the buffer is copied, then disposed of.
        let text = unsafe {
            ffi::cutec_skip_repetitions(self.context.as_ptr());
            ffi::cutec_hide_comparisons(self.module.as_ptr());
            let (mut error, mut buffer) = (std::ptr::null_mut(), std::ptr::null_mut());
            let failed = ffi::LLVMTargetMachineEmitToMemoryBuffer(
                self.machine.as_ptr(),
                self.module.as_ptr(),
                ffi::ASSEMBLY_FILE,
                &mut error,
                &mut buffer,
            );
            if failed != 0 {
                return Err(LlvmError::Emit {
                    chip: self.chip.name.clone(),
                    reasons: vec![take_message(error)],
                });
            }
            let bytes = std::slice::from_raw_parts(
                ffi::LLVMGetBufferStart(buffer),
                ffi::LLVMGetBufferSize(buffer),
            );
            let text = String::from_utf8_lossy(bytes).into_owned();
            ffi::LLVMDisposeMemoryBuffer(buffer);
            text
        };
        self.collected_errors()?;
        Ok(text)
    }

    fn verify(&self) -> Result<(), LlvmError> {
        let mut message = std::ptr::null_mut();
        // SAFETY: the module is alive; LLVM always sets the message, also when it is empty.
        let (broken, reason) = unsafe {
            let broken = ffi::LLVMVerifyModule(
                self.module.as_ptr(),
                ffi::VERIFY_RETURN_STATUS,
                &mut message,
            );
            (broken, take_message(message))
        };
        if broken != 0 {
            return Err(LlvmError::Invalid {
                reason: reason.trim_end().to_owned(),
            });
        }
        Ok(())
    }

    fn collected_errors(&self) -> Result<(), LlvmError> {
        let reasons = std::mem::take(&mut *self.errors.borrow_mut());
        if reasons.is_empty() {
            return Ok(());
        }
        Err(LlvmError::Emit {
            chip: self.chip.name.clone(),
            reasons,
        })
    }
}

impl Drop for LlvmModule {
    fn drop(&mut self) {
        // SAFETY: all three are owned by this value and used nowhere else.
        unsafe {
            ffi::LLVMDisposeModule(self.module.as_ptr());
            ffi::LLVMDisposeTargetMachine(self.machine.as_ptr());
            ffi::LLVMContextDispose(self.context.as_ptr());
        }
    }
}

/// What one run through LLVM gives.
#[derive(Debug, Clone, Default)]
pub struct LlvmOutput {
    /// LLVM IR as translated, where asked for.
    pub ir: Option<String>,
    /// LLVM IR after optimisation, where asked for.
    pub optimized_ir: Option<String>,
    /// PTX text.
    pub ptx: String,
}

/// The version of LLVM that this is linked with: `22.1.0`.
pub fn version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    ffi::LLVMGetVersion(&mut major, &mut minor, &mut patch);
    format!("{major}.{minor}.{patch}")
}

/// All three steps: translate, optimise, generate; `keep_ir` keeps the IR before and after.
///
/// # Errors
/// Those of the steps.
pub fn to_ptx(
    operation: OperationRef<'_, '_>,
    chip: &Chip,
    level: OptLevel,
    keep_ir: bool,
    timings: &mut Timings,
) -> Result<LlvmOutput, LlvmError> {
    let module = LlvmModule::translate(operation, chip, level, timings)?;
    let ir = keep_ir.then(|| module.ir_text());
    let (optimized_ir, ptx) = match keep_ir {
        true => {
            let module = module.optimize(timings)?;
            (Some(module.ir_text()), module.ptx(timings)?)
        }
        false => (None, module.optimized_ptx(timings)?),
    };
    Ok(LlvmOutput {
        ir,
        optimized_ir,
        ptx,
    })
}

/// Once a process: the backend, LLVM's options, the fatal error handler. The order of instructions needs no option: NVPTX keeps that of
/// the source, which a kernel's author or our passes chose (docs/performance.md).
fn initialize() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let arguments = [
            c"cutec".as_ptr(),
            // Pointers into shared memory are 32 bits wide.
            c"--nvptx-short-ptr".as_ptr(),
            // LICM compares all accesses of a loop with each other to keep one in a register: only where
            // they are few. Fragments are in registers already.
            c"--licm-mssa-max-acc-promotion=32".as_ptr(),
            // What the language says may be fused is: a multiplication and the addition that takes it.
            c"--nvptx-fma-level=1".as_ptr(),
            // What LLVM merged or moved has a `.loc` of line 0, and does not look as if it came from where the
            // instruction before it does: the simulator takes a position at its word.
            c"--use-unknown-locations=Enable".as_ptr(),
        ];
        // SAFETY: called once, before any other thread uses LLVM through this module.
        unsafe {
            ffi::LLVMInitializeNVPTXTargetInfo();
            ffi::LLVMInitializeNVPTXTarget();
            ffi::LLVMInitializeNVPTXTargetMC();
            ffi::LLVMInitializeNVPTXAsmPrinter();
            ffi::LLVMParseCommandLineOptions(
                arguments.len() as _,
                arguments.as_ptr(),
                std::ptr::null(),
            );
            ffi::LLVMInstallFatalErrorHandler(hand_over_fatal_error);
        }
    });
}

fn target_machine(chip: &Chip, level: OptLevel) -> Result<NonNull<ffi::TargetMachine>, LlvmError> {
    let refuse = |reason: String| LlvmError::Target {
        chip: chip.name.clone(),
        reason,
    };
    let cpu = CString::new(chip.name.as_str())
        .map_err(|_| refuse("the name contains a NUL byte".to_owned()))?;
    let features =
        CString::new(format!("+ptx{}", chip.ptx_isa)).expect("a feature name has no NUL");
    let (mut target, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: all strings outlive the calls; relocation and code model 0 are LLVM's defaults.
    unsafe {
        if ffi::LLVMGetTargetFromTriple(TRIPLE.as_ptr(), &mut target, &mut error) != 0 {
            return Err(refuse(take_message(error)));
        }
        let machine = ffi::LLVMCreateTargetMachine(
            target,
            TRIPLE.as_ptr(),
            cpu.as_ptr(),
            features.as_ptr(),
            // At 3 the backend repeats GVN, which finds nothing after `pipeline`.
            u32::from(level.digit().min(2)),
            0,
            0,
        );
        NonNull::new(machine).ok_or_else(|| refuse("no target machine".to_owned()))
    }
}

/// Copies and disposes of a message that LLVM allocated.
///
/// # Safety
/// `message` is null or a string that `LLVMDisposeMessage` may free.
unsafe fn take_message(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: by the contract above.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        ffi::LLVMDisposeMessage(message);
        text
    }
}

extern "C" fn collect_diagnostic(info: *mut ffi::DiagnosticInfo, user: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic and the address given to it in `translate`.
    unsafe {
        if ffi::LLVMGetDiagInfoSeverity(info) == ffi::SEVERITY_ERROR {
            let text = take_message(ffi::LLVMGetDiagInfoDescription(info));
            (*user.cast::<RefCell<Vec<String>>>())
                .borrow_mut()
                .push(text);
        }
    }
}

type FatalSink = Box<dyn Fn(String)>;

thread_local! {
    /// Where a fatal error on this thread is handed over.
    static FATAL_SINK: RefCell<Option<FatalSink>> = const { RefCell::new(None) };
}

extern "C" fn hand_over_fatal_error(reason: *const c_char) {
    // SAFETY: LLVM passes a NUL-terminated string.
    let reason = unsafe { CStr::from_ptr(reason) }
        .to_string_lossy()
        .into_owned();
    let sink = FATAL_SINK.with(|sink| sink.borrow_mut().take());
    match sink {
        Some(sink) => {
            sink(reason);
            loop {
                std::thread::park();
            }
        }
        // Not on a thread of ours: LLVM exits with status 1 after this.
        None => eprintln!("error: LLVM gave up: {reason}"),
    }
}

/// Runs `work` on a thread with a deep stack, where a fatal error of LLVM becomes `Fatal`.
fn on_own_thread<T: Send + 'static>(
    module: LlvmModule,
    work: impl FnOnce(LlvmModule) -> Result<T, LlvmError> + Send + 'static,
) -> Result<T, LlvmError> {
    let chip = module.chip.name.clone();
    let (sender, receiver) = channel();
    let sink: Sender<Result<T, LlvmError>> = sender.clone();
    let fatal_chip = chip.clone();
    let spawned = std::thread::Builder::new()
        .name("llvm".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            FATAL_SINK.with(|slot| {
                *slot.borrow_mut() = Some(Box::new(move |reason| {
                    let chip = fatal_chip.clone();
                    let _ = sink.send(Err(LlvmError::Fatal { chip, reason }));
                }));
            });
            let _ = sender.send(work(module));
        });
    match spawned {
        Err(error) => Err(LlvmError::Thread {
            reason: error.to_string(),
        }),
        Ok(_) => receiver.recv().unwrap_or_else(|_| {
            Err(LlvmError::Fatal {
                chip,
                reason: "the code generation thread died".to_owned(),
            })
        }),
    }
}
