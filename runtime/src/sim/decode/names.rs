//! What names mean in a kernel: registers, special registers, variables, labels.
//!
//! Registers get their slot at first use, so a declaration of a thousand costs nothing.

use std::collections::HashMap;

use crate::sim::Space;
use crate::sim::assignment::RegisterId;
use crate::sim::error::ErrorKind;
use crate::sim::lane::{LaneMask, Special, WARP};

/// A register: its class and its slot in the file of that class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    /// Up to 32 bits: declared bits, slot.
    Word(u32, u32),
    Wide(u32),
    Pred(u32),
}

impl Register {
    /// How many bits it has.
    pub(super) fn bits(self) -> u32 {
        match self {
            Register::Word(bits, _) => bits,
            Register::Wide(_) => 64,
            Register::Pred(_) => 1,
        }
    }

    /// The register without its width.
    pub(super) fn id(self) -> RegisterId {
        match self {
            Register::Word(_, slot) => RegisterId::Word(slot),
            Register::Wide(slot) => RegisterId::Wide(slot),
            Register::Pred(slot) => RegisterId::Pred(slot),
        }
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    Register(Register),
    Special(Special),
    /// Address in a window.
    Address {
        space: Space,
        address: u64,
    },
    /// Index among the module's variables.
    ModuleVariable {
        space: Space,
        index: u32,
    },
}

#[derive(Debug, Default)]
struct Scope<'a> {
    /// Number of the block, in order of the text.
    block: u32,
    known: HashMap<&'a str, Symbol>,
    /// `%r<9>`: prefix → type, count.
    ranges: HashMap<&'a str, (Class, u32)>,
    tables: HashMap<&'a str, Vec<u32>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Word(u32),
    Wide,
    Pred,
}

/// The scopes of a kernel.
#[derive(Debug)]
pub(super) struct Names<'a> {
    scopes: Vec<Scope<'a>>,
    blocks: u32,
    /// Instruction index of each label, by block.
    labels: HashMap<(u32, &'a str), u32>,
    pub words: u32,
    pub wides: u32,
    pub preds: u32,
}

impl<'a> Names<'a> {
    /// The outermost scope, with the labels found by a first pass over the body.
    pub fn new(labels: HashMap<(u32, &'a str), u32>) -> Names<'a> {
        Names {
            scopes: vec![Scope::default()],
            blocks: 0,
            labels,
            words: 0,
            wides: 0,
            preds: 0,
        }
    }

    /// Enters a `{ }` block.
    pub fn push(&mut self) {
        self.blocks += 1;
        self.scopes.push(Scope {
            block: self.blocks,
            ..Scope::default()
        });
    }

    /// Leaves it.
    pub fn pop(&mut self) {
        self.scopes.pop();
    }

    fn top(&mut self) -> &mut Scope<'a> {
        // The outermost scope is never popped: blocks nest.
        self.scopes.last_mut().expect("the outermost scope stays")
    }

    /// Declares a variable.
    pub fn declare(&mut self, name: &'a str, symbol: Symbol) -> Result<(), ErrorKind> {
        match self.top().known.insert(name, symbol) {
            None => Ok(()),
            Some(_) => Err(ErrorKind::Redeclared {
                name: name.to_owned(),
            }),
        }
    }

    /// Declares registers.
    pub fn declare_registers(
        &mut self,
        ty: &str,
        name: &'a str,
        count: Option<u32>,
    ) -> Result<(), ErrorKind> {
        let class = match ty {
            ".pred" => Class::Pred,
            ".b8" | ".u8" | ".s8" => Class::Word(8),
            ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => Class::Word(16),
            ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => Class::Word(32),
            ".b64" | ".u64" | ".s64" | ".f64" => Class::Wide,
            _ => {
                return Err(ErrorKind::Undeclared {
                    what: "register type",
                    name: ty.to_owned(),
                });
            }
        };
        let duplicate = match count {
            Some(count) => self.top().ranges.insert(name, (class, count)).is_some(),
            None => {
                let register = self.allocate(class);
                self.top()
                    .known
                    .insert(name, Symbol::Register(register))
                    .is_some()
            }
        };
        match duplicate {
            true => Err(ErrorKind::Redeclared {
                name: name.to_owned(),
            }),
            false => Ok(()),
        }
    }

    fn allocate(&mut self, class: Class) -> Register {
        let next = |count: &mut u32| {
            *count += 1;
            *count - 1
        };
        match class {
            Class::Word(bits) => Register::Word(bits, next(&mut self.words)),
            Class::Wide => Register::Wide(next(&mut self.wides)),
            Class::Pred => Register::Pred(next(&mut self.preds)),
        }
    }

    /// Declares a `.branchtargets` list.
    pub fn declare_table(&mut self, name: &'a str, targets: Vec<u32>) -> Result<(), ErrorKind> {
        match self.top().tables.insert(name, targets) {
            None => Ok(()),
            Some(_) => Err(ErrorKind::Redeclared {
                name: name.to_owned(),
            }),
        }
    }

    /// A `.branchtargets` list.
    pub fn table(&self, name: &str) -> Result<&[u32], ErrorKind> {
        let found = self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.tables.get(name));
        found
            .map(Vec::as_slice)
            .ok_or_else(|| ErrorKind::Undeclared {
                what: "branch table",
                name: name.to_owned(),
            })
    }

