//! When an operation of the `tile` dialect is legal.
use super::merged::{BOX, box_extents, modes_of_axes};
use super::windows::{WINDOWS, Windows};
use super::{NEGATED, Precision, Recast, TRANSPOSED, TileType, place};
use crate::elem::{Elem, Space};
use crate::handles::integer_value;
use crate::memo::type_value;
use crate::ops::{Op, TileOp};
use crate::semantics::AtomicKind;
use crate::types::{Vars, parse_type};
use crate::value::{Val, View};
use melior::ir::attribute::TypeAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, RegionLike, Type, ValueLike};

/// What `tile.reduce` can combine by.
pub const REDUCTIONS: [&str; 7] = ["add", "mul", "min", "max", "and", "or", "xor"];

/// The axes of a launch, at most.
pub const MOST_AXES: usize = 4;

/// Verifies one operation.
///
/// # Errors
/// What is expected and what was found.
pub fn check_op<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Result<(), String> {
    let name = op.name();
    let name = name.as_string_ref().as_str().unwrap_or_default();
    let Some(Op::TileOp(kind)) = Op::of_name(name) else {
        return Err(format!("{name} is no operation on tiles"));
    };
    match kind {
        TileOp::Grid => match op.operand_count() {
            1..=MOST_AXES => Ok(()),
            count => Err(format!("expects 1 to {MOST_AXES} axes, but got {count}")),
        },
        TileOp::Load => {
            let view = view(op, 0, Space::Gmem)?;
            let result = tile_of(result(op)?)?;
            let at = op.operand_count() - 1;
            on_view(op, &view, (1, at), &result)
        }
        TileOp::Windows => {
            let (gathered, view) = (tile(op, 0)?, view(op, 1, Space::Gmem)?);
            let result = tile_of(result(op)?)?;
            same_list("the shape of the result", &gathered.shape, &result.shape)?;
            same("the element type of the result", gathered.elem, result.elem)?;
            match Windows::of(op)? {
                Some(_) => on_view(op, &view, (2, op.operand_count() - 2), &result),
                None => Err(format!("expects `{WINDOWS}`")),
            }
        }
        TileOp::Store => {
            let value = tile(op, 0)?;
            let view = view(op, 1, Space::Gmem)?;
            on_view(op, &view, (2, op.operand_count() - 2), &value)?;
            match op.attribute("atomic") {
                Ok(kind) => AtomicKind::updates(kind.to_string().trim_matches('"'), value.elem)
                    .map_err(|error| error.to_string()),
                Err(_) => Ok(()),
            }
        }
        TileOp::CopyAsync => {
            let from = view(op, 0, Space::Gmem)?;
            let count = op.operand_count();
            let to = view(op, count - 2, Space::Smem)?;
            let mut shape = buffer_shape(&to)?;
            if from.layout.rank() == 1 && shape.get(1) == Some(&1) {
                shape.pop();
            }
            same("the element type of the buffer", from.ptr.elem, to.ptr.elem)?;
            let tile = TileType::new(to.ptr.elem, &shape);
            on_view(op, &from, (1, count - 3), &tile)
        }
        TileOp::LoadAsync | TileOp::Take => waiting(op, kind),
        TileOp::Commit => match op.operand_count() {
            0 => Err("expects at least one copy".into()),
            _ => Ok(()),
        },
        TileOp::Wait => Ok(()),
        TileOp::Read => {
            let buffer = view(op, 0, Space::Smem)?;
            let part = tile_of(result(op)?)?;
            same("the element type of the buffer", part.elem, buffer.ptr.elem)?;
            part_of(op, "a stage", &stage_of(op, &buffer)?, &part)
        }
        TileOp::Slice => {
            let (input, result) = (tile(op, 0)?, tile_of(result(op)?)?);
            same("the element type", input.elem, result.elem)?;
            part_of(op, "a tile", &input.shape, &result)
        }
        TileOp::Join => {
            let result = tile_of(result(op)?)?;
            let along = axis(op, &result)?;
            let count = op.operand_count();
            let mut whole = tile(op, 0)?.shape;
            for part in 0..count {
                let part = tile(op, part)?;
                same("the element type of a part", result.elem, part.elem)?;
                same_list("the shape of a part", &tile(op, 0)?.shape, &part.shape)?;
            }
            whole[along] *= count as i64;
            same_list("the shape of the parts together", &whole, &result.shape)
        }
        TileOp::Write | TileOp::GatherAsync => {
            let value = tile(op, 0)?;
            let buffer = view(op, 1, Space::Smem)?;
            let shape = stage_of(op, &buffer)?;
            same(
                "the element type of the buffer",
                value.elem,
                buffer.ptr.elem,
            )?;
            same_list("the shape of a stage of the buffer", &value.shape, &shape)?;
            let divisors = match op.attribute("divisors") {
                Ok(divisors) => place::integers(&divisors.to_string())?,
                Err(_) => Vec::new(),
            };
            match divisors.iter().all(|divisor| *divisor > 0) {
                true => Ok(()),
                false => Err("expects positive `divisors`".into()),
            }
        }
        TileOp::Splat => {
            let result = tile_of(result(op)?)?;
            same_text(
                "the number",
                result.elem.value_type(),
                &operand_type(op, 0)?.to_string(),
            )
        }
        TileOp::Iota => {
            let result = tile_of(result(op)?)?;
            same("the element type", Elem::I32, result.elem)?;
            axis(op, &result).map(drop)
        }
        TileOp::Map => map(op),
        TileOp::Reduce => {
            let (input, result) = (tile(op, 0)?, tile_of(result(op)?)?);
            let kind = op.attribute("kind").map(|kind| kind.to_string());
            let kind = kind.unwrap_or_default();
            let kind = kind.trim_matches('"');
            if !REDUCTIONS.contains(&kind) {
                let all = REDUCTIONS.join(", ");
                return Err(format!("expects one of {all}, but got {kind}"));
            }
            let axis = axis(op, &input)?;
            same("the element type", input.elem, result.elem)?;
            // What each thread has is one element, where the layout says so.
            let spread = input.layout.as_ref();
            let each = spread.and_then(|layout| layout.of_each_thread(&input.shape, axis));
            if each.is_some_and(|(shape, layout)| {
                shape == result.shape && result.layout.as_ref() == Some(&layout)
            }) {
                return Ok(());
            }
            let mut shape = input.shape.clone();
            shape[axis] = 1;
            same_list("the shape of the result", &shape, &result.shape)
        }
        TileOp::Fold | TileOp::Scan => combining(op, kind),
        TileOp::Gather => {
            let (input, result) = (tile(op, 0)?, tile_of(result(op)?)?);
            same("the element type", input.elem, result.elem)?;
            coordinates(op, (1, input.shape.len(), 0), &result, "the result")
        }
        TileOp::Scatter => {
            let value = tile(op, 0)?;
            let view = view(op, 1, Space::Gmem)?;
            same("the element type of the view", view.ptr.elem, value.elem)?;
            coordinates(op, (2, view.layout.rank(), 0), &value, "the value")?;
            match op.attribute("atomic") {
                Ok(kind) => AtomicKind::updates(kind.to_string().trim_matches('"'), value.elem)
                    .map_err(|error| error.to_string()),
                Err(_) => Ok(()),
            }
        }
        TileOp::Atomic => atomic(op),
        TileOp::Broadcast => {
            let (input, result) = (tile(op, 0)?, tile_of(result(op)?)?);
            same("the element type", input.elem, result.elem)?;
            let fits = input.shape.len() == result.shape.len()
                && std::iter::zip(&input.shape, &result.shape)
                    .all(|(from, to)| from == to || *from == 1);
            match fits {
                true => Ok(()),
                false => Err(format!(
                    "cannot repeat {:?} to {:?}: each extent is kept or 1",
                    input.shape, result.shape
                )),
            }
        }
        TileOp::Reshape => {
            let (input, result) = (tile(op, 0)?, tile_of(result(op)?)?);
            same("the element type", input.elem, result.elem)?;
            match input.size() == result.size() {
                true => Ok(()),
                false => Err(format!(
                    "expects a result of {} elements, but got {}",
                    input.size(),
                    result.size()
                )),
            }
        }
        TileOp::Recast => {
            let (input, result) = (tile(op, 0)?, tile_of(result(op)?)?);
            let order = op.attribute("order").map(|order| order.to_string());
            let order = order.as_deref().map(|order| order.trim_matches('"')).ok();
            let recast = Recast::of([&input, &result], order)?;
            match (&input.layout, &result.layout) {
                (Some(from), Some(to)) => recast.check(from, to),
                _ => Ok(()),
            }
        }
        TileOp::Arrive | TileOp::GridBarrier => {
            let counter = view(op, 0, Space::Gmem)?;
            same("the counter's element type", Elem::I32, counter.ptr.elem)
        }
        TileOp::Print => printed(op),
        TileOp::Extract => {
            let input = tile(op, 0)?;
            if input.shape.iter().any(|extent| *extent != 1) {
                return Err(format!(
                    "expects a tile of one element, but got extents {:?}",
                    input.shape
                ));
            }
            same_text(
                "the number",
                input.elem.value_type(),
                &result(op)?.to_string(),
            )
        }
        TileOp::Transpose => {
            let (input, result) = (tile(op, 0)?, tile_of(result(op)?)?);
            same("the element type", input.elem, result.elem)?;
            let [rows, columns] = pair(&input)?;
            same_list("the shape of the result", &[columns, rows], &result.shape)
        }
        TileOp::ConvertLayout => {
            let (input, result) = (tile(op, 0)?, tile_of(result(op)?)?);
            same("the element type", input.elem, result.elem)?;
            same_list("the shape of the result", &input.shape, &result.shape)
        }
        TileOp::Dot => dot(op),
        TileOp::Index | TileOp::Yield => Ok(()),
    }
}

