//! What a GPU architecture has. Nowhere else does a number of an SM appear.
use std::ops::RangeInclusive;
use thiserror::Error;

/// Threads of a warp.
pub const WARP: i64 = cutec_layout::banks::WARP as i64;

/// Threads of a warpgroup: four warps (PTX ISA, "Asynchronous warpgroup-level matrix instructions").
pub const WARPGROUP: i64 = 4 * WARP;

/// Bytes of the widest load or store of a thread (PTX ISA, "ld": `.v4.b32`).
pub const WIDEST_ACCESS: i64 = 16;

/// Numbers of threads that a block can have (CUDA C++ Programming Guide, "Compute Capabilities").
pub const BLOCK_SIZES: RangeInclusive<i64> = 1..=1024;

/// Warps of the largest block.
pub const MOST_WARPS: i64 = *BLOCK_SIZES.end() / WARP;

/// Most blocks of a cluster: 8 on every device, and more where the device has them when the host asks at launch
/// (CUDA C++ Programming Guide, "Thread Block Clusters").
pub const LARGEST_CLUSTER: i64 = 16;

/// Registers of a multiprocessor, of 32 bits (CUDA C++ Programming Guide, "Compute Capabilities": the same for every target).
const REGISTERS: i64 = 64 * 1024;

/// Registers that a thread has at most.
const MOST_REGISTERS: i64 = 255;

/// How many registers of a thread are handed out at once.
pub const REGISTERS_AT_ONCE: i64 = 8;

/// Registers of a thread that no handing over makes more.
pub const LARGEST_SHARE: i64 = MOST_REGISTERS / REGISTERS_AT_ONCE * REGISTERS_AT_ONCE;

/// Registers that each thread begins with, where so many blocks of so many threads share a multiprocessor. Each of four warps has the
/// registers of another part of it, so that a fifth warp takes as many as eight would.
pub fn registers_of_thread(threads: i64, blocks: i64) -> i64 {
    let whole = (threads.max(1) + WARPGROUP - 1) / WARPGROUP * WARPGROUP;
    let share = REGISTERS / (whole * blocks.max(1));
    (share / REGISTERS_AT_ONCE * REGISTERS_AT_ONCE).min(MOST_REGISTERS)
}

/// Blocks of so many threads that share a multiprocessor where each thread has so many registers.
pub fn blocks_of_registers(threads: i64, registers: i64) -> i64 {
    let fits =
        |blocks: &i64| registers_of_thread(threads, *blocks) >= registers.max(REGISTERS_AT_ONCE);
    (1..).take_while(fits).last().unwrap_or(1)
}

/// Registers for each thread of a role, where the others of a block, together so many threads, keep these: what `setmaxnreg`
/// can give it.
pub fn registers_of_role(threads: i64, others: i64, kept: i64, blocks: i64) -> i64 {
    let all = registers_of_thread(threads + others, blocks) * (threads + others);
    let share = (all - others * kept) / threads.max(1);
    share.min(MOST_REGISTERS) / REGISTERS_AT_ONCE * REGISTERS_AT_ONCE
}

/// Instructions that not every target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// `cp.async` (PTX ISA, "Non-bulk copy": sm_80).
    CpAsync,
    /// `mbarrier` (PTX ISA, "mbarrier": sm_80).
    Mbarrier,
    /// `mma.sync` of f8 operands, and conversions of f8 (PTX ISA: sm_89).
    Fp8,
    /// `atom` and `red` of bf16 (PTX ISA, "red": sm_90).
    Bf16Atomics,
    /// `red` of several elements at once (PTX ISA, "red": sm_90).
    VectorAtomics,
    /// Clusters of CTAs, distributed shared memory included (PTX ISA, "barrier.cluster": sm_90).
    Clusters,
    /// `mma.sync` of f64 with 16 rows (PTX ISA, "mma": sm_90).
    MmaF64,
    /// Bulk copies by tensor maps (PTX ISA, "cp.async.bulk.tensor": sm_90).
    Tma,
    /// `stmatrix` (PTX ISA, "stmatrix": sm_90).
    Stmatrix,
    /// Programmatic dependent launch (PTX ISA, "griddepcontrol": sm_90).
    Pdl,
    /// `tensormap.replace` (PTX ISA, "tensormap.replace": sm_90a).
    TensormapReplace,
    /// `wgmma` (PTX ISA, "Asynchronous warpgroup-level matrix instructions": sm_90a).
    Wgmma,
    /// `setmaxnreg` (PTX ISA, "setmaxnreg": sm_90a).
    Setmaxnreg,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Feature; 13] = [
        Feature::CpAsync,
        Feature::Mbarrier,
        Feature::Fp8,
        Feature::Bf16Atomics,
        Feature::VectorAtomics,
        Feature::Clusters,
        Feature::MmaF64,
        Feature::Tma,
        Feature::Stmatrix,
        Feature::Pdl,
        Feature::TensormapReplace,
        Feature::Wgmma,
        Feature::Setmaxnreg,
    ];

    /// What it is called in the language: `target.has(cp_async)`.
    pub fn name(self) -> &'static str {
        match self {
            Feature::CpAsync => "cp_async",
            Feature::Mbarrier => "mbarrier",
            Feature::Fp8 => "fp8",
            Feature::Bf16Atomics => "bf16_atomics",
            Feature::VectorAtomics => "vector_atomics",
            Feature::Clusters => "clusters",
            Feature::MmaF64 => "mma_f64",
            Feature::Tma => "tma",
            Feature::Stmatrix => "stmatrix",
            Feature::Pdl => "pdl",
            Feature::TensormapReplace => "tensormap_replace",
            Feature::Wgmma => "wgmma",
            Feature::Setmaxnreg => "setmaxnreg",
        }
    }

    /// The feature of a name.
    pub fn find(name: &str) -> Option<Feature> {
        Feature::ALL
            .into_iter()
            .find(|feature| feature.name() == name)
    }

    /// The targets that have it, for a message: `sm_89 or later`, or a list where later ones lack it.
    pub fn targets(self) -> String {
        let having: Vec<&Target> = TARGETS.iter().filter(|target| target.has(self)).collect();
        let first = TARGETS.iter().position(|target| target.has(self));
        match (first, having.as_slice()) {
            (Some(first), [oldest, _, ..]) if TARGETS.len() - first == having.len() => {
                format!("{} or later", oldest.name)
            }
            _ => {
                let names: Vec<&str> = having.iter().map(|target| target.name).collect();
                names.join(", ")
            }
        }
    }
}

