//! The plan: which kernels at which sizes.
//!
//! ```json
//! {"cases": [
//!   {"file": "gemm.sm_80.ptx", "kernel": "gemm", "matmul": {"b_is": "nk"}, "sizes": [[4096, 4096, 4096]]},
//!   {"file": "relu.sm_80.ptx", "kernel": "relu", "elementwise": {"op": "relu"}, "sizes": [[16384, 16384]]}
//! ]}
//! ```
//! Sizes of a matrix product are `[m, n, k]`; those of an elementwise kernel are its first input's shape.
//! `"scalars": {"alpha": 1.0}` gives scalar arguments their values, `"workspace": {"flags": [132]}` a product's other
//! arguments, which are zeros and which the kernel writes, their shapes.

use std::collections::BTreeMap;
use std::path::Path;

use cutec_runtime::Tensor;
use cutec_runtime::abi::ScalarAbi;
use serde::Deserialize;

/// See the module.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// In the order in which they are run.
    pub cases: Vec<Case>,
}

/// One kernel at several sizes.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// PTX or cubin, relative to the folder of artifacts.
    pub file: String,
    /// Kernel in it.
    pub kernel: String,
    /// What it computes.
    #[serde(flatten)]
    pub kind: Kind,
    /// Problem sizes.
    pub sizes: Vec<Vec<i64>>,
    /// Values of the kernel's scalar arguments, by name.
    #[serde(default)]
    pub scalars: BTreeMap<String, f64>,
    /// Shapes of tensors, by name, which are zeros before the first launch and no result.
    #[serde(default)]
    pub workspace: BTreeMap<String, Vec<i64>>,
    /// Name in the table; the kernel's if none is given.
    #[serde(default)]
    pub label: Option<String>,
}

/// What a kernel computes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `c = a · b`: the first two tensors that it reads are `a` (m, k) and `b`, the one that it
    /// writes is `c` (m, n).
    Matmul {
        /// Shape of `b`.
        b_is: BIs,
        /// Whether `f32` products may be rounded to tf32, in ours and in cuBLAS.
        #[serde(default)]
        tf32: bool,
        /// Whether a third tensor that it reads is a bias (n), and `c = max(a · b + bias, 0)`. The time of
        /// cuBLAS is that of the product alone.
        #[serde(default)]
        bias_relu: bool,
    },
    /// One output element for each element of the first input.
    Elementwise {
        /// What of them.
        op: Op,
    },
}

/// Shape of the second matrix.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BIs {
    /// (n, k): the product is `a · bᵀ`.
    Nk,
    /// (k, n).
    Kn,
}

/// Elementwise operations and those of rows.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// `max(x, 0)`.
    Relu,
    /// `x`.
    Copy,
    /// `x + y`.
    Add,
    /// `xᵀ` of a matrix.
    Transpose,
    /// Softmax of the rows of `x`.
    Softmax,
    /// RMSNorm of the rows of `x` with a weight for each column.
    RmsNorm,
    /// LayerNorm of the rows of `x` with a weight and a bias for each column.
    LayerNorm,
}

impl Plan {
    /// Reads a plan.
    pub fn read(path: &Path) -> Result<Plan, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
        serde_json::from_str(&text).map_err(|error| named(&error))
    }
}

impl Case {
    /// The value of a scalar argument, as a tensor of one element.
    pub fn scalar(&self, abi: &ScalarAbi) -> Result<Tensor, String> {
        let name = &abi.name;
        let value = self.scalars.get(name);
        let value = value.ok_or_else(|| format!("`{name}`: expected a value in `scalars`"))?;
        Tensor::from_f64(abi.dtype, &[1], &[*value]).map_err(|error| error.to_string())
    }

    /// Whether a tensor is neither an operand nor a result.
    pub fn is_workspace(&self, name: &str) -> bool {
        self.workspace.contains_key(name)
    }

    /// Name in the table.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_the_repository() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test-suite/gpu/plan.json");
        let plan = Plan::read(&path).unwrap();
        for case in &plan.cases {
            let rank = match case.kind {
                Kind::Matmul { .. } => 3,
                Kind::Elementwise { .. } => 2,
            };
            assert!(
                case.sizes.iter().all(|size| size.len() == rank),
                "{}",
                case.label()
            );
        }
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| serde_json::from_str::<Plan>(text).unwrap_err().to_string();
        assert!(error(r#"{"case": []}"#).contains("unknown field `case`"));
        let matmul = r#"{"cases": [{"file": "a", "kernel": "b", "sizes": [], "matmul": {}}]}"#;
        assert!(error(matmul).contains("b_is"));
    }
}
