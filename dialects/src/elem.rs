//! Element types: what a register, a shared-memory cell or a tensor holds.
use cutec_abi::DType;
use std::fmt;

/// Element type of a pointer, a view or an atom, named as MLIR names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Elem {
    I1,
    I4,
    U4,
    I8,
    U8,
    I16,
    I32,
    U32,
    I64,
    U64,
    F4E2M1,
    F8E4M3,
    F8E5M2,
    F16,
    BF16,
    TF32,
    F32,
    F64,
}

impl Elem {
    /// Every element type with its MLIR name.
    pub const ALL: [(Elem, &'static str); 18] = [
        (Elem::I1, "i1"),
        (Elem::I4, "i4"),
        (Elem::U4, "ui4"),
        (Elem::I8, "i8"),
        (Elem::U8, "ui8"),
        (Elem::I16, "i16"),
        (Elem::I32, "i32"),
        (Elem::U32, "ui32"),
        (Elem::I64, "i64"),
        (Elem::U64, "ui64"),
        (Elem::F4E2M1, "f4E2M1FN"),
        (Elem::F8E4M3, "f8E4M3FN"),
        (Elem::F8E5M2, "f8E5M2"),
        (Elem::F16, "f16"),
        (Elem::BF16, "bf16"),
        (Elem::TF32, "tf32"),
        (Elem::F32, "f32"),
        (Elem::F64, "f64"),
    ];

    /// The element type of an MLIR type text.
    pub fn parse(text: &str) -> Option<Elem> {
        Elem::ALL
            .iter()
            .find(|(_, name)| *name == text)
            .map(|(elem, _)| *elem)
    }

    /// Its MLIR name.
    pub fn name(self) -> &'static str {
        Elem::ALL
            .iter()
            .find(|(elem, _)| *elem == self)
            .map_or("", |(_, name)| name)
    }

    /// Bits that one element takes in memory (a predicate takes a byte).
    pub fn bits(self) -> i64 {
        match self {
            Elem::I4 | Elem::U4 | Elem::F4E2M1 => 4,
            Elem::I1 | Elem::I8 | Elem::U8 | Elem::F8E4M3 | Elem::F8E5M2 => 8,
            Elem::I16 | Elem::F16 | Elem::BF16 => 16,
            Elem::I32 | Elem::U32 | Elem::F32 | Elem::TF32 => 32,
            Elem::I64 | Elem::U64 | Elem::F64 => 64,
        }
    }

    /// Bytes that one element takes in memory, by itself.
    pub fn bytes(self) -> i64 {
        self.bytes_of(1)
    }

    /// Bytes that so many neighbouring elements take in memory.
    pub fn bytes_of(self, count: i64) -> i64 {
        count.saturating_mul(self.bits()).saturating_add(7) / 8
    }

    /// The type of such elements in a host's tensor, and of such a number that a host passes; none for
    /// what is packed. A host has more types than the machine computes with: [`DType`] knows
    /// unsigned integers of every width, which are signed here.
    pub fn dtype(self) -> Option<DType> {
        Some(match self {
            Elem::I4 | Elem::U4 | Elem::F4E2M1 => return None,
            Elem::I1 => DType::Bool,
            Elem::I8 => DType::I8,
            Elem::U8 => DType::U8,
            Elem::I16 => DType::I16,
            Elem::I32 => DType::I32,
            Elem::U32 => DType::U32,
            Elem::I64 => DType::I64,
            Elem::U64 => DType::U64,
            Elem::F8E4M3 => DType::F8E4M3,
            Elem::F8E5M2 => DType::F8E5M2,
            Elem::F16 => DType::F16,
            Elem::BF16 => DType::BF16,
            Elem::TF32 => DType::TF32,
            Elem::F32 => DType::F32,
            Elem::F64 => DType::F64,
        })
    }

    /// Whether a byte holds several elements, the first in its lower bits. They are moved in whole
    /// bytes and multiplied by MMAs; there are no values of one.
    pub fn is_packed(self) -> bool {
        self.bits() < 8
    }

