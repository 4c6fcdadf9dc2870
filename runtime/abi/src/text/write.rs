//! Writing of the notation.

use std::fmt::{Display, Write};

use crate::tensor_map::{L2Promotion, OobFill};
use crate::{
    AbiExpr, ArgAbi, Dim, KernelAbi, ParamAbi, SymbolAbi, SymbolSource, TensorAbi, TensorMapAbi,
};

/// The ABI, a clause a line.
pub(super) fn kernel(kernel: &KernelAbi) -> String {
    let names = Names::new(kernel);
    let mut lines = vec![quoted(&kernel.name)];
    if kernel.entry != kernel.name {
        lines.push(format!("entry {}", quoted(&kernel.entry)));
    }
    if let Some(source) = &kernel.source {
        lines.push(format!("source {}", quoted(source)));
    }
    if !kernel.target.is_empty() {
        lines.push(format!("target {}", quoted(&kernel.target)));
    }
    for arg in &kernel.args {
        let (name, what) = (
            name(arg.name()),
            match arg {
                ArgAbi::Tensor(arg) => tensor(&names, arg),
                ArgAbi::Scalar(scalar) => scalar.dtype.to_string(),
            },
        );
        lines.push(format!("arg {name}: {what}"));
    }
    lines.extend(kernel.symbols.iter().map(|it| symbol(&names, it)));
    let maps = kernel.tensor_maps.iter().enumerate();
    lines.extend(maps.map(|(index, map)| tensor_map(&names, index, map)));
    let params = kernel.params.iter().map(|param| match *param {
        ParamAbi::Pointer { arg } => format!("pointer {}", names.arg(arg)),
        ParamAbi::Symbol { index } => format!("symbol {}", names.symbol(index)),
        ParamAbi::TensorMap { index } => format!("tensor_map {index}"),
        ParamAbi::Scalar { arg } => format!("scalar {}", names.arg(arg)),
    });
    lines.push(format!("params ({})", list(params)));
    for promise in &kernel.promises {
        let text = quoted(&promise.text);
        lines.push(format!("promise {text}: {}", names.expr(&promise.expr)));
    }
    let extents = |exprs: &[AbiExpr; 3]| list(exprs.iter().map(|expr| names.expr(expr)));
    lines.push(format!("grid ({})", extents(&kernel.grid)));
    if kernel.persistent {
        lines.push("persistent".to_owned());
    }
    if let Some(cluster) = &kernel.cluster {
        lines.push(format!("cluster ({})", list(cluster)));
    }
    if kernel.pdl {
        lines.push("pdl".to_owned());
    }
    if kernel.cooperative {
        lines.push("cooperative".to_owned());
    }
    if let Some(block) = &kernel.block {
        lines.push(format!("block ({})", extents(block)));
    }
    if kernel.smem_bytes != 0 {
        lines.push(format!("smem {}", kernel.smem_bytes));
    }
    let defines = kernel.defines.iter();
    let defines =
        defines.map(|(parameter, value)| format!("{} = {}", name(parameter), quoted(value)));
    if !kernel.defines.is_empty() {
        lines.push(format!("define {}", list(defines)));
    }
    let candidates = kernel.candidates.iter();
    let candidates =
        candidates.map(|(parameter, values)| format!("{} = {}", name(parameter), quoted(values)));
    if !kernel.candidates.is_empty() {
        lines.push(format!("candidates {}", list(candidates)));
    }
    let conditions = kernel.tunable.iter();
    lines.extend(conditions.map(|condition| format!("tunable {}", quoted(condition))));
    if let Some(resources) = kernel.resources {
        lines.push(format!(
            "resources registers {} spill_stores {} spill_loads {} static_smem {}",
            resources.registers,
            resources.spill_stores,
            resources.spill_loads,
            resources.static_smem
        ));
    }
    lines.join("\n  ")
}