fn atomic<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Result<(), String> {
    let (view, result) = (view(op, 0, Space::Gmem)?, tile_of(result(op)?)?);
    let kind = op.attribute("kind").map(|kind| kind.to_string());
    let kind = AtomicKind::parse(kind.unwrap_or_default().trim_matches('"'));
    let kind = kind.map_err(|error| error.to_string())?;
    kind.check(view.ptr.elem)
        .map_err(|error| error.to_string())?;
    let (rank, values) = (view.layout.rank(), kind.values());
    coordinates(op, (1, rank, values), &result, "the result")?;
    for index in 1 + rank..1 + rank + values {
        let value = tile(op, index)?;
        same("the element type of the view", view.ptr.elem, value.elem)?;
        same_list("the shape of the result", &result.shape, &value.shape)?;
        if value.layout != result.layout {
            return Err("expects values spread as the result is".into());
        }
    }
    same("the element type of the view", view.ptr.elem, result.elem)
}

/// What a text can print: tiles of one shape among numbers, all of types that `printf` takes.
fn printed<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Result<(), String> {
    let mut first: Option<TileType> = None;
    for index in 0..op.operand_count() {
        let ty = operand_type(op, index)?;
        match TileType::of(ty) {
            Some(tile) => {
                let tile = tile?;
                if !matches!(tile.elem, Elem::I32 | Elem::I64 | Elem::F32 | Elem::F64) {
                    return Err(format!(
                        "prints tiles of i32, i64, f32 and f64, not of {}",
                        tile.elem
                    ));
                }
                if let Some(first) = &first {
                    same_list("the shape of each tile", &first.shape, &tile.shape)?;
                }
                first.get_or_insert(tile);
            }
            None => {
                let ty = ty.to_string();
                if !matches!(ty.as_str(), "i32" | "i64" | "f64") {
                    return Err(format!("prints numbers of i32, i64 and f64, not {ty}"));
                }
            }
        }
    }
    match first {
        Some(_) => Ok(()),
        None => Err("expects at least one tile; numbers are printed by gpu.printf".into()),
    }
}

