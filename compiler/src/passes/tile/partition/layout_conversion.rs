//! How the values of a tile get from one distribution over threads to another.
use super::Spread;
use crate::passes::tile::types::vector_access;
use cutec_dialects::semantics::SemError;
use cutec_dialects::target::{self, WIDEST_ACCESS};
use cutec_dialects::tile::{Mode, TileLayout, TileType};
use cutec_layout::algebra::composition;
use cutec_layout::banks;
use cutec_layout::smem::{self, Access, Axis, Tile};
use cutec_layout::{AnyLayout, Layout, LayoutError};
use std::ops::Range;

const WARP: usize = target::WARP as usize;
const WARP_BITS: usize = WARP.trailing_zeros() as usize;
/// Bytes that all banks hold side by side.
const BANK_ROW: i64 = banks::BANKS * banks::BANK_BYTES;
/// Bits of a register.
const WORD_BITS: i64 = 32;
/// What waiting for others costs, in accesses.
const BARRIER: usize = 4;
/// Bytes of a tile that goes through memory in one piece.
const WHOLE: i64 = 80 << 10;
/// Bytes of a part of a larger one.
const PART: i64 = 32 << 10;

/// The way.
#[derive(Debug, PartialEq)]
pub(super) enum Conversion {
    /// A thread has it: each value in the order wanted, by its number among those it has.
    Registers(Vec<usize>),
    /// A lane of the warp has it.
    Lanes(Exchange),
    /// Through a buffer of this layout; where each warp reads what it wrote itself, it waits for itself alone.
    Memory { layout: AnyLayout, of_warps: bool },
    /// Part by part, each in its own way: a tile that is too large to lie in memory beside what else does.
    Parts(Vec<Part>),
}

/// A buffer, and what the accesses to it cost.
struct Buffer {
    layout: AnyLayout,
    wavefronts: usize,
}

/// A part of a tile that each thread has something of, before and behind.
#[derive(Debug, PartialEq)]
pub(super) struct Part {
    pub from: Held,
    pub to: Held,
}

/// What each thread holds of a part.
#[derive(Debug, PartialEq)]
pub(super) struct Held {
    /// How the part is spread.
    pub spread: Spread,
    /// The numbers of its values among those of the whole.
    pub values: Vec<usize>,
}

/// What lanes tell each other.
#[derive(Debug, PartialEq)]
pub(super) struct Exchange {
    /// Values in a register.
    pub width: usize,
    /// Words of what a lane asks another one for: two of a number of 64 bits.
    pub words_of_piece: usize,
    /// Bits of a lane's number that go into the number of the lane that it asks.
    pub bits: Vec<Run>,
    /// The bit of a lane's number with which it takes the upper halves of what it asks for, where it takes halves.
    pub upper: Option<usize>,
    /// For each register wanted, what it is put together of: a whole, or two halves.
    pub words: Vec<Vec<Piece>>,
}

impl Exchange {
    /// Whether it takes less time than so many accesses to shared memory with a barrier in between.
    fn is_worth(&self, accesses: usize) -> bool {
        let pieces: usize = self.words.iter().map(Vec::len).sum();
        pieces * self.words_of_piece <= accesses + BARRIER
    }

    /// Whether each bit of a lane's number is one of the lane that it asks, or its inverse.
    pub(super) fn all_bits_stay(&self) -> bool {
        let stays = |run: &Run| run.weight == 1 << run.first;
        self.bits.iter().all(stays)
            && self.bits.iter().map(|run| run.count).sum::<i64>() == WARP_BITS as i64
    }
}

/// What a lane asks another one for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The values that the other one packs into a register.
    pub values: Vec<usize>,
    /// What is added, by exclusive or, to the number of the lane that is asked.
    pub lane: i64,
}

/// Neighbouring bits of a number, and the weight of the first where they go.
#[derive(Debug, PartialEq)]
pub(super) struct Run {
    pub first: i64,
    pub count: i64,
    pub weight: i64,
}

