// The C++ face of the `cute` and `cute_nvgpu` dialects. It declares what
// TableGen generates and hands every question of meaning to Rust (src/ffi.rs).
#include "Aliases.h"
#include "Cute.h"
#include "Dialects.h"
#include "Verify.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cutec;

#include "CuteDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "CuteAttrs.cpp.inc"
#undef GET_ATTRDEF_CLASSES
#define GET_TYPEDEF_CLASSES
#include "CuteTypes.cpp.inc"
#undef GET_TYPEDEF_CLASSES
#define GET_OP_CLASSES
#include "CuteOps.cpp.inc"

extern "C" {
void cutec_set_message(void *message, MlirStringRef text) {
  static_cast<cutec::Message *>(message)->text = std::string(text.data, text.length);
}
void cutec_add_type(void *results, MlirStringRef text);
const void *cutec_memo(MlirContext context);
}

namespace {
// Holds what Rust has read of the context's types, for as long as the context lives.
struct Memo : DialectInterface::Base<Memo> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Memo)
  Memo(Dialect *dialect) : Base(dialect), readings(cutec_new_memo()) {}
  ~Memo() override { cutec_drop_memo(readings); }
  void *readings;
};
struct Results {
  MLIRContext *context;
  SmallVectorImpl<Type> &types;
};
} // namespace

const void *cutec_memo(MlirContext context) {
  Dialect *dialect = unwrap(context)->getLoadedDialect<cute::CuteDialect>();
  auto *memo = dialect ? dialect->getRegisteredInterface<Memo>() : nullptr;
  return memo ? memo->readings : nullptr;
}

void cutec_add_type(void *results, MlirStringRef text) {
  auto *out = static_cast<Results *>(results);
  out->types.push_back(parseType(StringRef(text.data, text.length), out->context));
}

static LogicalResult inferTypes(StringRef name, MLIRContext *context, std::optional<Location> location,
                                ValueRange operands, Attribute attributes, SmallVectorImpl<Type> &types) {
  SmallVector<MlirType> given;
  for (Value operand : operands)
    given.push_back(wrap(operand.getType()));
  Message message;
  Results results{context, types};
  bool legal = cutec_infer(mlirStringRefCreate(name.data(), name.size()), given.size(), given.data(), wrap(attributes),
                           &message, &results);
  if (legal && !llvm::is_contained(types, Type()))
    return success();
  return emitOptionalError(location, message.text);
}

static bool compatibleTypes(TypeRange inferred, TypeRange declared) {
  return llvm::equal(inferred, declared, [](Type a, Type b) { return a == b || cutec_compatible(wrap(a), wrap(b)); });
}

namespace cutec::cute {
#define TEXT_TYPE(NAME, MNEMONIC)                                                                      \
  LogicalResult NAME##Type::verify(llvm::function_ref<InFlightDiagnostic()> e, StringRef text) {      \
    return verifyText(e, "!cute." MNEMONIC "<" + quoted(text) + ">");                                 \
  }                                                                                                    \
  LogicalResult NAME##Attr::verify(llvm::function_ref<InFlightDiagnostic()> e, StringRef text) {      \
    return verifyText(e, "!cute." MNEMONIC "<" + quoted(text) + ">");                                 \
  }
TEXT_TYPE(IntTuple, "int_tuple")
TEXT_TYPE(Coord, "coord")
TEXT_TYPE(Shape, "shape")
TEXT_TYPE(Stride, "stride")
TEXT_TYPE(Tile, "tile")
TEXT_TYPE(Layout, "layout")
TEXT_TYPE(ComposedLayout, "composed_layout")
TEXT_TYPE(Swizzle, "swizzle")
#undef TEXT_TYPE

LogicalResult TargetAttr::verify(llvm::function_ref<InFlightDiagnostic()> e, StringRef name) {
  Message message;
  if (cutec_verify_target(mlirStringRefCreate(name.data(), name.size()), &message))
    return success();
  return e() << message.text;
}

static std::string pointee(Type elem, StringRef space, unsigned align) {
  return textOf(elem) + ", " + space.str() + ", align<" + std::to_string(align) + ">";
}
LogicalResult PtrType::verify(llvm::function_ref<InFlightDiagnostic()> e, Type elem, StringRef space, unsigned align) {
  return verifyText(e, "!cute.ptr<" + pointee(elem, space, align) + ">");
}
LogicalResult MemRefType::verify(llvm::function_ref<InFlightDiagnostic()> e, Type elem, StringRef space,
                                 unsigned align, StringRef layout) {
  return verifyText(e, "!cute.memref<" + pointee(elem, space, align) + ", " + quoted(layout) + ">");
}
LogicalResult CoordTensorType::verify(llvm::function_ref<InFlightDiagnostic()> e, StringRef base, StringRef layout) {
  return verifyText(e, "!cute.coord_tensor<" + quoted(base) + ", " + quoted(layout) + ">");
}
LogicalResult TiledCopyType::verify(llvm::function_ref<InFlightDiagnostic()> e, Type atom, StringRef tv, StringRef tiler) {
  return verifyText(e, "!cute.tiled_copy<" + textOf(atom) + ", layout_copy_tv = <" + quoted(tv) + ">, tiler_mn = <" +
                           quoted(tiler) + ">>");
}
LogicalResult TiledMmaType::verify(llvm::function_ref<InFlightDiagnostic()> e, Type atom, StringRef layout, StringRef perm) {
  return verifyText(e, "!cute.tiled_mma<" + textOf(atom) + ", atom_layout_MNK = <" + quoted(layout) +
                           ">, permutation_MNK = <" + quoted(perm) + ">>");
}

void CuteDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "CuteAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "CuteTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "CuteOps.cpp.inc"
      >();
  addInterfaces<Memo>();
  addAliases(*this);
}

// The type of a static value says all of it: as a constant it is that type.
OpFoldResult StaticOp::fold(FoldAdaptor) { return TypeAttr::get(getResult().getType()); }

Operation *CuteDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location location) {
  auto constant = dyn_cast<TypeAttr>(value);
  if (!constant || constant.getValue() != type)
    return nullptr;
  return StaticOp::create(builder, location, type);
}

#include "CuteVerifiers.inc"
} // namespace cutec::cute

void cutec::insertCute(DialectRegistry &registry) { registry.insert<cute::CuteDialect, cute_nvgpu::CuteNvgpuDialect>(); }
