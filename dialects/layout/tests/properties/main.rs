//! Properties of the algebra on many small layouts.

mod decay;
mod definitions;
mod draw;
mod dynamic;
mod dynamic_definitions;
mod errors;
mod run_time;
mod smem;
mod swizzled;
mod symbols;
mod text;
mod tma;

use cutec_layout::algebra::offset_at;
use cutec_layout::{Int, IntTuple, Layout, Tree};

/// A small generator of reproducible numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A shape of at most `depth` levels.
    fn shape(&mut self, depth: usize) -> IntTuple {
        if depth == 0 || self.below(3) == 0 {
            return Tree::Leaf(Int::Static(self.pick(&[1, 2, 2, 3, 4, 4, 6, 8])));
        }
        let rank = 1 + self.below(3);
        Tree::Node((0..rank).map(|_| self.shape(depth - 1)).collect())
    }

    /// A compact layout of `shape` in a random order of its leaves, padded now and then.
    fn layout(&mut self, shape: IntTuple) -> Layout {
        let extents: Vec<i64> = shape
            .leaves()
            .iter()
            .filter_map(|leaf| leaf.as_static())
            .collect();
        let mut order: Vec<usize> = (0..extents.len()).collect();
        for index in (1..order.len()).rev() {
            order.swap(index, self.below(index as u64 + 1) as usize);
        }
        let mut strides = vec![0; extents.len()];
        let mut stride = 1;
        for leaf in order {
            if self.below(8) == 0 {
                continue;
            }
            strides[leaf] = stride;
            stride *= extents[leaf];
            if self.below(6) == 0 {
                stride *= 2;
            }
        }
        let mut next = strides.into_iter();
        let stride = shape.map(&mut |_| Int::Static(next.next().unwrap_or(0)));
        Layout::new(shape, stride).expect("a layout")
    }

    /// A layout of at most 256 elements.
    fn any_layout(&mut self) -> Layout {
        loop {
            let shape = self.shape(2);
            let layout = self.layout(shape);
            if size(&layout) <= 256 {
                return layout;
            }
        }
    }
}

fn leaf(value: i64) -> IntTuple {
    Tree::Leaf(Int::Static(value))
}

/// The value of a static layout at an index.
fn at(layout: &Layout, index: i64) -> i64 {
    offset_at(&leaf(index), layout)
        .expect("a value")
        .as_static()
        .expect("a static value")
}

fn size(layout: &Layout) -> i64 {
    layout.size().as_static().expect("a static size")
}

/// The values of a static layout at all its indices.
fn values(layout: &Layout) -> Vec<i64> {
    (0..size(layout)).map(|index| at(layout, index)).collect()
}