fn map<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Result<(), String> {
    let result = tile_of(result(op)?)?;
    let block = op.region(0).ok().and_then(|region| region.first_block());
    let block = block.ok_or("expects a body")?;
    if block.argument_count() != op.operand_count() {
        return Err(format!(
            "expects a body with {} arguments, but got {}",
            op.operand_count(),
            block.argument_count()
        ));
    }
    for index in 0..op.operand_count() {
        let input = tile(op, index)?;
        same_list("the shape of each input", &result.shape, &input.shape)?;
        if input.layout != result.layout {
            return Err("expects inputs spread as the result is".into());
        }
        let argument = block.argument(index).map_err(|error| error.to_string())?;
        same_text(
            "the argument of the body",
            input.elem.value_type(),
            &argument.r#type().to_string(),
        )?;
    }
    let last = block.terminator().ok_or("expects a body with tile.yield")?;
    let yielded = last.operand(0).map_err(|error| error.to_string())?;
    same_text(
        "what the body yields",
        result.elem.value_type(),
        &yielded.r#type().to_string(),
    )
}

/// `tile.fold` and `tile.scan`: tiles of one shape, and a function of two elements of each.
fn combining<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, kind: TileOp) -> Result<(), String> {
    let count = op.operand_count();
    if count == 0 {
        return Err("expects at least one tile".into());
    }
    if op.result_count() != count {
        return Err(format!(
            "expects a result for each of {count} tiles, but got {}",
            op.result_count()
        ));
    }
    let first = tile(op, 0)?;
    let axis = axis(op, &first)?;
    let mut shape = first.shape.clone();
    if kind == TileOp::Fold {
        shape[axis] = 1;
    }
    let block = op.region(0).ok().and_then(|region| region.first_block());
    let block = block.ok_or("expects a body")?;
    if block.argument_count() != 2 * count {
        return Err(format!(
            "expects a body with two arguments for each tile, but got {}",
            block.argument_count()
        ));
    }
    let last = block.terminator().ok_or("expects a body with tile.yield")?;
    if last.operand_count() != count {
        return Err(format!(
            "expects a body that yields a number for each of {count} tiles, but got {}",
            last.operand_count()
        ));
    }
    for index in 0..count {
        let input = tile(op, index)?;
        let result = op.result(index).map_err(|error| error.to_string())?;
        let result = tile_of(result.r#type())?;
        same("the element type", input.elem, result.elem)?;
        same_list("the shape of each input", &first.shape, &input.shape)?;
        same_list("the shape of each result", &shape, &result.shape)?;
        if input.layout != first.layout {
            return Err("expects inputs that are spread alike".into());
        }
        if kind == TileOp::Scan && input.layout != result.layout {
            return Err("expects results spread as the inputs are".into());
        }
        let number = input.elem.value_type();
        for argument in [index, count + index] {
            let argument = block
                .argument(argument)
                .map_err(|error| error.to_string())?;
            same_text(
                "the argument of the body",
                number,
                &argument.r#type().to_string(),
            )?;
        }
        let yielded = last.operand(index).map_err(|error| error.to_string())?;
        same_text(
            "what the body yields",
            number,
            &yielded.r#type().to_string(),
        )?;
    }
    match op.attribute("exclusive") {
        Err(_) => Ok(()),
        Ok(_) if kind == TileOp::Fold => Err("expects no `exclusive`".into()),
        Ok(numbers) => {
            let found = crate::builder::array_elements(numbers).map_or(0, |numbers| numbers.len());
            match found == count {
                true => Ok(()),
                false => Err(format!(
                    "expects {count} numbers as `exclusive`, but got {found}"
                )),
            }
        }
    }
}

fn dot<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Result<(), String> {
    let [a, b, c] = [tile(op, 0)?, tile(op, 1)?, tile(op, 2)?];
    let result = tile_of(result(op)?)?;
    let ([m, k], [n, l]) = (pair(&a)?, pair(&b)?);
    if k != l {
        return Err(format!(
            "expects a of shape (m, k) and b of shape (n, k), but k is {k} and {l}"
        ));
    }
    match c.shape[..] {
        // The products of as many slices of k.
        [slices, ..] if c.shape.len() == 3 => {
            same_list("the shape of c", &[slices, m, n], &c.shape)?;
            if k % slices != 0 {
                return Err(format!(
                    "expects slices of k that are alike, but {k} is no multiple of {slices}"
                ));
            }
        }
        _ => same_list("the shape of c", &[m, n], &c.shape)?,
    }
    precision(op, [a.elem, b.elem])?;
    if op.attribute(NEGATED).is_ok() && !c.elem.is_float() {
        let message = "expects sums of floats where the product is subtracted, but got";
        return Err(format!("{message} {}", c.elem));
    }
    match c == result {
        true => Ok(()),
        false => Err(format!("expects {c} as result, but got {result}")),
    }
}

/// How factors are multiplied: only f32 in more than one way, and by the instruction that is named.
fn precision<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    factors: [Elem; 2],
) -> Result<(), String> {
    let precision = Precision::of(op)?;
    if precision == Precision::Ieee {
        return Ok(());
    }
    let name = precision.name();
    if let Some(other) = factors.into_iter().find(|elem| *elem != Elem::F32) {
        return Err(format!(
            "expects factors of f32 with precision {name}, but got {other}"
        ));
    }
    let mma = op.attribute("mma").ok();
    let mma = mma.and_then(|mma| TypeAttribute::try_from(mma).ok());
    let mma = mma.and_then(|mma| type_value(mma.value(), &mut Vars::default()).ok());
    match mma.and_then(|mma| mma.mma_atom()) {
        Some(atom) if [atom.a, atom.b] != [Elem::TF32; 2] => Err(format!(
            "expects an instruction on tf32 with precision {name}, but got {atom}"
        )),
        _ => Ok(()),
    }
}

