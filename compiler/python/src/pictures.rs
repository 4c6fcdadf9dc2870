//! Layouts and atoms, as text and as pictures in notebooks.

use cutec_driver::error::CommandError;
use cutec_driver::layout::{AtomPicture, LayoutPicture};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The value of a layout expression.
#[pyclass(frozen, module = "cutec")]
pub struct Layout(LayoutPicture);

/// A copy or MMA instruction: who holds which elements.
#[pyclass(frozen, module = "cutec")]
pub struct Atom {
    name: String,
    picture: AtomPicture,
}

/// Evaluate a layout expression, such as `composition((8,8):(8,1), 4:2)`. With `tile` it maps (thread, value) to a place in
/// a tile of that shape, which is drawn; with `bits` of an element it is drawn with the banks of shared memory.
#[pyfunction]
#[pyo3(signature = (expression, *, tile = None, bits = None))]
pub fn layout(expression: &str, tile: Option<&str>, bits: Option<u32>) -> PyResult<Layout> {
    let picture = LayoutPicture::of(expression, tile, bits).map_err(wrong)?;
    Ok(Layout(picture))
}

/// A copy or MMA instruction by name, such as `ldmatrix_x4` or `sm80_16x8x16_f32f16f16f32`.
#[pyfunction]
pub fn atom(name: &str) -> PyResult<Atom> {
    Ok(Atom {
        name: name.to_owned(),
        picture: AtomPicture::of(name).map_err(wrong)?,
    })
}

/// The names of all atoms.
#[pyfunction]
pub fn atoms() -> Vec<String> {
    let all = cutec_dialects::atoms::all();
    all.into_iter().map(|(name, _)| name).collect()
}

fn wrong(error: CommandError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Layout {
    /// A grid of characters; `None` of what is no layout.
    #[getter]
    fn grid(&self) -> Option<&str> {
        self.0.grid.as_deref()
    }

    /// A drawing; `None` of what is no layout.
    #[getter]
    fn svg(&self) -> Option<&str> {
        self.0.svg.as_deref()
    }

    fn __str__(&self) -> &str {
        &self.0.text
    }

    fn __repr__(&self) -> &str {
        &self.0.text
    }

    fn _repr_svg_(&self) -> Option<&str> {
        self.svg()
    }
}

#[pymethods]
impl Atom {
    /// Grids of characters, one an operand.
    #[getter]
    fn grid(&self) -> PyResult<String> {
        self.picture.text().map_err(wrong)
    }

    /// A drawing.
    #[getter]
    fn svg(&self) -> PyResult<String> {
        self.picture.svg().map_err(wrong)
    }

    fn __str__(&self) -> PyResult<String> {
        self.grid()
    }

    fn __repr__(&self) -> String {
        format!("<atom {}>", self.name)
    }

    fn _repr_svg_(&self) -> PyResult<String> {
        self.svg()
    }
}
