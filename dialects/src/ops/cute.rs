//! The operations of the `cute` dialect; `cpp/Cute.td` and `semantics` say what they mean.
use super::{accessors, operations};
use crate::value::TupleKind;

operations! {
    /// An operation of the `cute` dialect.
    #[allow(missing_docs)]
    CuteOp in "cute." {
        Static = "static",
        Print = "print",
        MakeIntTuple = "make_int_tuple",
        MakeShape = "make_shape",
        MakeStride = "make_stride",
        MakeCoord = "make_coord",
        MakeTile = "make_tile",
        MakeLayout = "make_layout",
        MakeComposedLayout = "make_composed_layout",
        MakeLayoutLike = "make_layout_like",
        MakeOrderedLayout = "make_ordered_layout",
        MakeIdentityLayout = "make_identity_layout",
        MakeIdentityTensor = "make_identity_tensor",
        MakeView = "make_view",
        Assume = "assume",
        GetShape = "get_shape",
        GetStride = "get_stride",
        ComposedGetInner = "composed_get_inner",
        ComposedGetOffset = "composed_get_offset",
        ComposedGetOuter = "composed_get_outer",
        GetLeaves = "get_leaves",
        GetScalars = "get_scalars",
        GetLayoutsFromTile = "get_layouts_from_tile",
        GetLayout = "get_layout",
        GetIter = "get_iter",
        RecastIter = "recast_iter",
        Get = "get",
        Select = "select",
        ToIntTuple = "to_int_tuple",
        ToShape = "to_shape",
        ToStride = "to_stride",
        ToCoord = "to_coord",
        GetScalar = "get_scalar",
        Size = "size",
        Cosize = "cosize",
        TupleProduct = "tuple_product",
        TupleProductEach = "tuple_product_each",
        LayoutEval = "layout_eval",
        Crd2idx = "crd2idx",
        Idx2crd = "idx2crd",
        IncrementCoord = "increment_coord",
        AppendToRank = "append_to_rank",
        PrependToRank = "prepend_to_rank",
        TupleAdd = "tuple_add",
        TupleSub = "tuple_sub",
        ShapeDiv = "shape_div",
        CeilDiv = "ceil_div",
        ElemLess = "elem_less",
        Equal = "equal",
        Composition = "composition",
        Coalesce = "coalesce",
        Flatten = "flatten",
        Complement = "complement",
        RightInverse = "right_inverse",
        LeftInverse = "left_inverse",
        GroupModes = "group_modes",
        RecastLayout = "recast_layout",
        Slice = "slice",
        Dice = "dice",
        LogicalProduct = "logical_product",
        ZippedProduct = "zipped_product",
        TiledProduct = "tiled_product",
        FlatProduct = "flat_product",
        RakedProduct = "raked_product",
        BlockedProduct = "blocked_product",
        LogicalDivide = "logical_divide",
        ZippedDivide = "zipped_divide",
        TiledDivide = "tiled_divide",
        FlatDivide = "flat_divide",
        TileToShape = "tile_to_shape",
        LocalTile = "local_tile",
        DomainOffset = "domain_offset",
        MapSharedRank = "map_shared_rank",
        TiledCopyPartitionS = "tiled.copy.partition_S",
        TiledCopyPartitionD = "tiled.copy.partition_D",
        TiledCopyRetile = "tiled.copy.retile",
        TiledMmaPartition = "tiled.mma.partition",
        MemrefAlloca = "memref.alloca",
        MemrefAllocSmem = "memref.alloc_smem",
        MmaMakeFragment = "mma.make_fragment",
        MakeFragmentLike = "make_fragment_like",
        MemrefLoad = "memref.load",
        MemrefStore = "memref.store",
        MemrefLoadVec = "memref.load_vec",
        MemrefAtomic = "memref.atomic",
        MemrefStoreVec = "memref.store_vec",
        MbarrierInit = "mbarrier.init",
        MbarrierInval = "mbarrier.inval",
        MbarrierArrive = "mbarrier.arrive",
        MbarrierArriveWithinCta = "mbarrier.arrive_within_cta",
        MbarrierExpectTx = "mbarrier.expect_tx",
        MbarrierArriveExpectTx = "mbarrier.arrive_expect_tx",
        MbarrierCpAsyncArrive = "mbarrier.cp_async_arrive",
        MbarrierCpAsyncArriveNoinc = "mbarrier.cp_async_arrive_noinc",
        MbarrierWait = "mbarrier.wait",
        MbarrierWaitAcrossCluster = "mbarrier.wait_across_cluster",
        MbarrierTryWait = "mbarrier.try_wait",
        MbarrierTestWait = "mbarrier.test_wait",
        StoreAsync = "store_async",
        ReduceAsync = "reduce_async",
        MakeTmaAtom = "make_tma_atom",
        PrefetchTmaDesc = "prefetch_tma_desc",
        CopyTmaDesc = "copy_tma_desc",
        UpdateTmaDesc = "update_tma_desc",
        CpFenceTmaDescRelease = "cp_fence_tma_desc_release",
        FenceTmaDescAcquire = "fence_tma_desc_acquire",
        Copy = "copy",
        Prefetch = "prefetch",
        AutovecCopy = "autovec_copy",
        Gemm = "gemm",
    }
}

