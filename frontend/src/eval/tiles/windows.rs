//! Windows of a convolution: `x.windows((pixels, channels), (i, r, s, j), filter = (3, 3), pad = 1)`, a tile of the matrix that a
//! convolution multiplies with its filters. Of one image, `x[n, _, _, _]`, a tile beyond the last pixel goes on in lines below.
//!
//! The tile is gathered (`gather_view`), and `tile.windows` says beside that which pixels these are: where the first window begins, and
//! how windows follow each other. From that a pass can bring the same by a tensor map in im2col mode.

use super::gather::Element;
use super::parts_of;
use crate::ast::BinaryOp;
use crate::diagnostics::{Diagnostic, codes};
use crate::eval::call::{ArgValue, Call};
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result, Stop};
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::TileOp;
use cutec_dialects::tile::{WINDOWS, Windows};

/// How a filter goes over images, along each mode of pixels.
struct Geometry {
    filter: Vec<i64>,
    /// Pixels of a border in front of the first one and behind the last one.
    pad: Vec<i64>,
    after: Vec<i64>,
    step: Vec<i64>,
    dilation: Vec<i64>,
}

impl Geometry {
    fn modes(&self) -> usize {
        self.filter.len()
    }

    /// From the first element of the filter to the last one.
    fn reach(&self, mode: usize) -> i64 {
        (self.filter[mode] - 1) * self.dilation[mode]
    }
}

