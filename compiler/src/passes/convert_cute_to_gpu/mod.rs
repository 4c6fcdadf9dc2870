//! `convert-cute-to-gpu`: the `cute` dialect becomes `arith`, `llvm` and `nvvm`.
//!
//! Before: a `gpu.func` whose arguments are `!cute.ptr` and integers and whose
//! body is `cute`, `scf`, `arith` and `nvvm`. After: the same function without
//! `cute`; views have become addresses, fragments stack slots that LLVM keeps
//! in registers, copies and gemms the instructions of their atoms.
//! Precondition: the module verifies.
//!
//! A value of the `cute` dialect is not lowered when it is defined: the pass
//! carries its [`Val`], in which every run-time integer is a variable that
//! stands for an SSA value, and emits arithmetic where an address needs it.
mod atomic;
mod bulk;
mod cache_hints;
mod cluster;
mod copy;
mod factors;
mod fragment_accesses;
mod gemm;
mod grid_dependency;
mod guarded_load;
mod lanes;
mod loop_fence;
mod mbarrier;
mod memory;
mod predicated;
mod predicates;
mod products;
mod promote_fragments;
mod register_banks;
mod store_forwarding;
mod tma;
mod tma_desc;
mod unroll_loops;
mod unroll_vectors;
mod vectors;
mod wgmma;

pub(super) use guarded_load::GUARD;
pub(super) use lanes::is_register;
pub(super) use vectors::{Vectors, common_vectors};
pub(super) use wgmma::REUSED;

use super::cmpi::{EQUAL, LESS};
use super::emit::{Emitter, Signs};
use super::ir_utils::{
    Kernel, blocks, collect_nested, for_each_kernel, kernels, name_of, operations, present,
    replace_all_uses, set_attribute, users,
};
use super::kernel_abi::{MIN_BLOCKS, sizes};
use super::printf::printf;
use super::smem_map::SmemMap;
use super::{Reported, report};
use cutec_dialects::builder::{
    Insertion, IrBlock, IrOp, IrValue, OpBuilder, argument_of, integer_value, operands_of,
    operation_key, result_of, results_of, string_value, value_key,
};
use cutec_dialects::elem::Space;
use cutec_dialects::hints::{Evict, Hints};
use cutec_dialects::ir::attrs_of;
use cutec_dialects::memo::{type_text, val_of};
use cutec_dialects::ops::{ArithOp, CuteOp, GpuOp, LlvmOp, NvvmOp, cute};
use cutec_dialects::semantics::{AtomicKind, SemError, evaluate, evaluate_all};
use cutec_dialects::target::Target;
use cutec_dialects::types::Vars;
use cutec_dialects::value::{Val, without_underscore};
use cutec_layout::{IntTuple, SymInfo, Tree, Width};
use fragment_accesses::Accesses;
use melior::Context;
use melior::ir::attribute::TypeAttribute;
use melior::ir::r#type::FunctionType;
use melior::ir::{BlockLike, Type, ValueLike, operation::OperationLike};
use promote_fragments::Slot;
use rustc_hash::{FxHashMap, FxHashSet};

/// Name of the dynamic shared memory of every kernel. With `$`, which no name of the language has.
pub const SMEM_SYMBOL: &str = "cutec$smem";

/// Storage that pointers point into.
struct Base<'c> {
    pointer: IrValue<'c>,
    /// Bytes from `pointer` to the start.
    bytes: i64,
    /// The buffer of shared memory that it is.
    buffer: Option<usize>,
    /// The rank of the block whose memory it is, where that is not the own one's.
    rank: Option<IrValue<'c>>,
}

