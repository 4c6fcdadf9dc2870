//! Loads that take turns: buffers of one stage in a loop of several products.
//!
//! Before: a loop with copies to buffers that its products read, one of each. After: a copy for the next iteration is begun when the last
//! product that reads its buffer has read it, behind a barrier, and awaited in front of the first one that does: it runs under those in
//! between, which read other buffers. So attention loads values while scores are computed, and the next keys while values are weighed.
//!
//! ```text
//! copy keys → commit k; copy values → commit v; wait k
//! for …, carries v
//!   product of queries and keys, in front of whose last block of k:
//!     wait v; copy the next keys → commit k
//!   product of weights and values, in front of whose last block of k:
//!     wait k; copy the next values → commit v; read the first block of keys
//! ```
//!
//! `rewrite_turns.rs` makes such a loop.
use super::k_blocks::{Product, buffer_of};
use crate::passes::ir_utils::{is_in_block, operations, parent};
use cutec_dialects::builder::{IrBlock, IrOp};

/// When the loads of a loop are begun and awaited.
pub(super) struct Turns<'c> {
    /// Those that are begun and awaited together, in the order of the first product that reads them.
    pub groups: Vec<Group<'c>>,
    pub products: usize,
}

/// Loads that are begun and awaited together.
pub(super) struct Group<'c> {
    /// What fills the buffers.
    pub fills: Vec<IrOp<'c>>,
    /// The first and the last product that reads them.
    first: usize,
    pub last: usize,
}

impl<'c> Turns<'c> {
    /// What becomes of the loads.
    pub const REASON: &'static str = "loads take turns: with one stage each is begun behind the last read of the one before, and runs under another product";

    /// Those of a loop whose buffers copies fill, with such products, and with other reads of the buffers; `None` where a load had no product to run
    /// under.
    pub fn of(
        body: IrBlock<'c>,
        fills: Vec<IrOp<'c>>,
        products: &[Product<'c>],
        reads: &[IrOp<'c>],
    ) -> Option<Self> {
        let mut turns = Turns {
            groups: Vec::new(),
            products: products.len(),
        };
        for fill in fills {
            let buffer = Some(buffer_of(fill)?);
            let of_products = (0..).zip(products).filter(|(_, product)| {
                let reads = product.factors.iter().filter_map(|factor| factor.read());
                reads.into_iter().any(|read| buffer_of(read) == buffer)
            });
            let others = reads.iter().filter(|read| buffer_of(**read) == buffer);
            let others = others.map(|read| products_before(*read, body, products));
            let readers: Vec<usize> = of_products.map(|(at, _)| at).chain(others).collect();
            let (first, last) = (*readers.iter().min()?, *readers.iter().max()?);
            // Behind the last product nothing is begun, and what the first and the last one read would be waited for at once.
            if last >= products.len() || last - first + 1 == products.len() {
                return None;
            }
            let mut groups = turns.groups.iter_mut();
            match groups.find(|group| (group.first, group.last) == (first, last)) {
                Some(group) => group.fills.push(fill),
                None => turns.groups.push(Group {
                    fills: vec![fill],
                    first,
                    last,
                }),
            }
        }
        turns.groups.sort_by_key(|group| (group.first, group.last));
        Some(turns)
    }

    /// The groups that are awaited in front of a product, by their number.
    pub fn awaited(&self, product: usize) -> impl Iterator<Item = usize> {
        let groups = (0..).zip(&self.groups);
        groups.filter_map(move |(at, group)| (group.first == product).then_some(at))
    }

    /// Those that are under way from an iteration to the next.
    pub fn carried(&self) -> impl Iterator<Item = usize> {
        let groups = (0..).zip(&self.groups);
        groups.filter_map(|(at, group)| (group.first > 0).then_some(at))
    }
}

/// How many products stand in front of an operation of a body, or of a branch there.
fn products_before<'c>(op: IrOp<'c>, body: IrBlock<'c>, products: &[Product<'c>]) -> usize {
    let mut around = std::iter::successors(Some(op), |op| parent(*op));
    let op = around.find(|op| is_in_block(*op, body)).unwrap_or(op);
    let before = operations(body).into_iter().take_while(|at| *at != op);
    before
        .filter(|at| products.iter().any(|product| product.dot == *at))
        .count()
}