/// The cheapest way.
pub(super) fn conversion(from: &Spread, to: &Spread) -> Result<Conversion, SemError> {
    let (mut given, mut wanted) = (places(from)?, places(to)?);
    // Layouts may go on beyond the block, each to another end: of whole warps it is, and each has all of them.
    let threads = given.len().min(wanted.len());
    for places in [&mut given, &mut wanted] {
        places.truncate((threads - threads % WARP).max(1));
    }
    if let Some(order) = registers(&given, &wanted) {
        return Ok(Conversion::Registers(order));
    }
    let fast = fast_axis(from, to)?;
    let accesses = instructions(from, fast)? + instructions(to, fast)?;
    if let Some(exchange) = lanes(from, &given, &wanted).filter(|lanes| lanes.is_worth(accesses)) {
        return Ok(Conversion::Lanes(exchange));
    }
    let bytes = from.tile.elem.bytes_of(from.tile.size());
    if bytes > WHOLE
        && let Some(parts) = parts(from, to, fast)?
    {
        return Ok(Conversion::Parts(parts));
    }
    let accesses = [(from, neighbours(from, fast)?), (to, neighbours(to, fast)?)];
    Ok(Conversion::Memory {
        layout: buffer(&accesses, fast)?.layout,
        of_warps: within_warps(from, &given, &wanted)?,
    })
}

/// How threads get elements of a tile that lie elsewhere in it, for each element of another one the place that it is taken from, where no shared memory is needed: each
/// thread has what it wants, or its warp, as of places whose bits are moved or inverted, by fewer shuffles than that takes accesses to it.
pub(super) fn exchange(
    (from, to): (&Spread, &Spread),
    taken_from: &[i64],
    accesses: usize,
) -> Result<Option<Conversion>, SemError> {
    let (mut given, mut wanted) = (places(from)?, places(to)?);
    let threads = given.len().min(wanted.len());
    for places in [&mut given, &mut wanted] {
        places.truncate((threads - threads % WARP).max(1));
    }
    for place in wanted.iter_mut().flatten() {
        let taken = usize::try_from(*place).ok();
        let Some(taken) = taken.and_then(|place| taken_from.get(place)) else {
            return Ok(None);
        };
        *place = *taken;
    }
    if let Some(order) = registers(&given, &wanted) {
        return Ok(Some(Conversion::Registers(order)));
    }
    let lanes = lanes(from, &given, &wanted).filter(|lanes| lanes.is_worth(accesses));
    Ok(lanes.map(Conversion::Lanes))
}

/// Parts behind one another along an axis, the fewest that are small enough; `None` where no axis has such that all threads have something of each.
/// They lie rather along another axis than the one whose elements are neighbours in memory.
fn parts(from: &Spread, to: &Spread, fast: usize) -> Result<Option<Vec<Part>>, SemError> {
    let shape = &from.tile.shape;
    let least = (from.tile.elem.bytes_of(from.tile.size()) + PART - 1) / PART;
    let fewest = |axis: usize| {
        let mut counts = least..=shape[axis];
        let count = counts.find(|count| shape[axis] % count == 0)?;
        Some((count, axis == fast, axis))
    };
    let mut ways: Vec<_> = (0..shape.len()).filter_map(fewest).collect();
    ways.sort_unstable();
    for (count, _, axis) in ways {
        let extent = shape[axis] / count;
        let sides = held_of_parts(from, axis, extent)?.zip(held_of_parts(to, axis, extent)?);
        if let Some((from, to)) = sides {
            let parts = from.into_iter().zip(to);
            return Ok(Some(parts.map(|(from, to)| Part { from, to }).collect()));
        }
    }
    Ok(None)
}

/// What threads hold of each part of an extent along an axis, if all hold something of each.
fn held_of_parts(whole: &Spread, axis: usize, extent: i64) -> Result<Option<Vec<Held>>, SemError> {
    let shape = &whole.tile.shape;
    let mut part = shape.clone();
    part[axis] = extent;
    let layout = whole
        .layout
        .of_part(shape, &part)
        .map_err(SemError::Illegal)?;
    let Some(layout) = layout else {
        return Ok(None);
    };
    let spread = Spread {
        tile: TileType::new(whole.tile.elem, &part),
        layout,
    };
    let stride: i64 = shape[..axis].iter().product();
    // The first thread begins at the first element.
    let first = &places(whole)?[0];
    let of_part = |number: i64| {
        let inside = |place: &i64| place / stride % shape[axis] / extent == number;
        let values = first.iter().zip(0..).filter(|(place, _)| inside(place));
        Held {
            spread: spread.clone(),
            values: values.map(|(_, at)| at).collect(),
        }
    };
    Ok(Some((0..shape[axis] / extent).map(of_part).collect()))
}

