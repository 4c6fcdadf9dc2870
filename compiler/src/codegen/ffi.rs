//! The slice of LLVM's C API that code generation calls. The symbols come from the LLVM libraries
//! that `mlir-sys` links.

use std::ffi::{c_char, c_int, c_uint, c_void};

macro_rules! opaque {
    ($($name:ident),*) => { $(
        #[repr(C)]
        pub(super) struct $name { _private: [u8; 0] }
    )* };
}
opaque!(
    Context,
    Module,
    Target,
    TargetMachine,
    TargetData,
    MemoryBuffer,
    PassOptions,
    Error,
    DiagnosticInfo,
    BasicBlock,
    Builder,
    Metadata,
    Type,
    Use,
    Value
);

pub(super) type DiagnosticHandler = extern "C" fn(*mut DiagnosticInfo, *mut c_void);
pub(super) type FatalErrorHandler = extern "C" fn(*const c_char);

/// `LLVMDSError`
pub(super) const SEVERITY_ERROR: c_int = 0;
/// `LLVMReturnStatusAction`
pub(super) const VERIFY_RETURN_STATUS: c_uint = 2;
/// `LLVMAssemblyFile`
pub(super) const ASSEMBLY_FILE: c_uint = 0;

/// `LLVMFPTrunc`
pub(super) const FP_TRUNC: c_uint = 37;
/// `LLVMFPExt`
pub(super) const FP_EXT: c_uint = 38;
/// `LLVMExtractElement`
pub(super) const EXTRACT_ELEMENT: c_uint = 50;
/// `LLVMInsertElement`
pub(super) const INSERT_ELEMENT: c_uint = 51;
/// `LLVMVectorTypeKind`
pub(super) const VECTOR_TYPE: c_uint = 13;
/// `LLVMIntegerTypeKind`
pub(super) const INTEGER_TYPE: c_uint = 8;
/// `LLVMPHI`
pub(super) const PHI: c_uint = 44;
/// `LLVMBitCast`
pub(super) const BIT_CAST: c_uint = 41;
/// `LLVMShl`
pub(super) const SHL: c_uint = 20;
/// `LLVMAnd`
pub(super) const AND: c_uint = 23;

