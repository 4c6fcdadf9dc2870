// Effects of the intrinsics of LLVM that are called by name (`llvm.call_intrinsic`), of which MLIR knows nothing: a call that neither reads
// nor writes memory is a computation like any other, to be merged, erased and moved as such.
#include "Dialects.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;

// What LLVM says of an intrinsic; of a name that it does not know, that it does anything.
static bool touchesMemory(StringRef name) {
  llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
  if (id == llvm::Intrinsic::not_intrinsic)
    return true;
  thread_local llvm::LLVMContext context;
  llvm::AttributeSet attributes = llvm::Intrinsic::getFnAttributes(context, id);
  return !attributes.getMemoryEffects().doesNotAccessMemory();
}

namespace cutec {
struct CallEffects : MemoryEffectOpInterface::FallbackModel<CallEffects> {
  void getEffects(Operation *call, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    auto name = call->getAttrOfType<StringAttr>("intrin");
    if (name && !touchesMemory(name.getValue()))
      return;
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
};

// By the names of dialect and operation: the C++ compiler takes long to read the headers of MLIR's LLVM dialect.
struct IntrinsicEffects : DialectExtensionBase {
  IntrinsicEffects() : DialectExtensionBase({"llvm"}) {}
  void apply(MLIRContext *context, MutableArrayRef<Dialect *>) const override {
    if (auto call = RegisteredOperationName::lookup("llvm.call_intrinsic", context))
      call->attachInterface<CallEffects>();
  }
  std::unique_ptr<DialectExtensionBase> clone() const override { return std::make_unique<IntrinsicEffects>(*this); }
};
} // namespace cutec

void cutec::insertIntrinsicEffects(DialectRegistry &registry) {
  registry.addExtension(TypeID::get<IntrinsicEffects>(), std::make_unique<IntrinsicEffects>());
}
