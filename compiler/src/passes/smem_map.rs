//! Which buffers of shared memory the positions of the source access.
//!
//! Once buffers are offsets into one window, an address does not tell them apart any more. So
//! `convert-cute-to-gpu`, which sees the buffer of every address that it makes, leaves two attributes on the
//! function: `cute.smem_buffers`, for each buffer its offset, its bytes, where it is allocated and its name, and
//! `cute.smem_accesses`, for each position its buffers by their index. They become a part of the ABI, from which
//! the simulator takes them. The promise: what an instruction at a position accesses is one of its buffers,
//! whichever of two positions LLVM leaves to an instruction that it makes of two ([`share_loads`]).
use super::ir_utils::{collect_nested, set_attribute};
use crate::codegen::messages::{Place, place};
use cutec_abi::{Position, SmemAbi, SmemBuffer};
use cutec_dialects::builder::{
    Insertion, IrOp, OpBuilder, integer_value, operands_of, string_value,
};
use cutec_dialects::ops::{ArithOp, LlvmOp, VectorOp};
use melior::ir::attribute::{ArrayAttribute, IntegerAttribute, StringAttribute};
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, AttributeLike, Location, ValueLike};
use melior::{Context, StringRef};
use std::collections::{BTreeMap, BTreeSet, HashSet};

const BUFFERS: &str = "cute.smem_buffers";
const ACCESSES: &str = "cute.smem_accesses";
/// The address space of shared memory (NVPTX).
const SHARED: u32 = 3;

/// What a pass finds while it lowers a function.
#[derive(Default)]
pub(super) struct SmemMap<'c> {
    /// Offset, bytes and place of each buffer.
    buffers: Vec<(i64, i64, Location<'c>)>,
    /// Locations, by their address in the context, and buffers that were noted.
    known: HashSet<(usize, usize)>,
    accesses: Vec<(Location<'c>, usize)>,
}

impl<'c> SmemMap<'c> {
    /// A buffer is allocated; gives its index.
    pub fn add_buffer(&mut self, offset: i64, bytes: i64, at: Location<'c>) -> usize {
        self.buffers.push((offset, bytes, at));
        self.buffers.len() - 1
    }

    /// An instruction at a location gets an address in a buffer.
    pub fn add_access(&mut self, at: Location<'c>, buffer: usize) {
        if self.known.insert((at.to_raw().ptr as usize, buffer)) {
            self.accesses.push((at, buffer));
        }
    }

    /// Leaves what was found on the function.
    pub fn attach(self, context: &'c Context, function: IrOp<'c>) {
        if self.buffers.is_empty() {
            return;
        }
        let i64 = IntegerType::new(context, 64).into();
        let number = |value: i64| IntegerAttribute::new(i64, value).into();
        let array = |values: &[Attribute<'c>]| ArrayAttribute::new(context, values).into();
        let buffers = self.buffers.iter().map(|&(offset, bytes, at)| {
            let mut entry = vec![number(offset), number(bytes)];
            if let Some(place) = place(at) {
                entry.push(location_attribute(context, &place));
                let name = name_of(at);
                entry
                    .extend(name.map(|name| Attribute::from(StringAttribute::new(context, &name))));
            }
            array(&entry)
        });
        let buffers: Vec<Attribute> = buffers.collect();
        let mut places: BTreeMap<(String, u32, u32), BTreeSet<usize>> = BTreeMap::new();
        for (at, buffer) in self.accesses {
            // Without a position of its own an instruction is not found again.
            if let Some(Place { file, line, column }) = place(at) {
                let known = places.entry((file, line, column)).or_default();
                known.insert(buffer);
            }
        }
        share_loads(context, function, &mut places);
        let accesses = places.into_iter().map(|((file, line, column), buffers)| {
            let at = Place { file, line, column };
            let mut entry = vec![location_attribute(context, &at)];
            entry.extend(buffers.into_iter().map(|buffer| number(buffer as i64)));
            array(&entry)
        });
        let accesses: Vec<Attribute> = accesses.collect();
        set_attribute(function, BUFFERS, array(&buffers));
        set_attribute(function, ACCESSES, array(&accesses));
    }
}

/// Lets positions that take what is loaded from shared memory access the buffers of these loads: instruction selection makes one of a load and
/// the cast of its bits, also of one that a piece of assembly takes, at the position of the latter.
fn share_loads<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    places: &mut BTreeMap<(String, u32, u32), BTreeSet<usize>>,
) {
    let mut operations = Vec::new();
    collect_nested(function, &mut operations);
    let shared = OpBuilder::new(context, Insertion::Before(function)).pointer_type(SHARED);
    let loads = |op: &IrOp<'c>| {
        LlvmOp::Load.is(*op)
            && operands_of(*op)
                .next()
                .is_some_and(|from| from.r#type() == shared)
    };
    let takes = |op: &IrOp<'c>| {
        let casts =
            LlvmOp::Bitcast.is(*op) || ArithOp::Bitcast.is(*op) || VectorOp::Bitcast.is(*op);
        casts || LlvmOp::InlineAsm.is(*op) && op.operand_count() > 0
    };
    let places_of = |which: &dyn Fn(&IrOp<'c>) -> bool| {
        let mut seen = HashSet::new();
        let found = operations.iter().filter(|op| which(op));
        let found = found.filter(|op| seen.insert(op.location().to_raw().ptr as usize));
        let found = found.filter_map(|op| place(op.location()));
        found
            .map(|at| (at.file, at.line, at.column))
            .collect::<Vec<_>>()
    };
    let loaded = places_of(&loads);
    let loaded = loaded.iter().filter_map(|at| places.get(at));
    let loaded: BTreeSet<usize> = loaded.flatten().copied().collect();
    for at in places_of(&takes) {
        if let Some(known) = places.get_mut(&at) {
            known.extend(&loaded);
        }
    }
}

