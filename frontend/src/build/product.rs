//! Products, and the instructions that can be pinned for them.

use super::body::{Body, elem_expr, expected};
use super::error::{BuildError, Problem, Result, fail};
use super::kind::ElemKind;
use super::tree;
use super::value::{Value, element};
use crate::ast::{BinaryOp, Expr};
use crate::eval::builtins::mma_call;
use crate::rules;
use cutec_abi::DType;
use cutec_dialects::atoms::{Fma, MmaAtom, MmaOp, MmaSync};
use cutec_dialects::elem::Elem;
use cutec_dialects::tile::Precision;

/// The instruction of a product, and perhaps how warps share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Mma {
    atom: MmaAtom,
    atoms: Option<[i64; 3]>,
    permute: Option<[i64; 3]>,
}

impl Mma {
    /// `mma.sync` of this shape, of elements of both types with sums in `sums`.
    ///
    /// # Errors
    /// When there is no such instruction.
    #[track_caller]
    pub fn sync([m, n, k]: [u32; 3], of: [DType; 2], sums: DType) -> Result<Self> {
        let [a, b] = [element("mma", of[0])?, element("mma", of[1])?];
        let sums = element("mma", sums)?;
        let op = MmaOp::MmaSync(MmaSync { m, n, k });
        Self::of_atom(MmaAtom { op, a, b, c: sums })
    }

    /// A fused multiply-add of each thread.
    ///
    /// # Errors
    /// When there is none for the type.
    #[track_caller]
    pub fn fma(of: DType) -> Result<Self> {
        Self::of_atom(Fma::of(element("fma", of)?))
    }

    #[track_caller]
    fn of_atom(atom: MmaAtom) -> Result<Self> {
        match atom.verify() {
            Ok(()) => Ok(Self {
                atom,
                atoms: None,
                permute: None,
            }),
            Err(error) => Err(fail(Problem::Atom(error))),
        }
    }

    /// So many atoms side by side along m, n and k, each of its own warp (or thread).
    #[must_use]
    pub fn atoms(self, atoms: [i64; 3]) -> Self {
        let atoms = Some(atoms);
        Self { atoms, ..self }
    }

    /// The part of a tile, along m, n and k, that the atoms compute together before they go on.
    #[must_use]
    pub fn permute(self, permute: [i64; 3]) -> Self {
        let permute = Some(permute);
        Self { permute, ..self }
    }

    fn expr(&self) -> Expr {
        let (name, types) = mma_call(&self.atom);
        let atom = tree::generic(&name, types.into_iter().map(elem_expr));
        if self.atoms.is_none() && self.permute.is_none() {
            return atom;
        }
        let triple = |numbers: [i64; 3]| tree::tuple(numbers.map(tree::int).to_vec());
        let mut args = vec![tree::arg(atom)];
        let parts = [("atoms", self.atoms), ("permute", self.permute)];
        for (name, numbers) in parts {
            args.extend(numbers.map(|numbers| tree::named(name, triple(numbers))));
        }
        tree::call_with(tree::name("tiled_mma"), args)
    }
}

impl Body {
    /// `a · bᵀ`, of shapes (m, k) and (n, k); added up in f32, of `i8` and `u8` in i32, of `f64` in f64.
    ///
    /// # Errors
    /// When types differ, there is no product of them, or shapes do not fit.
    #[track_caller]
    pub fn dot(&mut self, a: &Value, b: &Value) -> Result<Value> {
        self.dot_with(a, b, Precision::Ieee)
    }

    /// [`Body::dot`] of f32 in this precision.
    ///
    /// # Errors
    /// As there, and when tiles of another type are to be multiplied as tf32.
    #[track_caller]
    pub fn dot_with(&mut self, a: &Value, b: &Value, precision: Precision) -> Result<Value> {
        let (product, elem, shape) = self.product(a, b, precision, None)?;
        Ok(self.tile(product, elem, shape))
    }

