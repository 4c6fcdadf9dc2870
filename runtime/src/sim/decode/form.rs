//! An instruction while it is decoded: a cursor over its modifiers and one over its operands.
//!
//! Decoders take modifiers in the order of the ISA's grammar and operands from left to right.
//! [`Form::finish`] refuses what is left over, so a modifier that nobody asked for is an error.

use super::names::{Names, Register, Symbol};
use crate::sim::Space;
use crate::sim::assignment::Role;
use crate::sim::error::ErrorKind;
use crate::sim::isa::{Address, BASE};
use crate::sim::lane::{Dst, Pred, Src};
use crate::sim::parse::ast::{Instruction, Operand};

/// A type modifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub(super) enum Ty {
    B8, B16, B32, B64,
    U8, U16, U32, U64,
    S8, S16, S32, S64,
    F16, F16x2, Bf16, Bf16x2, F32, F64,
    Tf32, E4m3x2, E5m2x2, U16x2, S16x2, Pred,
}

impl Ty {
    #[rustfmt::skip]
    pub(super) fn of(name: &str) -> Option<Ty> {
        Some(match name {
            "b8" => Ty::B8, "b16" => Ty::B16, "b32" => Ty::B32, "b64" => Ty::B64,
            "u8" => Ty::U8, "u16" => Ty::U16, "u32" => Ty::U32, "u64" => Ty::U64,
            "s8" => Ty::S8, "s16" => Ty::S16, "s32" => Ty::S32, "s64" => Ty::S64,
            "f16" => Ty::F16, "f16x2" => Ty::F16x2, "bf16" => Ty::Bf16, "bf16x2" => Ty::Bf16x2,
            "f32" => Ty::F32, "f64" => Ty::F64, "tf32" => Ty::Tf32,
            "e4m3x2" => Ty::E4m3x2, "e5m2x2" => Ty::E5m2x2,
            "u16x2" => Ty::U16x2, "s16x2" => Ty::S16x2, "pred" => Ty::Pred,
            _ => return None,
        })
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::B8 | Ty::U8 | Ty::S8 => 8,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 | Ty::E4m3x2 | Ty::E5m2x2 => 16,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 64,
            _ => 32,
        }
    }

    /// Numbers in a register.
    pub(super) fn numbers(self) -> u32 {
        match self {
            Ty::F16x2 | Ty::Bf16x2 | Ty::E4m3x2 | Ty::E5m2x2 | Ty::U16x2 | Ty::S16x2 => 2,
            _ => 1,
        }
    }

    pub(super) fn is_signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }

    pub(super) fn is_float(self) -> bool {
        matches!(
            self,
            Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 | Ty::F16x2 | Ty::Bf16x2
        )
    }
}

/// How wide a register may be for a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Exact,
    /// `ld`, `st`, `cvt`: the register may be wider (PTX ISA 9.4.1).
    AtLeast,
}

/// The cursors.
pub(super) struct Form<'i, 'a> {
    instruction: &'i Instruction<'a>,
    names: &'i mut Names<'a>,
    modifier: usize,
    operand: usize,
    /// The registers that the operands name.
    registers: Vec<Use<'a>>,
}

/// A register that an instruction reads or writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use<'a> {
    pub name: &'a str,
    pub register: Register,
    pub role: Role,
    /// How many of its low bits take part.
    pub bits: u32,
    /// The number of the operand that names it.
    pub operand: usize,
}

pub(super) type Decoded<T> = Result<T, ErrorKind>;

impl<'i, 'a> Form<'i, 'a> {
    pub fn new(instruction: &'i Instruction<'a>, names: &'i mut Names<'a>) -> Form<'i, 'a> {
        Form {
            instruction,
            names,
            modifier: 0,
            operand: 0,
            registers: Vec::new(),
        }
    }

