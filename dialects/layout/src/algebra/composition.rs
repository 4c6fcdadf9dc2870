//! Functional composition of layouts: `composition(a, b)(c) = a(b(c))`.

use super::size::coprofile;
use super::{Modes, coalesce_x, coalesce_x_profile, transform_modes};
use crate::obligation::require;
use crate::{
    AnyLayout, ComposedLayout, Condition, Int, IntTuple, Layout, LayoutError, Outer, Tiler, Tree,
};

const OP: &str = "composition";

/// `lhs o rhs`, a layout of the shape of `rhs` up to refinement.
///
/// # Errors
/// If the composition is no layout: a stride of `rhs` neither divides nor is divided by the mode
/// of `lhs` that it steps through, or an extent is cut unevenly. If `rhs` has scaled bases of
/// modes that `lhs` lacks. If run-time values leave that undecided
/// ([`assuming`](crate::assuming)).
pub fn composition(lhs: &Layout, rhs: &Layout) -> Result<Layout, LayoutError> {
    compose(lhs, rhs, Fit::Exact)
}

/// [`composition`] where an extent may overstep the modes of `lhs` that it goes through, as the
/// rest of an uneven division does: then the result goes on as if those modes were padded to what
/// fits. On the elements that `lhs` has it is still the composition with the padded layout.
pub(crate) fn composition_padded(lhs: &Layout, rhs: &Layout) -> Result<Layout, LayoutError> {
    compose(lhs, rhs, Fit::Padded)
}

/// Whether modes must be filled evenly.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Exact,
    Padded,
}

fn compose(lhs: &Layout, rhs: &Layout, fit: Fit) -> Result<Layout, LayoutError> {
    let flat = match coprofile(OP, rhs.stride())? {
        Tree::Leaf(()) => coalesce_x(lhs),
        profile => coalesce_x_profile(OP, lhs, &profile)?,
    };
    let mut use_of_modes = Vec::new();
    let result = by_rhs(&flat, rhs.shape(), rhs.stride(), fit, &mut use_of_modes)?;
    if fit == Fit::Exact {
        check_carries(&use_of_modes)?;
    }
    Ok(result)
}

/// How far the modes of `rhs` reach together into one mode of `lhs`.
struct Use {
    path: Vec<usize>,
    mode: usize,
    shape: Int,
    stride: Int,
    reach: Int,
    parts: usize,
}

/// Composition goes mode by mode of `rhs`, that is, it adds up what `lhs` makes of each. That is
/// `lhs` of their sum only if the sum carries from no mode of `lhs` into the next. C++ CuTe does
/// not test this.
fn check_carries(use_of_modes: &[Use]) -> Result<(), LayoutError> {
    for used in use_of_modes.iter().filter(|used| used.parts > 1) {
        let below = Condition::AtMost {
            left: used.reach.add(&Int::ONE),
            right: used.shape.clone(),
        };
        require(OP, below, || LayoutError::Carry {
            op: OP,
            mode: used.mode,
            left: Box::new(Layout::scalar(used.shape.clone(), used.stride.clone())),
            reach: used.reach.clone(),
        })?;
    }
    Ok(())
}

/// `lhs o tiler`: a tile composes mode by mode and drops the modes of `lhs` beyond it.
///
/// # Errors
/// As [`composition`]; also if the tile has more modes than `lhs`.
pub fn composition_tiler(lhs: &Layout, tiler: &Tiler) -> Result<Layout, LayoutError> {
    match tiler {
        Tiler::Layout(rhs) => composition(lhs, rhs),
        Tiler::Int(extent) => composition(lhs, &Tiler::extent_layout(OP, extent)?),
        Tiler::All => Ok(lhs.clone()),
        Tiler::Tile(tilers) => transform_modes(
            OP,
            lhs,
            tilers,
            || tiler.to_string(),
            false,
            |mode, tiler| composition_tiler(&mode, tiler),
        ),
    }
}

/// [`composition_tiler`] for a left-hand side that may be composed itself.
///
/// # Errors
/// As [`composition_tiler`].
pub fn composition_any(lhs: &AnyLayout, tiler: &Tiler) -> Result<AnyLayout, LayoutError> {
    lhs.map_inner(|inner| composition_tiler(inner, tiler))
}

