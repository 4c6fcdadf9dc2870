// The kernel ABI as an attribute: its text is read, written and checked in Rust (src/abi.rs).
#include "Cute.h"
#include "Verify.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace cutec;
using namespace cutec::cute;

Attribute AbiAttr::parse(AsmParser &parser, Type) {
  // What TableGen generates calls this from the dialect's parser, which has the whole text of the attribute.
  StringRef text = static_cast<DialectAsmParser &>(parser).getFullSymbolSpec();
  SMLoc start = SMLoc::getFromPointer(text.data());
  if (text = text.ltrim(); !text.consume_front("abi<") || !text.consume_back(">")) {
    parser.emitError(start, "expected `abi<` and a kernel ABI");
    return {};
  }
  Message canonical, message;
  intptr_t at = cutec_read_abi(mlirStringRefCreate(text.data(), text.size()), &canonical, &message);
  if (at >= 0) {
    parser.emitError(SMLoc::getFromPointer(text.data() + at), message.text);
    return {};
  }
  return get(parser.getContext(), canonical.text);
}

void AbiAttr::print(AsmPrinter &printer) const { printer << "<" << getText() << ">"; }

LogicalResult AbiAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringRef text) {
  Message canonical, message;
  if (cutec_read_abi(mlirStringRefCreate(text.data(), text.size()), &canonical, &message) < 0)
    return success();
  return emitError() << message.text;
}

LogicalResult CuteDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  Message message;
  if (cutec_verify_attribute(wrap(op), mlirStringRefCreate(name.data(), name.size()), wrap(attribute.getValue()),
                             &message))
    return success();
  return op->emitOpError() << message.text;
}

extern "C" {
MlirAttribute cutec_abi_attribute(MlirContext context, MlirStringRef text) {
  return wrap(AbiAttr::get(unwrap(context), StringRef(text.data, text.length)));
}

// The text of an ABI; nothing for another attribute.
MlirStringRef cutec_abi_text(MlirAttribute attribute) {
  auto abi = dyn_cast<AbiAttr>(unwrap(attribute));
  return abi ? mlirStringRefCreate(abi.getText().data(), abi.getText().size()) : MlirStringRef{nullptr, 0};
}
}
