//! Kernels built by calls: the same code as from text, and right results.

use super::*;
use crate::build::{BuildError, Extent, Loop, Mma, Module, Reduction, Round, Signature};
use cutec_runtime::{Abi, DType, SimDevice, Tensor, Value, run_kernel};

const GEMM: &str = "
kernel gemm(a: tensor<bf16, (m, k)>, b: tensor<bf16, (n, k)>, bias: tensor<f32, n>, c: mut tensor<bf16, (m, n) : (ldc, 1)>, alpha: f32)
where k % 8 == 0
launch tiles(m / 64, n / 32), raster(4), warps(2, 1)
{
    var sums = zeros<f32>(64, 32);
    pipeline(3) for block in tiles(k, 32) {
        sums += dot(a.tile((64, 32), (tile.m, block)), b.tile((32, 32), (tile.n, block)), mma = sm80_16x8x16<bf16, f32>);
    }
    c.tile((64, 32), (tile.m, tile.n)) = bf16(max(alpha * sums + bias.tile(32, tile.n), 0.0));
}";

fn gemm() -> Result<Module, BuildError> {
    let mut gemm = Signature::new("gemm")?;
    let a = gemm.tensor("a", DType::BF16, ["m", "k"])?;
    let b = gemm.tensor("b", DType::BF16, ["n", "k"])?;
    let bias = gemm.tensor("bias", DType::F32, ["n"])?;
    let c = gemm.tensor_mut("c", DType::BF16, ["m", "n"])?;
    gemm.strides(&c, [Extent::name("ldc"), 1.into()])?;
    let alpha = gemm.number("alpha", DType::F32)?;
    gemm.divisible("k", 8)?;
    gemm.raster(4)?;
    gemm.warps([2, 1])?;
    let counts = [Extent::name("m").tiles(64), Extent::name("n").tiles(32)];
    let mut body = gemm.tiles(counts)?;

    let (i, j, k) = (body.tile_index(0)?, body.tile_index(1)?, body.extent("k")?);
    let mma = Mma::sync([16, 8, 16], [DType::BF16; 2], DType::F32)?;
    let zeros = body.zeros(DType::F32, [64, 32])?;
    let [sums] = body.repeat(
        Loop::tiles(&k, 32).pipeline(3),
        [zeros],
        |body, block, [sums]| {
            let x = body.load(&a, [64, 32], [&i, block])?;
            let y = body.load(&b, [32, 32], [&j, block])?;
            Ok([body.dot_onto_by(&sums, &x, &y, &mma)?])
        },
    )?;
    let scaled = body.mul(&alpha, &sums)?;
    let bias = body.load(&bias, [32], [&j])?;
    let biased = body.add(&scaled, &bias)?;
    let kept = body.max(&biased, 0.0)?;
    let result = body.convert(DType::BF16, &kept)?;
    body.store(&c, [64, 32], [&i, &j], &result)?;
    body.finish()
}

const SOFTMAX: &str = "
kernel softmax(x: tensor<f32, (m, n)>, y: mut tensor<f32, (m, n)>)
where n <= 1024
launch tiles(m / 4)
{
    let v = x.tile((4, 1024), (tile.m, 0), fill = -1.0 / 0.0);
    let e = exp(v - reduce(max, v, axis = 1));
    y.tile((4, 1024), (tile.m, 0)) = e / reduce(add, e, axis = 1);
}";

fn softmax() -> Result<Module, BuildError> {
    let mut softmax = Signature::new("softmax")?;
    let x = softmax.tensor("x", DType::F32, ["m", "n"])?;
    let y = softmax.tensor_mut("y", DType::F32, ["m", "n"])?;
    softmax.at_most("n", 1024)?;
    let mut body = softmax.tiles([Extent::name("m").tiles(4)])?;
    let at = [body.tile_index(0)?, 0.into()];
    let v = body.load_or(&x, [4, 1024], &at, f64::NEG_INFINITY)?;
    let largest = body.reduce(Reduction::Max, &v, 1)?;
    let below = body.sub(&v, &largest)?;
    let e = body.exp(&below)?;
    let sum = body.reduce(Reduction::Add, &e, 1)?;
    let result = body.div(&e, &sum)?;
    body.store(&y, [4, 1024], &at, &result)?;
    body.finish()
}

/// Everything but the places in the source, which the ABI has for the buffers in shared memory; the same name, so
/// the rest of the ABI is to be the same too.
fn code(source: &Source) -> (String, Abi) {
    let compiled = compile(source, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let ptx = compiled.text().unwrap_or_default();
    let lines = ptx.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with(".loc") && !line.starts_with(".file") && !line.starts_with("//")
    });
    let mut abi = compiled.abi.clone().expect("PTX has an ABI");
    for kernel in &mut abi.kernels {
        kernel.smem = None;
        kernel.tiles = None;
    }
    (lines.flat_map(|line| [line, "\n"]).collect(), abi)
}