impl ComposedLayout {
    /// `swizzle o rhs` for a layout, or a plain layout if the swizzle does nothing.
    pub fn swizzle_of(swizzle: crate::Swizzle, rhs: Layout) -> AnyLayout {
        if swizzle.is_identity() {
            return AnyLayout::Plain(rhs);
        }
        AnyLayout::Composed(ComposedLayout {
            outer: Outer::Swizzle(swizzle),
            offset: Tree::Leaf(Int::ZERO),
            inner: rhs,
        })
    }
}

fn by_rhs(
    lhs: &Layout,
    shape: &IntTuple,
    stride: &IntTuple,
    fit: Fit,
    used: &mut Vec<Use>,
) -> Result<Layout, LayoutError> {
    match (shape, stride) {
        (Tree::Node(shapes), Tree::Node(strides)) => {
            let mut modes = Modes::with_capacity(shapes.len());
            for (shape, stride) in shapes.iter().zip(strides) {
                modes.push(by_rhs(lhs, shape, stride, fit, used)?);
            }
            Ok(modes.finish())
        }
        (Tree::Leaf(shape), Tree::Leaf(Int::Scaled(stride, path))) => {
            let lhs = super::get(lhs, path)?;
            by_mode(&lhs, path, (shape, stride), fit, used)
        }
        (Tree::Leaf(shape), Tree::Leaf(stride)) => by_mode(lhs, &[], (shape, stride), fit, used),
        _ => Err(LayoutError::ProfileMismatch {
            op: OP,
            expected: shape.to_string(),
            found: stride.to_string(),
        }),
    }
}

/// Composes a flat `lhs` with the single mode `extent:stride`.
fn by_mode(
    lhs: &Layout,
    path: &[usize],
    (extent, stride): (&Int, &Int),
    fit: Fit,
    used: &mut Vec<Use>,
) -> Result<Layout, LayoutError> {
    if stride.is(0) {
        return Ok(Layout::scalar(extent.clone(), 0));
    }
    let (shapes, strides) = match (lhs.shape(), lhs.stride()) {
        (Tree::Leaf(_), Tree::Leaf(lhs_stride)) => {
            return Ok(Layout::scalar(extent.clone(), stride.mul(lhs_stride)));
        }
        (shapes, strides) => (shapes.modes(), strides.modes()),
    };
    if stride.signum() < 0 {
        return Err(LayoutError::Unsupported {
            op: OP,
            expected: "a stride that is not negative in front of several modes",
            found: stride.to_string(),
        });
    }
    // What a run-time extent covers of each mode is a question of values, so it gets its place in every
    // one: the profile of the result must be that of its type, where less is known.
    let apart = !extent.is_static();
    let mut out = Modes::with_capacity(0);
    let mut rest = extent.clone();
    let mut step = stride.clone();
    for (mode, (shape, lhs_stride)) in shapes.iter().zip(strides).enumerate() {
        let (Tree::Leaf(shape), Tree::Leaf(lhs_stride)) = (shape, lhs_stride) else {
            return Err(LayoutError::Unsupported {
                op: OP,
                expected: "a mode without nesting at a scaled basis",
                found: lhs.to_string(),
            });
        };
        if mode + 1 == shapes.len() {
            if out.is_empty() || !rest.is(1) {
                out.push(Layout::scalar(rest.clone(), step.mul(lhs_stride)));
            }
            break;
        }
        let reach = step.abs();
        let meeting = Meeting {
            mode,
            left: (shape, lhs_stride),
            right: (extent, stride),
            step: &reach,
        };
        meeting.check_stride(&rest)?;
        let over = shape.as_static().is_some_and(|shape| shape <= reach.div());
        let here = match apart && !over {
            true => shape.ceil_div_run_time(&reach),
            false => shape.ceil_div(&reach),
        };
        let next = reach.ceil_div(shape).mul(&Int::Static(step.signum()));
        if !here.is(1) && !rest.is(1) {
            meeting.check_shape(&here, &rest, fit)?;
            let part = here.min(&rest);
            if fit == Fit::Exact {
                let reach = part.sub(&Int::ONE).mul(&reach);
                match used
                    .iter_mut()
                    .find(|used| used.mode == mode && used.path == path)
                {
                    Some(used) => {
                        used.reach = used.reach.add(&reach);
                        used.parts += 1;
                    }
                    None => used.push(Use {
                        path: path.to_vec(),
                        mode,
                        shape: shape.clone(),
                        stride: lhs_stride.clone(),
                        reach,
                        parts: 1,
                    }),
                }
            }
            rest = match apart {
                true => rest.floor_div_run_time(&part),
                false => rest.floor_div(&part),
            };
            out.push(Layout::scalar(part, step.mul(lhs_stride)));
        }
        step = next;
    }
    Ok(out.finish_unwrapped())
}

