//! Operations that read, write or allocate memory: what is legal, and the
//! instructions that a copy or a gemm of one thread consists of.
use super::bulk::{bulk_plan, bulk_prefetch_plan};
use super::tma::{tma_plan, tma_prefetch_plan};
use super::tma_desc::{tma_desc_place, tma_desc_update};
use super::vectors::{has_values, offsets_of, unrollable, vector_type};
use super::view::in_whole_bytes;
use super::{Attrs, SemError, count_error, integers, operand_error};
use crate::atoms::{CopyAtom, CopyOp, Issuer, MmaAtom, MmaOperand, Place, Wgmma};
use crate::elem::{Elem, Space};
use crate::ops::CuteOp;
use crate::value::{CoordTensor, Val, View, is_static_tuple};
use cutec_abi::counted;
use cutec_layout::algebra as layout;
use cutec_layout::matrix_descriptor::{Major, MatrixDescriptor};
use cutec_layout::tv::Operand;
use cutec_layout::{AnyLayout, Int, IntTuple, Layout, Outer, Tree, gcd};

/// Elements that one allocation may reach over: more than registers or shared memory hold anywhere.
const MAX_ALLOCATED: i64 = 1 << 20;
/// One side of a copy: where each instruction's vector starts, and the vector.
#[derive(Clone, Debug)]
pub struct CopySide {
    /// Layout offset of each instruction, in elements.
    pub starts: Vec<Int>,
    /// Layout of one instruction's values.
    pub vector: Layout,
}

/// The instructions of a `cute.copy`.
#[derive(Clone, Debug)]
pub struct CopyPlan {
    /// The instruction.
    pub atom: CopyAtom,
    /// Source and destination as the instruction sees them: packed elements as bytes.
    pub views: [View; 2],
    /// What it reads.
    pub src: CopySide,
    /// What it writes.
    pub dst: CopySide,
    /// What decides whether each instruction moves anything.
    pub pred: Option<Predicate>,
}

/// Where it is false, a copy writes zeros to shared memory, zeros or its `fill` to registers, and nothing to global memory.
#[derive(Clone, Debug)]
pub enum Predicate {
    /// A view of booleans: the offset for each instruction.
    Mask(Vec<Int>),
    /// Coordinates that must lie inside of a shape: that of the first element of each instruction.
    Inside {
        /// One coordinate for each instruction.
        coords: Vec<IntTuple>,
        /// The bound, exclusive.
        shape: IntTuple,
    },
}

/// The instructions of a `cute.gemm`: offsets of the operands of each, in order.
#[derive(Clone, Debug)]
pub struct GemmPlan {
    /// The instruction.
    pub atom: MmaAtom,
    /// D, A, B and C in registers; packed elements as bytes.
    pub views: [View; 4],
    /// Layouts of one atom's values in D, A, B and C.
    pub values: [Layout; 4],
    /// How D, A, B and C lie where an instruction reads them by a descriptor.
    pub descriptors: [Option<MatrixDescriptor>; 4],
    /// Start of D, A, B and C for each instruction.
    pub steps: Vec<[Int; 4]>,
    /// Start of each part of A, those of other rows first.
    pub starts_of_a: Vec<Int>,
}

