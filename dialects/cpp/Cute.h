// Declarations that TableGen generates for the `cute` and `cute_nvgpu` dialects.
#ifndef CUTEC_CUTE_H
#define CUTEC_CUTE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "CuteDialect.h.inc"
#include "CuteNvgpuDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "CuteAttrs.h.inc"
#undef GET_ATTRDEF_CLASSES
#define GET_TYPEDEF_CLASSES
#include "CuteTypes.h.inc"
#undef GET_TYPEDEF_CLASSES
#define GET_TYPEDEF_CLASSES
#include "CuteNvgpuTypes.h.inc"
#undef GET_TYPEDEF_CLASSES
#define GET_OP_CLASSES
#include "CuteOps.h.inc"

#endif