unsafe extern "C" {
    /// Of `dialects/cpp/Lowering.cpp`; null where MLIR has said why not.
    pub(super) fn cutec_translate_to_llvm_ir(
        module: mlir_sys::MlirOperation,
        context: *mut Context,
    ) -> *mut Module;
    /// Of `dialects/cpp/Lowering.cpp`.
    pub(super) fn cutec_skip_repetitions(context: *mut Context);
    /// Of `dialects/cpp/Lowering.cpp`.
    pub(super) fn cutec_hide_comparisons(module: *mut Module);
    pub(super) safe fn LLVMGetVersion(major: &mut c_uint, minor: &mut c_uint, patch: &mut c_uint);
    pub(super) fn LLVMCountBasicBlocks(function: *mut Value) -> c_uint;

    pub(super) fn LLVMInitializeNVPTXTargetInfo();
    pub(super) fn LLVMInitializeNVPTXTarget();
    pub(super) fn LLVMInitializeNVPTXTargetMC();
    pub(super) fn LLVMInitializeNVPTXAsmPrinter();
    pub(super) fn LLVMParseCommandLineOptions(
        argc: c_int,
        argv: *const *const c_char,
        overview: *const c_char,
    );
    pub(super) fn LLVMInstallFatalErrorHandler(handler: FatalErrorHandler);

    pub(super) fn LLVMContextCreate() -> *mut Context;
    pub(super) fn LLVMContextDispose(context: *mut Context);
    pub(super) fn LLVMContextSetDiagnosticHandler(
        context: *mut Context,
        handler: DiagnosticHandler,
        user: *mut c_void,
    );
    pub(super) fn LLVMGetDiagInfoDescription(info: *mut DiagnosticInfo) -> *mut c_char;
    pub(super) fn LLVMGetDiagInfoSeverity(info: *mut DiagnosticInfo) -> c_int;

    pub(super) fn LLVMDisposeModule(module: *mut Module);
    pub(super) fn LLVMSetTarget(module: *mut Module, triple: *const c_char);
    pub(super) fn LLVMSetModuleDataLayout(module: *mut Module, layout: *mut TargetData);
    pub(super) fn LLVMPrintModuleToString(module: *mut Module) -> *mut c_char;
    pub(super) fn LLVMVerifyModule(
        module: *mut Module,
        action: c_uint,
        message: *mut *mut c_char,
    ) -> c_int;
    pub(super) fn LLVMDisposeMessage(message: *mut c_char);

    pub(super) fn LLVMGetTargetFromTriple(
        triple: *const c_char,
        target: *mut *mut Target,
        error: *mut *mut c_char,
    ) -> c_int;
    pub(super) fn LLVMCreateTargetMachine(
        target: *mut Target,
        triple: *const c_char,
        cpu: *const c_char,
        features: *const c_char,
        level: c_uint,
        reloc: c_uint,
        code_model: c_uint,
    ) -> *mut TargetMachine;
    pub(super) fn LLVMDisposeTargetMachine(machine: *mut TargetMachine);
    pub(super) fn LLVMCreateTargetDataLayout(machine: *mut TargetMachine) -> *mut TargetData;
    pub(super) fn LLVMDisposeTargetData(layout: *mut TargetData);
    pub(super) fn LLVMTargetMachineEmitToMemoryBuffer(
        machine: *mut TargetMachine,
        module: *mut Module,
        kind: c_uint,
        error: *mut *mut c_char,
        buffer: *mut *mut MemoryBuffer,
    ) -> c_int;
    pub(super) fn LLVMGetBufferStart(buffer: *mut MemoryBuffer) -> *const u8;
    pub(super) fn LLVMGetBufferSize(buffer: *mut MemoryBuffer) -> usize;
    pub(super) fn LLVMDisposeMemoryBuffer(buffer: *mut MemoryBuffer);

    pub(super) fn LLVMCreatePassBuilderOptions() -> *mut PassOptions;
    pub(super) fn LLVMDisposePassBuilderOptions(options: *mut PassOptions);
    pub(super) fn LLVMRunPasses(
        module: *mut Module,
        passes: *const c_char,
        machine: *mut TargetMachine,
        options: *mut PassOptions,
    ) -> *mut Error;
    pub(super) fn LLVMGetErrorMessage(error: *mut Error) -> *mut c_char;
    pub(super) fn LLVMDisposeErrorMessage(message: *mut c_char);

    pub(super) fn LLVMGetModuleContext(module: *mut Module) -> *mut Context;
    pub(super) fn LLVMGetFirstFunction(module: *mut Module) -> *mut Value;
    pub(super) fn LLVMGetNextFunction(function: *mut Value) -> *mut Value;
    pub(super) fn LLVMGetFirstBasicBlock(function: *mut Value) -> *mut BasicBlock;
    pub(super) fn LLVMGetNextBasicBlock(block: *mut BasicBlock) -> *mut BasicBlock;
    pub(super) fn LLVMGetFirstInstruction(block: *mut BasicBlock) -> *mut Value;
    pub(super) fn LLVMGetNextInstruction(instruction: *mut Value) -> *mut Value;
    pub(super) fn LLVMGetInstructionParent(instruction: *mut Value) -> *mut BasicBlock;
    pub(super) fn LLVMGetInstructionOpcode(instruction: *mut Value) -> c_uint;
    pub(super) fn LLVMIsAInstruction(value: *mut Value) -> *mut Value;
    pub(super) fn LLVMGetOperand(value: *mut Value, index: c_uint) -> *mut Value;
    pub(super) fn LLVMTypeOf(value: *mut Value) -> *mut Type;
    pub(super) fn LLVMGetTypeKind(ty: *mut Type) -> c_uint;
    pub(super) fn LLVMGetElementType(ty: *mut Type) -> *mut Type;
    pub(super) fn LLVMIsAConstantInt(value: *mut Value) -> *mut Value;
    pub(super) fn LLVMReplaceAllUsesWith(old: *mut Value, new: *mut Value);
    pub(super) fn LLVMInstructionEraseFromParent(instruction: *mut Value);
    pub(super) fn LLVMGetFirstUse(value: *mut Value) -> *mut Use;
    pub(super) fn LLVMGetNextUse(at: *mut Use) -> *mut Use;
    pub(super) fn LLVMGetUser(at: *mut Use) -> *mut Value;
    pub(super) fn LLVMInstructionGetDebugLoc(instruction: *mut Value) -> *mut Metadata;
    pub(super) fn LLVMInstructionSetDebugLoc(instruction: *mut Value, location: *mut Metadata);
    pub(super) fn LLVMInstructionRemoveFromParent(instruction: *mut Value);
    pub(super) fn LLVMCreateBuilderInContext(context: *mut Context) -> *mut Builder;
    pub(super) fn LLVMDisposeBuilder(builder: *mut Builder);
    pub(super) fn LLVMPositionBuilderBefore(builder: *mut Builder, next: *mut Value);
    pub(super) fn LLVMSetCurrentDebugLocation2(builder: *mut Builder, location: *mut Metadata);
    pub(super) fn LLVMBuildExtractElement(
        builder: *mut Builder,
        vector: *mut Value,
        index: *mut Value,
        name: *const c_char,
    ) -> *mut Value;
    pub(super) fn LLVMBuildFPTrunc(
        builder: *mut Builder,
        value: *mut Value,
        to: *mut Type,
        name: *const c_char,
    ) -> *mut Value;
    pub(super) fn LLVMBuildZExt(
        builder: *mut Builder,
        value: *mut Value,
        to: *mut Type,
        name: *const c_char,
    ) -> *mut Value;
    pub(super) fn LLVMBuildShl(
        builder: *mut Builder,
        value: *mut Value,
        by: *mut Value,
        name: *const c_char,
    ) -> *mut Value;
    pub(super) fn LLVMConstInt(ty: *mut Type, value: u64, signed: c_int) -> *mut Value;
    pub(super) fn LLVMConstIntGetZExtValue(constant: *mut Value) -> u64;
    pub(super) fn LLVMGetIntTypeWidth(ty: *mut Type) -> c_uint;
    pub(super) fn LLVMInsertIntoBuilder(builder: *mut Builder, instruction: *mut Value);
}