/// A tile at a coordinate of a view, which is so many operands from one on.
fn on_view<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    view: &View,
    (first, coordinates): (usize, usize),
    tile: &TileType,
) -> Result<(), String> {
    same("the element type of the view", tile.elem, view.ptr.elem)?;
    if tile.elem.is_packed() {
        return Err(format!("expects whole bytes, but got {tile}"));
    }
    let rank = view.layout.rank();
    if let Some(windows) = Windows::of(op)? {
        let modes = windows.modes();
        let [_, columns] = pair(tile)?;
        if rank != modes + 2 && rank != modes + 1 {
            return Err(format!(
                "expects a view of {} modes, images, {modes} of pixels and channels, or of one image, but got {rank}",
                modes + 2
            ));
        }
        let elements = windows.elements(coordinates);
        if elements.is_none_or(|elements| columns % elements as i64 != 0) {
            return Err(format!(
                "expects an image and a pixel as the coordinate of windows, then {} numbers for each of the elements that share {columns} columns, but got {coordinates}",
                modes + 1
            ));
        }
        return place::check(op, first, &vec![false; coordinates]);
    }
    match box_extents(op)? {
        Some(extents) => {
            if extents.len() != rank {
                return Err(format!(
                    "expects `{BOX}` of {rank} extents, as the view has modes, but got {}",
                    extents.len()
                ));
            }
            if modes_of_axes(&extents, &tile.shape).is_none() {
                return Err(format!(
                    "expects a tile whose axes are modes of `{BOX}` side by side, but got {tile}"
                ));
            }
        }
        None if rank != tile.shape.len() => {
            return Err(format!(
                "expects a tile of {rank} axes, as the view has, but got {}",
                tile.shape.len()
            ));
        }
        None => {}
    }
    if coordinates != rank {
        return Err(format!(
            "expects a coordinate for each of {rank} axes, but got {coordinates}"
        ));
    }
    let by_element = place::by_element(op, rank)?;
    for axis in (0..rank).filter(|axis| by_element[*axis]) {
        if let Some(mode) = view
            .layout
            .inner()
            .mode(axis)
            .filter(|mode| !mode.shape().is_leaf())
        {
            return Err(format!(
                "expects a mode of one extent to lie at an offset along, but axis {axis} is {}",
                mode.shape()
            ));
        }
    }
    place::check(op, first, &by_element)
}

