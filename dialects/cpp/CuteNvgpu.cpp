// The `cute_nvgpu` dialect: the atoms. Rust reads and prints them (src/atoms).
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
Type CuteNvgpuDialect::parseType(DialectAsmParser &parser) const {
  // All of the type behind the name of the dialect; MLIR goes on behind it.
  StringRef written = parser.getFullSymbolSpec();
  Message message, printed;
  if (cutec_read_atom(mlirStringRefCreate(written.data(), written.size()), &message, &printed))
    return AtomType::get(getContext(), printed.text);
  parser.emitError(parser.getNameLoc(), message.text);
  return Type();
}

void CuteNvgpuDialect::printType(Type type, DialectAsmPrinter &printer) const {
  printer << cast<AtomType>(type).getText();
}

void CuteNvgpuDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "CuteNvgpuTypes.cpp.inc"
      >();
}
} // namespace cutec::cute_nvgpu
