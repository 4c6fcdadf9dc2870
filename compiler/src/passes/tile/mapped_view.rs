//! Views that a kernel makes of a tensor, as a tensor map is of them: rows so many apart, frames that overlap, ranges, modes taken apart.
//!
//! A map has modes of any strides that are multiples of 16 bytes. So it is of the view itself: the host computes its place, extents and strides from
//! the symbols of the ABI, and what lies outside of the view is outside of the map. Where it lies may follow from what the kernel computes, too, as a
//! range that begins at the index of a loop: along each such mode the map has a further one, and its coordinate says where.
use super::types::{tensor_of, view_of};
use crate::passes::Reported;
use crate::passes::ir_utils::{blocks, constant_of, defining_op};
use crate::passes::kernel_abi::add_symbols_of_scalars;
use cutec_abi::expr::MAX_DEPTH;
use cutec_abi::tensor_map::MapView;
use cutec_abi::{AbiExpr, ArgAbi, KernelAbi, ParamAbi, SymbolSource};
use cutec_dialects::abi::abi_of;
use cutec_dialects::builder::{
    IrBlock, IrOp, IrValue, argument_of, operands_of, results_of, value_key,
};
use cutec_dialects::ir::attrs_of;
use cutec_dialects::memo::{type_value, val_of};
use cutec_dialects::ops::{ArithOp, CuteOp, arith, tile};
use cutec_dialects::semantics::{evaluate, evaluate_all};
use cutec_dialects::signature::{Size, TensorSizes};
use cutec_dialects::types::Vars;
use cutec_dialects::value::{TupleKind, Val, View};
use cutec_layout::{AnyLayout, Expr, Int, Layout, Sym, SymInfo, Tree, Width};
use melior::Context;
use melior::ir::{BlockLike, ValueLike, operation::OperationLike};
use std::collections::{HashMap, HashSet};

/// Bytes of which the base and the strides of a tensor, and where a box begins along its fastest mode and how long it is, are multiples
/// (CUDA driver API, `cuTensorMapEncodeTiled`).
pub(super) const UNIT: i64 = 16;
/// Where the kernel says that a view lies along a mode, in units of so many elements, which divide it.
#[derive(Clone, Copy)]
pub(super) struct Place<'c> {
    pub at: IrValue<'c>,
    pub unit: i64,
}

/// A view of a tensor that the kernel is passed.
#[derive(Clone)]
pub(super) struct MappedView<'c> {
    /// The tensor.
    pub tensor: IrValue<'c>,
    /// Modes of the view itself; those behind them are where the kernel says it lies.
    pub rank: usize,
    /// Where it begins, in elements, as far as the host says it.
    pub offset: Int,
    /// Extents and strides of all modes.
    pub extents: Vec<Int>,
    pub strides: Vec<Int>,
    /// Where it lies along the modes behind those of the view.
    pub places: Vec<Place<'c>>,
    /// What the host is told.
    pub map: MapView,
}

impl<'c> MappedView<'c> {
    /// Of a view that operations of a kernel make of a tensor that it is passed.
    ///
    /// # Errors
    /// What the host cannot compute of it, as a clause.
    pub fn of(view: IrValue<'c>, abi: &KernelAbi, function: IrOp<'c>) -> Result<Self, String> {
        let tensor = tensor_of(view).ok_or("the view is of no tensor that the kernel is passed")?;
        let Some(entry) = blocks(function, 0).into_iter().next() else {
            return Err("a kernel without a body".into());
        };
        let mut reader = Reader::of(abi, entry);
        let Placed { val, along } = reader.value(view)?;
        let unknown = || "the host cannot compute which part of its tensor the view is".to_owned();
        let Val::View(View { ptr, layout }) = val else {
            return Err(unknown());
        };
        if view_of(tensor).is_none_or(|tensor| tensor.ptr.elem != ptr.elem) {
            return Err("the view is of other elements than its tensor".into());
        }
        let AnyLayout::Plain(layout) = layout else {
            return Err(unknown());
        };
        let leaves = |modes: Vec<&Int>| modes.into_iter().cloned().collect::<Vec<Int>>();
        let (mut extents, mut strides) = (
            leaves(layout.shape().leaves()),
            leaves(layout.stride().leaves()),
        );
        let rank = layout.rank();
        if extents.len() != rank || strides.len() != rank {
            return Err("a mode of the view is several of its tensor".into());
        }
        let mut places = Vec::new();
        for Along {
            extent,
            stride,
            at,
            number,
        } in along
        {
            let unit = unit(&stride, &number, UNIT / ptr.elem.bytes().max(1))?;
            extents.push(extent.ceil_div(&Int::Static(unit)));
            strides.push(stride.mul(&Int::Static(unit)));
            places.push(Place { at, unit });
        }
        let expr = |int: &Int| reader.expr(int).ok_or_else(unknown);
        let exprs = |ints: &[Int]| ints.iter().map(expr).collect::<Result<Vec<_>, _>>();
        let map = MapView {
            offset: expr(&ptr.offset)?,
            extents: exprs(&extents)?,
            strides: exprs(&strides)?,
        };
        Ok(MappedView {
            tensor,
            rank,
            offset: ptr.offset,
            extents,
            strides,
            places,
            map,
        })
    }

