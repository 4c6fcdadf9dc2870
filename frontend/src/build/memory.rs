//! Tiles of tensors, read and written, and tiles of constants.

use super::body::{Body, check_literal, check_shape, elem_expr, expected};
use super::error::{Problem, Result, fail};
use super::kind::{ElemKind, Literal};
use super::shapes::Reduction;
use super::signature::Tensor;
use super::syntax;
use super::tree;
use super::value::{Value, element};
use crate::ast::{Expr, ExprKind, StmtKind};
use cutec_abi::DType;
use cutec_dialects::elem::Elem;
use cutec_dialects::semantics::AtomicKind;

impl Body {
    /// The tile of a tensor at a coordinate counted in tiles, or an offset ([`At`]); zeros outside of the tensor.
    ///
    /// # Errors
    /// When extents and coordinates are not as many as the tensor has modes, or no integers.
    #[track_caller]
    pub fn load<V: Into<At>>(
        &mut self,
        from: &Tensor,
        shape: impl IntoIterator<Item = i64>,
        at: impl IntoIterator<Item = V>,
    ) -> Result<Value> {
        self.load_with(from, shape, at, Load::new())
    }

    /// [`Body::load`] with another number outside of the tensor.
    ///
    /// # Errors
    /// As there, and when the number is none of the tensor's type.
    #[track_caller]
    pub fn load_or<V: Into<At>>(
        &mut self,
        from: &Tensor,
        shape: impl IntoIterator<Item = i64>,
        at: impl IntoIterator<Item = V>,
        fill: impl Into<Literal>,
    ) -> Result<Value> {
        self.load_with(from, shape, at, Load::new().fill(fill))
    }

    /// [`Body::load`] that says more: what is outside of the tensor, and what is otherwise chosen by the compiler.
    ///
    /// # Errors
    /// As there, and when the number outside is none of the tensor's type.
    #[track_caller]
    pub fn load_with<V: Into<At>>(
        &mut self,
        from: &Tensor,
        shape: impl IntoIterator<Item = i64>,
        at: impl IntoIterator<Item = V>,
        how: Load,
    ) -> Result<Value> {
        let shape: Vec<i64> = shape.into_iter().collect();
        if let Some(fill) = how.fill {
            check_literal("load", fill, from.elem)?;
        }
        let tile = self.tile_of("load", from, &shape, at, how)?;
        Ok(self.tile(tile, from.elem, shape))
    }

    /// Writes a tile, or a number repeated, at a coordinate counted in tiles, or an offset ([`At`]); nothing
    /// outside of the tensor.
    ///
    /// # Errors
    /// When the kernel only reads the tensor, or the tile is of another type or shape.
    #[track_caller]
    pub fn store<V: Into<At>>(
        &mut self,
        to: &Tensor,
        shape: impl IntoIterator<Item = i64>,
        at: impl IntoIterator<Item = V>,
        value: impl Into<Value>,
    ) -> Result<()> {
        let (target, value) = self.written("store", to, shape, at, value.into())?;
        self.push(tree::assignment(target, None, value));
        Ok(())
    }

    /// Combines what is there with a tile, or a number repeated, each element by one atomic update; nothing outside of
    /// the tensor. Blocks may update the same elements, in any order.
    ///
    /// # Errors
    /// As of [`Body::store`], and when the type has no such update.
    #[track_caller]
    pub fn update<V: Into<At>>(
        &mut self,
        how: Reduction,
        to: &Tensor,
        shape: impl IntoIterator<Item = i64>,
        at: impl IntoIterator<Item = V>,
        value: impl Into<Value>,
    ) -> Result<()> {
        let place = (to, shape.into_iter().collect(), at);
        let call = self.update_call("update", how, place, value.into())?;
        self.push(tree::statement(StmtKind::Expr(call)));
        Ok(())
    }

    /// The same, and the tile of what was there before each update: 0 outside of the tensor. Elements go to memory and come
    /// back one by one.
    ///
    /// # Errors
    /// As of [`Body::update`].
    #[track_caller]
    pub fn fetch<V: Into<At>>(
        &mut self,
        how: Reduction,
        to: &Tensor,
        shape: impl IntoIterator<Item = i64>,
        at: impl IntoIterator<Item = V>,
        value: impl Into<Value>,
    ) -> Result<Value> {
        let shape: Vec<i64> = shape.into_iter().collect();
        let call = self.update_call("fetch", how, (to, shape.clone(), at), value.into())?;
        Ok(self.tile(call, to.elem, shape))
    }

