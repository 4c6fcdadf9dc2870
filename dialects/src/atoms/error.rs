//! [`AtomError`].
use super::MmaAtom;
use crate::elem::Elem;
use thiserror::Error;

/// An atom that does not exist, or not for this target.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum AtomError {
    #[error("{atom} takes no `{hint}`")]
    Hint { atom: String, hint: String },
    #[error("no copy instruction moves {bits} bits of {}; expected {expected}", .elem.language_name())]
    CopyWidth {
        bits: u32,
        elem: Elem,
        expected: &'static str,
    },
    #[error("`cp.async.cg` moves 128 bits, not {bits}; use `cache = always` for 32 or 64")]
    AsyncGlobalWidth { bits: u32 },
    #[error("{instruction} moves 1, 2 or 4 matrices, not {matrices}")]
    Matrices {
        instruction: &'static str,
        matrices: u32,
    },
    #[error("{instruction} moves elements of 8, 16 or 32 bits, transposed of 8 or 16, not {}", .elem.language_name())]
    MatrixElement {
        instruction: &'static str,
        elem: Elem,
    },
    #[error("no red.{how} combines {bits} bits of {}; {}", .elem.language_name(), red_widths(.there))]
    Red {
        how: &'static str,
        bits: u32,
        elem: Elem,
        there: Vec<u32>,
    },
    #[error("no mma instruction {}; near it there is: {}", .0.types_text(), .0.near_text())]
    NoMma(MmaAtom),
    #[error("wgmma negates floating-point operands, not {}", .elem.language_name())]
    NegatedInteger { elem: Elem },
    #[error("all threads have metadata of elements of 8 bits, those of sparse {}; expected `sparse = 0`", .elem.language_name())]
    SparsePair { elem: Elem },
    #[error("no fused multiply-add of {}; expected f16, bf16, f32 or f64", .elem.language_name())]
    NoFma { elem: Elem },
    #[error("{atom} needs {needs}; the target is {target}")]
    Target {
        atom: String,
        needs: String,
        target: &'static str,
    },
}

/// What `red` there is instead.
fn red_widths(bits: &[u32]) -> String {
    match bits {
        [] => "there is none of these elements".to_owned(),
        [one] => format!("expected {one} bits"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(u32::to_string).collect();
            format!("expected {} or {last} bits", first.join(", "))
        }
    }
}
