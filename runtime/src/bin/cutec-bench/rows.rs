//! What kernels that reduce rows are to compute, in f64.

use cutec_runtime::{DType, Tensor};
use rayon::prelude::*;

use super::Failure;
use super::plan::Op;

/// What norms add to a mean of squares; plans give it to the kernels as `eps`.
const EPS: f64 = 1e-5;

/// The result in row-major order; `None` for an operation that is no reduction of rows.
pub fn expected(op: Op, inputs: &[&Tensor]) -> Option<Result<Vec<f64>, Failure>> {
    if !matches!(op, Op::Softmax | Op::RmsNorm | Op::LayerNorm) {
        return None;
    }
    // A scalar comes as a tensor of one element, and `eps` is known.
    let tensors: Vec<&Tensor> = inputs.iter().copied().filter(|t| t.len() > 1).collect();
    let Some((&x, parameters)) = tensors.split_first() else {
        return Some(Err("expected a matrix".into()));
    };
    let &[_, columns] = x.shape() else {
        return Some(Err("expected a matrix".into()));
    };
    let wanted = match op {
        Op::RmsNorm => 1,
        Op::LayerNorm => 2,
        _ => 0,
    };
    let fits = |t: &&Tensor| t.shape() == [columns];
    if parameters.len() != wanted || !parameters.iter().all(fits) {
        return Some(Err(format!(
            "{op:?} takes {wanted} vectors besides the matrix"
        )
        .into()));
    }
    let parameters: Vec<Vec<f64>> = parameters.iter().map(|t| t.to_f64()).collect();
    let mut values = x.to_f64();
    values
        .par_chunks_mut(columns as usize)
        .for_each(|row| reduce(op, row, &parameters));
    Some(Ok(values))
}

/// One row, in place.
fn reduce(op: Op, row: &mut [f64], parameters: &[Vec<f64>]) {
    let count = row.len() as f64;
    if let Op::Softmax = op {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|x| *x = (*x - top).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
        return;
    }
    if let Op::LayerNorm = op {
        let mean = row.iter().sum::<f64>() / count;
        row.iter_mut().for_each(|x| *x -= mean);
    }
    let squares: f64 = row.iter().map(|x| x * x).sum();
    let scale = 1.0 / (squares / count + EPS).sqrt();
    for (column, x) in row.iter_mut().enumerate() {
        *x *= scale * parameters[0][column];
        if let Some(bias) = parameters.get(1) {
            *x += bias[column];
        }
    }
}

/// How far a result may be off: not at all where nothing is reduced, else one rounding to its type
/// and some in f32 before it.
pub fn tolerance(op: Op, result: DType) -> f64 {
    let rounding = match result {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        _ => 0.0,
    };
    match op {
        Op::Softmax | Op::RmsNorm | Op::LayerNorm => rounding + 1e-4,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let x = Tensor::from_f64(DType::F32, &[2, 2], &[0.0, 0.0, 3.0, 3.0]).unwrap();
        let ones = Tensor::from_f64(DType::F32, &[2], &[1.0, 2.0]).unwrap();
        let of = |op, inputs: &[&Tensor]| expected(op, inputs).unwrap();
        assert_eq!(of(Op::Softmax, &[&x]).unwrap(), [0.5; 4]);
        let norm = of(Op::RmsNorm, &[&x, &ones]).unwrap();
        assert!((norm[2] - 1.0).abs() < 1e-5 && (norm[3] - 2.0).abs() < 1e-5);
        assert_eq!(
            of(Op::LayerNorm, &[&x, &ones, &ones]).unwrap(),
            [1.0, 2.0, 1.0, 2.0]
        );
        assert!(of(Op::RmsNorm, &[&x]).is_err());
        assert!(expected(Op::Copy, &[&x]).is_none());
    }
}
