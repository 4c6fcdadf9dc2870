//! The bits of a tile as elements of another type: where each element of the result comes from, and how it is spread.
use super::{Mode, TileLayout, TileType};
use crate::elem::Elem;
use cutec_layout::text::parse_layout;
use cutec_layout::{Layout, algebra::cosize};

/// What `tile.recast` does to the last axis.
///
/// An element of the input is `ratio` elements of the result, the lowest bits first. Which of these stands where says an order: a
/// layout from the place in the result to the place in the input, both counted in elements of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Recast {
    /// Elements of the result in one of the input.
    pub ratio: i64,
    /// The extents of both tiles.
    shapes: [Vec<i64>; 2],
    /// The modes of the order, each with its steps in the result and in the input, and how far it reaches.
    digits: Vec<Digit>,
}

/// A mode of an order: numbers below `extent`, a step apart in the result and in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Digit {
    extent: i64,
    steps: [i64; 2],
}

impl Recast {
    /// Of one tile as another, in an order.
    ///
    /// # Errors
    /// Why the one is not the other.
    pub fn of([input, result]: [&TileType; 2], order: Option<&str>) -> Result<Self, String> {
        let (from, to) = (input.elem, result.elem);
        if from == Elem::I1 || to == Elem::I1 || from.bits() % to.bits() != 0 {
            return Err(format!(
                "expects elements that make up those of the input, but got {} of {}",
                to.language_name(),
                from.language_name()
            ));
        }
        let ratio = from.bits() / to.bits();
        let mut shape = input.shape.clone();
        match shape.last_mut() {
            Some(last) => *last *= ratio,
            None => return Err("expects a tile with an axis".into()),
        }
        if shape != result.shape {
            return Err(format!(
                "expects the shape of the result {shape:?}, but got {:?}",
                result.shape
            ));
        }
        let mut recast = Recast {
            ratio,
            shapes: [input.shape.clone(), shape],
            digits: Vec::new(),
        };
        if let Some(order) = order {
            let order = parse_layout(order).map_err(|error| error.to_string())?;
            recast.order(&order)?;
        }
        Ok(recast)
    }

    fn order(&mut self, order: &Layout) -> Result<(), String> {
        let (extents, strides) = (order.shape().leaves(), order.stride().leaves());
        let columns = self.shapes[1].last().copied().unwrap_or(1);
        let illegal =
            || format!("expects an order whose size divides {columns} elements, but got {order}");
        let mut reached: i64 = 1;
        for (extent, stride) in extents.into_iter().zip(strides) {
            let (Some(extent), Some(stride)) = (extent.as_static(), stride.as_static()) else {
                return Err(format!("expects a static order, but got {order}"));
            };
            if extent != 1 {
                let steps = [reached, stride];
                self.digits.push(Digit { extent, steps });
            }
            // Of no place, or of more than there are numbers for.
            let product = reached.checked_mul(extent).filter(|size| *size > 0);
            reached = product.ok_or_else(illegal)?;
        }
        // Where the strides number the places compactly, each is taken once.
        let mut sorted: Vec<(i64, i64)> = self
            .digits
            .iter()
            .map(|digit| (digit.steps[1], digit.extent))
            .collect();
        sorted.sort_unstable();
        let mut next = 1;
        for (step, extent) in sorted {
            if step != next {
                return Err(format!(
                    "expects an order of each place once, but got {order}"
                ));
            }
            next *= extent;
        }
        let whole = cosize(order).ok().and_then(|size| size.as_static());
        match whole == Some(reached) && columns % reached == 0 {
            true => Ok(()),
            false => Err(illegal()),
        }
    }

    fn axis(&self) -> usize {
        self.shapes[0].len() - 1
    }