fn tensor(names: &Names, tensor: &TensorAbi) -> String {
    let extents = tensor.extents.iter().map(|extent| match extent {
        Dim::Static(extent) => extent.to_string(),
        Dim::Symbol(index) => names.symbol(*index),
        Dim::Expr(expr) => names.expr(expr),
    });
    let strides = tensor.strides.iter().map(|stride| names.expr(stride));
    format!(
        "{}tensor<{}, ({}):({})> align {}",
        if tensor.mutable { "mut " } else { "" },
        tensor.dtype,
        list(extents),
        list(strides),
        tensor.align
    )
}

fn symbol(names: &Names, symbol: &SymbolAbi) -> String {
    let source = match symbol.from {
        SymbolSource::Extent { arg, mode } => format!("extent {mode} of {}", names.arg(arg)),
        SymbolSource::Stride { arg, mode } => format!("stride {mode} of {}", names.arg(arg)),
        SymbolSource::Scalar { arg } => format!("scalar {}", names.arg(arg)),
    };
    let mut line = format!("symbol {}: {} = {source}", name(&symbol.name), symbol.width);
    if symbol.divisible_by != 1 {
        // Writing to a string does not fail.
        let _ = write!(line, " div {}", symbol.divisible_by);
    }
    if let Some(max) = symbol.max {
        let _ = write!(line, " max {max}");
    }
    line
}

fn tensor_map(names: &Names, index: usize, map: &TensorMapAbi) -> String {
    let mut line = format!("tensor_map {index} of {}", names.arg(map.arg));
    if let Some(view) = &map.view {
        let exprs = |exprs: &[AbiExpr]| list(exprs.iter().map(|expr| names.expr(expr)));
        let (extents, strides) = (exprs(&view.extents), exprs(&view.strides));
        let offset = names.expr(&view.offset);
        let _ = write!(line, " at ({offset}) as ({extents}):({strides})");
    }
    let (order, extents) = (list(&map.order), list(&map.box_extents));
    let _ = write!(line, " order [{order}] box [{extents}]");
    if let Some(pixels) = &map.im2col {
        let (lower, upper, steps) = (
            list(&pixels.lower),
            list(&pixels.upper),
            list(&pixels.steps),
        );
        let _ = write!(
            line,
            " im2col lower [{lower}] upper [{upper}] steps [{steps}]"
        );
    }
    if map.swizzle.bytes() != 0 {
        let _ = write!(line, " swizzle {}", map.swizzle.bytes());
    }
    if map.l2_promotion != L2Promotion::None {
        let _ = write!(line, " l2 {}", u32::from(map.l2_promotion));
    }
    if map.oob_fill == OobFill::Nan {
        line += " fill nan";
    }
    if map.tf32 {
        line += " tf32";
    }
    line
}

/// What arguments and symbols are called, in quotes where needed.
struct Names {
    args: Vec<String>,
    symbols: Vec<String>,
}

impl Names {
    fn new(kernel: &KernelAbi) -> Names {
        let symbols = kernel.symbols.iter().map(|symbol| name(&symbol.name));
        Names {
            args: kernel.args.iter().map(|arg| name(arg.name())).collect(),
            symbols: symbols.collect(),
        }
    }

    fn arg(&self, index: usize) -> String {
        let known = self.args.get(index).cloned();
        known.unwrap_or_else(|| index.to_string())
    }

    fn symbol(&self, index: usize) -> String {
        self.expr(&AbiExpr::Symbol(index))
    }

    fn expr(&self, expr: &AbiExpr) -> String {
        expr.display_in_ir(&self.symbols).to_string()
    }
}

/// Elements with commas between them.
fn list<T: Display>(elements: impl IntoIterator<Item = T>) -> String {
    let elements: Vec<String> = elements.into_iter().map(|it| it.to_string()).collect();
    elements.join(", ")
}

/// A name, in quotes where it is no word.
fn name(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next();
    let is_word = first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_word { name.into() } else { quoted(name) }
}

/// A text in quotes, escaped as MLIR does.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\22"),
            control if control.is_ascii_control() => {
                let _ = write!(quoted, "\\{:02X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
