//! The roles of a kernel by `wgmma`: how many threads load beside those that multiply, and how many registers both have.
use cutec_dialects::target::{
    Feature, Target, WARP, WARPGROUP, registers_of_role, registers_of_thread,
};

/// Registers of a thread that loads, where registers are handed over: enough for the coordinates of its boxes.
const LOADING: i64 = 32;

/// Registers that a thread can have without any being handed over.
const MOST: i64 = 248;

/// See the module.
pub(super) struct Roles {
    /// Threads that load: a warp, or the warpgroup that it takes to hand registers over.
    pub loading: i64,
    /// Registers of a thread that multiplies.
    pub registers: i64,
    /// Whether `setmaxnreg` gives them to it.
    pub handed_over: bool,
}

impl Roles {
    /// Where so many threads multiply, and so many blocks share a multiprocessor.
    pub fn of(multiplying: i64, blocks: i64, target: &Target) -> Roles {
        let registers = registers_of_thread(multiplying + WARP, blocks);
        if registers >= MOST || !target.has(Feature::Setmaxnreg) {
            return Roles {
                loading: WARP,
                registers,
                handed_over: false,
            };
        }
        Roles {
            loading: WARPGROUP,
            registers: registers_of_role(multiplying, WARPGROUP, LOADING, blocks),
            handed_over: true,
        }
    }

    /// Registers of a thread that loads, where they are handed over.
    pub fn of_loading(&self) -> i64 {
        LOADING
    }
}
