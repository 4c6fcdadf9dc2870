//! How many threads a block has where the program does not say it: the cost rule of the tile level, in one place.
//!
//! A block that moves memory wants many bytes under way and few registers a thread: a thread gets [`VECTORS`] of the
//! accesses that its tiles allow, so that blocks stay small enough for several to share a multiprocessor and hide each
//! other's latency. A block that reduces pays for every warp, and keeps [`REDUCED`] elements a thread: 128 threads of
//! 4 vectors take rows of 4096 elements at 4060 GB/s, 256 of 2 at 3647 (docs/performance.md). A block that multiplies
//! reads each operand once for every warp along the other axis: it gets few warps, each with a large piece of the
//! product.
use cutec_dialects::target::{BLOCK_SIZES, WARP, WIDEST_ACCESS};

/// Elements of a thread where tiles are reduced.
const REDUCED: i64 = 32;
/// Accesses of a thread to each of the largest tiles.
const VECTORS: i64 = 4;
/// Bytes that an access counts at least: narrower ones of neighbouring threads share a sector.
const NARROWEST: i64 = 8;
/// Threads of a block without products, at most.
const MOST_THREADS: i64 = 512;

/// Elements of a product that one warp computes.
const OF_A_WARP: i64 = 32 * 32;
/// Elements up to which a product is small, and the most warps of a small and of a larger one. Each operand is read by
/// fewer warps where they are few.
const MOST_WARPS: (i64, i64, i64) = (64 * 128, 4, 8);

/// How the largest tiles of a kernel are accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct TileAccess {
    /// Bytes of an element.
    pub elem: i64,
    /// Neighbouring elements of one access of a thread.
    pub vector: i64,
}

/// Threads of a block without products, of which the largest tiles have so many elements; `reduces` where it combines
/// elements of several threads.
pub(super) fn of_memory(size: i64, accesses: &[TileAccess], reduces: bool) -> i64 {
    let elements = |access: &TileAccess| {
        let bytes = (access.elem * access.vector).clamp(NARROWEST, WIDEST_ACCESS);
        VECTORS * bytes / access.elem
    };
    // What is computed and never accessed is held in registers of 32 bits.
    let held = TileAccess { elem: 4, vector: 4 };
    let of_a_thread = accesses.iter().map(elements).min();
    let of_a_thread = match reduces {
        true => REDUCED,
        false => of_a_thread.unwrap_or_else(|| elements(&held)).max(1),
    };
    1 << (size / of_a_thread).clamp(WARP, MOST_THREADS).ilog2()
}

/// So many threads, where a block can have them.
///
/// # Errors
/// Says how many it can have.
pub(super) fn checked(threads: i64) -> Result<i64, String> {
    if BLOCK_SIZES.contains(&threads) {
        return Ok(threads);
    }
    let (least, most) = BLOCK_SIZES.into_inner();
    Err(format!(
        "expects {least} to {most} threads a block, but got {threads}"
    ))
}

/// Warps that share a product of so many elements: a power of two.
pub(super) fn warps_of_product(size: i64) -> i64 {
    let (small, few, most) = MOST_WARPS;
    let most = if size <= small { few } else { most };
    1 << (size / OF_A_WARP).clamp(1, most).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(size: i64, elem: i64, vector: i64) -> i64 {
        of_memory(size, &[TileAccess { elem, vector }], false)
    }

    #[test]
    fn a_thread_has_a_few_vectors_whatever_the_type_and_the_tile() {
        // 16 bytes at once: 64 bytes a thread.
        assert_eq!(threads(64 * 64, 2, 8), 128);
        assert_eq!(threads(32 * 32, 4, 4), 64);
        assert_eq!(threads(64 * 64, 1, 16), 64);
        // A window at any offset, an element at once: 32 bytes a thread.
        assert_eq!(threads(32 * 32, 4, 1), 128);
        assert_eq!(threads(64 * 64, 2, 1), 256);
        // At least a warp, at most so many that several blocks share a multiprocessor.
        assert_eq!(threads(16, 4, 4), WARP);
        assert_eq!(threads(1 << 20, 4, 4), MOST_THREADS);
    }

    #[test]
    fn the_access_of_the_fewest_elements_decides() {
        let (wide, narrow) = (
            TileAccess { elem: 2, vector: 8 },
            TileAccess { elem: 4, vector: 1 },
        );
        assert_eq!(of_memory(4096, &[wide, narrow], false), threads(4096, 4, 1));
        assert_eq!(of_memory(4096, &[], false), threads(4096, 4, 4));
    }

    #[test]
    fn rows_are_reduced_by_few_threads() {
        let access = TileAccess { elem: 4, vector: 1 };
        assert_eq!(of_memory(4096, &[access], true), 128);
    }

    #[test]
    fn products_of_a_tile_have_few_warps() {
        assert_eq!(warps_of_product(16 * 8), 1);
        assert_eq!(warps_of_product(64 * 64), 4);
        assert_eq!(warps_of_product(64 * 128), 4);
        assert_eq!(warps_of_product(128 * 256), 8);
    }
}