    /// The clause of `where` that makes the stride of a mode a multiple of so many elements.
    pub fn promise_of_stride(&self, abi: &KernelAbi, mode: usize, elements: i64) -> Option<String> {
        promise(abi, self.map.strides.get(mode)?, elements)
    }

    /// The clause that makes the extent of a mode one.
    pub fn promise_of_extent(&self, abi: &KernelAbi, mode: usize, elements: i64) -> Option<String> {
        promise(abi, self.map.extents.get(mode)?, elements)
    }

    /// The clause that makes where the view begins a multiple of so many elements.
    pub fn promise_of_offset(&self, abi: &KernelAbi, elements: i64) -> Option<String> {
        promise(abi, &self.map.offset, elements)
    }
}

/// Gives the scalars of a kernel that views follow from, which accesses to tiles are of, symbols of its ABI, so that the host can compute the views.
pub(super) fn name_scalars<'c>(
    context: &'c Context,
    function: IrOp<'c>,
    operations: &[IrOp<'c>],
) -> Result<(), Reported> {
    let (Some(abi), Some(entry)) = (abi_of(&function), blocks(function, 0).into_iter().next())
    else {
        return Ok(());
    };
    let views = operations.iter().filter_map(|op| {
        let load = tile::Load::of(*op).map(tile::Load::view);
        load.or_else(|| tile::Store::of(*op).map(tile::Store::view))
    });
    let (mut needed, mut scalars): (Vec<IrValue<'c>>, Vec<usize>) = Default::default();
    needed.extend(views.filter(|view| is_made(*view)));
    let mut seen = HashSet::new();
    while let Some(value) = needed.pop() {
        if !seen.insert(value_key(value)) {
            continue;
        }
        if let Some(op) = defining_op(value) {
            needed.extend(operands_of(op));
        } else if let Some(ParamAbi::Scalar { arg }) = parameter(&abi, entry, value) {
            let from = SymbolSource::Scalar { arg };
            if !abi.symbols.iter().any(|symbol| symbol.from == from) {
                scalars.push(arg);
            }
        }
    }
    match scalars.is_empty() {
        true => Ok(()),
        false => add_symbols_of_scalars(context, function, &scalars),
    }
}

/// Whether a view is more than slices of the tensor that it is into.
fn is_made(view: IrValue) -> bool {
    let mut made = std::iter::successors(defining_op(view), |op| {
        operands_of(*op).next().and_then(defining_op)
    });
    made.any(|op| CuteOp::of(op).is_some_and(makes))
}

/// Whether an operation makes a view with a layout or a place of its own.
pub(super) fn makes(op: CuteOp) -> bool {
    matches!(
        op,
        CuteOp::MakeView | CuteOp::DomainOffset | CuteOp::Composition
    )
}

/// The least number of elements, a power of two, that divides where a view lies along a mode and makes its stride a multiple of so many.
fn unit(stride: &Int, at: &Int, elements: i64) -> Result<i64, String> {
    let mut units = (0..16).map(|bit| 1_i64 << bit);
    let unit = units.find(|unit| stride.mul(&Int::Static(*unit)).divisible_by(elements));
    let unit = unit.ok_or("a stride of the view may be any")?;
    match at.div() == 0 || at.divisible_by(unit) {
        true => Ok(unit),
        false => Err(format!(
            "nothing says that the view begins at a multiple of {UNIT} bytes, {unit} elements along a mode"
        )),
    }
}

/// The clause that says that so many divide an expression: of a product by a number, that what is left divides the other factor.
fn promise(abi: &KernelAbi, of: &AbiExpr, divisor: i64) -> Option<String> {
    let names: Vec<&str> = abi.symbols.iter().map(|it| it.name.as_str()).collect();
    let (mut of, mut left) = (of.clone(), divisor);
    loop {
        of = match of {
            AbiExpr::Const(_) => return None,
            AbiExpr::Mul(a, b) => match (*a, *b) {
                (AbiExpr::Const(by), rest) | (rest, AbiExpr::Const(by)) => {
                    left /= cutec_layout::gcd(by, left).max(1);
                    rest
                }
                (a, b) => {
                    of = AbiExpr::mul(a, b);
                    break;
                }
            },
            other => {
                of = other;
                break;
            }
        }
    }
    let rest = AbiExpr::Rem(Box::new(of), Box::new(AbiExpr::Const(left)));
    let holds = AbiExpr::Eq(Box::new(rest), Box::new(AbiExpr::Const(0)));
    Some(holds.display(&names).to_string())
}

/// The parameter of a kernel that a value is.
fn parameter<'c>(abi: &KernelAbi, entry: IrBlock<'c>, value: IrValue<'c>) -> Option<ParamAbi> {
    let mut arguments = 0..entry.argument_count();
    let index = arguments.find(|index| argument_of(entry, *index) == value)?;
    abi.params.get(index).copied()
}

