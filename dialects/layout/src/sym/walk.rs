//! Walks over expressions. Nodes are shared: along every path there may be exponentially many of them, so
//! each walk goes to a node once, and the text of a formula has an end.

use super::{Expr, Sym};
use crate::Int;
use std::collections::{HashMap, HashSet};

/// Bytes of a formula after which its operands are left out.
const FORMULA_BYTES: usize = 1000;

impl Expr {
    fn operands(&self) -> Vec<&Int> {
        match self {
            Expr::Var(_) => Vec::new(),
            Expr::Add(terms) => terms.iter().collect(),
            Expr::Mul(a, b)
            | Expr::FloorDiv(a, b)
            | Expr::CeilDiv(a, b)
            | Expr::Mod(a, b)
            | Expr::Min(a, b)
            | Expr::Max(a, b)
            | Expr::Xor(a, b) => vec![a, b],
        }
    }
}

impl Sym {
    /// Calls `f` with the id of every variable in the expression; one may come more than once.
    pub fn visit_vars(&self, f: &mut dyn FnMut(u32)) {
        let mut seen = HashSet::new();
        let mut rest = vec![self];
        while let Some(sym) = rest.pop() {
            match sym.expr() {
                Expr::Var(id) => f(*id),
                expr if seen.insert(sym.address()) => {
                    let operands = expr.operands().into_iter();
                    rest.extend(operands.filter_map(|int| match int.value() {
                        Int::Dyn(sym) => Some(sym),
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
    }

    /// The expression with variables replaced by what `f` gives for them.
    pub fn substitute(&self, f: &dyn Fn(u32) -> Option<Int>) -> Int {
        substitute(self, f, &mut HashMap::new())
    }

    /// The expression spelled out, variables as `v0`, `v1`, …; a long one in part.
    pub fn formula(&self) -> String {
        let mut text = String::new();
        write(self, &mut text);
        text
    }

    pub(super) fn same(&self, other: &Sym) -> bool {
        same(self, other, &mut HashSet::new())
    }
}

fn substitute(sym: &Sym, f: &dyn Fn(u32) -> Option<Int>, done: &mut HashMap<usize, Int>) -> Int {
    if let Expr::Var(id) = sym.expr() {
        return f(*id).unwrap_or_else(|| Int::Dyn(sym.clone()));
    }
    if let Some(found) = done.get(&sym.address()) {
        return found.clone();
    }
    let mut go = |int: &Int| match int {
        Int::Static(_) => int.clone(),
        Int::Dyn(sym) => substitute(sym, f, done),
        Int::Scaled(..) => int.map_value(|value| match value {
            Int::Dyn(sym) => substitute(sym, f, done),
            other => other.clone(),
        }),
    };
    let result = match sym.expr() {
        Expr::Var(_) => Int::Dyn(sym.clone()),
        Expr::Add(terms) => Int::sum(terms.iter().map(go)),
        Expr::Mul(a, b) => go(a).mul(&go(b)),
        Expr::FloorDiv(a, b) => go(a).floor_div(&go(b)),
        Expr::CeilDiv(a, b) => go(a).ceil_div(&go(b)),
        Expr::Mod(a, b) => go(a).modulo(&go(b)),
        Expr::Min(a, b) => go(a).min(&go(b)),
        Expr::Max(a, b) => go(a).max(&go(b)),
        Expr::Xor(a, b) => go(a).xor(&go(b)),
    };
    done.insert(sym.address(), result.clone());
    result
}

/// Whether two expressions have the same structure. A pair that was met before is equal, or a difference
/// was found and the comparison is over.
fn same(a: &Sym, b: &Sym, seen: &mut HashSet<(usize, usize)>) -> bool {
    if a.address() == b.address() {
        return true;
    }
    if a.hash_value() != b.hash_value() {
        return false;
    }
    if let (Expr::Var(a), Expr::Var(b)) = (a.expr(), b.expr()) {
        return a == b;
    }
    if std::mem::discriminant(a.expr()) != std::mem::discriminant(b.expr()) {
        return false;
    }
    if !seen.insert((a.address(), b.address())) {
        return true;
    }
    let (a, b) = (a.expr().operands(), b.expr().operands());
    a.len() == b.len()
        && a.into_iter().zip(b).all(|(a, b)| {
            a.path() == b.path()
                && match (a.value(), b.value()) {
                    (Int::Dyn(a), Int::Dyn(b)) => same(a, b, seen),
                    (a, b) => a == b,
                }
        })
}

fn write(sym: &Sym, out: &mut String) {
    if out.len() > FORMULA_BYTES {
        out.push('…');
        return;
    }
    let (before, between, after) = match sym.expr() {
        Expr::Var(id) => return out.push_str(&format!("v{id}")),
        Expr::Add(_) => ("(", " + ", ")"),
        Expr::Mul(..) => ("", " * ", ""),
        Expr::FloorDiv(..) => ("(", " / ", ")"),
        Expr::CeilDiv(..) => ("ceil_div(", ", ", ")"),
        Expr::Mod(..) => ("(", " % ", ")"),
        Expr::Min(..) => ("min(", ", ", ")"),
        Expr::Max(..) => ("max(", ", ", ")"),
        Expr::Xor(..) => ("(", " ^ ", ")"),
    };
    out.push_str(before);
    for (index, operand) in sym.expr().operands().into_iter().enumerate() {
        if index > 0 {
            out.push_str(between);
        }
        match operand.value() {
            Int::Dyn(sym) => write(sym, out),
            value => out.push_str(&value.formula()),
        }
        for mode in operand.path().iter().rev() {
            out.push_str(&format!("@{mode}"));
        }
    }
    out.push_str(after);
}
