//! What a PTX module declares: kernels with their parameters, and variables.

use super::error::{ErrorKind, SimError};
use super::kernel::Kernel;
use super::{Options, Space};

/// Largest local memory of a block, in bytes.
const MAX_LOCAL: u64 = 1 << 30;

/// A kernel parameter as declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Name in the PTX text.
    pub name: String,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Offset in the parameter block of a launch.
    pub offset: u32,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// `.reqntid`: the only block size the kernel may be launched with.
    pub reqntid: Option<[u32; 3]>,
    /// `.maxntid`: the most threads of a block, as a product.
    pub maxntid: Option<[u32; 3]>,
    /// Bytes of statically sized shared variables.
    pub static_shared: u32,
    pub(crate) kernel: Kernel,
}

/// A `.global` or `.const` variable.
#[derive(Debug)]
pub(crate) struct Variable {
    pub name: String,
    pub space: Space,
    pub bytes: u64,
    pub init: Vec<u8>,
}

impl Entry {
    /// Bytes of the parameter block.
    pub fn param_bytes(&self) -> u32 {
        self.params
            .iter()
            .map(|p| p.offset + p.size)
            .max()
            .unwrap_or(0)
    }

    /// Lays the little-endian bytes of each parameter out as [`Module::launch`] wants them.
    ///
    /// # Errors
    /// Another number of values than parameters, or a value of another size.
    pub fn pack(&self, values: &[&[u8]]) -> Result<Vec<u8>, SimError> {
        let mismatch = |what, expected: String, found: String| ErrorKind::Launch {
            entry: self.name.clone(),
            what,
            expected,
            found,
        };
        if values.len() != self.params.len() {
            return Err(mismatch(
                "parameters",
                self.params.len().to_string(),
                values.len().to_string(),
            )
            .into());
        }
        let mut block = vec![0; self.param_bytes() as usize];
        for (param, value) in self.params.iter().zip(values) {
            if value.len() != param.size as usize {
                let expected = format!("{} bytes for `{}`", param.size, param.name);
                return Err(
                    mismatch("parameter size", expected, format!("{} bytes", value.len())).into(),
                );
            }
            block[param.offset as usize..][..value.len()].copy_from_slice(value);
        }
        Ok(block)
    }
}

impl Entry {
    /// What CUDA checks at a launch.
    pub(super) fn check_launch(
        &self,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: &[u8],
        options: &Options,
    ) -> Result<(), SimError> {
        let refuse = |what, expected: String, found: String| {
            Err(ErrorKind::Launch {
                entry: self.name.clone(),
                what,
                expected,
                found,
            }
            .into())
        };
        let show = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let [gx, gy, gz] = grid;
        if grid.contains(&0) || gx > i32::MAX as u32 || gy > 65535 || gz > 65535 {
            return refuse(
                "grid",
                "1 to (2147483647, 65535, 65535) blocks".to_owned(),
                show(grid),
            );
        }
        let threads = block
            .iter()
            .fold(1u64, |product, &n| product.saturating_mul(n.into()));
        if threads == 0 || threads > 1024 || block[2] > 64 {
            return refuse(
                "block",
                "1 to 1024 threads, at most 64 in z".to_owned(),
                show(block),
            );
        }
        if let Some(required) = self.reqntid
            && required != block
        {
            return refuse(
                "block",
                format!("{}, by .reqntid", show(required)),
                show(block),
            );
        }
        let cluster = self.kernel.cluster;
        if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) {
            return refuse(
                "grid",
                format!("multiples of {}, by .reqnctapercluster", show(cluster)),
                show(grid),
            );
        }
        let allowed = self.maxntid.map(|max| {
            max.iter()
                .fold(1u64, |product, &n| product.saturating_mul(n.into()))
        });
        if let (Some(max), Some(allowed)) = (self.maxntid, allowed)
            && threads > allowed
        {
            return refuse(
                "block",
                format!("at most {allowed} threads, by .maxntid {}", show(max)),
                show(block),
            );
        }
        let shared = u64::from(self.static_shared) + u64::from(dynamic_shared);
        if shared > options.shared_limit.into() {
            return refuse(
                "shared memory",
                format!("at most {} bytes", options.shared_limit),
                format!("{shared} bytes"),
            );
        }
        if params.len() as u64 != u64::from(self.param_bytes()) {
            let expected = format!("{} bytes", self.param_bytes());
            return refuse("parameters", expected, format!("{} bytes", params.len()));
        }
        let local = u64::from(self.kernel.local_bytes) * threads.next_multiple_of(32);
        if local > MAX_LOCAL {
            return refuse(
                "local memory of a block",
                format!("at most {MAX_LOCAL} bytes"),
                format!("{local} bytes"),
            );
        }
        Ok(())
    }
}
