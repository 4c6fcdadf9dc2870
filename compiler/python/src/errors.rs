//! Errors as exceptions of `cutec._errors`, with the rendered text and the data that it shows.

use crate::program::Built;
use cutec::fault::Fault;
use cutec::runtime::abi::BindError;
use cutec::runtime::sim::ErrorKind;
use cutec::runtime::{DeviceError, RunError};
use cutec::{CacheError, Diagnostic, Diagnostics, RenderOptions, Severity, SourceMap, Span};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyType};

/// A class of `cutec._errors`, looked up once.
macro_rules! class {
    ($function:ident, $name:literal) => {
        fn $function(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(py, "cutec._errors", $name)
        }
    };
}

class!(compile_error_class, "CompileError");
class!(argument_error_class, "ArgumentError");
class!(kernel_error_class, "KernelError");
class!(race_error_class, "RaceError");
class!(device_error_class, "DeviceError");
class!(diagnostic_class, "Diagnostic");
class!(label_class, "Label");
class!(span_class, "Span");

/// An exception of a class, from its positional arguments; an error on the way is raised instead.
fn raise<'py, A>(class: PyResult<&Bound<'py, PyType>>, arguments: A) -> PyErr
where
    A: pyo3::call::PyCallArgs<'py>,
{
    match class.and_then(|class| class.call1(arguments)) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// A source that does not compile.
pub fn compile(py: Python<'_>, error: &Diagnostics) -> PyErr {
    let rendered = error.render(RenderOptions::PLAIN);
    let data = diagnostics(py, &error.problems, &error.sources);
    let failures: Vec<String> = error.failures.iter().map(ToString::to_string).collect();
    match data {
        Ok(data) => raise(
            compile_error_class(py),
            (rendered.trim_end(), data, failures),
        ),
        Err(error) => error,
    }
}

/// A compilation by way of the cache that gives nothing.
pub fn cached(py: Python<'_>, error: &CacheError) -> PyErr {
    match error {
        CacheError::Source(error) => compile(py, error),
        CacheError::Artifact(error) => raise(
            compile_error_class(py),
            (error.to_string(), PyList::empty(py), [error.to_string()]),
        ),
    }
}

/// What is wrong before or beside the source: a file that cannot be read, an unknown target.
pub fn message(py: Python<'_>, text: impl ToString) -> PyErr {
    let text = text.to_string();
    raise(
        compile_error_class(py),
        (text.clone(), PyList::empty(py), [text]),
    )
}

/// An argument that the package itself refuses; `kind` as in [`bind`].
pub fn argument(py: Python<'_>, text: impl ToString, kind: &str, name: Option<&str>) -> PyErr {
    raise(argument_error_class(py), (text.to_string(), kind, name))
}

/// Whether an error is one of arguments that do not fit.
pub fn is_argument(py: Python<'_>, error: &PyErr) -> bool {
    argument_error_class(py).is_ok_and(|class| error.is_instance(py, class))
}

/// Arguments that do not fit a kernel.
pub fn bind(py: Python<'_>, kernel: &str, error: &BindError) -> PyErr {
    let kind = error.status().to_string();
    argument(py, format!("`{kernel}`: {error}"), &kind, error.arg())
}

/// A launch that went wrong.
pub fn run(py: Python<'_>, kernel: &str, error: &RunError, built: &Built) -> PyErr {
    match error {
        RunError::Bind(error) => bind(py, kernel, error),
        RunError::Device(error) => device(py, kernel, error, built),
    }
}

/// A device that failed, or a kernel on it.
pub fn device(py: Python<'_>, kernel: &str, error: &DeviceError, built: &Built) -> PyErr {
    let Some(fault) = error.sim() else {
        return raise(device_error_class(py), (error.to_string(),));
    };
    let class = if matches!(fault.kind, ErrorKind::Race { .. }) {
        race_error_class(py)
    } else {
        kernel_error_class(py)
    };
    let sources = &built.sources;
    let found = Fault::of(error, sources, &built.calls).diagnostic(kernel);
    let rendered = match &found {
        Some(found) => cutec::report::render(
            std::slice::from_ref(found),
            &[],
            sources,
            RenderOptions::PLAIN,
        ),
        None => format!("`{kernel}` failed: {error}"),
    };
    match diagnostics(py, found.as_slice(), sources) {
        Ok(data) => raise(class, (rendered.trim_end(), data)),
        Err(error) => error,
    }
}

/// A device that is not there, or that cannot do what it is asked for.
pub fn no_device(py: Python<'_>, text: impl ToString) -> PyErr {
    raise(device_error_class(py), (text.to_string(),))
}

/// Diagnostics as objects of `cutec._errors.Diagnostic`.
pub fn diagnostics<'py>(
    py: Python<'py>,
    found: &[Diagnostic],
    sources: &SourceMap,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for diagnostic in found {
        let labels = PyList::empty(py);
        for label in &diagnostic.labels {
            let place = span(py, label.span, sources)?;
            labels.append(label_class(py)?.call1((place, label.text.as_str()))?)?;
        }
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
        };
        let rendered = cutec::report::render(
            std::slice::from_ref(diagnostic),
            &[],
            sources,
            RenderOptions::PLAIN,
        );
        let fields = PyDict::new(py);
        fields.set_item("code", diagnostic.code.to_string())?;
        fields.set_item("severity", severity)?;
        fields.set_item("message", diagnostic.message.as_str())?;
        fields.set_item("labels", labels)?;
        fields.set_item("notes", diagnostic.notes.as_slice())?;
        fields.set_item("help", diagnostic.help.as_deref())?;
        fields.set_item("rendered", rendered.trim_end())?;
        list.append(diagnostic_class(py)?.call((), Some(&fields))?)?;
    }
    Ok(list)
}

fn span<'py>(py: Python<'py>, span: Span, sources: &SourceMap) -> PyResult<Bound<'py, PyAny>> {
    let file = sources.file(span.file);
    let (start, end) = (file.line_column(span.start), file.line_column(span.end));
    span_class(py)?.call1((
        file.name(),
        start.line,
        start.column,
        end.line,
        end.column,
        span.start,
        span.end,
    ))
}
