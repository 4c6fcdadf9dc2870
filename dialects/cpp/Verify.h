// Helpers of all dialects: keywords in types, and the call into Rust.
#ifndef CUTEC_VERIFY_H
#define CUTEC_VERIFY_H

#include "mlir/CAPI/IR.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/raw_ostream.h"

// A keyword parameter (a memory space) printed without quotes.
static inline mlir::ParseResult parseSpace(mlir::AsmParser &parser, std::string &word) {
  llvm::StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return mlir::failure();
  word = keyword.str();
  return mlir::success();
}
static inline void printSpace(mlir::AsmPrinter &printer, llvm::StringRef word) { printer << word; }

namespace cutec {
// Rust writes its message through this and never keeps the pointer.
struct Message {
  std::string text;
};
} // namespace cutec

extern "C" {
// Implemented in Rust (src/ffi.rs). True when legal; else the message is set.
bool cutec_verify_type(MlirStringRef text, void *message);
// The text of an atom's type as it is printed, from the one that was written, both without the name of the dialect.
bool cutec_read_atom(MlirStringRef written, void *message, void *printed);
bool cutec_verify_tile_layout(MlirStringRef text, void *message);
bool cutec_verify_op(MlirOperation op, void *message);
bool cutec_verify_target(MlirStringRef name, void *message);
// Where a text must not reach MLIR's parser, with a message; -1 where it may.
intptr_t cutec_unreadable(MlirStringRef text, void *message);
// Gives the text of each result type to `cutec_add_type`, in order.
bool cutec_infer(MlirStringRef name, intptr_t count, const MlirType *operands, MlirAttribute attributes, void *message,
                 void *results);
// Where a text is no kernel ABI, with a message; or -1, and the text as Rust writes it.
intptr_t cutec_read_abi(MlirStringRef text, void *canonical, void *message);
// Whether an operation may carry this attribute of the dialect.
bool cutec_verify_attribute(MlirOperation op, MlirStringRef name, MlirAttribute attribute, void *message);
// What Rust reads of a context's types (src/memo.rs).
void *cutec_new_memo();
void cutec_drop_memo(void *memo);
// Whether a result may be declared as the second type where the first is inferred.
bool cutec_compatible(MlirType inferred, MlirType declared);
}

namespace cutec {
inline llvm::LogicalResult verifyText(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, const std::string &text) {
  Message message;
  if (cutec_verify_type(mlirStringRefCreate(text.data(), text.size()), &message))
    return mlir::success();
  return emitError() << message.text;
}
inline llvm::LogicalResult verifyOperation(mlir::Operation *op) {
  Message message;
  if (cutec_verify_op(wrap(op), &message))
    return mlir::success();
  return op->emitOpError() << message.text;
}
inline std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}
inline std::string quoted(llvm::StringRef text) { return ("\"" + text + "\"").str(); }
} // namespace cutec

#endif