pub(super) fn evaluate(op: CuteOp, operands: &[Val], attrs: &Attrs) -> Result<Val, SemError> {
    match (op, operands) {
        (CuteOp::MemrefAlloca | CuteOp::MemrefAllocSmem, []) => match &attrs.result {
            Some(result @ Val::View(view)) => {
                let (expected, what) = if op == CuteOp::MemrefAlloca {
                    (Space::Rmem, "rmem")
                } else {
                    (Space::Smem, "smem")
                };
                if view.ptr.space != expected {
                    return operand_error(format!("a view of {what} as result"), result);
                }
                if !(Val::Layout(view.layout.clone())).is_static() {
                    return operand_error("a static layout to allocate", result);
                }
                allocatable(&view.layout)?;
                Ok(result.clone())
            }
            _ => Err(SemError::Illegal("expects a view as result".into())),
        },
        (CuteOp::MemrefLoad, [Val::View(view), coord]) => {
            has_values(view)?;
            layout::crd2idx(&integers(coord)?, view.layout.inner())?;
            Ok(Val::Opaque(view.ptr.elem.value_type().into()))
        }
        (CuteOp::MemrefAtomic, operands) => super::atomic::evaluate(operands, attrs),
        (CuteOp::MakeTmaAtom, [Val::Opaque(map)]) if map == "!llvm.ptr" => match &attrs.result {
            Some(result @ Val::TmaAtom(_)) => Ok(result.clone()),
            _ => Err(SemError::Illegal(
                "expects an atom of a copy by a tensor map as result".into(),
            )),
        },
        (CuteOp::MakeTmaAtom, [map @ Val::View(_)]) => match &attrs.result {
            Some(result @ Val::TmaAtom(_)) => {
                tma_desc_place(map, &[Space::Gmem])?;
                Ok(result.clone())
            }
            _ => Err(SemError::Illegal(
                "expects an atom of a copy by a tensor map as result".into(),
            )),
        },
        (op, operands) if op.asks_mbarrier() => {
            super::mbarrier::check(op, operands)?;
            Ok(Val::Opaque("i1".into()))
        }
        (CuteOp::MemrefLoadVec, [Val::View(view)])
            if view.ptr.space != Space::Gmem && attrs.hints.first().is_some() =>
        {
            operand_error(
                "a view in gmem to ask something of its caches",
                &operands[0],
            )
        }
        (CuteOp::MemrefLoadVec, [Val::View(view)]) => Ok(Val::Opaque(vector_type(view)?)),
        _ => Err(unknown(op, operands)),
    }
}

/// Whether a copy can write a number of a type to registers where its predicate is false.
fn fills(plan: &CopyPlan, fill: &str) -> Result<(), SemError> {
    let [from, to] = &plan.views;
    let to_registers = to.ptr.space == Space::Rmem && from.ptr.space != Space::Rmem;
    if plan.pred.is_none() || !to_registers || !matches!(plan.atom.op, CopyOp::UniversalCopy(_)) {
        let message =
            "expects a universal copy from memory to registers, with a predicate, beside `fill`";
        return Err(SemError::Illegal(message.into()));
    }
    let elem = to.ptr.elem.value_type();
    match fill == elem {
        true => Ok(()),
        false => Err(SemError::Illegal(format!(
            "expects a number of {elem} as `fill`, but got one of {fill}"
        ))),
    }
}

/// Whether memory of a static layout can be had: something, not too much, and nothing before its start.
pub(super) fn allocatable(layout: &AnyLayout) -> Result<(), SemError> {
    let size = layout::storage(layout)?.as_static();
    let at_least = |tuple: &IntTuple, least: i64| {
        let leaves = tuple.leaves();
        let known = leaves.iter().map(|leaf| leaf.as_static());
        known
            .into_iter()
            .all(|leaf| leaf.is_some_and(|leaf| leaf >= least))
    };
    let inner = layout.inner();
    let possible = size.is_some_and(|size| (1..=MAX_ALLOCATED).contains(&size))
        && at_least(inner.shape(), 1)
        && at_least(inner.stride(), 0);
    match possible {
        true => Ok(()),
        false => Err(SemError::Illegal(format!(
            "nothing of layout {layout} can be allocated; expected 1 to {MAX_ALLOCATED} elements, from 0 on"
        ))),
    }
}

fn unknown(op: CuteOp, operands: &[Val]) -> SemError {
    let found = operands
        .iter()
        .map(Val::describe)
        .collect::<Vec<_>>()
        .join(", ");
    SemError::Illegal(format!("{op} does not take ({found})"))
}

