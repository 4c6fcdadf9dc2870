//! [`Stmatrix`]: matrices from registers to shared memory.
use super::ldmatrix::matrix_layouts;
use super::syntax::Fields;
use super::{AtomError, Completion, CopyAtom, CopyInstruction, CopyOp, Issuer, Place};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::Feature;
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;

/// `stmatrix` of matrices of eight rows of 16 bytes (PTX ISA, "stmatrix"), the inverse of `ldmatrix`: lane 8i + r gives
/// the address of row r of matrix i.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stmatrix {
    /// Matrices that an instruction stores: 1, 2 or 4.
    pub matrices: u32,
    /// Whether each matrix is transposed on the way, in pieces of 16 bits.
    pub transpose: bool,
}

impl CopyInstruction for Stmatrix {
    fn type_name() -> &'static str {
        "atom.stsm"
    }

    fn parse(fields: &mut Fields) -> Result<CopyAtom, TypeError> {
        let elem = fields.named("val_type")?;
        let elem = fields.elem_of(elem)?;
        let matrices = fields.named("num_matrices")?.parse();
        let matrices = matrices.map_err(|_| fields.form("a number of matrices"))?;
        let transpose = match fields.next("n or t")? {
            "n" => false,
            "t" => true,
            _ => return Err(fields.form("n or t")),
        };
        let op = CopyOp::Stmatrix(Stmatrix {
            matrices,
            transpose,
        });
        Ok(CopyAtom::new(op, elem))
    }

    fn all() -> Vec<(Self, Elem)> {
        let matrices = [1, 2, 4].into_iter();
        let both = matrices.flat_map(|matrices| {
            [false, true].map(|transpose| Stmatrix {
                matrices,
                transpose,
            })
        });
        both.map(|op| (op, Elem::F16)).collect()
    }

    fn parameters(&self, atom: &CopyAtom) -> String {
        let how = if self.transpose { "t" } else { "n" };
        let (elem, matrices) = (atom.elem, self.matrices);
        format!("val_type = {elem}, num_matrices = {matrices}, {how}")
    }

    fn name(&self) -> String {
        let transposed = if self.transpose { "_trans" } else { "" };
        format!("stmatrix_x{}{transposed}", self.matrices)
    }

    fn verify(&self, elem: Elem) -> Result<(), AtomError> {
        let Stmatrix {
            matrices,
            transpose,
        } = *self;
        if !matches!(matrices, 1 | 2 | 4) {
            return Err(AtomError::StmatrixMatrices { matrices });
        }
        if elem.bits() > if transpose { 16 } else { 32 } {
            return Err(AtomError::StmatrixElement { elem });
        }
        Ok(())
    }

    fn refused_hint(&self, hints: &Hints) -> Option<String> {
        hints.first()
    }

    fn issuer(&self) -> Issuer {
        Issuer::Warp
    }

    fn completion(&self) -> Completion {
        Completion::AtOnce
    }

    fn places(&self) -> [Place; 2] {
        [Place::Registers, Place::Shared]
    }

    fn needs(&self) -> Option<Feature> {
        Some(Feature::Stmatrix)
    }

    /// A register of 32 bits for each matrix, and a row of 16 bytes.
    fn values(&self, elem: Elem) -> [i64; 2] {
        [
            i64::from(self.matrices) * 32 / elem.bits(),
            128 / elem.bits(),
        ]
    }

    fn layouts(&self, elem: Elem) -> [Layout; 2] {
        let [rows, registers] = matrix_layouts(self.matrices, self.transpose, elem);
        [registers, rows]
    }

    fn shared_access(&self) -> (&'static str, Kind) {
        let Stmatrix {
            matrices,
            transpose,
        } = *self;
        let kind = Kind::Ldmatrix {
            matrices,
            transpose,
        };
        ("stmatrix", kind)
    }

    fn remark(&self, _: Elem) -> String {
        format!("stmatrix.x{}", self.matrices)
    }

    fn ptx(&self) -> Vec<String> {
        let transposed = if self.transpose { ".trans" } else { "" };
        let form = format!("m8n8.x{}{transposed}.shared.b16", self.matrices);
        vec![format!("stmatrix.sync.aligned.{form}")]
    }
}
