//! Elementwise kernels: ours against a plain copy of as many bytes.

use cutec_runtime::abi::ArgAbi;
use cutec_runtime::device::{Buffer, DeviceModule};
use cutec_runtime::{DType, Device, KernelAbi, Tensor};
use rayon::prelude::*;

use super::operands::Operands;
use super::plan::{Case, Op};
use super::rows;
use super::table::{Accuracy, Row, Unit};
use super::{Bench, Failure};

impl Bench {
    /// Checks and measures one elementwise kernel whose first input has the shape `size`.
    pub fn elementwise(
        &mut self,
        kernel: &KernelAbi,
        module: &DeviceModule,
        case: &Case,
        size: &[i64],
        op: Op,
    ) -> Result<Row, Failure> {
        let mut given = vec![None; kernel.args.len()];
        let first = kernel
            .args
            .iter()
            .position(|arg| matches!(arg, ArgAbi::Tensor(_)));
        given[first.ok_or("expected a tensor to read")?] = Some(size.to_vec());
        let inferred = kernel.infer_shapes(&given, &[])?;
        let mut tensors = Vec::new();
        let mut output = None;
        for (index, (arg, at)) in kernel.args.iter().zip(inferred).enumerate() {
            if let ArgAbi::Scalar(scalar) = arg {
                tensors.push(case.scalar(scalar)?);
                continue;
            }
            let at = at.ok_or("expected a shape")?;
            if arg.as_tensor().is_some_and(|tensor| tensor.mutable) {
                output = Some(index);
                tensors.push(Tensor::poison_strided(arg.dtype(), &at.shape, &at.strides)?);
            } else {
                let seed = self.seed + 1000 * index as u64;
                let tensor = Tensor::normal(arg.dtype(), &at.shape, seed)?;
                tensors.push(tensor.with_strides(&at.strides)?);
            }
        }
        let output = output.ok_or("expected a tensor to write")?;
        let inputs: Vec<&Tensor> = tensors
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != output)
            .map(|(_, t)| t)
            .collect();
        let expected = rows::expected(op, &inputs)
            .unwrap_or_else(|| expected(op, &inputs, tensors[output].dtype()))?;
        let operands = Operands::new(&mut self.device, module, kernel, &tensors)?;
        let bytes: u64 = tensors
            .iter()
            .map(|tensor| tensor.bytes().len() as u64)
            .sum();
        let row = self.on_operands_of(
            case,
            size,
            &tensors[output],
            output,
            &expected,
            rows::tolerance(op, tensors[output].dtype()),
            bytes,
            &operands,
        )?;
        Ok(Row {
            arch: kernel.target.clone(),
            ..row
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn on_operands_of(
        &mut self,
        case: &Case,
        size: &[i64],
        like: &Tensor,
        output: usize,
        expected: &[f64],
        tolerance: f64,
        bytes: u64,
        operands: &Operands,
    ) -> Result<Row, Failure> {
        let device = &mut self.device;
        let mut copies = Vec::new();
        // A copy reads half of what it moves and writes the other half.
        for _ in 0..2 * operands.len() {
            copies.push(device.alloc(bytes / 2, "copy")?);
        }
        let copies: Vec<Buffer> = copies;
        for copy in &copies {
            device.fill(copy, 0x3c)?;
        }
        operands.launch(device, 0)?;
        device.synchronize()?;
        let ours = operands.download(device, 0, output, like)?;
        let times = self.protocol.alternate(
            device,
            operands.len(),
            &mut |device, index| operands.launch(device, index),
            &mut |device, index| {
                let pair = 2 * (index % operands.len());
                device.copy(&copies[pair + 1], &copies[pair])
            },
        )?;
        let mut error = largest_error(&ours, expected);
        if self.protocol.measure {
            let last = operands.download(device, operands.len() - 1, output, like)?;
            if last.bytes() != ours.bytes() {
                error = error.max(largest_error(&last, expected));
            }
        }
        // Elementwise, the expected values are rounded as the kernel rounds: they are to be met exactly.
        let accuracy = Accuracy {
            ours: error,
            peer: None,
            difference: None,
            tolerance,
            compared: expected.len() as u64,
        };
        Ok(Row::new(
            case,
            size,
            Unit::Bytes,
            bytes as f64,
            &times,
            accuracy,
        ))
    }
}

/// The result in row-major order, rounded once to its type.
fn expected(op: Op, inputs: &[&Tensor], dtype: DType) -> Result<Vec<f64>, Failure> {
    let exact: Vec<f64> = match (op, inputs) {
        (Op::Relu, [x]) => x.to_f64().into_par_iter().map(|x| x.max(0.0)).collect(),
        (Op::Copy, [x]) => x.to_f64(),
        (Op::Add, [x, y]) => x
            .to_f64()
            .into_par_iter()
            .zip(y.to_f64())
            .map(|(x, y)| x + y)
            .collect(),
        (Op::Transpose, [x]) => {
            let &[rows, columns] = x.shape() else {
                return Err("expected a matrix".into());
            };
            let values = x.to_f64();
            let (rows, columns) = (rows as usize, columns as usize);
            let element = |at: usize| values[at % rows * columns + at / rows];
            (0..values.len()).into_par_iter().map(element).collect()
        }
        _ => return Err(format!("{op:?} takes another number of tensors to read").into()),
    };
    let rounded = exact.into_par_iter().map(|value| {
        let mut bytes = [0; 8];
        dtype.write(value, &mut bytes);
        dtype.read(&bytes)
    });
    Ok(rounded.collect())
}

/// Largest difference, relative to the expected value or, where that is smaller, to the root mean
/// square of all; infinite where one of the two is NaN.
fn largest_error(ours: &Tensor, expected: &[f64]) -> f64 {
    let values = ours.to_f64();
    if values.len() != expected.len() {
        return f64::INFINITY;
    }
    let squares: f64 = expected.par_iter().map(|value| value * value).sum();
    let typical = (squares / expected.len().max(1) as f64)
        .sqrt()
        .max(f64::MIN_POSITIVE);
    let errors = values
        .into_par_iter()
        .zip(expected)
        .map(|(value, expected)| {
            let error = (value - expected).abs() / expected.abs().max(typical);
            if error.is_nan() { f64::INFINITY } else { error }
        });
    errors.reduce(|| 0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations() {
        let x = Tensor::from_f64(DType::F32, &[2, 3], &[1.0, -2.0, 3.0, 4.0, 5.0, -6.0]).unwrap();
        let of = |op, inputs: &[&Tensor]| expected(op, inputs, DType::F32).unwrap();
        assert_eq!(of(Op::Relu, &[&x]), [1.0, 0.0, 3.0, 4.0, 5.0, 0.0]);
        assert_eq!(of(Op::Add, &[&x, &x])[1], -4.0);
        assert_eq!(of(Op::Transpose, &[&x]), [1.0, 4.0, -2.0, 5.0, 3.0, -6.0]);
        assert!(expected(Op::Add, &[&x], DType::F32).is_err());
        assert_eq!(largest_error(&x, &x.to_f64()), 0.0);
        let poison = Tensor::poison(DType::F32, &[1]).unwrap();
        assert_eq!(largest_error(&poison, &[1.0]), f64::INFINITY);
    }
}