/// Verifies an operation without results.
pub fn check(op: CuteOp, operands: &[Val], attrs: &Attrs) -> Result<(), SemError> {
    match (op, operands) {
        (CuteOp::MemrefStore, [value, Val::View(view), coord]) => {
            let found = value.to_string();
            let expected = view.ptr.elem.value_type();
            if matches!(value, Val::Opaque(_)) && found != expected {
                return operand_error(format!("a value of {expected}"), value);
            }
            has_values(view)?;
            layout::crd2idx(&integers(coord)?, view.layout.inner())?;
            Ok(())
        }
        (CuteOp::Print, [_]) => Ok(()),
        (CuteOp::MemrefStoreVec, [value, Val::View(view)]) => {
            let expected = vector_type(view)?;
            if value.to_string() != expected {
                return operand_error(format!("a value of {expected}"), value);
            }
            Ok(())
        }
        (CuteOp::Copy, [Val::TmaAtom(atom), rest @ ..]) => tma_plan(atom, rest).map(|_| ()),
        (CuteOp::Copy, [Val::BulkCopy(atom), rest @ ..]) => bulk_plan(atom, rest).map(|_| ()),
        (CuteOp::PrefetchTmaDesc, [Val::TmaAtom(_)]) => Ok(()),
        (CuteOp::CopyTmaDesc, [Val::TmaAtom(_), map]) => {
            tma_desc_place(map, &[Space::Gmem, Space::Smem]).map(|_| ())
        }
        (CuteOp::UpdateTmaDesc, [Val::TmaAtom(atom), tensor, map]) => {
            tma_desc_place(map, &[Space::Gmem, Space::Smem])?;
            tma_desc_update(atom, tensor).map(|_| ())
        }
        (CuteOp::CpFenceTmaDescRelease, [to, from]) => {
            tma_desc_place(to, &[Space::Gmem])?;
            tma_desc_place(from, &[Space::Smem]).map(|_| ())
        }
        (CuteOp::FenceTmaDescAcquire, [map]) => tma_desc_place(map, &[Space::Gmem]).map(|_| ()),
        (CuteOp::Prefetch, [Val::TmaAtom(atom), tile]) => tma_prefetch_plan(atom, tile).map(|_| ()),
        (CuteOp::Prefetch, [Val::BulkCopy(atom), source]) => {
            bulk_prefetch_plan(atom, source).map(|_| ())
        }
        (CuteOp::Copy, [atom, src, dst, pred @ ..]) if pred.len() <= 2 => {
            let plan = copy_plan(atom, src, dst, pred)?;
            match &attrs.fill {
                Some(fill) => fills(&plan, fill),
                None => Ok(()),
            }
        }
        (CuteOp::Copy, _) => count_error("3 to 5", operands.len()),
        (CuteOp::AutovecCopy, [Val::View(src), Val::View(dst)]) => {
            has_values(src)?;
            has_values(dst)?;
            let (from, to) = (src.layout.size(), dst.layout.size());
            if !from.is_static() || from != to {
                return Err(SemError::Illegal(format!(
                    "copies {} to {to}; expects the same static number",
                    match from == Int::ONE {
                        true => "1 element".to_owned(),
                        false => format!("{from} elements"),
                    }
                )));
            }
            unrollable(from.as_static(), "elements")
        }
        (op, operands) if op.is_mbarrier() => super::mbarrier::check(op, operands),
        (CuteOp::StoreAsync, operands) => super::cluster::check_store_async(operands),
        (CuteOp::ReduceAsync, operands) => super::cluster::check_reduce_async(operands, attrs),
        (CuteOp::Gemm, [mma, d, a, b, c, more @ ..]) if more.len() <= 2 => match more.first() {
            Some(value) if !is_bool(value) => {
                operand_error("an i1 that says whether to add to C", value)
            }
            _ => {
                let plan = gemm_plan(mma, d, a, b, c)?;
                gemm_metadata(&plan, more.get(1)).map(|_| ())
            }
        },
        (CuteOp::Gemm, _) => count_error("5 to 7", operands.len()),
        _ => Err(unknown(op, operands)),
    }
}

/// Whether a value may be an `i1`.
fn is_bool(value: &Val) -> bool {
    match value {
        Val::Scalar(_) => true,
        Val::Opaque(ty) => ty == "i1",
        _ => false,
    }
}

