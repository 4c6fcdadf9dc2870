// The C++ face of the `tile` dialect: what TableGen generates, and the way to its verifiers in Rust.
#include "Tile.h"
#include "Verify.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cutec;

#include "TileDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "TileAttrs.cpp.inc"
#undef GET_ATTRDEF_CLASSES
#define GET_OP_CLASSES
#include "TileOps.cpp.inc"

namespace cutec::tile {
LogicalResult TvAttr::verify(llvm::function_ref<InFlightDiagnostic()> e, StringRef text) {
  Message message;
  if (cutec_verify_tile_layout(mlirStringRefCreate(text.data(), text.size()), &message))
    return success();
  return e() << message.text;
}

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "TileOps.cpp.inc"
      >();
}

#include "TileVerifiers.inc"
} // namespace cutec::tile
