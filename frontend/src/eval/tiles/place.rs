//! Tiles of tensors: `x.tile((bm, bk), (i, j), fill = 0)`, read, and written on the left of `=`; `copy` and
//! `swizzle` pin how an operand of a product gets to shared memory and lies there.

use super::apart::{Apart, lies_apart};
use super::coordinate::Coordinate;
use super::fetch::Update;
use super::parts_of;
use crate::ast::{Arg, BinaryOp, Expr};
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::assign::New;
use crate::eval::builtins::{self, Level, Receiver};
use crate::eval::call::Call;
use crate::eval::values::{Value, elem_name};
use crate::eval::{Evaluator, Result, Stop};
use crate::source::{Span, Spanned};
use cutec_dialects::builder::IrValue;
use cutec_dialects::elem::{Elem, Space};
use cutec_dialects::hints::{CacheHint, Hints};
use cutec_dialects::ops::TileOp;
use cutec_dialects::tile::BY_ELEMENT;
use cutec_dialects::value::Val;
use cutec_layout::Swizzle;
use melior::ir::Attribute;

/// A tile of a tensor, neither read nor written yet.
pub(super) struct Place<'c, 'a> {
    lies: Lies<'c, 'a>,
    pub elem: Elem,
    shape: Vec<i64>,
    /// What is read outside of the tensor, and where that stands.
    fill: Option<(Value<'c, 'a>, Span)>,
    /// What passes else choose.
    pins: Pins,
    /// What is asked of the caches.
    hints: Hints,
}

/// Where its elements lie.
enum Lies<'c, 'a> {
    /// In a part of a view that has a layout.
    Together(IrValue<'c>, Coordinate<'c>),
    /// Each by itself.
    Apart(Box<Apart<'c, 'a>>),
}

/// What a program decides in place of a pass.
#[derive(Default)]
struct Pins {
    /// How an operand of a product gets to shared memory.
    copy: Option<Val>,
    /// How it lies there.
    swizzle: Option<Swizzle>,
}

impl Pins {
    /// An argument that decides something.
    fn name(&self) -> Option<&'static str> {
        let copy = self.copy.as_ref().map(|_| "copy");
        copy.or(self.swizzle.map(|_| "swizzle"))
    }
}

