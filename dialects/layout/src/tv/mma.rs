//! [`TiledMma`]: MMA atoms over threads that cover a tile of the matrices.

use super::copy::mode_size;
use super::partition::{Partition, slice_any};
use crate::algebra::{
    complement_default, composition, composition_any, composition_tiler, cosize, flat_coord,
    logical_divide, make_fragment_like, right_inverse, slice, tiled_product, zipped_divide,
};
use crate::{AnyLayout, Coord, Int, IntTuple, Layout, LayoutError, Tiler, Tree};

/// The shape and the thread-value layouts of an MMA instruction. `a_tv` maps `(thread, value)` to
/// the column-major position in the `(M, K)` of the instruction, `b_tv` in `(N, K)`, `c_tv` in
/// `(M, N)`. Of a sparse A, of which only some elements are there, K is how many of them a row has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MmaAtom {
    /// Extents M, N, K.
    pub shape_mnk: [i64; 3],
    /// Logical thread to thread of the CTA; `32:1` for a warp.
    pub thr_id: Layout,
    /// Layout of A.
    pub a_tv: Layout,
    /// Layout of B.
    pub b_tv: Layout,
    /// Layout of C and D.
    pub c_tv: Layout,
}

/// One of the matrices of a multiplication.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// The left factor, `(M, K)`.
    A,
    /// The right factor, `(N, K)`.
    B,
    /// The accumulator, `(M, N)`.
    C,
}

impl Operand {
    /// The places of its two modes in `(M, N, K)`.
    pub fn modes(self) -> [usize; 2] {
        match self {
            Operand::A => [0, 2],
            Operand::B => [1, 2],
            Operand::C => [0, 1],
        }
    }
}

/// MMA atoms over threads, with a permutation of each of M, N and K.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TiledMma {
    atom: MmaAtom,
    atom_layout_mnk: Layout,
    permutation_mnk: [Tiler; 3],
    thr_layout_vmnk: Layout,
}

impl TiledMma {
    /// A tiled MMA from the layout of the atoms over `(M, N, K)`, padded with `1:0` to three
    /// modes, and the permutation of each mode (`Tiler::All` for none).
    ///
    /// # Errors
    /// If the layout has more than three modes, or thread layouts do not multiply.
    pub fn new(
        atom: MmaAtom,
        atom_layout_mnk: &Layout,
        permutation_mnk: [Tiler; 3],
    ) -> Result<TiledMma, LayoutError> {
        let unit = Layout::unit();
        let atom_layout_mnk = crate::algebra::append_to_rank(atom_layout_mnk, 3, &unit);
        if atom_layout_mnk.rank() != 3 {
            return Err(LayoutError::RankMismatch {
                op: "make_tiled_mma",
                expected: 3,
                found: atom_layout_mnk.rank(),
                value: atom_layout_mnk.to_string(),
            });
        }
        let tiler = Tiler::Layout(atom_layout_mnk.clone());
        let thr_layout_vmnk = tiled_product(&atom.thr_id, &tiler)?;
        Ok(TiledMma {
            atom,
            atom_layout_mnk,
            permutation_mnk,
            thr_layout_vmnk,
        })
    }

    /// The atom.
    pub fn atom(&self) -> &MmaAtom {
        &self.atom
    }

    /// How the atoms lie over M, N and K.
    pub fn atom_layout_mnk(&self) -> &Layout {
        &self.atom_layout_mnk
    }

    /// The permutations as they were given.
    pub fn permutation_mnk(&self) -> &[Tiler; 3] {
        &self.permutation_mnk
    }

    /// `(V, M, N, K) -> thread`, where V counts the threads of an atom.
    pub fn thr_layout_vmnk(&self) -> &Layout {
        &self.thr_layout_vmnk
    }

    /// Number of threads.
    pub fn threads(&self) -> Int {
        self.thr_layout_vmnk.size()
    }

    /// The permutation of mode `index` of `(M, N, K)`: the given one, or the extent of all atoms.
    pub fn permutation(&self, index: usize) -> Tiler {
        match &self.permutation_mnk[index.min(2)] {
            Tiler::All => {
                let atoms = mode_size(&self.thr_layout_vmnk, index.min(2) + 1);
                Tiler::Int(atoms.mul(&Int::Static(self.atom.shape_mnk[index.min(2)])))
            }
            given => given.clone(),
        }
    }

    /// Extent of the tile in mode `index` of `(M, N, K)`.
    pub fn tile_size(&self, index: usize) -> Int {
        self.permutation(index).size().unwrap_or(Int::ONE)
    }

    /// Extents of the tile in M, N and K.
    pub fn tile_size_mnk(&self) -> [Int; 3] {
        [0, 1, 2].map(|index| self.tile_size(index))
    }