/// The axis along which elements are neighbours in the buffer: that of the fewest accesses.
pub(super) fn fast_axis(from: &Spread, to: &Spread) -> Result<usize, SemError> {
    let mut best = (usize::MAX, 0);
    for axis in 0..from.tile.shape.len() {
        let count = instructions(from, axis)? + instructions(to, axis)?;
        best = best.min((count, axis));
    }
    Ok(best.1)
}

/// The index in the tile of each value of each thread.
fn places(spread: &Spread) -> Result<Vec<Vec<i64>>, SemError> {
    let shape = &spread.tile.shape;
    let offsets = |modes: Result<Vec<Mode>, String>| -> Result<Vec<i64>, SemError> {
        let mut all = vec![0];
        for mode in modes.map_err(SemError::Illegal)? {
            let stride = mode.along.map_or(0, |(axis, step)| {
                shape[..axis].iter().product::<i64>() * step
            });
            let steps = (0..mode.extent).map(|at| at * stride);
            all = steps
                .flat_map(|step| all.iter().map(move |at| at + step))
                .collect();
        }
        Ok(all)
    };
    let threads = offsets(spread.layout.thread_modes(shape))?;
    let values = offsets(spread.layout.value_modes(shape))?;
    let of = |thread: &i64| values.iter().map(|value| thread + value).collect();
    Ok(threads.iter().map(of).collect())
}

/// Which value of its own each value of a thread is, the same for all threads.
fn registers(given: &[Vec<i64>], wanted: &[Vec<i64>]) -> Option<Vec<usize>> {
    if given.len() != wanted.len() {
        return None;
    }
    let held = numbered(&given[0]);
    let order: Option<Vec<usize>> = wanted[0].iter().map(|place| held(*place)).collect();
    let order = order?;
    let alike = |(given, wanted): (&Vec<i64>, &Vec<i64>)| {
        let mut pairs = order.iter().zip(wanted);
        pairs.all(|(at, place)| given[*at] == *place)
    };
    given.iter().zip(wanted).all(alike).then_some(order)
}

/// Finds a place among those of a thread.
fn numbered(places: &[i64]) -> impl Fn(i64) -> Option<usize> {
    let mut sorted: Vec<(i64, usize)> = places.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    move |place| {
        let at = sorted.partition_point(|(held, _)| *held < place);
        sorted
            .get(at)
            .filter(|(held, _)| *held == place)
            .map(|(_, at)| *at)
    }
}

/// What lanes ask of each other, where the register asked for is the same for all lanes, and the lane a
/// linear function of the own.
fn lanes(from: &Spread, given: &[Vec<i64>], wanted: &[Vec<i64>]) -> Option<Exchange> {
    // One of 64 bits goes as two words.
    let width = usize::try_from(WORD_BITS / from.tile.elem.bits())
        .ok()?
        .max(1);
    let whole = width <= 4 && wanted[0].len().is_multiple_of(width);
    if !whole || given.len() != wanted.len() || !given.len().is_multiple_of(WARP) {
        return None;
    }
    // Whole registers, or halves of them that are put together anew.
    let mut pieces = [1, 2].into_iter().filter(|pieces| width % pieces == 0);
    pieces.find_map(|pieces| {
        let mut found: Option<Exchange> = None;
        for (given, wanted) in given.chunks(WARP).zip(wanted.chunks(WARP)) {
            let exchange = exchange_of(given, wanted, width, pieces)?;
            match &found {
                Some(found) if *found != exchange => return None,
                _ => found = Some(exchange),
            }
        }
        let words_of_piece = if from.tile.elem.bits() > WORD_BITS {
            2
        } else {
            1
        };
        found.map(|found| Exchange {
            words_of_piece,
            ..found
        })
    })
}