    /// A mode along the last axis, from the side of the result (0) or of the input (1) to the other one.
    fn turned(&self, mode: Mode, from: usize) -> Result<Vec<(i64, i64)>, String> {
        let Some((_, step)) = mode.along else {
            return Ok(Vec::new());
        };
        let (mut extent, mut step) = (mode.extent, step);
        let mut found = Vec::new();
        while extent > 1 {
            let holds = |digit: &&Digit| {
                (digit.steps[from]..digit.steps[from] * digit.extent).contains(&step)
            };
            let Some(digit) = self.digits.iter().find(holds) else {
                // Behind the order, or without one, all stays where it is.
                found.push((extent, step));
                break;
            };
            let (first, end) = (digit.steps[from], digit.steps[from] * digit.extent);
            if step % first != 0 || end % step != 0 {
                return Err(format!("steps of {step} do not go along the order"));
            }
            let fits = extent.min(end / step);
            if extent % fits != 0 {
                return Err(format!(
                    "{extent} steps of {step} do not go along the order"
                ));
            }
            found.push((fits, step / first * digit.steps[1 - from]));
            extent /= fits;
            step *= fits;
        }
        Ok(found)
    }

    /// How the result is spread where the input is spread so.
    ///
    /// # Errors
    /// Where a mode does not go along the order.
    pub fn forward(&self, input: &TileLayout) -> Result<TileLayout, String> {
        let [from, to] = &self.shapes;
        let axis = self.axis();
        let turned = |modes: Vec<Mode>| -> Result<Vec<Mode>, String> {
            let mut found = Vec::new();
            for mode in modes {
                match mode.along {
                    Some((along, step)) if along == axis => {
                        let wide = Mode {
                            along: Some((axis, step * self.ratio)),
                            ..mode
                        };
                        let turned = self.turned(wide, 1)?.into_iter();
                        found.extend(turned.map(|(extent, step)| Mode {
                            extent,
                            along: Some((axis, step)),
                        }));
                    }
                    _ => found.push(mode),
                }
            }
            Ok(found)
        };
        let threads = turned(input.thread_modes(from)?)?;
        let inside = Mode {
            extent: self.ratio,
            along: Some((axis, 1)),
        };
        let inside = self.turned(inside, 1)?.into_iter();
        let mut values: Vec<Mode> = inside
            .map(|(extent, step)| Mode {
                extent,
                along: Some((axis, step)),
            })
            .collect();
        values.extend(turned(input.value_modes(from)?)?);
        Ok(TileLayout::of_modes(&threads, &values, to))
    }

    /// How the input is spread where the result is spread so: a thread has what it needs, neighbours in the input first.
    ///
    /// # Errors
    /// Where a mode does not go along the order, or threads would share an element of the input.
    pub fn backward(&self, result: &TileLayout) -> Result<TileLayout, String> {
        let [from, to] = &self.shapes;
        let axis = self.axis();
        let turned = |modes: Vec<Mode>, may_share: bool| -> Result<Vec<Mode>, String> {
            let mut found = Vec::new();
            for mode in modes {
                if mode.along.is_none_or(|(along, _)| along != axis) {
                    found.push(mode);
                    continue;
                }
                for (extent, step) in self.turned(mode, 0)? {
                    let inside = match step < self.ratio {
                        true => extent.min(self.ratio / step),
                        false => 1,
                    };
                    if inside > 1 && !may_share {
                        return Err("threads share elements".into());
                    }
                    if extent > inside {
                        found.push(Mode {
                            extent: extent / inside,
                            along: Some((axis, step * inside / self.ratio)),
                        });
                    }
                }
            }
            Ok(found)
        };
        let threads = turned(result.thread_modes(to)?, false)?;
        let mut values = turned(result.value_modes(to)?, true)?;
        let as_it_is = TileLayout::of_modes(&threads, &values, from);
        let neighbours = as_it_is.neighbours(from, axis)?;
        values.sort_by_key(|mode| match mode.along {
            Some((along, step)) if along == axis && step < neighbours => (0, step),
            _ => (1, 0),
        });
        let layout = TileLayout::of_modes(&threads, &values, from);
        layout.check(from)?;
        Ok(layout)
    }

    /// Whether each thread has in the input what it is to have of the result.
    ///
    /// # Errors
    /// That it has not.
    pub fn check(&self, input: &TileLayout, result: &TileLayout) -> Result<(), String> {
        self.registers(input, result).map(drop)
    }