/// Takes a copy apart into instructions. `pred` is empty, a view of booleans, or
/// a tensor of coordinates and the shape that they must lie in.
pub fn copy_plan(atom: &Val, src: &Val, dst: &Val, pred: &[Val]) -> Result<CopyPlan, SemError> {
    let Some(atom) = atom.copy_atom() else {
        return operand_error("a copy atom or a tiled copy", atom);
    };
    let (Val::View(from), Val::View(to)) = (src, dst) else {
        return operand_error(
            "a view to copy from and a view to copy to",
            if matches!(src, Val::View(_)) {
                dst
            } else {
                src
            },
        );
    };
    let [source, destination] = atom.places();
    if !source.holds(from.ptr.space) || !destination.holds(to.ptr.space) {
        return Err(SemError::Operand {
            expected: format!("a copy from {source} to {destination} for {atom}"),
            found: format!("from {} to {}", from.ptr.space, to.ptr.space),
        });
    }
    if let Some(hint) = atom.hints.first()
        && ![from, to].iter().any(|view| view.ptr.space == Space::Gmem)
    {
        return Err(SemError::Operand {
            expected: format!("a side in gmem for `{hint}`"),
            found: format!("from {} to {}", from.ptr.space, to.ptr.space),
        });
    }
    for (view, side) in [(from, "source"), (to, "destination")] {
        if view.ptr.elem.bits() != atom.elem.bits() {
            return Err(SemError::Operand {
                expected: format!("a {side} of {} for {atom}", atom.elem),
                found: view.ptr.elem.to_string(),
            });
        }
    }
    let values = atom.src_values().max(atom.dst_values());
    let (from, to) = (in_whole_bytes(from)?, in_whole_bytes(to)?);
    let atom = match atom.elem.is_packed() {
        true => CopyAtom {
            elem: Elem::I8,
            ..atom
        },
        false => atom,
    };
    let src = copy_side(&from, atom.src_values(), "source", &atom)?;
    let dst = copy_side(&to, atom.dst_values(), "destination", &atom)?;
    if src.starts.len() != dst.starts.len() {
        return Err(SemError::Illegal(format!(
            "source {} takes {} instructions and destination {} takes {}",
            from.layout,
            src.starts.len(),
            to.layout,
            dst.starts.len()
        )));
    }
    match (atom.issuer(), pred) {
        (Issuer::Thread, _) | (Issuer::Warp | Issuer::Warpgroup, []) => {}
        (Issuer::Warp | Issuer::Warpgroup, _) => {
            let name = atom.op.instruction().name();
            return Err(SemError::Illegal(format!(
                "{name} takes part with the whole warp and no predicate"
            )));
        }
    }
    let pred = match pred {
        [] => None,
        [Val::View(mask)] => Some(Predicate::Mask(one_each(
            offsets_of(mask.layout.inner())?,
            &src,
            &mask.layout,
        )?)),
        [Val::CoordTensor(tensor), shape] => Some(inside(tensor, &integers(shape)?, values, &src)?),
        [other, ..] => {
            return operand_error("a view of predicates, or coordinates and a shape", other);
        }
    };
    Ok(CopyPlan {
        atom,
        views: [from, to],
        src,
        dst,
        pred,
    })
}

fn one_each<T>(
    found: Vec<T>,
    side: &CopySide,
    what: &impl std::fmt::Display,
) -> Result<Vec<T>, SemError> {
    if found.len() == side.starts.len() {
        return Ok(found);
    }
    let (found, expected) = (found.len(), side.starts.len());
    Err(SemError::Illegal(format!(
        "the predicate {what} has {} for {}",
        counted(found, "element"),
        counted(expected, "instruction")
    )))
}

/// The coordinate of the first element of each instruction. It speaks for the
/// whole vector only if no vector crosses the bound: extent and coordinate are
/// multiples of the vector's length in the mode that it runs along.
fn inside(
    tensor: &CoordTensor,
    shape: &IntTuple,
    values: i64,
    side: &CopySide,
) -> Result<Predicate, SemError> {
    let (vector, rest) = split_vector(&tensor.layout, values).ok_or_else(|| {
        SemError::Illegal(format!(
            "the coordinates {} do not come in vectors of {}",
            tensor.layout,
            counted(values, "element")
        ))
    })?;
    let count = rest.size().as_static().unwrap_or(0);
    unrollable(Some(count), "coordinates")?;
    let at = |index: i64, layout: &Layout| layout::crd2idx(&Tree::Leaf(Int::Static(index)), layout);
    let coords = (0..count)
        .map(|index| Ok(layout::tuple_add(&tensor.base, &at(index, &rest)?)?))
        .collect::<Result<Vec<_>, SemError>>()?;
    let coords = one_each(coords, side, &tensor.layout)?;
    if values > 1 {
        for first in &coords {
            let last = layout::tuple_add(first, &at(values - 1, &vector)?)?;
            let bounds = shape
                .leaves()
                .into_iter()
                .zip(first.leaves())
                .zip(last.leaves());
            for (mode, ((bound, first), last)) in bounds.enumerate() {
                if first != last && !(bound.divisible_by(values) && first.divisible_by(values)) {
                    return Err(SemError::Illegal(format!(
                        "a vector of {values} elements may cross the bound of mode {mode}; promise that the extent is a multiple of {values}, or copy fewer bits"
                    )));
                }
            }
        }
    }
    Ok(Predicate::Inside {
        coords,
        shape: shape.clone(),
    })
}