/// As [`lanes`], for one warp, of registers in so many pieces.
fn exchange_of(
    given: &[Vec<i64>],
    wanted: &[Vec<i64>],
    width: usize,
    pieces: usize,
) -> Option<Exchange> {
    let mut holders: Vec<(i64, usize, usize)> = Vec::new();
    for (lane, places) in given.iter().enumerate() {
        holders.extend(places.iter().zip(0..).map(|(place, at)| (*place, at, lane)));
    }
    holders.sort_unstable();
    // Of several lanes that have an element, the one whose number is nearest is asked.
    let holder = |place: i64, lane: usize| {
        let first = holders.partition_point(|(held, ..)| *held < place);
        let have = holders[first..].iter();
        have.take_while(|(held, ..)| *held == place)
            .min_by_key(|(_, at, holder)| (*at, holder ^ lane))
            .map(|(_, at, holder)| (*at, *holder))
    };
    let length = width / pieces;
    let mut columns: Option<Vec<(usize, usize)>> = None;
    let mut found = Vec::new();
    for first in (0..wanted[0].len()).step_by(length) {
        // The first value asked for, and the lane that has it.
        let mut asked = Vec::with_capacity(WARP);
        for (lane, wanted) in wanted.iter().enumerate() {
            let (at, holder) = holder(wanted[first], lane)?;
            let mut beside = 0..length;
            let together = beside.all(|by| given[holder].get(at + by) == Some(&wanted[first + by]));
            if !together {
                return None;
            }
            asked.push((at, holder));
        }
        // Of two values that lanes ask for, both go into the register, and a lane takes its half.
        let (lower, base) = asked[0];
        let upper = asked.iter().map(|(at, _)| *at).find(|at| *at != lower);
        if upper.is_some() && pieces == 1 {
            return None;
        }
        let part = |at: usize| usize::from(at != lower);
        // What each bit of a lane's number changes.
        let linear: Vec<(usize, usize)> = (0..WARP_BITS)
            .map(|bit| asked[1 << bit])
            .map(|(at, holder)| (part(at), holder ^ base))
            .collect();
        let at = |lane: usize| {
            let bits = (0..WARP_BITS).filter(|bit| lane >> bit & 1 == 1);
            bits.fold((0, base), |(part, at), bit| {
                (part ^ linear[bit].0, at ^ linear[bit].1)
            })
        };
        let right = |(lane, (value, holder)): (usize, &(usize, usize))| {
            let known = *value == lower || Some(*value) == upper;
            known && (part(*value), *holder) == at(lane)
        };
        if !asked.iter().enumerate().all(right) {
            return None;
        }
        if columns.get_or_insert_with(|| linear.clone()) != &linear {
            return None;
        }
        let halves = [lower, upper.unwrap_or(lower)];
        let halves = halves.into_iter().take(pieces);
        found.push(Piece {
            values: halves.flat_map(|first| first..first + length).collect(),
            lane: base as i64,
        });
    }
    let columns = columns?;
    let mut uppers = (0..WARP_BITS).filter(|bit| columns[*bit].0 == 1);
    let upper = uppers.next();
    if uppers.next().is_some() {
        return None;
    }
    let lanes: Vec<usize> = columns.iter().map(|(_, lane)| *lane).collect();
    Some(Exchange {
        width,
        words_of_piece: 1,
        bits: runs(&lanes),
        upper,
        words: found.chunks(pieces).map(<[Piece]>::to_vec).collect(),
    })
}

/// Where the bits of a number go, neighbours that stay neighbours together.
fn runs(columns: &[usize]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (first, weight) in (0..).zip(columns) {
        let weight = *weight as i64;
        match runs.last_mut() {
            _ if weight == 0 => {}
            Some(run) if run.first + run.count == first && run.weight << run.count == weight => {
                run.count += 1;
            }
            _ => runs.push(Run {
                first,
                count: 1,
                weight,
            }),
        }
    }
    runs
}

/// Whether each warp reads only what it writes itself, of threads that have the same the first.
fn within_warps(from: &Spread, given: &[Vec<i64>], wanted: &[Vec<i64>]) -> Result<bool, SemError> {
    let mut writer = vec![usize::MAX; from.tile.size() as usize];
    for (thread, places) in given.iter().enumerate() {
        for place in places {
            let writer = &mut writer[*place as usize];
            *writer = (*writer).min(thread / WARP);
        }
    }
    let own = |(thread, places): (usize, &Vec<i64>)| {
        let mut places = places.iter();
        places.all(|place| writer[*place as usize] == thread / WARP)
    };
    Ok(wanted.iter().enumerate().all(own))
}

/// Values that are neighbours along an axis, as far as one access goes.
fn neighbours(spread: &Spread, fast: usize) -> Result<i64, SemError> {
    let width = spread.layout.neighbours(&spread.tile.shape, fast);
    let most = WIDEST_ACCESS / spread.tile.elem.bytes();
    Ok(width.map_err(SemError::Illegal)?.min(most))
}