/// A value, and where it lies besides.
#[derive(Clone)]
struct Placed<'c> {
    val: Val,
    along: Vec<Along<'c>>,
}

/// Where a view lies along a mode of what it is a part of.
#[derive(Clone)]
struct Along<'c> {
    extent: Int,
    stride: Int,
    at: IrValue<'c>,
    number: Int,
}

/// Evaluates what operations make of the arguments of a kernel, by the algebra, with a variable for each number that it is not of.
struct Reader<'a, 'c> {
    abi: &'a KernelAbi,
    entry: IrBlock<'c>,
    vars: Vars,
    /// What the host computes variables as; of one that is missing the kernel alone knows the value.
    exprs: HashMap<u32, AbiExpr>,
    known: HashMap<usize, Placed<'c>>,
}

impl<'a, 'c> Reader<'a, 'c> {
    fn of(abi: &'a KernelAbi, entry: IrBlock<'c>) -> Self {
        Reader {
            abi,
            entry,
            vars: Vars::default(),
            exprs: HashMap::new(),
            known: HashMap::new(),
        }
    }

    fn value(&mut self, value: IrValue<'c>) -> Result<Placed<'c>, String> {
        if let Some(known) = self.known.get(&value_key(value)) {
            return Ok(known.clone());
        }
        let placed = match defining_op(value) {
            None => self.argument(value)?.into(),
            Some(op) => match (CuteOp::of(op), ArithOp::of(op)) {
                (Some(kind), _) => self.cute(kind, op, value)?,
                (None, Some(kind)) => Val::Scalar(self.arith(kind, op, value)?).into(),
                (None, None) => self.unknown(value)?.into(),
            },
        };
        self.known.insert(value_key(value), placed.clone());
        Ok(placed)
    }

    /// An integer by the algebra.
    fn number(&mut self, value: IrValue<'c>) -> Result<Int, String> {
        match self.value(value)?.val {
            Val::Scalar(int) | Val::Tuple(_, Tree::Leaf(Some(int))) => Ok(int),
            other => Err(format!("{} is no integer", other.describe())),
        }
    }

    /// A number of which the kernel alone knows what it is, but for what its type says.
    fn unknown(&mut self, value: IrValue<'c>) -> Result<Val, String> {
        match type_value(value.r#type(), &mut self.vars).map_err(|error| error.to_string())? {
            Val::Scalar(int) => Ok(Val::Scalar(self.variable(int.width(), 1, false, None))),
            Val::Tuple(kind, Tree::Leaf(Some(int))) if !int.is_static() => {
                let int = self.variable(int.width(), int.div(), false, None);
                Ok(Val::Tuple(kind, Tree::Leaf(Some(int))))
            }
            val if val.is_static() => Ok(val),
            _ => Err("the host cannot compute which part of its tensor the view is".into()),
        }
    }

    fn variable(&mut self, width: Width, div: i64, is_size: bool, expr: Option<AbiExpr>) -> Int {
        let fresh = self.vars.fresh(width, div);
        let Int::Dyn(sym) = &fresh else { return fresh };
        let Expr::Var(id) = *sym.expr() else {
            return fresh;
        };
        if let Some(expr) = expr {
            self.exprs.insert(id, expr);
        }
        let max = None;
        match is_size {
            true => fresh,
            false => Int::Dyn(Sym::signed(id, SymInfo { width, div, max })),
        }
    }

    fn argument(&mut self, value: IrValue<'c>) -> Result<Val, String> {
        match parameter(self.abi, self.entry, value) {
            Some(ParamAbi::Pointer { arg }) => self.tensor(value, arg),
            Some(ParamAbi::Symbol { index }) => self.symbol(index, value),
            Some(ParamAbi::Scalar { arg }) => {
                let from = SymbolSource::Scalar { arg };
                let mut symbols = self.abi.symbols.iter();
                match symbols.position(|symbol| symbol.from == from) {
                    Some(index) => self.symbol(index, value),
                    None => self.unknown(value),
                }
            }
            Some(ParamAbi::TensorMap { .. }) | None => self.unknown(value),
        }
    }

    fn symbol(&mut self, index: usize, value: IrValue<'c>) -> Result<Val, String> {
        let Some(symbol) = self.abi.symbols.get(index) else {
            return self.unknown(value);
        };
        let is_size = !matches!(symbol.from, SymbolSource::Scalar { .. });
        let width = match symbol.width {
            cutec_abi::Width::W32 => Width::I32,
            cutec_abi::Width::W64 => Width::I64,
        };
        let expr = Some(AbiExpr::Symbol(index));
        let int = self.variable(width, symbol.divisible_by, is_size, expr);
        Ok(Val::Scalar(int))
    }

    /// The view of a tensor that is passed, each run-time number as the ABI computes it.
    fn tensor(&mut self, value: IrValue<'c>, arg: usize) -> Result<Val, String> {
        let Some(ArgAbi::Tensor(tensor)) = self.abi.args.get(arg) else {
            return self.unknown(value);
        };
        let sizes = TensorSizes::of(self.abi, tensor)?;
        let val = type_value(value.r#type(), &mut self.vars).map_err(|error| error.to_string())?;
        let Val::View(view) = &val else {
            return Err("the tensor is no view".into());
        };
        let layout = view.layout.inner();
        let leaves = layout
            .shape()
            .leaves()
            .into_iter()
            .chain(layout.stride().leaves());
        for (leaf, size) in leaves.zip(sizes.extents.iter().chain(&sizes.strides)) {
            if let (Int::Dyn(sym), Size::Dynamic { expr, .. }) = (leaf, size)
                && let Expr::Var(id) = *sym.expr()
            {
                self.exprs.insert(id, expr.clone());
            }
        }
        Ok(val)
    }

    fn arith(&mut self, kind: ArithOp, op: IrOp<'c>, value: IrValue<'c>) -> Result<Int, String> {
        let none = || Ok(Int::ZERO);
        let unknown = |reader: &mut Self| match reader.unknown(value)? {
            Val::Scalar(int) => Ok(int),
            _ => none(),
        };
        if let Some(number) = constant_of(value) {
            return Ok(Int::Static(number));
        }
        if kind == ArithOp::Extsi {
            return match arith::IntegerCast::of(op) {
                Some(cast) => self.number(cast.input()),
                None => unknown(self),
            };
        }
        let Some(binary) = arith::Binary::of(op) else {
            return unknown(self);
        };
        let (Ok(a), Ok(b)) = (self.number(binary.lhs()), self.number(binary.rhs())) else {
            return unknown(self);
        };
        let by = b.as_static().filter(|by| *by > 0);
        Ok(match kind {
            ArithOp::Addi => a.add(&b),
            ArithOp::Subi => a.sub(&b),
            ArithOp::Muli => a.mul(&b),
            ArithOp::Minsi => a.min(&b),
            ArithOp::Maxsi => a.max(&b),
            ArithOp::Ceildivsi if by.is_some() => a.ceil_div(&b),
            ArithOp::Divsi if by.is_some() && a.lower() >= 0 => a.floor_div(&b),
            ArithOp::Remsi if by.is_some() && a.lower() >= 0 => a.modulo(&b),
            _ => return unknown(self),
        })
    }

    fn cute(
        &mut self,
        kind: CuteOp,
        op: IrOp<'c>,
        value: IrValue<'c>,
    ) -> Result<Placed<'c>, String> {
        match kind {
            CuteOp::MemrefLoad => return Ok(self.unknown(value)?.into()),
            CuteOp::Assume => return self.assume(op, value),
            _ => {}
        }
        let mut operands = Vec::new();
        for operand in operands_of(op) {
            operands.push(self.value(operand)?);
        }
        let mut along = match operands.first() {
            Some(first) => first.along.clone(),
            None => Vec::new(),
        };
        let mut vals: Vec<Val> = operands.into_iter().map(|operand| operand.val).collect();
        match kind {
            CuteOp::Slice => self.out_of_slice(op, &mut vals, &mut along)?,
            CuteOp::DomainOffset => self.out_of_offsets(op, &mut vals, &mut along)?,
            _ => {}
        }
        let attrs = attrs_of(&op, &mut self.vars).map_err(|error| error.to_string())?;
        let val = match op.result_count() {
            1 => evaluate(kind, &vals, &attrs).map_err(|error| error.to_string())?,
            _ => {
                let all = evaluate_all(kind, &vals, &attrs).map_err(|error| error.to_string())?;
                let number = results_of(op).position(|result| result == value);
                let val = number.and_then(|number| all.into_iter().nth(number));
                val.ok_or("a result is missing")?
            }
        };
        if !matches!(val, Val::View(_) | Val::Ptr(_)) {
            along.clear();
        }
        Ok(Placed { val, along })
    }

    /// What is assumed to divide a number that the host computes.
    fn assume(&mut self, op: IrOp<'c>, value: IrValue<'c>) -> Result<Placed<'c>, String> {
        let declared = val_of(value).map_err(|error| error.to_string())?;
        let Some(of) = operands_of(op).next() else {
            return Err("an operand is missing".into());
        };
        let placed = self.value(of)?;
        let (int, declared) = match (&placed.val, declared) {
            (Val::Scalar(int) | Val::Tuple(_, Tree::Leaf(Some(int))), Val::Tuple(_, declared)) => {
                (int.clone(), declared)
            }
            (Val::Ptr(ptr), Val::Ptr(declared)) => {
                let mut ptr = ptr.clone();
                ptr.align = ptr.align.max(declared.align);
                let val = Val::Ptr(ptr);
                return Ok(Placed { val, ..placed });
            }
            _ => return Err("expects an integer or a pointer".into()),
        };
        let div = declared
            .as_leaf()
            .and_then(Option::as_ref)
            .map_or(1, Int::div);
        let int = match int.is_static() || int.divisible_by(div.max(1)) {
            true => int,
            false => {
                let expr = self.expr(&int);
                self.variable(int.width(), div, int.lower() >= 0, expr)
            }
        };
        Ok(Val::Tuple(TupleKind::IntTuple, Tree::Leaf(Some(int))).into())
    }

