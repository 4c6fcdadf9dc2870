//! Reads of fragments that nothing wrote: a warning.
//!
//! The evaluator comes to the operations of a kernel in program order. For each fragment it keeps the elements that
//! may have been written so far, whichever branch is taken; an element that is read and not among them has no value.
//! Within a loop an earlier iteration may have written what a later one reads. Only the first iteration of a single loop
//! around an unconditional read has none before it; any other read is judged when the outermost loop ends that does not
//! hold the fragment's allocation.
//!
//! Invariant: what is unknown counts as written, so a warning is always right.

use super::values::{FragmentPart, Origin, Value};
use super::{Evaluator, problem};
use crate::source::Span;
use cutec_dialects::elem::Space;
use cutec_dialects::ops::CuteOp;
use cutec_dialects::value::{Val, View};
use cutec_layout::{AnyLayout, Int, Tree};
use std::collections::HashSet;

/// Elements of a part that are compared one by one; of larger ones only whether anything was written.
const MAX_ELEMENTS: i64 = 4096;

/// What is known about one fragment.
#[derive(Default)]
struct Fragment {
    /// Loops around its allocation.
    loops: usize,
    /// Regions of loops and branches around its allocation.
    regions: usize,
    /// Elements that may have been written.
    written: HashSet<i64>,
    /// Whether any element may have been written, by something that does not say which.
    any_written: bool,
    /// Whether a warning was given.
    warned: bool,
}

/// A read within a loop, whose body may write later what an earlier iteration has not.
struct Pending {
    part: FragmentPart,
    elements: Option<Vec<i64>>,
    span: Span,
}

/// The fragments of a kernel.
#[derive(Default)]
pub(super) struct Fragments {
    all: Vec<Fragment>,
    pending: Vec<Pending>,
}

impl Fragments {
    fn allocate(&mut self, loops: usize, regions: usize) -> FragmentPart {
        self.all.push(Fragment {
            loops,
            regions,
            ..Fragment::default()
        });
        FragmentPart {
            fragment: self.all.len() - 1,
            start: Some(0),
        }
    }

    fn write(&mut self, part: FragmentPart, elements: Option<Vec<i64>>) {
        let fragment = &mut self.all[part.fragment];
        match elements {
            Some(elements) => fragment.written.extend(elements),
            None => fragment.any_written = true,
        }
    }