/// Accesses of a thread to a buffer whose elements are neighbours along an axis.
pub(super) fn instructions(spread: &Spread, fast: usize) -> Result<usize, SemError> {
    let count = spread.layout.values() / neighbours(spread, fast)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// How threads read elements of a tile that others have written: about where they lie in it, so many neighbours along an axis at once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reader {
    pub spread: Spread,
    pub vector: Option<(usize, i64)>,
}

impl Reader {
    /// Neighbours that it reads at once where elements lie along an axis.
    fn width(&self, fast: usize) -> i64 {
        match self.vector {
            Some((axis, count)) if axis == fast => count,
            _ => 1,
        }
    }
}

/// A buffer for elements that threads write as they have them, and others read; and the axis along which its elements are neighbours: that of the fewest
/// accesses, and of them the one along which lanes stand.
pub(super) fn buffer_of_elements(
    from: &Spread,
    readers: &[Reader],
) -> Result<(AnyLayout, usize), SemError> {
    let shape = &from.tile.shape;
    let threads = from.layout.thread_modes(shape).map_err(SemError::Illegal)?;
    let lanes = threads.iter().find_map(|mode| mode.along);
    let mut best = (usize::MAX, true, 0);
    for axis in 0..shape.len() {
        let across = lanes.is_some_and(|(along, _)| along != axis);
        let read = |reader: &Reader| {
            let count = reader.spread.layout.values() / reader.width(axis);
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        let count = instructions(from, axis)? + readers.iter().map(read).sum::<usize>();
        best = best.min((count, across, axis));
    }
    let (.., fast) = best;
    let of = |reader: &'_ Reader| {
        let width = neighbours(&reader.spread, fast)?;
        Ok::<_, SemError>(width.min(reader.width(fast)))
    };
    let written = (from, neighbours(from, fast)?);
    let widths = readers.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let read = readers.iter().map(|reader| &reader.spread).zip(widths);
    let accesses: Vec<(&Spread, i64)> = std::iter::once(written).chain(read).collect();
    let found = buffer(&accesses, fast);
    // Where they lie along many axes there may be none that suits all.
    let found = found.or_else(|_| buffer(&[written, (from, 1)], fast))?;
    Ok((found.layout, fast))
}

/// A layout of the buffer without bank conflicts, if there is one, that is written first and then read, each by so many neighbours at once.
fn buffer(accesses: &[(&Spread, i64)], fast: usize) -> Result<Buffer, SemError> {
    let Some((from, _)) = accesses.first() else {
        return Err(SemError::Illegal("expects a tile that is written".into()));
    };
    let shape = &from.tile.shape;
    let (rows, columns) = match shape.as_slice() {
        [rows] => (*rows, 1),
        [rows, columns] => (*rows, *columns),
        _ => return buffer_of_many(accesses, fast),
    };
    let tile = Tile {
        rows,
        columns,
        elem_bits: u32::try_from(from.tile.elem.bytes() * 8).unwrap_or(u32::MAX),
        fast: match fast {
            0 => Axis::Rows,
            _ => Axis::Columns,
        },
    };
    let mut widths: Vec<i64> = accesses.iter().map(|(_, width)| *width).collect();
    loop {
        let of = accesses.iter().zip(&widths).enumerate();
        let of = of.map(|(number, ((spread, _), width))| {
            let what = match number {
                0 => "the tile as it is",
                _ => "the tile as it is wanted",
            };
            access(what, spread, fast, *width)
        });
        let of = of.collect::<Result<Vec<_>, _>>()?;
        match smem::legalize(tile, &of) {
            Ok(chosen) => {
                let wavefronts = chosen.wavefronts();
                if shape.len() == 2 {
                    let layout = chosen.layout;
                    return Ok(Buffer { layout, wavefronts });
                }
                // Of a tile of one axis the other is of extent 1; the one that is left may be nested.
                let first = chosen
                    .layout
                    .map_inner(|inner| Ok(Layout::concat(inner.mode(0))));
                let layout = first.map_err(|error| SemError::Illegal(error.to_string()))?;
                return Ok(Buffer { layout, wavefronts });
            }
            Err(error) if widths.iter().all(|width| *width == 1) => {
                return Err(SemError::Illegal(error.to_string()));
            }
            Err(_) => widths
                .iter_mut()
                .for_each(|width| *width = (*width / 2).max(1)),
        }
    }
}

