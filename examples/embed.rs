//! A program that has its kernels made at run time: `cargo run --release --example embed [FOLDER [DEVICE]]`.
//!
//! It builds `y = silu(x · wᵀ + bias)` for the tile that it wants, keeps the PTX in FOLDER from run to run, and launches
//! it on tensors that it has in device memory, by address, shape and stride. DEVICE is `sim`, `cuda:0`, or `auto`.

use cutec::build::{BuildError, Extent, Loop, Module, Signature};
use cutec::runtime::{Buffer, DType, DeviceTensor, Loaded, Tensor, open};
use cutec::{Cache, Options, Source};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = match args.next() {
        Some(folder) => folder.into(),
        None => std::env::temp_dir().join("cutec-embed"),
    };
    let mut device = open(args.next().as_deref())?;
    let device = device.as_mut();

    let cache = Cache::open(&folder)?;
    let source = Source::from(layer([64, 64, 32])?);
    let layer = cache.ptx(&source, &Options::for_arch("sm_80")?)?;
    let origin = if layer.found {
        "found in"
    } else {
        "compiled into"
    };
    println!("{} {origin} {}", source.name, folder.display());

    // One artifact for every shape; the rows of x and of y lie further apart than they are long.
    let loaded = Loaded::load(device, &layer.artifact)?;
    for (m, n, k) in [(128, 128, 64), (100, 72, 40), (1, 3, 8)] {
        let x = Tensor::normal(DType::F16, &[m, k], 1)?.with_strides(&[k + 8, 1])?;
        let w = Tensor::normal(DType::F16, &[n, k], 2)?;
        let bias = Tensor::normal(DType::F32, &[n], 3)?;
        let mut y = Tensor::poison_strided(DType::F16, &[m, n], &[n + 5, 1])?;

        let mut args = Vec::new();
        let mut buffers = Vec::new();
        for (name, tensor) in [("x", &x), ("w", &w), ("bias", &bias), ("y", &y)] {
            let buffer = device.alloc(tensor.bytes().len() as u64, name)?;
            match tensor.is_poison() {
                true => device.poison(&buffer, tensor.bytes())?,
                false => device.upload(&buffer, tensor.bytes())?,
            }
            args.push(in_memory(&buffer, tensor).into());
            buffers.push(buffer);
        }
        loaded.launch(device, "layer", &args)?;
        if let Some(written) = buffers.last() {
            device.download(written, y.bytes_mut())?;
        }
        println!(
            "{m} x {n} x {k}: off by at most {:.4}",
            check(&x, &w, &bias, &y)?
        );
    }
    Ok(())
}

/// `y = silu(x · wᵀ + bias)`, a tile of `bm` × `bn` by each block, in steps of `bk`.
fn layer([bm, bn, bk]: [i64; 3]) -> Result<Module, BuildError> {
    let mut layer = Signature::new("layer")?;
    let x = layer.tensor("x", DType::F16, ["m", "k"])?;
    let w = layer.tensor("w", DType::F16, ["n", "k"])?;
    let bias = layer.tensor("bias", DType::F32, ["n"])?;
    let y = layer.tensor_mut("y", DType::F16, ["m", "n"])?;
    layer.strides(&x, [Extent::name("ldx"), 1.into()])?;
    layer.strides(&y, [Extent::name("ldy"), 1.into()])?;
    // What is promised lets accesses be wider; each launch is checked against it.
    layer.divisible("k", 8)?;
    layer.divisible("ldx", 8)?;
    layer.raster(8)?;
    let mut body = layer.tiles([Extent::name("m").tiles(bm), Extent::name("n").tiles(bn)])?;

    let (i, j, k) = (body.tile_index(0)?, body.tile_index(1)?, body.extent("k")?);
    let zeros = body.zeros(DType::F32, [bm, bn])?;
    let over = Loop::tiles(&k, bk).pipeline(3);
    let [sums] = body.repeat(over, [zeros], |body, step, [sums]| {
        let x = body.load(&x, [bm, bk], [&i, step])?;
        let w = body.load(&w, [bn, bk], [&j, step])?;
        Ok([body.dot_onto(&sums, &x, &w)?])
    })?;
    let bias = body.load(&bias, [bn], [&j])?;
    let z = body.add(&sums, &bias)?;
    let negated = body.neg(&z)?;
    let decay = body.exp(&negated)?;
    let whole = body.add(&decay, 1.0)?;
    let silu = body.div(&z, &whole)?;
    let silu = body.convert(DType::F16, &silu)?;
    body.store(&y, [bm, bn], [&i, &j], &silu)?;
    body.finish()
}

/// A tensor as the device has it.
fn in_memory(buffer: &Buffer, tensor: &Tensor) -> DeviceTensor {
    DeviceTensor {
        memory: buffer.into(),
        dtype: tensor.dtype(),
        shape: tensor.shape().to_vec(),
        strides: tensor.strides().to_vec(),
        mutable: true,
    }
}

/// The largest difference from the result in f64, where it is what rounding explains.
fn check(x: &Tensor, w: &Tensor, bias: &Tensor, y: &Tensor) -> Result<f64, Box<dyn Error>> {
    let (m, n, k) = (x.shape()[0], w.shape()[0], w.shape()[1]);
    let at = |tensor: &Tensor, index: &[i64]| tensor.get(index).unwrap_or(f64::NAN);
    let mut worst = 0.0_f64;
    for i in 0..m {
        for j in 0..n {
            let product: f64 = (0..k).map(|l| at(x, &[i, l]) * at(w, &[j, l])).sum();
            let z = product + at(bias, &[j]);
            let expected = z / (1.0 + (-z).exp());
            let (found, allowed) = (at(y, &[i, j]), 1e-2 + 2e-3 * expected.abs());
            let off = (found - expected).abs();
            if off > allowed || off.is_nan() {
                return Err(format!("y[{i}, {j}] is {found}, expected {expected}").into());
            }
            worst = worst.max(off);
        }
    }
    Ok(worst)
}
