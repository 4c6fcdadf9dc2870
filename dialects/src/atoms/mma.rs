//! Products: what every MMA instruction says of itself, and an instruction with the types of its operands.
use super::fields::{DIALECT, Fields};
use super::{AtomError, Completion, Fma, Issuer, MmaSync, Place, Wgmma, legal_on};
use crate::elem::Elem;
use crate::target::{Feature, Target};
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::tv::Operand;
use std::cmp::Reverse;
use std::fmt;

/// The definition of an MMA instruction: the one place that knows what it is. Operands are A, B, and the accumulator C,
/// which is D as well, in this order.
pub trait MmaInstruction {
    /// The name of its type in the IR: `sm80.mma` of `!cute_nvgpu.sm80.mma<…>`.
    fn type_name() -> &'static str
    where
        Self: Sized;

    /// Reads the parameters of its type.
    ///
    /// # Errors
    /// Where they have another form.
    fn parse(fields: &mut Fields) -> Result<MmaAtom, TypeError>
    where
        Self: Sized;

    /// Every form of it, for all types that it multiplies.
    fn all() -> Vec<MmaAtom>
    where
        Self: Sized;

    /// The parameters of its type, as [`MmaInstruction::parse`] reads them.
    fn parameters(&self, atom: &MmaAtom) -> String;

    /// Its name for people: `sm80_16x8x16_f32bf16bf16f32`.
    fn name(&self, atom: &MmaAtom) -> String;

    /// Checks that it multiplies elements of these types.
    ///
    /// # Errors
    /// What it multiplies instead.
    fn verify(&self, atom: &MmaAtom) -> Result<(), AtomError>;

    /// Which threads execute it together.
    fn issuer(&self) -> Issuer;

    /// When D is written.
    fn completion(&self) -> Completion;

    /// Where the operands live.
    fn places(&self) -> [Place; 3];

    /// How a thread holds the operands that live in registers.
    fn registers(&self, atom: &MmaAtom) -> [Register; 3];

    /// What a target must have for it.
    fn needs(&self, atom: &MmaAtom) -> Option<Feature>;

    /// M, N and K.
    fn shape(&self) -> [i64; 3];

    /// (thread, value) of A in (M, K), of B in (N, K) and of C in (M, N), for types that it multiplies.
    fn layouts(&self, atom: &MmaAtom) -> [Layout; 3];

    /// What `--remarks` says of one: `fma of f32`.
    fn remark(&self, atom: &MmaAtom) -> String;

    /// How its PTX begins.
    fn ptx(&self, atom: &MmaAtom) -> String;
}

/// What a register of an operand holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// One element, as a number of its type.
    Element,
    /// Two neighbouring elements of f16, as a vector.
    HalfPair,
    /// As many neighbouring elements as fit 32 bits, as an integer.
    Word,
}

impl Register {
    /// How many elements of so many bits it holds.
    pub fn elements(self, bits: i64) -> i64 {
        match self {
            Register::Element => 1,
            Register::HalfPair => 2,
            Register::Word => (32 / bits).max(1),
        }
    }
}

/// Lists the MMA instructions, tensor cores first.
macro_rules! mma_instructions {
    ($($name:ident),*) => {
        /// The instruction of an MMA atom.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum MmaOp {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)*
        }

        impl MmaOp {
            /// What the instruction says of itself.
            pub fn instruction(&self) -> &dyn MmaInstruction {
                match self {
                    $(MmaOp::$name(op) => op,)*
                }
            }

            fn type_name(&self) -> &'static str {
                match self {
                    $(MmaOp::$name(_) => $name::type_name(),)*
                }
            }
        }

        impl MmaAtom {
            /// Every form of every instruction, for all types that it multiplies.
            pub fn all() -> Vec<MmaAtom> {
                let mut all = Vec::new();
                $(all.extend($name::all());)*
                all
            }
        }

        /// The readers of the types of MMA atoms, by their names.
        pub(super) const READERS: &[(fn() -> &'static str, fn(&mut Fields) -> Result<MmaAtom, TypeError>)] =
            &[$(($name::type_name, $name::parse)),*];
    };
}

mma_instructions!(Wgmma, MmaSync, Fma);

/// An MMA instruction for given element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MmaAtom {
    /// The instruction.
    pub op: MmaOp,
    /// Element type of A.
    pub a: Elem,
    /// Element type of B.
    pub b: Elem,
    /// Element type of C and D.
    pub c: Elem,
}

/// What an MMA atom says of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmaOperand {
    /// Its element type.
    pub elem: Elem,
    /// Where it lives.
    pub place: Place,
    /// What a register of it holds, where it lives in registers.
    pub register: Register,
}

/// Thread-value layouts of an MMA atom.
#[derive(Clone, Debug)]
pub struct MmaLayouts {
    /// (M, N, K).
    pub shape: [i64; 3],
    /// Threads that take part.
    pub threads: i64,
    /// (thread, value) into A, column-major (M, K).
    pub a: Layout,
    /// (thread, value) into B, column-major (N, K).
    pub b: Layout,
    /// (thread, value) into C, column-major (M, N).
    pub c: Layout,
}