/// A mode on the right that arrives at a mode on the left.
struct Meeting<'a> {
    mode: usize,
    left: (&'a Int, &'a Int),
    right: (&'a Int, &'a Int),
    /// What is left of the stride on the right.
    step: &'a Int,
}

impl Meeting<'_> {
    /// A stride steps inside a mode, or over whole modes.
    fn check_stride(&self, rest: &Int) -> Result<(), LayoutError> {
        let (shape, step) = (self.left.0, self.step);
        if let (Int::Static(shape), Int::Static(step)) = (shape, step) {
            return if *shape > 0 && (step % shape == 0 || step < shape) {
                Ok(())
            } else {
                Err(self.uneven_stride())
            };
        }
        // Every extent is a multiple of 1, and an extent of 1 steps nowhere.
        if rest.upper() == Some(1) || step.is(1) {
            return Ok(());
        }
        require(OP, step_fits(shape, step), || self.uneven_stride())
    }

    /// What does not fit into a mode goes on in the next one, so the mode must be filled evenly: its
    /// share divides the extent, and the stride divides the mode. C++ CuTe only tests the former.
    fn check_shape(&self, here: &Int, rest: &Int, fit: Fit) -> Result<(), LayoutError> {
        let (shape, step) = (self.left.0, self.step);
        if let (Int::Static(step), Int::Static(shape), Int::Static(here), Int::Static(rest)) =
            (step, shape, here, rest)
            && (rest <= here
                || (rest % (*here).max(1) == 0
                    && (fit == Fit::Padded || shape % (*step).max(1) == 0)))
        {
            return Ok(());
        }
        let fits = Condition::AtMost {
            left: rest.clone(),
            right: here.clone(),
        };
        if fits.decide() == Some(true) {
            return Ok(());
        }
        let either = |condition| Condition::Either(Box::new(fits.clone()), Box::new(condition));
        let share = either(Condition::Divides {
            divisor: here.clone(),
            value: rest.clone(),
        });
        require(OP, share, || LayoutError::ShapeDivisibility {
            op: OP,
            mode: self.mode,
            left: scalar(self.left),
            right: scalar(self.right),
            part: here.clone(),
            extent: rest.clone(),
        })?;
        if fit == Fit::Padded {
            return Ok(());
        }
        let even = either(Condition::Divides {
            divisor: step.clone(),
            value: shape.clone(),
        });
        require(OP, even, || self.uneven_stride())
    }

    fn uneven_stride(&self) -> LayoutError {
        LayoutError::StrideDivisibility {
            op: OP,
            mode: self.mode,
            left: scalar(self.left),
            right: scalar(self.right),
            step: self.step.clone(),
        }
    }
}

fn scalar((extent, stride): (&Int, &Int)) -> Box<Layout> {
    Box::new(Layout::scalar(extent.clone(), stride.clone()))
}

/// The step is a multiple of the extent, or less than it; an extent that is a multiple of the step is one or the other.
pub(super) fn step_fits(shape: &Int, step: &Int) -> Condition {
    let whole = Condition::Divides {
        divisor: shape.clone(),
        value: step.clone(),
    };
    let inside = Condition::AtMost {
        left: step.add(&Int::ONE),
        right: shape.clone(),
    };
    let multiple = Condition::Divides {
        divisor: step.clone(),
        value: shape.clone(),
    };
    let by_size = Condition::Either(Box::new(whole), Box::new(inside));
    Condition::Either(Box::new(by_size), Box::new(multiple))
}
