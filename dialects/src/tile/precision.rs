//! How products of f32 are multiplied.
use crate::elem::Elem;
use melior::ir::operation::OperationLike;

/// The attribute of a `tile.dot` that says it.
pub const PRECISION: &str = "precision";

/// How the factors of a product are multiplied that are f32. Tensor cores multiply tf32, f32 of which 10 bits of the mantissa are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// As they are, by fused multiply-adds of f32.
    #[default]
    Ieee,
    /// As tf32, by tensor cores.
    Tf32,
    /// As the sums of two tf32 each, by three products of tensor cores: about the accuracy of f32.
    Tf32x3,
}

impl Precision {
    /// Every name, the default first.
    pub const NAMES: [&'static str; 3] = ["ieee", "tf32", "tf32x3"];

    /// Its name in the language and in the IR.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Ieee => "ieee",
            Precision::Tf32 => "tf32",
            Precision::Tf32x3 => "tf32x3",
        }
    }

    /// The one of a name.
    pub fn of_name(name: &str) -> Option<Precision> {
        let all = [Precision::Ieee, Precision::Tf32, Precision::Tf32x3];
        all.into_iter().find(|precision| precision.name() == name)
    }

    /// What a product says, [`Precision::Ieee`] where it says nothing.
    ///
    /// # Errors
    /// What is expected, where it says something else.
    pub fn of<'c: 'a, 'a>(dot: &impl OperationLike<'c, 'a>) -> Result<Precision, String> {
        let Ok(attribute) = dot.attribute(PRECISION) else {
            return Ok(Precision::Ieee);
        };
        let text = attribute.to_string();
        Precision::of_name(text.trim_matches('"')).ok_or_else(|| {
            let names = Precision::NAMES.join("`, `");
            format!("expects one of `{names}` as `precision`, but got {text}")
        })
    }

    /// The element type of the instruction that multiplies factors of a type.
    pub fn multiplied_as(self, factor: Elem) -> Elem {
        match self {
            Precision::Ieee => factor,
            Precision::Tf32 | Precision::Tf32x3 => Elem::TF32,
        }
    }
}