    /// The instruction after a label.
    pub fn label(&self, name: &str) -> Result<u32, ErrorKind> {
        let found = self
            .scopes
            .iter()
            .rev()
            .find_map(|scope| self.labels.get(&(scope.block, name)));
        found.copied().ok_or_else(|| ErrorKind::Undeclared {
            what: "label",
            name: name.to_owned(),
        })
    }

    /// What a name stands for.
    pub fn lookup(&mut self, name: &'a str) -> Result<Symbol, ErrorKind> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name[prefix.len()..].parse::<u32>().ok();
        for depth in (0..self.scopes.len()).rev() {
            if let Some(&symbol) = self.scopes[depth].known.get(name) {
                return Ok(symbol);
            }
            let range = self.scopes[depth].ranges.get(prefix).copied();
            if let (Some((class, count)), Some(number)) = (range, number)
                && number < count
            {
                let symbol = Symbol::Register(self.allocate(class));
                self.scopes[depth].known.insert(name, symbol);
                return Ok(symbol);
            }
        }
        special(name)
            .map(Symbol::Special)
            .ok_or_else(|| ErrorKind::Undeclared {
                what: "name",
                name: name.to_owned(),
            })
    }
}

fn special(name: &str) -> Option<Special> {
    let axis = |part: &str| match part {
        ".x" => Some(0),
        ".y" => Some(1),
        ".z" => Some(2),
        _ => None,
    };
    let (register, part) = name.split_at(name.find('.').unwrap_or(name.len()));
    Some(match (register, part) {
        ("%tid", part) => Special::Tid(axis(part)?),
        ("%ntid", part) => Special::Ntid(axis(part)?),
        ("%ctaid", part) => Special::Ctaid(axis(part)?),
        ("%nctaid", part) => Special::Nctaid(axis(part)?),
        ("%laneid", "") => Special::LaneId,
        ("%warpid", "") => Special::WarpId,
        ("%nwarpid", "") => Special::NwarpId,
        ("%lanemask_eq", "") => Special::LaneMask(LaneMask::Eq),
        ("%lanemask_le", "") => Special::LaneMask(LaneMask::Le),
        ("%lanemask_lt", "") => Special::LaneMask(LaneMask::Lt),
        ("%lanemask_ge", "") => Special::LaneMask(LaneMask::Ge),
        ("%lanemask_gt", "") => Special::LaneMask(LaneMask::Gt),
        ("%clock" | "%clock64" | "%globaltimer", "") => Special::Clock,
        ("WARP_SZ", "") => Special::Constant(WARP as u32),
        ("%smid" | "%gridid", "") => Special::Constant(0),
        ("%nsmid", "") => Special::Constant(1),
        ("%dynamic_smem_size", "") => Special::DynamicShared,
        ("%total_smem_size", "") => Special::TotalShared,
        ("%cluster_ctarank", "") => Special::ClusterCtarank,
        ("%cluster_nctarank", "") => Special::ClusterNctarank,
        ("%cluster_ctaid", part) => Special::ClusterCtaid(axis(part)?),
        ("%cluster_nctaid", part) => Special::ClusterNctaid(axis(part)?),
        ("%clusterid", part) => Special::Clusterid(axis(part)?),
        ("%nclusterid", part) => Special::Nclusterid(axis(part)?),
        _ => return None,
    })
}