accessors! {
    /// A value that is printed.
    Print is CuteOp::Print, 1 operand { operand value 0; }
    /// The run-time integers of a tuple.
    GetScalars is CuteOp::GetScalars, 1 operand { operand input 0; }
    /// A comparison of two tuples.
    Comparison is CuteOp::Equal | CuteOp::ElemLess, 2 operands { operand lhs 0; operand rhs 1; }
    /// What is known of a value besides.
    Assume is CuteOp::Assume, 1 operand { operand input 0; }
    /// One element of a view, or a vector of neighbours.
    MemrefLoad is CuteOp::MemrefLoad | CuteOp::MemrefLoadVec, 1 operand { operand view 0; operands at 1 0; }
    /// One element, or a vector of neighbours, that is written to a view.
    MemrefStore is CuteOp::MemrefStore | CuteOp::MemrefStoreVec, 2 operands {
        operand value 0; operand view 1; operands at 2 0;
    }
    /// An element of a view that is updated; behind the coordinate the numbers of the update.
    MemrefAtomic is CuteOp::MemrefAtomic, 2 operands {
        operand view 0; operand coordinate 1; operands numbers 2 0;
        attribute kind;
    }
    /// A vector that is written to shared memory of another block.
    StoreAsync is CuteOp::StoreAsync, 4 operands {
        operand value 0; operand view 1; operand barriers 2; operand which 3;
    }
    /// An update of an element in shared memory of another block.
    ReduceAsync is CuteOp::ReduceAsync, 5 operands {
        operand view 0; operand coordinate 1; operand value 2; operand barriers 3; operand which 4;
        attribute kind;
    }
    /// A copy by an atom, a tiled copy or a tensor map.
    Copy is CuteOp::Copy, 1 operand { operand atom 0; operands rest 1 0; }
    /// What takes the tensor map of an atom that `make_tma_atom` has made.
    UseOfTensorMap is CuteOp::Copy | CuteOp::Prefetch | CuteOp::PrefetchTmaDesc | CuteOp::CopyTmaDesc, 1 operand {
        operand atom 0;
    }
    /// The atom of a tensor map.
    MakeTmaAtom is CuteOp::MakeTmaAtom, 1 operand { operand map 0; }
    /// A product of fragments, `d = a · b + c`; behind them whether it adds to `c`, where that is not always, and the metadata
    /// of a sparse `a`.
    Gemm is CuteOp::Gemm, 5 operands {
        operand mma 0; operand d 1; operand a 2; operand b 3; operand c 4; operands adds 5 0;
    }
}

impl CuteOp {
    /// What makes a tuple of its run-time integers.
    pub fn make_tuple(kind: TupleKind) -> CuteOp {
        match kind {
            TupleKind::IntTuple => CuteOp::MakeIntTuple,
            TupleKind::Coord => CuteOp::MakeCoord,
            TupleKind::Shape => CuteOp::MakeShape,
            TupleKind::Stride => CuteOp::MakeStride,
        }
    }

    /// Whether an operation is for its effect alone: it gives nothing.
    pub fn is_statement(self) -> bool {
        use CuteOp::{AutovecCopy, Copy, Gemm, MemrefStore, MemrefStoreVec};
        use CuteOp::{CopyTmaDesc, CpFenceTmaDescRelease, FenceTmaDescAcquire, UpdateTmaDesc};
        use CuteOp::{Prefetch, PrefetchTmaDesc, Print, ReduceAsync, StoreAsync};
        matches!(
            self,
            Print
                | MemrefStore
                | MemrefStoreVec
                | StoreAsync
                | ReduceAsync
                | Copy
                | AutovecCopy
                | Gemm
                | Prefetch
                | PrefetchTmaDesc
                | CopyTmaDesc
                | UpdateTmaDesc
                | CpFenceTmaDescRelease
                | FenceTmaDescAcquire
        ) || self.is_mbarrier() && !self.asks_mbarrier()
    }

    /// Whether an operation is one on a barrier in shared memory.
    pub fn is_mbarrier(self) -> bool {
        use CuteOp::{
            MbarrierArrive, MbarrierArriveExpectTx, MbarrierArriveWithinCta, MbarrierExpectTx,
        };
        use CuteOp::{MbarrierCpAsyncArrive, MbarrierCpAsyncArriveNoinc};
        use CuteOp::{MbarrierInit, MbarrierInval};
        use CuteOp::{MbarrierTestWait, MbarrierTryWait, MbarrierWait, MbarrierWaitAcrossCluster};
        matches!(
            self,
            MbarrierInit
                | MbarrierInval
                | MbarrierArrive
                | MbarrierArriveWithinCta
                | MbarrierExpectTx
                | MbarrierArriveExpectTx
                | MbarrierCpAsyncArrive
                | MbarrierCpAsyncArriveNoinc
                | MbarrierWait
                | MbarrierWaitAcrossCluster
                | MbarrierTryWait
                | MbarrierTestWait
        )
    }

    /// Whether an operation asks whether a phase of a barrier has ended.
    pub fn asks_mbarrier(self) -> bool {
        matches!(self, CuteOp::MbarrierTryWait | CuteOp::MbarrierTestWait)
    }

    /// Whether an operation makes something new each time: it is never computed once for two, nor while compiling.
    pub fn allocates(self) -> bool {
        use CuteOp::{MakeFragmentLike, MemrefAllocSmem, MemrefAlloca, MmaMakeFragment};
        matches!(
            self,
            MemrefAlloca | MemrefAllocSmem | MmaMakeFragment | MakeFragmentLike
        )
    }

    /// Whether an operation repeats a layout by another one.
    pub fn is_product(self) -> bool {
        use CuteOp::{BlockedProduct, FlatProduct, LogicalProduct};
        use CuteOp::{RakedProduct, TiledProduct, ZippedProduct};
        matches!(
            self,
            LogicalProduct
                | ZippedProduct
                | TiledProduct
                | FlatProduct
                | RakedProduct
                | BlockedProduct
        )
    }

    /// Whether an operation has any number of results.
    pub fn has_many_results(self) -> bool {
        use CuteOp::{GetLayoutsFromTile, GetLeaves, GetScalars};
        matches!(self, GetLeaves | GetScalars | GetLayoutsFromTile)
    }
}