impl<'c> Place<'c, '_> {
    /// The tile of one element.
    pub(super) fn of_element(view: IrValue<'c>, elem: Elem, at: Coordinate<'c>) -> Self {
        Place {
            shape: vec![1; at.values.len()],
            lies: Lies::Together(view, at),
            elem,
            fill: None,
            pins: Pins::default(),
            hints: Hints::NONE,
        }
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `x.tile(shape, at, fill = v)` as a value.
    pub(in crate::eval) fn load_tile(
        &mut self,
        receiver: &Value<'c, 'a>,
        receiver_span: Span,
        call: &Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        let place = self.place(receiver, receiver_span, call)?;
        self.check_hints(&place.hints, true, call.span)?;
        self.load(&place, call.span)
    }

    pub(super) fn load(&mut self, place: &Place<'c, 'a>, span: Span) -> Result<Value<'c, 'a>> {
        let (view, at) = match &place.lies {
            Lies::Together(view, at) => (*view, at),
            Lies::Apart(parts) => {
                let fill = place.fill.as_ref().map(|(fill, _)| fill.clone());
                return self.load_apart(parts, place.elem, fill, span);
            }
        };
        let mut operands = vec![view];
        operands.extend(&at.values);
        let mut attrs = self.by_element(at, span)?;
        attrs.extend(self.hints(place, span)?);
        if let Some((fill, given)) = &place.fill {
            let fill = self.literal(fill, place.elem, *given)?;
            let ir = self.ir(span)?;
            // Zeros are what there is without a word, and asynchronous copies write no other number.
            if !fill.is_zero() {
                attrs.push(("fill", fill.attribute(ir, ir.number_type(place.elem))));
            }
        }
        if let Some(copy) = &place.pins.copy {
            let ty = self.static_type(copy, span)?;
            attrs.push(("copy", self.ir(span)?.type_attr(ty)));
        }
        let ir = self.ir(span)?;
        let swizzle = place.pins.swizzle;
        attrs.extend(swizzle.map(|swizzle| ("swizzle", ir.string(&swizzle.to_string()))));
        let of = (place.elem, &place.shape[..]);
        self.tile_op(TileOp::Load, &operands, &attrs, of, span)
            .map(Value::Tile)
    }

    /// `base.tile(args) = value`, or with an operator.
    pub(in crate::eval) fn assign_tile(
        &mut self,
        (base, name, args): (&'a Expr, &'a Spanned<std::sync::Arc<str>>, &'a [Arg]),
        op: Option<Spanned<BinaryOp>>,
        (value, target): (New<'_, 'c, 'a>, Span),
        span: Span,
    ) -> Result<()> {
        let receiver = self.expr(base);
        let call = self.arguments(name.node.clone(), name.span, target, &[], args);
        let new = self.new_value(value);
        let to = (&receiver?, base.span);
        let place = self.written(to, &call?, op.is_some(), target)?;
        let mut new = new?;
        if let Some(op) = op {
            let old = self.load(&place, target)?;
            new = self.binary(op.node, (old, target), (new, value.span()), span)?;
        }
        self.write_tile(&place, (&new, value.span()), &[], span)
    }

    /// `atomic_add(base.tile(args), value)` and the like, `rest` what stands behind the place.
    pub(in crate::eval) fn update_tile(
        &mut self,
        update: Update,
        (base, name, args): (&'a Expr, &'a Spanned<std::sync::Arc<str>>, &'a [Arg]),
        rest: &'a [Arg],
        (target, span): (Span, Span),
    ) -> Result<Value<'c, 'a>> {
        let receiver = self.expr(base);
        let call = self.arguments(name.node.clone(), name.span, target, &[], args);
        let new = self.new_elements(update, rest, span)?;
        let (receiver, call) = (receiver?, call?);
        let place = self.written((&receiver, base.span), &call, false, target)?;
        self.check_update(update, place.elem, target)?;
        if let Some(hint) = place.hints.first() {
            let message = format!("`{hint}` is of loads and stores");
            return self.error(codes::WRONG_ARGUMENTS, target, message, "updated here");
        }
        let of = (place.elem, &place.shape[..]);
        if update.fetches() {
            let parts = match place.lies {
                Lies::Apart(parts) => *parts,
                Lies::Together(_, at) => {
                    let why = "each of its elements is asked for".to_owned();
                    self.apart(&receiver, &place.shape, &at, why, &call)?
                }
            };
            let at: Vec<_> = parts.at.iter().map(|at| (at.clone(), target)).collect();
            let was = self.fetched(update.kind, (&parts.flat, &at), of, &new, span)?;
            return Ok(Value::Tile(was));
        }
        let Some((new, new_span)) = new.first() else {
            return Err(Stop::Reported);
        };
        let kind = self.ir(span)?.string(update.kind.name());
        self.write_tile(&place, (new, *new_span), &[("atomic", kind)], span)?;
        Ok(Value::Unit)
    }

    /// A tile of a tensor that is to be written, or read before and written.
    fn written(
        &mut self,
        (receiver, receiver_span): (&Value<'c, 'a>, Span),
        call: &Call<'c, 'a>,
        read: bool,
        target: Span,
    ) -> Result<Place<'c, 'a>> {
        let place = self.place(receiver, receiver_span, call)?;
        self.check_writable(receiver, receiver_span)?;
        self.check_hints(&place.hints, false, target)?;
        if place.fill.is_some() && !read {
            let message = "`fill` says what is read outside of a tensor; nothing is written there";
            return self.error(codes::WRONG_ARGUMENTS, target, message, "written here");
        }
        if let Some(name) = place.pins.name() {
            let message = format!("`{name}` is for operands of products, which are read");
            return self.error(codes::WRONG_ARGUMENTS, target, message, "written here");
        }
        Ok(place)
    }

    pub(super) fn write_tile(
        &mut self,
        place: &Place<'c, 'a>,
        (value, value_span): (&Value<'c, 'a>, Span),
        attrs: &[(&'static str, Attribute<'c>)],
        span: Span,
    ) -> Result<()> {
        let tile = self.as_tile(value, (place.elem, &place.shape), value_span)?;
        let (view, at) = match &place.lies {
            Lies::Together(view, at) => (*view, at),
            Lies::Apart(parts) => return self.store_apart(parts, &tile, attrs, span),
        };
        let mut operands = vec![tile.ir, view];
        operands.extend(&at.values);
        let mut all = self.by_element(at, span)?;
        all.extend(self.hints(place, span)?);
        all.extend(attrs);
        self.ir(span)?.op(TileOp::Store, &operands, &all, &[]);
        Ok(())
    }

    /// The attribute that says what is asked of the caches.
    fn hints(
        &mut self,
        place: &Place<'c, 'a>,
        span: Span,
    ) -> Result<Option<(&'static str, Attribute<'c>)>> {
        if place.hints == Hints::NONE {
            return Ok(None);
        }
        let text = place.hints.to_string();
        let text = text.trim_start_matches(", ");
        Ok(Some(("hints", self.ir(span)?.string(text))))
    }

    /// Refuses hints that loads, or stores, do not take.
    fn check_hints(&mut self, hints: &Hints, reads: bool, span: Span) -> Result<()> {
        let (of, other) = match reads {
            true => ("stores", "read"),
            false => ("loads", "written"),
        };
        let known = |hint: CacheHint| match reads {
            true => hint.of_loads(),
            false => hint.of_stores(),
        };
        let wrong = match (hints.cache, hints.prefetch) {
            (Some(hint), _) if known(hint).is_none() => format!("cache = {}", hint.name()),
            (_, Some(bytes)) if !reads => format!("prefetch = {bytes}"),
            _ => return Ok(()),
        };
        let message = format!("`{wrong}` is of {of}");
        self.error(
            codes::WRONG_ARGUMENTS,
            span,
            message,
            format!("{other} here"),
        )
    }

    /// The attribute that says along which modes the coordinate counts elements, if it does along any.
    fn by_element(
        &mut self,
        at: &Coordinate<'c>,
        span: Span,
    ) -> Result<Vec<(&'static str, Attribute<'c>)>> {
        let axes: Vec<i64> = at.by_element.iter().map(|axis| *axis as i64).collect();
        if axes.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![(BY_ELEMENT, self.ir(span)?.i64_array(&axes))])
    }

    fn place(
        &mut self,
        receiver: &Value<'c, 'a>,
        receiver_span: Span,
        call: &Call<'c, 'a>,
    ) -> Result<Place<'c, 'a>> {
        self.check_level(Level::Tiles, ".tile", call.name_span)?;
        if let Some(form) = builtins::table::method(Receiver::View, "tile") {
            builtins::check(self, form, call)?;
        }
        let Some(shape) = call.arg(0) else {
            return Err(Stop::Reported);
        };
        let (view, elem, layout) = match receiver.as_view() {
            Some((cute, view)) if view.ptr.space == Space::Gmem => {
                (cute.ir, view.ptr.elem, view.layout.clone())
            }
            _ => return self.expected("a tensor in global memory", receiver, receiver_span),
        };
        self.has_values(elem, receiver_span)?;
        let modes = layout.shape().clone();
        let extents = parts_of(&shape.value).into_iter();
        let extents: Vec<_> = extents.map(|extent| (extent, shape.expr)).collect();
        let shape_span = shape.expr.span;
        let shape = self.tile_shape(&extents, shape_span)?;
        self.check_rank("extents", shape.len(), modes.rank(), shape_span)?;
        let at = self.tile_coordinate(call, modes.rank())?;
        let fill = match call.named("fill") {
            None => None,
            Some(arg) => match &arg.value {
                Value::Typed(_, found) if *found != elem => {
                    // Says which type is wanted.
                    self.number(&arg.value, elem, arg.expr.span)?;
                    None
                }
                Value::Int(_)
                | Value::Large(_)
                | Value::Float(_)
                | Value::Bool(_)
                | Value::Typed(..) => Some((arg.value.clone(), arg.expr.span)),
                Value::Scalar(_) => {
                    return self.static_needed("what a tile is filled with", arg.expr);
                }
                other => {
                    let what = format!("a number of {}", elem_name(elem));
                    return self.expected(&what, &other.clone(), arg.expr.span);
                }
            },
        };
        let mut pins = Pins::default();
        if let Some(arg) = call.named("copy") {
            match &arg.value {
                Value::Static(pinned @ (Val::CopyAtom(_) | Val::TiledCopy(_))) => {
                    pins.copy = Some(pinned.clone());
                }
                other => {
                    let what = "a copy atom or a tiled copy";
                    return self.expected(what, &other.clone(), arg.expr.span);
                }
            }
        }
        if let Some(arg) = call.named("swizzle") {
            match &arg.value {
                Value::Static(Val::Swizzle(swizzle)) => {
                    pins.swizzle = Some(*swizzle);
                }
                other => return self.expected("a swizzle", &other.clone(), arg.expr.span),
            }
        }
        let hints = builtins::hints::of(self, &call.args, &builtins::hints::KEYS)?;
        let lies = match lies_apart(&layout, &shape, &at) {
            None => Lies::Together(view, at),
            Some(why) => {
                let pinned = pins.name().map(str::to_owned);
                if let Some(name) = pinned.or(hints.first()) {
                    let message = format!(
                        "`{name}` is of tiles that lie in a layout, and this one is gathered"
                    );
                    let diagnostic =
                        Diagnostic::error(codes::WRONG_ARGUMENTS, call.span, message, "here");
                    return Err(self.report(diagnostic.with_help(why)));
                }
                let parts = self.apart(receiver, &shape, &at, why, call)?;
                Lies::Apart(Box::new(parts))
            }
        };
        Ok(Place {
            lies,
            elem,
            shape,
            fill,
            pins,
            hints,
        })
    }
}
