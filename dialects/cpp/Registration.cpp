// What a cutec process registers: the dialects it reads and writes, the
// conversions to LLVM, the translation to LLVM IR, the opt driver and the language server. Listing
// them (rather than everything that MLIR has) halves the size of the programs.
// A dialect of MLIR is named through its C interface: to read the headers of NVVM alone takes the C++ compiler half a minute.
#include "Dialects.h"
#include "Verify.h"

#include "mlir-c/Dialect/Arith.h"
#include "mlir-c/Dialect/ControlFlow.h"
#include "mlir-c/Dialect/DLTI.h"
#include "mlir-c/Dialect/Func.h"
#include "mlir-c/Dialect/GPU.h"
#include "mlir-c/Dialect/Index.h"
#include "mlir-c/Dialect/LLVM.h"
#include "mlir-c/Dialect/Math.h"
#include "mlir-c/Dialect/MemRef.h"
#include "mlir-c/Dialect/NVVM.h"
#include "mlir-c/Dialect/SCF.h"
#include "mlir-c/Dialect/UB.h"
#include "mlir-c/Dialect/Vector.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

static void insertDialects(DialectRegistry &r) {
  for (MlirDialectHandle dialect :
       {mlirGetDialectHandle__arith__(), mlirGetDialectHandle__cf__(), mlirGetDialectHandle__dlti__(),
        mlirGetDialectHandle__func__(), mlirGetDialectHandle__gpu__(), mlirGetDialectHandle__index__(),
        mlirGetDialectHandle__llvm__(), mlirGetDialectHandle__nvvm__(), mlirGetDialectHandle__math__(),
        mlirGetDialectHandle__memref__(), mlirGetDialectHandle__scf__(), mlirGetDialectHandle__ub__(),
        mlirGetDialectHandle__vector__()})
    mlirDialectHandleInsertDialect(dialect, wrap(&r));
  cutec::insertCute(r);
  cutec::insertTile(r);
  cutec::insertIntrinsicEffects(r);
  // Without these, convert-gpu-to-nvvm leaves block arguments unconverted.
  arith::registerConvertArithToLLVMInterface(r);
  cf::registerConvertControlFlowToLLVMInterface(r);
  index::registerConvertIndexToLLVMInterface(r);
  registerConvertFuncToLLVMInterface(r);
  registerConvertMathToLLVMInterface(r);
  registerConvertMemRefToLLVMInterface(r);
  registerConvertNVVMToLLVMInterface(r);
  NVVM::registerConvertGpuToNVVMInterface(r);
  ub::registerConvertUBToLLVMInterface(r);
  vector::registerConvertVectorToLLVMInterface(r);
  registerBuiltinDialectTranslation(r);
  registerGPUDialectTranslation(r);
  registerLLVMDialectTranslation(r);
  registerNVVMDialectTranslation(r);
}

// Those of MLIR; `cutec_register_pass` adds our own.
static void registerPasses() {
  registerTransformsPasses();
  registerPass([] { return createSCFToControlFlowPass(); });
  registerPass([] { return createConvertGpuOpsToNVVMOps(); });
  registerPass([] { return createReconcileUnrealizedCastsPass(); });
}

// Reports what MLIR's parser must not see of a text, in MLIR's way.
static LogicalResult refuseUnreadable(llvm::MemoryBufferRef text) {
  if (isBytecode(text))
    return success();
  cutec::Message message;
  intptr_t at = cutec_unreadable(mlirStringRefCreate(text.getBufferStart(), text.getBufferSize()), &message);
  if (at < 0)
    return success();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());
  sources.PrintMessage(llvm::SMLoc::getFromPointer(text.getBufferStart() + at), llvm::SourceMgr::DK_Error,
                       message.text);
  return failure();
}

// As MlirOptMain, but the text is looked at before it is parsed.
static LogicalResult optMain(int argc, char **argv, DialectRegistry &registry) {
  auto [inputName, outputName] =
      registerAndParseCLIOptions(argc, argv, "cute-opt: runs cutec's passes on MLIR\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, inputName, outputName, registry);
  llvm::InitLLVM init(argc, argv);
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputName, &problem);
  std::unique_ptr<llvm::ToolOutputFile> output = input ? openOutputFile(outputName, &problem) : nullptr;
  if (!output) {
    llvm::errs() << problem << "\n";
    return failure();
  }
  if (failed(refuseUnreadable(*input)) || failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  output->keep();
  return success();
}

extern "C" {
void cutec_insert_dialects(MlirDialectRegistry registry) { insertDialects(*unwrap(registry)); }

// MLIR's elimination of common subexpressions in an operation, outside of a pass manager.
void cutec_merge_equal(MlirOperation op) {
  IRRewriter rewriter(unwrap(op)->getContext());
  DominanceInfo dominance(unwrap(op));
  eliminateCommonSubExpressions(rewriter, dominance, unwrap(op));
}

// Erases what is inside of an operation and does nothing but give results, of which nothing takes one: users first.
void cutec_erase_dead(MlirOperation op) {
  unwrap(op)->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *inside) {
    if (isOpTriviallyDead(inside))
      inside->erase();
  });
}

// Whether neither an operation nor those inside of it read or write memory, by MLIR's interfaces.
bool cutec_has_no_effect(MlirOperation op) { return isMemoryEffectFree(unwrap(op)); }

void cutec_emit_warning(MlirLocation location, MlirStringRef text) { emitWarning(unwrap(location)) << unwrap(text); }

// Makes a Rust pass known to the pass pipeline parser (and so to cute-opt), by its index in Rust's list.
void cutec_register_pass(MlirPass (*make)(size_t), size_t index) {
  registerPass([make, index] { return std::unique_ptr<Pass>(unwrap(make(index))); });
}

// Makes a comma-separated list of registered passes known under a name. The texts live as long as the process.
void cutec_register_pipeline(MlirStringRef name, MlirStringRef summary, MlirStringRef passes) {
  StringRef list = unwrap(passes);
  registerPassPipeline(
      unwrap(name), unwrap(summary),
      [list](OpPassManager &manager, StringRef, llvm::function_ref<LogicalResult(const Twine &)>) {
        return parsePassPipeline(list, manager);
      },
      [](llvm::function_ref<void(const detail::PassOptions &)>) {});
}

// Parses a module whose locations carry `name`, without verifying it; a NUL stands behind the text. Verifiers of
// other dialects trust what they are given, so the caller looks at the module first (src/readable).
MlirModule cutec_parse(MlirContext context, MlirStringRef text, MlirStringRef name) {
  ParserConfig config(unwrap(context), /*verifyAfterParse=*/false);
  return wrap(parseSourceString<ModuleOp>(unwrap(text), config, unwrap(name)).release());
}

int cutec_opt_main(int argc, char **argv) {
  DialectRegistry registry;
  insertDialects(registry);
  registerPasses();
  return asMainReturnCode(optMain(argc, argv, registry));
}

int cutec_lsp_main(int argc, char **argv) {
  DialectRegistry registry;
  insertDialects(registry);
  return asMainReturnCode(MlirLspServerMain(argc, argv, registry));
}
}
