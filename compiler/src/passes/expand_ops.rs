//! `cute-expand-ops`: the layout algebra becomes `arith` and constructors.
//!
//! Before: operations of the algebra on tuples, layouts, tiles and swizzles.
//! After: `cute.static` where the result's type says it all; else
//! `cute.get_scalars` of operands of which nothing is known, `arith` on their
//! run-time integers, and the constructors `cute.make_*`. What remains of the
//! dialect are constructors, `static`, `get_scalars`, `assume` and `print`,
//! which `cute-to-base` lowers, and the operations on memory. Precondition: the
//! module verifies.
//!
//! Which integers of a result are known is settled by its type, as the verifier
//! inferred it; the pass computes the others. What the algebra needs and cannot
//! prove becomes a `cf.assert`.
use super::abstract_values::{AbstractOp, is_leaf};
use super::cmpi::{EQUAL, LESS};
use super::emit::{Emitter, Signs};
use super::integers::width_of;
use super::ir_utils::{blocks, defining_op, operand, operations, present, replace_all_uses};
use super::materialize::{map_ints, materialize, variable_of};
use super::{Reported, fold_static, report};
use cutec_dialects::builder::{Insertion, IrBlock, IrOp, IrValue, result_of, value_key};
use cutec_dialects::ops::{ArithOp, CfOp, CuteOp, cute};
use cutec_dialects::semantics::{SemError, compare, evaluate, evaluate_all, leaves_of};
use cutec_dialects::value::Val;
use cutec_layout::{Condition, Expr, Int, SymInfo, Width, assuming};
use melior::Context;
use melior::ir::{TypeLike, ValueLike, operation::OperationLike};
use std::collections::HashMap;

/// How many constructors are looked through.
const DEPTH: usize = 16;
/// Operations in an expression that is carried on.
const SIZE: usize = 32;

/// Expands every operation of a module that the algebra knows.
pub fn expand_ops<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    let mut expansion = Expansion {
        emitter: Emitter::new(context, module, Signs::Signed),
        results: HashMap::new(),
        seen: Vec::new(),
        dead: Vec::new(),
        depth: 0,
    };
    let done = expansion.regions(module);
    for op in expansion.dead.into_iter().rev() {
        // SAFETY: its results were replaced, and what used it before was expanded or is erased.
        unsafe { mlir_sys::mlirOperationDestroy(op.to_raw()) };
    }
    done?;
    fold_static::erase_unused(module);
    Ok(())
}

struct Expansion<'c> {
    emitter: Emitter<'c>,
    /// What the results of expanded operations are, by the SSA values of their integers.
    results: HashMap<usize, Val>,
    /// What values are, by region depth: their integers were read or computed there.
    seen: Vec<HashMap<usize, Val>>,
    dead: Vec<IrOp<'c>>,
    /// Constructors between the value that is asked for and the one at hand.
    depth: usize,
}

impl<'c> Expansion<'c> {
    fn regions(&mut self, op: IrOp<'c>) -> Result<(), Reported> {
        for region in 0..op.region_count() {
            for block in blocks(op, region) {
                self.block(block)?;
            }
        }
        Ok(())
    }

    /// What a block computes is reused in the regions inside of it, not in other blocks.
    fn block(&mut self, block: IrBlock<'c>) -> Result<(), Reported> {
        self.emitter.enter();
        self.seen.push(HashMap::new());
        let done = operations(block)
            .into_iter()
            .try_for_each(|op| self.operation(op));
        self.seen.pop();
        self.emitter.leave();
        done
    }

    fn operation(&mut self, op: IrOp<'c>) -> Result<(), Reported> {
        let Some(kind) = CuteOp::of(op) else {
            return self.regions(op);
        };
        if is_leaf(kind, op) {
            return Ok(());
        }
        self.emitter.ir.insertion = Insertion::Before(op);
        self.emitter.ir.location = op.location();
        let typed = AbstractOp::of(op).map_err(|error| report(op.location(), error))?;
        if !typed.is_algebra() {
            return Ok(());
        }
        let done = match kind {
            CuteOp::Equal | CuteOp::ElemLess => self.compare(kind, op, &typed),
            _ => self.expand(kind, op, &typed),
        };
        done.map_err(|error| report(op.location(), error))?;
        self.dead.push(op);
        Ok(())
    }

