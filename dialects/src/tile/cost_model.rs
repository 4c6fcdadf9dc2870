//! The cost model of the tile level: what is chosen where a program does not say it. Nowhere else does such a number appear.
//!
//! | choice | pinned by | rule |
//! |---|---|---|
//! | threads of a block without products, vectors of a thread | `warps(n)` | [`threads_of_memory`] |
//! | how a row is shared that is combined, and one that a loop reduces | | [`threads_of_row`], [`ReducedRow`] |
//! | whether a tile that is repeated is computed once, or by each thread that has it | | [`RepeatedTile`] |
//! | warps of a product by `mma.sync` or by single threads | `warps(rows, columns)` | [`warps_of_product`], [`warps_of_chain`], [`shared_traffic`], [`traffic`] |
//! | warpgroups of a product by `wgmma` | `warps(4 * n)` | [`warpgroups_of_product`], [`traffic`] |
//! | whether two warpgroups have tiles of their own and take turns | `pingpong()`, `pingpong(false)` | [`TilesInTurn`] |
//! | rows of tiles that blocks go down before the next column, of a product whose factors tiles share | `raster(n)` | [`rows_of_raster`] |
//! | whether blocks stay for further tiles | `persistent()`, `persistent(false)` | `specialize_warps/rounds.rs`: where tiles are seen to take different work and no queue has them, they do not |
//! | stages of what is copied for products | `pipeline(n)` | [`Stages`] |
//! | rounds that are loaded ahead without products, into registers or shared memory | `pipeline(n)` | [`Ahead`] |
//! | rounds that are fetched into L2 while the launch ahead ends | | [`rounds_fetched`] |
//! | tile of a product, and blocks of it a multiprocessor | compile-time parameters | [`ProductTile`] |
//!
//! What a target has is in [`target`](crate::target). The measurements are in docs/performance.md, under the headings that the rules
//! name; `test-suite/gpu/tile_defaults.py` measures every example of the tile level beside pinned alternatives.
use crate::elem::Elem;
use crate::target::{
    BLOCK_SIZES, Feature, Target, WARP, WARPGROUP, WIDEST_ACCESS, blocks_of_registers,
    registers_of_thread,
};
use cutec_abi::counted;

// Memory

/// Elements of a thread where tiles are reduced ("The tile level", rows of 4096 elements).
const REDUCED: i64 = 32;
/// Accesses of a thread to each of the largest tiles: so many bytes are under way that few warps keep memory busy
/// ("Operators of f32 that move memory").
const VECTORS: i64 = 4;
/// Loads of a thread to all of them together: what more tiles bring takes registers and no time ("Tiles that overlap").
const LOADS: i64 = 16;
/// Bytes that an access counts at least: narrower ones of neighbouring threads share a sector.
const NARROWEST: i64 = 8;
/// Bytes of a line of memory, which a warp accesses at once.
const LINE: i64 = 128;
/// Threads of a block without products, at most, so that several blocks share a multiprocessor.
const MOST_THREADS: i64 = 512;

/// How the largest tiles of a kernel are accessed.
#[derive(Clone, Copy, Debug)]
pub struct TileAccess {
    /// Bytes of an element.
    pub elem: i64,
    /// Neighbouring elements of one access of a thread.
    pub vector: i64,
    /// Whether it brings a tile of which no other access brings a part.
    pub brings: bool,
}

/// Threads of a block without products, of which the largest tiles have so many elements; `reduces` where it combines
/// elements of several threads.
///
/// A block that moves memory wants many bytes under way and few registers a thread: a thread gets [`VECTORS`] of the
/// accesses that its tiles allow, so that blocks stay small enough for several to share a multiprocessor and hide each
/// other's latency. A block that reduces pays for every warp, and keeps [`REDUCED`] elements a thread: 128 threads of
/// 4 vectors take rows of 4096 elements at 4060 GB/s, 256 of 2 at 3647. Of more than four tiles it gets fewer, [`LOADS`] of all.
pub fn threads_of_memory(size: i64, accesses: &[TileAccess], reduces: bool) -> i64 {
    let tiles = accesses.iter().filter(|access| access.brings).count() as i64;
    let vectors = VECTORS.min((LOADS / tiles.max(1)).max(1));
    let elements = |access: &TileAccess| {
        let bytes = (access.elem * access.vector).clamp(NARROWEST, WIDEST_ACCESS);
        (1 << vectors.ilog2()) * bytes / access.elem
    };
    // What is computed and never accessed is held in registers of 32 bits.
    let held = TileAccess {
        elem: 4,
        vector: 4,
        brings: false,
    };
    let of_a_thread = accesses.iter().map(elements).min();
    let of_a_thread = match reduces {
        true => REDUCED,
        false => of_a_thread.unwrap_or_else(|| elements(&held)).max(1),
    };
    1 << (size / of_a_thread).clamp(WARP, MOST_THREADS).ilog2()
}

/// How many threads a block may have that [`threads_of_memory`] gives fewer, where its tiles do not go evenly among these: of what is rounded down twice as many.
pub fn most_threads_of_memory(least: i64) -> i64 {
    (2 * least).min(MOST_THREADS)
}