/// The same of more than two axes, as a matrix: rows of the fast axis, or where that gives fewer wavefronts of as many of the last axes as fill a row of all
/// banks.
fn buffer_of_many(accesses: &[(&Spread, i64)], fast: usize) -> Result<Buffer, SemError> {
    let tile = &accesses[0].0.tile;
    let rank = tile.shape.len();
    let mut columns = fast..fast + 1;
    let by_rows = buffer_of_matrix(accesses, columns.clone())?;
    let bytes_of = |columns: &Range<usize>| {
        let extents = tile.shape[columns.clone()].iter();
        tile.elem.bytes_of(extents.product())
    };
    while columns.end == rank && columns.start > 0 && bytes_of(&columns) < BANK_ROW {
        columns.start -= 1;
    }
    if columns.len() == 1 {
        return Ok(by_rows);
    }
    let wider = buffer_of_matrix(accesses, columns)?;
    Ok(match wider.wavefronts < by_rows.wavefronts {
        true => wider,
        false => by_rows,
    })
}

/// The same where some axes are the columns of a matrix, the last of them the fastest, and the others its rows, the first the fastest.
fn buffer_of_matrix(
    accesses: &[(&Spread, i64)],
    columns: Range<usize>,
) -> Result<Buffer, SemError> {
    let matrices = accesses.iter().map(|(spread, _)| matrix(spread, &columns));
    let matrices = matrices.collect::<Result<Vec<_>, _>>()?;
    let widths = accesses.iter().map(|(_, width)| *width);
    let of_matrix: Vec<(&Spread, i64)> = matrices.iter().zip(widths).collect();
    let Buffer { layout, wavefronts } = buffer(&of_matrix, 1)?;
    let shape = &accesses[0].0.tile.shape;
    let along = |axis: usize| {
        let (mode, step) = place_of(shape, axis, &columns);
        let whole = layout.inner().mode(mode);
        let missing = || SemError::Illegal(format!("{layout} is of no matrix"));
        composition(
            &whole.ok_or_else(missing)?,
            &Layout::scalar(shape[axis], step),
        )
        .map_err(|error| SemError::Illegal(error.to_string()))
    };
    let modes = (0..shape.len()).map(along).collect::<Result<Vec<_>, _>>()?;
    let layout = layout.map_inner(|_| Ok(Layout::concat(modes)));
    let layout = layout.map_err(|error: LayoutError| SemError::Illegal(error.to_string()))?;
    Ok(Buffer { layout, wavefronts })
}

/// Along which axis of a matrix, and how far, the next element along an axis lies.
fn place_of(shape: &[i64], axis: usize, columns: &Range<usize>) -> (usize, i64) {
    let extent = |axes: Range<usize>| shape[axes].iter().product::<i64>();
    match columns.contains(&axis) {
        true => (1, extent(axis + 1..columns.end)),
        false if axis < columns.start => (0, extent(0..axis)),
        false => (0, extent(0..columns.start) * extent(columns.end..axis)),
    }
}

/// A tile of which some axes are the columns of a matrix.
fn matrix(spread: &Spread, columns: &Range<usize>) -> Result<Spread, SemError> {
    let shape = &spread.tile.shape;
    let width: i64 = shape[columns.clone()].iter().product();
    let matrix = [spread.tile.size() / width.max(1), width];
    let moved = |modes: Result<Vec<Mode>, String>| {
        let modes = modes.map_err(SemError::Illegal)?.into_iter();
        let moved = modes.map(|mode| Mode {
            along: mode.along.map(|(axis, step)| {
                let (along, of_axis) = place_of(shape, axis, columns);
                (along, step * of_axis)
            }),
            ..mode
        });
        Ok::<_, SemError>(moved.collect::<Vec<_>>())
    };
    let threads = moved(spread.layout.thread_modes(shape))?;
    let values = moved(spread.layout.value_modes(shape))?;
    Ok(Spread {
        tile: TileType::new(spread.tile.elem, &matrix),
        layout: TileLayout::of_modes(&threads, &values, &matrix),
    })
}

/// How the threads access the buffer, `width` neighbours at once.
fn access(what: &str, spread: &Spread, fast: usize, width: i64) -> Result<Access, SemError> {
    let bits = width * spread.tile.elem.bytes() * 8;
    let access = vector_access(what, &spread.layout, &spread.tile.shape, fast, bits);
    access.map_err(SemError::Illegal)
}