/// Splits a view (V, rest…) into vectors of `values` elements.
fn copy_side(view: &View, values: i64, side: &str, atom: &CopyAtom) -> Result<CopySide, SemError> {
    let inner = view.layout.inner();
    if !is_static_tuple(inner.shape()) {
        return Err(SemError::Illegal(format!(
            "a copy has a static shape, but the {side} is {}",
            view.layout
        )));
    }
    let (vector, rest) = split_vector(inner, values).ok_or_else(|| {
        let found = inner.mode(0).map_or(Int::ONE, |mode| mode.size());
        SemError::Illegal(format!(
            "{atom} moves {} of the {side} at a time, but the first mode of {} has {found}",
            counted(values, "element"),
            view.layout
        ))
    })?;
    let starts = offsets_of(&rest)?;
    let in_memory = view.ptr.space != Space::Rmem;
    if in_memory && values > 1 {
        let bytes = view.ptr.elem.bytes_of(values);
        let merged = layout::coalesce(&vector);
        if !(merged.rank() <= 1 && merged.stride().leaves().iter().all(|stride| stride.is(1))) {
            return Err(SemError::Illegal(format!(
                "{atom} needs {values} contiguous elements in the {side}, but they lie as {vector} in {}",
                view.layout
            )));
        }
        let divides = starts.iter().map(|start| start.div()).fold(0, gcd);
        let start = if divides == 0 {
            bytes
        } else {
            view.ptr.elem.bytes_of(divides)
        };
        let alignment = view.alignment().min(start & start.wrapping_neg());
        if alignment < bytes {
            return Err(SemError::Illegal(format!(
                "{atom} needs the {side} aligned to {bytes} bytes, but `{}` proves only {alignment}; promise that the strides, extents and offsets in front of it are multiples of {values} elements, or copy fewer bits",
                Val::View(view.clone())
            )));
        }
    }
    Ok(CopySide { starts, vector })
}

/// The layout of one instruction's values, which come first in the first mode, and of the instructions.
fn split_vector(layout: &Layout, values: i64) -> Option<(Layout, Layout)> {
    let modes = |from: usize, of: &Layout| {
        (from..of.rank())
            .filter_map(|index| of.mode(index))
            .collect::<Vec<_>>()
    };
    let first = layout.mode(0)?;
    if first.size().is(values) {
        return Some((first, Layout::concat(modes(1, layout))));
    }
    let vector = first
        .mode(0)
        .filter(|mode| first.shape().rank() > 1 && mode.size().is(values))?;
    let rest = modes(1, &first).into_iter().chain(modes(1, layout));
    Some((vector, Layout::concat(rest)))
}

