//! What a plan chooses: a kernel for each configuration, and by the extents and integers of a call which of them is launched.

use super::{Kernel, Values};
use crate::arrays::Arrays;
use crate::program::KernelInfo;
use cutec::Emit;
use cutec::plan::{Chooser, Plan};
use cutec::runtime::DType;
use cutec::runtime::abi::{KernelAbi, ScalarValue, SymbolSource};
use cutec_tuning::candidate::size_sources;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::OnceLock;

/// Extents that a choice depends on, at most; a plan with more is not used.
const MOST_EXTENTS: usize = 16;

/// Where a call has a value that makes a size.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// An extent of one of the arrays.
    Extent { array: usize, mode: usize },
    /// An argument that is an integer.
    Scalar { arg: usize, dtype: DType },
}

/// The configurations of a kernel's plan.
pub struct Planned {
    chooser: Chooser,
    /// The names of what makes a size.
    symbols: Vec<String>,
    /// Where a call has each of them, known from the first call on; `None` where the kernel has not all of them.
    places: OnceLock<Option<Vec<Place>>>,
    /// For each size of the plan; kernels are shared where configurations are.
    kernels: Vec<Py<Kernel>>,
}

impl Planned {
    /// What a plan says of a kernel; `None` where it says nothing.
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
        if found.symbols.len() > MOST_EXTENTS {
            return Ok(None);
        }
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
            symbols: found.symbols.clone(),
            places: OnceLock::new(),
            kernels,
        }))
    }

    /// The kernel for a call; `None` where its arrays have other ranks than the kernel's, which binding reports.
    ///
    /// # Errors
    /// Where the kernel with its defaults, which says where a size stands, does not compile, or an argument is no number.
    #[inline]
    pub fn choose(
        &self,
        py: Python<'_>,
        defaults: &Kernel,
        call: &(impl Values + ?Sized),
        arrays: &Arrays,
    ) -> PyResult<Option<&Kernel>> {
        let places = match self.places.get() {
            Some(places) => places,
            None => self.find(py, defaults)?,
        };
        let Some(places) = places else {
            return Ok(None);
        };
        let mut values = [0; MOST_EXTENTS];
        for (value, place) in values.iter_mut().zip(places) {
            *value = match *place {
                Place::Extent { array, mode } => {
                    let Some(array) = arrays.list.get(array) else {
                        return Ok(None);
                    };
                    let (_, shape, _) = arrays.describe(array);
                    let Some(extent) = shape.get(mode) else {
                        return Ok(None);
                    };
                    *extent
                }
                Place::Scalar { arg, dtype } => {
                    let name = &defaults.info.params[arg].name;
                    let bytes = call.scalar(py, arg, dtype, name)?;
                    match (ScalarValue { dtype, bytes }).as_i64() {
                        Some(value) => value,
                        None => return Ok(None),
                    }
                }
            };
        }
        let size = self.chooser.choose(&values[..places.len()]);
        Ok(size.and_then(|size| Some(self.kernels.get(size)?.get())))
    }

    /// Looks up where a call has what makes a size.
    #[cold]
    fn find(&self, py: Python<'_>, defaults: &Kernel) -> PyResult<&Option<Vec<Place>>> {
        let compiled = defaults.emitted(py, Emit::Abi, None)?;
        let abi = compiled.abi.as_ref();
        let abi = abi.and_then(|abi| abi.kernel(&defaults.info.name));
        let places = abi.and_then(|abi| {
            let sources = size_sources(abi, &self.symbols)?;
            let places = sources.into_iter().map(|source| place(abi, source));
            places.collect()
        });
        Ok(self.places.get_or_init(|| places))
    }
}

/// Where a call has what is read so; `None` of a stride, by which no size is told.
fn place(abi: &KernelAbi, source: SymbolSource) -> Option<Place> {
    match source {
        SymbolSource::Extent { arg, mode } => {
            let before = abi.args.iter().take(arg);
            let array = before.filter(|arg| arg.as_tensor().is_some()).count();
            Some(Place::Extent { array, mode })
        }
        SymbolSource::Scalar { arg } => Some(Place::Scalar {
            arg,
            dtype: abi.args.get(arg)?.dtype(),
        }),
        SymbolSource::Stride { .. } => None,
    }
}
