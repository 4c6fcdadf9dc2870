//! Which rows of its factors the instructions of a product have, and so which rows and columns of it.
//!
//! A product gives the same numbers in whatever order instructions take the rows of its factors. A thread has one row of an instruction, or a few
//! that lie apart (PTX ISA, "Matrix Fragments for mma"); where several instructions of a warp interleave, it has neighbours.
use super::types::fast_axis;
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::tile;
use cutec_dialects::target::WIDEST_ACCESS;
use cutec_layout::{Layout, Tiler};

/// Atoms of tensor cores whose columns a warp interleaves.
const INTERLEAVED: i64 = 4;
/// Groups of lanes that have different rows of a factor of a warp's instruction.
pub(super) const GROUPS: i64 = 8;

/// The rows of a factor that the instructions of all warps take at once.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// All of the tile.
    pub extent: i64,
    /// Those of an instruction.
    pub of_atom: i64,
    /// Warps that have different ones.
    pub warps: i64,
}

impl Rows {
    /// Whether so many instructions of each warp side by side divide them.
    fn divide_by(self, atoms: i64) -> bool {
        self.extent % (self.of_atom * self.warps * atoms) == 0
    }

    /// The tiler by which a thread has neighbours, of a factor whose rows lie across memory: it reads them at once. `None` where it has one.
    pub fn across(self, neighbours: Neighbours) -> Option<Tiler> {
        let own = own_rows(self.of_atom);
        let least = neighbours.atoms(self.of_atom);
        let mut atoms = (neighbours.most / own).max(least);
        while atoms > least && !self.divide_by(atoms) {
            atoms /= 2;
        }
        let modes = [
            (GROUPS, own * atoms),
            (own, 1),
            (self.warps, self.of_atom * atoms),
            (atoms, own),
        ];
        let has = neighbours != Neighbours::ONE && own * atoms > 1 && self.divide_by(atoms);
        has.then(|| Tiler::Layout(Layout::of_modes(modes)))
    }

    /// The tiler along n, where a thread of an instruction has so many neighbouring columns.
    ///
    /// Where b can be read in any order of its rows, four atoms interleave, and a thread gets eight neighbours, which it stores at once.
    /// Else a warp has two atoms side by side, the rows that one `ldmatrix` reads: so does one whose sums are a factor of another product, which
    /// wants them as they are then.
    pub fn of_columns(self, own: i64, in_any_order: bool) -> Tiler {
        if in_any_order && self.divide_by(INTERLEAVED) {
            let modes = [
                (own, 1),
                (self.of_atom / own, INTERLEAVED * own),
                (self.warps, INTERLEAVED * self.of_atom),
                (INTERLEAVED, own),
            ];
            return Tiler::Layout(Layout::of_modes(modes));
        }
        match self.divide_by(2) {
            true => Tiler::Layout(Layout::scalar(2 * self.of_atom * self.warps, 1)),
            false => Tiler::All,
        }
    }
}

/// Rows that a thread has of a factor of an instruction of so many.
fn own_rows(of_atom: i64) -> i64 {
    (of_atom / GROUPS).max(1)
}

/// How many neighbouring rows of a factor a thread has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Neighbours {
    /// Without which it is not read so.
    pub least: i64,
    /// That one access takes.
    pub most: i64,
}

impl Neighbours {
    /// No other than the instruction gives it.
    pub const ONE: Neighbours = Neighbours { least: 1, most: 1 };

    /// Of a factor of a product that is loaded as it is multiplied.
    pub fn of_loaded(factor: IrValue) -> Self {
        let memory = tile::Load::defining(factor).and_then(|load| fast_axis(load.view()));
        match memory {
            Some((0, elem)) => Neighbours {
                least: 1,
                most: Neighbours::at_once(elem),
            },
            _ => Neighbours::ONE,
        }
    }

    /// Elements that one access takes of a buffer in which rows lie across memory. Those of 16 bits are turned by `ldmatrix`; of larger ones a register
    /// has one, and instructions take theirs from registers side by side, to which ptxas would move what it loads as vectors: products of tf32
    /// take 1.05 times as long so.
    pub fn at_once(elem: Elem) -> i64 {
        match elem.bits() {
            bits if bits < 16 => 8 * WIDEST_ACCESS / bits,
            _ => 1,
        }
    }

    /// How many instructions, each of so many rows, interleave at least.
    pub fn atoms(self, of_atom: i64) -> i64 {
        (self.least / own_rows(of_atom)).max(1)
    }
}