impl MmaAtom {
    /// The instructions that multiply elements of these types, the best first: those of tensor cores before those of
    /// single threads, the longer along k before the shorter.
    pub fn of_types([a, b, c]: [Elem; 3]) -> Vec<MmaAtom> {
        let multiplies =
            |atom: &MmaAtom| (atom.a, atom.b, atom.c) == (a, b, c) && !atom.has_sparse_a();
        let mut found: Vec<MmaAtom> = MmaAtom::all().into_iter().filter(multiplies).collect();
        let [m, n, k] = [0, 1, 2].map(|mode| move |atom: &MmaAtom| atom.shape()[mode]);
        found.sort_by_key(|atom| Reverse((atom.issuer().threads(), k(atom), m(atom), n(atom))));
        found
    }

    /// Checks that the instruction exists.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verify(&self) -> Result<(), AtomError> {
        self.op.instruction().verify(self)
    }

    /// Checks that the target has the instruction.
    ///
    /// # Errors
    /// Which targets have it.
    pub fn legal_on(&self, target: &Target) -> Result<(), AtomError> {
        legal_on(self, self.op.instruction().needs(self), target)
    }

    /// Which threads execute it together.
    pub fn issuer(&self) -> Issuer {
        self.op.instruction().issuer()
    }

    /// When D is written.
    pub fn completion(&self) -> Completion {
        self.op.instruction().completion()
    }

    /// What it says of an operand; C is D as well.
    pub fn operand(&self, which: Operand) -> MmaOperand {
        let instruction = self.op.instruction();
        let (index, elem) = match which {
            Operand::A => (0, self.a),
            Operand::B => (1, self.b),
            Operand::C => (2, self.c),
        };
        MmaOperand {
            elem,
            place: instruction.places()[index],
            register: instruction.registers(self)[index],
        }
    }

    /// M, N and K.
    pub fn shape(&self) -> [i64; 3] {
        self.op.instruction().shape()
    }

    /// How its PTX begins.
    pub fn ptx(&self) -> String {
        self.op.instruction().ptx(self)
    }

    /// Whether A is sparse: a product takes a word for each instruction as well that tells where its elements belong.
    pub fn has_sparse_a(&self) -> bool {
        match self.op {
            MmaOp::Wgmma(shape) => shape.sparse.is_some(),
            MmaOp::MmaSync(_) | MmaOp::Fma(_) => false,
        }
    }

    /// Thread-value layouts.
    ///
    /// # Errors
    /// Where [`MmaAtom::verify`] has.
    pub fn layouts(&self) -> Result<MmaLayouts, AtomError> {
        self.verify()?;
        let instruction = self.op.instruction();
        let [a, b, c] = instruction.layouts(self);
        Ok(MmaLayouts {
            shape: instruction.shape(),
            threads: instruction.issuer().threads(),
            a,
            b,
            c,
        })
    }

    /// The instructions that are most like one that there is not: by its operands, its shape and its accumulator, and
    /// issued by as many threads, from the same places, both sparse or both not.
    pub fn near(&self) -> Vec<MmaAtom> {
        let far = |differs: bool, weight: u32| if differs { weight } else { 0 };
        let [m, n, k] = self.shape();
        let apart = |atom: &MmaAtom| {
            let [other_m, other_n, other_k] = atom.shape();
            (other_m - m).abs() + (other_n - n).abs() + (other_k - k).abs()
        };
        let distance = |atom: &MmaAtom| {
            far(atom.a.bits() != self.a.bits(), 4)
                + far(atom.a != self.a, 3)
                + far(atom.b != self.b, 3)
                + far(atom.shape() != self.shape(), 2)
                + far(atom.c != self.c, 1)
        };
        let mut alike = MmaAtom::all();
        let places = |atom: &MmaAtom| atom.op.instruction().places();
        alike.retain(|atom| {
            atom.issuer() == self.issuer()
                && places(atom) == places(self)
                && atom.has_sparse_a() == self.has_sparse_a()
        });
        alike.sort_by_key(|atom| (distance(atom), apart(atom)));
        alike.truncate(4);
        alike
    }

    /// The instructions near one that there is not, in words.
    pub(super) fn near_text(&self) -> String {
        let names = self.near().into_iter().map(|atom| {
            let ([m, n, k], MmaAtom { a, b, c, .. }) = (atom.shape(), atom);
            let operands = match a == b {
                true => a.to_string(),
                false => format!("{a} and {b}"),
            };
            format!("m{m}n{n}k{k} {operands} to {c}")
        });
        names.collect::<Vec<_>>().join(", ")
    }

    /// Its shape and its types, in words.
    pub(super) fn types_text(&self) -> String {
        let ([m, n, k], MmaAtom { a, b, c, .. }) = (self.shape(), self);
        format!("m{m}n{n}k{k} with A {a}, B {b} and accumulator {c}")
    }
}

impl fmt::Display for MmaAtom {
    /// Its type in the IR.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parameters = self.op.instruction().parameters(self);
        write!(f, "{DIALECT}{}<{parameters}>", self.op.type_name())
    }
}
