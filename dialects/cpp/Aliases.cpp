// Aliases in printed IR. A kernel's ABI, which takes many lines, always has one: `#abi_NAME`. Types have them only
// where a reader asked for them (src/printing.rs), since other tools compare types as they are written in full:
// `!memref_smem_bf16` for a view, `!layout` for a long layout, `!mma_…` for a tiled MMA, in the manner of NVIDIA's
// CuTe DSL.
#include "Aliases.h"
#include "Cute.h"

#include "mlir/CAPI/IR.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cutec;

namespace {
// Texts of at most this many characters are read more quickly than looked up.
constexpr size_t shortText = 24;

struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  bool wanted = false;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    auto abi = dyn_cast<cute::AbiAttr>(attribute);
    if (!abi)
      return AliasResult::NoAlias;
    // The text begins with the kernel's name in quotes.
    os << "abi_" << abi.getText().split('"').second.split('"').first;
    return AliasResult::FinalAlias;
  }

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!wanted)
      return AliasResult::NoAlias;
    return TypeSwitch<Type, AliasResult>(type)
        .Case([&](cute::MemRefType view) {
          os << "memref_" << view.getSpace() << "_" << view.getElem();
          return AliasResult::FinalAlias;
        })
        .Case([&](cute::TiledCopyType copy) {
          os << "tiled_copy" << instruction(copy.getAtom());
          return AliasResult::FinalAlias;
        })
        .Case([&](cute::TiledMmaType mma) {
          os << "tiled_mma" << instruction(mma.getAtom());
          return AliasResult::FinalAlias;
        })
        .Case([&](cute::CoordTensorType) {
          os << "coord_tensor";
          return AliasResult::FinalAlias;
        })
        .Case([&](cute::LayoutType layout) { return longText(layout, os); })
        .Case([&](cute::ComposedLayoutType layout) { return longText(layout, os); })
        .Case([&](cute::ShapeType shape) { return longText(shape, os); })
        .Case([&](cute::StrideType stride) { return longText(stride, os); })
        .Case([&](cute::CoordType coord) { return longText(coord, os); })
        .Case([&](cute::TileType tile) { return longText(tile, os); })
        .Default(AliasResult::NoAlias);
  }

private:
  template <typename T>
  static AliasResult longText(T type, raw_ostream &os) {
    if (type.getText().size() <= shortText)
      return AliasResult::NoAlias;
    os << T::getMnemonic();
    return AliasResult::FinalAlias;
  }

  // An atom's name in its dialect: `_universal_copy`, `_ldsm`, `_sm80_mma`.
  static std::string instruction(Type atom) {
    std::string text;
    llvm::raw_string_ostream(text) << atom;
    StringRef name = StringRef(text).split('<').first.split('.').second;
    name.consume_front("atom.");
    std::string words = "_" + name.str();
    llvm::replace(words, '.', '_');
    return words;
  }
};
} // namespace

void cutec::addAliases(Dialect &dialect) { dialect.addInterface<Aliases>(); }

extern "C" void cutec_print_aliases(MlirContext context, bool wanted) {
  Dialect *dialect = unwrap(context)->getLoadedDialect<cute::CuteDialect>();
  if (auto *aliases = dialect ? dialect->getRegisteredInterface<OpAsmDialectInterface>() : nullptr)
    static_cast<Aliases *>(aliases)->wanted = wanted;
}