    fn expand(&mut self, kind: CuteOp, op: IrOp<'c>, typed: &AbstractOp) -> Result<(), SemError> {
        let (results, conditions) = assuming(|| evaluate_all(kind, &typed.operands, &typed.attrs));
        let results = results?;
        let known = match conditions.is_empty() && typed.results.iter().all(Val::is_static) {
            true => HashMap::new(),
            false => self.known(op, typed)?,
        };
        let known = |id: u32| known.get(&id).cloned();
        for condition in conditions {
            self.assert(kind, &condition.substitute(&known))?;
        }
        for (index, (result, declared)) in results.iter().zip(&typed.results).enumerate() {
            let val = map_ints(result, &|int| int.substitute(&known))?;
            let (value, integers) = materialize(&mut self.emitter, declared, &val);
            replace_all_uses(result_of(op, index), value);
            self.remember(value, &val, &integers)?;
        }
        Ok(())
    }

    /// What the variables of an operation's types stand for.
    fn known(&mut self, op: IrOp<'c>, typed: &AbstractOp) -> Result<HashMap<u32, Int>, SemError> {
        let mut known = HashMap::new();
        for (index, declared) in typed.operands.iter().enumerate() {
            let val = self.value(operand(op, index)?, declared)?;
            for (leaf, int) in leaves_of(declared).iter().zip(leaves_of(&val)) {
                if let Some(id) = variable_of(leaf) {
                    known.insert(id, int.value().clone());
                }
            }
        }
        Ok(known)
    }

