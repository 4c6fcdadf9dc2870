//! Syntax tree → decoded kernels.
//!
//! Two passes over a body: the first numbers the instructions, notes where labels stand and which
//! names are used; the second decodes each instruction with [`form::Form`], in the file of its
//! family:
//! [`integer`], [`bits`], [`compare`], [`float`], [`convert`], [`memory`], [`bulk`], [`matrix`], [`control`],
//! [`mbarrier`], [`tensormap`], [`warpgroup`]. [`undefined`] says which operands are passed on and not used.

mod bits;
mod bulk;
mod compare;
mod control;
mod convert;
mod float;
mod form;
mod integer;
mod matrix;
mod mbarrier;
mod memory;
mod names;
mod order;
mod tensormap;
mod undefined;
mod warpgroup;

pub(super) use bulk::update_of_map;
pub(super) use mbarrier::COUNT_BITS;

use std::collections::{HashMap, HashSet};

use self::form::{Decoded, Form, Ty, window_address};
use self::names::{Names, Symbol};
use super::Space;
use super::assignment::{Registers, Role};
use super::entry::{Entry, Param, Variable};
use super::error::{ErrorKind, SimError, SourceLoc};
use super::flow;
use super::isa::{Bulk, Hint, Instr, Op};
use super::kernel::Kernel;
use super::lane::Pred;
use super::parse::ast::{self, Operand, Statement};
use super::wgmma_registers::WgmmaRegisters;

/// Local memory of a thread (PTX ISA 5.1, compute capability table of the CUDA guide).
const MAX_LOCAL: u64 = 512 << 10;

/// Decodes every kernel of a module, and gives the variables that live in global memory.
pub(crate) fn decode(module: &ast::Module<'_>) -> Result<(Vec<Entry>, Vec<Variable>), SimError> {
    let mut variables = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    for variable in module.variables.iter().filter(|v| v.space != Space::Shared) {
        variables.push(module_variable(variable));
    }
    for entry in &module.entries {
        if entries.iter().any(|e| e.name == entry.name) {
            return Err(SimError::at_line(
                ErrorKind::Redeclared {
                    name: entry.name.to_owned(),
                },
                entry.line,
            ));
        }
        entries.push(Decoder::entry(module, entry, &mut variables)?);
    }
    Ok((entries, variables))
}

fn module_variable(variable: &ast::Variable<'_>) -> Variable {
    Variable {
        name: variable.name.to_owned(),
        space: variable.space,
        bytes: variable.bytes,
        init: variable.init.clone(),
    }
}

/// What the first pass finds.
#[derive(Default)]
struct Survey<'a> {
    instructions: u32,
    blocks: u32,
    labels: HashMap<(u32, &'a str), u32>,
    used: HashSet<&'a str>,
}