    /// Whether all that is read may have been written.
    fn may_be_written(&self, part: FragmentPart, elements: Option<&[i64]>) -> bool {
        let fragment = &self.all[part.fragment];
        fragment.any_written
            || match elements {
                Some(elements) => elements.iter().all(|at| fragment.written.contains(at)),
                None => !fragment.written.is_empty(),
            }
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Which memory the result of an operation shows.
    pub(super) fn origin(
        &mut self,
        op: CuteOp,
        operands: &[Value<'c, 'a>],
        result: Option<&Val>,
        allocated: Option<&Val>,
    ) -> Origin {
        if op.allocates() {
            let in_registers = match allocated {
                Some(Val::View(view)) => view.ptr.space == Space::Rmem,
                _ => op != CuteOp::MemrefAllocSmem,
            };
            return Origin {
                fragment: in_registers
                    .then(|| self.fragments.allocate(self.runtime_loops, self.regions)),
                ..Origin::default()
            };
        }
        let memory = operands.iter().find_map(|operand| match operand {
            Value::Cute(cute) if matches!(cute.val, Val::View(_) | Val::Ptr(_)) => Some(cute),
            _ => None,
        });
        let (Some(memory), Some((offset, elem))) = (memory, result.and_then(place)) else {
            return Origin::default();
        };
        let same_elements = match &memory.val {
            Val::View(view) => view.ptr.elem == elem,
            Val::Ptr(ptr) => ptr.elem == elem,
            _ => false,
        };
        let mut origin = memory.origin.clone();
        if let Some(room) = &mut origin.room {
            let bits = offset.and_then(|offset| offset.checked_mul(elem.bits()));
            room.start = room
                .start
                .zip(bits)
                .and_then(|(start, by)| start.checked_add(by));
        }
        origin.displaced |= op == CuteOp::DomainOffset;
        if let Some(part) = &mut origin.fragment {
            let start = part.start.zip(offset).filter(|_| same_elements);
            part.start = start.and_then(|(start, offset)| start.checked_add(offset));
        }
        origin
    }

    /// Keeps what an operation writes to fragments, and warns of what it reads before anything wrote it.
    pub(super) fn track_fragments(&mut self, op: CuteOp, operands: &[Value<'c, 'a>], span: Span) {
        let (reads, writes): (&[usize], &[usize]) = match op {
            CuteOp::MemrefLoad | CuteOp::MemrefLoadVec => (&[0], &[]),
            CuteOp::MemrefStore | CuteOp::MemrefStoreVec => (&[], &[1]),
            // Beyond source and destination stand predicates.
            CuteOp::Copy => (&[1, 3], &[2]),
            CuteOp::AutovecCopy => (&[0], &[1]),
            // With a sixth operand it may be that nothing is added to.
            CuteOp::Gemm if operands.len() > 5 => (&[2, 3, 6], &[1]),
            CuteOp::Gemm => (&[2, 3, 4], &[1]),
            _ => return,
        };
        let element = matches!(op, CuteOp::MemrefLoad | CuteOp::MemrefStore)
            .then(|| operands.get(usize::from(op == CuteOp::MemrefStore) + 1))
            .flatten();
        for at in reads {
            let Some((part, elements)) = operands.get(*at).and_then(|of| touched(of, element))
            else {
                continue;
            };
            if self.fragments.may_be_written(part, elements.as_deref()) {
                continue;
            }
            let fragment = &self.fragments.all[part.fragment];
            let loops = self.runtime_loops.saturating_sub(fragment.loops);
            let regions = self.regions.saturating_sub(fragment.regions);
            let is_first = loops == 1 && regions == 1;
            match loops > 0 && !is_first {
                true => self.fragments.pending.push(Pending {
                    part,
                    elements,
                    span,
                }),
                false => self.warn_of_unwritten(part, elements.as_deref(), span),
            }
        }
        for at in writes {
            if let Some((part, elements)) = operands.get(*at).and_then(|of| touched(of, element)) {
                self.fragments.write(part, elements);
            }
        }
    }

    /// At the end of a loop with `loops` loops around it: judges the reads that no further iteration precedes.
    pub(super) fn leave_loop(&mut self, loops: usize) {
        let fragments = &mut self.fragments;
        let (judged, kept) = std::mem::take(&mut fragments.pending)
            .into_iter()
            .partition(|read| fragments.all[read.part.fragment].loops >= loops);
        fragments.pending = kept;
        let judged: Vec<Pending> = judged;
        for read in judged {
            if !self
                .fragments
                .may_be_written(read.part, read.elements.as_deref())
            {
                self.warn_of_unwritten(read.part, read.elements.as_deref(), read.span);
            }
        }
    }

    fn warn_of_unwritten(&mut self, part: FragmentPart, elements: Option<&[i64]>, span: Span) {
        // After an error, what should have written it may not have been evaluated.
        if self.diagnostics.iter().any(crate::Diagnostic::is_error) {
            return;
        }
        let fragment = &mut self.fragments.all[part.fragment];
        // One warning a fragment: the first read says it all.
        if std::mem::replace(&mut fragment.warned, true) {
            return;
        }
        let nothing = fragment.written.is_empty();
        let missing = elements
            .into_iter()
            .flatten()
            .find(|at| !fragment.written.contains(at));
        let what = match missing.filter(|_| !nothing) {
            Some(at) => format!("element {at} of this fragment"),
            None => "this fragment".to_owned(),
        };
        let warning = self.with_calls(problem::unwritten(span, &what));
        if !self.diagnostics.iter().any(|old| warning.repeats(old)) {
            self.diagnostics.push(warning);
        }
    }
}

/// Where a view or pointer begins relative to the operand that it was made of, and what it points to.
fn place(val: &Val) -> Option<(Option<i64>, cutec_dialects::elem::Elem)> {
    match val {
        Val::View(View { ptr, layout }) => {
            let start = ptr.offset.as_static();
            let plain = matches!(layout, AnyLayout::Plain(_));
            Some((start.filter(|_| plain), ptr.elem))
        }
        Val::Ptr(ptr) => Some((ptr.offset.as_static(), ptr.elem)),
        _ => None,
    }
}

/// The part of a fragment that is read or written, and which of its elements, where that is known.
fn touched<'c>(
    operand: &Value<'c, '_>,
    element: Option<&Value<'c, '_>>,
) -> Option<(FragmentPart, Option<Vec<i64>>)> {
    let (cute, view) = operand.as_view()?;
    let part = cute.origin.fragment?;
    Some((part, elements(part, view, element)))
}

fn elements(part: FragmentPart, view: &View, element: Option<&Value<'_, '_>>) -> Option<Vec<i64>> {
    let start = part.start?;
    let offset_at = |coord: &cutec_layout::IntTuple| match view.layout.at(coord) {
        Ok(Tree::Leaf(Int::Static(offset))) => start.checked_add(offset),
        _ => None,
    };
    match element {
        Some(coord) => {
            let coord = match coord.as_static()? {
                Val::Scalar(int) => Tree::Leaf(int),
                Val::Tuple(_, coord) => cutec_dialects::value::without_underscore(&coord)?,
                _ => return None,
            };
            Some(vec![offset_at(&coord)?])
        }
        None => {
            let size = view.layout.size().as_static()?;
            let range = (0..size).take_while(|_| size <= MAX_ELEMENTS);
            let all: Option<Vec<i64>> = range
                .map(|at| offset_at(&Tree::Leaf(Int::Static(at))))
                .collect();
            all.filter(|_| size <= MAX_ELEMENTS)
        }
    }
}