#[test]
fn built_and_written_kernels_are_the_same_code_and_abi() {
    for (built, text) in [(gemm(), GEMM), (softmax(), SOFTMAX)] {
        let built = built.unwrap_or_else(|error| panic!("{error}"));
        let written = code(&Source::cute(format!("{}.cute", built.name()), text));
        let listing = Source::cute(format!("{}.cute", built.name()), built.listing().clone());
        assert_eq!(code(&listing), written);
        assert_eq!(code(&built.into()), written);
    }
}

fn launch(kernel: Module, mut args: Vec<Value>) -> Tensor {
    let name = kernel.name().to_owned();
    let compiled = compile(&kernel.into(), &Options::default());
    let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
    let artifact = compiled.artifact().expect("it is PTX");
    let ran = run_kernel(&mut SimDevice::new(), &artifact, &name, &mut args);
    ran.unwrap_or_else(|error| panic!("{error}"));
    let written = args.iter().rev().find_map(Value::as_tensor);
    written.cloned().expect("the kernel has a tensor")
}

fn wave(dtype: DType, shape: &[i64], seed: f64) -> Tensor {
    let count = shape.iter().product::<i64>();
    let values: Vec<f64> = (0..count).map(|at| (at as f64 * seed).sin()).collect();
    Tensor::from_f64(dtype, shape, &values).expect("as many as the shape has")
}