/// Elements of a row that a thread has as a whole where a loop reduces it.
const SHORT_ROW: i64 = 32;
/// Threads that share a longer one for which the loop loads as much: with 16 each loads 8 of 128 elements for 4 rows ("Pairs, sums of loops, scans, f8").
const SHARING: i64 = 16;

/// A row of a tile that a loop reduces, and neither loads nor stores as it is.
#[derive(Clone, Copy, Debug)]
pub struct ReducedRow {
    /// Its elements.
    pub extent: i64,
    /// How many such rows there are.
    pub rows: i64,
    /// The type of an element.
    pub elem: Elem,
    /// Whether a tile that is as long is loaded in each round.
    pub loaded: bool,
}

impl ReducedRow {
    /// Whether a thread is to have it as a whole.
    pub fn is_short(self) -> bool {
        self.extent <= SHORT_ROW
    }

    /// Neighbours that a thread has of it, and how many threads share it at most; `None` where it is not of a power of two.
    ///
    /// The fewer share it, the less they have to exchange in each round, and the more each loads of what is as long.
    pub fn spread(self, threads: i64) -> Option<(i64, i64)> {
        let ReducedRow { extent, rows, .. } = self;
        if extent.count_ones() != 1 || extent == 1 {
            return None;
        }
        if self.is_short() {
            return (rows >= threads).then_some((extent, 1));
        }
        let vector = WIDEST_ACCESS * 8 / self.elem.bits().max(8);
        let sharing = match self.loaded {
            true => SHARING,
            false => extent / SHORT_ROW,
        };
        // All threads have something.
        let sharing = sharing.max(threads / (1 << rows.ilog2()));
        Some((vector, sharing))
    }
}

/// How many threads share a row that is combined, at most, of so many that memory gives vectors of so many bytes each.
///
/// Those that access a line together waste none of it, and with fewer rows each has fewer to exchange, log₂ of the threads for each of its rows; of narrow accesses [`SHARING`]
/// are enough, half a line at a time: with 32 elements a thread 64 of a row of 64 exchange 16 times as much. Where there are fewer rows all threads have something.
pub fn threads_of_row(rows: i64, bytes: i64, threads: i64) -> i64 {
    let sharing = (LINE / bytes.clamp(1, WIDEST_ACCESS)).min(SHARING);
    sharing.max(threads / (1 << rows.max(1).ilog2()))
}

/// What a thread does for a tile, in instructions; one that loads or reads waits for its turn.
pub struct Work;

impl Work {
    /// A load, with its address and its condition.
    const LOAD: i64 = 6;
    /// Each word that it brings: 16 bytes that all lanes have in common take longer than from shared memory.
    const WORD: i64 = 2;
    /// A further row that a warp reads a part of: memory looks for one after the other.
    const ROW: i64 = 4;
    /// An access to shared memory.
    const SHARED: i64 = 4;
    /// Threads wait for each other.
    const BARRIER: i64 = 32;
    /// Rounds of a loop.
    const ROUNDS: i64 = 8;
    /// Loops in each other that count.
    const LOOPS: u32 = 4;

    /// How often something is done that stands in so many loops.
    pub fn rounds(loops: usize) -> i64 {
        Work::ROUNDS.pow(Work::LOOPS.min(loops as u32))
    }

    /// A load of so many bytes, of which a warp reads parts of so many rows.
    pub fn load(bytes: i64, rows: i64) -> i64 {
        Work::LOAD + Work::WORD * ((bytes + 3) / 4) + Work::ROW * (rows - 1)
    }
}

/// How many times as long a wait counts where tensor cores wait, too.
const BESIDE_PRODUCTS: i64 = 8;

/// A tile that is repeated to a larger one, or left by a reduction of it, where it follows from how that one is spread: several threads have the
/// same elements ("Scans of states").
#[derive(Clone, Copy, Debug)]
pub struct RepeatedTile {
    /// Elements of a thread.
    pub held: i64,
    /// Elements of a thread where no two have the same.
    pub evenly: i64,
    /// What those cost it.
    pub work: i64,
    /// How often it would be spread anew, if it did not follow.
    pub conversions: i64,
    /// Whether the threads multiply, too: then each wait is one of products.
    pub beside_products: bool,
}

impl RepeatedTile {
    /// Whether threads have more than their share.
    pub fn is_repeated(self) -> bool {
        self.held > self.evenly
    }

    /// Whether to compute each element once, and to tell the others by shared memory, is less work.
    pub fn is_rather_shared(self) -> bool {
        let saved = self.work - self.work * self.evenly / self.held;
        // Threads read two neighbours at once.
        let conversion = Work::BARRIER + Work::SHARED * (self.held + self.evenly) / 2;
        let waits = if self.beside_products {
            BESIDE_PRODUCTS
        } else {
            1
        };
        self.conversions > 0 && saved > waits * self.conversions * conversion
    }
}

/// So many threads, where a block can have them.
///
/// # Errors
/// Says how many it can have.
pub fn checked_threads(threads: i64) -> Result<i64, String> {
    if BLOCK_SIZES.contains(&threads) {
        return Ok(threads);
    }
    let (least, most) = BLOCK_SIZES.into_inner();
    Err(format!(
        "expects {least} to {most} threads a block, but got {threads}"
    ))
}

