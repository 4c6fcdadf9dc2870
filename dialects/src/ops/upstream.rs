//! Operations of upstream dialects, as far as cutec builds them or asks for them. `arith` is complete: what has
//! no row is of no arithmetic.
use super::operations;

operations! {
    /// An operation of the `arith` dialect.
    #[allow(missing_docs)]
    ArithOp in "arith." {
        Addf = "addf",
        Addi = "addi",
        AdduiExtended = "addui_extended",
        Andi = "andi",
        Bitcast = "bitcast",
        Ceildivsi = "ceildivsi",
        Ceildivui = "ceildivui",
        Cmpf = "cmpf",
        Cmpi = "cmpi",
        Constant = "constant",
        Divf = "divf",
        Divsi = "divsi",
        Divui = "divui",
        Extf = "extf",
        Extsi = "extsi",
        Extui = "extui",
        Floordivsi = "floordivsi",
        Fptosi = "fptosi",
        Fptoui = "fptoui",
        IndexCast = "index_cast",
        IndexCastui = "index_castui",
        Maximumf = "maximumf",
        Maxnumf = "maxnumf",
        Maxsi = "maxsi",
        Maxui = "maxui",
        Minimumf = "minimumf",
        Minnumf = "minnumf",
        Minsi = "minsi",
        Minui = "minui",
        Mulf = "mulf",
        Muli = "muli",
        MulsiExtended = "mulsi_extended",
        MuluiExtended = "mului_extended",
        Negf = "negf",
        Ori = "ori",
        Remf = "remf",
        Remsi = "remsi",
        Remui = "remui",
        ScalingExtf = "scaling_extf",
        ScalingTruncf = "scaling_truncf",
        Select = "select",
        Shli = "shli",
        Shrsi = "shrsi",
        Shrui = "shrui",
        Sitofp = "sitofp",
        Subf = "subf",
        Subi = "subi",
        Truncf = "truncf",
        Trunci = "trunci",
        Uitofp = "uitofp",
        Xori = "xori",
    }
}

operations! {
    /// An operation of the `scf` dialect.
    #[allow(missing_docs)]
    ScfOp in "scf." {
        Condition = "condition",
        For = "for",
        If = "if",
        While = "while",
        Yield = "yield",
    }
}

operations! {
    /// An operation of the `vector` dialect.
    #[allow(missing_docs)]
    VectorOp in "vector." {
        Bitcast = "bitcast",
        Broadcast = "broadcast",
        Extract = "extract",
        FromElements = "from_elements",
        Shuffle = "shuffle",
    }
}

operations! {
    /// An operation of the `gpu` dialect.
    #[allow(missing_docs)]
    GpuOp in "gpu." {
        Func = "func",
        Launch = "launch",
        Module = "module",
        Printf = "printf",
        Return = "return",
    }
}

operations! {
    /// An operation of the `nvvm` dialect.
    #[allow(missing_docs)]
    NvvmOp in "nvvm." {
        BarWarpSync = "bar.warp.sync",
        ClusterArrive = "cluster.arrive",
        ClusterArriveRelaxed = "cluster.arrive.relaxed",
        ClusterWait = "cluster.wait",
        CpAsyncBulkCommitGroup = "cp.async.bulk.commit.group",
        CpAsyncBulkWaitGroup = "cp.async.bulk.wait_group",
        ElectSync = "elect.sync",
        FenceMbarrierInit = "fence.mbarrier.init",
        FenceProxy = "fence.proxy",
        FenceProxyRelease = "fence.proxy.release",
        Griddepcontrol = "griddepcontrol",
        Mapa = "mapa",
        ReadPtxSregClusterCtarank = "read.ptx.sreg.cluster.ctarank",
        ReadPtxSregClusterNctarank = "read.ptx.sreg.cluster.nctarank",
        Setmaxregister = "setmaxregister",
        Barrier = "barrier",
        BarrierArrive = "barrier.arrive",
        Barrier0 = "barrier0",
        CpAsyncCommitGroup = "cp.async.commit.group",
        CpAsyncSharedGlobal = "cp.async.shared.global",
        CpAsyncWaitGroup = "cp.async.wait.group",
        Ldmatrix = "ldmatrix",
        MmaSync = "mma.sync",
        ReduxSync = "redux.sync",
        ShflSync = "shfl.sync",
        Stmatrix = "stmatrix",
        VoteSync = "vote.sync",
        WgmmaCommitGroup = "wgmma.commit.group.sync.aligned",
        WgmmaFence = "wgmma.fence.aligned",
        WgmmaWaitGroup = "wgmma.wait.group.sync.aligned",
        ReadPtxSregTidX = "read.ptx.sreg.tid.x",
        ReadPtxSregTidY = "read.ptx.sreg.tid.y",
        ReadPtxSregTidZ = "read.ptx.sreg.tid.z",
        ReadPtxSregNtidX = "read.ptx.sreg.ntid.x",
        ReadPtxSregNtidY = "read.ptx.sreg.ntid.y",
        ReadPtxSregNtidZ = "read.ptx.sreg.ntid.z",
        ReadPtxSregCtaidX = "read.ptx.sreg.ctaid.x",
        ReadPtxSregCtaidY = "read.ptx.sreg.ctaid.y",
        ReadPtxSregCtaidZ = "read.ptx.sreg.ctaid.z",
        ReadPtxSregNctaidX = "read.ptx.sreg.nctaid.x",
        ReadPtxSregNctaidY = "read.ptx.sreg.nctaid.y",
        ReadPtxSregNctaidZ = "read.ptx.sreg.nctaid.z",
    }
}

