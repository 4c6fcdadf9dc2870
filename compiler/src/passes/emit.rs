//! Turns integer expressions into `arith` and addresses into `llvm.getelementptr`.
use super::cmpi::{AT_MOST, EQUAL, cmpi};
use cutec_dialects::builder::{Insertion, IrOp, IrValue, OpBuilder, value_key};
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::ops::{ArithOp, LlvmOp};
use cutec_dialects::value::View;
use cutec_layout::{AnyLayout, Condition, Expr, Int, Sym, SymInfo, Tree, Width};
use melior::Context;
use melior::ir::ValueLike;
use rustc_hash::{FxHashMap, FxHashSet};

/// Depth of the innermost region in which an expression can be computed.
type Depth = usize;

/// How integers are divided and widened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    /// As unsigned where the algebra knows that they are not negative, with `llvm`'s flags.
    Known,
    /// As signed, in `arith` alone.
    Signed,
}

struct Variable<'c> {
    value: IrValue<'c>,
    depth: Depth,
}

/// Emits scalar code before an anchor operation.
pub struct Emitter<'c> {
    /// Creates the operations.
    pub ir: OpBuilder<'c>,
    signs: Signs,
    variables: Vec<Variable<'c>>,
    variable_of: FxHashMap<usize, u32>,
    /// SSA integers that are known not to be negative.
    non_negative: FxHashSet<usize>,
    /// Values already computed, by region depth: an inner region sees the outer ones.
    computed: Vec<FxHashMap<(Int, bool), IrValue<'c>>>,
    addresses: Vec<FxHashMap<(usize, Int), IrValue<'c>>>,
    constants: Vec<FxHashMap<(i64, bool), IrValue<'c>>>,
}

impl<'c> Emitter<'c> {
    /// An emitter before `anchor`, in the outermost region.
    pub fn new(context: &'c Context, anchor: IrOp<'c>, signs: Signs) -> Self {
        Emitter {
            ir: OpBuilder::new(context, Insertion::Before(anchor)),
            signs,
            variables: Vec::new(),
            variable_of: FxHashMap::default(),
            non_negative: FxHashSet::default(),
            computed: vec![FxHashMap::default()],
            addresses: vec![FxHashMap::default()],
            constants: vec![FxHashMap::default()],
        }
    }

    /// Enters a region: what is computed in it is forgotten by [`Emitter::leave`].
    pub fn enter(&mut self) {
        self.computed.push(FxHashMap::default());
        self.addresses.push(FxHashMap::default());
        self.constants.push(FxHashMap::default());
    }

    /// Leaves the region that was entered last.
    pub fn leave(&mut self) {
        self.computed.pop();
        self.addresses.pop();
        self.constants.pop();
    }

    /// Lets the analyses know that an SSA integer is never negative.
    pub fn assert_non_negative(&mut self, value: IrValue<'c>) {
        self.non_negative.insert(value_key(value));
    }

    /// Whether [`Emitter::assert_non_negative`] was told of a value.
    pub fn is_non_negative(&self, value: IrValue<'c>) -> bool {
        self.non_negative.contains(&value_key(value))
    }

    /// The variable that stands for an SSA integer, which is not negative.
    pub fn variable(&mut self, value: IrValue<'c>, info: SymInfo) -> Int {
        Int::Dyn(Sym::var(self.number_of(value), info))
    }

    /// The variable that stands for an SSA integer, which may be negative.
    pub fn signed_variable(&mut self, value: IrValue<'c>, info: SymInfo) -> Int {
        Int::Dyn(Sym::signed(self.number_of(value), info))
    }