// Warps of products

/// Elements of a product that one warp computes.
const OF_A_WARP: i64 = 32 * 32;
/// Elements up to which a product is small, and the most warps of a small and of a larger one.
const MOST_WARPS: (i64, i64, i64) = (64 * 128, 4, 8);
/// Rows of a `wgmma`.
const ROWS: i64 = 64;
/// Registers of sums that a thread has at most where warpgroups multiply.
const SUMS: i64 = 128;
/// Warpgroups of a block that multiply, at most.
const MOST_WARPGROUPS: i64 = 4;

/// Warps that share a product of so many elements: a power of two.
///
/// A block reads each operand from shared memory once for every warp along the other axis: it gets few warps, each with a large piece of
/// the product ("Convolutions at the tile level" and "f64" have the same figures for four warps of 64 × 32 beside eight of 32 × 32).
pub fn warps_of_product(size: i64) -> i64 {
    let (small, few, most) = MOST_WARPS;
    let most = if size <= small { few } else { most };
    1 << (size / OF_A_WARP).clamp(1, most).ilog2()
}

/// Registers of sums that a thread has at most of products one of which multiplies what another gives.
const SUMS_OF_CHAIN: i64 = 192;
/// Elements that could be read for each pair of warps while these wait for each other to exchange sums ("Chains by `mma.sync`").
const MEETING: i64 = 680;

/// Warps that share products of so many elements together, one of which multiplies what another gives, by `mma.sync`: a power of two.
///
/// A warp that has whole rows of the first product multiplies them from its registers. It then reads all of the other factors, and few warps
/// do so with many rows each, as many as registers hold ("Chains by `mma.sync`": 4 warps of 32 rows beside 8 of 16).
pub fn warps_of_chain(elements: i64) -> i64 {
    let least = elements
        .unsigned_abs()
        .div_ceil((SUMS_OF_CHAIN * WARP).unsigned_abs());
    let warps = least.next_power_of_two();
    i64::try_from(warps)
        .unwrap_or(1)
        .clamp(MOST_WARPS.1, MOST_WARPS.2)
}

/// Elements of shared memory that are read for a product of these rows and columns, and written for it, where so many warps stand side by
/// side along its axes. `given` is the factor that other sums are, and whether the warps have it in registers: else they exchange it, and wait
/// for each other as long as it would take to read more.
pub fn shared_traffic(
    extents: [i64; 2],
    depth: i64,
    arrangement: [i64; 2],
    given: Option<(usize, bool)>,
) -> i64 {
    let warps = arrangement[0] * arrangement[1];
    let of_factor = |factor: usize| {
        let read = extents[factor] * arrangement[1 - factor] * depth;
        match given.filter(|(given, _)| *given == factor) {
            None => read,
            Some((_, true)) => 0,
            Some((_, false)) => extents[factor] * depth + read + MEETING * warps * warps,
        }
    };
    of_factor(0) + of_factor(1)
}

/// Rows of the larger factor for a warp where a product waits for memory, and most warps that share it: more of them wait at once
/// ("Few rows by `mma.sync`").
const ROWS_OF_FEW: i64 = 16;
const MOST_WARPS_OF_FEW: i64 = 4;

/// Warps that share a product of these extents that waits for memory: a power of two.
pub fn warps_of_few(extents: [i64; 2]) -> i64 {
    let [one, other] = extents;
    1 << (one.max(other) / ROWS_OF_FEW)
        .clamp(1, MOST_WARPS_OF_FEW)
        .ilog2()
}

/// How many warpgroups may share products of these rows and columns, the best first.
///
/// Two from 128 rows on: one multiplies while the other begins its next products. More only where the sums do not fit the registers of two.
pub fn warpgroups_of_product(products: impl Iterator<Item = [i64; 2]> + Clone) -> Vec<i64> {
    // Rows that two warpgroups do not share evenly.
    if products.clone().all(|[m, _]| m == 3 * ROWS) {
        return vec![3, 1];
    }
    let wanted = products.map(|[m, n]| {
        let held = m * n / (SUMS * WARPGROUP);
        let least = if m >= 2 * ROWS { 2 } else { 1 };
        held.max(least).min(MOST_WARPGROUPS)
    });
    let wanted = wanted.max().unwrap_or(1);
    let wanted = i64::try_from(wanted.unsigned_abs().next_power_of_two()).unwrap_or(1);
    (0..=wanted.ilog2()).rev().map(|power| 1 << power).collect()
}

/// Rows of tiles that the blocks of a product go down before they go to the next column, of which L2 holds the factors then; nothing by FMA,
/// which does not wait for L2 ("Orders of blocks").
pub fn rows_of_raster(multiplied: Elem) -> Option<i64> {
    match multiplied {
        Elem::F32 | Elem::F64 => None,
        _ => Some(8),
    }
}

/// From how many operations of an element on two warpgroups take turns with small tiles where the program does not say: gelu has 13, of a
/// bias and relu, which cost nothing either way, there are two or three ("By `wgmma`").
const OPERATIONS_IN_TURN: i64 = 8;

