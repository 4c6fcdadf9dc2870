// Makes our dialects known, without what TableGen generates of them.
#ifndef CUTEC_DIALECTS_H
#define CUTEC_DIALECTS_H

namespace mlir {
class DialectRegistry;
}

namespace cutec {
// `cute` and `cute_nvgpu`.
void insertCute(mlir::DialectRegistry &registry);
// `tile`.
void insertTile(mlir::DialectRegistry &registry);
// What calls of LLVM's intrinsics do to memory.
void insertIntrinsicEffects(mlir::DialectRegistry &registry);
} // namespace cutec

#endif