/// Lowers one kernel.
struct Lowering<'c> {
    emitter: Emitter<'c>,
    target: Target,
    /// First operation of the body: stack slots go before it.
    entry: IrOp<'c>,
    vals: FxHashMap<usize, Val>,
    bases: Vec<Base<'c>>,
    smem: Option<IrValue<'c>>,
    /// Its address as matrix descriptors hold it.
    descriptor_address: Option<IrValue<'c>>,
    /// Zero, which neither LLVM nor ptxas knows to be that.
    hidden_zero: Option<IrValue<'c>>,
    /// The stack slots of what products read from registers.
    factors: FxHashSet<usize>,
    /// The buffers of shared memory, and which operations access them.
    smem_map: SmemMap<'c>,
    /// What the accesses of the operation at hand ask of the caches.
    hints: Hints,
    /// The L2 policies that accesses ask for, made once.
    policies: FxHashMap<Evict, IrValue<'c>>,
    /// The addresses of the maps of atoms.
    tensor_maps: FxHashMap<usize, IrValue<'c>>,
    /// Long vectors, as the parts that were computed in their place.
    parts: FxHashMap<usize, Vec<IrValue<'c>>>,
    /// The last wait for products by `wgmma`.
    waited: Option<IrOp<'c>>,
    /// The lanes of those, and of other vectors.
    lanes: lanes::Lanes<'c>,
    /// Where those stand.
    order: unroll_vectors::Order<'c>,
    /// Which fragments are read and written where.
    accesses: Accesses,
    /// The stack slots of the fragments.
    slots: FxHashMap<usize, Slot>,
    /// The slots that one block alone accesses, where they are very many.
    local_slots: FxHashSet<usize>,
    /// The values of fragments that are available at the operation at hand.
    available: store_forwarding::AvailableValues<'c>,
    /// Fragments that hold `fma` accumulators, and vectors loaded from them.
    holding: FxHashSet<usize>,
    /// The bases of those fragments.
    sums: FxHashSet<usize>,
    /// The products that the next one may be one piece of assembly with.
    products: Option<products::Products<'c>>,
    dead: Vec<IrOp<'c>>,
}

/// Lowers every kernel of the module.
pub fn convert_cute_to_gpu<'c>(context: &'c Context, module: IrOp<'c>) -> Result<(), Reported> {
    let mut using_smem = Vec::new();
    for_each_kernel(context, module, |kernel| {
        if lower_kernel(kernel)? {
            using_smem.push(operation_key(kernel.function));
        }
        Ok::<_, Reported>(())
    })?;
    for (block, functions) in kernels(module) {
        let uses_smem = |function: &IrOp| using_smem.contains(&operation_key(*function));
        if functions.iter().any(uses_smem)
            && let Some(first) = operations(block).first()
        {
            declare_smem(&OpBuilder::new(context, Insertion::Before(*first)));
        }
    }
    Ok(())
}

fn declare_smem(ir: &OpBuilder) {
    let region = melior::ir::Region::new();
    let attrs = [
        ("sym_name", ir.string(SMEM_SYMBOL)),
        ("global_type", ir.attr("!llvm.array<0 x i8>")),
        ("linkage", ir.attr("#llvm.linkage<external>")),
        ("addr_space", ir.i32(3)),
        ("alignment", ir.i64(1024)),
    ];
    ir.op_with_regions(LlvmOp::MlirGlobal, &[], &attrs, &[], vec![region]);
}

