// The C++ face of the `tile` dialect: what TableGen generates, and the way to its verifiers in Rust.
#include "Tile.h"
#include "Dialects.h"
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
#define GET_TYPEDEF_CLASSES
#include "TileTypes.cpp.inc"
#undef GET_TYPEDEF_CLASSES
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
  addTypes<
#define GET_TYPEDEF_LIST
#include "TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "TileOps.cpp.inc"
      >();
}

#include "TileVerifiers.inc"
} // namespace cutec::tile

// What a declared format generates keeps the body to itself until the end. Where the text is wrong behind it, operations
// before it that name a value of the body are left with uses of what is freed. A body that the state has is cleaned up.
static ParseResult parseWithBody(OpAsmParser &parser, OperationState &result) {
  Region *body = result.addRegion();
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  FunctionType type;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseOperandList(inputs, OpAsmParser::Delimiter::Paren) || parser.parseRegion(*body) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  result.addTypes(type.getResults());
  return parser.resolveOperands(inputs, type.getInputs(), at, result.operands);
}

static void printWithBody(OpAsmPrinter &printer, Operation *op) {
  printer << "(" << op->getOperands() << ") ";
  printer.printRegion(op->getRegion(0));
  printer.printOptionalAttrDict(op->getAttrs());
  printer << " : ";
  printer.printFunctionalType(op);
}

#define WITH_BODY(Op)                                                                                                \
  ParseResult cutec::tile::Op::parse(OpAsmParser &parser, OperationState &result) {                                   \
    return parseWithBody(parser, result);                                                                            \
  }                                                                                                                  \
  void cutec::tile::Op::print(OpAsmPrinter &printer) { printWithBody(printer, *this); }
WITH_BODY(MapOp)
WITH_BODY(FoldOp)
WITH_BODY(ScanOp)
#undef WITH_BODY

void cutec::insertTile(DialectRegistry &registry) { registry.insert<tile::TileDialect>(); }