/// The tiles of coordinates from an operand on, one for each of so many axes: of the shape of a tile, and spread as it is.
fn coordinates<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    (first, rank, behind): (usize, usize, usize),
    of: &TileType,
    what: &str,
) -> Result<(), String> {
    let found = op.operand_count() - first;
    if rank + behind != found {
        let more = match behind {
            0 => String::new(),
            _ => format!(" and {behind} tiles that update"),
        };
        return Err(format!(
            "expects coordinates for each of {rank} axes{more}, but got {found}"
        ));
    }
    for axis in 0..rank {
        let at = tile(op, first + axis)?;
        same("the element type of coordinates", Elem::I32, at.elem)?;
        same_list("the shape of coordinates", &of.shape, &at.shape)?;
        if at.layout != of.layout {
            return Err(format!("expects coordinates spread as {what} is"));
        }
    }
    Ok(())
}

/// The shape of a stage as an operation has it, that of the transpose where it says so.
fn stage_of<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    buffer: &View,
) -> Result<Vec<i64>, String> {
    let mut stage = buffer_shape(buffer)?;
    if op.attribute(TRANSPOSED).is_ok() {
        stage.reverse();
    }
    Ok(stage)
}

/// A `tile.load_async` or a `tile.take`.
fn waiting<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, kind: TileOp) -> Result<(), String> {
    let tile = match kind {
        TileOp::Take => tile_of(result(op)?)?,
        _ => {
            let tile = op.attribute("tile").map_err(|_| "expects `tile`")?;
            let tile = TypeAttribute::try_from(tile).map_err(|error| error.to_string())?;
            tile_of(tile.value())?
        }
    };
    let (from, count) = (view(op, 0, Space::Gmem)?, op.operand_count());
    on_view(op, &from, (1, count - 3), &tile)?;
    let buffer = view(op, count - 2, Space::Smem)?;
    same("the element type of the buffer", tile.elem, buffer.ptr.elem)?;
    let Some(layout) = &tile.layout else {
        return Err(format!("expects a tile that is spread, but got {tile}"));
    };
    let slot = buffer_shape(&buffer)?;
    let [neighbours, vectors, _] = slot[..] else {
        let message = "expects neighbours, vectors, threads and slots as modes of the buffer";
        return Err(format!("{message}, but got {}", buffer.layout));
    };
    let (values, there) = (layout.values(), neighbours * vectors);
    if values != there {
        return Err(format!(
            "expects {values} values of a thread in the buffer, but got {there}"
        ));
    }
    let number = |name: &str| {
        let number = op.attribute(name).ok().and_then(integer_value);
        number.ok_or_else(|| format!("expects `{name}`"))
    };
    let parts = number("parts")?;
    if parts < 1 || vectors % parts != 0 {
        return Err(format!(
            "expects `parts` that divide {vectors} vectors, but got {parts}"
        ));
    }
    match kind {
        TileOp::Take if number("younger")? < 0 => Err("expects no negative `younger`".into()),
        _ => Ok(()),
    }
}