    /// The registers of the operands that were decoded.
    pub fn take_registers(&mut self) -> Vec<Use<'a>> {
        std::mem::take(&mut self.registers)
    }

    /// Takes note that the instruction uses so many low bits of a register, or those that it has.
    fn uses(&mut self, name: &'a str, register: Register, role: Role, bits: u32) {
        self.registers.push(Use {
            name,
            register,
            role,
            bits: bits.min(register.bits()),
            operand: self.operand.saturating_sub(1),
        });
    }

    /// Takes note that the instruction reads a register.
    pub fn reads(&mut self, name: &'a str, register: Register) {
        self.uses(name, register, Role::Read, register.bits());
    }

    /// Takes note that the instruction writes a register.
    pub fn writes(&mut self, name: &'a str, register: Register) {
        self.uses(name, register, Role::Write, register.bits());
    }

    /// What is read by the operands of these numbers is passed on, and not used.
    pub fn passes(&mut self, operands: std::ops::RangeInclusive<usize>, role: Role) {
        for read in &mut self.registers {
            if read.role == Role::Read && operands.contains(&read.operand) {
                read.role = role;
            }
        }
    }

    /// The opcode with its modifiers.
    pub fn opcode(&self) -> String {
        let mut text = self.instruction.opcode.to_owned();
        for modifier in &self.instruction.modifiers {
            text.push('.');
            text.push_str(modifier);
        }
        text
    }

    /// The instruction is not in the simulated subset.
    pub fn unknown<T>(&self) -> Decoded<T> {
        Err(ErrorKind::UnknownInstruction {
            opcode: self.opcode(),
        })
    }

    // ---- modifiers ----

    /// The next modifier, not consumed.
    pub fn peek(&self) -> Option<&'a str> {
        self.instruction.modifiers.get(self.modifier).copied()
    }

    /// Consumes the next modifier if it is this one.
    pub fn eat(&mut self, modifier: &str) -> bool {
        let found = self.peek() == Some(modifier);
        self.modifier += usize::from(found);
        found
    }

    /// Consumes the next modifier if it is one of these.
    pub fn eat_any(&mut self, modifiers: &[&str]) -> bool {
        modifiers.iter().any(|m| self.eat(m))
    }

    /// Consumes the next modifier if the function knows it.
    pub fn pick<T>(&mut self, known: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self.peek().and_then(known);
        self.modifier += usize::from(found.is_some());
        found
    }

    /// As [`pick`](Form::pick), but the modifier must be there.
    pub fn need<T>(&mut self, expected: &str, known: impl Fn(&str) -> Option<T>) -> Decoded<T> {
        match self.pick(known) {
            Some(value) => Ok(value),
            None => self.bad_modifier(expected),
        }
    }

    /// The next modifier is not what the grammar wants.
    pub fn bad_modifier<T>(&self, expected: &str) -> Decoded<T> {
        Err(ErrorKind::UnknownModifier {
            opcode: self.opcode(),
            expected: expected.to_owned(),
            found: self
                .peek()
                .map_or("no further modifier".to_owned(), |m| format!("`.{m}`")),
        })
    }

    /// A type modifier.
    pub fn ty(&mut self) -> Decoded<Ty> {
        self.need("a type", Ty::of)
    }

    /// Refuses modifiers that are left.
    pub fn end_modifiers(&self) -> Decoded<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.bad_modifier("no further modifier"),
        }
    }

    /// Refuses modifiers and operands that are left.
    pub fn finish(&self) -> Decoded<()> {
        self.end_modifiers()?;
        match self.instruction.operands.get(self.operand) {
            None => Ok(()),
            Some(_) => self.bad_operand(self.operand, format!("{} operands", self.operand)),
        }
    }

    // ---- operands ----

    /// Operands that are left.
    pub fn operands_left(&self) -> usize {
        self.instruction.operands.len() - self.operand
    }

    fn bad_operand<T>(&self, index: usize, expected: impl Into<String>) -> Decoded<T> {
        Err(ErrorKind::Operand {
            opcode: self.opcode(),
            index,
            expected: expected.into(),
            found: self
                .instruction
                .operands
                .get(index)
                .map_or("none".to_owned(), Operand::describe),
        })
    }

    fn next(&mut self, expected: &str) -> Decoded<&'i Operand<'a>> {
        match self.instruction.operands.get(self.operand) {
            Some(operand) => {
                self.operand += 1;
                Ok(operand)
            }
            None => self.bad_operand(self.operand, expected),
        }
    }

    /// An error about the operand consumed last.
    pub fn bad<T>(&self, expected: impl Into<String>) -> Decoded<T> {
        self.bad_operand(self.operand.saturating_sub(1), expected)
    }

    fn check_width(&self, register: Register, ty: Ty, width: Width) -> Decoded<()> {
        let found = register.bits();
        let fits = match width {
            Width::Exact => found == ty.bits(),
            Width::AtLeast => found >= ty.bits() && (found == 1) == (ty == Ty::Pred),
        };
        match fits {
            true => Ok(()),
            false => self.bad(format!("a register of {} bits (it has {found})", ty.bits())),
        }
    }

    fn dst_of(&mut self, operand: &Operand<'a>, ty: Ty, width: Width) -> Decoded<Dst> {
        match *operand {
            Operand::Sink => Ok(Dst::Sink),
            Operand::Name(name) => match self.names.lookup(name)? {
                Symbol::Register(register) => {
                    self.check_width(register, ty, width)?;
                    self.writes(name, register);
                    match register {
                        Register::Word(_, slot) => Ok(Dst::Word(slot)),
                        Register::Wide(slot) => Ok(Dst::Wide(slot)),
                        Register::Pred(_) => self.bad("a data register"),
                    }
                }
                _ => self.bad("a register"),
            },
            _ => self.bad("a register"),
        }
    }

    fn src_of(&mut self, operand: &Operand<'a>, ty: Ty, width: Width) -> Decoded<Src> {
        match *operand {
            Operand::Int(value) if !ty.is_float() => Ok(Src::Imm(value)),
            Operand::Single(bits) if ty.bits() == 32 => Ok(Src::Imm(u64::from(bits))),
            Operand::Single(bits) if ty == Ty::F64 => {
                Ok(Src::Imm(f64::from(f32::from_bits(bits)).to_bits()))
            }
            Operand::Double(bits) if ty.bits() == 64 => Ok(Src::Imm(bits)),
            Operand::Double(bits) if ty == Ty::F32 => {
                Ok(Src::Imm(u64::from((f64::from_bits(bits) as f32).to_bits())))
            }
            Operand::Name(name) => self.named(name, 0, ty, width),
            Operand::Sum(name, offset) => self.named(name, offset, ty, width),
            _ => self.bad(format!("a register or a literal of {} bits", ty.bits())),
        }
    }

    fn named(&mut self, name: &'a str, offset: i64, ty: Ty, width: Width) -> Decoded<Src> {
        match self.names.lookup(name)? {
            Symbol::Register(_) if offset != 0 => self.bad("a variable before the offset"),
            Symbol::Register(register) => {
                self.check_width(register, ty, width)?;
                self.uses(name, register, Role::Read, ty.bits());
                match register {
                    Register::Word(_, slot) => Ok(Src::Word(slot)),
                    Register::Wide(slot) => Ok(Src::Wide(slot)),
                    Register::Pred(_) => self.bad("a data register"),
                }
            }
            Symbol::Special(special) => Ok(Src::Special(special)),
            Symbol::Address { address, .. } if ty.bits() >= 32 => {
                Ok(Src::Imm(address.wrapping_add_signed(offset)))
            }
            Symbol::ModuleVariable { index, .. } if ty.bits() == 64 => {
                Ok(Src::Variable(index, offset))
            }
            _ => self.bad("a register of 32 or 64 bits for an address"),
        }
    }

    /// A destination register of exactly the type's width.
    pub fn dst(&mut self, ty: Ty) -> Decoded<Dst> {
        let operand = self.next("a destination register")?;
        self.dst_of(operand, ty, Width::Exact)
    }

    /// A destination register of at least the type's width.
    pub fn wide_dst(&mut self, ty: Ty) -> Decoded<Dst> {
        let operand = self.next("a destination register")?;
        self.dst_of(operand, ty, Width::AtLeast)
    }

    /// A source of exactly the type's width.
    pub fn src(&mut self, ty: Ty) -> Decoded<Src> {
        let operand = self.next("a source")?;
        self.src_of(operand, ty, Width::Exact)
    }

    /// A source of at least the type's width.
    pub fn wide_src(&mut self, ty: Ty) -> Decoded<Src> {
        let operand = self.next("a source")?;
        self.src_of(operand, ty, Width::AtLeast)
    }

    /// `N` sources of one type.
    pub fn srcs<const N: usize>(&mut self, ty: Ty) -> Decoded<[Src; N]> {
        let mut srcs = [Src::Imm(0); N];
        for src in &mut srcs {
            *src = self.src(ty)?;
        }
        Ok(srcs)
    }

    /// Whether the next operand is `{…}`.
    pub fn is_vector(&self) -> bool {
        matches!(
            self.instruction.operands.get(self.operand),
            Some(Operand::Vector(_))
        )
    }

    fn elements(&mut self, count: usize) -> Decoded<&'i [Operand<'a>]> {
        let operand = self.next("a vector")?;
        match operand {
            Operand::Vector(elements) if elements.len() == count => Ok(elements),
            // A vector of one may be written without braces.
            Operand::Name(_)
            | Operand::Int(_)
            | Operand::Single(_)
            | Operand::Double(_)
            | Operand::Sink
                if count == 1 =>
            {
                Ok(std::slice::from_ref(operand))
            }
            _ => self.bad(format!("a vector of {count}")),
        }
    }

    /// Elements of the vector that comes next; 1 for a scalar.
    pub fn vector_len(&self) -> usize {
        match self.instruction.operands.get(self.operand) {
            Some(Operand::Vector(elements)) => elements.len(),
            _ => 1,
        }
    }

    /// A vector of destinations at least as wide as the type.
    pub fn dst_vector(&mut self, ty: Ty, count: usize) -> Decoded<Box<[Dst]>> {
        let elements = self.elements(count)?;
        elements
            .iter()
            .map(|e| self.dst_of(e, ty, Width::AtLeast))
            .collect()
    }

    /// A vector of sources at least as wide as the type.
    pub fn src_vector(&mut self, ty: Ty, count: usize) -> Decoded<Box<[Src]>> {
        let elements = self.elements(count)?;
        elements
            .iter()
            .map(|e| self.src_of(e, ty, Width::AtLeast))
            .collect()
    }

    /// A vector of 32-bit registers, by slot.
    pub fn register_vector(&mut self, count: usize, role: Role) -> Decoded<Box<[u32]>> {
        let elements = self.elements(count)?;
        let slot = |form: &mut Form<'i, 'a>, element: &Operand<'a>| {
            let Operand::Name(name) = *element else {
                return form.bad(format!("a vector of {count} registers"));
            };
            match form.names.lookup(name)? {
                Symbol::Register(register @ Register::Word(32, slot)) => {
                    form.uses(name, register, role, register.bits());
                    Ok(slot)
                }
                _ => form.bad(format!("a vector of {count} registers of 32 bits")),
            }
        };
        elements.iter().map(|element| slot(self, element)).collect()
    }

    /// The registers written so far are read as well.
    pub fn updates(&mut self) {
        let written = self.registers.iter().filter(|r| r.role == Role::Write);
        let read = written.map(|r| Use {
            role: Role::Read,
            ..*r
        });
        let read: Vec<_> = read.collect();
        self.registers.extend(read);
    }

    fn pred_register(&mut self, name: &'a str, writes: bool) -> Decoded<u32> {
        match self.names.lookup(name)? {
            Symbol::Register(register @ Register::Pred(slot)) => {
                match writes {
                    true => self.writes(name, register),
                    false => self.reads(name, register),
                }
                Ok(slot)
            }
            _ => self.bad("a predicate register"),
        }
    }

    /// A predicate destination.
    pub fn pred_dst(&mut self) -> Decoded<u32> {
        match self.next("a predicate register")? {
            Operand::Name(name) => self.pred_register(name, true),
            _ => self.bad("a predicate register"),
        }
    }

    /// `p` or `p|q`, each `_` allowed in a pair.
    pub fn pred_pair(&mut self) -> Decoded<(Option<u32>, Option<u32>)> {
        match *self.next("a predicate register")? {
            Operand::Name(p) => Ok((Some(self.pred_register(p, true)?), None)),
            Operand::Pair(p, q) => {
                let mut slot = |name| {
                    if name == "_" {
                        Ok(None)
                    } else {
                        self.pred_register(name, true).map(Some)
                    }
                };
                Ok((slot(p)?, slot(q)?))
            }
            Operand::Sink => Ok((None, None)),
            _ => self.bad("a predicate register, or two as `p|q`"),
        }
    }

    /// `d` or `d|p`: a register of 32 bits and a predicate.
    pub fn dst_with_pred(&mut self) -> Decoded<(Dst, Option<u32>)> {
        let operand = self.next("a destination register")?;
        match *operand {
            Operand::Pair(d, p) => {
                let dst = if d == "_" {
                    Dst::Sink
                } else {
                    self.dst_of(&Operand::Name(d), Ty::B32, Width::Exact)?
                };
                let pred = if p == "_" {
                    None
                } else {
                    Some(self.pred_register(p, true)?)
                };
                Ok((dst, pred))
            }
            _ => Ok((self.dst_of(operand, Ty::B32, Width::Exact)?, None)),
        }
    }

    /// As [`dst_with_pred`](Form::dst_with_pred), for instructions that want the predicate.
    pub fn dst_and_pred(&mut self) -> Decoded<(Dst, Option<u32>)> {
        match self.dst_with_pred()? {
            (dst, Some(pred)) => Ok((dst, Some(pred))),
            _ => self.bad("`d|p`"),
        }
    }

    /// A predicate source: `p`, `!p`, or a literal.
    pub fn pred_src(&mut self) -> Decoded<Pred> {
        match *self.next("a predicate")? {
            Operand::Name(name) => Ok(Pred::Register {
                slot: self.pred_register(name, false)?,
                negated: false,
            }),
            Operand::Not(name) => Ok(Pred::Register {
                slot: self.pred_register(name, false)?,
                negated: true,
            }),
            Operand::Int(value) => Ok(Pred::Const(value != 0)),
            _ => self.bad("a predicate"),
        }
    }

    /// Whether the next operand names a predicate register.
    pub fn is_pred(&mut self) -> bool {
        match self.instruction.operands.get(self.operand) {
            Some(&(Operand::Name(name) | Operand::Not(name))) => {
                matches!(
                    self.names.lookup(name),
                    Ok(Symbol::Register(Register::Pred(_)))
                )
            }
            _ => false,
        }
    }

    /// An integer literal.
    pub fn literal(&mut self) -> Decoded<u64> {
        match *self.next("an integer literal")? {
            Operand::Int(value) => Ok(value),
            _ => self.bad("an integer literal"),
        }
    }

    /// A label.
    pub fn label(&mut self) -> Decoded<u32> {
        match *self.next("a label")? {
            Operand::Name(name) => self.names.label(name),
            _ => self.bad("a label"),
        }
    }

    /// A name as it stands.
    pub fn word(&mut self) -> Decoded<&'a str> {
        match *self.next("a name")? {
            Operand::Name(name) => Ok(name),
            _ => self.bad("a name"),
        }
    }

    /// The targets of a `.branchtargets` list.
    pub fn table(&mut self) -> Decoded<Box<[u32]>> {
        match *self.next("a branch table")? {
            Operand::Name(name) => self.names.table(name).map(Box::from),
            _ => self.bad("a branch table"),
        }
    }

    /// The base of an address is read, but for a parameter of a call, which is itself a register.
    fn base(&mut self, name: &'a str, register: Register, space: Space) {
        match (space, self.instruction.opcode) {
            (Space::Param, "st") => self.writes(name, register),
            _ => self.reads(name, register),
        }
    }

    /// `[map + offset, {c0, …}]`: the generic address of a tensor map, and as many coordinates.
    pub fn tensor(&mut self, rank: usize) -> Decoded<(Address, Box<[Src]>)> {
        let Operand::Tensor(base, offset, coordinates) = self.next("a tensor map")? else {
            return self.bad("a tensor map with coordinates");
        };
        if coordinates.len() != rank {
            return self.bad(format!("{rank} coordinates"));
        }
        let map = self.address_of(base, *offset, Space::Generic)?;
        let coordinates = coordinates.iter();
        let coordinates = coordinates.map(|c| self.src_of(c, Ty::S32, Width::Exact));
        Ok((map, coordinates.collect::<Decoded<_>>()?))
    }

    /// `[base + offset]` in a space.
    pub fn address(&mut self, space: Space) -> Decoded<Address> {
        let Operand::Address(base, offset) = self.next("an address in brackets")? else {
            return self.bad("an address in brackets");
        };
        self.address_of(base, *offset, space)
    }

    fn address_of(&mut self, base: &Operand<'a>, offset: i64, space: Space) -> Decoded<Address> {
        match *base {
            Operand::Int(value) => Ok(Address {
                space,
                base: Src::Imm(value),
                offset,
            }),
            Operand::Name(name) => match self.names.lookup(name)? {
                Symbol::Register(register @ Register::Wide(slot)) => {
                    self.base(name, register, space);
                    Ok(Address {
                        space,
                        base: Src::Wide(slot),
                        offset,
                    })
                }
                Symbol::Register(register @ Register::Word(32, slot))
                    if matches!(
                        space,
                        Space::Shared | Space::Cluster | Space::Local | Space::Param | Space::Const
                    ) =>
                {
                    self.base(name, register, space);
                    Ok(Address {
                        space,
                        base: Src::Word(slot),
                        offset,
                    })
                }
                Symbol::Address {
                    space: own,
                    address,
                } if own == space || (own, space) == (Space::Shared, Space::Cluster) => {
                    Ok(Address {
                        space,
                        base: Src::Imm(address),
                        offset,
                    })
                }
                Symbol::ModuleVariable { space: own, index }
                    if own == space || space == Space::Generic =>
                {
                    Ok(Address {
                        space,
                        base: Src::Variable(index, 0),
                        offset,
                    })
                }
                Symbol::Address { space: own, .. } | Symbol::ModuleVariable { space: own, .. } => {
                    self.bad(format!("a {space} address (`{name}` is in {own} space)"))
                }
                _ => self.bad("a register of 64 bits, or a variable"),
            },
            _ => self.bad("an address"),
        }
    }
}

/// Where a variable of a window stands.
pub(super) fn window_address(offset: u64) -> u64 {
    BASE + offset
}