/// Elements of a filter: which of them, and of how many at once.
struct Elements<'c, 'a> {
    /// A coordinate along each mode, or one number that counts so many elements.
    at: Vec<Value<'c, 'a>>,
    together: i64,
    numbered: bool,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `x.windows(shape, coordinate, filter = …, pad = 0, after = pad, step = 1, dilation = 1, elements = 1)`.
    pub(in crate::eval) fn windows_of(
        &mut self,
        (receiver, receiver_span): (&Value<'c, 'a>, Span),
        call: &Call<'c, 'a>,
    ) -> Result<Value<'c, 'a>> {
        let (Some(shape), Some(coordinate)) = (call.arg(0), call.arg(1)) else {
            return Err(Stop::Reported);
        };
        let span = call.span;
        let (elem, extents) = self.global_extents(receiver, receiver_span, call)?;
        let images = usize::from(!is_of_one_image(call, extents.len()));
        let modes = extents.len().saturating_sub(1 + images);
        if !(1..=3).contains(&modes) {
            let message = format!("windows of a tensor of {}", counted(extents.len(), "mode"));
            let label = "expected images (n, w, c), (n, h, w, c) or (n, d, h, w, c)";
            let diagnostic = Diagnostic::error(codes::WRONG_RANK, receiver_span, message, label);
            let help = "of one image, `x[i, _, _, _]`, `filter` has a number for each mode of pixels: `filter = (3, 3)`";
            return Err(self.report(diagnostic.with_help(help)));
        }
        let geometry = self.geometry(call, modes)?;
        let parts = parts_of(&shape.value);
        let parts: Vec<_> = parts.into_iter().map(|part| (part, shape.expr)).collect();
        let &[rows, columns] = &self.tile_shape(&parts, shape.expr.span)?[..] else {
            let message = format!("a tile of windows of {}", counted(parts.len(), "extent"));
            let label = "expected two: pixels of the result, and channels";
            return self.error(codes::WRONG_RANK, shape.expr.span, message, label);
        };
        let (first, elements, part) = self.window_coordinate(call, coordinate, &geometry)?;
        if columns % elements.together != 0 {
            let message = format!(
                "{} for {} elements",
                counted(columns, "column"),
                elements.together
            );
            let label = "expected as many for each";
            return self.error(codes::SHAPE_MISMATCH, span, message, label);
        }
        let channels = columns / elements.together;
        let pixels = self.pixels_of_windows(&extents, &geometry, span)?;

        // What is gathered, element by element.
        let number = self.part(BinaryOp::Mul, &first, &Value::Int(rows), span)?;
        let row = self.iota_along(&[rows, 1], 0, span)?;
        let pixel = self.part(BinaryOp::Add, &row, &number, span)?;
        let (image, corner) = self.window(&pixel, &pixels, &geometry, images, span)?;
        let column = self.iota_along(&[1, columns], 1, span)?;
        let (own, column) = match elements.together {
            1 => (Value::Int(0), column),
            _ => {
                let own = self.part(BinaryOp::Div, &column, &Value::Int(channels), span)?;
                (
                    own,
                    self.part(BinaryOp::Rem, &column, &Value::Int(channels), span)?,
                )
            }
        };
        let (moves, beyond) = self.moves(&elements, &own, &geometry, span)?;
        let begin = self.part(BinaryOp::Mul, &part, &Value::Int(channels), span)?;
        let channel = self.part(BinaryOp::Add, &column, &begin, span)?;
        // Behind the last element of the filter there are zeros: of images behind all others, or of lines behind those of the only one.
        let border = if images == 1 { 0 } else { geometry.pad[0] };
        let all = self.part(BinaryOp::Add, &extents[0], &Value::Int(border), span)?;
        let beyond = self.part(BinaryOp::Mul, &beyond, &all, span)?;
        let of = [vec![image], corner, vec![channel, beyond], moves].concat();
        let of = of.into_iter().map(|of| (of, span)).collect();
        // Summed up element by element: tiles of all rows and columns would take registers.
        let place = |this: &mut Self, of: Vec<Value<'c, 'a>>| {
            let mut at = Vec::new();
            if images == 1 {
                at.push(this.part(BinaryOp::Add, &of[0], &of[modes + 2], span)?);
            }
            for mode in 1..=modes {
                at.push(this.part(BinaryOp::Add, &of[mode], &of[modes + 2 + mode], span)?);
            }
            if images == 0 {
                at[0] = this.part(BinaryOp::Add, &at[0], &of[modes + 2], span)?;
            }
            at.push(of[modes + 1].clone());
            let inside = at.iter().cloned().zip(extents.iter().cloned()).collect();
            Ok(Element { at, inside })
        };
        let gathered = self.gathered((receiver, elem), (of, place), None, &[], span)?;
        let Value::Tile(gathered) = gathered else {
            return Err(Stop::Reported);
        };

        // And where the first pixel lies, and its channels of each element.
        let (image, mut numbers) = self.window(&number, &pixels, &geometry, images, span)?;
        numbers.insert(0, image);
        for own in 0..elements.together {
            let (moves, beyond) = self.moves(&elements, &Value::Int(own), &geometry, span)?;
            let last = extents.last().cloned().unwrap_or(Value::Int(0));
            let behind = self.part(BinaryOp::Mul, &beyond, &last, span)?;
            numbers.push(self.part(BinaryOp::Add, &part, &behind, span)?);
            numbers.extend(moves);
        }
        let mut operands = vec![gathered.ir];
        operands.extend(receiver.as_view().map(|(cute, _)| cute.ir));
        for number in &numbers {
            operands.push(self.number(number, Elem::I32, span)?);
        }
        let windows = Windows {
            lower: geometry.pad.iter().map(|pad| -pad).collect(),
            upper: (0..geometry.modes())
                .map(|mode| geometry.after[mode] - geometry.reach(mode))
                .collect(),
            step: geometry.step.clone(),
            reach: (0..geometry.modes())
                .map(|mode| geometry.reach(mode))
                .collect(),
        };
        let attrs = [(WINDOWS, self.ir(span)?.i64_array(&windows.numbers()))];
        let shape = [rows, columns];
        self.tile_op(TileOp::Windows, &operands, &attrs, (elem, &shape), span)
            .map(Value::Tile)
    }

    /// How a filter goes over images of so many modes of pixels.
    fn geometry(&mut self, call: &Call<'c, 'a>, modes: usize) -> Result<Geometry> {
        let Some(filter) = call.named("filter") else {
            let message = "`.windows` needs the extents of the filter";
            let diagnostic = Diagnostic::error(
                codes::WRONG_ARGUMENTS,
                call.span,
                message,
                "expected `filter = …`",
            );
            let help = "`filter = (3, 3)`, a number for each mode of pixels";
            return Err(self.report(diagnostic.with_help(help)));
        };
        let filter = self.known_numbers(filter, modes, 1)?;
        let numbers =
            |this: &mut Self, name: &str, default: &[i64], least: i64| match call.named(name) {
                Some(arg) => this.known_numbers(arg, modes, least),
                None => Ok(default.to_vec()),
            };
        let (zeros, ones) = (vec![0; modes], vec![1; modes]);
        let pad = numbers(self, "pad", &zeros, 0)?;
        Ok(Geometry {
            after: numbers(self, "after", &pad, 0)?,
            step: numbers(self, "step", &ones, 1)?,
            dilation: numbers(self, "dilation", &ones, 1)?,
            filter,
            pad,
        })
    }

