// Types of the `cute_nvgpu` dialect: the atoms.
#include "Cute.h"
#include "Verify.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cutec;

#include "CuteNvgpuDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "CuteNvgpuTypes.cpp.inc"

namespace cutec::cute_nvgpu {
LogicalResult UniversalCopyAtomType::verify(llvm::function_ref<InFlightDiagnostic()> e, Type elem, unsigned bits,
                                              StringRef hints) {
  return verifyText(e, "!cute_nvgpu.atom.universal_copy<" + textOf(elem) + ", " + std::to_string(bits) + " b" +
                           hints.str() + ">");
}
LogicalResult AsyncCopyAtomType::verify(llvm::function_ref<InFlightDiagnostic()> e, Type elem, StringRef cache, unsigned bits,
                                          StringRef hints) {
  return verifyText(e, "!cute_nvgpu.atom.simt_async_copy<" + textOf(elem) + ", cache = " + cache.str() + ", " +
                           std::to_string(bits) + " b" + hints.str() + ">");
}
LogicalResult LdsmAtomType::verify(llvm::function_ref<InFlightDiagnostic()> e, Type elem, unsigned matrices, StringRef transpose) {
  return verifyText(e, "!cute_nvgpu.atom.ldsm<val_type = " + textOf(elem) + ", num_matrices = " +
                           std::to_string(matrices) + ", " + transpose.str() + ">");
}
LogicalResult UniversalFmaAtomType::verify(llvm::function_ref<InFlightDiagnostic()> e, Type elem) {
  return verifyText(e, "!cute_nvgpu.atom.universal_fma<" + textOf(elem) + ">");
}
LogicalResult Sm80MmaAtomType::verify(llvm::function_ref<InFlightDiagnostic()> e, StringRef shape, Type a, Type b, Type c) {
  return verifyText(e, "!cute_nvgpu.sm80.mma<" + quoted(shape) + ", elem_type = (" + textOf(a) + ", " + textOf(b) + ", " +
                           textOf(c) + ")>");
}

void CuteNvgpuDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "CuteNvgpuTypes.cpp.inc"
      >();
}
} // namespace cutec::cute_nvgpu