    #[track_caller]
    fn update_call<V: Into<At>>(
        &self,
        operation: &'static str,
        how: Reduction,
        (to, shape, at): (&Tensor, Vec<i64>, impl IntoIterator<Item = V>),
        value: Value,
    ) -> Result<Expr> {
        if AtomicKind::updates(how.name(), to.elem).is_err() {
            return Err(fail(Problem::undefined(operation, to.elem)));
        }
        let (target, value) = self.written(operation, to, shape, at, value)?;
        let function = tree::name(&format!("atomic_{}", how.name()));
        Ok(tree::call(function, [target, value]))
    }

    /// One element of a tensor.
    ///
    /// # Errors
    /// When coordinates are not as many as the tensor has modes, or no integers.
    #[track_caller]
    pub fn element<V: Into<Value>>(
        &mut self,
        of: &Tensor,
        at: impl IntoIterator<Item = V>,
    ) -> Result<Value> {
        let at = at.into_iter().map(Into::into).collect();
        let indices = self.coordinates("element", of, at)?;
        let base = tree::name(&of.name);
        let value = tree::expr(ExprKind::Index { base, indices });
        Ok(self.bound(value, ElemKind::Number(of.elem)))
    }

    /// A tile of zeros.
    ///
    /// # Errors
    /// When it has no elements, or too many.
    #[track_caller]
    pub fn zeros(&mut self, dtype: DType, shape: impl IntoIterator<Item = i64>) -> Result<Value> {
        let elem = element("zeros", dtype)?;
        let shape: Vec<i64> = shape.into_iter().collect();
        check_shape("zeros", &shape)?;
        let zeros = tree::generic("zeros", [elem_expr(elem)]);
        let call = tree::call(zeros, shape.iter().map(|extent| tree::int(*extent)));
        Ok(self.tile(call, elem, shape))
    }

    /// A tile of one number.
    ///
    /// # Errors
    /// When the number is of another type, or the tile has no elements, or too many.
    #[track_caller]
    pub fn full(
        &mut self,
        dtype: DType,
        value: impl Into<Value>,
        shape: impl IntoIterator<Item = i64>,
    ) -> Result<Value> {
        let elem = element("full", dtype)?;
        let (shape, value) = (shape.into_iter().collect::<Vec<i64>>(), value.into());
        check_shape("full", &shape)?;
        if matches!(value.kind, ElemKind::Tile { .. }) {
            return Err(expected("full", "a number", &value));
        }
        let mut args = vec![self.fitting("full", &value, elem, &shape)?];
        args.extend(shape.iter().map(|extent| tree::int(*extent)));
        let call = tree::call(tree::generic("full", [elem_expr(elem)]), args);
        Ok(self.tile(call, elem, shape))
    }

    /// A tile of the coordinate along an axis, in i32.
    ///
    /// # Errors
    /// When the shape has no such axis, or no elements, or too many.
    #[track_caller]
    pub fn iota(&mut self, shape: impl IntoIterator<Item = i64>, axis: usize) -> Result<Value> {
        let shape: Vec<i64> = shape.into_iter().collect();
        check_shape("iota", &shape)?;
        let axis = self.axis("iota", axis, shape.len())?;
        let extents = shape.iter().map(|extent| tree::arg(tree::int(*extent)));
        let args = extents.chain([tree::named("axis", tree::int(axis))]);
        let call = tree::call_with(tree::name("iota"), args.collect());
        Ok(self.tile(call, Elem::I32, shape))
    }

    /// The tile of a tensor that is written, and what is written there.
    #[track_caller]
    fn written<V: Into<At>>(
        &self,
        operation: &'static str,
        to: &Tensor,
        shape: impl IntoIterator<Item = i64>,
        at: impl IntoIterator<Item = V>,
        value: Value,
    ) -> Result<(Expr, Expr)> {
        let shape = shape.into_iter().collect::<Vec<i64>>();
        if !to.mutable {
            let tensor = to.name.to_string();
            return Err(fail(Problem::ReadOnly { tensor }));
        }
        let value = self.fitting(operation, &value, to.elem, &shape)?;
        let target = self.tile_of(operation, to, &shape, at, Load::new())?;
        Ok((target, value))
    }