    /// Remembers what a result is: here and further inside as expressions, elsewhere by the SSA
    /// values of its integers. So does what has grown too large to be worth simplifying.
    fn remember(
        &mut self,
        value: IrValue<'c>,
        val: &Val,
        integers: &[(Int, IrValue<'c>)],
    ) -> Result<(), SemError> {
        let mut variables = HashMap::new();
        for (int, value) in integers.iter().filter(|(int, _)| !int.is_static()) {
            let info = SymInfo {
                width: width_of(*value),
                div: int.div(),
                max: int.upper(),
            };
            variables.insert(int.clone(), self.emitter.variable(*value, info));
        }
        let variable = |int: &Int| variables.get(int).unwrap_or(int).clone();
        let kept = |int: &Int| match is_small(int) {
            true => int.clone(),
            false => variable(int),
        };
        // A variable is never negative: what may be stays an expression.
        let stored = |int: &Int| match int.lower() >= 0 {
            true => variable(int),
            false => kept(int),
        };
        let key = value_key(value);
        self.results.insert(key, map_ints(val, &stored)?);
        if let Some(here) = self.seen.last_mut() {
            here.insert(key, map_ints(val, &kept)?);
        }
        Ok(())
    }

    /// What a value of a type is: as this pass computed it or its constructor says, else by its scalars.
    fn value(&mut self, value: IrValue<'c>, typed: &Val) -> Result<Val, SemError> {
        let key = value_key(value);
        let mut places = self.seen.iter().rev();
        let seen = places.find_map(|place| place.get(&key));
        if let Some(found) = seen.or_else(|| self.results.get(&key)) {
            return Ok(found.clone());
        }
        let val = match (typed, defining_op(value)) {
            _ if typed.is_static() => return Ok(typed.clone()),
            (Val::Scalar(int), _) => Val::Scalar(self.scalar(value, int)),
            (_, Some(op)) if is_constructor(op) && self.depth < DEPTH => {
                self.depth += 1;
                let made = self.constructed(op);
                self.depth -= 1;
                made?
            }
            _ => self.read(value, typed)?,
        };
        if let Some(here) = self.seen.last_mut() {
            here.insert(key, val.clone());
        }
        Ok(val)
    }

    fn scalar(&mut self, value: IrValue<'c>, typed: &Int) -> Int {
        if !value.r#type().is_index() {
            return self.emitter.integer(value);
        }
        let ir = &self.emitter.ir;
        let cast = ir.value(ArithOp::IndexCast, &[value], &[], ir.ty("i64"));
        self.emitter.variable(cast, info(typed))
    }

    /// What a constructor makes of its operands.
    fn constructed(&mut self, op: IrOp<'c>) -> Result<Val, SemError> {
        let typed = AbstractOp::of(op)?;
        let assumes = CuteOp::Assume.is(op);
        let made = match CuteOp::of(op) {
            Some(kind) if !assumes => evaluate(kind, &typed.operands, &typed.attrs)?,
            _ => typed.operands[0].clone(),
        };
        let known = self.known(op, &typed)?;
        let val = map_ints(&made, &|int| int.substitute(&|id| known.get(&id).cloned()))?;
        if !assumes {
            return Ok(val);
        }
        let (ints, promises) = (leaves_of(&val), leaves_of(&typed.results[0]));
        let ([int], [promised]) = (ints.as_slice(), promises.as_slice()) else {
            return Err(SemError::Illegal("assume takes one integer".into()));
        };
        if int.is_static() {
            return map_ints(&typed.results[0], &|_| int.clone());
        }
        let value = self.emitter.int(int, promised.width() == Width::I64);
        let int = self.emitter.variable(value, info(promised));
        map_ints(&typed.results[0], &|_| int.clone())
    }

    /// Reads the run-time integers of a value.
    fn read(&mut self, value: IrValue<'c>, typed: &Val) -> Result<Val, SemError> {
        let leaves = leaves_of(typed);
        let dynamic: Vec<Int> = leaves
            .iter()
            .map(|leaf| leaf.value().clone())
            .filter(|leaf| !leaf.is_static())
            .collect();
        let scalars = self.get_scalars(value, &dynamic, true);
        let mut variables = HashMap::new();
        for (leaf, scalar) in dynamic.iter().zip(scalars) {
            if let Some(id) = variable_of(leaf) {
                variables.insert(id, self.emitter.variable(scalar, info(leaf)));
            }
        }
        map_ints(typed, &|int| {
            int.substitute(&|id| variables.get(&id).cloned())
        })
    }

    fn get_scalars(
        &self,
        value: IrValue<'c>,
        ints: &[Int],
        only_dynamic: bool,
    ) -> Vec<IrValue<'c>> {
        let ir = &self.emitter.ir;
        let types: Vec<_> = ints
            .iter()
            .map(|int| ir.val_type(&Val::Scalar(int.clone())))
            .collect();
        let attrs = [("only_dynamic", ir.unit())];
        let attrs = if only_dynamic { &attrs[..] } else { &[] };
        let op = ir.op(CuteOp::GetScalars, &[value], attrs, &types);
        (0..types.len()).map(|index| result_of(op, index)).collect()
    }

    /// `equal` and `elem_less`: a constant where the types say, else leaf by leaf.
    fn compare(&mut self, kind: CuteOp, op: IrOp<'c>, typed: &AbstractOp) -> Result<(), SemError> {
        let [a, b] = typed.operands.as_slice() else {
            return Err(SemError::Illegal(format!("{kind} takes two values")));
        };
        let answer = match kind == CuteOp::Equal && !same_form(a, b) {
            true => Some(false),
            false => compare(kind, &typed.operands),
        };
        let value = match answer {
            Some(answer) => {
                let ir = &self.emitter.ir;
                ir.number(ir.bool(answer), ir.ty("i1"))
            }
            None => {
                let predicate = if kind == CuteOp::Equal { EQUAL } else { LESS };
                let comparison = present(cute::Comparison::of(op))?;
                let sides = [
                    self.every_integer(comparison.lhs(), a)?,
                    self.every_integer(comparison.rhs(), b)?,
                ];
                let mut all = None;
                for (a, b) in sides[0].iter().zip(&sides[1]) {
                    let holds = self.emitter.cmpi_widened(predicate, *a, *b);
                    all = Some(self.emitter.and(all, holds));
                }
                all.unwrap_or_else(|| self.emitter.ir.constant(1, "i1"))
            }
        };
        replace_all_uses(result_of(op, 0), value);
        Ok(())
    }

