//! `roles`: the warps of a block share its work. Consecutive warps do what consecutive roles say.
//!
//! A role is a branch, chosen by the number of the warp, which is the same for all threads of one. It may say how many
//! registers its threads have (`setmaxnreg`): those with fewer than they begin with give the others back, which the roles with
//! more wait for.

use super::builtins::roles as registers;
use super::builtins::{Level, Register};
use super::call::Call;
use super::stmt::{Flow, Place};
use super::values::{RecordValue, Value};
use super::{Evaluator, Result, Stop};
use crate::ast::{BinaryOp, Role};
use crate::diagnostics::{Diagnostic, codes};
use crate::parser::context::ROLE_NUMBERS;
use crate::source::Span;
use cutec_abi::counted;
use cutec_dialects::builder::{IrValue, region_with_block};
use cutec_dialects::elem::Elem;
use cutec_dialects::ops::ScfOp;
use cutec_dialects::target::{self, Feature, WARP};
use std::sync::Arc;

/// Warps of a warpgroup, whose registers are set together.
const WARPGROUP: i64 = target::WARPGROUP / WARP;

/// The role whose body is evaluated.
#[derive(Clone)]
pub(super) struct RoleOfWarps<'c> {
    /// Its name.
    pub name: Arc<str>,
    /// The number of the thread among its threads.
    pub thread: IrValue<'c>,
    /// How many threads it has.
    pub threads: i64,
}

/// What a role says behind its name.
#[derive(Clone, Copy)]
struct Given {
    warps: i64,
    registers: Option<(i64, Span)>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// `roles { … }`.
    pub(super) fn roles(&mut self, roles: &'a [Role], span: Span) -> Result<Flow<'c, 'a>> {
        let start = roles.first().map_or(span, |role| role.name.span);
        self.check_level(Level::Threads, "roles", start)?;
        if let Some(role) = &self.role {
            let message = format!("roles within the role `{}`", role.name);
            let label = "its warps have one already";
            return self.error(codes::ILLEGAL_OPERATION, start, message, label);
        }
        self.ir(span)?;
        let mut given = Vec::new();
        for role in roles {
            given.push(self.given(role));
        }
        let given = given.into_iter().collect::<Result<Vec<_>>>()?;
        self.check_warps(roles, &given, start)?;
        self.check_registers(roles, &given)?;
        let thread = self.linear_thread(start)?;
        let warp = (Value::Int(WARP), start);
        let warp = self.binary(BinaryOp::Div, (thread.clone(), start), warp, start)?;
        let warp = match warp {
            Value::Scalar(_) => registers::of_first_lane(self, &warp, start)?,
            known => known,
        };
        match self.role_from(roles, &given, 0, (&thread, &warp))? {
            0 => Ok(Flow::Next(Value::Unit)),
            exits => Ok(Flow::Maybe(exits)),
        }
    }

    /// What a role says of its warps.
    fn given(&mut self, role: &'a Role) -> Result<Given> {
        let (mut warps, mut registers) = (None, None);
        for arg in &role.args {
            let span = arg.value.span;
            match arg.name.as_ref().map(|name| &*name.node) {
                Some("warps") => {
                    let count = self.static_int("the number of warps of a role", &arg.value)?;
                    if count < 1 {
                        let message = format!("a role of {count} warps");
                        let label = "expected 1 at least";
                        return self.error(codes::ILLEGAL_OPERATION, span, message, label);
                    }
                    warps = Some(count);
                }
                Some("registers") => {
                    let count = self.static_int("the number of registers", &arg.value)?;
                    self.needs(Feature::Setmaxnreg, "registers", arg.span)?;
                    registers = Some((registers::checked_registers(self, count, span)?, span));
                }
                other => {
                    let message = match other {
                        Some(name) => format!("a role has no argument named `{name}`"),
                        None => "a role has arguments by their names".to_owned(),
                    };
                    let diagnostic =
                        Diagnostic::error(codes::WRONG_ARGUMENTS, arg.span, message, "here");
                    let help = "it takes `warps = …` and perhaps `registers = …`";
                    return Err(self.report(diagnostic.with_help(help)));
                }
            }
        }
        match warps {
            Some(warps) => Ok(Given { warps, registers }),
            None => {
                let message = format!(
                    "the role `{}` does not say how many warps it has",
                    role.name.node
                );
                let label = "expected `(warps = …)`";
                self.error(codes::WRONG_ARGUMENTS, role.name.span, message, label)
            }
        }
    }