    fn number_of(&mut self, value: IrValue<'c>) -> u32 {
        let next = self.variables.len() as u32;
        let id = *self.variable_of.entry(value_key(value)).or_insert(next);
        if id == next {
            self.variables.push(Variable {
                value,
                depth: self.computed.len() - 1,
            });
        }
        id
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
            (false, true) if self.signs == Signs::Signed => {
                self.ir
                    .value(ArithOp::Extsi, &[value], &[], self.ir.ty("i64"))
            }
            (true, false) if self.signs == Signs::Signed => {
                self.ir
                    .value(ArithOp::Trunci, &[value], &[], self.ir.ty("i32"))
            }
            (false, true) if non_negative => {
                let flags = [("nonNeg", self.ir.unit())];
                self.ir
                    .value(LlvmOp::Zext, &[value], &flags, self.ir.ty("i64"))
            }
            (false, true) => self
                .ir
                .value(LlvmOp::Sext, &[value], &[], self.ir.ty("i64")),
            (true, false) => self
                .ir
                .value(LlvmOp::Trunc, &[value], &[], self.ir.ty("i32")),
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
                    sum = Some(match (sum, negated(term)) {
                        (None, _) => self.int(term, wide),
                        (Some(sum), Some(less)) => {
                            let less = self.int(&less, wide);
                            self.arith(ArithOp::Subi, sum, less, wide, true)
                        }
                        (Some(sum), None) => {
                            let term = self.int(term, wide);
                            self.arith(ArithOp::Addi, sum, term, wide, true)
                        }
                    });
                }
                sum.unwrap_or_else(|| self.constant(0, wide))
            }
            Expr::Mul(a, b) => self.binary(ArithOp::Muli, a, b, wide, true),
            Expr::FloorDiv(a, b) if a.lower() >= 0 => self.binary(
                self.by_sign(ArithOp::Divui, ArithOp::Divsi),
                a,
                b,
                wide,
                false,
            ),
            Expr::FloorDiv(a, b) => self.binary(ArithOp::Floordivsi, a, b, wide, false),
            Expr::CeilDiv(a, b) if self.signs == Signs::Signed => {
                self.binary(ArithOp::Ceildivsi, a, b, wide, false)
            }
            Expr::CeilDiv(a, b) => {
                let padded = a.add(b).sub(&Int::Static(1));
                let op = if a.lower() >= 0 {
                    ArithOp::Divui
                } else {
                    ArithOp::Floordivsi
                };
                self.binary(op, &padded, b, wide, false)
            }
            Expr::Mod(a, b) if a.lower() >= 0 => self.binary(
                self.by_sign(ArithOp::Remui, ArithOp::Remsi),
                a,
                b,
                wide,
                false,
            ),
            Expr::Mod(a, b) => {
                let quotient = a.floor_div(b).mul(b);
                self.binary(ArithOp::Subi, a, &quotient, wide, false)
            }
            Expr::Min(a, b) => self.binary(ArithOp::Minsi, a, b, wide, false),
            Expr::Max(a, b) => self.binary(ArithOp::Maxsi, a, b, wide, false),
            Expr::Xor(a, b) => self.binary(ArithOp::Xori, a, b, wide, false),
        };
        self.computed
            .last_mut()
            .expect("a scope")
            .insert(key, value);
        value
    }

    fn by_sign(&self, known: ArithOp, signed: ArithOp) -> ArithOp {
        match self.signs {
            Signs::Known => known,
            Signs::Signed => signed,
        }
    }

    /// Whether a condition holds, as an `i1`.
    pub fn condition(&mut self, condition: &Condition) -> IrValue<'c> {
        match condition {
            Condition::Divides { divisor, value } => {
                let wide = divisor.width() == Width::I64 || value.width() == Width::I64;
                let (value, zero) = (self.int(value, wide), self.constant(0, wide));
                let mut by = self.int(divisor, wide);
                if divisor.as_static().is_none_or(|divisor| divisor == 0) {
                    // To divide by zero is undefined; nothing may depend on an extent of zero.
                    let one = self.constant(1, wide);
                    by = self.arith(ArithOp::Maxsi, by, one, wide, false);
                }
                let rest = self.arith(ArithOp::Remsi, value, by, wide, false);
                self.cmpi(EQUAL, rest, zero)
            }
            Condition::AtMost { left, right } => self.compare(AT_MOST, left, right),
            Condition::Equal { left, right } => self.compare(EQUAL, left, right),
            Condition::Either(a, b) => {
                let (a, b) = (self.condition(a), self.condition(b));
                self.ir.value(ArithOp::Ori, &[a, b], &[], self.ir.ty("i1"))
            }
        }
    }

    /// A predicate of `arith.cmpi` on two expressions.
    pub fn compare(&mut self, predicate: i64, a: &Int, b: &Int) -> IrValue<'c> {
        let wide = a.width() == Width::I64 || b.width() == Width::I64;
        let (a, b) = (self.int(a, wide), self.int(b, wide));
        self.cmpi(predicate, a, b)
    }

    /// A predicate of `arith.cmpi` on two values of one type.
    pub fn cmpi(&self, predicate: i64, a: IrValue<'c>, b: IrValue<'c>) -> IrValue<'c> {
        cmpi(&self.ir, predicate, a, b)
    }

    /// As [`Emitter::cmpi`], of `i32` and `i64`.
    pub fn cmpi_widened(&self, predicate: i64, a: IrValue<'c>, b: IrValue<'c>) -> IrValue<'c> {
        if a.r#type() == b.r#type() {
            return self.cmpi(predicate, a, b);
        }
        let wide = self.ir.ty("i64");
        let [a, b] = [a, b].map(|value| match value.r#type() == wide {
            true => value,
            false => self.ir.value(ArithOp::Extsi, &[value], &[], wide),
        });
        self.cmpi(predicate, a, b)
    }

    /// Whether both hold; `all` is `None` before the first.
    pub fn and(&self, all: Option<IrValue<'c>>, holds: IrValue<'c>) -> IrValue<'c> {
        all.map_or(holds, |all| {
            let i1 = self.ir.ty("i1");
            self.ir.value(ArithOp::Andi, &[all, holds], &[], i1)
        })
    }

    fn binary(&mut self, op: ArithOp, a: &Int, b: &Int, wide: bool, wraps: bool) -> IrValue<'c> {
        let (a, b) = (self.int(a, wide), self.int(b, wide));
        self.arith(op, a, b, wide, wraps)
    }

    fn arith(
        &mut self,
        op: ArithOp,
        a: IrValue<'c>,
        b: IrValue<'c>,
        wide: bool,
        overflow: bool,
    ) -> IrValue<'c> {
        let ty = self.ir.ty(if wide { "i64" } else { "i32" });
        if overflow {
            let flags = [("overflowFlags", self.ir.attr("#arith.overflow<nsw>"))];
            return self.ir.value(op, &[a, b], &flags, ty);
        }
        self.ir.value(op, &[a, b], &[], ty)
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

    /// `base + int` in 32 bits: what leaves the loops is added before what changes in them, the constant last.
    pub fn sum_outermost_first(&mut self, base: IrValue<'c>, int: &Int) -> IrValue<'c> {
        let (mut terms, constant) = split_constant(int);
        terms.sort_by_key(|term| self.depth_of(term));
        let mut sum = base;
        for term in terms {
            let term = self.int(&term, false);
            sum = self.arith(ArithOp::Addi, sum, term, false, true);
        }
        if constant != 0 {
            let constant = self.constant(constant, false);
            sum = self.arith(ArithOp::Addi, sum, constant, false, true);
        }
        sum
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
        // The least number of 32 bits marks an index that is an operand.
        let constant = bytes
            .as_static()
            .and_then(|bytes| i32::try_from(bytes).ok())
            .filter(|bytes| *bytes != i32::MIN);
        let (operands, raw) = match constant {
            Some(constant) => (vec![base], constant),
            None => (vec![base, self.int(bytes, space == Space::Gmem)], i32::MIN),
        };
        let attrs = [
            ("elem_type", self.ir.attr("i8")),
            ("rawConstantIndices", self.ir.i32_array(&[raw])),
            // inbounds (1 | 2): an address is formed before its predicate is known, so only for what stands alone.
            ("noWrapFlags", self.ir.i32(0)),
        ];
        let address = self
            .ir
            .value(LlvmOp::Getelementptr, &operands, &attrs, base.r#type());
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

/// What is subtracted where a term of a sum has a negative factor.
fn negated(term: &Int) -> Option<Int> {
    let factor = match term {
        Int::Static(value) => *value,
        _ => match term.as_sym()?.expr() {
            Expr::Mul(_, factor) => factor.as_static()?,
            _ => return None,
        },
    };
    (factor < 0 && factor != i64::MIN).then(|| term.mul(&Int::Static(-1)))
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
