//! The standard library: files of the language that are part of the compiler, `import "std/…"`.

use crate::library::item_head;
use crate::source::LoadedSource;
use std::sync::Arc;

/// Where the library lies in the paths of imports.
const FOLDER: &str = "std/";

/// Whether a file of this name is one of the library.
pub(crate) fn is_of_library(name: &str) -> bool {
    name.starts_with(FOLDER)
}

/// Every file: its path as imported, and its text.
pub const FILES: &[(&str, &str)] = &[
    ("std/tiles.cute", include_str!("../std/tiles.cute")),
    ("std/weights.cute", include_str!("../std/weights.cute")),
    ("std/sort.cute", include_str!("../std/sort.cute")),
    (
        "std/transforms.cute",
        include_str!("../std/transforms.cute"),
    ),
    ("std/conv.cute", include_str!("../std/conv.cute")),
    ("std/winograd.cute", include_str!("../std/winograd.cute")),
    ("std/gemm_sm80.cute", include_str!("../std/gemm_sm80.cute")),
    ("std/gemm_sm90.cute", include_str!("../std/gemm_sm90.cute")),
    (
        "std/gemm_sm90_split.cute",
        include_str!("../std/gemm_sm90_split.cute"),
    ),
    ("std/groups.cute", include_str!("../std/groups.cute")),
    (
        "std/gemm_sm90_grouped.cute",
        include_str!("../std/gemm_sm90_grouped.cute"),
    ),
    (
        "std/gemm_sm90_gather.cute",
        include_str!("../std/gemm_sm90_gather.cute"),
    ),
    (
        "std/gemm_sm90_stream.cute",
        include_str!("../std/gemm_sm90_stream.cute"),
    ),
    (
        "std/gemm_sm90_scaled.cute",
        include_str!("../std/gemm_sm90_scaled.cute"),
    ),
    (
        "std/gemm_sm90_precise.cute",
        include_str!("../std/gemm_sm90_precise.cute"),
    ),
    (
        "std/gemm_sm90_sparse.cute",
        include_str!("../std/gemm_sm90_sparse.cute"),
    ),
    (
        "std/gemm_sm90_weights.cute",
        include_str!("../std/gemm_sm90_weights.cute"),
    ),
    (
        "std/epilogue_sm90.cute",
        include_str!("../std/epilogue_sm90.cute"),
    ),
    (
        "std/product_sm90.cute",
        include_str!("../std/product_sm90.cute"),
    ),
    (
        "std/conv_sm90_data.cute",
        include_str!("../std/conv_sm90_data.cute"),
    ),
    ("std/conv_sm90.cute", include_str!("../std/conv_sm90.cute")),
    ("std/attention.cute", include_str!("../std/attention.cute")),
    (
        "std/attention_sm90.cute",
        include_str!("../std/attention_sm90.cute"),
    ),
    (
        "std/attention_lengths.cute",
        include_str!("../std/attention_lengths.cute"),
    ),
    (
        "std/attention_sm90_decode.cute",
        include_str!("../std/attention_sm90_decode.cute"),
    ),
    (
        "std/attention_sm80.cute",
        include_str!("../std/attention_sm80.cute"),
    ),
    (
        "std/attention_gradient_sm90.cute",
        include_str!("../std/attention_gradient_sm90.cute"),
    ),
    ("std/queue.cute", include_str!("../std/queue.cute")),
    ("std/cluster.cute", include_str!("../std/cluster.cute")),
    ("std/pipeline.cute", include_str!("../std/pipeline.cute")),
    ("std/gemm_simt.cute", include_str!("../std/gemm_simt.cute")),
    (
        "std/activations.cute",
        include_str!("../std/activations.cute"),
    ),
    ("std/matrix.cute", include_str!("../std/matrix.cute")),
    ("std/math.cute", include_str!("../std/math.cute")),
    ("std/random.cute", include_str!("../std/random.cute")),
    ("std/scan.cute", include_str!("../std/scan.cute")),
    ("std/rows.cute", include_str!("../std/rows.cute")),
    (
        "std/recurrence_sm90.cute",
        include_str!("../std/recurrence_sm90.cute"),
    ),
    ("std/grid.cute", include_str!("../std/grid.cute")),
    ("std/raster.cute", include_str!("../std/raster.cute")),
];

/// The file that has a function, a record or a constant of this name.
pub fn file_of(name: &str) -> Option<&'static str> {
    let defines = |line| item_head(line).is_some_and(|(_, found)| found == name);
    let found = FILES.iter().find(|(_, text)| text.lines().any(defines));
    found.map(|(name, _)| *name)
}

/// The file of an import; `None` where the path is not one of the library.
///
/// # Errors
/// One line with the files that there are, where the library has none of this name.
pub fn load(path: &str) -> Option<Result<LoadedSource, String>> {
    if !is_of_library(path) {
        return None;
    }
    let found = FILES.iter().find(|(name, _)| *name == path);
    Some(match found {
        Some((name, text)) => Ok(LoadedSource {
            name: (*name).to_owned(),
            text: Arc::from(*text),
        }),
        None => {
            let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
            Err(format!("the standard library has {}", names.join(", ")))
        }
    })
}
