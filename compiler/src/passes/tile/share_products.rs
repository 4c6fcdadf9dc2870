//! How the warps of a block share its products: how many there are, and how many stand side by side along the rows and columns of each.
//!
//! Each product is shared so that a warp reads the least. Where one multiplies what another gives, a warp may have whole rows of that instead,
//! which it then multiplies from its registers; else they go through shared memory to the warps that need them. Of the two ways the one that
//! has less to do with shared memory is taken ([`shared_traffic`]).
use super::held_factor::waits_for_memory;
use super::layout_classes::LayoutClasses;
use super::order_of_rows::Neighbours;
use super::slices;
use super::types::{Failed, pinned_warps};
use crate::passes::user_error::user_error;
use cutec_dialects::atoms::{Issuer, MmaAtom};
use cutec_dialects::builder::{IrOp, result_of};
use cutec_dialects::ops::tile;
use cutec_dialects::target::WARP;
use cutec_dialects::tile::cost_model::{
    checked_threads, shared_traffic, traffic, warps_of_chain, warps_of_few, warps_of_product,
};
use cutec_frontend::diagnostics::codes;
use cutec_layout::Tiler;

/// What is known of a product before the warps are.
pub(super) struct Product<'c> {
    pub dot: IrOp<'c>,
    /// Its instruction.
    pub atom: MmaAtom,
    /// Extents of the tile and of the instruction, along m and n.
    pub extents: [i64; 2],
    pub of_atom: [i64; 2],
    /// Its extent along k.
    pub depth: i64,
    /// Slices of k that are multiplied apart, each by as many warps, and how each warp finds its own.
    pub slices: i64,
    pub order_k: Tiler,
    /// The factor of which each warp has rows of its own.
    pub held: Option<usize>,
    /// Neighbouring rows of each factor that a thread has, where these lie across memory.
    pub neighbours: [Neighbours; 2],
    /// Neighbouring columns of the product that a thread of the instruction has.
    pub columns_of_thread: i64,
    /// Threads of a pinned tiled MMA.
    pub pinned: Option<i64>,
}

/// How the threads of a block share its products.
pub(super) struct Arrangement {
    pub threads: i64,
    /// Of each product how many atoms stand side by side along m and n.
    pub splits: Vec<[i64; 2]>,
}

/// What a product has to do with others.
#[derive(Clone, Copy, Default)]
struct Link {
    /// The factor that is computed of the sums of another one.
    given: Option<usize>,
    /// The axis along which a warp needs all of it for sums to stay where they are.
    whole: Option<usize>,
}

/// The products of a block.
struct Products<'a, 'c> {
    function: IrOp<'c>,
    products: &'a [Product<'c>],
    /// What `warps` pins.
    pinned: Option<Vec<i64>>,
}

impl Arrangement {
    /// Of the products of a function: as `warps` pins it, or as is best.
    pub fn of<'c>(
        function: IrOp<'c>,
        classes: &LayoutClasses<'c>,
        products: &[Product<'c>],
    ) -> Result<Self, Failed<'c>> {
        let pinned = pinned_warps(function).map_err(|message| (function, message))?;
        let links = links(classes, products);
        let in_chain = pinned.is_none() && links.iter().any(|link| link.whole.is_some());
        let all = Products {
            function,
            products,
            pinned,
        };
        let apart = all.arranged(&vec![Link::default(); products.len()]);
        if !in_chain {
            return apart;
        }
        match (all.arranged(&links), apart) {
            (Ok(kept), Ok(apart)) if all.traffic(&kept, &links) <= all.traffic(&apart, &links) => {
                Ok(kept)
            }
            (Ok(kept), Err(_)) => Ok(kept),
            (_, apart) => apart,
        }
    }
}