/// Lowers one kernel; whether it uses shared memory.
fn lower_kernel(kernel: Kernel) -> Result<bool, Reported> {
    let Kernel {
        context,
        function,
        target,
    } = kernel;
    let Some(body) = blocks(function, 0).into_iter().next() else {
        return Ok(false);
    };
    let Some(entry) = operations(body).into_iter().next() else {
        return Ok(false);
    };
    bound_registers(context, function);
    let accesses = Accesses::of(function);
    let mut lowering = Lowering {
        emitter: Emitter::new(context, entry, Signs::Known),
        target,
        entry,
        vals: FxHashMap::default(),
        bases: Vec::new(),
        smem: None,
        descriptor_address: None,
        hidden_zero: None,
        factors: FxHashSet::default(),
        smem_map: SmemMap::default(),
        hints: Hints::NONE,
        policies: FxHashMap::default(),
        tensor_maps: FxHashMap::default(),
        parts: FxHashMap::default(),
        waited: None,
        lanes: lanes::Lanes::default(),
        order: unroll_vectors::Order::default(),
        holding: register_banks::accumulators(function, &accesses),
        accesses,
        slots: FxHashMap::default(),
        local_slots: FxHashSet::default(),
        available: store_forwarding::AvailableValues::default(),
        sums: FxHashSet::default(),
        products: None,
        dead: Vec::new(),
    };
    lowering.check_blocks(function)?;
    lowering.arguments(function, body)?;
    lowering.block(body)?;
    let uses_smem = lowering.smem.is_some();
    let smem_map = std::mem::take(&mut lowering.smem_map);
    lowering.erase_dead()?;
    lowering.end_lanes(body);
    smem_map.attach(context, function);
    Ok(uses_smem)
}

/// Says of a kernel that distributes registers among its warps that a multiprocessor has at least one block of it: else
/// ptxas does not know how many each thread begins with, and ignores every `setmaxnreg` (its warning C7508).
fn bound_registers<'c>(context: &'c Context, function: IrOp<'c>) {
    let mut inside = Vec::new();
    collect_nested(function, &mut inside);
    let distributes = inside.iter().any(|op| NvvmOp::Setmaxregister.is(*op));
    if distributes && function.attribute(MIN_BLOCKS).is_err() {
        let ir = OpBuilder::new(context, Insertion::Before(function));
        set_attribute(function, MIN_BLOCKS, ir.i32(1));
    }
}

impl<'c> Lowering<'c> {
    /// Values of the dialect are followed through `scf`, not between blocks: behind the first there may be none.
    fn check_blocks(&self, func: IrOp<'c>) -> Result<(), Reported> {
        let others = blocks(func, 0).into_iter().skip(1).flat_map(operations);
        for op in others {
            let mut all = vec![op];
            collect_nested(op, &mut all);
            if let Some(op) = all.into_iter().find(|op| CuteOp::of(*op).is_some()) {
                let message = "expects operations of `cute` in the first block of a kernel, with `scf` as control flow";
                return Err(self.error(op, message));
            }
        }
        Ok(())
    }