/// A product whose tiles two warpgroups may take in turn, one multiplying while the other computes what follows and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TilesInTurn {
    /// Rows and columns of the largest tile.
    pub extents: [i64; 2],
    /// Sums of a tile that are held at once.
    pub sums: i64,
    /// Operations on an element of it behind the product.
    pub operations: i64,
    /// Whether an operand is computed, in registers.
    pub computes: bool,
    /// Whether what is as large as the tile leaves by tensor maps, and comes through the same buffers.
    pub by_maps: bool,
    /// Blocks that are to share a multiprocessor.
    pub blocks: i64,
}

impl TilesInTurn {
    /// Whether they do, where one of them has registers for all sums of a tile: with tiles of 128 × 128, which are 1 to 2 % faster than tiles of
    /// 128 × 256 that two share, and a fifth where k is short ("Tiles in turn"); of smaller ones where much is computed of each element.
    pub fn chosen(self) -> bool {
        self.against().is_none()
    }

    fn is_large(self) -> bool {
        self.sums == SUMS * WARPGROUP && self.extents[0] >= 2 * ROWS
    }

    /// Why they do not, as a clause.
    pub fn against(self) -> Option<String> {
        let (sums, most) = (self.sums, SUMS * WARPGROUP);
        let reason = match () {
            () if sums > most => {
                format!("a tile has {sums} sums, and one warpgroup registers for {most}")
            }
            () if self.computes => "an operand is computed in registers".to_owned(),
            () if self.blocks > 1 => {
                format!("{} blocks are to share a multiprocessor", self.blocks)
            }
            () if !self.by_maps => "not all results leave by tensor maps".to_owned(),
            () if self.is_large() || self.operations >= OPERATIONS_IN_TURN => return None,
            () => format!(
                "tiles of {sums} sums, with {} of each behind the product, gain nothing by it",
                counted(self.operations, "operation")
            ),
        };
        Some(reason)
    }

    /// Why they do.
    pub fn favour(self) -> String {
        match self.is_large() {
            true => format!(
                "one has registers for all {} sums of a tile, and its results leave while the other multiplies",
                self.sums
            ),
            false => format!(
                "{} of each sum are computed while the other multiplies",
                counted(self.operations, "operation")
            ),
        }
    }
}

/// What a warp reads for each k where so many stand side by side along the axes of a product: of all arrangements the one with the least is
/// chosen, of two alike the one with more along m.
pub fn traffic(extents: [i64; 2], arrangement: [i64; 2]) -> i64 {
    extents[0] / arrangement[0] + extents[1] / arrangement[1]
}

// Stages

/// Stages of a loop of products by `mma.sync` or single threads, in a block that shares a multiprocessor with others, which hide its latency
/// as well, and in one that is alone ("Tuned": 3 or 4 in all that was chosen for more than a few rows).
const COPIES: (i64, i64) = (3, 4);
/// The same where products wait for memory, and the blocks that are then to share a multiprocessor at most ("Few rows by `mma.sync`").
const COPIES_OF_FEW: (i64, i64) = (3, 8);
const BLOCKS_OF_FEW: i64 = 3;
/// The same of a ring that a warp of its own fills, which costs no instruction of those that multiply ("By `wgmma`": 4;
/// `std/product_sm90.cute` has up to 8).
const RING: (i64, i64) = (4, 8);
/// Registers of a thread beside its sums and operands: addresses, counters.
const WORKING: i64 = 40;

/// A block whose threads copy what they multiply.
#[derive(Clone, Copy, Debug)]
pub struct CopyingBlock {
    /// Threads.
    pub threads: i64,
    /// Registers that each holds.
    pub held: i64,
    /// What the program says of blocks a multiprocessor; 1 where it says nothing.
    pub blocks: i64,
    /// Whether its products wait for memory ([`waits_for_memory`]).
    pub waits: bool,
}

/// How many stages what is loaded for products gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Stages; 1 where not even two fit.
    pub count: i64,
    /// Blocks that can share the memory of a multiprocessor, of those that are to.
    pub blocks: i64,
}

impl Stages {
    /// Of copies by the threads that multiply, `stage` bytes each, `others` beside them.
    ///
    /// Of blocks that registers leave room for several share a multiprocessor.
    pub fn of_copies(stage: i64, others: i64, block: CopyingBlock, target: &Target) -> Stages {
        let CopyingBlock {
            threads,
            held,
            blocks,
            waits,
        } = block;
        let (shared, alone) = COPIES;
        let needed = held + WORKING;
        let mut possible = blocks.max(1);
        while blocks <= 1 && registers_of_thread(threads, possible + 1) >= needed {
            possible += 1;
        }
        if waits {
            let possible = possible.min(BLOCKS_OF_FEW.max(blocks));
            return Stages::of(COPIES_OF_FEW, stage, others, possible, target);
        }
        let most = if possible > 1 { shared } else { alone };
        Stages::of((shared, most), stage, others, possible, target)
    }

    /// Of a ring that one warp or a warpgroup fills, where so many warpgroups multiply: one alone leaves a multiprocessor to a second block.
    pub fn of_ring(
        stage: i64,
        others: i64,
        (warpgroups, blocks): (i64, i64),
        target: &Target,
    ) -> Stages {
        let blocks = match (blocks, warpgroups) {
            (..=1, 1) => 2,
            (blocks, _) => blocks.max(1),
        };
        Stages::of(RING, stage, others, blocks, target)
    }

