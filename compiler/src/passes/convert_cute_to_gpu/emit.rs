//! Turns integer expressions into `arith` and addresses into `llvm.getelementptr`.
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, value_key};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::value::View;
use cutec_layout::{AnyLayout, Expr, Int, Sym, SymInfo, Tree, Width};
use melior::Context;
use melior::ir::ValueLike;
use std::collections::HashMap;

/// Depth of the innermost region in which an expression can be computed.
type Depth = usize;

struct Variable<'c> {
    value: IrValue<'c>,
    depth: Depth,
}

/// Emits scalar code before an anchor operation.
pub struct Emitter<'c> {
    /// Creates the operations.
    pub ir: OpBuilder<'c>,
    variables: Vec<Variable<'c>>,
    variable_of: HashMap<usize, u32>,
    /// Values already computed, by region depth: an inner region sees the outer ones.
    computed: Vec<HashMap<(Int, bool), IrValue<'c>>>,
    addresses: Vec<HashMap<(usize, Int), IrValue<'c>>>,
    constants: Vec<HashMap<(i64, bool), IrValue<'c>>>,
}

impl<'c> Emitter<'c> {
    /// An emitter before `anchor`, in the outermost region.
    pub fn new(context: &'c Context, anchor: IrOp<'c>) -> Self {
        Emitter {
            ir: OpBuilder::new(context, Insertion::Before(anchor)),
            variables: Vec::new(),
            variable_of: HashMap::new(),
            computed: vec![HashMap::new()],
            addresses: vec![HashMap::new()],
            constants: vec![HashMap::new()],
        }
    }

    /// Enters a region: what is computed in it is forgotten by [`Emitter::leave`].
    pub fn enter(&mut self) {
        self.computed.push(HashMap::new());
        self.addresses.push(HashMap::new());
        self.constants.push(HashMap::new());
    }

    /// Leaves the region that was entered last.
    pub fn leave(&mut self) {
        self.computed.pop();
        self.addresses.pop();
        self.constants.pop();
    }

    /// The variable that stands for an SSA integer.
    pub fn variable(&mut self, value: IrValue<'c>, info: SymInfo) -> Int {
        let next = self.variables.len() as u32;
        let id = *self.variable_of.entry(value_key(value)).or_insert(next);
        if id == next {
            self.variables.push(Variable {
                value,
                depth: self.computed.len() - 1,
            });
        }
        Int::Dyn(Sym::var(id, info))
    }

