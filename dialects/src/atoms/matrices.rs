//! [`Matrices`]: what `ldmatrix` and `stmatrix` move, and have in common.
use super::fields::Fields;
use super::{AtomError, layout};
use crate::elem::Elem;
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;

/// Matrices of eight rows of 16 bytes (PTX ISA, "ldmatrix", "stmatrix").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrices {
    /// How many an instruction moves: 1, 2 or 4.
    pub count: u32,
    /// Whether each one is transposed on the way, in pieces of 16 bits.
    pub transpose: bool,
}

impl Matrices {
    /// Reads the parameters of an atom's type, `val_type = f16, num_matrices = 4, n`.
    pub(super) fn parse(fields: &mut Fields) -> Result<(Matrices, Elem), TypeError> {
        let elem = fields.named("val_type")?;
        let elem = fields.elem_of(elem)?;
        let count = fields.named("num_matrices")?.parse();
        let count = count.map_err(|_| fields.form("a number of matrices"))?;
        let transpose = match fields.next("n or t")? {
            "n" => false,
            "t" => true,
            _ => return Err(fields.form("n or t")),
        };
        Ok((Matrices { count, transpose }, elem))
    }

    /// Prints them, as [`Matrices::parse`] reads them.
    pub(super) fn parameters(self, elem: Elem) -> String {
        let how = if self.transpose { "t" } else { "n" };
        format!("val_type = {elem}, num_matrices = {}, {how}", self.count)
    }

    /// Every number of them, as they are and transposed.
    pub(super) fn all() -> impl Iterator<Item = Matrices> {
        [1, 2, 4]
            .into_iter()
            .flat_map(|count| [false, true].map(|transpose| Matrices { count, transpose }))
    }

    /// Checks that an instruction moves them, of elements of a type.
    pub(super) fn verify(self, instruction: &'static str, elem: Elem) -> Result<(), AtomError> {
        if !matches!(self.count, 1 | 2 | 4) {
            let matrices = self.count;
            return Err(AtomError::Matrices {
                instruction,
                matrices,
            });
        }
        if elem.bits() > if self.transpose { 16 } else { 32 } {
            return Err(AtomError::MatrixElement { instruction, elem });
        }
        Ok(())
    }

    /// The name of an instruction for them: `ldmatrix_x4_trans`.
    pub(super) fn name(self, instruction: &str) -> String {
        let transposed = if self.transpose { "_trans" } else { "" };
        format!("{instruction}_x{}{transposed}", self.count)
    }

    /// An instruction for them in PTX.
    pub(super) fn ptx(self, instruction: &str) -> String {
        let transposed = if self.transpose { ".trans" } else { "" };
        let count = self.count;
        format!("{instruction}.sync.aligned.m8n8.x{count}{transposed}.shared.b16")
    }

    /// How an instruction for them accesses shared memory.
    pub(super) fn shared_access(self) -> Kind {
        Kind::Ldmatrix {
            matrices: self.count,
            transpose: self.transpose,
        }
    }

    /// Elements of a thread: a row of 16 bytes, and a register of 32 bits for each matrix.
    pub(super) fn values(self, elem: Elem) -> [i64; 2] {
        [128 / elem.bits(), i64::from(self.count) * 32 / elem.bits()]
    }

    /// The row to which a lane points, and what it has in registers.
    pub(super) fn layouts(self, elem: Elem) -> [Layout; 2] {
        // Elements of a matrix row, of a register, of the 16 bits that transposing moves.
        let (row, register) = (128 / elem.bits(), 32 / elem.bits());
        let moved = 16 / elem.bits();
        let count = self.count;
        let rows = match count {
            1 => format!("((8,4),{row}):(({row},0),1)"),
            2 => format!("((16,2),{row}):(({row},0),1)"),
            _ => format!("(32,{row}):({row},1)"),
        };
        let registers = match (count, self.transpose) {
            (1, false) => format!("(32,{register}):({register},1)"),
            (_, false) => {
                let matrix = 32 * register;
                format!("(32,({register},{count})):({register},(1,{matrix}))")
            }
            (1, true) => {
                let (two, half) = (16 * moved, 8 * moved);
                format!("((4,8),({moved},2)):(({two},{moved}),(1,{half}))")
            }
            (_, true) => {
                let (two, half, matrix) = (16 * moved, 8 * moved, 64 * moved);
                format!("((4,8),({moved},2,{count})):(({two},{moved}),(1,{half},{matrix}))")
            }
        };
        [layout(&rows), layout(&registers)]
    }
}
