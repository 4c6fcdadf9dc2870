// The upstream half of the lowering: a kernel after `convert-cute-to-gpu` to the LLVM dialect, and to LLVM IR.
#include "mlir-c/Dialect/NVVM.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace {
// As upstream's convert-scf-to-cf, from the last operation of a block to the first: each is a place where the block is
// split, and what stands behind it moves. In order an operation would move once for each branch in front of it.
// Operations around others go first, for upstream expects `scf.while` to have regions of one block.
struct ConvertBranches : PassWrapper<ConvertBranches, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertBranches)
  StringRef getArgument() const override { return "convert-branches"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<cf::ControlFlowDialect>(); }

  void runOnOperation() override {
    SmallVector<Operation *> branches;
    getOperation()->walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
      if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(op))
        branches.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));
    PatternApplicator applicator(frozen);
    applicator.applyDefaultCostModel();
    PatternRewriter rewriter(&getContext());
    for (Operation *op : branches)
      if (failed(applicator.matchAndRewrite(op, rewriter))) {
        op->emitError("has no form as branches between blocks");
        return signalPassFailure();
      }
  }
};

// As upstream's convert-gpu-to-nvvm. That begins with a greedy rewriting of the whole module, which folds and
// deletes as it goes and takes longer than the conversion; here only a module that has what it rewrites is.
struct ConvertGpuToLLVM : PassWrapper<ConvertGpuToLLVM, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertGpuToLLVM)
  StringRef getArgument() const override { return "convert-gpu-to-llvm-dialect"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
    mlirDialectHandleInsertDialect(mlirGetDialectHandle__nvvm__(), wrap(&registry));
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
      return signalPassFailure();
    // What `scf.for` says of its loop, which the branch back carries, as that branch says it.
    getOperation().walk([](LLVM::BrOp branch) {
      if (auto loop = branch->getAttrOfType<LLVM::LoopAnnotationAttr>("llvm.loop_annotation")) {
        branch.setLoopAnnotationAttr(loop);
        branch->removeDiscardableAttr("llvm.loop_annotation");
      }
    });
  }
};

// `.loc` lines and nothing else of debug information, as of upstream's ensure-debug-info-scope-on-llvm-func. That
// makes the file of each operation anew; a kernel has thousands of operations, and a hundred places.
struct LineScopes : PassWrapper<LineScopes, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LineScopes)
  StringRef getArgument() const override { return "line-scopes"; }

  LLVM::DIFileAttr file(StringRef path) {
    return LLVM::DIFileAttr::get(&getContext(), llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
  }

  LLVM::DISubprogramAttr programOf(LLVM::LLVMFuncOp function, LLVM::DIFileAttr home, unsigned line,
                                   LLVM::DICompileUnitAttr unit) {
    MLIRContext *context = &getContext();
    auto flags = LLVM::DISubprogramFlags::Optimized;
    if (function.isExternal())
      unit = {};
    else
      flags = flags | LLVM::DISubprogramFlags::Definition;
    auto id = unit ? DistinctAttr::create(UnitAttr::get(context)) : DistinctAttr();
    auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
    StringAttr name = function.getNameAttr();
    return LLVM::DISubprogramAttr::get(context, id, unit, home, name, name, home, line, line, flags, type,
                                       /*retainedNodes=*/{}, /*annotations=*/{});
  }

  // A place in another file than `home` says in which.
  Location scoped(Location location, StringRef home, LLVM::DISubprogramAttr program) {
    if (auto call = dyn_cast<CallSiteLoc>(location))
      return CallSiteLoc::get(scoped(call.getCallee(), home, program), call.getCaller());
    auto place = location->findInstanceOf<FileLineColLoc>();
    if (!place || place.getFilename() == home)
      return location;
    auto block = LLVM::DILexicalBlockFileAttr::get(program, file(place.getFilename()), /*discriminator=*/0);
    return FusedLoc::get(&getContext(), {location}, block);
  }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    constexpr StringLiteral unknown = "<unknown>";
    auto unit = LLVM::DICompileUnitAttr::get(DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C,
                                             file(unknown), StringAttr::get(context, "cutec"), /*isOptimized=*/true,
                                             LLVM::DIEmissionKind::DebugDirectivesOnly);
    getOperation().walk([&](LLVM::LLVMFuncOp function) {
      if (function.getLoc()->findInstanceOf<FusedLocWith<LLVM::DISubprogramAttr>>())
        return;
      auto place = function.getLoc()->findInstanceOf<FileLineColLoc>();
      StringRef home = place ? place.getFilename().getValue() : StringRef(unknown);
      LLVM::DISubprogramAttr program = programOf(function, file(home), place ? place.getLine() : 1, unit);
      function->setLoc(FusedLoc::get(context, {function.getLoc()}, program));
      DenseMap<Location, Location> known;
      function.getBody().walk([&](Operation *op) {
        auto [entry, isNew] = known.try_emplace(op->getLoc(), op->getLoc());
        if (isNew)
          entry->second = scoped(op->getLoc(), home, program);
        op->setLoc(entry->second);
      });
    });
  }
};
} // namespace