    /// Known numbers, one for each mode of pixels or one for all of them.
    fn known_numbers(
        &mut self,
        arg: &ArgValue<'c, 'a>,
        modes: usize,
        least: i64,
    ) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        for part in parts_of(&arg.value) {
            match part {
                Value::Int(number) if number >= least && number <= i64::from(i16::MAX) => {
                    numbers.push(number)
                }
                Value::Scalar(_) => return self.static_needed("how windows lie", arg.expr),
                other => {
                    let what = format!("a number from {least} on");
                    return self.expected(&what, &other, arg.expr.span);
                }
            }
        }
        match (&arg.value, numbers.len()) {
            (Value::Tuple(_), count) if count == modes => Ok(numbers),
            (Value::Tuple(_), count) => {
                let message = format!(
                    "{} for {} of pixels",
                    counted(count, "number"),
                    counted(modes, "mode")
                );
                let label = "expected one for each, or one number for all of them";
                self.error(codes::WRONG_RANK, arg.expr.span, message, label)
            }
            (_, _) => Ok(vec![numbers[0]; modes]),
        }
    }

    /// What the coordinate of a tile of windows says: which tile of pixels it is, which elements of the filter, which tile of channels.
    fn window_coordinate(
        &mut self,
        call: &Call<'c, 'a>,
        coordinate: &ArgValue<'c, 'a>,
        geometry: &Geometry,
    ) -> Result<(Value<'c, 'a>, Elements<'c, 'a>, Value<'c, 'a>)> {
        let span = coordinate.expr.span;
        let together = match call.named("elements") {
            Some(arg) => self.known_numbers(arg, 1, 1)?[0],
            None => 1,
        };
        let mut parts = Vec::new();
        for (at, part) in parts_of(&coordinate.value).into_iter().enumerate() {
            let own = coordinate.expr.part(at).span;
            let part = self.read_slot(&part, own)?;
            self.number(&part, Elem::I32, own)?;
            parts.push(part);
        }
        let each = geometry.modes() + 2;
        let is_one = parts.len() == 3;
        if !(is_one || parts.len() == each && together == 1) {
            let elements: String = ["r", "s", "t"][..geometry.modes()].join(", ");
            let message = format!(
                "{} of a tile of windows",
                counted(parts.len(), "coordinate")
            );
            let diagnostic = Diagnostic::error(
                codes::WRONG_RANK,
                span,
                message,
                format!("expected 3 or {each}"),
            );
            let help = format!(
                "`(i, {elements}, j)`: which tile of pixels, which element of the filter, which tile of channels; or `(i, e, j)` with the element's number, which with `elements = …` counts so many"
            );
            return Err(self.report(diagnostic.with_help(help)));
        }
        let (Some(part), first) = (parts.pop(), parts.remove(0)) else {
            return Err(Stop::Reported);
        };
        let elements = Elements {
            numbered: is_one && (geometry.modes() > 1 || together > 1),
            at: parts,
            together,
        };
        Ok((first, elements, part))
    }

    /// The extents of the result along the modes of pixels.
    fn pixels_of_windows(
        &mut self,
        extents: &[Value<'c, 'a>],
        geometry: &Geometry,
        span: Span,
    ) -> Result<Vec<Value<'c, 'a>>> {
        let mut pixels = Vec::new();
        for mode in 0..geometry.modes() {
            let around = geometry.pad[mode] + geometry.after[mode] - geometry.reach(mode) - 1;
            let last = self.part(
                BinaryOp::Add,
                &extents[extents.len() - 1 - geometry.modes() + mode],
                &Value::Int(around),
                span,
            )?;
            let steps = self.part(BinaryOp::Div, &last, &Value::Int(geometry.step[mode]), span)?;
            pixels.push(self.part(BinaryOp::Add, &steps, &Value::Int(1), span)?);
        }
        Ok(pixels)
    }

    /// The image of a pixel of the result, 0 of the only one, and where its window begins. A pixel behind the last one of the only image has lines
    /// behind it.
    fn window(
        &mut self,
        number: &Value<'c, 'a>,
        pixels: &[Value<'c, 'a>],
        geometry: &Geometry,
        images: usize,
        span: Span,
    ) -> Result<(Value<'c, 'a>, Vec<Value<'c, 'a>>)> {
        let mut rest = number.clone();
        let mut corner = Vec::new();
        for mode in (0..geometry.modes()).rev() {
            let pixel = match mode + images {
                0 => std::mem::replace(&mut rest, Value::Int(0)),
                _ => {
                    let pixel = self.part(BinaryOp::Rem, &rest, &pixels[mode], span)?;
                    rest = self.part(BinaryOp::Div, &rest, &pixels[mode], span)?;
                    pixel
                }
            };
            let begin = self.part(
                BinaryOp::Mul,
                &pixel,
                &Value::Int(geometry.step[mode]),
                span,
            )?;
            corner.insert(
                0,
                self.part(BinaryOp::Sub, &begin, &Value::Int(geometry.pad[mode]), span)?,
            );
        }
        Ok((rest, corner))
    }

    /// By how much pixels are moved to element number `own` of those that a tile has; and for elements that are numbered, 0 of those
    /// that the filter has and at least 1 of those behind the last one.
    fn moves(
        &mut self,
        elements: &Elements<'c, 'a>,
        own: &Value<'c, 'a>,
        geometry: &Geometry,
        span: Span,
    ) -> Result<(Vec<Value<'c, 'a>>, Value<'c, 'a>)> {
        let (mut at, mut beyond) = (elements.at.clone(), Value::Int(0));
        if let ([number], true) = (&elements.at[..], elements.numbered) {
            let first = self.part(BinaryOp::Mul, number, &Value::Int(elements.together), span)?;
            let number = self.part(BinaryOp::Add, &first, own, span)?;
            let count = Value::Int(geometry.filter.iter().product());
            beyond = self.part(BinaryOp::Div, &number, &count, span)?;
            let mut rest = number;
            at.clear();
            for mode in (0..geometry.modes()).rev() {
                let extent = Value::Int(geometry.filter[mode]);
                at.insert(0, self.part(BinaryOp::Rem, &rest, &extent, span)?);
                rest = self.part(BinaryOp::Div, &rest, &extent, span)?;
            }
        }
        let mut moves = Vec::new();
        for (at, by) in at.iter().zip(&geometry.dilation) {
            moves.push(self.part(BinaryOp::Mul, at, &Value::Int(*by), span)?);
        }
        Ok((moves, beyond))
    }

    pub(super) fn part(
        &mut self,
        op: BinaryOp,
        a: &Value<'c, 'a>,
        b: &Value<'c, 'a>,
        span: Span,
    ) -> Result<Value<'c, 'a>> {
        match (op, a, b) {
            (BinaryOp::Mul, Value::Int(0), _) => Ok(Value::Int(0)),
            (BinaryOp::Add, Value::Int(0), _) => Ok(b.clone()),
            (BinaryOp::Mul | BinaryOp::Div, _, Value::Int(1))
            | (BinaryOp::Add | BinaryOp::Sub, _, Value::Int(0)) => Ok(a.clone()),
            (BinaryOp::Rem, _, Value::Int(1)) => Ok(Value::Int(0)),
            _ => self.binary(op, (a.clone(), span), (b.clone(), span), span),
        }
    }
}

/// Whether windows are of a single image: a tensor of so many modes has pixels as `filter`, a tuple, and channels.
fn is_of_one_image(call: &Call<'_, '_>, modes: usize) -> bool {
    let filter = call.named("filter").map(|arg| &arg.value);
    matches!(filter, Some(tuple @ Value::Tuple(_)) if parts_of(tuple).len() + 1 == modes)
}