    /// The extent that an operand has in a mode of `(M, N, K)` of the atom: of K a sparse A has less.
    fn extent_of(&self, operand: Operand, mode: usize) -> Result<i64, LayoutError> {
        let [m, _, k] = self.atom.shape_mnk;
        if (operand, mode) != (Operand::A, 2) {
            return Ok(self.atom.shape_mnk[mode]);
        }
        let elements = cosize(&self.atom.a_tv)?.as_static();
        Ok(elements.map_or(k, |elements| elements / m))
    }

    /// The permutation of mode `mode` of `(M, N, K)` for an operand.
    fn permutation_of(&self, operand: Operand, mode: usize) -> Result<Tiler, LayoutError> {
        let extent = self.extent_of(operand, mode)?;
        if extent == self.atom.shape_mnk[mode] {
            return Ok(self.permutation(mode));
        }
        match &self.permutation_mnk[mode] {
            Tiler::All => {
                let atoms = mode_size(&self.thr_layout_vmnk, mode + 1);
                Ok(Tiler::Int(atoms.mul(&Int::Static(extent))))
            }
            given => Err(LayoutError::Unsupported {
                op: "tiled_mma.partition",
                expected: "no permutation of K where A is sparse",
                found: format!("{given:?}"),
            }),
        }
    }

    /// The thread-value layout of the atom for an operand.
    pub fn atom_tv(&self, operand: Operand) -> &Layout {
        match operand {
            Operand::A => &self.atom.a_tv,
            Operand::B => &self.atom.b_tv,
            Operand::C => &self.atom.c_tv,
        }
    }

    /// A matrix `(M, K, …)`, `(N, K, …)` or `(M, N, …)` as
    /// `((V, (ThrX, ThrY)), (value, (RestX, RestY, …)))`.
    ///
    /// # Errors
    /// If the matrix has fewer than two modes or is not divided by the tile.
    pub fn thrfrg(&self, operand: Operand, tensor: &AnyLayout) -> Result<AnyLayout, LayoutError> {
        if tensor.rank() < 2 {
            return Err(LayoutError::RankMismatch {
                op: "tiled_mma.partition",
                expected: 2,
                found: tensor.rank(),
                value: tensor.to_string(),
            });
        }
        let modes = operand.modes();
        let [x, y] = modes;
        let permutation = Tiler::Tile(vec![
            self.permutation_of(operand, x)?,
            self.permutation_of(operand, y)?,
        ]);
        let extent = |mode: usize| {
            let extent = Layout::contiguous(self.extent_of(operand, mode)?);
            Ok::<_, LayoutError>(Tiler::Layout(extent))
        };
        let atom_tile = Tiler::Tile(vec![extent(x)?, extent(y)?]);
        let tiled = tensor.map_inner(|inner| {
            let permuted = logical_divide(inner, &permutation)?;
            zipped_divide(&permuted, &atom_tile)
        })?;
        let tv = Tiler::Layout(self.atom_tv(operand).clone());
        let by_value = composition_any(&tiled, &Tiler::Tile(vec![tv, Tiler::All]))?;
        let threads = modes.map(|mode| {
            let atoms = mode_size(&self.thr_layout_vmnk, mode + 1);
            Tiler::Layout(Layout::contiguous(atoms))
        });
        let thr_tile = Tiler::Tile(vec![Tiler::All, Tiler::Tile(threads.to_vec())]);
        by_value.map_inner(|inner| zipped_divide(inner, &thr_tile))
    }

    /// The flat coordinate `[v, m, n, k]` of a thread.
    ///
    /// # Errors
    /// If the thread layout is not compact.
    pub fn thread_coord(&self, thread: &Int) -> Result<Vec<Int>, LayoutError> {
        flat_coord(thread, &self.thr_layout_vmnk)
    }

    /// What thread `thread` holds of a matrix: `(value, RestX, RestY, …)`.
    ///
    /// # Errors
    /// As [`TiledMma::thrfrg`] and [`TiledMma::thread_coord`].
    pub fn partition(
        &self,
        operand: Operand,
        thread: &Int,
        tensor: &AnyLayout,
    ) -> Result<Partition, LayoutError> {
        let coord = self.thread_coord(thread)?;
        let at = |index: usize| {
            let index = coord.get(index).cloned().unwrap_or(Int::ZERO);
            Tree::Leaf(Some(index))
        };
        let [x, y] = operand.modes();
        let thread = Tree::Node(vec![at(0), Tree::Node(vec![at(x + 1), at(y + 1)])]);
        let by_thread = self.thrfrg(operand, tensor)?;
        let rest = rest_coord(&by_thread);
        slice_any(&Tree::Node(vec![thread, rest]), &by_thread)
    }

