//! [`Ldmatrix`]: matrices from shared memory to registers.
use super::syntax::Fields;
use super::{AtomError, Completion, CopyAtom, CopyInstruction, CopyOp, Issuer, Place, layout};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::Feature;
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;

/// `ldmatrix` of matrices of eight rows of 16 bytes (PTX ISA, "ldmatrix"): lane 8i + r gives the address of row r of
/// matrix i.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ldmatrix {
    /// Matrices that an instruction loads: 1, 2 or 4.
    pub matrices: u32,
    /// Whether each matrix is transposed on the way, in pieces of 16 bits.
    pub transpose: bool,
}

impl Ldmatrix {
    /// Each number of matrices, the largest first.
    pub fn widths(transpose: bool) -> [Ldmatrix; 3] {
        [4, 2, 1].map(|matrices| Ldmatrix {
            matrices,
            transpose,
        })
    }

    /// Whether it can transpose a matrix of elements of a type one by one: the pieces that it transposes have 16 bits.
    pub fn transposes(elem: Elem) -> bool {
        elem.bits() == 16
    }
}

impl CopyInstruction for Ldmatrix {
    fn type_name() -> &'static str {
        "atom.ldsm"
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
        let op = CopyOp::Ldmatrix(Ldmatrix {
            matrices,
            transpose,
        });
        Ok(CopyAtom::new(op, elem))
    }

    fn all() -> Vec<(Self, Elem)> {
        let matrices = [1, 2, 4].into_iter();
        let both = matrices.flat_map(|matrices| {
            [false, true].map(|transpose| Ldmatrix {
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
        format!("ldmatrix_x{}{transposed}", self.matrices)
    }

    fn verify(&self, elem: Elem) -> Result<(), AtomError> {
        let Ldmatrix {
            matrices,
            transpose,
        } = *self;
        if !matches!(matrices, 1 | 2 | 4) {
            return Err(AtomError::LdmatrixMatrices { matrices });
        }
        if elem.bits() > if transpose { 16 } else { 32 } {
            return Err(AtomError::LdmatrixElement { elem });
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
        [Place::Shared, Place::Registers]
    }

    fn needs(&self) -> Option<Feature> {
        None
    }

    /// A row of 16 bytes, and a register of 32 bits for each matrix.
    fn values(&self, elem: Elem) -> [i64; 2] {
        [
            128 / elem.bits(),
            i64::from(self.matrices) * 32 / elem.bits(),
        ]
    }

    fn layouts(&self, elem: Elem) -> [Layout; 2] {
        matrix_layouts(self.matrices, self.transpose, elem)
    }

    fn shared_access(&self) -> (&'static str, Kind) {
        let Ldmatrix {
            matrices,
            transpose,
        } = *self;
        let kind = Kind::Ldmatrix {
            matrices,
            transpose,
        };
        ("ldmatrix", kind)
    }

    fn remark(&self, _: Elem) -> String {
        format!("ldmatrix.x{}", self.matrices)
    }

    fn ptx(&self) -> Vec<String> {
        let transposed = if self.transpose { ".trans" } else { "" };
        let form = format!("m8n8.x{}{transposed}.shared.b16", self.matrices);
        vec![format!("ldmatrix.sync.aligned.{form}")]
    }
}

/// The layouts of matrices of eight rows of 16 bytes: the row to which a lane points, and what it has in registers (PTX
/// ISA, "ldmatrix", "stmatrix").
pub(super) fn matrix_layouts(matrices: u32, transpose: bool, elem: Elem) -> [Layout; 2] {
    // Elements of a matrix row, of a register, of the 16 bits that transposing moves.
    let (row, register) = (128 / elem.bits(), 32 / elem.bits());
    let moved = 16 / elem.bits();
    let src = match matrices {
        1 => format!("((8,4),{row}):(({row},0),1)"),
        2 => format!("((16,2),{row}):(({row},0),1)"),
        _ => format!("(32,{row}):({row},1)"),
    };
    let dst = match (matrices, transpose) {
        (1, false) => format!("(32,{register}):({register},1)"),
        (_, false) => {
            let matrix = 32 * register;
            format!("(32,({register},{matrices})):({register},(1,{matrix}))")
        }
        (1, true) => {
            let (two, half) = (16 * moved, 8 * moved);
            format!("((4,8),({moved},2)):(({two},{moved}),(1,{half}))")
        }
        (_, true) => {
            let (two, half, matrix) = (16 * moved, 8 * moved, 64 * moved);
            format!("((4,8),({moved},2,{matrices})):(({two},{moved}),(1,{half},{matrix}))")
        }
    };
    [layout(&src), layout(&dst)]
}
