//! Evaluates a [`Program`] over blocks of lanes: the innermost index runs along the lanes, what does
//! not depend on it is computed once for the block, and a product that is summed is a dot product.

use super::{LANES, Node, Operation, Program, Reduced, Reduction};
use rayon::prelude::*;
use std::borrow::Cow;

/// The values of an expression along the lanes.
enum Lanes<'a> {
    /// The same for all.
    Same(f64),
    /// One each.
    Each(Cow<'a, [f64]>),
}

impl Lanes<'_> {
    fn get(&self, lane: usize) -> f64 {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values[lane],
        }
    }
}

/// The values of the variables and slots at one point, and which variable runs along the lanes.
struct Point {
    variables: Vec<i64>,
    slots: Vec<SlotValue>,
    lane_variable: usize,
    lanes: usize,
}

/// What a `let` stands for along the lanes.
#[derive(Clone)]
enum SlotValue {
    Same(f64),
    Each(Vec<f64>),
}

/// One block of results: the index of its first point, row-major over the free variables, and the
/// values of every root there.
pub struct Block {
    /// Number of the first point.
    pub first: u64,
    /// One vector a root, of the same length.
    pub roots: Vec<Vec<f64>>,
}

impl Program {
    /// Number of points: the product of the free extents.
    pub fn points(&self) -> u64 {
        self.variables[..self.free]
            .iter()
            .map(|variable| variable.extent.max(0) as u64)
            .product()
    }

    /// The values of the free variables at a point.
    pub fn coordinate(&self, point: u64) -> Vec<i64> {
        let mut rest = point as i64;
        let mut coordinate = vec![0; self.free];
        for (value, variable) in coordinate
            .iter_mut()
            .zip(&self.variables[..self.free])
            .rev()
        {
            let extent = variable.extent.max(1);
            *value = variable.start + rest % extent;
            rest /= extent;
        }
        coordinate
    }

    /// Evaluates all roots at all points, block by block on all cores, and folds the blocks.
    pub fn fold<T: Send>(
        &self,
        identity: impl Fn() -> T + Sync + Send,
        visit: impl Fn(T, Block) -> T + Sync + Send,
        join: impl Fn(T, T) -> T + Sync + Send,
    ) -> T {
        let inner = match self.free {
            0 => 1,
            free => self.variables[free - 1].extent.max(0) as u64,
        };
        let points = self.points();
        if points == 0 {
            return identity();
        }
        let blocks_a_row = inner.div_ceil(LANES as u64);
        let rows = points / inner;
        (0..rows * blocks_a_row)
            .into_par_iter()
            .fold(&identity, |state, number| {
                let (row, block) = (number / blocks_a_row, number % blocks_a_row);
                let first = row * inner + block * LANES as u64;
                let lanes = (inner - block * LANES as u64).min(LANES as u64) as usize;
                visit(state, self.block(first, lanes))
            })
            .reduce(&identity, &join)
    }

    fn block(&self, first: u64, lanes: usize) -> Block {
        let mut variables = self.coordinate(first);
        variables.resize(self.variables.len(), 0);
        let mut point = Point {
            variables,
            slots: vec![SlotValue::Same(0.0); self.slots],
            lane_variable: self.free.saturating_sub(1),
            lanes,
        };
        if self.free == 0 {
            // A variable that no node refers to.
            point.lane_variable = usize::MAX;
        }
        let roots = self
            .roots
            .iter()
            .map(|root| match self.evaluate(root, &mut point) {
                Lanes::Same(value) => vec![value; lanes],
                Lanes::Each(values) => values.into_owned(),
            })
            .collect();
        Block { first, roots }
    }