    /// The shape of what a thread holds of a matrix of the given shape.
    ///
    /// # Errors
    /// As [`TiledMma::thrfrg`].
    pub fn partition_shape(
        &self,
        operand: Operand,
        shape: &IntTuple,
    ) -> Result<IntTuple, LayoutError> {
        let matrix = AnyLayout::Plain(Layout::col_major(shape.clone()));
        let by_thread = self.thrfrg(operand, &matrix)?;
        let first = Tree::Leaf(Some(Int::ZERO));
        let coord = Tree::Node(vec![first, rest_coord(&by_thread)]);
        Ok(slice(&coord, by_thread.inner())?.shape().clone())
    }

    /// The compact register layout of a partitioned matrix: for C in column-major order, for A
    /// and B in the order of the strides of the partition.
    ///
    /// # Errors
    /// If the partition has fewer than three modes or not the values of the atom.
    pub fn make_fragment(
        &self,
        operand: Operand,
        partition: &Layout,
    ) -> Result<Layout, LayoutError> {
        const OP: &str = "make_fragment";
        if partition.rank() < 3 {
            return Err(LayoutError::RankMismatch {
                op: OP,
                expected: 3,
                found: partition.rank(),
                value: partition.to_string(),
            });
        }
        let (held, values) = (mode_size(partition, 0), mode_size(self.atom_tv(operand), 1));
        if held != values {
            return Err(LayoutError::Unsupported {
                op: OP,
                expected: "a partition with the values of the atom in its first mode",
                found: partition.to_string(),
            });
        }
        match operand {
            Operand::C => Ok(Layout::col_major(partition.shape().clone())),
            Operand::A | Operand::B => make_fragment_like(partition),
        }
    }

    /// `(thread, value) -> column-major position in the tile` of an operand.
    ///
    /// # Errors
    /// As [`TiledMma::thrfrg`].
    pub fn layout_tv(&self, operand: Operand) -> Result<Layout, LayoutError> {
        let size = |mode: usize| {
            let tile = self.permutation_of(operand, mode)?;
            Ok::<_, LayoutError>(tile.size().unwrap_or(Int::ONE))
        };
        let [x, y] = operand.modes();
        self.layout_tv_over(operand, [size(x)?, size(y)?])
    }

    /// The same over a matrix of several tiles, whose values are `(value, (RestX, RestY))`.
    ///
    /// # Errors
    /// As [`TiledMma::thrfrg`].
    pub fn layout_tv_over(&self, operand: Operand, shape: [Int; 2]) -> Result<Layout, LayoutError> {
        let shape = Tree::Node(shape.map(Tree::Leaf).to_vec());
        let by_thread = self.thrfrg(operand, &AnyLayout::Plain(Layout::col_major(shape)))?;
        let mut by_thread = by_thread.inner().clone();
        let atoms = |mode: usize| mode_size(&self.thr_layout_vmnk, mode + 1);
        let expand = |along_m: i64, along_n: i64| {
            let broadcast = Layout::concat([
                Layout::scalar(atoms(0), along_m),
                Layout::scalar(atoms(1), along_n),
            ]);
            let mn = Tiler::Tile(vec![Tiler::Layout(broadcast), Tiler::All]);
            Tiler::Tile(vec![Tiler::Tile(vec![Tiler::All, mn]), Tiler::All])
        };
        // (V,(M,K)) and (V,(N,K)) become (V,(M,N,K)), constant along the mode that is not there.
        match operand {
            Operand::A => by_thread = composition_tiler(&by_thread, &expand(1, 0))?,
            Operand::B => by_thread = composition_tiler(&by_thread, &expand(0, 1))?,
            Operand::C => {}
        }
        let to_coord = Tiler::Layout(self.thread_to_coord()?);
        composition_tiler(&by_thread, &Tiler::Tile(vec![to_coord, Tiler::All]))
    }

    /// `thread -> index of its (V, M, N, K)`.
    fn thread_to_coord(&self) -> Result<Layout, LayoutError> {
        let threads = &self.thr_layout_vmnk;
        let all = Layout::concat([threads.clone(), complement_default(threads)?]);
        let keep = Layout::concat([Layout::scalar(threads.size(), 1), Layout::unit()]);
        composition(&keep, &right_inverse(&all))
    }
}

/// `(_, (_, _, …))` for the second mode of what [`TiledMma::thrfrg`] returns.
fn rest_coord(by_thread: &AnyLayout) -> Coord {
    let rest = by_thread.shape().at(&[1, 1]).map_or(1, Tree::rank);
    let rest = match rest {
        1 => Tree::Leaf(None),
        rest => Tree::Node(vec![Tree::Leaf(None); rest]),
    };
    Tree::Node(vec![Tree::Leaf(None), rest])
}