/// The shape of a stage of a buffer, of which the last mode is the stages.
fn buffer_shape(buffer: &View) -> Result<Vec<i64>, String> {
    let rank = buffer.layout.rank();
    let extents: Option<Vec<i64>> = (0..rank)
        .map(|mode| buffer.layout.inner().mode(mode)?.size().as_static())
        .collect();
    match extents {
        Some(mut extents) if rank > 1 => {
            extents.pop();
            Ok(extents)
        }
        _ => Err(format!(
            "expects a buffer of static shape with its stages as last mode, but got {}",
            buffer.layout
        )),
    }
}

/// A part at the attribute `offsets` of something of a shape.
fn part_of<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    whole: &str,
    shape: &[i64],
    part: &TileType,
) -> Result<(), String> {
    let offsets = offsets(op)?;
    let inside = shape.len() == part.shape.len()
        && shape.len() == offsets.len()
        && std::iter::zip(&offsets, std::iter::zip(&part.shape, shape)).all(
            |(offset, (extent, end))| {
                *offset >= 0 && offset % extent == 0 && offset + extent <= *end
            },
        );
    match inside {
        true => Ok(()),
        false => Err(format!(
            "expects a part of {whole} of {shape:?} at a multiple of its shape, but got {:?} at {offsets:?}",
            part.shape
        )),
    }
}

