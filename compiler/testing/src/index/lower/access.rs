//! Elements of tensors, and the ranges of indices that follow from them.

use super::super::{Affine, Elements, Node};
use super::{Binding, Check, Lowered, Lowerer};
use crate::problem::{Stop, TestProblem};
use crate::value::{HostTensor, Value};
use cutec_frontend::ast::Expr;
use cutec_frontend::source::Span;
use cutec_runtime::tensor::host::row_major;
use rayon::prelude::*;
use std::rc::Rc;
use std::sync::Arc;

impl Lowerer<'_> {
    pub(super) fn access(
        &mut self,
        base: &Expr,
        indices: &[Expr],
        span: Span,
    ) -> Result<Lowered, Stop> {
        let (name, tensor) = self.tensor(base)?;
        let shape = tensor.borrow().shape().to_vec();
        if shape.len() != indices.len() {
            return Err(TestProblem::Rank {
                tensor: name,
                expected: shape.len(),
                found: indices.len(),
            }
            .at(span));
        }
        let integer = !tensor.borrow().dtype().is_float();

        let mut lowered = Vec::with_capacity(indices.len());
        for (mode, index) in indices.iter().enumerate() {
            let extent = shape[mode];
            let index_lowered = self.expr(index)?;
            if let Some(variable) = index_lowered.affine.as_ref().and_then(Affine::as_variable) {
                self.infer(variable, extent, index.span)?;
            }
            lowered.push(index_lowered);
        }
        let depends_on = lowered.iter().fold(0, |set, index| set | index.depends_on);
        let (values, strides) = self.fastest_first(tensor.numbers(), &shape, &lowered);
        let elements = Arc::new(Elements {
            name,
            strides,
            values,
            shape,
        });
        let offset = self.offset(&elements, &lowered, indices);
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
    /// where an index is computed, or where a condition around the access may guard its bounds.
    fn offset(
        &mut self,
        elements: &Arc<Elements>,
        lowered: &[Lowered],
        indices: &[Expr],
    ) -> Option<Affine> {
        let mut offset = Affine::constant(0);
        let mut checks = Vec::new();
        for (mode, index) in lowered.iter().enumerate() {
            let affine = index.affine.as_ref()?;
            let inferred = affine
                .as_variable()
                .is_some_and(|variable| !self.variable(variable).explicit);
            if self.guards > 0 && !inferred {
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

    /// A variable stands alone as an index of a mode.
    fn infer(&mut self, variable: usize, extent: i64, span: Span) -> Result<(), Stop> {
        let variable = self.variable(variable);
        if variable.explicit {
            return Ok(());
        }
        match variable.extent {
            None => {
                variable.extent = Some(extent);
                Ok(())
            }
            Some(known) if known == extent => Ok(()),
            Some(known) => Err(TestProblem::TwoRanges {
                name: variable.name.clone(),
                first: known,
                second: extent,
            }
            .at(span)),
        }
    }

    /// The tensor that an access is based on.
    fn tensor(&mut self, base: &Expr) -> Result<(String, Rc<HostTensor>), Stop> {
        let (name, value) = match base.as_name() {
            Some(name) => match self.resolve(name, base.span)? {
                Binding::Value(value) => (name.to_string(), value),
                Binding::Slot { .. } => {
                    return Err(TestProblem::NotHere {
                        what: "an index of a number",
                    }
                    .at(base.span));
                }
                Binding::Variable(_) => {
                    let name = name.to_string();
                    return Err(TestProblem::UnknownName { name }.at(base.span));
                }
            },
            None => ("this tensor".to_owned(), self.names.scalar(base)?),
        };
        match value {
            Value::Tensor(tensor) => Ok((name, tensor)),
            other => Err(TestProblem::WrongKind {
                expected: "a tensor",
                found: other.kind(),
            }
            .at(base.span)),
        }
    }
}
