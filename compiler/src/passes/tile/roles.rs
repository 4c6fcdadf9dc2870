//! The roles of a kernel by `wgmma`: how many threads load beside those that multiply, and how many registers both have.
use cutec_dialects::target::{
    Feature, LARGEST_SHARE, Target, WARP, WARPGROUP, registers_of_role, registers_of_thread,
};

/// Registers of a thread that loads, where registers are handed over: enough for the coordinates of its boxes.
const LOADING: i64 = 32;
/// The same where a warp loads vectors, of which each lane holds some elements.
const CARRYING: i64 = 40;
/// The same of one that gathers: it keeps where the lines of its vectors lie.
const GATHERING: i64 = 88;

/// The same of one of a warpgroup of which a warp loads and two split: it holds some vectors.
const SPLITTING: i64 = 88;

/// What those that load do beside beginning copies by tensor maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// Nothing.
    Nothing,
    /// A warp of its own loads what a loop takes beside operands.
    Carries,
    /// They gather.
    Gathers,
    /// They split operands into parts.
    Splits,
}

/// See the module.
pub(super) struct Roles {
    /// Threads that load: a warp, or the warpgroup that it takes to hand registers over.
    pub loading: i64,
    /// Registers of a thread that multiplies.
    pub registers: i64,
    /// Registers of one that loads, where they are handed over.
    pub of_loading: i64,
    /// Whether `setmaxnreg` does.
    pub handed_over: bool,
}

impl Roles {
    /// Where so many threads multiply, and so many blocks share a multiprocessor. What is gathered or split takes a warpgroup.
    pub fn of(multiplying: i64, blocks: i64, beside: Beside, target: &Target) -> Roles {
        let (loading, of_loading) = match beside {
            Beside::Gathers => (WARPGROUP, GATHERING),
            Beside::Splits => (WARPGROUP, SPLITTING),
            Beside::Carries => (2 * WARP, CARRYING),
            Beside::Nothing => (WARP, LOADING),
        };
        let registers = registers_of_thread(multiplying + loading, blocks);
        if registers >= LARGEST_SHARE || !target.has(Feature::Setmaxnreg) {
            return Roles {
                loading,
                registers,
                of_loading,
                handed_over: false,
            };
        }
        Roles {
            loading: WARPGROUP,
            registers: registers_of_role(multiplying, WARPGROUP, of_loading, blocks),
            of_loading,
            handed_over: true,
        }
    }
}
