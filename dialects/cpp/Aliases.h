// Aliases of types in printed IR.
#ifndef CUTEC_ALIASES_H
#define CUTEC_ALIASES_H

#include "mlir/IR/Dialect.h"

namespace cutec {
// Gives the dialect's interface for aliases to the context; it names nothing until `cutec_print_aliases`.
void addAliases(mlir::Dialect &dialect);
} // namespace cutec

#endif