#[test]
fn a_built_product_is_right_at_its_edges() {
    let (m, n, k) = (67, 35, 40);
    let (a, b) = (
        wave(DType::BF16, &[m, k], 0.7),
        wave(DType::BF16, &[n, k], 0.3),
    );
    let bias = wave(DType::F32, &[n], 1.1);
    let c = Tensor::poison_strided(DType::BF16, &[m, n], &[n + 5, 1]).expect("a tensor");
    let alpha = cutec_runtime::abi::ScalarValue::new(DType::F32, 0.5);
    let args = vec![
        a.clone().into(),
        b.clone().into(),
        bias.clone().into(),
        c.into(),
        alpha.into(),
    ];
    let c = launch(gemm().expect("it is right"), args);
    let at = |tensor: &Tensor, index: &[i64]| tensor.get(index).expect("within");
    for i in 0..m {
        for j in 0..n {
            let product: f64 = (0..k).map(|l| at(&a, &[i, l]) * at(&b, &[j, l])).sum();
            let expected = (0.5 * product + at(&bias, &[j])).max(0.0);
            let found = at(&c, &[i, j]);
            assert!(
                (found - expected).abs() <= 1e-2 + 1e-2 * expected,
                "{i}, {j}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn a_built_softmax_is_right_at_its_edges() {
    let x = wave(DType::F32, &[6, 333], 0.37);
    let y = Tensor::poison(DType::F32, &[6, 333]).expect("a tensor");
    let y = launch(
        softmax().expect("it is right"),
        vec![x.clone().into(), y.into()],
    );
    for i in 0..6 {
        let row: Vec<f64> = (0..333)
            .map(|j| x.get(&[i, j]).expect("within").exp())
            .collect();
        let sum: f64 = row.iter().sum();
        for (j, e) in row.iter().enumerate() {
            let found = y.get(&[i, j as i64]).expect("within");
            assert!((found - e / sum).abs() < 1e-6, "{i}, {j}: {found}");
        }
    }
}

/// Row sums of |x| where x < limit, rounded up, and the columns' numbers beside them.
#[test]
fn shapes_selections_and_conversions_are_right() {
    let build = || {
        let mut sums = Signature::new("sums")?;
        let x = sums.tensor("x", DType::F32, ["m", "n"])?;
        let limit = sums.number("limit", DType::F32)?;
        let y = sums.tensor_mut("y", DType::I32, ["m"])?;
        let mut body = sums.tiles([Extent::name("m").tiles(8)])?;
        let at = body.tile_index(0)?;
        let x = body.load(&x, [8, 32], [&at, &0.into()])?;
        let columns = body.iota([8, 32], 1)?;
        let n = body.extent("n")?;
        let (below, inside) = (body.lt(&x, &limit)?, body.lt(&columns, &n)?);
        let both = body.and(&below, &inside)?;
        let size = body.abs(&x)?;
        let kept = body.select(&both, &size, 0.0)?;
        let sum = body.reduce(Reduction::Add, &kept, 1)?;
        let sum = body.convert_with(DType::I32, &sum, Some(Round::Up), false)?;
        let flat = body.reshape(&sum, [8])?;
        body.store(&y, [8], [&at], &flat)?;
        body.finish()
    };
    let kernel: Module = build().unwrap_or_else(|error: BuildError| panic!("{error}"));
    let x = wave(DType::F32, &[11, 20], 0.9);
    let limit = cutec_runtime::abi::ScalarValue::new(DType::F32, 0.25);
    let y = Tensor::poison(DType::I32, &[11]).expect("a tensor");
    let y = launch(kernel, vec![x.clone().into(), limit.into(), y.into()]);
    for i in 0..11 {
        let row = (0..20).map(|j| x.get(&[i, j]).expect("within"));
        let sum: f64 = row.filter(|x| *x < 0.25).map(f64::abs).sum();
        assert_eq!(y.get(&[i]), Some(sum.ceil()), "row {i}");
    }
}

/// The kernel of `docs/library.md`.
#[test]
fn the_guide_is_right() {
    let build = || {
        let mut kernel = Signature::new("scale")?;
        let x = kernel.tensor("x", DType::F16, ["m", "n"])?;
        let y = kernel.tensor_mut("y", DType::F16, ["m", "n"])?;
        let by = kernel.number("by", DType::F32)?;
        kernel.divisible("n", 8)?;
        let mut body = kernel.tiles([Extent::name("m").tiles(8), Extent::name("n").tiles(256)])?;
        let at = [body.tile_index(0)?, body.tile_index(1)?];
        let tile = body.load(&x, [8, 256], &at)?;
        let wide = body.convert(DType::F32, &tile)?;
        let scaled = body.mul(&wide, &by)?;
        let result = body.convert(DType::F16, &scaled)?;
        body.store(&y, [8, 256], &at, &result)?;
        body.finish()
    };
    let kernel: Module = build().unwrap_or_else(|error: BuildError| panic!("{error}"));
    // Every line of the guide stands above.
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let guide = include_str!("../../../../docs/library.md");
    let (_, block) = guide.split_once("## Building").expect("the section");
    let (_, block) = block.split_once("```rust\n").expect("code");
    let (block, _) = block.split_once("```").expect("its end");
    let here = squeezed(include_str!("built.rs"));
    for line in block.lines().filter(|line| !line.contains("Source::from")) {
        assert!(here.contains(&squeezed(line)), "{line}");
    }
    let x = wave(DType::F16, &[9, 16], 0.4);
    let by = cutec_runtime::abi::ScalarValue::new(DType::F32, 3.0);
    let y = Tensor::poison(DType::F16, &[9, 16]).expect("a tensor");
    let y = launch(kernel, vec![x.clone().into(), y.into(), by.into()]);
    for (x, y) in x.to_f64().into_iter().zip(y.to_f64()) {
        assert!((y - 3.0 * x).abs() < 2e-3, "{y}, not 3 * {x}");
    }
}

/// A tile used as it is behind its transposition, and a column used behind its reshaping.
#[test]
fn a_tile_stays_as_it_was_when_it_is_turned() {
    let build = || {
        let mut kernel = Signature::new("turned")?;
        let x = kernel.tensor("x", DType::F32, ["m", "n"])?;
        let y = kernel.tensor_mut("y", DType::F32, ["m", "n"])?;
        let counts = [Extent::name("m").tiles(32), Extent::name("n").tiles(32)];
        let mut body = kernel.tiles(counts)?;
        let at = [body.tile_index(0)?, body.tile_index(1)?];
        let tile = body.load(&x, [32, 32], &at)?;
        let turned = body.transpose(&tile)?;
        let of_columns = body.reduce(Reduction::Add, &turned, 1)?;
        let of_rows = body.reduce(Reduction::Max, &tile, 1)?;
        let flat = body.reshape(&of_columns, [32])?;
        let below = body.sub(&tile, &of_rows)?;
        let scaled = body.add(&below, &flat)?;
        body.store(&y, [32, 32], &at, &scaled)?;
        body.finish()
    };
    let kernel: Module = build().unwrap_or_else(|error: BuildError| panic!("{error}"));
    let x = wave(DType::F32, &[32, 32], 0.7);
    let y = Tensor::poison(DType::F32, &[32, 32]).expect("a tensor");
    let y = launch(kernel, vec![x.clone().into(), y.into()]);
    let at = |tensor: &Tensor, i, j| tensor.get(&[i, j]).expect("within");
    for i in 0..32 {
        let largest = (0..32).map(|j| at(&x, i, j)).fold(f64::MIN, f64::max);
        for j in 0..32 {
            let sum: f64 = (0..32).map(|l| at(&x, l, j)).sum();
            let expected = at(&x, i, j) - largest + sum;
            assert!((at(&y, i, j) - expected).abs() < 1e-4, "{i}, {j}");
        }
    }
}
