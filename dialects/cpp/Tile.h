// Declarations that TableGen generates for the `tile` dialect.
#ifndef CUTEC_TILE_H
#define CUTEC_TILE_H

#include "Cute.h"

#include "TileDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "TileAttrs.h.inc"
#undef GET_ATTRDEF_CLASSES
#define GET_TYPEDEF_CLASSES
#include "TileTypes.h.inc"
#undef GET_TYPEDEF_CLASSES
#define GET_OP_CLASSES
#include "TileOps.h.inc"

#endif
