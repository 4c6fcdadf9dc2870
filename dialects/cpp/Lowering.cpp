// The upstream half of the lowering: a kernel after `convert-cute-to-gpu` to the LLVM dialect, and to LLVM IR.
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace {
// As upstream's convert-gpu-to-nvvm. That begins with a greedy rewriting of the whole module, which folds and
// deletes as it goes and takes longer than the conversion; here only a module that has what it rewrites is.
struct ConvertGpuToLLVM : PassWrapper<ConvertGpuToLLVM, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertGpuToLLVM)
  StringRef getArgument() const override { return "convert-gpu-to-llvm-dialect"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }

  static bool isRewritten(Operation *op) {
    auto elements = dyn_cast<vector::FromElementsOp>(op);
    return isa<gpu::AllReduceOp, gpu::GlobalIdOp, gpu::ShuffleOp, gpu::SubgroupIdOp>(op) ||
           (elements && elements.getDest().getType().getRank() > 1);
  }

  LogicalResult rewrite() {
    auto walk = [](Operation *op) { return isRewritten(op) ? WalkResult::interrupt() : WalkResult::advance(); };
    if (!getOperation().walk(walk).wasInterrupted())
      return success();
    RewritePatternSet patterns(&getContext());
    populateGpuRewritePatterns(patterns);
    vector::populateVectorFromElementsUnrollPatterns(patterns);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  void runOnOperation() override {
    if (failed(rewrite()))
      return signalPassFailure();
    LowerToLLVMOptions options(&getContext());
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(&getContext(), options);
    configureGpuToNVVMTypeConverter(converter);
    RewritePatternSet patterns(&getContext());
    LLVMConversionTarget target(getContext());
    populateGpuToNVVMConversionPatterns(converter, patterns, /*benefit=*/10);
    for (Dialect *dialect : getContext().getLoadedDialects())
      if (auto *lowering = dyn_cast<ConvertToLLVMPatternInterface>(dialect))
        lowering->populateConvertToLLVMConversionPatterns(target, converter, patterns);
    configureGpuToNVVMConversionLegality(target);
    // Whoever fails gives up the module: nothing to roll back.
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace

extern "C" void cutec_add_gpu_to_llvm(MlirPassManager manager) {
  PassManager &pm = *unwrap(manager);
  OpPassManager &gpuModule = pm.nest<gpu::GPUModuleOp>();
  // No canonicalizer and no CSE: LLVM does both, and faster.
  SCFToControlFlowPassOptions branches;
  branches.allowPatternRollback = false;
  gpuModule.addPass(createSCFToControlFlowPass(branches));
  gpuModule.addPass(std::make_unique<ConvertGpuToLLVM>());
  gpuModule.addPass(createConvertNVVMToLLVMPass());
  gpuModule.addPass(createReconcileUnrealizedCastsPass());
  // `.loc` lines and nothing else of debug information.
  LLVM::DIScopeForLLVMFuncOpPassOptions scope;
  scope.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(scope));
}

// As mlirTranslateModuleToLLVMIR without its verification: who calls verifies, and has what is wrong as text.
extern "C" LLVMModuleRef cutec_translate_to_llvm_ir(MlirOperation module, LLVMContextRef context) {
  auto translated = translateModuleToLLVMIR(unwrap(module), *llvm::unwrap(context), "LLVMDialectModule",
                                            /*disableVerification=*/true);
  return llvm::wrap(translated.release());
}
