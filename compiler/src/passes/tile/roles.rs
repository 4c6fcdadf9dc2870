//! The roles of a kernel by `wgmma`: how many threads load beside those that multiply, and how many registers both have.
use cutec_dialects::target::{
    Feature, LARGEST_SHARE, Target, WARP, WARPGROUP, registers_of_role, registers_of_thread,
};

/// Registers of a thread that loads, where registers are handed over: enough for the coordinates of its boxes.
pub(super) const LOADING: i64 = 32;

/// See the module.
pub(super) struct Roles {
    /// Threads that load: a warp, or the warpgroup that it takes to hand registers over.
    pub loading: i64,
    /// Registers of a thread that multiplies.
    pub registers: i64,
}

impl Roles {
    /// Where so many threads multiply, and so many blocks share a multiprocessor.
    pub fn of(multiplying: i64, blocks: i64, target: &Target) -> Roles {
        let registers = registers_of_thread(multiplying + WARP, blocks);
        if registers >= LARGEST_SHARE || !target.has(Feature::Setmaxnreg) {
            return Roles {
                loading: WARP,
                registers,
            };
        }
        Roles {
            loading: WARPGROUP,
            registers: registers_of_role(multiplying, WARPGROUP, LOADING, blocks),
        }
    }

    /// Whether `setmaxnreg` gives those that multiply registers of those that load.
    pub fn hand_over(&self) -> bool {
        self.loading == WARPGROUP
    }
}