    /// Whether this is a floating-point type.
    pub fn is_float(self) -> bool {
        !matches!(
            self,
            Elem::I1
                | Elem::I4
                | Elem::U4
                | Elem::I8
                | Elem::U8
                | Elem::I16
                | Elem::I32
                | Elem::U32
                | Elem::I64
                | Elem::U64
        )
    }

    /// Whether this is an integer type without negative numbers.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Elem::I1 | Elem::U4 | Elem::U8 | Elem::U32 | Elem::U64)
    }

    /// The type of an SSA value of one element: where the machine has no registers of a type, that
    /// of its bits.
    pub fn value_type(self) -> &'static str {
        match self {
            Elem::U8 | Elem::F8E4M3 | Elem::F8E5M2 => "i8",
            Elem::U4 => "i4",
            Elem::U32 => "i32",
            Elem::U64 => "i64",
            Elem::TF32 => "f32",
            other => other.name(),
        }
    }

    /// Its name in the language, as messages for users have it.
    pub fn language_name(self) -> &'static str {
        match self {
            Elem::I1 => "bool",
            Elem::U4 => "u4",
            Elem::U8 => "u8",
            Elem::U32 => "u32",
            Elem::U64 => "u64",
            Elem::F4E2M1 => "f4e2m1",
            Elem::F8E4M3 => "f8e4m3",
            Elem::F8E5M2 => "f8e5m2",
            Elem::I4
            | Elem::I8
            | Elem::I16
            | Elem::I32
            | Elem::I64
            | Elem::F16
            | Elem::BF16
            | Elem::TF32
            | Elem::F32
            | Elem::F64 => self.name(),
        }
    }

    /// Its name in PTX, and in CuTe's names of instructions.
    pub fn ptx(self) -> &'static str {
        match self {
            Elem::I1 => "pred",
            Elem::I4 => "s4",
            Elem::U4 => "u4",
            Elem::I8 => "s8",
            Elem::U8 => "u8",
            Elem::I16 => "s16",
            Elem::I32 => "s32",
            Elem::U32 => "u32",
            Elem::I64 => "s64",
            Elem::U64 => "u64",
            Elem::F4E2M1 => "e2m1",
            Elem::F8E4M3 => "e4m3",
            Elem::F8E5M2 => "e5m2",
            Elem::F16 => "f16",
            Elem::BF16 => "bf16",
            Elem::TF32 => "tf32",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
        }
    }

    /// Whether there is arithmetic on it; what is only stored or multiplied by an MMA has none.
    pub fn has_arithmetic(self) -> bool {
        let unsigned = matches!(self, Elem::U32 | Elem::U64);
        (self.value_type() == self.name() || unsigned) && !self.is_packed()
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Memory space of a pointer or a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Global memory.
    Gmem,
    /// Shared memory of the CTA.
    Smem,
    /// Shared memory of a CTA of the cluster, the own one or another (PTX ISA, "Distributed shared memory").
    Dsmem,
    /// Registers of one thread.
    Rmem,
}

impl Space {
    /// The space of a keyword.
    pub fn parse(text: &str) -> Option<Space> {
        match text {
            "gmem" => Some(Space::Gmem),
            "smem" => Some(Space::Smem),
            "dsmem" => Some(Space::Dsmem),
            "rmem" => Some(Space::Rmem),
            _ => None,
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Space::Gmem => "gmem",
            Space::Smem => "smem",
            Space::Dsmem => "dsmem",
            Space::Rmem => "rmem",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two lists of element types say the same of what both have.
    #[test]
    fn a_host_stores_elements_as_the_machine_does() {
        for (elem, name) in Elem::ALL {
            let Some(dtype) = elem.dtype() else {
                assert!(elem.is_packed(), "{name}");
                continue;
            };
            assert_eq!(dtype.size() as i64, elem.bytes(), "{name}");
            assert_eq!(dtype.is_float(), elem.is_float(), "{name}");
        }
    }
}
