//! A kernel's launch for one target: what `Abi::bind` checks, in its order, and what a device is then told.

use crate::expr::{Computed, Writer, constant};
use crate::message::{Hole, format, refuse, refuse_type};
use crate::names::{comment, identifier, literal};
use crate::signature::Signature;
use cutec_abi::bind::{BLOCK_LIMITS, GRID_LIMITS, MAX_THREADS, Part, RangeReason};
use cutec_abi::dlpack::DataType;
use cutec_abi::tensor_map::{L2Promotion, MapProblem, MapSwizzle, MapView, OobFill};
use cutec_abi::{
    AbiExpr, ArgAbi, BindError, DType, Dim, KernelAbi, ParamAbi, Place, SymbolSource, TensorAbi,
    TensorMapAbi,
};
use std::fmt::Write;

/// Holes of the messages.
const A: Hole = Hole::new(0);
const B: Hole = Hole::new(1);
const C: Hole = Hole::new(2);
const D: Hole = Hole::new(3);

/// Writes the launch of a kernel.
pub struct Launcher<'a> {
    signature: &'a Signature<'a>,
    kernel: &'a KernelAbi,
    /// Its number among the functions of the library.
    number: usize,
    /// Its configuration, and which of the ways to launch that, where they differ among targets; for names.
    way: String,
    /// The run-time integers in the source.
    names: Vec<&'a str>,
    /// As variables.
    symbols: Vec<String>,
    text: String,
}

impl<'a> Launcher<'a> {
    /// The function's name.
    pub fn function(signature: &Signature<'_>, configuration: usize, variant: usize) -> String {
        format!("launch_{}", way(signature, configuration, variant))
    }