/// What targets of a generation have.
const AMPERE: &[Feature] = &[Feature::CpAsync, Feature::Mbarrier];
const ADA: &[Feature] = &[Feature::CpAsync, Feature::Mbarrier, Feature::Fp8];
const HOPPER: &[Feature] = &[
    Feature::CpAsync,
    Feature::Mbarrier,
    Feature::Fp8,
    Feature::Bf16Atomics,
    Feature::VectorAtomics,
    Feature::Clusters,
    Feature::MmaF64,
    Feature::Tma,
    Feature::Stmatrix,
    Feature::Pdl,
];
const HOPPER_A: &[Feature] = &Feature::ALL;

/// A GPU architecture that cutec compiles for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name as in `--arch`, for example `sm_90a`.
    pub name: &'static str,
    /// Compute capability times ten.
    pub sm: u32,
    /// PTX ISA version times ten, the oldest that has all we emit for it.
    pub ptx_isa: u32,
    /// Largest dynamic shared memory of a CTA in bytes (CUDA C++ Programming Guide, "Compute Capabilities").
    pub max_smem: u32,
    /// The instructions that it has, of those that not every target has.
    pub features: &'static [Feature],
}

/// Every target, oldest first.
pub const TARGETS: [Target; 6] = [
    Target {
        name: "sm_80",
        sm: 80,
        ptx_isa: 83,
        max_smem: 163 * 1024,
        features: AMPERE,
    },
    Target {
        name: "sm_86",
        sm: 86,
        ptx_isa: 83,
        max_smem: 99 * 1024,
        features: AMPERE,
    },
    Target {
        name: "sm_87",
        sm: 87,
        ptx_isa: 83,
        max_smem: 163 * 1024,
        features: AMPERE,
    },
    Target {
        name: "sm_89",
        sm: 89,
        ptx_isa: 84,
        max_smem: 99 * 1024,
        features: ADA,
    },
    Target {
        name: "sm_90",
        sm: 90,
        ptx_isa: 84,
        max_smem: 227 * 1024,
        features: HOPPER,
    },
    Target {
        name: "sm_90a",
        sm: 90,
        ptx_isa: 84,
        max_smem: 227 * 1024,
        features: HOPPER_A,
    },
];

/// An `--arch` that is not in [`TARGETS`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown architecture `{name}`; expected one of {}", TARGETS.map(|t| t.name).join(", "))]
pub struct UnknownTarget {
    /// What was asked for.
    pub name: String,
}

impl Target {
    /// The target of a name such as `sm_80`.
    pub fn parse(name: &str) -> Result<Target, UnknownTarget> {
        TARGETS
            .into_iter()
            .find(|t| t.name == name)
            .ok_or_else(|| UnknownTarget { name: name.into() })
    }

    /// What to compile for a GPU of a compute capability, such as `(9, 0)`: its own target, with all that it has, or the
    /// latest of those before it, whose PTX it runs too. `None` where it is older than all.
    pub fn of_capability(major: u32, minor: u32) -> Option<Target> {
        let found = major * 10 + minor;
        let own = TARGETS.into_iter().rfind(|target| target.sm == found);
        own.or_else(|| {
            let mut portable = TARGETS.into_iter().rev();
            portable.find(|target| target.sm < found && !target.name.ends_with('a'))
        })
    }

    /// Whether it has the instructions of a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// LLVM's feature string: the PTX ISA version.
    pub fn features(&self) -> String {
        format!("+ptx{}", self.ptx_isa)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_name_the_targets_that_have_them() {
        assert_eq!(Feature::CpAsync.targets(), "sm_80 or later");
        assert_eq!(Feature::Fp8.targets(), "sm_89 or later");
        assert_eq!(Feature::Wgmma.targets(), "sm_90a");
        for feature in Feature::ALL {
            assert_eq!(Feature::find(feature.name()), Some(feature));
        }
    }

    #[test]
    fn a_gpu_gets_its_own_target_or_one_before_it() {
        let of = |major, minor| Target::of_capability(major, minor).map(|target| target.name);
        assert_eq!(of(8, 0), Some("sm_80"));
        assert_eq!(of(9, 0), Some("sm_90a"));
        assert_eq!(of(8, 8), Some("sm_87"));
        assert_eq!(of(12, 0), Some("sm_90"));
        assert_eq!(of(7, 5), None);
    }

    #[test]
    fn an_unknown_target_lists_the_known_ones() {
        let error = Target::parse("sm_42").unwrap_err().to_string();
        assert!(TARGETS.iter().all(|t| error.contains(t.name)), "{error}");
    }
}