    fn evaluate<'a>(&'a self, node: &'a Node, point: &mut Point) -> Lanes<'a> {
        match node {
            Node::Constant(value) => Lanes::Same(*value),
            Node::Variable(variable) => {
                let first = point.variables[*variable];
                if *variable == point.lane_variable {
                    each((0..point.lanes).map(|lane| (first + lane as i64) as f64))
                } else {
                    Lanes::Same(first as f64)
                }
            }
            Node::Slot(slot) => match &point.slots[*slot] {
                SlotValue::Same(value) => Lanes::Same(*value),
                SlotValue::Each(values) => Lanes::Each(Cow::Owned(values.clone())),
            },
            Node::Let { slot, value, body } => {
                point.slots[*slot] = match self.evaluate(value, point) {
                    Lanes::Same(value) => SlotValue::Same(value),
                    Lanes::Each(values) => SlotValue::Each(values.into_owned()),
                };
                self.evaluate(body, point)
            }
            Node::Load { tensor, offset } => {
                let first = offset.value(&point.variables);
                match offset.slope(point.lane_variable) {
                    0 => Lanes::Same(tensor.values[first as usize]),
                    1 => {
                        let first = first as usize;
                        Lanes::Each(Cow::Borrowed(&tensor.values[first..first + point.lanes]))
                    }
                    slope => each(
                        (0..point.lanes)
                            .map(|lane| tensor.values[(first + lane as i64 * slope) as usize]),
                    ),
                }
            }
            Node::Gather { tensor, indices } => {
                let indices: Vec<Lanes> = indices
                    .iter()
                    .map(|index| self.evaluate(index, point))
                    .collect();
                let element = |lane: usize| {
                    let mut offset = 0;
                    for (mode, index) in indices.iter().enumerate() {
                        let index = index.get(lane);
                        if !(index >= 0.0 && index < tensor.shape[mode] as f64) {
                            return f64::NAN;
                        }
                        offset += index as i64 * tensor.strides[mode];
                    }
                    tensor.values[offset as usize]
                };
                if indices.iter().all(|index| matches!(index, Lanes::Same(_))) {
                    return Lanes::Same(element(0));
                }
                each((0..point.lanes).map(element))
            }
            Node::Binary {
                operation,
                lhs,
                rhs,
            } => {
                let (lhs, rhs) = (self.evaluate(lhs, point), self.evaluate(rhs, point));
                binary(*operation, lhs, rhs)
            }
            Node::Call {
                function,
                arguments,
            } => {
                let arguments: Vec<Lanes> = arguments
                    .iter()
                    .map(|argument| self.evaluate(argument, point))
                    .collect();
                let mut row = vec![0.0; arguments.len()];
                let mut call = |lane: usize| {
                    for (value, argument) in row.iter_mut().zip(&arguments) {
                        *value = argument.get(lane);
                    }
                    function(&row)
                };
                if arguments
                    .iter()
                    .all(|lanes| matches!(lanes, Lanes::Same(_)))
                {
                    return Lanes::Same(call(0));
                }
                each((0..point.lanes).map(call))
            }
            Node::Select {
                condition,
                then,
                otherwise,
            } => match self.evaluate(condition, point) {
                Lanes::Same(value) if value != 0.0 => self.evaluate(then, point),
                Lanes::Same(_) => self.evaluate(otherwise, point),
                Lanes::Each(condition) => {
                    let then = self.evaluate(then, point);
                    let otherwise = self.evaluate(otherwise, point);
                    each(condition.iter().enumerate().map(|(lane, condition)| {
                        match *condition != 0.0 {
                            true => then.get(lane),
                            false => otherwise.get(lane),
                        }
                    }))
                }
            },
            Node::Reduce {
                reduction,
                variables,
                depends_on,
                body,
            } => self.reduce(*reduction, variables, *depends_on, body, point),
        }
    }