    /// The text of the function and of what it needs.
    pub fn write(
        signature: &'a Signature<'a>,
        kernel: &'a KernelAbi,
        number: usize,
        configuration: usize,
        variant: usize,
    ) -> String {
        let symbols = kernel.symbols.iter().enumerate();
        let mut launcher = Launcher {
            signature,
            kernel,
            number,
            way: way(signature, configuration, variant),
            names: kernel
                .symbols
                .iter()
                .map(|symbol| symbol.name.as_str())
                .collect(),
            symbols: symbols
                .map(|(index, symbol)| format!("{}_n{index}", identifier(&symbol.name)))
                .collect(),
            text: String::new(),
        };
        launcher.tensor_maps();
        launcher.function_text();
        launcher.text
    }

    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.text, "    {}", text.as_ref());
    }

    /// The tables of its tensor maps.
    fn tensor_maps(&mut self) {
        if self.kernel.tensor_maps.is_empty() {
            return;
        }
        let name = self.maps();
        let maps: String = self
            .kernel
            .tensor_maps
            .iter()
            .map(|map| self.tensor_map(map))
            .collect();
        let _ = writeln!(
            self.text,
            "\nstatic const struct map {name}[] = {{\n{maps}}};"
        );
    }

    fn maps(&self) -> String {
        format!("maps_{}", self.way)
    }

    fn tensor_map(&self, map: &TensorMapAbi) -> String {
        let arg = &self.kernel.args[map.arg];
        let dtype = arg.dtype();
        let problem = |problem: MapProblem, holes: &[(Hole, &str)]| {
            let arg = arg.name().to_owned();
            let error = BindError::TensorMap { arg, problem };
            format(&error.to_string(), holes).literal
        };
        let (mode, found) = (A.usize(), B.i64());
        let both = [(A, ""), (B, "")];
        let inner_stride = problem(MapProblem::InnerStride { mode, found }, &both);
        let stride = problem(MapProblem::StrideBytes { mode, found, dtype }, &both);
        let extent = problem(MapProblem::Extent { mode, found }, &both);
        let align = problem(MapProblem::Align { found: A.u64() }, &[(A, "")]);
        let numbers = |numbers: &mut dyn Iterator<Item = i64>| {
            let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
            numbers.join(", ")
        };
        let order = numbers(&mut map.order.iter().map(|mode| *mode as i64));
        let boxes = numbers(&mut map.box_extents.iter().copied().map(i64::from));
        let rank = map.order.len();
        let (pixels, steps) = match &map.im2col {
            None => (String::new(), vec![1; rank]),
            Some(pixels) => {
                let lower = numbers(&mut pixels.lower.iter().copied().map(i64::from));
                let upper = numbers(&mut pixels.upper.iter().copied().map(i64::from));
                let steps = [&[1][..], &pixels.steps, &[1]].concat();
                (
                    format!(" .im2col = true, .lower = {{{lower}}}, .upper = {{{upper}}},"),
                    steps,
                )
            }
        };
        let steps = numbers(&mut steps.into_iter().map(i64::from));
        // The driver's numbers: CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill.
        let data_type = match map.loaded_as(dtype) {
            DType::I8 | DType::U8 | DType::Bool | DType::F8E4M3 | DType::F8E5M2 => 0,
            DType::I16 | DType::U16 => 1,
            DType::U32 => 2,
            DType::I32 => 3,
            DType::U64 => 4,
            DType::I64 => 5,
            DType::F16 => 6,
            DType::F32 => 7,
            DType::F64 => 8,
            DType::BF16 => 9,
            DType::TF32 => 11,
        };
        let swizzle = match map.swizzle {
            MapSwizzle::None => 0,
            MapSwizzle::B32 => 1,
            MapSwizzle::B64 => 2,
            MapSwizzle::B128 => 3,
        };
        let promotion = match map.l2_promotion {
            L2Promotion::None => 0,
            L2Promotion::B64 => 1,
            L2Promotion::B128 => 2,
            L2Promotion::B256 => 3,
        };
        let fill = match map.oob_fill {
            OobFill::Zeros => 0,
            OobFill::Nan => 1,
        };
        format!(
            "    /* of {name}, {dtype} */\n    {{.type = {data_type}, .bytes = {bytes}, .is_mutable = {mutable}, .rank = {rank}, \
             .order = {{{order}}}, .box = {{{boxes}}},{pixels}\n     .steps = {{{steps}}}, .swizzle = {swizzle}, .promotion = {promotion}, \
             .fill = {fill},\n     .inner_stride = {inner_stride},\n     .stride = {stride},\n     .extent = {extent},\n     \
             .align = {align}}},\n",
            name = comment(arg.name()),
            bytes = dtype.size(),
            mutable = matches!(arg, ArgAbi::Tensor(tensor) if tensor.mutable),
        )
    }

    fn function_text(&mut self) {
        let kernel = self.kernel;
        let function = format!("launch_{}", self.way);
        let parameters = self.signature.inner_parameters();
        let _ = writeln!(
            self.text,
            "\nstatic int32_t {function}(struct device *device, {parameters}CUstream stream)\n{{"
        );
        let start = self.text.len();
        let tensors = self
            .signature
            .tensors()
            .map(|tensor| format!("view_{}", tensor.inner))
            .collect::<Vec<_>>();
        if !tensors.is_empty() {
            self.line(format!("struct view {};", tensors.join(", ")));
        }
        let mut temporaries = 0;
        for (index, arg) in kernel.args.iter().enumerate() {
            if let ArgAbi::Tensor(tensor) = arg {
                self.check_tensor(index, tensor);
            }
        }
        self.read_symbols();
        for (index, arg) in kernel.args.iter().enumerate() {
            if let ArgAbi::Tensor(tensor) = arg {
                self.check_extents(index, tensor, &mut temporaries);
                self.check_strides(index, tensor, &mut temporaries);
            }
        }
        self.check_ranges();
        self.check_promises(&mut temporaries);
        self.check_divisors();
        self.geometry(&mut temporaries);
        self.parameters(&mut temporaries);
        if temporaries > 0 {
            self.text
                .insert_str(start, &format!("    int64_t t[{temporaries}] = {{0}};\n"));
        }
        self.text.push_str("}\n");
    }

    fn view(&self, arg: usize) -> String {
        format!("view_{}", self.signature.parameters[arg].inner)
    }

    fn check_tensor(&mut self, index: usize, abi: &TensorAbi) {
        let (view, tensor) = (
            self.view(index),
            format!("tensor_{}", self.signature.parameters[index].inner),
        );
        let arg = || abi.name.clone();
        let rank = abi.extents.len();
        let DataType { code, bits, .. } = DataType::of(abi.dtype);
        self.line(format!("/* {} */", comment(&describe(self.kernel, abi))));
        // Any other type.
        let found = DType::ALL
            .into_iter()
            .find(|dtype| *dtype != abi.dtype)
            .unwrap_or(DType::F16);
        let wrong = BindError::DType {
            arg: arg(),
            expected: abi.dtype,
            found,
        };
        let wrong = refuse_type(&wrong, found, &format!("TYPE_NAME({tensor})"));
        self.line(format!(
            "if (!has_type({tensor}, {code}, {bits}))\n        {wrong}"
        ));
        let wrong = BindError::Rank {
            arg: arg(),
            expected: rank,
            found: A.usize(),
            shape: B.list(),
        };
        let shape = format!("LIST({tensor}->shape, {tensor}->ndim)");
        let wrong = refuse(&wrong, &[(A, &format!("{tensor}->ndim")), (B, &shape)]);
        self.line(format!("if ({tensor}->ndim != {rank})\n        {wrong}"));
        self.line(format!("look_at({tensor}, {rank}, &{view});"));
        if rank > 0 {
            let wrong = BindError::NegativeExtent {
                arg: arg(),
                mode: A.usize(),
                found: B.i64(),
            };
            let mode = format!("negative_mode(&{view}, {rank})");
            let wrong = refuse(&wrong, &[(A, &mode), (B, &format!("{view}.shape[{mode}]"))]);
            self.line(format!("if ({mode} >= 0)\n        {wrong}"));
            let wrong = BindError::TooLarge {
                arg: arg(),
                shape: A.list(),
                strides: B.list(),
            };
            let (shape, strides) = (
                format!("LIST({view}.shape, {rank})"),
                format!("LIST({view}.strides, {rank})"),
            );
            let wrong = refuse(&wrong, &[(A, &shape), (B, &strides)]);
            self.line(format!(
                "if (!has_span(&{view}, {rank}, {}))\n        {wrong}",
                abi.dtype.size()
            ));
        }
        if abi.align > 1 {
            let wrong = BindError::Align {
                arg: arg(),
                expected: abi.align,
                found: A.u64(),
            };
            let wrong = refuse(&wrong, &[(A, &format!("alignment({view}.address)"))]);
            self.line(format!(
                "if (alignment({view}.address) % {} != 0)\n        {wrong}",
                abi.align
            ));
        }
        let wrong =
            literal(&format!("`{}`: a null pointer to its data", abi.name).replace('%', "%%"));
        self.line(format!(
            "if (!{view}.address && !is_empty(&{view}, {rank}))\n        return fail(CUTEC_NULL, {wrong});"
        ));
    }

    fn read_symbols(&mut self) {
        for (index, symbol) in self.kernel.symbols.iter().enumerate() {
            let value = match symbol.from {
                SymbolSource::Extent { arg, mode } => format!("{}.shape[{mode}]", self.view(arg)),
                SymbolSource::Stride { arg, mode } => {
                    let view = self.view(arg);
                    let stride = format!("{view}.strides[{mode}]");
                    let divisor = constant(symbol.divisible_by.max(1));
                    format!(
                        "{view}.shape[{mode}] <= 1 ? free_stride({stride}, {divisor}) : {stride}"
                    )
                }
                SymbolSource::Scalar { arg } => {
                    let value = format!("scalar_{}", self.signature.parameters[arg].inner);
                    if self.kernel.args[arg].dtype() == DType::U64 {
                        let wrong = self.inconsistent("a symbol is read where nothing is");
                        self.line(format!("if ({value} > INT64_MAX)\n        {wrong}"));
                    }
                    format!("(int64_t){value}")
                }
            };
            let variable = &self.symbols[index];
            let line = format!("const int64_t {variable} = {value};");
            self.line(line);
            // Those of promises and messages alone.
            let line = format!("(void){};", self.symbols[index]);
            self.line(line);
        }
    }

    fn check_extents(&mut self, index: usize, abi: &TensorAbi, temporaries: &mut usize) {
        let view = self.view(index);
        for (mode, extent) in abi.extents.iter().enumerate() {
            let arg = || abi.name.clone();
            let found = format!("{view}.shape[{mode}]");
            match extent {
                Dim::Static(expected) => {
                    let wrong = BindError::StaticExtent {
                        arg: arg(),
                        mode,
                        expected: *expected,
                        found: A.i64(),
                    };
                    let wrong = refuse(&wrong, &[(A, &found)]);
                    self.line(format!(
                        "if ({found} != {})\n        {wrong}",
                        constant(*expected)
                    ));
                }
                Dim::Symbol(symbol) => {
                    let from = &self.kernel.symbols[*symbol];
                    if from.from == (SymbolSource::Extent { arg: index, mode }) {
                        continue;
                    }
                    let value = self.symbols[*symbol].clone();
                    let wrong = BindError::TiedExtent {
                        symbol: from.name.clone(),
                        first: place(self.kernel, *symbol),
                        first_value: A.i64(),
                        second: Place {
                            arg: arg(),
                            part: Part::Extent(mode),
                        },
                        second_value: B.i64(),
                    };
                    let wrong = refuse(&wrong, &[(A, &value), (B, &found)]);
                    self.line(format!("if ({found} != {value})\n        {wrong}"));
                }
                Dim::Expr(expr) => {
                    let what = format!("extent of mode {mode} of `{}`", abi.name);
                    let expected = self.evaluate(expr, &what, temporaries);
                    let wrong = BindError::ComputedExtent {
                        arg: arg(),
                        mode,
                        expr: expr.display(&self.names).to_string(),
                        expected: A.i64(),
                        found: B.i64(),
                    };
                    let wrong = refuse(&wrong, &[(A, &expected), (B, &found)]);
                    self.line(format!("if ({found} != {expected})\n        {wrong}"));
                }
            }
        }
    }

    fn check_strides(&mut self, index: usize, abi: &TensorAbi, temporaries: &mut usize) {
        let (view, rank) = (self.view(index), abi.extents.len());
        if rank == 0 {
            return;
        }
        for (mode, expr) in abi.strides.iter().enumerate() {
            // What is read here is what is expected.
            if let AbiExpr::Symbol(symbol) = expr
                && self.kernel.symbols[*symbol].from == (SymbolSource::Stride { arg: index, mode })
            {
                continue;
            }
            let found = format!("{view}.strides[{mode}]");
            let what = format!("stride of mode {mode} of `{}`", abi.name);
            let Computed { possible, value } = self.computed(expr, &what, temporaries);
            let shown = expr.display(&self.names).to_string();
            let wrong = BindError::Stride {
                arg: abi.name.clone(),
                mode,
                // A constant is not followed by its value.
                expected: shown.parse().unwrap_or(A.i64()),
                expr: shown,
                found: B.i64(),
                shape: C.list(),
                strides: D.list(),
            };
            let (shape, strides) = (
                format!("LIST({view}.shape, {rank})"),
                format!("LIST({view}.strides, {rank})"),
            );
            let holes = [(A, value.as_str()), (B, &found), (C, &shape), (D, &strides)];
            let wrong = refuse(&wrong, &holes);
            // No element, no address; and the stride of a mode of extent 1 moves nothing.
            let counts = format!("{view}.shape[{mode}] != 1 && !is_empty(&{view}, {rank})");
            match possible {
                None => self.line(format!(
                    "if ({found} != {value} && {counts})\n        {wrong}"
                )),
                Some(possible) => {
                    let none = no_value();
                    self.line(format!("if ({counts}) {{"));
                    self.line(format!("    if (!({possible}))\n            {none}"));
                    self.line(format!("    if ({found} != {value})\n            {wrong}"));
                    self.line("}");
                }
            }
        }
    }

    fn check_ranges(&mut self) {
        for (index, symbol) in self.kernel.symbols.iter().enumerate() {
            let value = self.symbols[index].clone();
            let bound = symbol.max.map(|max| (max, RangeReason::Bound));
            let width = (symbol.width.max_value(), RangeReason::Width(symbol.width));
            for (max, why) in bound
                .into_iter()
                .chain([width])
                .filter(|(max, _)| *max != i64::MAX)
            {
                let wrong = BindError::Range {
                    symbol: symbol.name.clone(),
                    place: place(self.kernel, index),
                    max,
                    why,
                    found: A.i64(),
                };
                let wrong = refuse(&wrong, &[(A, &value)]);
                self.line(format!("if ({value} > {})\n        {wrong}", constant(max)));
            }
        }
    }

    fn check_divisors(&mut self) {
        for (index, symbol) in self.kernel.symbols.iter().enumerate() {
            if symbol.divisible_by <= 1 {
                continue;
            }
            let value = self.symbols[index].clone();
            let wrong = BindError::Divisibility {
                symbol: symbol.name.clone(),
                place: place(self.kernel, index),
                expected: symbol.divisible_by,
                found: A.i64(),
            };
            let wrong = refuse(&wrong, &[(A, &value)]);
            self.line(format!(
                "if ({value} % {} != 0)\n        {wrong}",
                constant(symbol.divisible_by)
            ));
        }
    }

    fn check_promises(&mut self, temporaries: &mut usize) {
        for promise in &self.kernel.promises {
            self.line(format!("/* where {} */", comment(&promise.text)));
            let holds = self.evaluate(
                &promise.expr,
                &format!("`where {}`", promise.text),
                temporaries,
            );
            let mut used = Vec::new();
            promise.expr.for_each_symbol(&mut |index| {
                if !used.contains(&index) {
                    used.push(index);
                }
            });
            let holes: Vec<Hole> = (0..used.len() as u32).map(Hole::new).collect();
            let values = used.iter().zip(&holes);
            let values: Vec<String> = values
                .map(|(&index, hole)| format!("{} = {}", self.names[index], hole.i64()))
                .collect();
            let wrong = BindError::Promise {
                promise: promise.text.clone(),
                values: values.join(", "),
            };
            let holes = holes
                .into_iter()
                .zip(used.iter().map(|&index| self.symbols[index].as_str()));
            let wrong = refuse(&wrong, &holes.collect::<Vec<_>>());
            self.line(format!("if (!{holds})\n        {wrong}"));
        }
    }

    fn geometry(&mut self, temporaries: &mut usize) {
        let kernel = self.kernel;
        let cluster = kernel.cluster.unwrap_or([1; 3]);
        let [x, y, z] = cluster;
        self.line("/* the launch */");
        self.line(format!(
            "struct launch launch = {{.entry = {}, .cluster = {{{x}, {y}, {z}}}, .shared = {}, .persistent = {}, .overlaps = {}, .cooperative = {}}};",
            literal(&kernel.entry),
            kernel.smem_bytes,
            kernel.persistent,
            kernel.pdl,
            kernel.cooperative
        ));
        self.axes("grid", &kernel.grid, [0; 3], GRID_LIMITS, temporaries);
        for (axis, blocks) in cluster
            .into_iter()
            .enumerate()
            .filter(|(_, blocks)| *blocks > 1)
        {
            let wrong = BindError::Cluster {
                axis: ['x', 'y', 'z'][axis],
                found: A.u32(),
                blocks,
            };
            let found = format!("launch.grid[{axis}]");
            let wrong = refuse(&wrong, &[(A, &found)]);
            self.line(format!("if ({found} % {blocks} != 0)\n        {wrong}"));
        }
        if let Some(block) = &kernel.block {
            self.axes("block", block, [1; 3], BLOCK_LIMITS, temporaries);
            let threads = "((uint64_t)launch.block[0] * launch.block[1] * launch.block[2])";
            let wrong = refuse(&BindError::BlockSize { found: A.u64() }, &[(A, threads)]);
            self.line(format!("if ({threads} > {MAX_THREADS})\n        {wrong}"));
        }
    }

    fn axes(
        &mut self,
        what: &'static str,
        exprs: &[AbiExpr; 3],
        min: [i64; 3],
        max: [i64; 3],
        temporaries: &mut usize,
    ) {
        for (index, axis) in ['x', 'y', 'z'].into_iter().enumerate() {
            let found = self.evaluate(&exprs[index], &format!("{what}.{axis}"), temporaries);
            let (min, max) = (min[index], max[index]);
            let wrong = BindError::Geometry {
                what,
                axis,
                min,
                max,
                found: A.i64(),
            };
            let known = found
                .parse::<i64>()
                .is_ok_and(|found| (min..=max).contains(&found));
            if !known {
                let wrong = refuse(&wrong, &[(A, &found)]);
                self.line(format!(
                    "if ({found} < {min} || {found} > {max})\n        {wrong}"
                ));
            }
            self.line(format!("launch.{what}[{index}] = (uint32_t){found};"));
        }
    }

    fn parameters(&mut self, temporaries: &mut usize) {
        let kernel = self.kernel;
        let mut places = Vec::new();
        for param in &kernel.params {
            places.push(match *param {
                ParamAbi::Pointer { arg } => format!("&{}.address", self.view(arg)),
                ParamAbi::Symbol { index } => {
                    let value = self.symbols[index].clone();
                    let place = format!("param_{}", places.len());
                    match kernel.symbols[index].width {
                        cutec_abi::Width::W32 => {
                            if !never_negative(kernel, index) {
                                let wrong = self.inconsistent(
                                    "a parameter refers to a missing argument or symbol",
                                );
                                self.line(format!("if ({value} < INT32_MIN)\n        {wrong}"));
                            }
                            self.line(format!("int32_t {place} = (int32_t){value};"));
                        }
                        cutec_abi::Width::W64 => self.line(format!("int64_t {place} = {value};")),
                    }
                    format!("&{place}")
                }
                ParamAbi::TensorMap { index } => format!("&encoded[{index}]"),
                ParamAbi::Scalar { arg } => {
                    format!("&scalar_{}", self.signature.parameters[arg].inner)
                }
            });
        }
        let maps = self.maps();
        if !kernel.tensor_maps.is_empty() {
            let count = kernel.tensor_maps.len();
            self.line(format!("struct described_map described[{count}];"));
            self.line(format!("struct tensor_map encoded[{count}];"));
            self.line("int32_t status;");
            for (index, map) in kernel.tensor_maps.iter().enumerate() {
                let view = match &map.view {
                    Some(view) => self.view_of_map(index, map.arg, view, temporaries),
                    None => self.view(map.arg),
                };
                self.line(format!(
                    "if ((status = describe_map(&{maps}[{index}], &{view}, &described[{index}])) != CUTEC_OK)\n        return status;"
                ));
            }
        }
        self.line("if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0)\n        return CUTEC_OK;");
        for index in 0..kernel.tensor_maps.len() {
            self.line(format!(
                "if ((status = encode_map(device, &{maps}[{index}], &described[{index}], &encoded[{index}])) != CUTEC_OK)\n        return status;"
            ));
        }
        if places.is_empty() {
            places.push("0".to_owned());
        }
        self.line(format!("void *params[] = {{{}}};", places.join(", ")));
        self.line(format!(
            "return enqueue(device, {}, &launch, params, stream);",
            self.number
        ));
    }

    /// The view that a map is of, in a variable.
    fn view_of_map(
        &mut self,
        index: usize,
        arg: usize,
        view: &MapView,
        temporaries: &mut usize,
    ) -> String {
        let (name, of) = (format!("view_of_map_{index}"), &self.kernel.args[arg]);
        let what = format!("a tensor map of `{}`", of.name());
        let bytes = of.dtype().size();
        self.line(format!("struct view {name};"));
        let offset = self.evaluate(&view.offset, &what, temporaries);
        let (tensor, none) = (self.view(arg), no_value());
        self.line(format!("int64_t {name}_at;"));
        self.line(format!(
            "if (__builtin_mul_overflow({offset}, (int64_t){bytes}, &{name}_at))\n        {none}"
        ));
        self.line(format!(
            "{name}.address = {tensor}.address + (uint64_t){name}_at;"
        ));
        for (part, exprs) in [("shape", &view.extents), ("strides", &view.strides)] {
            for (mode, expr) in exprs.iter().enumerate() {
                let value = self.evaluate(expr, &what, temporaries);
                self.line(format!("{name}.{part}[{mode}] = {value};"));
                if part == "shape" && !matches!(expr, AbiExpr::Const(_)) {
                    self.line(format!(
                        "if ({name}.shape[{mode}] < 0)\n        {name}.shape[{mode}] = 0;"
                    ));
                }
            }
        }
        name
    }

    /// An expression, and how it is known to have a value.
    fn computed(&self, expr: &AbiExpr, what: &str, temporaries: &mut usize) -> Computed {
        let mut writer = Writer::new(&self.names, &self.symbols);
        let computed = writer.write(expr, what);
        *temporaries = (*temporaries).max(writer.temporaries());
        computed
    }

    /// The value of an expression, once it is known to have one.
    fn evaluate(&mut self, expr: &AbiExpr, what: &str, temporaries: &mut usize) -> String {
        let Computed { possible, value } = self.computed(expr, what, temporaries);
        if let Some(possible) = possible {
            self.line(format!("if (!({possible}))\n        {}", no_value()));
        }
        value
    }

    fn inconsistent(&self, what: &'static str) -> String {
        let kernel = self.kernel.name.clone();
        refuse(&BindError::Inconsistent { kernel, what }, &[])
    }
}

