//! Results of other implementations of the algebra, from `test-suite/vectors`.

mod expressions;
mod seed_kernels;
mod swizzles;
mod thread_value;

use cutec_layout::{Int, IntTuple, Layout, Tree};
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::PathBuf;

/// The text of a compressed file of `test-suite/vectors`.
fn read(name: &str) -> String {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.extend(["..", "..", "test-suite", "vectors"]);
    path.push(format!("{name}.gz"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice())
        .read_to_string(&mut text)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}

/// The cases of a JSON file.
fn cases(name: &str) -> Vec<serde_json::Value> {
    serde_json::from_str(&read(&format!("{name}.json"))).expect("a list of cases")
}

/// The layout with stride 0 in modes of extent 1, where references differ and nobody cares.
fn without_unit_strides(layout: &Layout) -> Layout {
    fn strides(shape: &IntTuple, stride: &IntTuple) -> IntTuple {
        match (shape, stride) {
            (Tree::Leaf(shape), Tree::Leaf(_)) if shape.is(1) => Tree::Leaf(Int::ZERO),
            (Tree::Node(shapes), Tree::Node(list)) => {
                let pairs = shapes.iter().zip(list);
                Tree::Node(
                    pairs
                        .map(|(shape, stride)| strides(shape, stride))
                        .collect(),
                )
            }
            (_, stride) => stride.clone(),
        }
    }
    let stride = strides(layout.shape(), layout.stride());
    Layout::new(layout.shape().clone(), stride).expect("the same profile")
}
