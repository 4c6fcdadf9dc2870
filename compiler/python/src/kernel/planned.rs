//! What a plan chooses: a kernel for each configuration, and by the extents of a call which of them is launched.

use super::Kernel;
use crate::arrays::Arrays;
use crate::program::KernelInfo;
use cutec::plan::{Chooser, Plan};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Extents that a choice depends on, at most; a plan with more is not used.
const MOST_EXTENTS: usize = 16;

/// The configurations of a kernel's plan.
pub struct Planned {
    chooser: Chooser,
    /// Of each extent, which of the arrays and which of its modes has it.
    extents: Vec<(usize, usize)>,
    /// For each size of the plan; kernels are shared where configurations are.
    kernels: Vec<Py<Kernel>>,
}

impl Planned {
    /// What a plan says of a kernel; `None` where it says nothing, or chooses by what is no extent of an array.
    pub fn of(
        py: Python<'_>,
        plan: &Plan,
        info: &KernelInfo,
        defines: &[(String, String)],
        make: impl Fn(Vec<(String, String)>) -> Kernel,
    ) -> PyResult<Option<Self>> {
        let Some(found) = plan.kernel(&info.name, defines) else {
            return Ok(None);
        };
        let place = |symbol: &String| {
            let mut known = info.extents.iter();
            known
                .find(|(name, ..)| name == symbol)
                .map(|(_, array, mode)| (*array, *mode))
        };
        let extents: Option<Vec<(usize, usize)>> = found.symbols.iter().map(place).collect();
        let Some(extents) = extents.filter(|extents| extents.len() <= MOST_EXTENTS) else {
            return Ok(None);
        };
        let mut made = BTreeMap::new();
        let mut kernels = Vec::new();
        for size in &found.sizes {
            let mut chosen = size.configuration();
            chosen.retain(|(name, _)| info.statics.iter().any(|(known, _)| known == name));
            chosen.extend(defines.iter().cloned());
            chosen.sort();
            let kernel = match made.entry(chosen) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let kernel = Py::new(py, make(place.key().clone()))?;
                    place.insert(kernel)
                }
            };
            kernels.push(kernel.clone_ref(py));
        }
        Ok(Some(Self {
            chooser: found.chooser(),
            extents,
            kernels,
        }))
    }

    /// The kernel for these arrays; `None` where they have other ranks than the kernel's, which binding reports.
    #[inline]
    pub fn choose(&self, arrays: &Arrays) -> Option<&Kernel> {
        let mut values = [0; MOST_EXTENTS];
        for (value, (array, mode)) in values.iter_mut().zip(&self.extents) {
            let (_, shape, _) = arrays.describe(arrays.list.get(*array)?);
            *value = *shape.get(*mode)?;
        }
        let size = self.chooser.choose(values.get(..self.extents.len())?)?;
        Some(self.kernels.get(size)?.get())
    }
}