/// Takes a gemm apart into instructions: k outermost, then rows, the columns
/// back and forth so that neighbours share an operand.
pub fn gemm_plan(mma: &Val, d: &Val, a: &Val, b: &Val, c: &Val) -> Result<GemmPlan, SemError> {
    let Some(atom) = mma.mma_atom() else {
        return operand_error("a tiled MMA or an MMA atom", mma);
    };
    let views = [d, a, b, c].map(|val| match val {
        Val::View(view) => Ok(view),
        other => operand_error("a view", other),
    });
    let [d, a, b, c] = views;
    let (d, a, b, c) = (d?, a?, b?, c?);
    let [of_a, of_b, of_c] = [Operand::A, Operand::B, Operand::C].map(|which| atom.operand(which));
    let expected = [
        ("D", d, of_c),
        ("A", a, of_a),
        ("B", b, of_b),
        ("C", c, of_c),
    ];
    for (name, view, MmaOperand { elem, place, .. }) in expected {
        // The machine takes the upper bits of an f32 as tf32.
        let truncated = (elem, view.ptr.elem) == (Elem::TF32, Elem::F32);
        if view.ptr.elem != elem && !truncated {
            return Err(SemError::Operand {
                expected: format!("{name} of {elem}"),
                found: view.ptr.elem.to_string(),
            });
        }
        if !place.holds(view.ptr.space) {
            return Err(SemError::Operand {
                expected: match place {
                    Place::Registers => format!("{name} in registers"),
                    Place::SharedDescriptor => {
                        format!("{name} in {place}, which {atom} reads by itself")
                    }
                    Place::Shared | Place::Global | Place::Anywhere => format!("{name} in {place}"),
                },
                found: format!("{name} in {}", view.ptr.space),
            });
        }
    }
    let layouts = atom.layouts().map_err(crate::types::TypeError::from)?;
    let wanted = [&layouts.c, &layouts.a, &layouts.b, &layouts.c]
        .map(|tv| tv.mode(1).map_or(Int::ONE, |mode| mode.size()));
    let (mut seen, mut values, mut rests) = (Vec::new(), Vec::new(), Vec::new());
    for ((name, view, _), wanted) in expected.into_iter().zip(wanted) {
        let inner = view.layout.inner();
        let extents: Vec<i64> = (0..inner.rank())
            .map(|index| {
                inner
                    .mode(index)
                    .and_then(|mode| mode.size().as_static())
                    .unwrap_or(-1)
            })
            .collect();
        // Modes that are left out have one atom.
        let (ranks, modes): (&[usize], _) = if matches!(name, "D" | "C") {
            (&[1, 3], "(V) or (V, M, N)")
        } else {
            (&[1, 2, 3], "(V[, M or N[, K]])")
        };
        if !ranks.contains(&extents.len())
            || extents.contains(&-1)
            || !Int::Static(extents[0]).eq(&wanted)
        {
            return Err(SemError::Operand {
                expected: format!("{name} as {modes} with {wanted} values an atom"),
                found: view.layout.to_string(),
            });
        }
        let view = in_whole_bytes(view)?;
        let inner = view.layout.inner().clone();
        values.push(inner.mode(0).unwrap_or_else(Layout::unit));
        rests.push((inner, extents));
        seen.push(view);
    }
    let extent = |which: usize, mode: usize| rests[which].1.get(mode).copied().unwrap_or(1);
    let (m, n, k) = (extent(0, 1), extent(0, 2), extent(1, 2));
    if (
        extent(1, 1),
        extent(2, 1),
        extent(2, 2),
        extent(3, 1),
        extent(3, 2),
    ) != (m, n, k, m, n)
    {
        return Err(SemError::Illegal(format!(
            "shapes do not fit: D {}, A {}, B {}, C {}",
            d.layout.shape(),
            a.layout.shape(),
            b.layout.shape(),
            c.layout.shape()
        )));
    }
    let count = m.saturating_mul(n).saturating_mul(k);
    unrollable(Some(count), "instructions")?;
    // The offset of an atom is what its rows and its columns (or its k) add, each computed once.
    let mut parts = Vec::new();
    for (inner, extents) in &rests {
        let along = |mode: usize| {
            let layout = inner.mode(mode).unwrap_or_else(Layout::unit);
            let extent = extents.get(mode).copied().unwrap_or(1).min(count);
            let at = |index| layout::offset_at(&Tree::Leaf(Int::Static(index)), &layout);
            (0..extent).map(at).collect::<Result<Vec<Int>, _>>()
        };
        parts.push([along(1)?, along(2)?]);
    }
    let at = |which: usize, one: i64, other: i64| {
        let [ones, others] = &parts[which];
        ones[one as usize].add(&others[other as usize])
    };
    let mut descriptors = [None; 4];
    for (index, (name, view, operand)) in expected.into_iter().enumerate() {
        let [m, n, _] = layouts.shape;
        let extent = if name == "A" { m } else { n };
        descriptors[index] = match operand.place {
            Place::SharedDescriptor => {
                let starts = parts[index].iter().flatten();
                let found = descriptor(view, &values[index], extent, starts);
                Some(found.map_err(|why| SemError::Descriptor {
                    atom: atom.to_string(),
                    operand: name,
                    bits: view.ptr.elem.bits(),
                    why,
                })?)
            }
            Place::Registers | Place::Shared | Place::Global | Place::Anywhere => None,
        };
    }
    let mut steps = Vec::new();
    for kk in 0..k {
        for mm in 0..m {
            for column in 0..n {
                let nn = if mm % 2 == 0 { column } else { n - 1 - column };
                steps.push([at(0, mm, nn), at(1, mm, kk), at(2, nn, kk), at(3, mm, nn)]);
            }
        }
    }
    let of_a = (0..k).flat_map(|kk| (0..m).map(move |mm| (mm, kk)));
    let starts_of_a = of_a.map(|(mm, kk)| at(1, mm, kk)).collect();
    let (Ok(views), Ok(values)) = (seen.try_into(), values.try_into()) else {
        return count_error("5", 0);
    };
    Ok(GemmPlan {
        atom,
        views,
        values,
        descriptors,
        steps,
        starts_of_a,
    })
}