    #[track_caller]
    fn tile_of<V: Into<At>>(
        &self,
        operation: &'static str,
        tensor: &Tensor,
        shape: &[i64],
        at: impl IntoIterator<Item = V>,
        how: Load,
    ) -> Result<Expr> {
        let at: Vec<At> = at.into_iter().map(Into::into).collect();
        let values = at.iter().map(|at| at.value.clone()).collect();
        let values = self.coordinates(operation, tensor, values)?;
        check_shape(operation, shape)?;
        check_count(operation, "extents", tensor.rank, shape.len())?;
        let shape = shape.iter().map(|extent| tree::int(*extent)).collect();
        let mut args = vec![tree::arg(tree::tuple(shape))];
        // What one of the two says, the other leaves open.
        let side = |by_element: bool| -> Expr {
            let parts = std::iter::zip(&at, &values);
            let parts = parts.map(|(at, value)| match at.by_element == by_element {
                true => value.clone(),
                false => tree::expr(ExprKind::Wildcard),
            });
            tree::tuple(parts.collect())
        };
        if at.iter().any(|at| !at.by_element) || at.is_empty() {
            args.push(tree::arg(side(false)));
        }
        if at.iter().any(|at| at.by_element) {
            args.push(tree::named("at", side(true)));
        }
        args.extend(how.fill.map(|fill| tree::named("fill", fill.expr())));
        args.extend(how.copy.map(|copy| tree::named("copy", copy.node)));
        args.extend(how.swizzle.map(|numbers| {
            let swizzle = tree::generic("S", numbers.map(tree::int));
            tree::named("swizzle", swizzle)
        }));
        let method = tree::field(tree::name(&tensor.name), "tile");
        Ok(tree::call_with(method, args))
    }

    /// A coordinate in a tensor of this kernel.
    #[track_caller]
    fn coordinates(
        &self,
        operation: &'static str,
        tensor: &Tensor,
        at: Vec<Value>,
    ) -> Result<Vec<Expr>> {
        if !self.owns(&tensor.kernel) {
            let what = "a tensor";
            return Err(fail(Problem::Foreign { operation, what }));
        }
        check_count(operation, "coordinates", tensor.rank, at.len())?;
        let mut coordinates = Vec::new();
        for part in &at {
            coordinates.push(self.operand(operation, part)?);
            match part.kind {
                ElemKind::Number(Elem::I32 | Elem::I64) | ElemKind::Literal(Literal::Int(_)) => {}
                _ => return Err(expected(operation, "an integer", part)),
            }
        }
        Ok(coordinates)
    }
}

/// How a tile is loaded.
#[derive(Debug, Clone, Default)]
pub struct Load {
    fill: Option<Literal>,
    copy: Option<syntax::Expr>,
    swizzle: Option<[i64; 3]>,
}

impl Load {
    /// Zeros outside of the tensor; the rest is chosen by the compiler.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another number outside of the tensor.
    #[must_use]
    pub fn fill(self, fill: impl Into<Literal>) -> Self {
        let fill = Some(fill.into());
        Self { fill, ..self }
    }

    /// Pins how an operand of a product gets to shared memory: an atom or a tiled copy of the language, such as
    /// `cp_async<f16, bits = 64>`.
    #[must_use]
    pub fn copy(self, copy: impl Into<syntax::Expr>) -> Self {
        let copy = Some(copy.into());
        Self { copy, ..self }
    }

    /// Pins how it lies there: `S<bits, base, shift>`.
    #[must_use]
    pub fn swizzle(self, swizzle: [i64; 3]) -> Self {
        let swizzle = Some(swizzle);
        Self { swizzle, ..self }
    }
}

/// Where along a mode of a tensor a tile lies: a number alone counts tiles, [`At::element`] elements.
#[derive(Debug, Clone)]
pub struct At {
    value: Value,
    by_element: bool,
}

impl At {
    /// So many tiles from the first.
    pub fn tile(tiles: impl Into<Value>) -> Self {
        Self::from(tiles)
    }

    /// So many elements from the first, fewer than none included.
    pub fn element(elements: impl Into<Value>) -> Self {
        At {
            value: elements.into(),
            by_element: true,
        }
    }
}

impl<V: Into<Value>> From<V> for At {
    fn from(tiles: V) -> Self {
        At {
            value: tiles.into(),
            by_element: false,
        }
    }
}

#[track_caller]
fn check_count(
    operation: &'static str,
    of: &'static str,
    expected: usize,
    found: usize,
) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(fail(Problem::Rank {
        operation,
        of,
        expected,
        found,
    }))
}