    /// Takes the places that the kernel alone knows out of the coordinate of a slice.
    fn out_of_slice(
        &mut self,
        op: IrOp<'c>,
        vals: &mut [Val],
        along: &mut Vec<Along<'c>>,
    ) -> Result<(), String> {
        let [Val::View(view), Val::Tuple(_, coordinate)] = vals else {
            return Ok(());
        };
        let Some(made) = operands_of(op).nth(1).and_then(defining_op) else {
            return Ok(());
        };
        let declared = operands_of(op).nth(1).map(val_of);
        let (Some(Ok(Val::Tuple(_, declared))), true) = (declared, CuteOp::MakeCoord.is(made))
        else {
            return Ok(());
        };
        let mut made = operands_of(made);
        let several = std::slice::from_ref(&declared).to_vec();
        let declared = match declared {
            Tree::Node(modes) => modes,
            Tree::Leaf(_) => several,
        };
        let modes = match coordinate {
            Tree::Node(modes) => &mut modes[..],
            leaf @ Tree::Leaf(_) => std::slice::from_mut(leaf),
        };
        for (mode, (leaf, declared)) in modes.iter_mut().zip(declared).enumerate() {
            let dynamic = |leaf: &Tree<Option<Int>>| {
                let leaves = leaf.leaves().into_iter().flatten();
                leaves.filter(|leaf| !leaf.is_static()).count()
            };
            let values: Vec<IrValue<'c>> = made.by_ref().take(dynamic(&declared)).collect();
            let Tree::Leaf(Some(number)) = leaf else {
                continue;
            };
            if let (&[at], None) = (&values[..], self.expr(number)) {
                along.push(self.along(&view.layout, mode, at, number.clone())?);
                *number = Int::ZERO;
            }
        }
        Ok(())
    }

