//! A call of a kernel: its arguments sorted out and read, and the launch.

use super::{Kernel, Loaded, names};
use crate::arguments::{self, Rule};
use crate::arrays::Arrays;
use crate::errors;
use crate::gpu::Room;
use crate::simulator::Checks;
use cutec::runtime::DType;
use cutec_runtime::abi::counted;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};
use std::cell::Cell;

/// What a call needs, kept for the next one of the thread.
#[derive(Default)]
pub(super) struct Scratch {
    pub arrays: Arrays,
    pub scalars: Vec<[u8; 8]>,
    pub room: Room,
}

thread_local! {
    /// Taken while a call is under way: a call within it makes its own.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Options of a call beside the arguments.
#[derive(Default)]
pub(super) struct CallOptions {
    pub stream: Option<usize>,
    pub check: bool,
    pub schedule: u64,
}

/// Whether a call asks the kernel's plan, where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsePlan {
    Yes,
    No,
}

/// The arguments of a call in the order of the kernel's, what else it says, and its compile-time parameters.
pub(super) type Arranged<'py> = (Vec<Bound<'py, PyAny>>, CallOptions, Vec<(String, String)>);

/// The arguments of a call, wherever they come from.
pub trait Values {
    /// How many there are.
    fn count(&self) -> usize;

    /// Adds an array; false where the argument is none.
    fn array(&self, py: Python<'_>, index: usize, arrays: &mut Arrays) -> PyResult<bool>;

    /// A number in the type of a parameter.
    fn scalar(&self, py: Python<'_>, index: usize, dtype: DType, name: &str) -> PyResult<[u8; 8]>;
}

impl Values for [Bound<'_, PyAny>] {
    #[inline]
    fn count(&self) -> usize {
        self.len()
    }

    #[inline]
    fn array(&self, _: Python<'_>, index: usize, arrays: &mut Arrays) -> PyResult<bool> {
        arrays.add(&self[index])
    }

    #[inline]
    fn scalar(&self, _: Python<'_>, index: usize, dtype: DType, name: &str) -> PyResult<[u8; 8]> {
        arguments::scalar(&self[index], dtype, name)
    }
}

impl Kernel {
    /// Reads the arguments of a call: the arrays, then the numbers, in the types that the kernel has for them.
    #[inline]
    pub(super) fn read<'a>(
        &'a self,
        py: Python<'_>,
        values: &(impl Values + ?Sized),
        stream: Option<usize>,
        plan: UsePlan,
        scratch: &mut Scratch,
    ) -> PyResult<Loaded<'a>> {
        let Scratch {
            arrays, scalars, ..
        } = scratch;
        arrays.clear();
        arrays.stream = stream;
        scalars.clear();
        for (index, is_array) in self.is_array.iter().enumerate() {
            if *is_array && !values.array(py, index, arrays)? {
                let name = &self.info.params[index].name;
                let text = format!(
                    "`{name}`: expected an array, found what has neither `__dlpack__` nor an array interface"
                );
                return Err(errors::argument(py, text, "Kind", Some(name)));
            }
        }
        let chosen = match &self.planned {
            Some(planned) if plan == UsePlan::Yes => planned.choose(py, self, values, arrays)?,
            Some(_) | None => None,
        };
        let loaded = chosen.unwrap_or(self).on(py, arrays.place)?;
        let compilation = loaded.compilation();
        for (index, rule) in compilation.rules.iter().enumerate() {
            if let Rule::Scalar { dtype, decides } = rule {
                let name = &self.info.params[index].name;
                let value = values.scalar(py, index, *dtype, name)?;
                scalars.push(value);
                if *decides {
                    arrays.key.push(i64::from_le_bytes(value));
                }
            }
        }
        Ok(loaded)
    }