fn location_attribute<'c>(context: &'c Context, at: &Place) -> Attribute<'c> {
    let location = Location::new(context, &at.file, at.line as usize, at.column as usize);
    // SAFETY: the location is alive, and its attribute lives as long as the context.
    unsafe { Attribute::from_raw(mlir_sys::mlirLocationGetAttribute(location.to_raw())) }
}

/// The map that a function carries, if it has one.
pub(super) fn smem_map(function: IrOp) -> Option<SmemAbi> {
    let mut files: Vec<String> = Vec::new();
    let mut position = |attribute: Attribute| -> Option<Position> {
        let at = location_of(attribute)?;
        let file = files.iter().position(|file| *file == at.file);
        let file = file.unwrap_or_else(|| {
            files.push(at.file);
            files.len() - 1
        });
        Some((file, at.line, at.column))
    };
    let mut buffers = Vec::new();
    for entry in elements(function.attribute(BUFFERS).ok()?)? {
        let entry = elements(entry)?;
        let number = |index: usize| {
            let value = entry.get(index).copied().and_then(integer_value)?;
            u32::try_from(value).ok()
        };
        buffers.push(SmemBuffer {
            offset: number(0)?,
            bytes: number(1)?,
            name: entry.get(3).copied().and_then(string_of),
            at: entry.get(2).copied().and_then(&mut position),
        });
    }
    let mut accesses = Vec::new();
    for entry in elements(function.attribute(ACCESSES).ok()?)? {
        let entry = elements(entry)?;
        let (at, of) = entry.split_first()?;
        let of = of.iter().map(|&buffer| {
            let buffer = usize::try_from(integer_value(buffer)?).ok()?;
            (buffer < buffers.len()).then_some(buffer)
        });
        accesses.push((position(*at)?, of.collect::<Option<_>>()?));
    }
    Some(SmemAbi {
        files,
        buffers,
        accesses,
    })
}

/// The name that a location gives to a value.
fn name_of(at: Location) -> Option<String> {
    let raw = at.to_raw();
    // SAFETY: the location is alive, and is asked for a name only where it has one.
    let name = unsafe {
        if !mlir_sys::mlirLocationIsAName(raw) {
            return None;
        }
        StringRef::from_raw(mlir_sys::mlirIdentifierStr(
            mlir_sys::mlirLocationNameGetName(raw),
        ))
    };
    name.as_str().ok().map(str::to_owned)
}

/// The text of an attribute that is a string.
fn string_of(attribute: Attribute) -> Option<String> {
    string_value(attribute)
}

/// The position of an attribute that is a location.
fn location_of(attribute: Attribute) -> Option<Place> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive, and is taken for a location only where it is one.
    let location = unsafe {
        if !mlir_sys::mlirAttributeIsALocation(raw) {
            return None;
        }
        Location::from_raw(mlir_sys::mlirLocationFromAttribute(raw))
    };
    place(location)
}

/// The elements of an attribute that is an array.
fn elements<'c>(attribute: Attribute<'c>) -> Option<Vec<Attribute<'c>>> {
    let raw = attribute.to_raw();
    // SAFETY: the attribute is alive, and is taken for an array only where it is one; elements live as long as it.
    unsafe {
        if !mlir_sys::mlirAttributeIsAArray(raw) {
            return None;
        }
        let count = mlir_sys::mlirArrayAttrGetNumElements(raw);
        let element = |index| Attribute::from_raw(mlir_sys::mlirArrayAttrGetElement(raw, index));
        Some((0..count).map(element).collect())
    }
}