    /// A constant of `i32` or `i64`.
    pub fn constant(&mut self, value: i64, wide: bool) -> IrValue<'c> {
        // 32 bits wrap, as the same number would at run time: an index far out of shared memory.
        let value = if wide { value } else { i64::from(value as i32) };
        if let Some(found) = self
            .constants
            .iter()
            .find_map(|scope| scope.get(&(value, wide)))
        {
            return *found;
        }
        let made = self.ir.constant(value, if wide { "i64" } else { "i32" });
        self.constants
            .last_mut()
            .expect("a scope")
            .insert((value, wide), made);
        made
    }

    /// The value of an expression, as `i64` where `wide`, else `i32`.
    pub fn int(&mut self, int: &Int, wide: bool) -> IrValue<'c> {
        match int {
            Int::Static(value) => self.constant(*value, wide),
            Int::Scaled(value, _) => self.int(value, wide),
            Int::Dyn(sym) => {
                let at = sym.width() == Width::I64 || (wide && grows(int, sym));
                let value = self.sym(int, sym, at);
                self.convert(value, at, wide, int.lower() >= 0)
            }
        }
    }

    fn convert(
        &mut self,
        value: IrValue<'c>,
        from_wide: bool,
        wide: bool,
        non_negative: bool,
    ) -> IrValue<'c> {
        match (from_wide, wide) {
            (false, true) if non_negative => {
                let flags = [("nonNeg", self.ir.attr("unit"))];
                self.ir
                    .value("llvm.zext", &[value], &flags, self.ir.ty("i64"))
            }
            (false, true) => self.ir.value("llvm.sext", &[value], &[], self.ir.ty("i64")),
            (true, false) => self
                .ir
                .value("llvm.trunc", &[value], &[], self.ir.ty("i32")),
            _ => value,
        }
    }

    /// An expression, computed in 64 bits where `wide`.
    fn sym(&mut self, int: &Int, sym: &Sym, wide: bool) -> IrValue<'c> {
        if let Expr::Var(id) = sym.expr() {
            return self.variables[*id as usize].value;
        }
        let key = (int.clone(), wide);
        if let Some(found) = self.computed.iter().rev().find_map(|scope| scope.get(&key)) {
            return *found;
        }
        let value = match sym.expr() {
            Expr::Var(_) => unreachable!("handled above"),
            Expr::Add(terms) => {
                let terms = self.outermost_first(terms);
                let mut sum: Option<IrValue<'c>> = None;
                for term in &terms {
                    let term = self.int(term, wide);
                    sum = Some(match sum {
                        None => term,
                        Some(sum) => self.arith("arith.addi", sum, term, wide, true),
                    });
                }
                sum.unwrap_or_else(|| self.constant(0, wide))
            }
            Expr::Mul(a, b) => self.binary("arith.muli", a, b, wide, true),
            Expr::FloorDiv(a, b) if a.lower() >= 0 => self.binary("arith.divui", a, b, wide, false),
            Expr::FloorDiv(a, b) => self.binary("arith.floordivsi", a, b, wide, false),
            Expr::CeilDiv(a, b) => {
                let padded = a.add(b).sub(&Int::Static(1));
                let name = if a.lower() >= 0 {
                    "arith.divui"
                } else {
                    "arith.floordivsi"
                };
                self.binary(name, &padded, b, wide, false)
            }
            Expr::Mod(a, b) if a.lower() >= 0 => self.binary("arith.remui", a, b, wide, false),
            Expr::Mod(a, b) => {
                let quotient = a.floor_div(b).mul(b);
                self.binary("arith.subi", a, &quotient, wide, false)
            }
            Expr::Min(a, b) => self.binary("arith.minsi", a, b, wide, false),
            Expr::Max(a, b) => self.binary("arith.maxsi", a, b, wide, false),
            Expr::Xor(a, b) => self.binary("arith.xori", a, b, wide, false),
        };
        self.computed
            .last_mut()
            .expect("a scope")
            .insert(key, value);
        value
    }

    fn binary(&mut self, name: &str, a: &Int, b: &Int, wide: bool, wraps: bool) -> IrValue<'c> {
        let (a, b) = (self.int(a, wide), self.int(b, wide));
        self.arith(name, a, b, wide, wraps)
    }

    fn arith(
        &mut self,
        name: &str,
        a: IrValue<'c>,
        b: IrValue<'c>,
        wide: bool,
        overflow: bool,
    ) -> IrValue<'c> {
        let ty = self.ir.ty(if wide { "i64" } else { "i32" });
        if overflow {
            let flags = [("overflowFlags", self.ir.attr("#arith.overflow<nsw>"))];
            return self.ir.value(name, &[a, b], &flags, ty);
        }
        self.ir.value(name, &[a, b], &[], ty)
    }

    /// Terms in the order of the regions in which they can be computed, so that
    /// what does not change in a loop is summed first and leaves it.
    fn outermost_first(&self, terms: &[Int]) -> Vec<Int> {
        let mut terms = terms.to_vec();
        terms.sort_by_key(|term| (matches!(term, Int::Static(_)), self.depth_of(term)));
        terms
    }

    fn depth_of(&self, int: &Int) -> Depth {
        let mut depth = 0;
        int.visit_vars(&mut |id| depth = depth.max(self.variables[id as usize].depth));
        depth
    }

    /// `base + of_view + of_element` bytes. The part of the view comes first and
    /// is shared by its elements, what leaves the loops before what changes in
    /// them; then what tells elements apart; the constant last, where it becomes
    /// the instruction's immediate.
    pub fn address(
        &mut self,
        base: IrValue<'c>,
        space: Space,
        of_view: &Int,
        of_element: &Int,
    ) -> IrValue<'c> {
        let (mut terms, constant) = split_constant(of_view);
        let (elements, more) = split_constant(of_element);
        terms.sort_by_key(|term| self.depth_of(term));
        let mut address = base;
        let mut at = 0;
        while at < terms.len() {
            let depth = self.depth_of(&terms[at]);
            let end = at
                + terms[at..]
                    .iter()
                    .take_while(|term| self.depth_of(term) == depth)
                    .count();
            let sum = Int::sum(terms[at..end].iter().cloned());
            address = self.advance(address, space, &sum);
            at = end;
        }
        if !elements.is_empty() {
            address = self.advance(address, space, &Int::sum(elements));
        }
        if constant + more != 0 {
            address = self.advance(address, space, &Int::Static(constant + more));
        }
        address
    }

    fn advance(&mut self, base: IrValue<'c>, space: Space, bytes: &Int) -> IrValue<'c> {
        let key = (value_key(base), bytes.clone());
        if let Some(found) = self
            .addresses
            .iter()
            .rev()
            .find_map(|scope| scope.get(&key))
        {
            return *found;
        }
        let constant = bytes
            .as_static()
            .filter(|bytes| i32::try_from(*bytes).is_ok());
        let (operands, raw) = match constant {
            Some(constant) => (vec![base], constant.to_string()),
            None => (
                vec![base, self.int(bytes, space == Space::Gmem)],
                i32::MIN.to_string(),
            ),
        };
        let attrs = [
            ("elem_type", self.ir.attr("i8")),
            (
                "rawConstantIndices",
                self.ir.attr(&format!("array<i32: {raw}>")),
            ),
            // inbounds (1 | 2): an address is formed before its predicate is known, so only for what stands alone.
            ("noWrapFlags", self.ir.attr("0 : i32")),
        ];
        let address = self
            .ir
            .value("llvm.getelementptr", &operands, &attrs, base.r#type());
        self.addresses
            .last_mut()
            .expect("a scope")
            .insert(key, address);
        address
    }

    /// Bytes from the storage's start to the view, and from there to the element at a layout offset.
    pub fn byte_offsets(view: &View, inside: &Int) -> (Int, Int) {
        let elem = view.ptr.elem;
        let bytes = Int::Static(elem.bytes());
        let outside = view.ptr.offset.mul(&bytes);
        let AnyLayout::Composed(composed) = &view.layout else {
            return (outside, inside.mul(&bytes));
        };
        match (&composed.offset, composed.swizzle()) {
            // A swizzle mixes both: the element's part cannot be told from the view's.
            (Tree::Leaf(offset), Some(swizzle)) => (
                outside.add(&swizzled_bytes(swizzle, &offset.add(inside), elem)),
                Int::Static(0),
            ),
            _ => (outside, inside.mul(&bytes)),
        }
    }
}

/// The swizzled offset in bytes, taken apart so that as little as possible
/// depends on what is constant or what a loop changes.
///
/// A swizzle is linear over exclusive or, and a multiple of its period passes
/// through. So of an offset `far + near + constant` (`far` and part of the
/// constant multiples of the period) the result is
/// `far + (swizzle(near) ^ swizzle(constant % period)) + constant / period * period`
/// where `near` and the constant share no bit that may be set.
fn swizzled_bytes(swizzle: cutec_layout::Swizzle, offset: &Int, elem: Elem) -> Int {
    let bytes = Int::Static(elem.bytes());
    let period = swizzle.period();
    let (terms, constant) = split_constant(offset);
    let (far, near): (Vec<_>, Vec<_>) = terms
        .into_iter()
        .partition(|term| term.divisible_by(period));
    let far = Int::sum(far);
    let near = Int::sum(near);
    let (within, whole) = (
        constant.rem_euclid(period),
        constant.div_euclid(period) * period,
    );
    let wide = swizzle.recast(elem.bits(), 8).unwrap_or(swizzle);
    let disjoint = within as u64 & !near.known_zero_bits() == 0;
    let low = if near.is_static() || disjoint {
        let near = wide.apply_int(&near.mul(&bytes));
        near.xor(&Int::Static(wide.apply(within * elem.bytes())))
    } else {
        wide.apply_int(&near.add(&Int::Static(within)).mul(&bytes))
    };
    far.mul(&bytes)
        .add(&low)
        .add(&Int::Static(whole * elem.bytes()))
}

/// Whether a sum or product of 32-bit values may not fit in 32 bits: offsets in
/// global memory are then computed in 64 from their parts on.
fn grows(int: &Int, sym: &Sym) -> bool {
    let fits = int.upper().is_some_and(|max| max <= i64::from(i32::MAX));
    matches!(sym.expr(), Expr::Add(_) | Expr::Mul(..)) && !fits
}

/// The terms of a sum that are not constant, and the constant.
pub(super) fn split_constant(int: &Int) -> (Vec<Int>, i64) {
    match int {
        Int::Static(value) => (Vec::new(), *value),
        Int::Dyn(sym) => match sym.expr() {
            Expr::Add(terms) => {
                let constant = terms.iter().filter_map(Int::as_static).sum();
                (
                    terms
                        .iter()
                        .filter(|term| !term.is_static())
                        .cloned()
                        .collect(),
                    constant,
                )
            }
            _ => (vec![int.clone()], 0),
        },
        Int::Scaled(value, _) => split_constant(value),
    }
}