    /// Of each value of a thread in the result the number among its values in the input, and which part of that it is.
    ///
    /// # Errors
    /// Where a thread has not what it needs.
    pub fn registers(
        &self,
        input: &TileLayout,
        result: &TileLayout,
    ) -> Result<Vec<(usize, i64)>, String> {
        let [from, to] = &self.shapes;
        let given = self.forward(input)?;
        let differs = || format!("expects {}, but got {}", given.tv(), result.tv());
        if places(&given.thread_modes(to)?, to) != places(&result.thread_modes(to)?, to) {
            return Err(differs());
        }
        let inside = self.inside()?;
        let held = places(&input.value_modes(from)?, from);
        // The first values of `forward` are the parts of an element.
        let given = places(&given.value_modes(to)?, to);
        let wanted = places(&result.value_modes(to)?, to);
        if held.len() * inside != given.len() || given.len() != wanted.len() {
            return Err(differs());
        }
        let find = |place: &i64| {
            let at = given.iter().position(|given| given == place)?;
            Some((at / inside, (at % inside) as i64))
        };
        let found: Option<Vec<(usize, i64)>> = wanted.iter().map(find).collect();
        found.ok_or_else(differs)
    }

    fn inside(&self) -> Result<usize, String> {
        usize::try_from(self.ratio).map_err(|error| error.to_string())
    }
}

/// The index in a tile of each number that modes count, from that of the first.
fn places(modes: &[Mode], shape: &[i64]) -> Vec<i64> {
    let mut all = vec![0];
    for mode in modes {
        let stride = mode.along.map_or(0, |(axis, step)| {
            shape[..axis].iter().product::<i64>() * step
        });
        all = (0..mode.extent)
            .flat_map(|at| all.iter().map(move |place| place + at * stride))
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> TileLayout {
        TileLayout::new(parse_layout(text).expect("a layout")).expect("a tile layout")
    }

    fn tiles(rows: i64, columns: i64) -> [TileType; 2] {
        [
            TileType::new(Elem::U8, &[rows, columns / 2]),
            TileType::new(Elem::I4, &[rows, columns]),
        ]
    }

    /// A of mma.sync m16n8k16, for 64 elements along k.
    const A: &str = "((4,8),(2,2,2,4)):((32,1),(16,8,128,256))";

    #[test]
    fn what_a_thread_multiplies_lies_together_in_an_order() {
        let [input, result] = tiles(16, 64);
        let recast = Recast::of([&input, &result], Some("(2,4,4,2):(4,16,1,8)")).expect("legal");
        let wanted = layout(A);
        wanted.check(&result.shape).expect("covers");
        let read = recast.backward(&wanted).expect("lines up");
        // Eight neighbouring bytes of each of two rows.
        assert_eq!(
            read.tv().to_string(),
            "((4,8),(2,2,2,2)):((128,1),(16,32,64,8))"
        );
        assert_eq!(read.neighbours(&input.shape, 1), Ok(8));
        let registers = recast.registers(&read, &wanted).expect("has them");
        // The two of a pair along k are 16 bits apart, the next row comes behind these bytes.
        assert_eq!(
            registers[..6],
            [(0, 0), (2, 0), (8, 0), (10, 0), (0, 1), (2, 1)]
        );
        let again = recast.forward(&read).expect("lines up");
        assert_eq!(recast.check(&read, &again), Ok(()));
    }

    #[test]
    fn without_an_order_neighbours_are_halves_of_a_byte() {
        let [input, result] = tiles(16, 64);
        let recast = Recast::of([&input, &result], None).expect("legal");
        let read = recast.backward(&layout(A)).expect("lines up");
        assert_eq!(read.neighbours(&input.shape, 1), Ok(1));
        let registers = recast.registers(&read, &layout(A)).expect("has them");
        assert_eq!(registers[..2], [(0, 0), (0, 1)]);
    }

    #[test]
    fn threads_do_not_share_elements() {
        let [input, result] = tiles(16, 64);
        let recast = Recast::of([&input, &result], Some("(2,4,8):(32,1,4)")).expect("legal");
        assert!(recast.backward(&layout(A)).is_err());
    }

    #[test]
    fn an_order_has_each_place_once() {
        let [input, result] = tiles(16, 64);
        for order in [
            "(2,4,4):(4,8,2)",
            "(3,2):(1,3)",
            "(2,64):(1,2)",
            "(0,4):(4,1)",
        ] {
            assert!(
                Recast::of([&input, &result], Some(order)).is_err(),
                "{order}"
            );
        }
    }
}