    fn reduce<'a>(
        &'a self,
        reduction: Reduction,
        variables: &[Reduced],
        depends_on: u64,
        body: &'a Node,
        point: &mut Point,
    ) -> Lanes<'a> {
        let lane_variable = point.lane_variable;
        let depends = lane_variable != usize::MAX && depends_on & (1 << lane_variable) != 0;
        let lanes = point.lanes;
        if !depends {
            let value = self.reduce_at(reduction, variables, body, point);
            (point.lane_variable, point.lanes) = (lane_variable, lanes);
            return Lanes::Same(value);
        }
        let first = point.variables[lane_variable];
        let slots = point.slots.clone();
        let mut results = Vec::with_capacity(lanes);
        for lane in 0..lanes {
            point.variables[lane_variable] = first + lane as i64;
            for (slot, value) in point.slots.iter_mut().zip(&slots) {
                if let SlotValue::Each(values) = value {
                    *slot = SlotValue::Same(values[lane]);
                }
            }
            results.push(self.reduce_at(reduction, variables, body, point));
        }
        point.variables[lane_variable] = first;
        (point.lane_variable, point.lanes) = (lane_variable, lanes);
        point.slots = slots;
        Lanes::Each(Cow::Owned(results))
    }

    /// The reduction at one point of the outer variables; the innermost reduced variable runs along
    /// the lanes. The caller restores the point's lanes.
    fn reduce_at(
        &self,
        reduction: Reduction,
        variables: &[Reduced],
        body: &Node,
        point: &mut Point,
    ) -> f64 {
        let mut total = reduction.neutral();
        let Some((reduced, inner)) = variables.split_first() else {
            return total;
        };
        let (start, extent) = self.range(reduced, point);
        let mut done = 0;
        while done < extent {
            point.variables[reduced.variable] = start + done;
            let partial = if inner.is_empty() {
                let lanes = (extent - done).min(LANES as i64);
                (point.lane_variable, point.lanes) = (reduced.variable, lanes as usize);
                done += lanes;
                self.reduce_block(reduction, body, point)
            } else {
                done += 1;
                self.reduce_at(reduction, inner, body, point)
            };
            total = reduction.combine(total, partial);
        }
        total
    }

    /// First value and number of values of a variable, at one point of those around it.
    fn range(&self, reduced: &Reduced, point: &mut Point) -> (i64, i64) {
        let Some((start, end)) = &reduced.computed else {
            let variable = &self.variables[reduced.variable];
            return (variable.start, variable.extent);
        };
        // No variable runs here: all around have a value.
        (point.lane_variable, point.lanes) = (usize::MAX, 1);
        let start = self.evaluate(start, point).get(0) as i64;
        let end = self.evaluate(end, point).get(0) as i64;
        (start, end.saturating_sub(start))
    }

    fn reduce_block(&self, reduction: Reduction, body: &Node, point: &mut Point) -> f64 {
        if let (
            Reduction::Sum,
            Node::Binary {
                operation: Operation::Mul,
                lhs,
                rhs,
            },
        ) = (reduction, body)
        {
            let lhs = self.evaluate(lhs, point);
            let rhs = self.evaluate(rhs, point);
            if let (Lanes::Each(lhs), Lanes::Each(rhs)) = (&lhs, &rhs) {
                return dot(lhs, rhs);
            }
            return total(reduction, binary(Operation::Mul, lhs, rhs), point.lanes);
        }
        let lanes = point.lanes;
        let values = self.evaluate(body, point);
        total(reduction, values, lanes)
    }
}

fn total(reduction: Reduction, values: Lanes<'_>, lanes: usize) -> f64 {
    match values {
        Lanes::Same(value) => match reduction {
            Reduction::Sum => value * lanes as f64,
            Reduction::Product => value.powi(lanes as i32),
            Reduction::Max | Reduction::Min => value,
        },
        Lanes::Each(values) => values.iter().fold(reduction.neutral(), |total, value| {
            reduction.combine(total, *value)
        }),
    }
}

/// Four sums at a time, so that additions need not wait for each other.
fn dot(lhs: &[f64], rhs: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (lhs_chunks, rhs_chunks) = (lhs.chunks_exact(8), rhs.chunks_exact(8));
    let rest: f64 = lhs_chunks
        .remainder()
        .iter()
        .zip(rhs_chunks.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in lhs_chunks.zip(rhs_chunks) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn each<'a>(values: impl Iterator<Item = f64>) -> Lanes<'a> {
    Lanes::Each(Cow::Owned(values.collect()))
}

fn binary<'a>(operation: Operation, lhs: Lanes<'a>, rhs: Lanes<'a>) -> Lanes<'a> {
    // The match stands outside of the loops, so that each loop is of one operation.
    macro_rules! specialize {
        ($($name:ident)*) => {
            match operation { $(
                Operation::$name => zip(lhs, rhs, |a, b| Operation::$name.apply(a, b)),
            )* }
        };
    }
    specialize!(
        Add Sub Mul Div IntDiv Rem Min Max Eq Ne Lt Le Gt Ge And Or BitAnd BitOr BitXor Shl Shr
    )
}

#[inline(always)]
fn zip<'a>(lhs: Lanes<'a>, rhs: Lanes<'a>, apply: impl Fn(f64, f64) -> f64) -> Lanes<'a> {
    match (lhs, rhs) {
        (Lanes::Same(a), Lanes::Same(b)) => Lanes::Same(apply(a, b)),
        (Lanes::Each(a), Lanes::Same(b)) => each(a.iter().map(|a| apply(*a, b))),
        (Lanes::Same(a), Lanes::Each(b)) => each(b.iter().map(|b| apply(a, *b))),
        (Lanes::Each(a), Lanes::Each(b)) => {
            each(a.iter().zip(b.iter()).map(|(a, b)| apply(*a, *b)))
        }
    }
}
