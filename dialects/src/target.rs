//! What a GPU architecture has. Nowhere else does a number of an SM appear.
use std::ops::RangeInclusive;
use thiserror::Error;

/// Bytes of the widest load or store of a thread (PTX ISA, "ld": `.v4.b32`).
pub const WIDEST_ACCESS: i64 = 16;

/// Numbers of threads that a block can have (CUDA C++ Programming Guide, "Compute Capabilities").
pub const BLOCK_SIZES: RangeInclusive<i64> = 1..=1024;

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
    /// `cp.async` (PTX ISA, "Non-bulk copy": sm_80).
    pub has_cp_async: bool,
    /// `mma.sync` of f8 operands, and conversions of f8 (PTX ISA: sm_89).
    pub has_fp8: bool,
    /// `atom` and `red` of bf16 (PTX ISA, "red": sm_90).
    pub has_bf16_atomics: bool,
}

/// Every target, oldest first.
pub const TARGETS: [Target; 6] = [
    Target {
        name: "sm_80",
        sm: 80,
        ptx_isa: 83,
        max_smem: 163 * 1024,
        has_cp_async: true,
        has_fp8: false,
        has_bf16_atomics: false,
    },
    Target {
        name: "sm_86",
        sm: 86,
        ptx_isa: 83,
        max_smem: 99 * 1024,
        has_cp_async: true,
        has_fp8: false,
        has_bf16_atomics: false,
    },
    Target {
        name: "sm_87",
        sm: 87,
        ptx_isa: 83,
        max_smem: 163 * 1024,
        has_cp_async: true,
        has_fp8: false,
        has_bf16_atomics: false,
    },
    Target {
        name: "sm_89",
        sm: 89,
        ptx_isa: 84,
        max_smem: 99 * 1024,
        has_cp_async: true,
        has_fp8: true,
        has_bf16_atomics: false,
    },
    Target {
        name: "sm_90",
        sm: 90,
        ptx_isa: 84,
        max_smem: 227 * 1024,
        has_cp_async: true,
        has_fp8: true,
        has_bf16_atomics: true,
    },
    Target {
        name: "sm_90a",
        sm: 90,
        ptx_isa: 84,
        max_smem: 227 * 1024,
        has_cp_async: true,
        has_fp8: true,
        has_bf16_atomics: true,
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

    /// LLVM's feature string: the PTX ISA version.
    pub fn features(&self) -> String {
        format!("+ptx{}", self.ptx_isa)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_target_lists_the_known_ones() {
        let error = Target::parse("sm_42").unwrap_err().to_string();
        assert!(TARGETS.iter().all(|t| error.contains(t.name)), "{error}");
    }
}