    /// The same of offsets along the modes.
    fn out_of_offsets(
        &mut self,
        op: IrOp<'c>,
        vals: &mut [Val],
        along: &mut Vec<Along<'c>>,
    ) -> Result<(), String> {
        let [Val::View(view), offsets @ ..] = vals else {
            return Ok(());
        };
        for (mode, (offset, at)) in offsets.iter_mut().zip(operands_of(op).skip(1)).enumerate() {
            let (Val::Scalar(number) | Val::Tuple(_, Tree::Leaf(Some(number)))) = offset else {
                continue;
            };
            if self.expr(number).is_none() {
                along.push(self.along(&view.layout, mode, at, number.clone())?);
                *number = Int::ZERO;
            }
        }
        Ok(())
    }

    fn along(
        &self,
        layout: &AnyLayout,
        mode: usize,
        at: IrValue<'c>,
        number: Int,
    ) -> Result<Along<'c>, String> {
        let several = || "a mode of the view is several of its tensor".to_owned();
        let of = |mode: Layout| {
            let (extent, stride) = (mode.shape().as_leaf()?, mode.stride().as_leaf()?);
            Some((extent.clone(), stride.clone()))
        };
        let (extent, stride) = layout.inner().mode(mode).and_then(of).ok_or_else(several)?;
        Ok(Along {
            extent,
            stride,
            at,
            number,
        })
    }

    /// What the host computes a number as, if it can.
    fn expr(&self, int: &Int) -> Option<AbiExpr> {
        let expr = self.of_any_depth(int)?;
        (expr.depth() <= MAX_DEPTH).then_some(expr)
    }

    fn of_any_depth(&self, int: &Int) -> Option<AbiExpr> {
        let both = |make: cutec_abi::expr::Make, a: &Int, b: &Int| {
            Some(make(
                Box::new(self.of_any_depth(a)?),
                Box::new(self.of_any_depth(b)?),
            ))
        };
        let sym = match int {
            Int::Static(number) => return Some(AbiExpr::Const(*number)),
            Int::Dyn(sym) => sym,
            Int::Scaled(..) => return None,
        };
        match sym.expr() {
            Expr::Var(id) => self.exprs.get(id).cloned(),
            Expr::Add(terms) => {
                let mut terms = terms.iter().map(|term| self.of_any_depth(term));
                let first = terms.next()??;
                terms.try_fold(first, |sum, term| Some(AbiExpr::add(sum, term?)))
            }
            Expr::Mul(a, b) => both(AbiExpr::Mul, a, b),
            // Towards zero is down, of what is not negative.
            Expr::FloorDiv(a, b) if a.lower() >= 0 => both(AbiExpr::Div, a, b),
            Expr::Mod(a, b) if a.lower() >= 0 => both(AbiExpr::Rem, a, b),
            Expr::CeilDiv(a, b) => both(AbiExpr::CeilDiv, a, b),
            Expr::Min(a, b) => both(AbiExpr::Min, a, b),
            Expr::Max(a, b) => both(AbiExpr::Max, a, b),
            Expr::FloorDiv(..) | Expr::Mod(..) | Expr::Xor(..) => None,
        }
    }
}

impl From<Val> for Placed<'_> {
    fn from(val: Val) -> Self {
        Placed {
            val,
            along: Vec::new(),
        }
    }
}