    /// Sorts out what a call is given.
    pub(super) fn arrange<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Arranged<'py>> {
        let params = &self.info.params;
        let mut options = CallOptions {
            check: self.check,
            ..CallOptions::default()
        };
        let mut defines = Vec::new();
        let mut found: Vec<Option<Bound<'py, PyAny>>> = vec![None; params.len()];
        let wrong = |text: String, kind, name: Option<&str>| {
            Err(errors::argument(
                py,
                format!("`{}`: {text}", self.info.name),
                kind,
                name,
            ))
        };
        if args.len() > params.len() {
            let text = format!(
                "takes {} ({}), found {}",
                counted(params.len(), "argument"),
                self.param_names(),
                args.len()
            );
            return wrong(text, "Count", None);
        }
        for (place, arg) in found.iter_mut().zip(args.iter()) {
            *place = Some(arg);
        }
        for (name, value) in named.into_iter().flatten() {
            let name: String = name.extract()?;
            if let Some(at) = params.iter().position(|param| param.name == name) {
                if found[at].replace(value).is_some() {
                    return wrong(format!("`{name}` is given twice"), "Count", Some(&name));
                }
                continue;
            }
            if self.info.statics.iter().any(|(known, _)| *known == name) {
                defines.push((name, define_text(&value)?));
                continue;
            }
            match name.as_str() {
                "stream" => options.stream = Some(stream_handle(&value)?),
                "check" => options.check = value.is_truthy()?,
                "schedule" => options.schedule = value.extract()?,
                _ => {
                    let text = format!(
                        "has no argument `{name}`: it takes {}, compile-time parameters {}, and the options \
                         `stream`, `check`, `schedule`",
                        self.param_names(),
                        names(self.info.statics.iter().map(|(name, _)| name.as_str())),
                    );
                    return wrong(text, "Name", Some(&name));
                }
            }
        }
        let missing = params.iter().zip(&found).find(|(_, arg)| arg.is_none());
        if let Some((param, _)) = missing {
            let text = format!(
                "`{}` is missing: it takes {}",
                param.name,
                self.param_names()
            );
            return wrong(text, "Count", Some(&param.name));
        }
        Ok((found.into_iter().flatten().collect(), options, defines))
    }

    pub(super) fn param_names(&self) -> String {
        names(self.info.params.iter().map(|param| param.name.as_str()))
    }

    /// Launches with positional arguments only, as many as there are.
    #[inline]
    pub(super) fn launch(
        &self,
        py: Python<'_>,
        values: &(impl Values + ?Sized),
        options: &CallOptions,
    ) -> PyResult<()> {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let mut launched = self.launch_with(py, values, options, UsePlan::Yes, &mut scratch);
        if let Err(error) = &launched
            && self.planned.is_some()
            && errors::is_argument(py, error)
        {
            // What the chosen configuration refuses, nothing being launched, the defaults may take.
            launched = self.launch_with(py, values, options, UsePlan::No, &mut scratch);
        }
        scratch.arrays.clear();
        SCRATCH.set(Some(scratch));
        launched
    }

    #[inline]
    fn launch_with(
        &self,
        py: Python<'_>,
        values: &(impl Values + ?Sized),
        options: &CallOptions,
        plan: UsePlan,
        scratch: &mut Scratch,
    ) -> PyResult<()> {
        let loaded = self.read(py, values, options.stream, plan, scratch)?;
        let Scratch {
            arrays,
            scalars,
            room,
        } = scratch;
        match loaded {
            Loaded::Gpu(_) if options.check => {
                let text = "`check` is of the simulator: give arrays in memory of the host";
                Err(errors::argument(py, text, "Device", None))
            }
            Loaded::Gpu(kernel) => {
                let stream = arrays.stream.unwrap_or(0);
                kernel.launch(py, arrays, scalars, stream, room)
            }
            Loaded::Simulator(kernel) => {
                let checks = Checks {
                    races: options.check,
                    schedule: options.schedule,
                };
                kernel.launch(py, arrays, scalars, checks)
            }
        }
    }

    /// Launches with arguments of another library, all of them and in order.
    pub fn launch_values(&self, py: Python<'_>, values: &impl Values) -> PyResult<()> {
        if values.count() != self.info.params.len() {
            let text = format!(
                "`{}`: takes {} ({}), found {}",
                self.info.name,
                counted(self.info.params.len(), "argument"),
                self.param_names(),
                values.count()
            );
            return Err(errors::argument(py, text, "Count", None));
        }
        let options = CallOptions {
            check: self.check,
            ..CallOptions::default()
        };
        self.launch(py, values, &options)
    }
}

/// Values of compile-time parameters as text of the language.
pub fn define_texts(parameters: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let parameters = parameters.iter();
    let texts = parameters.map(|(name, value)| Ok((name.extract()?, define_text(&value)?)));
    texts.collect()
}

/// `True` is `true`, a tuple is one, a NumPy type is its element type, and text stands for itself.
fn define_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(value.is_true().to_string());
    }
    if let Ok(parts) = value.cast::<PyTuple>() {
        let parts: Vec<String> = parts
            .iter()
            .map(|part| define_text(&part))
            .collect::<PyResult<_>>()?;
        return Ok(format!("({})", parts.join(", ")));
    }
    value.str()?.extract()
}

/// A stream as CUDA's handle: a number, or what frameworks have for one.
fn stream_handle(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    for name in ["cuda_stream", "ptr", "handle"] {
        if let Ok(handle) = value.getattr(name) {
            return handle.extract();
        }
    }
    value.extract()
}