    fn arguments(&mut self, func: IrOp<'c>, body: IrBlock<'c>) -> Result<(), Reported> {
        for index in sizes(func) {
            if index < body.argument_count() {
                self.emitter.assert_non_negative(argument_of(body, index));
            }
        }
        let mut types = Vec::new();
        for index in 0..body.argument_count() {
            let argument = argument_of(body, index);
            let val = val_of(argument).map_err(|error| self.error(func, error))?;
            if let Val::Ptr(mut ptr) = val {
                if ptr.space != Space::Gmem {
                    return Err(self.error(
                        func,
                        format!("a kernel takes pointers to gmem, not {}", argument.r#type()),
                    ));
                }
                argument.set_type(self.emitter.ir.pointer_type(1));
                ptr.base = self.add_base(argument, 0);
                self.vals.insert(value_key(argument), Val::Ptr(ptr));
            }
            types.push(argument.r#type());
        }
        let ir = &self.emitter.ir;
        let ty = ir.type_attr(ir.function_type(&types, &results(func)));
        set_attribute(func, "function_type", ty);
        Ok(())
    }

    fn add_base(&mut self, pointer: IrValue<'c>, bytes: i64) -> usize {
        self.bases.push(Base {
            pointer,
            bytes,
            buffer: None,
            rank: None,
        });
        self.bases.len()
    }

    fn block(&mut self, block: IrBlock<'c>) -> Result<(), Reported> {
        for op in operations(block) {
            self.operation(op)?;
        }
        Ok(())
    }

    fn operation(&mut self, op: IrOp<'c>) -> Result<(), Reported> {
        self.emitter.ir.insertion = Insertion::Before(op);
        self.emitter.ir.location = op.location();
        if let Some(kind) = CuteOp::of(op) {
            let done = self.cute(kind, op);
            self.dead.push(op);
            return done.map_err(|error| self.error(op, error));
        }
        if let Some(kind @ (NvvmOp::WgmmaFence | NvvmOp::WgmmaWaitGroup)) = NvvmOp::of(op) {
            self.wgmma_boundary(kind, op);
            self.dead.push(op);
            return Ok(());
        }
        if NvvmOp::WgmmaCommitGroup.is(op) {
            // Behind anything but products it stays.
            let text = "wgmma.commit_group.sync.aligned;";
            if self.add_to_piece(text, &[]).is_some() {
                self.dead.push(op);
            }
            return Ok(());
        }
        if NvvmOp::Griddepcontrol.is(op) {
            self.grid_dependency(op)?;
            self.dead.push(op);
            return Ok(());
        }
        if self.split(op) {
            self.dead.push(op);
            return Ok(());
        }
        if op.region_count() == 0 || self.guarded_load(op)? {
            return Ok(());
        }
        self.regions(op)
    }

    fn cute(&mut self, kind: CuteOp, op: IrOp<'c>) -> Result<(), SemError> {
        let operands: Vec<Val> = operands_of(op)
            .enumerate()
            .map(|(index, value)| match (kind, index) {
                (CuteOp::DomainOffset, 1..) => self.offset(value),
                _ => self.operand(value),
            })
            .collect::<Result<_, _>>()?;
        self.hints = hints_of(op);
        match kind {
            CuteOp::Copy => {
                return match operands.split_first() {
                    Some((Val::TmaAtom(atom), rest)) => self.tma_copy(op, atom, rest),
                    Some((Val::BulkCopy(atom), rest)) => self.bulk_copy(atom, rest),
                    _ => self.copy(&operands, op.attribute("fill").ok()),
                };
            }
            CuteOp::Prefetch => {
                return match operands.as_slice() {
                    [Val::TmaAtom(atom), tile] => self.prefetch_tile(op, atom, tile),
                    [Val::BulkCopy(atom), source] => self.prefetch_runs(atom, source),
                    _ => Err(SemError::Illegal(
                        "prefetch takes an atom and a tensor".into(),
                    )),
                };
            }
            CuteOp::PrefetchTmaDesc => return self.prefetch_tensor_map(op),
            CuteOp::MakeTmaAtom => self.keep_tensor_map(op, &operands, result_of(op, 0)),
            CuteOp::CopyTmaDesc
            | CuteOp::UpdateTmaDesc
            | CuteOp::CpFenceTmaDescRelease
            | CuteOp::FenceTmaDescAcquire => return self.tma_desc(kind, op, &operands),
            CuteOp::AutovecCopy => return self.autovec_copy(&operands),
            CuteOp::Gemm => {
                let adds = present(cute::Gemm::of(op))?.adds();
                return self.gemm(&operands, adds.first().copied());
            }
            CuteOp::MemrefStore => return self.store(&operands, stored(op)?),
            CuteOp::MemrefStoreVec => return self.store_vec(&operands, stored(op)?),
            CuteOp::StoreAsync => {
                let value = present(cute::StoreAsync::of(op))?.value();
                return self.store_async(&operands, value);
            }
            CuteOp::ReduceAsync => {
                let kind = AtomicKind::of(&attrs_of(&op, &mut Vars::default())?)?;
                let value = present(cute::ReduceAsync::of(op))?.value();
                return self.reduce_async(&operands, kind, value);
            }
            CuteOp::Print => return self.print(&operands),
            CuteOp::MbarrierTryWait | CuteOp::MbarrierTestWait => {
                let value = self.mbarrier_test(kind, &operands)?;
                replace_all_uses(result_of(op, 0), value);
                return Ok(());
            }
            _ if kind.is_mbarrier() => return self.mbarrier(kind, &operands),
            CuteOp::GetLeaves | CuteOp::GetScalars | CuteOp::GetLayoutsFromTile => {
                let attrs = attrs_of(&op, &mut Vars::default())?;
                let results = evaluate_all(kind, &operands, &attrs)?;
                for (index, val) in results.into_iter().enumerate() {
                    self.define(result_of(op, index), val);
                }
                return Ok(());
            }
            _ => {}
        }
        let result = result_of(op, 0);
        let attrs = attrs_of(&op, &mut Vars::default())?;
        let val = match kind {
            CuteOp::Assume => self.assume(&operands, &attrs)?,
            CuteOp::MemrefAtomic => {
                let rest = present(cute::MemrefAtomic::of(op))?.numbers();
                let kind = AtomicKind::of(&attrs)?;
                if !users(result).is_empty() {
                    let value = self.atomic(&operands, kind, &rest)?;
                    replace_all_uses(result, value);
                } else if !self.reduce(&operands, kind, &rest)? {
                    self.atomic(&operands, kind, &rest)?;
                }
                return Ok(());
            }
            CuteOp::MemrefLoad if matches!(operands[0], Val::View(_)) => {
                let value = self.load(&operands)?;
                replace_all_uses(result, value);
                return Ok(());
            }
            CuteOp::MemrefLoadVec => {
                match unroll_vectors::long_vector(result.r#type()) {
                    Some((count, _)) => {
                        let parts = self.load_parts(&operands, count)?;
                        self.keep_parts(result, parts);
                    }
                    None => {
                        let value = self.load_vec(&operands)?;
                        replace_all_uses(result, value);
                    }
                }
                return Ok(());
            }
            CuteOp::ElemLess | CuteOp::Equal => {
                let value = self.compare(kind, &operands)?;
                replace_all_uses(result, value);
                return Ok(());
            }
            _ => evaluate(kind, &operands, &attrs)?,
        };
        let val = self.placed(op, kind, &operands, val)?;
        self.define(result, val);
        Ok(())
    }

    /// What a result is; an integer also as an SSA value of `arith`.
    fn define(&mut self, result: IrValue<'c>, val: Val) {
        if let Val::Scalar(int) = &val {
            let wide = &*type_text(result.r#type()) == "i64";
            let value = self.emitter.int(int, wide);
            replace_all_uses(result, value);
        }
        self.vals.insert(value_key(result), val);
    }

    /// The value of an operand: what was computed for it, or an SSA integer of another dialect.
    fn operand(&mut self, value: IrValue<'c>) -> Result<Val, SemError> {
        if let Some(val) = self.vals.get(&value_key(value)) {
            return Ok(val.clone());
        }
        let text = type_text(value.r#type());
        match &*text {
            "i32" | "i64" => Ok(Val::Scalar(self.emitter.integer(value))),
            "index" => {
                let i64_type = self.emitter.ir.ty("i64");
                let value = self
                    .emitter
                    .ir
                    .value(ArithOp::IndexCast, &[value], &[], i64_type);
                Ok(Val::Scalar(self.emitter.integer(value)))
            }
            _ if text.starts_with("!cute") => Err(SemError::Illegal(format!(
                "uses a value of {text} that no operation of this kernel defines; block arguments and casts carry none"
            ))),
            _ => Ok(Val::Opaque(text.to_string())),
        }
    }

    /// An operand that may be negative; what the program asserts to divide it is kept.
    fn offset(&mut self, operand: IrValue<'c>) -> Result<Val, SemError> {
        let (mut value, mut divisor) = (operand, 1);
        if let Some(assume) = cute::Assume::defining(operand)
            && let Val::Tuple(_, Tree::Leaf(Some(declared))) = val_of(operand)?
        {
            divisor = declared.div();
            value = assume.input();
        }
        if !["i32", "i64"].contains(&&*type_text(value.r#type())) {
            return self.operand(operand);
        }
        let int = self.emitter.signed_integer(value);
        if int.is(0) || divisor <= 1 || int.divisible_by(divisor) {
            return Ok(Val::Scalar(int));
        }
        let negative = int.lower() < 0;
        let int = self.emitter.offset_variable(value, divisor, negative);
        Ok(Val::Scalar(int))
    }

    /// Gives storage to a view that an operation allocates, or maps to another block.
    fn placed(
        &mut self,
        op: IrOp<'c>,
        kind: CuteOp,
        operands: &[Val],
        val: Val,
    ) -> Result<Val, SemError> {
        let Val::View(mut view) = val else {
            return Ok(val);
        };
        match kind {
            CuteOp::MapSharedRank => view = self.map_shared_rank(operands, view)?,
            CuteOp::MemrefAlloca | CuteOp::MmaMakeFragment | CuteOp::MakeFragmentLike => {
                let fragment = value_key(result_of(op, 0));
                let slot = self.stack_slot(&view);
                view.ptr.base = slot.base;
                self.slots.insert(fragment, slot);
                if self.accesses.is_one_of_many(fragment) {
                    self.local_slots.insert(slot.base);
                }
                if self.accesses.is_factor(fragment) {
                    self.factors.insert(slot.base);
                }
                if self.holding.contains(&fragment) {
                    self.sums.insert(view.ptr.base);
                }
            }
            CuteOp::MemrefAllocSmem => {
                let offset = op.attribute("offset").ok().and_then(integer_value);
                let offset = offset.ok_or_else(|| {
                    SemError::Illegal("has no offset; run cute-allocate-smem first".into())
                })?;
                view.ptr.base = self.shared(&view, offset, op.location());
            }
            _ => {}
        }
        Ok(Val::View(view))
    }

    /// A value about which the program asserts something.
    fn assume(
        &mut self,
        operands: &[Val],
        attrs: &cutec_dialects::semantics::Attrs,
    ) -> Result<Val, SemError> {
        match (operands, &attrs.result) {
            ([Val::Ptr(ptr)], Some(Val::Ptr(declared))) => {
                let mut ptr = ptr.clone();
                ptr.align = ptr.align.max(declared.align);
                Ok(Val::Ptr(ptr))
            }
            ([x], Some(Val::Tuple(kind, Tree::Leaf(Some(declared))))) => {
                let int = match x {
                    Val::Scalar(int) | Val::Tuple(_, Tree::Leaf(Some(int))) => int.clone(),
                    other => {
                        return Err(SemError::Illegal(format!(
                            "cannot assume anything of {}",
                            other.describe()
                        )));
                    }
                };
                if int.is_static() {
                    return Ok(Val::Tuple(*kind, Tree::Leaf(Some(int))));
                }
                let wide = int.width() == Width::I64;
                let value = self.emitter.int(&int, wide);
                let info = SymInfo {
                    width: int.width(),
                    div: declared.div(),
                    max: int.upper(),
                };
                Ok(Val::Tuple(
                    *kind,
                    Tree::Leaf(Some(self.emitter.variable(value, info))),
                ))
            }
            _ => Err(SemError::Illegal(
                "assume takes one integer or pointer".into(),
            )),
        }
    }

    /// Prints the numbers of a value on the device.
    fn print(&mut self, operands: &[Val]) -> Result<(), SemError> {
        let [val] = operands else {
            return Err(SemError::Illegal("print takes one value".into()));
        };
        let (format, integers) = printf(val)?;
        let integers: Vec<IrValue<'c>> = integers
            .iter()
            .map(|int| self.emitter.int(int, int.width() == Width::I64))
            .collect();
        let ir = &self.emitter.ir;
        let format = [("format", ir.string(&format))];
        ir.op(GpuOp::Printf, &integers, &format, &[]);
        Ok(())
    }

    /// Whether every leaf of a tuple is smaller than that of another, or equal to it.
    fn compare(&mut self, kind: CuteOp, operands: &[Val]) -> Result<IrValue<'c>, SemError> {
        let [a, b] = operands else {
            return Err(SemError::Illegal(format!("{kind} takes two tuples")));
        };
        let leaves = |val: &Val| match val {
            Val::Scalar(int) => Ok(Tree::Leaf(int.clone())),
            Val::Tuple(_, tuple) => without_underscore(tuple)
                .ok_or_else(|| SemError::Illegal(format!("{kind} takes integers, not `_`"))),
            other => Err(SemError::Illegal(format!(
                "{kind} takes tuples, not {}",
                other.describe()
            ))),
        };
        let (a, b) = (leaves(a)?, leaves(b)?);
        if kind == CuteOp::Equal {
            return Ok(match a.congruent(&b) {
                true => self.every(&a, &b, EQUAL),
                false => self.emitter.ir.constant(0, "i1"),
            });
        }
        if a.leaf_count() != b.leaf_count() {
            return Err(SemError::Illegal(format!(
                "elem_less of {a} and {b}: different numbers of leaves"
            )));
        }
        Ok(self.inside(&a, &b))
    }

    /// Whether every leaf of a coordinate is smaller than that of a bound.
    fn inside(&mut self, coord: &IntTuple, bound: &IntTuple) -> IrValue<'c> {
        self.every(coord, bound, LESS)
    }

    /// Whether a predicate of `arith.cmpi` holds at every leaf.
    fn every(&mut self, coord: &IntTuple, bound: &IntTuple, predicate: i64) -> IrValue<'c> {
        let mut all = None;
        for (coord, bound) in coord.leaves().into_iter().zip(bound.leaves()) {
            let holds = self.emitter.compare(predicate, coord, bound);
            all = Some(self.emitter.and(all, holds));
        }
        all.unwrap_or_else(|| self.emitter.ir.constant(1, "i1"))
    }

    fn error(&self, op: IrOp<'c>, message: impl ToString) -> Reported {
        report(op.location(), message)
    }

    /// Erases what was lowered: users first. What another dialect takes of it is an error there.
    fn erase_dead(&mut self) -> Result<(), Reported> {
        for op in std::mem::take(&mut self.dead).into_iter().rev() {
            let results = results_of(op);
            if let Some(user) = results.flat_map(users).next() {
                let message = format!(
                    "`{}` uses a value of `cute`, which only operations of `cute` can",
                    name_of(user)
                );
                return Err(report(user.location(), message));
            }
            // SAFETY: nothing uses its results.
            unsafe {
                mlir_sys::mlirOperationRemoveFromParent(op.to_raw());
                mlir_sys::mlirOperationDestroy(op.to_raw());
            }
        }
        Ok(())
    }
}

/// The types of what a function gives back; a kernel gives nothing.
fn results<'c>(func: IrOp<'c>) -> Vec<Type<'c>> {
    let ty = func.attribute("function_type").ok();
    let ty = ty.and_then(|ty| TypeAttribute::try_from(ty).ok());
    let ty = ty.and_then(|ty| FunctionType::try_from(ty.value()).ok());
    let result = |index| ty.and_then(|ty| ty.result(index).ok());
    (0..ty.map_or(0, |ty| ty.result_count()))
        .filter_map(result)
        .collect()
}

/// What an operation on views asks of the caches; verified with the operation.
fn hints_of(op: IrOp) -> Hints {
    let hints = op.attribute("hints").ok().and_then(string_value);
    hints
        .and_then(|hints| Hints::parse(&hints))
        .unwrap_or(Hints::NONE)
}

/// What a store writes.
fn stored<'c>(op: IrOp<'c>) -> Result<IrValue<'c>, SemError> {
    Ok(present(cute::MemrefStore::of(op))?.value())
}