impl<'c> Products<'_, 'c> {
    /// What warps read of shared memory and write to it for a round.
    fn traffic(&self, arrangement: &Arrangement, links: &[Link]) -> i64 {
        let splits = &arrangement.splits;
        let stays =
            |(split, link): (&[i64; 2], &Link)| link.whole.is_none_or(|axis| split[axis] == 1);
        let kept = splits.iter().zip(links).all(stays);
        let of_all = self.products.iter().zip(splits).zip(links);
        let of_all = of_all.map(|((product, split), link)| {
            shared_traffic(
                product.extents,
                product.depth,
                *split,
                link.given.map(|factor| (factor, kept)),
            )
        });
        of_all.sum()
    }

    /// As many threads as they ask for, or as can share all of them.
    fn arranged(&self, links: &[Link]) -> Result<Arrangement, Failed<'c>> {
        let products = self.products;
        let most = match self.pinned.as_deref() {
            Some(warps) => {
                let slices = products.iter().map(|product| product.slices).max();
                slices::pinned_in_all(warps, slices.unwrap_or(1))
            }
            None => self.wanted_warps(links),
        };
        let fixed = products.iter().find_map(|product| product.pinned);
        let wanted = checked_threads(fixed.unwrap_or(most * WARP));
        let wanted = wanted.map_err(|message| (self.function, message))?;
        let mut threads = wanted;
        let mut found = loop {
            let splits = self.splits(threads, links);
            let missing = splits.iter().position(Option::is_none);
            match missing {
                None => break (threads, splits),
                Some(at) if fixed.is_some() || self.pinned.is_some() || threads <= WARP => {
                    return Err((products[at].dot, cannot_share(&products[at], threads)));
                }
                Some(_) => threads /= 2,
            }
        };
        if 4 * threads <= wanted {
            // Pieces of which powers of two of warps have too many each: another number, rather a larger one.
            let least = threads / WARP + 1;
            let others = (most + 1..2 * most).chain((least..most).rev());
            let mut others = others.map(|warps| (warps * WARP, self.splits(warps * WARP, links)));
            let other = others.find(|(_, splits)| splits.iter().all(Option::is_some));
            found = other.unwrap_or(found);
        }
        let (threads, splits) = found;
        Ok(Arrangement {
            threads,
            splits: splits.into_iter().flatten().collect(),
        })
    }

    /// Warps for the product that wants the most.
    fn wanted_warps(&self, links: &[Link]) -> i64 {
        let elements = |product: &Product| -> i64 { product.extents.iter().product() };
        let linked = || self.products.iter().zip(links);
        let in_chain = linked().filter(|(_, link)| link.whole.is_some());
        let of_chain = warps_of_chain(in_chain.map(|(product, _)| elements(product)).sum());
        let wanted = linked().map(|(product, link)| {
            let of_size = product.slices * warps_of_product(elements(product));
            if waits_for_memory(product.dot) && product.atom.issuer() == Issuer::Warp {
                of_size.max(warps_of_few(product.extents))
            } else if link.whole.is_some() {
                of_size.min(of_chain)
            } else {
                of_size
            }
        });
        wanted.max().unwrap_or(1)
    }

    /// How so many threads share each of them; `None` where they cannot.
    fn splits(&self, threads: i64, links: &[Link]) -> Vec<Option<[i64; 2]>> {
        let split =
            |(product, link): (&Product, &Link)| match (product.pinned, self.pinned.as_deref()) {
                (Some(own), _) => (own == threads).then_some([1, 1]),
                (None, pinned) => match (product.atom.issuer(), pinned) {
                    (Issuer::Warp, Some([rows, columns])) => {
                        let warps = [*rows, *columns];
                        let all = rows * columns * product.slices * WARP == threads;
                        (all && fits(product, warps)).then_some(warps)
                    }
                    (issuer @ (Issuer::Warpgroup | Issuer::Warp | Issuer::Thread), _) => {
                        let together = issuer.threads() * product.slices;
                        (threads % together == 0)
                            .then(|| split(product, link.whole, threads / together))
                            .flatten()
                    }
                },
            };
        self.products.iter().zip(links).map(split).collect()
    }
}

/// What the products by warps of a function have to do with each other.
fn links<'c>(classes: &LayoutClasses<'c>, products: &[Product<'c>]) -> Vec<Link> {
    let by_warps = |product: &&Product<'c>| {
        product.atom.issuer() == Issuer::Warp && product.slices == 1 && product.pinned.is_none()
    };
    let sums = |product: &Product<'c>| classes.class(result_of(product.dot, 0));
    let factors = |product: &Product<'c>| {
        let factors = tile::Dot::of(product.dot).map(tile::Dot::factors);
        factors.map_or([None; 2], |factors| {
            factors.map(|factor| classes.class(factor))
        })
    };
    let of_one = |product: &Product<'c>| {
        if !by_warps(&product) {
            return Link::default();
        }
        let others = || products.iter().filter(by_warps);
        let is_given = |factor: &Option<usize>| {
            factor.is_some() && others().any(|other| sums(other) == *factor)
        };
        let given = factors(product).iter().position(is_given);
        let mine = sums(product);
        let gives = mine.is_some() && others().any(|other| factors(other).contains(&mine));
        let whole = match gives {
            true => Some(1),
            false => given.map(|factor| 1 - factor),
        };
        Link { given, whole }
    };
    products.iter().map(of_one).collect()
}

/// Whether so many atoms side by side divide a product.
fn fits(product: &Product, split: [i64; 2]) -> bool {
    (0..2).all(|axis| {
        let of_atom = product.of_atom[axis];
        let piece = of_atom * product.neighbours[axis].atoms(of_atom);
        product.extents[axis] % (piece * split[axis]) == 0
    })
}

/// How many atoms stand side by side along m and n: of all ways, the one that reads the least, with one along `whole` where that can be.
fn split(product: &Product, whole: Option<usize>, atoms: i64) -> Option<[i64; 2]> {
    // Of two that read the same, the one with more warps along m.
    (1..=atoms)
        .rev()
        .filter(|rows| atoms % rows == 0)
        .map(|rows| [rows, atoms / rows])
        .filter(|split| fits(product, *split))
        .min_by_key(|split| {
            let is_shared = product.held.is_some_and(|held| split[1 - held] > 1);
            let is_exchanged = whole.is_some_and(|axis| split[axis] > 1);
            (is_shared, is_exchanged, traffic(product.extents, *split))
        })
}

/// What is said where threads cannot share a product.
fn cannot_share(product: &Product, threads: i64) -> String {
    let [rows, columns] = product.extents;
    let [m, n] = product.of_atom;
    let of_slices = match product.slices {
        1 => String::new(),
        slices => format!(" in {slices} slices of k"),
    };
    let message = format!(
        "{threads} threads cannot share this product of {rows} × {columns}{of_slices}: expected {} times a divisor of {} rows and one of {} columns of pieces of {m} × {n}",
        product.atom.issuer().threads() * product.slices,
        rows / m,
        columns / n,
    );
    let help = "write `warps(rows, columns)` in `launch` such that they divide the pieces, or leave it out";
    user_error(codes::WARPS, message, help)
}