    /// All warps of the block have a role, and no others.
    fn check_warps(&mut self, roles: &[Role], given: &[Given], start: Span) -> Result<()> {
        let threads: i64 = self.threads_of_block();
        if threads % WARP != 0 {
            let message = format!(
                "roles are of whole warps, but the block has {}",
                counted(threads, "thread")
            );
            let label = "expected a multiple of 32 threads";
            return self.error(codes::ILLEGAL_OPERATION, start, message, label);
        }
        let sum = given
            .iter()
            .fold(0i64, |sum, role| sum.saturating_add(role.warps));
        let warps = threads / WARP;
        if sum == warps {
            return Ok(());
        }
        let message = format!(
            "the roles have {}, but the block has {warps}",
            counted(sum, "warp")
        );
        let label = format!("expected {warps} in all");
        let mut diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, start, message, label);
        for (role, given) in roles.iter().zip(given).skip(1) {
            diagnostic = diagnostic.with_label(role.name.span, counted(given.warps, "warp"));
        }
        Err(self.report(match sum {
            0 => diagnostic,
            sum => {
                let threads = sum.saturating_mul(WARP);
                diagnostic.with_help(format!("launch with `block({threads})`"))
            }
        }))
    }

    /// Registers that each thread has when the kernel begins, of those that are handed out.
    fn first_registers(&self) -> i64 {
        let registers = target::registers_of_thread(self.threads_of_block(), self.min_blocks);
        registers / target::REGISTERS_AT_ONCE * target::REGISTERS_AT_ONCE
    }

    /// Registers are those of whole warpgroups, and there are enough of them.
    fn check_registers(&mut self, roles: &[Role], given: &[Given]) -> Result<()> {
        let Some((_, first)) = given.iter().find_map(|role| role.registers) else {
            return Ok(());
        };
        let before = self.first_registers();
        let (mut start, mut sum) = (0, 0);
        for (role, given) in roles.iter().zip(given) {
            let whole = start % WARPGROUP == 0 && given.warps % WARPGROUP == 0;
            if let Some((_, span)) = given.registers.filter(|_| !whole) {
                let name = &role.name.node;
                let message = format!(
                    "registers are given to warpgroups of 4 warps, but `{name}` has warps {start} to {}",
                    start + given.warps - 1
                );
                let label = "not whole warpgroups";
                return self.error(codes::ILLEGAL_OPERATION, span, message, label);
            }
            start += given.warps;
            sum += given.registers.map_or(before, |(count, _)| count) * given.warps * WARP;
        }
        let threads: i64 = self.threads_of_block();
        let all = before * threads;
        if sum <= all {
            return Ok(());
        }
        let message = format!("the roles have {sum} registers, but the block has {all}");
        let label = "those with more than at first would wait for ever";
        let help = format!("each of {threads} threads begins with {before}");
        let diagnostic = Diagnostic::error(codes::ILLEGAL_OPERATION, first, message, label);
        Err(self.report(diagnostic.with_help(help)))
    }

    /// The number of the thread in the block.
    fn linear_thread(&mut self, span: Span) -> Result<Value<'c, 'a>> {
        let mut linear = self.register(Register::ThreadIdx, "x", span)?;
        let block = self.block.unwrap_or([1; 3]);
        let mut stride = block[0];
        for (axis, extent) in [("y", block[1]), ("z", block[2])] {
            if extent > 1 {
                let index = self.register(Register::ThreadIdx, axis, span)?;
                let by = (Value::Int(stride), span);
                let part = self.binary(BinaryOp::Mul, (index, span), by, span)?;
                linear = self.binary(BinaryOp::Add, (linear, span), (part, span), span)?;
            }
            stride *= extent;
        }
        Ok(linear)
    }

    /// The roles from `at` on, of whose warps this is one; what may have been left.
    fn role_from(
        &mut self,
        roles: &'a [Role],
        given: &[Given],
        at: usize,
        (thread, warp): (&Value<'c, 'a>, &Value<'c, 'a>),
    ) -> Result<u8> {
        let Some(role) = roles.get(at) else {
            return Ok(0);
        };
        let span = role.name.span;
        let first: i64 = given[..at].iter().map(|role| role.warps).sum();
        if at + 1 == roles.len() {
            return self.role(role, given[at], first, (thread, warp));
        }
        let end = (Value::Int(first + given[at].warps), span);
        let mine = self.binary(BinaryOp::Lt, (warp.clone(), span), end, span)?;
        let mine = self.number(&mine, Elem::I1, span)?;
        let (then_region, then_block) = region_with_block(&[]);
        let (else_region, else_block) = region_with_block(&[]);
        let then = self.in_block(then_block, |this| {
            let exits = this.role(role, given[at], first, (thread, warp))?;
            this.terminate(ScfOp::Yield, &[], span)?;
            Ok(exits)
        });
        let otherwise = self.in_block(else_block, |this| {
            let exits = this.role_from(roles, given, at + 1, (thread, warp))?;
            this.terminate(ScfOp::Yield, &[], span)?;
            Ok(exits)
        });
        let (then, otherwise) = (then?, otherwise?);
        let regions = vec![then_region, else_region];
        self.ir(span)?
            .op_with_regions(ScfOp::If, &[mine], &[], &[], regions);
        Ok(then | otherwise)
    }

    /// What the warps of a role do.
    fn role(
        &mut self,
        role: &'a Role,
        given: Given,
        first: i64,
        (thread, warp): (&Value<'c, 'a>, &Value<'c, 'a>),
    ) -> Result<u8> {
        let span = role.name.span;
        if let Some((count, at)) = given.registers {
            let before = self.first_registers();
            if count != before {
                registers::set_registers(self, count, count > before, at)?;
            }
        }
        let within = |this: &mut Self, value: &Value<'c, 'a>, first: i64| match first {
            0 => Ok(value.clone()),
            first => {
                let first = (Value::Int(first), span);
                this.binary(BinaryOp::Sub, (value.clone(), span), first, span)
            }
        };
        let thread = within(self, thread, first * WARP)?;
        let warp = match given.warps {
            1 => Value::Int(0),
            _ => within(self, warp, first)?,
        };
        let warpgroup = match given.warps <= WARPGROUP {
            true => Value::Int(0),
            false => {
                // The number is not negative, which a division could not know.
                let by = (Value::Int(WARPGROUP.ilog2().into()), span);
                self.binary(BinaryOp::Shr, (warp.clone(), span), by, span)?
            }
        };
        let threads = given.warps * WARP;
        if let Value::Scalar(number) = &thread {
            self.role = Some(RoleOfWarps {
                name: role.name.node.clone(),
                thread: number.ir,
                threads,
            });
        }
        // In the order of ROLE_NUMBERS.
        let numbers: [_; ROLE_NUMBERS.len()] = [
            thread,
            warp,
            warpgroup,
            Value::Int(threads),
            Value::Int(given.warps),
        ];
        let result = self.scoped(|this| {
            let numbers = Value::Record(RecordValue {
                declaration: &role.numbers,
                fields: numbers.to_vec(),
            });
            this.bind(role.name.node.clone(), numbers, false, span);
            let flow = this.block(&role.body, Place::INNER)?;
            this.leave(flow, false, span)
        });
        self.role = None;
        result
    }

    /// Refuses what all threads of a block must come to where only those of a role do.
    pub(super) fn all_threads_come(&mut self, call: &Call<'c, 'a>) -> Result<()> {
        let Some(role) = &self.role else {
            return Ok(());
        };
        let (name, threads) = (role.name.clone(), role.threads);
        let what = self.text(call.span).to_owned();
        let message = format!(
            "`{what}` waits for all threads of the block, but only those of `{name}` come to it"
        );
        let diagnostic =
            Diagnostic::error(codes::ILLEGAL_OPERATION, call.span, message, "in a role");
        let help = format!("`barrier(1, {threads})` waits for the {threads} threads of the role");
        let help = match &*call.name {
            "barrier" => help,
            _ => format!("`warp_reduce` combines within each warp; {help}"),
        };
        let stop: Stop = self.report(diagnostic.with_help(help));
        Err(stop)
    }
}