impl<'a> Survey<'a> {
    fn walk(&mut self, statements: &[Statement<'a>], block: u32) -> Result<(), SimError> {
        for statement in statements {
            match statement {
                Statement::Label { name, line } => {
                    let previous = self.labels.insert((block, name), self.instructions);
                    previous.map_or(Ok(()), |_| {
                        let name = (*name).to_owned();
                        Err(SimError::at_line(ErrorKind::Redeclared { name }, *line))
                    })?;
                }
                Statement::Instruction(instruction) => {
                    self.instructions += 1;
                    for operand in &instruction.operands {
                        self.operand(operand);
                    }
                }
                Statement::Block(inner) => {
                    self.blocks += 1;
                    self.walk(inner, self.blocks)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn operand(&mut self, operand: &Operand<'a>) {
        match operand {
            Operand::Name(name) | Operand::Sum(name, _) => {
                self.used.insert(name);
            }
            Operand::Address(base, _) => self.operand(base),
            Operand::Tensor(base, _, coordinates) => {
                self.operand(base);
                coordinates.iter().for_each(|c| self.operand(c));
            }
            Operand::Vector(elements) => elements.iter().for_each(|e| self.operand(e)),
            _ => {}
        }
    }
}

/// A stretch of a window that variables are put into one after another.
#[derive(Default)]
struct Stack {
    bytes: u64,
}

impl Stack {
    fn put(&mut self, bytes: u64, align: u32) -> u64 {
        let at = self.bytes.next_multiple_of(u64::from(align));
        self.bytes = at + bytes;
        at
    }
}

/// The second pass.
struct Decoder<'m, 'a> {
    module: &'m ast::Module<'a>,
    names: Names<'a>,
    code: Vec<Instr>,
    /// The registers of the instructions.
    registers: Registers,
    source: Option<SourceLoc>,
    /// Whether the last `.loc` had a line.
    has_line: bool,
    shared: Stack,
    /// Dynamic shared variables: they all start where the static ones end.
    dynamic: Vec<&'m ast::Variable<'a>>,
    local: Stack,
    variables: &'m mut Vec<Variable>,
}

impl<'m, 'a> Decoder<'m, 'a> {
    fn entry(
        module: &'m ast::Module<'a>,
        entry: &'m ast::Entry<'a>,
        variables: &'m mut Vec<Variable>,
    ) -> Result<Entry, SimError> {
        let mut survey = Survey::default();
        survey.walk(&entry.body, 0)?;
        let mut decoder = Decoder {
            module,
            names: Names::new(std::mem::take(&mut survey.labels)),
            code: Vec::with_capacity(survey.instructions as usize + 1),
            registers: Registers::default(),
            source: None,
            has_line: false,
            shared: Stack::default(),
            dynamic: Vec::new(),
            local: Stack::default(),
            variables,
        };
        let params = decoder.params(entry)?;
        decoder.module_names(&survey)?;
        decoder.shared_variables(&entry.body)?;
        let dynamic_shared = decoder.dynamic_variables()?;
        decoder.statements(&entry.body)?;
        let kernel = decoder.finish(entry, dynamic_shared)?;
        Ok(Entry {
            name: entry.name.to_owned(),
            params,
            reqntid: entry.reqntid,
            maxntid: entry.maxntid,
            static_shared: dynamic_shared,
            kernel,
        })
    }

    fn params(&mut self, entry: &ast::Entry<'a>) -> Result<Vec<Param>, SimError> {
        let mut stack = Stack::default();
        let mut params = Vec::new();
        for param in &entry.params {
            let offset = stack.put(param.bytes, param.align);
            // The launch interface of CUDA takes 32764 bytes at most.
            if stack.bytes > 1 << 15 {
                let kind = ErrorKind::Limit {
                    what: "bytes of parameters",
                    limit: 1 << 15,
                    found: stack.bytes,
                };
                return Err(SimError::at_line(kind, param.line));
            }
            let symbol = Symbol::Address {
                space: Space::Param,
                address: window_address(offset),
            };
            self.declare(param, symbol)?;
            params.push(Param {
                name: param.name.to_owned(),
                size: param.bytes as u32,
                align: param.align,
                offset: offset as u32,
            });
        }
        Ok(params)
    }

    fn declare(&mut self, variable: &ast::Variable<'a>, symbol: Symbol) -> Result<(), SimError> {
        self.names
            .declare(variable.name, symbol)
            .map_err(|kind| SimError::at_line(kind, variable.line))
    }

    /// Variables of the module; of the shared ones only those that the kernel names.
    fn module_names(&mut self, survey: &Survey<'a>) -> Result<(), SimError> {
        let module = self.module;
        let mut index = 0;
        for variable in &module.variables {
            if variable.space != Space::Shared {
                self.declare(
                    variable,
                    Symbol::ModuleVariable {
                        space: variable.space,
                        index,
                    },
                )?;
                index += 1;
            } else if survey.used.contains(variable.name) {
                self.shared_variable(variable)?;
            }
        }
        Ok(())
    }

    fn shared_variable(&mut self, variable: &'m ast::Variable<'a>) -> Result<(), SimError> {
        if variable.unsized_array {
            self.dynamic.push(variable);
            return Ok(());
        }
        let offset = self.shared.put(variable.bytes, variable.align);
        self.declare(
            variable,
            Symbol::Address {
                space: Space::Shared,
                address: window_address(offset),
            },
        )
    }

    /// Shared variables in the body, before anything refers to them or to the end of them all.
    fn shared_variables(&mut self, statements: &'m [Statement<'a>]) -> Result<(), SimError> {
        for statement in statements {
            match statement {
                Statement::Variable(variable) if variable.space == Space::Shared => {
                    self.shared_variable(variable)?
                }
                Statement::Block(inner) => self.shared_variables(inner)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn dynamic_variables(&mut self) -> Result<u32, SimError> {
        let align = self.dynamic.iter().map(|v| v.align).max().unwrap_or(1);
        let start = self.shared.put(0, align);
        for variable in std::mem::take(&mut self.dynamic) {
            self.declare(
                variable,
                Symbol::Address {
                    space: Space::Shared,
                    address: window_address(start),
                },
            )?;
        }
        // Variables are at most 2^30 bytes each; the sum is checked against the limit at launch.
        Ok(start.min(u64::from(u32::MAX)) as u32)
    }

    fn statements(&mut self, statements: &'m [Statement<'a>]) -> Result<(), SimError> {
        // A table may stand after its use.
        for statement in statements {
            if let Statement::BranchTargets {
                name,
                targets,
                line,
            } = statement
            {
                let targets = targets
                    .iter()
                    .map(|t| self.names.label(t))
                    .collect::<Decoded<_>>();
                targets
                    .and_then(|targets| self.names.declare_table(name, targets))
                    .map_err(|kind| SimError::at_line(kind, *line))?;
            }
        }
        for statement in statements {
            match statement {
                Statement::Registers(all) => {
                    for r in all {
                        let declared = self.names.declare_registers(r.ty, r.name, r.count);
                        declared.map_err(|kind| SimError::at_line(kind, r.line))?;
                    }
                }
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Loc { file, line, column } => self.locate(*file, *line, *column),
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                Statement::Block(inner) => {
                    self.names.push();
                    let result = self.statements(inner);
                    self.names.pop();
                    result?;
                }
                Statement::Label { .. } | Statement::BranchTargets { .. } => {}
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &ast::Variable<'a>) -> Result<(), SimError> {
        match variable.space {
            Space::Local => {
                let offset = self.local.put(variable.bytes, variable.align);
                if self.local.bytes > MAX_LOCAL {
                    let found = self.local.bytes;
                    let kind = ErrorKind::Limit {
                        what: "bytes of local memory",
                        limit: MAX_LOCAL,
                        found,
                    };
                    return Err(SimError::at_line(kind, variable.line));
                }
                self.declare(
                    variable,
                    Symbol::Address {
                        space: Space::Local,
                        address: window_address(offset),
                    },
                )
            }
            Space::Global | Space::Const => {
                let index = self.variables.len() as u32;
                self.variables.push(module_variable(variable));
                self.declare(
                    variable,
                    Symbol::ModuleVariable {
                        space: variable.space,
                        index,
                    },
                )
            }
            Space::Shared => Ok(()),
            // A parameter of a call is a register by another name.
            Space::Param if matches!(variable.bytes, 4 | 8) => {
                let ty = if variable.bytes == 4 { ".b32" } else { ".b64" };
                self.names
                    .declare_registers(ty, variable.name, None)
                    .map_err(|kind| SimError::at_line(kind, variable.line))
            }
            Space::Param | Space::Generic | Space::Cluster => {
                let kind = ErrorKind::UnknownDirective {
                    name: format!(".param {} in a body", variable.name),
                };
                Err(SimError::at_line(kind, variable.line))
            }
        }
    }

    fn locate(&mut self, file: u64, line: u32, column: u32) {
        let path = self.module.files.iter().find(|(number, _)| *number == file);
        // Line 0 marks code without a source; in messages the last real position is of more use.
        self.has_line = line > 0;
        if let (Some((_, path)), 1..) = (path, line) {
            self.source = Some(SourceLoc {
                file: path.clone(),
                line,
                column,
            });
        }
    }

    fn instruction(&mut self, instruction: &ast::Instruction<'a>) -> Result<(), SimError> {
        let located = |kind, source: &Option<SourceLoc>| {
            let mut error = SimError::at_line(kind, instruction.line);
            if let Some(at) = &mut error.location {
                at.source.clone_from(source);
                at.instruction = instruction.text.to_owned();
            }
            error
        };
        let guard = match instruction.guard {
            None => None,
            Some(guard) => match self.names.lookup(guard.register) {
                Ok(Symbol::Register(register @ names::Register::Pred(slot))) => {
                    self.registers
                        .add(guard.register, register.id(), Role::Guard, 1);
                    Some(Pred::Register {
                        slot,
                        negated: guard.negated,
                    })
                }
                Ok(_) => {
                    let kind = ErrorKind::Operand {
                        opcode: instruction.opcode.to_owned(),
                        index: 0,
                        expected: "a predicate register as guard".to_owned(),
                        found: format!("`{}`", guard.register),
                    };
                    return Err(located(kind, &self.source));
                }
                Err(kind) => return Err(located(kind, &self.source)),
            },
        };
        let mut form = Form::new(instruction, &mut self.names);
        let decoded = operation(&mut form, instruction).and_then(|op| form.finish().map(|()| op));
        undefined::mark(&mut form, instruction);
        let registers = form.take_registers();
        let op = decoded.map_err(|kind| located(kind, &self.source))?;
        for used in registers {
            self.registers
                .add(used.name, used.register.id(), used.role, used.bits);
        }
        self.registers.end_instruction();
        self.code.push(Instr {
            op,
            guard,
            line: instruction.line,
            source: self.source.clone(),
            has_line: self.has_line,
            text: abridged(instruction.text),
        });
        Ok(())
    }

    fn finish(mut self, entry: &ast::Entry<'a>, dynamic_shared: u32) -> Result<Kernel, SimError> {
        // Running off the end is leaving.
        let line = self.code.last().map_or(entry.line, |i| i.line);
        self.code.push(Instr {
            op: Op::Exit,
            guard: None,
            line,
            source: self.source,
            has_line: false,
            text: "}".to_owned(),
        });
        self.registers.end_instruction();
        let has_global_atomics = self.code.iter().any(|i| match &i.op {
            Op::Atomic { address, .. } => !matches!(address.space, Space::Shared | Space::Cluster),
            Op::Bulk(bulk) => matches!(&**bulk, Bulk::Store { update, .. } if update.is_some()),
            _ => false,
        });
        let has_warpgroups = self.code.iter().any(|i| matches!(i.op, Op::Warpgroup(_)));
        let wgmma_registers = WgmmaRegisters::new(&self.registers, &self.code);
        Ok(Kernel {
            rank: flow::rank(&self.code),
            code: self.code,
            registers: self.registers,
            buffers: None,
            tiles: None,
            words: self.names.words as usize,
            wides: self.names.wides as usize,
            preds: self.names.preds as usize,
            local_bytes: self.local.bytes as u32,
            dynamic_shared,
            has_global_atomics,
            has_warpgroups,
            wgmma_registers: wgmma_registers.map(Box::new),
            registers_at_most: entry.maxnreg,
            threads_at_most: entry.reqntid.or(entry.maxntid).map(|extents| {
                let product = |all: u32, n: u32| all.saturating_mul(n);
                extents.into_iter().fold(1, product)
            }),
            ctas_at_least: entry.minnctapersm,
            cluster: entry.cluster.unwrap_or([1; 3]),
        })
    }
}

/// An instruction as written, in one line; of a vector of many registers the first and the last.
fn abridged(text: &str) -> String {
    /// Elements that are shown at most.
    const SHOWN: usize = 8;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let Some((before, rest)) = line.split_once('{') else {
        return line;
    };
    let Some((vector, after)) = rest.split_once('}') else {
        return line;
    };
    let elements: Vec<&str> = vector.split(',').map(str::trim).collect();
    match elements[..] {
        [first, second, .., last] if elements.len() > SHOWN => {
            format!("{before}{{{first}, {second}, …, {last}}}{after}")
        }
        _ => line,
    }
}

/// Chooses the family by the opcode, and by the type where integers and floats share one.
fn operation(form: &mut Form, instruction: &ast::Instruction<'_>) -> Decoded<Op> {
    let opcode = instruction.opcode;
    let last = instruction.modifiers.last().and_then(|m| Ty::of(m));
    let float = last.is_some_and(Ty::is_float);
    // Arithmetic on floating-point numbers, and the operations on each.
    let arithmetic = match opcode {
        "add" | "sub" | "mul" if float => Some((1, float::binary(form, opcode)?)),
        "min" | "max" if float => Some((1, float::extremum(form, opcode)?)),
        "abs" | "neg" if float => Some((0, float::sign(form, opcode)?)),
        "div" if float => Some((1, float::divide(form)?)),
        "fma" => Some((2, float::fused(form)?)),
        "mad" if float => Some((2, float::fused(form)?)),
        "rcp" | "sqrt" | "rsqrt" => Some((1, float::root(form, opcode)?)),
        "ex2" | "lg2" | "sin" | "cos" | "tanh" => Some((1, float::transcendental(form, opcode)?)),
        "copysign" => Some((0, float::copy_sign(form)?)),
        "testp" => Some((0, float::test_property(form)?)),
        _ => None,
    };
    if let Some((operations, op)) = arithmetic {
        return Ok(op.on_numbers(operations * last.map_or(1, Ty::numbers)));
    }
    match opcode {
        "addc" | "subc" => integer::carry(form, opcode),
        "add" | "sub" if instruction.modifiers.first() == Some(&"cc") => {
            integer::carry(form, opcode)
        }
        "add" | "sub" | "min" | "max" | "div" | "rem" => integer::binary(form, opcode),
        "mul" => integer::multiply(form),
        "mad" => integer::multiply_add(form),
        "mul24" | "mad24" => integer::multiply_24(form, opcode),
        "abs" | "neg" => integer::unary(form, opcode),
        "sad" => integer::absolute_difference(form),
        "dp4a" | "dp2a" => integer::dot(form, opcode),
        "and" | "or" | "xor" | "not" | "cnot" => bits::logic(form, opcode),
        "lop3" => bits::logic_3(form),
        "shl" | "shr" => bits::shift(form, opcode),
        "shf" => bits::funnel_shift(form),
        "bfe" => bits::extract(form),
        "bfi" => bits::insert(form),
        "popc" | "clz" | "brev" | "bfind" => bits::count(form, opcode),
        "prmt" => bits::permute(form),
        "szext" | "bmsk" => bits::mask(form, opcode),
        "mov" => bits::mov(form),
        "setp" => compare::set_predicate(form),
        "set" => compare::set(form),
        "selp" => compare::select(form),
        "slct" => compare::select_by_sign(form),
        "cvt" => convert::convert(form),
        "cvta" => convert::convert_address(form),
        "isspacep" => convert::is_space(form),
        "mapa" => convert::map_address(form),
        "getctarank" => convert::cta_rank(form),
        "st" | "red" if instruction.modifiers.first() == Some(&"async") => {
            bulk::store_async(form, opcode)
        }
        "ld" | "ldu" => memory::load(form),
        "st" => memory::store(form),
        "atom" | "red" => memory::atomic(form, opcode),
        "cp" if instruction.modifiers.get(1) == Some(&"bulk") => bulk::copy(form),
        "cp" if instruction.modifiers.first() == Some(&"reduce") => bulk::reduce(form),
        "cp" => memory::copy_async(form),
        "tensormap" => tensormap::tensormap(form),
        "membar" | "fence" => memory::fence(form, opcode),
        "call" => control::call(form),
        "createpolicy" => memory::create_policy(form),
        "prefetch" | "prefetchu" => memory::prefetch(form),
        "ldmatrix" => matrix::load(form),
        "stmatrix" => matrix::store(form),
        "mma" => matrix::multiply(form),
        "wgmma" => warpgroup::wgmma(form),
        "setmaxnreg" => warpgroup::set_registers(form),
        "bra" => control::branch(form),
        "brx" => control::branch_indexed(form),
        "bar" | "barrier" => control::barrier(form, opcode),
        "mbarrier" => mbarrier::mbarrier(form),
        "shfl" => control::shuffle(form),
        "vote" => control::vote(form),
        "match" => control::find_equal(form),
        "redux" => control::reduce(form),
        "elect" => control::elect(form),
        "activemask" => control::active_mask(form),
        "ret" | "exit" => {
            form.eat("uni");
            Ok(Op::Exit)
        }
        "trap" => Ok(Op::Trap),
        "nanosleep" => {
            let ty = form.ty()?;
            form.src(ty)?;
            Ok(Op::Hint(Hint::Sleep))
        }
        "griddepcontrol" => match form.eat_any(&["launch_dependents", "wait"]) {
            true => Ok(Op::Hint(Hint::GridDependency)),
            false => form.unknown(),
        },
        _ => form.unknown(),
    }
}
