//! Copies: what every copy instruction says of itself, and an instruction with the type of its elements.
use super::fields::{DIALECT, Fields};
use super::{
    AtomError, Completion, CpAsync, Issuer, Ldmatrix, Place, Red, Stmatrix, UniversalCopy, legal_on,
};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::{Feature, Target};
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;
use std::fmt;

/// The definition of a copy instruction: the one place that knows what it is.
pub trait CopyInstruction {
    /// The name of its type in the IR: `atom.ldsm` of `!cute_nvgpu.atom.ldsm<…>`.
    fn type_name() -> &'static str
    where
        Self: Sized;

    /// Reads the parameters of its type.
    ///
    /// # Errors
    /// Where they have another form.
    fn parse(fields: &mut Fields) -> Result<CopyAtom, TypeError>
    where
        Self: Sized;

    /// Every form of it, the widest last, each with the elements by which it is shown.
    fn all() -> Vec<(Self, Elem)>
    where
        Self: Sized;

    /// The parameters of its type, as [`CopyInstruction::parse`] reads them.
    fn parameters(&self, atom: &CopyAtom) -> String;

    /// Its name for people: `ldmatrix_x4`.
    fn name(&self) -> String;

    /// Checks that it moves elements of a type.
    ///
    /// # Errors
    /// What it moves instead.
    fn verify(&self, elem: Elem) -> Result<(), AtomError>;

    /// The first of some hints that it does not take.
    fn refused_hint(&self, hints: &Hints) -> Option<String>;

    /// Which threads execute it together.
    fn issuer(&self) -> Issuer;

    /// When its destination is written.
    fn completion(&self) -> Completion;

    /// Where source and destination live.
    fn places(&self) -> [Place; 2];

    /// What a target must have for it, of elements of a type.
    fn needs(&self, elem: Elem) -> Option<Feature>;

    /// Elements that one instruction moves a thread: of the source, and of the destination.
    fn values(&self, elem: Elem) -> [i64; 2];

    /// (thread, value) of source and destination, in elements.
    fn layouts(&self, elem: Elem) -> [Layout; 2];

    /// How it accesses shared memory, where it does, and what messages call that access: which bytes it asks to lie in
    /// one piece, how they must be aligned, and which accesses can conflict.
    fn shared_access(&self) -> (&'static str, Kind);

    /// What `--remarks` says of one: `cp.async of 16 bytes`.
    fn remark(&self, elem: Elem) -> String;

    /// How the PTX of its instructions begins.
    fn ptx(&self) -> Vec<String>;
}

/// Lists the copy instructions.
macro_rules! copy_instructions {
    ($($name:ident),*) => {
        /// The instruction of a copy atom.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CopyOp {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)*
        }

        impl CopyOp {
            /// Every form of every instruction, each with the elements by which it is shown.
            pub(super) fn all() -> Vec<(CopyOp, Elem)> {
                let mut all = Vec::new();
                $(all.extend($name::all().into_iter().map(|(op, elem)| (CopyOp::$name(op), elem)));)*
                all
            }

            /// What its instruction says of itself.
            pub fn instruction(&self) -> &dyn CopyInstruction {
                match self {
                    $(CopyOp::$name(op) => op,)*
                }
            }

            fn type_name(&self) -> &'static str {
                match self {
                    $(CopyOp::$name(_) => $name::type_name(),)*
                }
            }
        }

        /// The readers of the types of copy atoms, by their names.
        pub(super) const READERS: &[(fn() -> &'static str, fn(&mut Fields) -> Result<CopyAtom, TypeError>)] =
            &[$(($name::type_name, $name::parse)),*];
    };
}

copy_instructions!(UniversalCopy, CpAsync, Ldmatrix, Stmatrix, Red);

/// A copy instruction for elements of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyAtom {
    /// The instruction.
    pub op: CopyOp,
    /// What is copied.
    pub elem: Elem,
    /// What its accesses to global memory ask of the caches.
    pub hints: Hints,
}

/// Thread-value layouts of a copy atom, in elements.
#[derive(Clone, Debug)]
pub struct CopyLayouts {
    /// Threads that take part.
    pub threads: i64,
    /// (thread, value) of the source.
    pub src: Layout,
    /// (thread, value) of the destination.
    pub dst: Layout,
}

impl CopyAtom {
    /// A copy without hints.
    pub fn new(op: CopyOp, elem: Elem) -> CopyAtom {
        let hints = Hints::NONE;
        CopyAtom { op, elem, hints }
    }

    /// Checks that the instruction exists.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verify(&self) -> Result<(), AtomError> {
        let instruction = self.op.instruction();
        if let Some(hint) = instruction.refused_hint(&self.hints) {
            let atom = CopyAtom::new(self.op, self.elem).to_string();
            return Err(AtomError::Hint { atom, hint });
        }
        instruction.verify(self.elem)
    }

    /// Checks that the target has the instruction.
    ///
    /// # Errors
    /// Which targets have it.
    pub fn legal_on(&self, target: &Target) -> Result<(), AtomError> {
        legal_on(self, self.op.instruction().needs(self.elem), target)
    }

    /// Which threads execute it together.
    pub fn issuer(&self) -> Issuer {
        self.op.instruction().issuer()
    }

    /// When its destination is written.
    pub fn completion(&self) -> Completion {
        self.op.instruction().completion()
    }

    /// Where source and destination live.
    pub fn places(&self) -> [Place; 2] {
        self.op.instruction().places()
    }

    /// How it accesses shared memory, where it does, and what messages call that access.
    pub fn shared_access(&self) -> (&'static str, Kind) {
        self.op.instruction().shared_access()
    }

    /// Elements that one instruction moves a thread, on the source side.
    pub fn src_values(&self) -> i64 {
        self.op.instruction().values(self.elem)[0]
    }

    /// Elements that one instruction moves a thread, on the destination side.
    pub fn dst_values(&self) -> i64 {
        self.op.instruction().values(self.elem)[1]
    }

    /// Thread-value layouts in elements.
    pub fn layouts(&self) -> CopyLayouts {
        let instruction = self.op.instruction();
        let [src, dst] = instruction.layouts(self.elem);
        let threads = instruction.issuer().threads();
        CopyLayouts { threads, src, dst }
    }
}

impl fmt::Display for CopyAtom {
    /// Its type in the IR.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parameters = self.op.instruction().parameters(self);
        write!(f, "{DIALECT}{}<{parameters}>", self.op.type_name())
    }
}