/// Where the word is for each instruction of a product with a sparse A that tells where its elements belong, and the view
/// that has them. Instructions have the words of their rows and k, in this order; those of other columns have the same.
pub fn gemm_metadata(
    plan: &GemmPlan,
    words: Option<&Val>,
) -> Result<Option<(View, Vec<Int>)>, SemError> {
    let view = match (plan.atom.has_sparse_a(), words) {
        (false, None) => return Ok(None),
        (false, Some(found)) => {
            return operand_error("no metadata, as A is not sparse", found);
        }
        (true, None) => {
            let message = format!(
                "{} multiplies a sparse A, and expects `metadata`: words in registers that tell where its elements belong",
                plan.atom
            );
            return Err(SemError::Illegal(message));
        }
        (true, Some(Val::View(view))) => view,
        (true, Some(found)) => return operand_error("a view of metadata", found),
    };
    if view.ptr.elem != Elem::I32 || view.ptr.space != Space::Rmem {
        return Err(SemError::Operand {
            expected: "metadata of i32 in registers".into(),
            found: format!("{} in {}", view.ptr.elem, view.ptr.space),
        });
    }
    let of_instructions = &plan.starts_of_a;
    let found = view.layout.size();
    if !found.is(of_instructions.len() as i64) {
        return Err(SemError::Operand {
            expected: format!(
                "a word of metadata for each of {} parts of A",
                of_instructions.len()
            ),
            found: view.layout.to_string(),
        });
    }
    let words = offsets_of(view.layout.inner())?;
    let of_step = |[_, a, _, _]: &[Int; 4]| {
        let at = of_instructions.iter().position(|start| start == a);
        words[at.unwrap_or(0)].clone()
    };
    Ok(Some((
        view.clone(),
        plan.steps.iter().map(of_step).collect(),
    )))
}

/// The descriptor of an operand in shared memory, of which instructions read parts that start at some offsets.
fn descriptor<'a>(
    view: &View,
    values: &Layout,
    extent: i64,
    starts: impl Iterator<Item = &'a Int>,
) -> Result<MatrixDescriptor, String> {
    let elem = view.ptr.elem;
    let (swizzle, offset) = match &view.layout {
        AnyLayout::Plain(_) => (None, Int::ZERO),
        AnyLayout::Composed(composed) => match (&composed.outer, &composed.offset) {
            (Outer::Swizzle(swizzle), Tree::Leaf(offset)) => (Some(*swizzle), offset.clone()),
            _ => return Err(format!("{} is behind no swizzle but a layout", view.layout)),
        },
    };
    let found = MatrixDescriptor::of(values, swizzle, extent, elem.bits());
    let found = found.map_err(|error| error.to_string())?;
    if found.major == Major::Mn && !Wgmma::transposes(elem) {
        return Err(format!(
            "{values} is MN-major, which only elements of 16 bits can be, not {}; expected neighbours along k",
            elem.language_name()
        ));
    }
    let (pattern, aligned) = (found.pattern(), view.ptr.alignment());
    if aligned < pattern {
        return Err(format!(
            "its swizzle repeats every {pattern} bytes, but it is aligned to {aligned}; allocate it with `align = {pattern}`"
        ));
    }
    let piece = 128 / elem.bits();
    for start in starts {
        let start = offset.add(start);
        if !start.divisible_by(piece) {
            return Err(format!(
                "a part starts at element {start}, which is not proven to be a multiple of {piece}"
            ));
        }
    }
    Ok(found)
}
