//! The syntax tree of a PTX module. Names are slices of the text.

use crate::sim::Space;

/// A whole text.
#[derive(Debug, Default)]
pub(crate) struct Module<'a> {
    /// `.file` number → path.
    pub files: Vec<(u64, String)>,
    /// Variables outside of kernels.
    pub variables: Vec<Variable<'a>>,
    pub entries: Vec<Entry<'a>>,
}

/// An `.entry` with a body.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub name: &'a str,
    pub line: u32,
    pub params: Vec<Variable<'a>>,
    pub reqntid: Option<[u32; 3]>,
    pub cluster: Option<[u32; 3]>,
    pub maxntid: Option<[u32; 3]>,
    pub maxnreg: Option<u32>,
    pub minnctapersm: Option<u32>,
    pub body: Vec<Statement<'a>>,
}

/// A statement of a body.
#[derive(Debug)]
pub(crate) enum Statement<'a> {
    /// `.reg`.
    Registers(Vec<Registers<'a>>),
    /// `.shared`, `.local`, `.global`, `.const` or `.param` in a body.
    Variable(Variable<'a>),
    Label {
        name: &'a str,
        line: u32,
    },
    /// `name: .branchtargets a, b;`
    BranchTargets {
        name: &'a str,
        targets: Vec<&'a str>,
        line: u32,
    },
    /// `.loc file line column`.
    Loc {
        file: u64,
        line: u32,
        column: u32,
    },
    Instruction(Instruction<'a>),
    /// `{ … }`, a scope of names.
    Block(Vec<Statement<'a>>),
}

/// `.reg .b32 %r<9>` or `.reg .b32 x`.
#[derive(Debug)]
pub(crate) struct Registers<'a> {
    pub ty: &'a str,
    pub name: &'a str,
    /// `Some(n)`: `name0` to `name(n-1)`.
    pub count: Option<u32>,
    pub line: u32,
}

/// A variable of a state space.
#[derive(Debug)]
pub(crate) struct Variable<'a> {
    pub space: Space,
    pub name: &'a str,
    pub align: u32,
    pub bytes: u64,
    /// `[]`: the size comes with the launch.
    pub unsized_array: bool,
    /// Little-endian image of the initialiser, possibly shorter than the variable.
    pub init: Vec<u8>,
    pub line: u32,
}

/// One instruction.
#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    pub guard: Option<Guard<'a>>,
    pub opcode: &'a str,
    /// Without their leading dots.
    pub modifiers: Vec<&'a str>,
    pub operands: Vec<Operand<'a>>,
    pub line: u32,
    /// The instruction as written.
    pub text: &'a str,
}

/// `@p` or `@!p`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard<'a> {
    pub register: &'a str,
    pub negated: bool,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, special register, variable or label; `%tid.x` is one name.
    Name(&'a str),
    /// `!p`.
    Not(&'a str),
    /// An integer literal, in two's complement.
    Int(u64),
    /// `0f…`.
    Single(u32),
    /// `0d…` or a decimal literal.
    Double(u64),
    /// `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// `p|q`.
    Pair(&'a str, &'a str),
    /// `[base + offset]`.
    Address(Box<Operand<'a>>, i64),
    /// `[base + offset, {a, b}]`: a tensor map and coordinates.
    Tensor(Box<Operand<'a>>, i64, Vec<Operand<'a>>),
    /// `name + offset` outside of brackets.
    Sum(&'a str, i64),
    /// `_`.
    Sink,
}

impl Operand<'_> {
    /// What it is, for errors.
    pub fn describe(&self) -> String {
        match self {
            Operand::Name(name) => format!("`{name}`"),
            Operand::Not(name) => format!("`!{name}`"),
            Operand::Int(value) => format!("the integer {value:#x}"),
            Operand::Single(bits) => format!("the f32 literal 0f{bits:08X}"),
            Operand::Double(bits) => format!("the f64 literal 0d{bits:016X}"),
            Operand::Vector(elements) => format!("a vector of {}", elements.len()),
            Operand::Pair(a, b) => format!("`{a}|{b}`"),
            Operand::Address(..) => "an address in brackets".to_owned(),
            Operand::Tensor(..) => "a tensor map with coordinates".to_owned(),
            Operand::Sum(name, offset) => format!("`{name}+{offset}`"),
            Operand::Sink => "`_`".to_owned(),
        }
    }
}