    /// Every integer of a value, known ones included.
    fn every_integer(
        &mut self,
        value: IrValue<'c>,
        typed: &Val,
    ) -> Result<Vec<IrValue<'c>>, SemError> {
        if self.results.contains_key(&value_key(value)) || matches!(typed, Val::Scalar(_)) {
            let leaves = leaves_of(&self.value(value, typed)?);
            let wide = |int: &Int| int.width() == Width::I64;
            return Ok(leaves
                .iter()
                .map(|leaf| self.emitter.int(leaf, wide(leaf)))
                .collect());
        }
        let (mut ints, mut places) = (Vec::new(), Vec::new());
        for leaf in leaves_of(typed) {
            places.push(ints.len());
            ints.push(leaf.value().clone());
            ints.extend(leaf.path().iter().map(|mode| Int::Static(*mode as i64)));
        }
        let scalars = self.get_scalars(value, &ints, false);
        Ok(places.into_iter().map(|place| scalars[place]).collect())
    }

    fn assert(&mut self, kind: CuteOp, condition: &Condition) -> Result<(), SemError> {
        match condition.decide() {
            Some(true) => return Ok(()),
            Some(false) => {
                return Err(SemError::Illegal(format!(
                    "needs {condition}, which does not hold"
                )));
            }
            None => {}
        }
        let holds = self.emitter.condition(condition);
        let ir = &self.emitter.ir;
        let message = ir.string(&format!("{} needs {}", kind.mnemonic(), unnamed(condition)));
        ir.op(CfOp::Assert, &[holds], &[("msg", message)], &[]);
        Ok(())
    }
}

fn is_constructor(op: IrOp) -> bool {
    CuteOp::of(op).is_some_and(|kind| kind != CuteOp::GetScalars && is_leaf(kind, op))
}

fn info(typed: &Int) -> SymInfo {
    SymInfo {
        width: typed.width(),
        div: typed.div(),
        max: None,
    }
}

/// Whether an expression has few operations.
fn is_small(int: &Int) -> bool {
    fn spend(int: &Int, left: &mut usize) -> bool {
        let Some(sym) = int.as_sym() else { return true };
        if *left == 0 {
            return false;
        }
        *left -= 1;
        match sym.expr() {
            Expr::Var(_) => true,
            Expr::Add(terms) => terms.iter().all(|term| spend(term, left)),
            Expr::Mul(a, b)
            | Expr::FloorDiv(a, b)
            | Expr::CeilDiv(a, b)
            | Expr::Mod(a, b)
            | Expr::Min(a, b)
            | Expr::Max(a, b)
            | Expr::Xor(a, b) => spend(a, left) && spend(b, left),
        }
    }
    spend(int, &mut SIZE.clone())
}

/// Whether two values differ at most in integers.
fn same_form(a: &Val, b: &Val) -> bool {
    let form = |val: &Val| {
        let ones = map_ints(val, &|_| Int::ONE).ok()?.to_string();
        Some(ones.split_once('"')?.1.to_string())
    };
    form(a) == form(b)
}

/// A condition with `?` for what is known at run time.
fn unnamed(condition: &Condition) -> String {
    match condition {
        Condition::Divides { divisor, value } => format!("{value} % {divisor} == 0"),
        Condition::AtMost { left, right } => format!("{left} <= {right}"),
        Condition::Equal { left, right } => format!("{left} == {right}"),
        Condition::Either(a, b) => format!("{} or {}", unnamed(a), unnamed(b)),
    }
}
