//! How control goes through operations with regions: the one list of those that passes know.
//!
//! [`ControlFlow::of`] gives the edges of such an operation: from where to where control goes, which edges begin
//! another iteration, and which values become which others along an edge. A pass that follows values or states through
//! a kernel asks here, so that an operation with regions that is not listed is an error in one place instead of a
//! gap in each pass. [`Forward`] is the dataflow analysis over these edges.
use super::ir_utils::{blocks, name_of, operations, parent};
use cutec_dialects::builder::{IrBlock, IrOp, IrValue, argument_of, operands_of, results_of};
use cutec_dialects::ops::{Op, ScfOp, TileOp};
use melior::ir::{BlockLike, operation::OperationLike};

/// Operations with regions that stand in kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Structure {
    /// `scf.for`: the body any number of times, none included.
    For,
    /// `scf.while`: the condition, and then the body and the condition any number of times.
    While,
    /// `scf.if`: one of two branches; the second may be missing.
    If,
    /// `tile.map`, `tile.fold` or `tile.scan`: a function of elements.
    Map,
}

impl Structure {
    fn of(op: IrOp) -> Option<Structure> {
        match Op::of(op) {
            Some(Op::ScfOp(ScfOp::For)) => Some(Structure::For),
            Some(Op::ScfOp(ScfOp::While)) => Some(Structure::While),
            Some(Op::ScfOp(ScfOp::If)) => Some(Structure::If),
            Some(Op::TileOp(TileOp::Map | TileOp::Fold | TileOp::Scan)) => Some(Structure::Map),
            _ => None,
        }
    }
}

/// Whether an operation stands in a loop.
pub(super) fn in_loop(op: IrOp) -> bool {
    loops_around(op).next().is_some()
}

/// The loops that an operation stands in, from the inside out.
pub(super) fn loops_around<'c>(op: IrOp<'c>) -> impl Iterator<Item = IrOp<'c>> {
    let around = std::iter::successors(parent(op), |op| parent(*op));
    around.filter(|op| is_loop(*op))
}

/// Whether an operation is a loop.
pub(super) fn is_loop(op: IrOp) -> bool {
    matches!(Structure::of(op), Some(Structure::For | Structure::While))
}

/// Where an edge begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Before the operation, for an edge that begins there; behind it for one that ends there.
    Outside,
    /// The end of a region, for an edge that begins there; its beginning for one that ends there.
    Region(usize),
}

/// A way that control may take.
pub(super) struct Edge<'c> {
    pub from: Point,
    pub to: Point,
    /// Whether another iteration begins.
    pub is_back_edge: bool,
    /// Values, and what they are where the edge ends.
    pub forwarded: Vec<(IrValue<'c>, IrValue<'c>)>,
}

/// An operation with regions, and how control goes through it.
pub(super) struct ControlFlow<'c> {
    pub structure: Structure,
    /// The block of each region; an `scf.if` without a second branch has one.
    pub regions: Vec<IrBlock<'c>>,
    pub edges: Vec<Edge<'c>>,
}

impl<'c> ControlFlow<'c> {
    /// How control goes through an operation; `None` where it has no regions.
    ///
    /// # Errors
    /// Where it has regions and is not one of those known here, or is not of one block a region.
    pub fn of(op: IrOp<'c>) -> Result<Option<Self>, String> {
        if op.region_count() == 0 {
            return Ok(None);
        }
        let name = name_of(op);
        let Some(structure) = Structure::of(op) else {
            return Err(format!(
                "expects `scf.for`, `scf.while` or `scf.if` as control flow of a kernel, but got `{name}`"
            ));
        };
        let mut regions = Vec::new();
        for region in 0..op.region_count() {
            match blocks(op, region).as_slice() {
                [] if structure == Structure::If => {}
                [block] => regions.push(*block),
                several => {
                    return Err(format!(
                        "expects one block in each region of `{name}`, but got {}",
                        several.len()
                    ));
                }
            }
        }
        let expected = match structure {
            Structure::For | Structure::Map => 1..=1,
            Structure::While => 2..=2,
            Structure::If => 1..=2,
        };
        if !expected.contains(&regions.len()) {
            return Err(format!("has {} regions", regions.len()));
        }
        let edges = edges(op, structure, &regions);
        Ok(Some(ControlFlow {
            structure,
            regions,
            edges,
        }))
    }
}