operations! {
    /// An operation of the `llvm` dialect.
    #[allow(missing_docs)]
    LlvmOp in "llvm." {
        Addrspacecast = "addrspacecast",
        Alloca = "alloca",
        Atomicrmw = "atomicrmw",
        Bitcast = "bitcast",
        Call = "call",
        CallIntrinsic = "call_intrinsic",
        Cmpxchg = "cmpxchg",
        Extractelement = "extractelement",
        Extractvalue = "extractvalue",
        Fadd = "fadd",
        Func = "func",
        Getelementptr = "getelementptr",
        Icmp = "icmp",
        InlineAsm = "inline_asm",
        Insertelement = "insertelement",
        Insertvalue = "insertvalue",
        IntrAbs = "intr.abs",
        IntrBitreverse = "intr.bitreverse",
        IntrCtlz = "intr.ctlz",
        IntrCtpop = "intr.ctpop",
        IntrCttz = "intr.cttz",
        IntrFma = "intr.fma",
        IntrMaxnum = "intr.maxnum",
        IntrMinnum = "intr.minnum",
        IntrVectorInsert = "intr.vector.insert",
        Load = "load",
        MlirAddressof = "mlir.addressof",
        MlirGlobal = "mlir.global",
        MlirPoison = "mlir.poison",
        MlirZero = "mlir.zero",
        Ptrtoint = "ptrtoint",
        Sext = "sext",
        Shufflevector = "shufflevector",
        Store = "store",
        Trunc = "trunc",
        Zext = "zext",
    }
}

operations! {
    /// An operation of the `cf` dialect.
    #[allow(missing_docs)]
    CfOp in "cf." {
        Assert = "assert",
    }
}

operations! {
    /// An operation of the `builtin` dialect.
    #[allow(missing_docs)]
    BuiltinOp in "builtin." {
        Module = "module",
    }
}

operations! {
    /// An operation of the `ub` dialect.
    #[allow(missing_docs)]
    UbOp in "ub." {
        Poison = "poison",
    }
}

impl NvvmOp {
    /// What reads the number of a thread in its block, along x, y and z.
    pub const THREAD_INDEX: [NvvmOp; 3] = [
        NvvmOp::ReadPtxSregTidX,
        NvvmOp::ReadPtxSregTidY,
        NvvmOp::ReadPtxSregTidZ,
    ];
    /// What reads the number of a block in its grid, along x, y and z.
    pub const BLOCK_INDEX: [NvvmOp; 3] = [
        NvvmOp::ReadPtxSregCtaidX,
        NvvmOp::ReadPtxSregCtaidY,
        NvvmOp::ReadPtxSregCtaidZ,
    ];
    /// What reads how many threads a block has, along x, y and z.
    pub const BLOCK_SIZE: [NvvmOp; 3] = [
        NvvmOp::ReadPtxSregNtidX,
        NvvmOp::ReadPtxSregNtidY,
        NvvmOp::ReadPtxSregNtidZ,
    ];
    /// What reads how many blocks a grid has, along x, y and z.
    pub const GRID_SIZE: [NvvmOp; 3] = [
        NvvmOp::ReadPtxSregNctaidX,
        NvvmOp::ReadPtxSregNctaidY,
        NvvmOp::ReadPtxSregNctaidZ,
    ];

    /// Whether an operation reads the number of a thread or a block, or how many there are.
    pub fn is_index(self) -> bool {
        let all = [
            NvvmOp::THREAD_INDEX,
            NvvmOp::BLOCK_INDEX,
            NvvmOp::BLOCK_SIZE,
            NvvmOp::GRID_SIZE,
        ];
        all.as_flattened().contains(&self)
    }

    /// Whether an operation is a barrier of the block or the cluster, or the arrival at one.
    pub fn is_barrier(self) -> bool {
        matches!(
            self,
            NvvmOp::Barrier
                | NvvmOp::BarrierArrive
                | NvvmOp::Barrier0
                | NvvmOp::ClusterArrive
                | NvvmOp::ClusterArriveRelaxed
                | NvvmOp::ClusterWait
        )
    }
}
