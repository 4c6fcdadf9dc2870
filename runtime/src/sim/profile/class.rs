//! Which unit executes an instruction, and how much work it is.

use std::fmt;

use serde::Serialize;

use crate::sim::Space;
use crate::sim::isa::{
    Collective, Hint, Instr, Mma, MmaAccumulator, MmaType, Op, WarpgroupOp, Wgmma, WgmmaA,
};
use crate::sim::lane::WARP;

/// A kind of instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// `mma`, `wgmma`.
    Tensor,
    /// Arithmetic on floating-point numbers.
    Float,
    /// Arithmetic on integers and bits, comparisons, moves, conversions.
    Integer,
    /// Loads and stores of shared memory, `ldmatrix` and `stmatrix` included.
    Shared,
    /// Loads and stores of global memory, atomics included.
    Global,
    /// `cp.async`.
    AsyncCopy,
    /// Loads and stores of local memory and of parameters.
    Local,
    /// Branches and exits.
    Control,
    /// Barriers, fences, waits.
    Synchronize,
    /// Shuffles, votes and the like.
    Exchange,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Tensor => "tensor core",
            Class::Float => "floating point",
            Class::Integer => "integer",
            Class::Shared => "shared memory",
            Class::Global => "global memory",
            Class::AsyncCopy => "async copy",
            Class::Local => "local and parameters",
            Class::Control => "control",
            Class::Synchronize => "synchronization",
            Class::Exchange => "exchange",
        })
    }
}

impl Instr {
    /// Which unit executes it.
    pub(super) fn class(&self) -> Class {
        match &self.op {
            Op::Lanes { numbers: None, .. } => Class::Integer,
            Op::Lanes { .. } => Class::Float,
            Op::Load { address, .. } | Op::Store { address, .. } | Op::Atomic { address, .. } => {
                match address.space {
                    Space::Shared | Space::Cluster => Class::Shared,
                    Space::Local | Space::Param => Class::Local,
                    Space::Generic | Space::Global | Space::Const => Class::Global,
                }
            }
            Op::LoadMatrix { .. } | Op::StoreMatrix { .. } => Class::Shared,
            Op::CopyAsync { .. } | Op::Bulk(_) | Op::StoreAsync(_) => Class::AsyncCopy,
            Op::Mma(_) | Op::Warpgroup(WarpgroupOp::Multiply(_)) => Class::Tensor,
            Op::CommitGroup(_)
            | Op::WaitGroup(..)
            | Op::WaitGroupRead(_)
            | Op::ClusterBarrier(_)
            | Op::Collective {
                kind: Collective::Barrier,
                ..
            }
            | Op::Barrier(_)
            | Op::Mbarrier(_)
            | Op::Warpgroup(
                WarpgroupOp::Fence
                | WarpgroupOp::Commit
                | WarpgroupOp::Wait(_)
                | WarpgroupOp::SetRegisters { .. },
            )
            | Op::Fence(_)
            | Op::ProxyFence(_)
            | Op::MapEdit(_)
            | Op::Hint(Hint::GridDependency) => Class::Synchronize,
            Op::Collective {
                kind:
                    Collective::Shuffle { .. }
                    | Collective::Vote { .. }
                    | Collective::Match { .. }
                    | Collective::Reduce { .. }
                    | Collective::Elect { .. },
                ..
            }
            | Op::ActiveMask(_) => Class::Exchange,
            Op::Print { .. }
            | Op::Branch { .. }
            | Op::BranchIndexed { .. }
            | Op::Exit
            | Op::Trap
            | Op::Hint(Hint::Sleep) => Class::Control,
            Op::Hint(Hint::Prefetch) => Class::Global,
        }
    }

    /// Floating-point operations of one execution by all lanes; a fused multiply-add is two.
    pub(super) fn flops(&self) -> u64 {
        if let Some((_, work)) = self.multiply_adds() {
            2 * work
        } else if let Op::Lanes { numbers, .. } = self.op {
            WARP as u64 * u64::from(numbers.unwrap_or(0))
        } else {
            0
        }
    }

    /// Work of an `mma` or `wgmma` in multiply-adds of 16-bit operands: 8-bit ones take half the time of those,
    /// tf32 twice, f64 sixteen times.
    pub(super) fn tensor_work(&self) -> u64 {
        let Some((ty, work)) = self.multiply_adds() else {
            return 0;
        };
        match ty {
            MmaType::F16 | MmaType::Bf16 => work,
            MmaType::S8 | MmaType::U8 | MmaType::E4m3 | MmaType::E5m2 => work / 2,
            MmaType::S4 | MmaType::U4 => work / 4,
            MmaType::Tf32 => 2 * work,
            MmaType::F64 => 16 * work,
        }
    }

    /// Bytes of shared memory that the tensor cores read for a warp's part of a `wgmma`: its 16 rows of A, and a quarter
    /// of B, which is read once for the four warps. A row has 32 bytes, one of B of a sparse product 64.
    pub(super) fn operand_bytes(&self) -> u64 {
        let Op::Warpgroup(WarpgroupOp::Multiply(wgmma)) = &self.op else {
            return 0;
        };
        let rows_of_a = match wgmma.a {
            WgmmaA::Shared(_) => 16,
            WgmmaA::Registers(_) => 0,
        };
        let blocks_of_b = if wgmma.sparse.is_some() { 2 } else { 1 };
        32 * (rows_of_a + blocks_of_b * wgmma.n as u64 / 4)
    }