    /// Why so many of so many bytes each, beside others, in words.
    pub fn reason(self, stage: i64, others: i64, target: &Target) -> String {
        let Stages { count, blocks } = self;
        let beside = match others {
            0 => String::new(),
            others => format!(" beside {others} bytes for other things"),
        };
        let shared = match blocks {
            1 => String::new(),
            blocks => format!(", which {blocks} blocks are to share"),
        };
        let room = target.max_smem;
        format!(
            "{} of {stage} bytes, chosen{beside}: {} has {room} bytes of shared memory{shared}; `pipeline(n)` pins them",
            counted(count, "stage"),
            target.name
        )
    }

    fn of(
        (least, most): (i64, i64),
        stage: i64,
        others: i64,
        blocks: i64,
        target: &Target,
    ) -> Stages {
        let room = i64::from(target.max_smem);
        let fitting = |room: i64| (room - others) / stage.max(1);
        let count = fitting(room / blocks).clamp(least, most);
        let count = count.min(fitting(room)).max(1);
        let share = blocks * (count * stage + others) <= room;
        Stages {
            count,
            blocks: if share { blocks } else { 1 },
        }
    }
}

// Fetches into L2

/// Rows or columns up to which a product waits for memory, and not for tensor cores ("Few rows, few tiles, groups").
const FEW: i64 = 32;
/// Bytes of a multiprocessor that are fetched while the launch ahead ends ("Few rows, few tiles, groups": 16 rows of i4 weights take 12.8 µs,
/// without 13.3, with twice as many 13.1).
const FETCHED: i64 = 32 << 10;

/// Rounds of a loop of products, of so many bytes each, that are fetched into L2 while the launch ahead ends, where so many blocks share a
/// multiprocessor: what that launch writes may be among them, as L2 has what memory is to have. Only where a tile has few rows or columns.
pub fn rounds_fetched(extents: [i64; 2], bytes: i64, blocks: i64) -> i64 {
    match waits_for_memory(extents) {
        true => (FETCHED / blocks.max(1) / bytes.max(1)).max(1),
        false => 0,
    }
}

/// Whether a product of so many rows and columns waits for memory.
pub fn waits_for_memory(extents: [i64; 2]) -> bool {
    extents.into_iter().any(|extent| extent <= FEW)
}

// Loads ahead

/// Rounds that are under way in registers, the round computed included: three were no better than two ("The tile level", rows that are longer
/// than a tile).
const ROUNDS: i64 = 2;
/// Threads of a multiprocessor that are to have room for what is loaded ahead: three blocks of 128, as softmax of long rows of f32 has
/// ("Operators of f32 that move memory", tiles, read twice).
const AHEAD_THREADS: i64 = 384;

/// Blocks of a multiprocessor that load ahead to shared memory where nobody says how far: where there are more, some read while others compute ("Operators of
/// f32 that move memory", a cluster's tile).
const FEW_BLOCKS: i64 = 2;

/// How a loop without products loads its tiles ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Registers of a thread that the tiles of a round take.
    pub loaded: i64,
    /// Registers of all else that it holds in the loop.
    pub held: i64,
    /// The most that it holds anywhere in the kernel: so many it has in the loop, too.
    pub peak: i64,
    /// What of it could wait in shared memory; `None` where it cannot.
    pub shared: Option<AheadShared>,
}

/// The shared memory of what is loaded ahead, of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AheadShared {
    /// Bytes of the tiles of a round.
    pub round: i64,
    /// Bytes that there are for it.
    pub room: i64,
}

impl AheadShared {
    /// Of tiles of so many bytes a round, where a block of so many threads, each with so many registers, has these bytes of a multiprocessor's besides; `None`
    /// where several blocks share the multiprocessor, and nobody says how many rounds there are to be.
    pub fn of(round: i64, block: HoldingBlock, target: &Target) -> Option<AheadShared> {
        let by_registers = blocks_of_registers(block.threads, block.registers);
        let blocks = match block.is_said {
            true => block.least,
            false => by_registers.max(block.least),
        };
        let room = i64::from(target.max_smem) / blocks.max(1) - block.others;
        (block.is_said || blocks <= FEW_BLOCKS).then_some(AheadShared { round, room })
    }
}

/// A block whose threads hold tiles.
#[derive(Clone, Copy, Debug)]
pub struct HoldingBlock {
    /// Its threads.
    pub threads: i64,
    /// Registers that each of them holds.
    pub registers: i64,
    /// Bytes of shared memory that it has besides.
    pub others: i64,
    /// Blocks that are to share a multiprocessor.
    pub least: i64,
    /// Whether the program says how many rounds are to be under way.
    pub is_said: bool,
}

/// Where a tile waits that is loaded ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// In the registers of a thread.
    Registers,
    /// In shared memory, each thread's part where that thread alone accesses it.
    Shared,
}

impl Ahead {
    /// Rounds under way, and where they wait: one where what is loaded ahead would leave registers or memory for too few threads.
    pub fn chosen(self) -> (i64, Waits) {
        let fits = |shared: AheadShared| (ROUNDS - 1) * shared.round <= shared.room;
        match self.held + ROUNDS * self.loaded <= self.most() {
            true => (ROUNDS, Waits::Registers),
            false if self.shared.is_some_and(fits) => (ROUNDS, Waits::Shared),
            false => (1, Waits::Registers),
        }
    }