extern "C" void cutec_add_gpu_to_llvm(MlirPassManager manager) {
  PassManager &pm = *unwrap(manager);
  OpPassManager &gpuModule = pm.nest<gpu::GPUModuleOp>();
  // No canonicalizer and no CSE: LLVM does both, and faster.
  gpuModule.addPass(std::make_unique<ConvertBranches>());
  gpuModule.addPass(std::make_unique<ConvertGpuToLLVM>());
  gpuModule.addPass(createConvertNVVMToLLVMPass());
  gpuModule.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(std::make_unique<LineScopes>());
}

// As mlirTranslateModuleToLLVMIR without its verification: who calls verifies, and has what is wrong as text.
extern "C" LLVMModuleRef cutec_translate_to_llvm_ir(MlirOperation module, LLVMContextRef context) {
  auto translated = translateModuleToLLVMIR(unwrap(module), *llvm::unwrap(context), "LLVMDialectModule",
                                            /*disableVerification=*/true);
  return llvm::wrap(translated.release());
}

namespace {
// Leaves out what finds nothing in a kernel: straight-line strength reduction, which compares each integer with those
// before it, n-ary reassociation, and the elimination of common subexpressions around them, which the backend does once
// more at the end.
struct NoRepetitions : llvm::OptPassGate {
  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef pass, StringRef) const override {
    // All passes of a function run one after the other, on one thread.
    static thread_local StringRef before;
    bool repeats = pass == "slsr" || pass == "nary-reassociate";
    bool around = pass == "early-cse" && (before == "slsr" || before == "nary-reassociate");
    before = pass;
    return !around && !repeats;
  }
};
} // namespace

// For code generation from here on.
extern "C" void cutec_skip_repetitions(LLVMContextRef context) {
  static NoRepetitions gate;
  llvm::unwrap(context)->setOptPassGate(gate);
}

namespace {
// Uses of one integer, from which on it is hidden.
constexpr size_t MANY_COMPARISONS = 32;

// Whether an integer and a constant are compared for equality, or comparisons alone look at their sum: loop strength
// reduction looks for a formula of each such constant.
bool isCompared(const llvm::User *user) {
  if (auto *compares = dyn_cast<llvm::ICmpInst>(user))
    return compares->isEquality();
  auto *of = dyn_cast<llvm::BinaryOperator>(user);
  return of && isa<llvm::ConstantInt>(of->getOperand(1)) && !of->use_empty() &&
         llvm::all_of(of->users(), [](const llvm::User *user) { return isa<llvm::ICmpInst>(user); });
}
} // namespace

// Hides from loop strength reduction the integers that many comparisons look at, as those of a mask look at the place of a
// thread's first element: the pass takes quadratic time, and there is nothing to gain. What addresses follow from stays.
extern "C" void cutec_hide_comparisons(LLVMModuleRef module) {
  for (llvm::Function &function : *llvm::unwrap(module)) {
    for (llvm::BasicBlock &block : function) {
      for (llvm::Instruction &value : llvm::make_early_inc_range(block)) {
        // Of an index itself the backend moves the copy out of the loop.
        if (!value.getType()->isIntegerTy() || isa<llvm::PHINode>(value) || value.isTerminator())
          continue;
        llvm::SmallVector<llvm::Use *> hidden;
        for (llvm::Use &use : value.uses())
          if (isCompared(use.getUser()))
            hidden.push_back(&use);
        if (hidden.size() < MANY_COMPARISONS)
          continue;
        auto *copy = new llvm::FreezeInst(&value, "", std::next(value.getIterator()));
        for (llvm::Use *use : hidden)
          use->set(copy);
      }
    }
  }
}