/// What tells the functions of a kernel apart.
fn way(signature: &Signature<'_>, configuration: usize, variant: usize) -> String {
    format!("{}_{configuration}_{variant}", signature.identifier)
}

/// The statement behind an expression without a value, whose text is kept.
fn no_value() -> String {
    let error = BindError::Expr {
        what: String::new(),
        error: cutec_abi::ExprError::Overflow {
            expr: String::new(),
        },
    };
    format!("return CUTEC_{};", error.status().c_name())
}

/// Whether a run-time integer is checked to be none below 0 before it is used.
fn never_negative(kernel: &KernelAbi, symbol: usize) -> bool {
    match kernel.symbols[symbol].from {
        SymbolSource::Extent { .. } => true,
        SymbolSource::Stride { .. } | SymbolSource::Scalar { .. } => false,
    }
}

/// Where a run-time integer is read.
fn place(kernel: &KernelAbi, symbol: usize) -> Place {
    kernel.place(&kernel.symbols[symbol])
}

/// A tensor as the language writes it: `a: tensor<bf16, (m, k) : (k, 1)>, aligned to 16 bytes`.
pub fn describe(kernel: &KernelAbi, tensor: &TensorAbi) -> String {
    let names: Vec<&str> = kernel
        .symbols
        .iter()
        .map(|symbol| symbol.name.as_str())
        .collect();
    let extents: Vec<String> = tensor
        .extents
        .iter()
        .map(|extent| match extent {
            Dim::Static(extent) => extent.to_string(),
            Dim::Symbol(index) => names[*index].to_owned(),
            Dim::Expr(expr) => expr.display(&names).to_string(),
        })
        .collect();
    let strides: Vec<String> = tensor
        .strides
        .iter()
        .map(|stride| stride.display(&names).to_string())
        .collect();
    let mutable = if tensor.mutable { "mut " } else { "" };
    let align = match tensor.align {
        0 | 1 => String::new(),
        align => format!(", aligned to {align} bytes"),
    };
    format!(
        "{}: {mutable}tensor<{}, ({}) : ({})>{align}",
        tensor.name,
        tensor.dtype,
        extents.join(", "),
        strides.join(", ")
    )
}