    /// `sums + a · bᵀ`, added as it is computed.
    ///
    /// # Errors
    /// As [`Body::dot`], and when the sums are of another type or shape.
    #[track_caller]
    pub fn dot_onto(&mut self, sums: &Value, a: &Value, b: &Value) -> Result<Value> {
        self.product_onto(sums, a, b, Precision::Ieee, None)
    }

    /// [`Body::dot_onto`] of f32 in this precision.
    ///
    /// # Errors
    /// As there, and when tiles of another type are to be multiplied as tf32.
    #[track_caller]
    pub fn dot_onto_with(
        &mut self,
        sums: &Value,
        a: &Value,
        b: &Value,
        precision: Precision,
    ) -> Result<Value> {
        self.product_onto(sums, a, b, precision, None)
    }

    /// [`Body::dot_onto`] by this instruction.
    ///
    /// # Errors
    /// As there, and when the instruction is for other types.
    #[track_caller]
    pub fn dot_onto_by(&mut self, sums: &Value, a: &Value, b: &Value, mma: &Mma) -> Result<Value> {
        self.product_onto(sums, a, b, Precision::Ieee, Some(mma))
    }

    #[track_caller]
    fn product_onto(
        &mut self,
        sums: &Value,
        a: &Value,
        b: &Value,
        precision: Precision,
        mma: Option<&Mma>,
    ) -> Result<Value> {
        let operation = "dot_onto";
        let (product, expected, shape) = self.product(a, b, precision, mma)?;
        let (found, found_shape) = self.shaped(operation, sums)?;
        if found != expected {
            return Err(fail(Problem::types(operation, expected, found)));
        }
        if found_shape != shape {
            return Err(fail(Problem::Shapes {
                operation,
                rule: "sums of the product's shape",
                expected: shape,
                found: found_shape,
            }));
        }
        let kind = ElemKind::Tile { elem: found, shape };
        Ok(self.updated(sums.expr(), BinaryOp::Add, product, kind))
    }

    /// The product as an expression, its type and its shape.
    #[track_caller]
    fn product(
        &self,
        a: &Value,
        b: &Value,
        precision: Precision,
        mma: Option<&Mma>,
    ) -> std::result::Result<(Expr, Elem, Vec<i64>), BuildError> {
        let operation = "dot";
        let ((of, left), (found, right)) = (self.shaped(operation, a)?, self.shaped(operation, b)?);
        let ([m, k], [n, other]) = (pair(&left, a)?, pair(&right, b)?);
        if !rules::multiplies(of, found) {
            return Err(fail(Problem::types(operation, of, found)));
        }
        if k != other {
            return Err(fail(Problem::Shapes {
                operation,
                rule: "(m, k) and (n, k)",
                expected: left,
                found: right,
            }));
        }
        let Some(sums) = rules::sums_of(of) else {
            let elem = of;
            return Err(fail(Problem::undefined(operation, elem)));
        };
        let mut args = vec![tree::arg(a.expr()), tree::arg(b.expr())];
        match precision {
            Precision::Ieee => {}
            Precision::Tf32 | Precision::Tf32x3 if of == Elem::F32 => {
                args.push(tree::named("precision", tree::name(precision.name())));
            }
            Precision::Tf32 | Precision::Tf32x3 => {
                return Err(fail(Problem::types("precision", Elem::F32, of)));
            }
        }
        if let Some(mma) = mma {
            let sides = [(of, mma.atom.a), (found, mma.atom.b), (sums, mma.atom.c)];
            for (expected, found) in sides {
                if !rules::taken_as(expected, found) {
                    return Err(fail(Problem::types("mma", expected, found)));
                }
            }
            args.push(tree::named("mma", mma.expr()));
        }
        let call = tree::call_with(tree::name("dot"), args);
        Ok((call, sums, vec![m, n]))
    }
}

#[track_caller]
fn pair(shape: &[i64], of: &Value) -> Result<[i64; 2]> {
    match shape {
        [rows, columns] => Ok([*rows, *columns]),
        _ => Err(expected("dot", "tiles of two axes", of)),
    }
}
