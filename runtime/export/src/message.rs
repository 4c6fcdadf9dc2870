//! The messages of [`BindError`] as formats of `printf`: each is rendered with numbers that stand for those of a launch, which
//! then make room for conversions. So an exported kernel says what `Abi::bind` says.

use crate::names::literal;
use cutec_abi::BindError;

/// A number of a launch, in a message that is made before.
#[derive(Clone, Copy, Debug)]
pub struct Hole(u32);

impl Hole {
    /// One of several, which differ by their numbers.
    pub const fn new(number: u32) -> Hole {
        Hole(4_111_222_330 + number)
    }

    /// As an extent or a stride.
    pub fn i64(self) -> i64 {
        i64::from(self.0) * 1_000_000_000
    }

    /// As an alignment.
    pub fn u64(self) -> u64 {
        self.i64() as u64
    }

    /// As a mode.
    pub fn usize(self) -> usize {
        self.i64() as usize
    }

    /// As a number of blocks.
    pub fn u32(self) -> u32 {
        self.0
    }

    /// As a shape.
    pub fn list(self) -> Vec<i64> {
        vec![self.i64()]
    }

    /// What it looks like in a message, longest first, with the conversions.
    fn forms(self) -> [(String, &'static str); 3] {
        [
            (format!("[{}]", self.i64()), "%s"),
            (self.i64().to_string(), "%lld"),
            (self.u32().to_string(), "%lld"),
        ]
    }
}

/// A literal of the format, and its values in order.
#[derive(Clone, Debug)]
pub struct Format {
    /// The literal.
    pub literal: String,
    /// Expressions of C.
    pub values: Vec<String>,
}

/// The format of a message, with what stands in each hole: an integer, or a text in place of a list.
pub fn format(text: &str, holes: &[(Hole, &str)]) -> Format {
    let text = text.replace('%', "%%");
    let (mut rest, mut said, mut values) = (text.as_str(), String::new(), Vec::new());
    let forms: Vec<(String, &str, &str)> = holes
        .iter()
        .flat_map(|(hole, value)| {
            hole.forms()
                .map(|(form, conversion)| (form, conversion, *value))
        })
        .collect();
    loop {
        let found = forms
            .iter()
            .filter_map(|(form, conversion, value)| {
                Some((rest.find(form.as_str())?, form, *conversion, *value))
            })
            .min_by_key(|(at, form, ..)| (*at, usize::MAX - form.len()));
        let Some((at, form, conversion, value)) = found else {
            said.push_str(rest);
            break;
        };
        said.push_str(&rest[..at]);
        said.push_str(conversion);
        values.push(match conversion {
            "%s" => value.to_owned(),
            _ => format!("(long long){value}"),
        });
        rest = &rest[at + form.len()..];
    }
    Format {
        literal: literal(&said),
        values,
    }
}

/// The statement that refuses a launch.
pub fn refuse(error: &BindError, holes: &[(Hole, &str)]) -> String {
    let Format { literal, values } = format(&error.to_string(), holes);
    let values: String = values.iter().map(|value| format!(", {value}")).collect();
    format!(
        "return fail(CUTEC_{}, {literal}{values});",
        error.status().c_name()
    )
}

/// The statement that refuses an element type; `found` is the name of the other one.
pub fn refuse_type(error: &BindError, found: cutec_abi::DType, value: &str) -> String {
    let text = error.to_string().replace('%', "%%");
    let text = text.strip_suffix(found.name()).unwrap_or(&text);
    let literal = literal(&format!("{text}%s"));
    format!(
        "return fail(CUTEC_{}, {literal}, {value});",
        error.status().c_name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutec_abi::DType;

    #[test]
    fn numbers_of_a_launch_become_conversions_in_their_order() {
        let (first, second) = (Hole::new(0), Hole::new(1));
        let error = BindError::Rank {
            arg: "100%".into(),
            expected: 2,
            found: first.usize(),
            shape: second.list(),
        };
        let text = refuse(&error, &[(second, "LIST(shape)"), (first, "rank")]);
        let format = "\"`100%%`: expected rank 2, found rank %lld (shape %s)\"";
        assert_eq!(
            text,
            format!("return fail(CUTEC_RANK, {format}, (long long)rank, LIST(shape));")
        );
        let error = BindError::DType {
            arg: "a".into(),
            expected: DType::F16,
            found: DType::BF16,
        };
        let text = refuse_type(&error, DType::BF16, "name");
        assert!(
            text.contains("\"`a`: expected element type f16, found %s\", name"),
            "{text}"
        );
    }
}