/// The edges of an operation, those that begin before it first.
fn edges<'c>(op: IrOp<'c>, structure: Structure, regions: &[IrBlock<'c>]) -> Vec<Edge<'c>> {
    let operands = |from: usize| -> Vec<IrValue<'c>> { operands_of(op).skip(from).collect() };
    // What the terminator of a region takes, from an operand on.
    let yielded = |region: usize, from: usize| -> Vec<IrValue<'c>> {
        let end = operations(regions[region]).pop();
        end.map_or_else(Vec::new, |end| operands_of(end).skip(from).collect())
    };
    let arguments = |region: usize, from: usize| -> Vec<IrValue<'c>> {
        let block = regions[region];
        (from..block.argument_count())
            .map(|index| argument_of(block, index))
            .collect()
    };
    let results: Vec<IrValue<'c>> = results_of(op).collect();
    let edge = |from: Point, to: Point, values: Vec<IrValue<'c>>, become_: Vec<IrValue<'c>>| Edge {
        from,
        to,
        is_back_edge: false,
        forwarded: values.into_iter().zip(become_).collect(),
    };
    let back = |edge: Edge<'c>| Edge {
        is_back_edge: true,
        ..edge
    };
    use Point::{Outside, Region};
    match structure {
        // Bounds and step come before what the loop carries, the index before its arguments.
        Structure::For => vec![
            edge(Outside, Region(0), operands(3), arguments(0, 1)),
            edge(Outside, Outside, operands(3), results.clone()),
            back(edge(Region(0), Region(0), yielded(0, 0), arguments(0, 1))),
            edge(Region(0), Outside, yielded(0, 0), results),
        ],
        // `scf.condition` takes the condition first.
        Structure::While => vec![
            edge(Outside, Region(0), operands(0), arguments(0, 0)),
            edge(Region(0), Region(1), yielded(0, 1), arguments(1, 0)),
            edge(Region(0), Outside, yielded(0, 1), results),
            back(edge(Region(1), Region(0), yielded(1, 0), arguments(0, 0))),
        ],
        Structure::If => {
            let mut edges = Vec::new();
            for region in 0..regions.len() {
                edges.push(edge(Outside, Region(region), Vec::new(), Vec::new()));
                edges.push(edge(
                    Region(region),
                    Outside,
                    yielded(region, 0),
                    results.clone(),
                ));
            }
            if regions.len() == 1 {
                edges.push(edge(Outside, Outside, Vec::new(), Vec::new()));
            }
            edges
        }
        // Elements of tiles go in and out, no tile does.
        Structure::Map => vec![
            edge(Outside, Region(0), Vec::new(), Vec::new()),
            edge(Region(0), Outside, Vec::new(), Vec::new()),
        ],
    }
}

/// A forward dataflow analysis.
pub(super) trait Forward<'c> {
    /// What is known at a place of the program.
    type State: Clone + PartialEq;
    /// Why the analysis cannot go on.
    type Error;

    /// The state behind an operation without regions.
    fn transfer(&mut self, op: IrOp<'c>, state: Self::State) -> Result<Self::State, Self::Error>;

    /// The state where the regions of an operation begin to run.
    ///
    /// # Errors
    /// Why the analysis cannot go on.
    fn enter(
        &mut self,
        _op: IrOp<'c>,
        _structure: Structure,
        state: Self::State,
    ) -> Result<Self::State, Self::Error> {
        Ok(state)
    }

    /// What is known where two ways meet.
    fn join(&self, one: Self::State, other: Self::State) -> Self::State;

    /// The state where an edge of an operation ends.
    fn along(
        &self,
        op: IrOp<'c>,
        structure: Structure,
        edge: &Edge<'c>,
        state: &Self::State,
    ) -> Self::State;

    /// Grows with every decision that the analysis has made for good; until it stays, states may change.
    fn decisions(&self) -> usize {
        0
    }

    /// What is wrong with an operation whose regions are not known.
    fn unknown(&self, op: IrOp<'c>, message: String) -> Self::Error;
}

/// The state behind a block.
pub(super) fn forward<'c, A: Forward<'c>>(
    analysis: &mut A,
    block: IrBlock<'c>,
    mut state: A::State,
) -> Result<A::State, A::Error> {
    for op in operations(block) {
        let flow = ControlFlow::of(op).map_err(|message| analysis.unknown(op, message))?;
        state = match flow {
            None => analysis.transfer(op, state)?,
            Some(flow) => through(analysis, op, &flow, state)?,
        };
    }
    Ok(state)
}

/// The state behind an operation with regions: until neither a state where a region begins nor a decision changes.
fn through<'c, A: Forward<'c>>(
    analysis: &mut A,
    op: IrOp<'c>,
    flow: &ControlFlow<'c>,
    before: A::State,
) -> Result<A::State, A::Error> {
    let before = analysis.enter(op, flow.structure, before)?;
    let mut begins: Vec<Option<A::State>> = vec![None; flow.regions.len()];
    loop {
        let decisions = analysis.decisions();
        let (mut changed, mut behind) = (false, None);
        let mut arrive = |analysis: &A, from: Point, state: &A::State, begins: &mut Vec<_>| {
            for edge in flow.edges.iter().filter(|edge| edge.from == from) {
                let arriving = analysis.along(op, flow.structure, edge, state);
                let there: &mut Option<A::State> = match edge.to {
                    Point::Region(region) => &mut begins[region],
                    Point::Outside => &mut behind,
                };
                let joined = match there.clone() {
                    None => arriving,
                    Some(other) => analysis.join(other, arriving),
                };
                changed |= matches!(edge.to, Point::Region(_)) && there.as_ref() != Some(&joined);
                *there = Some(joined);
            }
        };
        arrive(analysis, Point::Outside, &before, &mut begins);
        for (region, block) in flow.regions.iter().enumerate() {
            if let Some(begin) = begins[region].clone() {
                let end = forward(analysis, *block, begin)?;
                arrive(analysis, Point::Region(region), &end, &mut begins);
            }
        }
        if !changed && decisions == analysis.decisions() {
            return Ok(behind.unwrap_or(before));
        }
    }
}