    /// Where so many rounds wait, of which a block's threads have so many registers each: in those, if they have room.
    pub fn pinned(self, rounds: i64, registers: i64) -> Waits {
        let fits = |shared: AheadShared| (rounds - 1) * shared.round <= shared.room;
        match self.held + rounds * self.loaded > registers && self.shared.is_some_and(fits) {
            true => Waits::Shared,
            false => Waits::Registers,
        }
    }

    /// Why so many rounds are under way, in words.
    pub fn reason(self, rounds: i64, waits: Waits) -> String {
        let Ahead { loaded, held, .. } = self;
        let most = self.most();
        match (rounds, waits, self.shared) {
            (_, Waits::Shared, Some(shared)) => format!(
                "{rounds} rounds of loads under way, later ones in {} bytes of shared memory: in registers they would take {} of a thread, beside {held}; `pipeline(n)` pins how many",
                (rounds - 1) * shared.round,
                rounds * loaded
            ),
            (1, ..) if most == self.peak => format!(
                "nothing is loaded ahead: the tiles of two rounds take {} registers of a thread, and it holds {held} besides; {most} are held elsewhere. `pipeline(n)` pins it",
                ROUNDS * loaded
            ),
            (1, ..) => format!(
                "nothing is loaded ahead: the tiles of two rounds take {} registers of a thread, and it holds {held} besides; {most} leave room for {AHEAD_THREADS} threads a multiprocessor. `pipeline(n)` pins it",
                ROUNDS * loaded
            ),
            _ => format!(
                "{rounds} rounds of loads under way in registers, {loaded} of a thread for each, beside {held}; `pipeline(n)` pins them"
            ),
        }
    }

    /// Registers that a thread may hold for it.
    pub fn most(self) -> i64 {
        registers_of_thread(AHEAD_THREADS, 1).max(self.peak)
    }
}

// Tiles of products

/// Extents of a tile on tensor cores, and bytes of a row of k: a stage of 16 bits has 48 KiB ("By `wgmma`"; "The tile level").
const TENSOR: (i64, i64, i64) = (128, 256, 128);
/// The same where two warpgroups take turns: of bytes larger tiles are faster where all extents are long ("Tiles in turn").
const IN_TURN: (i64, i64, i64) = (128, 128, 128);
/// Of single threads: two blocks of 128 × 128 × 16 make 50.5 TFLOP/s, one of 128 × 256 × 16 49.5 ("The tile level", "Operators of f32").
const SINGLE: (i64, i64, i64) = (128, 128, 64);
/// Of f64: four warps of 64 × 32, the shortest k that an instruction and a line of memory have ("f64" in "Other types").
const DOUBLE: (i64, i64, i64) = (128, 64, 64);
/// Stages that a tile has room for on its target.
const LEAST_STAGES: i64 = 3;

/// The tile of a product that a program asks the model for: `target.tiles(t)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductTile {
    /// Extents along m, n and k.
    pub extents: [i64; 3],
    /// Blocks a multiprocessor: `target.blocks(t)`.
    pub blocks: i64,
}