/// The integers of the attribute `offsets`.
fn offsets<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Result<Vec<i64>, String> {
    let text = op
        .attribute("offsets")
        .map_err(|error| error.to_string())?
        .to_string();
    place::integers(&text)
}

fn axis<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, tile: &TileType) -> Result<usize, String> {
    let attribute = op.attribute("axis").ok();
    let axis = attribute.and_then(crate::builder::integer_value);
    let rank = tile.shape.len();
    match axis.and_then(|axis| usize::try_from(axis).ok()) {
        Some(axis) if axis < rank => Ok(axis),
        _ => Err(format!(
            "expects an axis in [0, {rank}), but got {}",
            axis.unwrap_or(-1)
        )),
    }
}

fn operand_type<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    index: usize,
) -> Result<Type<'c>, String> {
    op.operand(index)
        .map(|operand| operand.r#type())
        .map_err(|error| error.to_string())
}

fn result<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>) -> Result<Type<'c>, String> {
    op.result(0)
        .map(|result| result.r#type())
        .map_err(|error| error.to_string())
}

fn tile_of(ty: Type) -> Result<TileType, String> {
    TileType::of(ty).unwrap_or_else(|| Err(format!("expects a tile, but got {ty}")))
}

fn tile<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, index: usize) -> Result<TileType, String> {
    tile_of(operand_type(op, index)?)
}

fn view<'c: 'a, 'a>(
    op: &impl OperationLike<'c, 'a>,
    index: usize,
    space: Space,
) -> Result<View, String> {
    let text = operand_type(op, index)?.to_string();
    match parse_type(&text, &mut Vars::default()) {
        Ok(Val::View(view)) if view.ptr.space == space => Ok(view),
        Ok(_) => Err(format!("expects a view in {space}, but got {text}")),
        Err(error) => Err(error.to_string()),
    }
}

fn pair(tile: &TileType) -> Result<[i64; 2], String> {
    <[i64; 2]>::try_from(tile.shape.as_slice())
        .map_err(|_| format!("expects a tile of two axes, but got {tile}"))
}

fn same(what: &str, expected: Elem, found: Elem) -> Result<(), String> {
    same_text(what, expected.name(), found.name())
}

fn same_text(what: &str, expected: &str, found: &str) -> Result<(), String> {
    match expected == found {
        true => Ok(()),
        false => Err(format!("expects {expected} as {what}, but got {found}")),
    }
}

fn same_list(what: &str, expected: &[i64], found: &[i64]) -> Result<(), String> {
    match expected == found {
        true => Ok(()),
        false => Err(format!("expects {expected:?} as {what}, but got {found:?}")),
    }
}