    /// The type of A, and the multiply-adds of a warp.
    fn multiply_adds(&self) -> Option<(MmaType, u64)> {
        if let Op::Mma(mma) = &self.op {
            Some((mma.multiplicands, multiply_adds(mma)))
        } else if let Op::Warpgroup(WarpgroupOp::Multiply(wgmma)) = &self.op {
            let [ty, _] = wgmma.multiplicands;
            Some((ty, quarter(wgmma)))
        } else {
            None
        }
    }
}

/// `m·n·k` of a warp's 16 of 64 rows: K has 256 bits. A sparse product takes as long as a dense one of half the K.
fn quarter(wgmma: &Wgmma) -> u64 {
    let k = match wgmma.multiplicands[0] {
        MmaType::Tf32 => 8,
        MmaType::F16 | MmaType::Bf16 => 16,
        MmaType::S8 | MmaType::U8 | MmaType::E4m3 | MmaType::E5m2 => 32,
        MmaType::S4 | MmaType::U4 => 64,
        MmaType::F64 => 4,
    };
    16 * wgmma.n as u64 * k
}

/// `m·n·k`.
fn multiply_adds(mma: &Mma) -> u64 {
    let rows = match mma.accumulate {
        MmaAccumulator::F64 => 8,
        MmaAccumulator::F16 | MmaAccumulator::F32 | MmaAccumulator::S32 => 16,
    };
    rows * 8 * mma.k as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Module;

    /// Class, operations and work on the tensor cores of an instruction.
    fn of(text: &str) -> (Class, u64, u64) {
        let (class, flops, work, _) = all_of(text);
        (class, flops, work)
    }

    /// The same, and the bytes of operands in shared memory.
    fn all_of(text: &str) -> (Class, u64, u64, u64) {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_0)\n{{\n\
             .reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n$L1:\n{text};\nret;\n}}\n"
        );
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let instr = &module.entries()[0].kernel.code[0];
        (
            instr.class(),
            instr.flops(),
            instr.tensor_work(),
            instr.operand_bytes(),
        )
    }

    #[test]
    fn classes() {
        for (text, expected) in [
            (
                "@%p1 ld.shared.v4.b32 {%r1,%r2,%r3,%r4}, [%r2]",
                Class::Shared,
            ),
            (
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r2]",
                Class::Shared,
            ),
            (
                "cp.async.cg.shared.global [%r1], [%rd1], 16",
                Class::AsyncCopy,
            ),
            ("cp.async.wait_group 0", Class::Synchronize),
            ("fence.acq_rel.gpu", Class::Synchronize),
            ("fence.proxy.async.shared::cta", Class::Synchronize),
            ("wgmma.fence.sync.aligned", Class::Synchronize),
            ("wgmma.wait_group.sync.aligned 1", Class::Synchronize),
            ("setmaxnreg.inc.sync.aligned.u32 232", Class::Synchronize),
            ("elect.sync %r1|%p1, -1", Class::Exchange),
            ("ld.param.b64 %rd1, [k_0]", Class::Local),
            ("red.global.add.f32 [%rd1], %r1", Class::Global),
            ("atom.shared.add.u32 %r1, [%r2], %r1", Class::Shared),
            ("prefetch.global.L2 [%rd1]", Class::Global),
            ("fma.rn.f32 %r1, %r2, %r3, %r4", Class::Float),
            ("cvt.rn.bf16x2.f32 %r1, %r2, %r3", Class::Integer),
            ("mad.lo.s32 %r1, %r2, %r3, %r4", Class::Integer),
            ("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1", Class::Exchange),
            ("@!%p2 bra $L1", Class::Control),
        ] {
            assert_eq!(of(text).0, expected, "{text}");
        }
    }

    #[test]
    fn work_of_instructions() {
        let mma = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, \
                   {%r1,%r2,%r3,%r4}";
        assert_eq!(of(mma), (Class::Tensor, 4096, 2048));
        let bytes = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, \
                     {%r1,%r2,%r3,%r4}";
        assert_eq!(of(bytes).2, 2048);
        let double = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd1,%rd2}, {%rd3}, {%rd4}, {%rd1,%rd2}";
        assert_eq!(of(double), (Class::Tensor, 512, 4096));
        // Of a warp, which has 16 of 64 rows.
        let wide = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1,%r2,%r3,%r4}, %rd1, %rd2, 1, 1, 1, 0, 0";
        assert_eq!(all_of(wide), (Class::Tensor, 4096, 2048, 16 * 32 + 64));
        let bytes =
            "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {%r1,%r2,%r3,%r4}, %rd1, %rd2, 1";
        assert_eq!(of(bytes).2, 2048);
        for (text, flops) in [
            ("fma.rn.f32 %r1, %r2, %r3, %r4", 64),
            ("add.rn.bf16x2 %r1, %r2, %r3", 64),
            ("fma.rn.f16x2 %r1, %r2, %r3, %r4", 128),
            ("ex2.approx.f32 %r1, %r2", 32),
            ("neg.f32 %r1, %r2", 0),
            ("add.s32 %r1, %r2, %r3", 0),
        ] {
            assert_eq!((of(text).1, of(text).2), (flops, 0), "{text}");
        }
    }
}