impl ProductTile {
    /// For operands of a type, where the tensor fills the multiprocessors.
    ///
    /// On tensor cores the tile is as large as registers allow, so that each operand is read as seldom as can be, those of one warpgroup where
    /// two take turns; its rows of k are whole lines of 128 bytes, or half of one where three stages would not fit the memory of the target.
    pub fn of(elem: Elem, target: &Target) -> ProductTile {
        use Elem::{
            BF16, F4E2M1, F8E4M3, F8E5M2, F16, F32, F64, I1, I4, I8, I16, I32, I64, TF32, U4, U8,
            U32, U64,
        };
        let ((bm, bn, bytes), blocks) = match elem {
            F16 | BF16 | TF32 if target.has(Feature::Wgmma) => (IN_TURN, 1),
            F16 | BF16 | TF32 | F8E4M3 | F8E5M2 | I8 | U8 | I4 | U4 | F4E2M1 => (TENSOR, 1),
            F64 => (DOUBLE, 1),
            F32 | I1 | I16 | I32 | U32 | I64 | U64 => (SINGLE, 2),
        };
        let room = i64::from(target.max_smem) / blocks;
        let fits = |bytes: i64| LEAST_STAGES * (bm + bn) * bytes <= room;
        let bytes = if fits(bytes) { bytes } else { bytes / 2 };
        ProductTile {
            extents: [bm, bn, (8 * bytes / elem.bits()).max(1)],
            blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TARGETS;

    fn loaded(elem: i64, vector: i64) -> TileAccess {
        TileAccess {
            elem,
            vector,
            brings: true,
        }
    }

    fn threads(size: i64, elem: i64, vector: i64) -> i64 {
        threads_of_memory(size, &[loaded(elem, vector)], false)
    }

    fn target(name: &str) -> Target {
        Target::parse(name).expect("a target")
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
    fn tiles_of_elementwise_kernels_get_threads_in_proportion() {
        let of = |bn| threads(bn, 4, 4);
        let found = [256, 512, 1024, 2048, 4096, 8192].map(of);
        assert_eq!(found, [32, 32, 64, 128, 256, 512]);
    }

    #[test]
    fn the_access_of_the_fewest_elements_decides() {
        let (wide, narrow) = (loaded(2, 8), loaded(4, 1));
        assert_eq!(
            threads_of_memory(4096, &[wide, narrow], false),
            threads(4096, 4, 1)
        );
        assert_eq!(threads_of_memory(4096, &[], false), threads(4096, 4, 4));
    }

    #[test]
    fn of_many_tiles_a_thread_has_less_of_each() {
        let of = |tiles: usize| threads_of_memory(2048, &vec![loaded(4, 4); tiles], false);
        assert_eq!([1, 4, 5, 8, 9, 40].map(of), [128, 128, 256, 256, 512, 512]);
    }

    #[test]
    fn rows_are_reduced_by_few_threads() {
        let access = loaded(4, 1);
        assert_eq!(threads_of_memory(4096, &[access], true), 128);
    }

    #[test]
    fn few_rows_are_fetched_early() {
        assert_eq!(rounds_fetched([128, 256], 48 << 10, 1), 0);
        assert_eq!(rounds_fetched([64, 16], 10 << 10, 1), 3);
        assert_eq!(rounds_fetched([64, 16], 12 << 10, 4), 1);
        assert_eq!(rounds_fetched([64, 64], 12 << 10, 1), 0);
    }

    #[test]
    fn products_of_a_tile_have_few_warps() {
        assert_eq!(warps_of_product(16 * 8), 1);
        assert_eq!(warps_of_product(64 * 64), 4);
        assert_eq!(warps_of_product(64 * 128), 4);
        assert_eq!(warps_of_product(128 * 256), 8);
    }

    #[test]
    fn products_in_a_chain_have_as_few_warps_as_registers_allow() {
        assert_eq!(warps_of_chain(64 * 32 + 64 * 64), 4);
        assert_eq!(warps_of_chain(128 * 64 + 128 * 128), 4);
        assert_eq!(warps_of_chain(128 * 64 + 128 * 256), 8);
    }

    /// Attention of heads of 128: 64 keys a round, and the gradient of queries.
    #[test]
    fn sums_stay_where_that_is_less_to_read() {
        let forward = |first, second, stays| {
            shared_traffic([128, 64], 128, first, None)
                + shared_traffic([128, 128], 64, second, Some((0, stays)))
        };
        let kept = forward([4, 1], [4, 1], true);
        assert_eq!(kept, 128 * 128 + 4 * 64 * 128 + 4 * 128 * 64);
        assert!(kept < forward([4, 2], [4, 2], false));
        let gradient = |split, stays| {
            2 * shared_traffic([64, 64], 128, split, None)
                + shared_traffic([64, 128], 64, split, Some((0, stays)))
        };
        assert!(gradient([4, 1], true) > gradient([2, 2], false));
    }

    #[test]
    fn products_of_a_tile_have_few_warpgroups() {
        let of = |extents: [i64; 2]| warpgroups_of_product([extents].into_iter());
        assert_eq!(of([64, 256]), [1]);
        assert_eq!(of([128, 64]), [2, 1]);
        assert_eq!(of([128, 256]), [2, 1]);
        assert_eq!(of([192, 128]), [3, 1]);
        assert_eq!(of([256, 256]), [4, 2, 1]);
    }

    #[test]
    fn tiles_for_which_a_warpgroup_has_registers_are_taken_in_turn() {
        let tiles = |m, n, operations| TilesInTurn {
            extents: [m, n],
            sums: m * n,
            operations,
            computes: false,
            by_maps: true,
            blocks: 1,
        };
        let large = tiles(128, 128, 0);
        assert!(large.chosen());
        assert!(!tiles(128, 256, 15).chosen());
        // Of small ones where much is computed.
        assert!(!tiles(64, 256, 3).chosen());
        assert!(!tiles(64, 128, 3).chosen());
        assert!(tiles(64, 128, 15).chosen());
        // Two products of a tile, an operand in registers, a result or a residual that threads move, several blocks.
        let all = [
            TilesInTurn {
                sums: 2 * 128 * 128,
                ..large
            },
            TilesInTurn {
                computes: true,
                ..large
            },
            TilesInTurn {
                by_maps: false,
                ..large
            },
            TilesInTurn { blocks: 2, ..large },
        ];
        assert!(!all.into_iter().any(TilesInTurn::chosen));
    }

    #[test]
    fn copies_of_a_block_alone_take_the_memory_there_is() {
        // 128 × 256 × 64 of bf16 by 256 threads.
        let block = CopyingBlock {
            threads: 256,
            held: 160,
            blocks: 1,
            waits: false,
        };
        let of = |name| Stages::of_copies(48 << 10, 0, block, &target(name)).count;
        assert_eq!(of("sm_80"), 3);
        assert_eq!(of("sm_89"), 2);
        assert_eq!(of("sm_90"), 4);
    }

    #[test]
    fn copies_of_several_blocks_hide_each_others_latency() {
        // 64 × 64 × 32 of bf16 by 128 threads: five blocks by their registers.
        let (target, three) = (target("sm_80"), |blocks| Stages { count: 3, blocks });
        let of = |stage, (threads, held, blocks)| {
            let block = CopyingBlock {
                threads,
                held,
                blocks,
                waits: false,
            };
            Stages::of_copies(stage << 10, 0, block, &target)
        };
        assert_eq!(of(8i64, (128, 48, 1)), three(5));
        // What the program says of blocks counts.
        assert_eq!(of(16, (256, 80, 2)), three(2));
        // Two do not hide a copy, whatever the others get: these have no room beside each other then.
        assert_eq!(of(32, (256, 80, 2)), three(1));
        // What does not fit twice is not pipelined.
        assert_eq!(of(100, (256, 80, 1)).count, 1);
    }

    #[test]
    fn products_that_wait_for_memory_have_more_under_way() {
        // 16 × 64 × 128 of bf16 and i8 by four warps.
        let of = |stage, name| {
            let block = CopyingBlock {
                threads: 128,
                held: 48,
                blocks: 1,
                waits: true,
            };
            let Stages { count, blocks } = Stages::of_copies(stage, 0, block, &target(name));
            (count, blocks)
        };
        assert_eq!(of(12 << 10, "sm_80"), (4, 3));
        assert_eq!(of(12 << 10, "sm_90"), (6, 3));
        assert_eq!(of(4 << 10, "sm_90"), (8, 3));
        assert_eq!(warps_of_few([16, 64]), 4);
        assert_eq!(warps_of_few([256, 8]), 4);
        assert_eq!(warps_of_few([16, 8]), 1);
        assert!(waits_for_memory([16, 256]) && !waits_for_memory([64, 64]));
    }

    #[test]
    fn rings_take_what_results_leave() {
        let of = |stage: i64, others: i64, warpgroups| {
            Stages::of_ring(
                stage << 10,
                others << 10,
                (warpgroups, 1),
                &target("sm_90a"),
            )
            .count
        };
        assert_eq!(of(48, 34, 2), 4);
        assert_eq!(of(32, 34, 2), 6);
        assert_eq!(of(48, 40, 2), 3);
        // A warpgroup alone leaves memory to another block, but for four stages.
        assert_eq!(of(16, 18, 1), 5);
        assert_eq!(of(40, 18, 1), 4);
        assert_eq!(of(4, 18, 1), 8);
    }

    #[test]
    fn loads_run_ahead_where_registers_are_left() {
        let of = |loaded, held, shared| Ahead {
            loaded,
            held,
            peak: held,
            shared,
        };
        // Softmax of long rows of bf16: largest elements and sums of 32 places. The same of f32.
        assert_eq!(of(16, 64, None).chosen(), (2, Waits::Registers));
        assert_eq!(of(32, 65, None).chosen(), (2, Waits::Registers));
        assert_eq!(of(64, 64, None).chosen(), (1, Waits::Registers));
        // What registers have no room for waits in shared memory, as far as that goes.
        let shared = |round| {
            Some(AheadShared {
                round,
                room: 200 << 10,
            })
        };
        assert_eq!(of(32, 65, shared(64 << 10)).chosen(), (2, Waits::Registers));
        assert_eq!(of(96, 96, shared(192 << 10)).chosen(), (2, Waits::Shared));
        assert_eq!(
            of(96, 96, shared(256 << 10)).chosen(),
            (1, Waits::Registers)
        );
        // Pinned ones as well.
        assert_eq!(
            of(32, 32, shared(64 << 10)).pinned(3, 128),
            Waits::Registers
        );
        assert_eq!(of(32, 33, shared(64 << 10)).pinned(3, 128), Waits::Shared);
        assert_eq!(
            of(32, 33, shared(64 << 10)).pinned(5, 128),
            Waits::Registers
        );
    }

    #[test]
    fn tiles_of_products_leave_room_for_stages() {
        let of = |elem, name| ProductTile::of(elem, &target(name)).extents;
        assert_eq!(of(Elem::BF16, "sm_90a"), [128, 128, 64]);
        assert_eq!(of(Elem::TF32, "sm_90a"), [128, 128, 32]);
        assert_eq!(of(Elem::BF16, "sm_80"), [128, 256, 64]);
        assert_eq!(of(Elem::BF16, "sm_89"), [128, 256, 32]);
        assert_eq!(of(Elem::F8E4M3, "sm_90a"), [128, 256, 128]);
        assert_eq!(of(Elem::F8E4M3, "sm_89"), [128, 256, 64]);
        assert_eq!(of(Elem::TF32, "sm_80"), [128, 256, 32]);
        assert_eq!(of(Elem::F32, "sm_80"), [128, 128, 16]);
        assert_eq!(of(Elem::F64, "sm_90"), [128, 64, 8]);
        for target in TARGETS {
            for (elem, _) in Elem::ALL {
                let tile = ProductTile::of(elem, &target);
                let [bm, bn, bk] = tile.extents;
                let bytes = tile.blocks * LEAST_STAGES * elem.bytes_of((bm + bn) * bk);
                assert!(bytes <= i64::from(target.max_smem), "{elem:?}: {tile:?}");
            }
        }
    }
}
