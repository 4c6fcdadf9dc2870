//! Matrix products: ours against cuBLAS, both against f64.

use cutec_runtime::abi::ArgAbi;
use cutec_runtime::cuda::CudaDevice;
use cutec_runtime::device::{Buffer, DeviceModule};
use cutec_runtime::{DType, Device, KernelAbi, Tensor};
use rayon::prelude::*;

use super::cublas::Matrix;
use super::operands::Operands;
use super::plan::{BIs, Case};
use super::table::{Accuracy, Row, Unit};
use super::{Bench, Failure};

/// Where `a`, `b` and `c` stand among the arguments.
#[derive(Clone, Copy, Debug)]
struct Roles {
    a: usize,
    b: usize,
    c: usize,
    /// A bias that is added before what is negative becomes zero.
    bias: Option<usize>,
}

/// The reference, for some rows of the result.
struct Reference {
    /// Which rows.
    rows: Vec<i64>,
    /// Their elements, row by row.
    values: Vec<f64>,
}

/// Up to this many elements the whole result is compared.
const WHOLE: i64 = 8192 * 8192;
/// Beyond, one row out of as many as this, so that each tile of a kernel is seen.
const ROWS_PER_SAMPLE: i64 = 32;

impl Bench {
    /// Checks and measures one matrix product of size `[m, n, k]`.
    pub fn matmul(
        &mut self,
        kernel: &KernelAbi,
        module: &DeviceModule,
        case: &Case,
        size: &[i64],
        b_is: BIs,
        (tf32, bias_relu): (bool, bool),
    ) -> Result<Row, Failure> {
        let &[m, n, k] = size else {
            return Err("expected a size [m, n, k]".into());
        };
        let roles = Roles::find(kernel, case, bias_relu)?;
        let b_shape = match b_is {
            BIs::Nk => vec![n, k],
            BIs::Kn => vec![k, n],
        };
        let shapes = [vec![m, k], b_shape, vec![m, n]];
        let tensors = self.tensors(case, kernel, roles, shapes)?;
        let reference = self.reference(&tensors, roles, b_is)?;
        let operands = Operands::new(&mut self.device, module, kernel, &tensors)?;
        let row = self.on_operands(
            case, size, &tensors, roles, b_is, tf32, &reference, &operands,
        )?;
        Ok(Row {
            arch: kernel.target.clone(),
            ..row
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn on_operands(
        &mut self,
        case: &Case,
        size: &[i64],
        tensors: &[Tensor],
        roles: Roles,
        b_is: BIs,
        tf32: bool,
        reference: &Reference,
        operands: &Operands,
    ) -> Result<Row, Failure> {
        let device = &mut self.device;
        let c = &tensors[roles.c];
        let mut peer: Vec<Buffer> = Vec::new();
        let mut peer_matrices = Vec::new();
        for index in 0..operands.len() {
            let set = operands.set(index);
            peer.push(device.alloc(c.bytes().len() as u64, "cuBLAS's result")?);
            let result = &peer[index];
            device.copy(result, &set[roles.c])?;
            let b = Matrix::new(&tensors[roles.b], &set[roles.b])?;
            let b = if matches!(b_is, BIs::Nk) {
                b.transposed()
            } else {
                b
            };
            let a = Matrix::new(&tensors[roles.a], &set[roles.a])?;
            peer_matrices.push((a, b, Matrix::new(c, result)?));
        }
        let cublas = &self.cublas;
        let mut peer_failure = None;
        let mut run_peer = |_: &mut CudaDevice, index: usize| {
            let (a, b, c) = peer_matrices[index % peer_matrices.len()];
            if let Err(error) = cublas.product(a, b, c, tf32) {
                peer_failure.get_or_insert(error);
            }
            Ok(())
        };
        // Once on poisoned outputs, for the check.
        operands.launch(device, 0)?;
        run_peer(device, 0)?;
        device.synchronize()?;
        let ours = operands.download(device, 0, roles.c, c)?;
        let mut theirs = c.clone();
        device.download(&peer[0], theirs.bytes_mut())?;
        let times = self.protocol.alternate(
            device,
            operands.len(),
            &mut |device, index| operands.launch(device, index),
            &mut run_peer,
        )?;
        if let Some(error) = peer_failure {
            return Err(error);
        }
        let mut accuracy = compare(&ours, &theirs, reference, tensors, roles, tf32);
        if self.protocol.measure {
            // The last set has been through the timed launches alone.
            let last = operands.download(device, operands.len() - 1, roles.c, c)?;
            if last.bytes() != ours.bytes() {
                let timed = compare(&last, &theirs, reference, tensors, roles, tf32);
                accuracy = accuracy.worse(timed);
            }
        }
        let flops = 2.0 * size.iter().map(|&extent| extent as f64).product::<f64>();
        Ok(Row::new(case, size, Unit::Flops, flops, &times, accuracy))
    }

    /// Random operands and a poisoned result, laid out as the kernel wants them.
    fn tensors(
        &self,
        case: &Case,
        kernel: &KernelAbi,
        roles: Roles,
        shapes: [Vec<i64>; 3],
    ) -> Result<Vec<Tensor>, Failure> {
        let mut given = vec![None; kernel.args.len()];
        for (arg, shape) in [roles.a, roles.b, roles.c].into_iter().zip(shapes) {
            given[arg] = Some(shape);
        }
        for (arg, given) in kernel.args.iter().zip(&mut given) {
            if let Some(shape) = case.workspace.get(arg.name()) {
                *given = Some(shape.clone());
            }
        }
        let inferred = kernel.infer_shapes(&given, &[])?;
        let mut tensors = Vec::new();
        for (index, (arg, at)) in kernel.args.iter().zip(inferred).enumerate() {
            if let ArgAbi::Scalar(scalar) = arg {
                tensors.push(case.scalar(scalar)?);
                continue;
            }
            let at = at.ok_or("expected a shape")?;
            tensors.push(if case.is_workspace(arg.name()) {
                Tensor::zeros(arg.dtype(), &at.shape)?
            } else if index == roles.c {
                Tensor::poison_strided(arg.dtype(), &at.shape, &at.strides)?
            } else {
                let seed = self.seed + 1000 * index as u64;
                Tensor::normal(arg.dtype(), &at.shape, seed)?.with_strides(&at.strides)?
            });
        }
        Ok(tensors)
    }

    /// The product in f64, on the GPU, of the very elements that the kernel gets.
    fn reference(
        &mut self,
        tensors: &[Tensor],
        roles: Roles,
        b_is: BIs,
    ) -> Result<Reference, Failure> {
        let [m, n] = *tensors[roles.c].shape() else {
            return Err("expected a matrix".into());
        };
        let [_, k] = *tensors[roles.a].shape() else {
            return Err("expected a matrix".into());
        };
        let rows = sampled_rows(m, n, self.seed);
        let a = tensors[roles.a].to_f64();
        let width = usize::try_from(k)?;
        let picked = rows.par_iter().flat_map_iter(|&row| {
            let start = row as usize * width;
            a[start..start + width].iter().copied()
        });
        let picked: Vec<f64> = picked.collect();
        let a = Tensor::from_f64(DType::F64, &[rows.len() as i64, k], &picked)?;
        let b = tensors[roles.b].convert(DType::F64)?;
        let mut c = Tensor::poison(DType::F64, &[rows.len() as i64, n])?;
        let device = &mut self.device;
        let mut buffers = Vec::new();
        let mut on_device = |device: &mut CudaDevice, tensor: &Tensor| -> Result<Matrix, Failure> {
            let buffer = device.alloc(tensor.bytes().len() as u64, "f64 reference")?;
            let matrix = Matrix::new(tensor, &buffer);
            let uploaded = device.upload(&buffer, tensor.bytes());
            buffers.push(buffer);
            uploaded?;
            matrix
        };
        let result = (|| {
            let a = on_device(device, &a)?;
            let b = on_device(device, &b)?;
            let b = if matches!(b_is, BIs::Nk) {
                b.transposed()
            } else {
                b
            };
            let result = on_device(device, &c)?;
            self.cublas.product(a, b, result, false)
        })();
        let downloaded = match (&result, buffers.get(2)) {
            (Ok(()), Some(buffer)) => device.download(buffer, c.bytes_mut()),
            _ => Ok(()),
        };
        result?;
        downloaded?;
        Ok(Reference {
            rows,
            values: c.to_f64(),
        })
    }
}

impl Roles {
    fn find(kernel: &KernelAbi, case: &Case, bias_relu: bool) -> Result<Roles, Failure> {
        let tensors: Vec<(usize, bool)> = kernel
            .args
            .iter()
            .enumerate()
            .filter(|(_, arg)| !case.is_workspace(arg.name()))
            .filter_map(|(index, arg)| Some((index, arg.as_tensor()?.mutable)))
            .collect();
        let read: Vec<usize> = tensors
            .iter()
            .filter(|arg| !arg.1)
            .map(|arg| arg.0)
            .collect();
        let written: Vec<usize> = tensors
            .iter()
            .filter(|arg| arg.1)
            .map(|arg| arg.0)
            .collect();
        match (read.as_slice(), written.as_slice()) {
            ([a, b, bias @ ..], [c]) if bias.len() == usize::from(bias_relu) => Ok(Roles {
                a: *a,
                b: *b,
                c: *c,
                bias: bias.first().copied(),
            }),
            _ => Err(
                "a matrix product takes two tensors that it reads, a bias where the plan says so, and one that it writes"
                    .into(),
            ),
        }
    }
}

/// All rows of a small result, a random one of every [`ROWS_PER_SAMPLE`] of a large one.
fn sampled_rows(m: i64, n: i64, seed: u64) -> Vec<i64> {
    if m * n <= WHOLE {
        return (0..m).collect();
    }
    let mut state = seed;
    (0..m)
        .step_by(ROWS_PER_SAMPLE as usize)
        .map(|first| {
            // A linear congruential generator (Knuth, MMIX): the choice need only be uneven.
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            first + (state >> 33) as i64 % ROWS_PER_SAMPLE.min(m - first)
        })
        .collect()
}

/// Largest errors, relative to the reference or, where that is small, to the standard deviation of a
/// product of normal rows, the square root of k.
fn compare(
    ours: &Tensor,
    theirs: &Tensor,
    reference: &Reference,
    tensors: &[Tensor],
    roles: Roles,
    tf32: bool,
) -> Accuracy {
    let columns = ours.shape()[1];
    let k = tensors[roles.a].shape()[1] as f64;
    let scale = k.sqrt().max(1.0);
    let bias = roles.bias.map(|bias| &tensors[bias]);
    let finished = |sum: f64, column: i64| match bias.and_then(|bias| bias.get(&[column])) {
        Some(bias) => (sum + bias).max(0.0),
        None => sum,
    };
    let each = reference.rows.par_iter().enumerate().map(|(index, &row)| {
        let mut worst = [0f64; 3];
        for column in 0..columns {
            let at = [row, column];
            let exact = reference.values[index * columns as usize + column as usize];
            let (Some(ours), Some(theirs)) = (ours.get(&at), theirs.get(&at)) else {
                continue;
            };
            let (exact, theirs) = (finished(exact, column), finished(theirs, column));
            let unit = exact.abs().max(scale);
            let errors = [
                (ours - exact) / unit,
                (theirs - exact) / unit,
                (ours - theirs) / unit,
            ];
            for (worst, error) in worst.iter_mut().zip(errors) {
                *worst = larger(*worst, error.abs());
            }
        }
        worst
    });
    let [ours_error, peer_error, difference] = each.reduce(
        || [0.0; 3],
        |a, b| [larger(a[0], b[0]), larger(a[1], b[1]), larger(a[2], b[2])],
    );
    Accuracy {
        ours: ours_error,
        peer: Some(peer_error),
        difference: Some(difference),
        tolerance: tolerance(ours.dtype(), tensors[roles.a].dtype(), k, tf32),
        compared: reference.values.len() as u64,
    }
}

/// The larger of two errors, where NaN is larger than everything.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::INFINITY
    } else {
        a.max(b)
    }
}

/// Rounding of the result, and of k additions in f32 that a tensor core truncates 16 at a time. A factor that
/// is cut to tf32, not rounded, is up to 2⁻¹⁰ of itself too small.
fn tolerance(result: DType, operand: DType, k: f64, tf32: bool) -> f64 {
    let rounding = match result {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        DType::F64 => 2f64.powi(-50),
        _ => 2f64.powi(-22),
    };
    let products = if tf32 || operand == DType::TF32 {
        2f64.powi(-8)
    } else {
        0.0
    };
    1.01 * rounding + products + k * 2f64.powi(-26) + k.sqrt() * 2f64.powi(-23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_stretch_are_sampled() {
        assert_eq!(sampled_rows(4, 4, 1), [0, 1, 2, 3]);
        let rows = sampled_rows(16384, 16384, 1);
        assert_eq!(rows.len(), 512);
        assert!(
            rows.iter()
                .enumerate()
                .all(|(index, row)| row / 32 == index as i64)
        );
        let rows = sampled_rows(10_001, 10_000, 1);
        assert!(rows.len() >= 64 && *rows.last().unwrap() <= 10_000);
    }

    #[test]
    fn poison_is_the_largest_error() {
        assert_eq!(larger(1.0, f64::NAN), f64::INFINITY);
        assert_eq!(larger(1.0, 2.0), 2.0);
    }
}
