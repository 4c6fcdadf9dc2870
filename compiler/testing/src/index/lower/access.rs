//! Elements of tensors, and the ranges of indices that follow from them.

use super::super::{Affine, Elements, Node};
use super::{Binding, Check, Lowered, Lowerer};
use crate::problem::{Stop, TestProblem};
use crate::value::{Kind, Value};
use cutec_frontend::ast::Expr;
use cutec_frontend::source::Span;
use cutec_runtime::tensor::host::row_major;
use rayon::prelude::*;
use std::sync::Arc;

impl Lowerer<'_> {
    pub(super) fn access(
        &mut self,
        base: &Expr,
        indices: &[Expr],
        span: Span,
    ) -> Result<Lowered, Stop> {
        let Elementwise {
            name,
            shape,
            values,
            integer,
        } = self.elements(base)?;
        if shape.len() != indices.len() {
            return Err(TestProblem::Rank {
                tensor: name,
                expected: shape.len(),
                found: indices.len(),
            }
            .at(span));
        }

        let mut lowered = Vec::with_capacity(indices.len());
        let mut inferred = Vec::with_capacity(indices.len());
        for (mode, index) in indices.iter().enumerate() {
            let index_lowered = self.expr(index)?;
            // As it is written: `i - lo` is an index that is computed, also where `lo` is 0.
            let bare = match (index.as_name(), &index_lowered.node) {
                (Some(_), Node::Variable(variable)) => Some(*variable),
                _ => None,
            };
            let runs_over_mode = match bare {
                Some(variable) => self.infer(variable, shape[mode], index.span)?,
                None => false,
            };
            inferred.push(runs_over_mode);
            lowered.push(index_lowered);
        }
        let depends_on = lowered.iter().fold(0, |set, index| set | index.depends_on);
        let (values, strides) = self.fastest_first(values, &shape, &lowered);
        let elements = Arc::new(Elements {
            name,
            strides,
            values,
            shape,
        });
        let offset = self.offset(&elements, &lowered, &inferred, indices);
        let node = match offset {
            Some(offset) => Node::Load {
                tensor: elements,
                offset,
            },
            None => Node::Gather {
                tensor: elements,
                indices: lowered.into_iter().map(|index| index.node).collect(),
            },
        };
        Ok(Lowered {
            node,
            affine: None,
            integer,
            depends_on,
        })
    }

    /// Elements and strides in which the mode that the innermost reduced variable runs over is
    /// contiguous: a column is read as often as a row, and far slower unless it is copied once.
    fn fastest_first(
        &mut self,
        values: Arc<[f64]>,
        shape: &[i64],
        indices: &[Lowered],
    ) -> (Arc<[f64]>, Vec<i64>) {
        // The tensor exists, so nothing overflows.
        let strides = row_major(shape).unwrap_or_default();
        let Some(&innermost) = self.innermost.last() else {
            return (values, strides);
        };
        let is_innermost = |index: &Lowered| {
            index.affine.as_ref().and_then(Affine::as_variable) == Some(innermost)
        };
        let last = indices.len() - 1;
        let mode = match indices.iter().position(is_innermost) {
            Some(mode) if mode != last && !is_innermost(&indices[last]) => mode,
            _ => return (values, strides),
        };
        let fast = shape[mode];
        let mut permuted_strides: Vec<i64> = strides
            .iter()
            .enumerate()
            .map(|(other, stride)| match other < mode {
                true => *stride,
                false => stride * fast,
            })
            .collect();
        permuted_strides[mode] = 1;
        let key = (values.as_ptr() as usize, mode);
        let permuted = self.permuted.entry(key).or_insert_with(|| {
            // (outer, fast, inner) becomes (outer, inner, fast).
            let (fast, inner) = (fast as usize, strides[mode] as usize);
            let mut permuted = vec![0.0; values.len()];
            if fast * inner > 0 {
                permuted
                    .par_chunks_mut(fast)
                    .enumerate()
                    .for_each(|(row, fibre)| {
                        let first = row / inner * fast * inner + row % inner;
                        for (at, value) in fibre.iter_mut().enumerate() {
                            *value = values[first + at * inner];
                        }
                    });
            }
            Arc::from(permuted)
        });
        (Arc::clone(permuted), permuted_strides)
    }

    /// The offset of an access whose indices are affine, with its bounds noted for checking; `None`
    /// where an index is computed or runs over a range that is, or where a condition around the access may guard its
    /// bounds.
    fn offset(
        &mut self,
        elements: &Arc<Elements>,
        lowered: &[Lowered],
        inferred: &[bool],
        indices: &[Expr],
    ) -> Option<Affine> {
        let mut offset = Affine::constant(0);
        let mut checks = Vec::new();
        for (mode, index) in lowered.iter().enumerate() {
            let affine = index.affine.as_ref()?;
            let computed = affine
                .terms
                .iter()
                .any(|&(variable, _)| self.variable(variable).computed);
            if computed || (self.guards > 0 && !inferred[mode]) {
                return None;
            }
            offset = offset.plus(affine, elements.strides[mode])?;
            checks.push(Check {
                tensor: Arc::clone(elements),
                mode,
                index: affine.clone(),
                span: indices[mode].span,
            });
        }
        self.checks.extend(checks);
        Some(offset)
    }

    /// A variable stands alone as an index of a mode; whether it is known to run over that.
    ///
    /// In the range of a reduction that says little: `start[i]..start[i + 1]` has a last `start` for no `i`. In a branch of an `if` it says something only
    /// where nothing else does: the condition may keep the index within a mode that is shorter.
    fn infer(&mut self, variable: usize, extent: i64, span: Span) -> Result<bool, Stop> {
        let (in_range, in_branch) = (self.ranges > 0, self.guards > 0);
        let variable = self.variable(variable);
        if variable.explicit {
            return Ok(false);
        }
        if in_range {
            let known = variable.at_most.unwrap_or(extent);
            variable.at_most = Some(known.min(extent));
            return Ok(true);
        }
        if in_branch {
            match variable.guarded {
                Some(known) if known != extent => {
                    variable.guarded_clash.get_or_insert((extent, span));
                }
                _ => variable.guarded = Some(extent),
            }
            return Ok(variable.extent == Some(extent));
        }
        match variable.extent {
            None => {
                variable.extent = Some(extent);
                Ok(true)
            }
            Some(known) if known == extent => Ok(true),
            Some(known) => Err(TestProblem::TwoRanges {
                name: variable.name.clone(),
                first: known,
                second: extent,
            }
            .at(span)),
        }
    }

    /// What an access takes an element of: a tensor, or a tuple of numbers.
    fn elements(&mut self, base: &Expr) -> Result<Elementwise, Stop> {
        let (name, value) = match base.as_name() {
            Some(name) => match self.resolve(name, base.span)? {
                Binding::Value(value) => (name.to_string(), value),
                Binding::Slot { .. } => {
                    return Err(TestProblem::NotHere {
                        what: "an index of a number",
                    }
                    .at(base.span));
                }
                Binding::Variable(_) => return Err(self.names.unknown(name, base.span)),
            },
            None => ("this".to_owned(), self.names.scalar(base)?),
        };
        let wrong_kind = |found| {
            TestProblem::WrongKind {
                expected: "a tensor",
                found,
            }
            .at(base.span)
        };
        match value {
            Value::Tensor(tensor) => Ok(Elementwise {
                name,
                shape: tensor.shape().to_vec(),
                values: tensor.numbers(),
                integer: !tensor.dtype().is_float(),
            }),
            Value::Tuple(parts) => {
                let numbers = parts
                    .iter()
                    .map(Value::number)
                    .collect::<Option<Vec<f64>>>();
                let numbers = numbers.ok_or_else(|| wrong_kind(Kind::Tuple))?;
                Ok(Elementwise {
                    name,
                    shape: vec![parts.len() as i64],
                    values: Arc::from(numbers),
                    integer: !parts.iter().any(|part| matches!(part, Value::Float(_))),
                })
            }
            other => Err(wrong_kind(other.kind())),
        }
    }
}

/// The elements behind a name, before it is known how they are accessed.
struct Elementwise {
    name: String,
    shape: Vec<i64>,
    /// In row-major order.
    values: Arc<[f64]>,
    integer: bool,
}
