//! Cache hints of accesses to global memory, as modifiers and an operand of PTX.
use super::Lowering;
use super::predicated::Inputs;
use crate::passes::remark;
use cutec_dialects::builder::{Insertion, IrValue, OpBuilder};
use cutec_dialects::elem::Space;
use cutec_dialects::hints::{Evict, Hints};
use cutec_dialects::value::View;

/// The hints of one instruction.
#[derive(Default)]
pub(super) struct Text {
    /// Behind the space: `.cs.L2::128B`.
    pub modifiers: String,
    /// The cache policy, behind the other operands: `, $5`.
    pub operand: String,
}

impl<'c> Lowering<'c> {
    /// Whether the operation at hand asks something of the caches of a view's memory.
    pub(super) fn asks_caches(&self, view: &View) -> bool {
        self.hints != Hints::NONE && view.ptr.space == Space::Gmem
    }

    pub(super) fn hints_of_load(&mut self, view: &View, inputs: &mut Inputs<'c>) -> Text {
        match self.asks_caches(view) {
            true => {
                let cache = self.hints.cache.and_then(|cache| cache.of_loads());
                self.text(cache, true, inputs)
            }
            false => Text::default(),
        }
    }

    pub(super) fn hints_of_store(&mut self, view: &View, inputs: &mut Inputs<'c>) -> Text {
        match self.asks_caches(view) {
            true => {
                let cache = self.hints.cache.and_then(|cache| cache.of_stores());
                self.text(cache, false, inputs)
            }
            false => Text::default(),
        }
    }

    /// Those of a bulk copy or a copy by a tensor map, which goes through no cache of a multiprocessor.
    pub(super) fn hints_of_copy(&mut self, inputs: &mut Inputs<'c>) -> Text {
        self.text(None, true, inputs)
    }

    /// Those of `cp.async`, which says by itself through which cache it goes, without a priority: the assemblers of CUDA 13.0 to 13.3 and of drivers
    /// of these versions read the policy of a `cp.async` from a register that they never set, and the instruction traps on sm_90.
    pub(super) fn hints_of_cp_async(&mut self, inputs: &mut Inputs<'c>) -> Text {
        if self.hints.evict.is_some() {
            let message = "`cp.async` gets no priority in L2 (`evict`): assemblers before CUDA 13.4 make an instruction of it that traps";
            remark(self.emitter.ir.location, message);
        }
        let evict = self.hints.evict.take();
        let text = self.text(None, true, inputs);
        self.hints.evict = evict;
        text
    }

    fn text(&mut self, cache: Option<&str>, reads: bool, inputs: &mut Inputs<'c>) -> Text {
        let mut text = Text::default();
        if let Some(cache) = cache {
            text.modifiers += &format!(".{cache}");
        }
        if let Some(evict) = self.hints.evict {
            text.modifiers += ".L2::cache_hint";
            let policy = self.policy(evict);
            text.operand = format!(", {}", inputs.add(policy, "l"));
        }
        if let Some(bytes) = self.hints.prefetch.filter(|_| reads) {
            text.modifiers += &format!(".L2::{bytes}B");
        }
        text
    }

    /// The policy of an eviction priority, for all of what it is given to.
    fn policy(&mut self, evict: Evict) -> IrValue<'c> {
        if let Some(known) = self.policies.get(&evict) {
            return *known;
        }
        let context = self.emitter.ir.context();
        let ir = OpBuilder::new(context, Insertion::Before(self.entry));
        let text = format!(
            "createpolicy.fractional.L2::evict_{}.b64 $0, 1.0;",
            evict.name()
        );
        let policy = ir.assembly(&text, "=l", &[], ir.ty("i64"));
        self.policies.insert(evict, policy);
        policy
    }
}
