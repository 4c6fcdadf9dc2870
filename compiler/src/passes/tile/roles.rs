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
    /// Whether it would, were any left of those that a thread begins with which loads.
    pub none_left: bool,
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
        let own = registers_of_thread(multiplying + loading, blocks);
        let kept = Roles {
            loading,
            registers: own,
            of_loading,
            handed_over: false,
            none_left: false,
        };
        if own >= LARGEST_SHARE || !target.has(Feature::Setmaxnreg) {
            return kept;
        }
        // `dec` to more than a thread has, and `inc` to fewer, are undefined (PTX ISA, "setmaxnreg").
        let begun = registers_of_thread(multiplying + WARPGROUP, blocks);
        let raised = registers_of_role(multiplying, WARPGROUP, of_loading, blocks);
        if of_loading >= begun || raised <= begun {
            return Roles {
                none_left: true,
                ..kept
            };
        }
        Roles {
            loading: WARPGROUP,
            registers: raised,
            handed_over: true,
            ..kept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cutec_dialects::target::{REGISTERS_AT_ONCE, TARGETS};

    #[test]
    fn registers_that_are_handed_over_are_there() {
        let target = TARGETS
            .iter()
            .find(|target| target.has(Feature::Setmaxnreg));
        let target = target.expect("a target has setmaxnreg");
        let all = [
            Beside::Nothing,
            Beside::Carries,
            Beside::Gathers,
            Beside::Splits,
        ];
        for (beside, warpgroups) in all.into_iter().flat_map(|of| (1..8).map(move |n| (of, n))) {
            let multiplying = warpgroups * WARPGROUP;
            for blocks in 1..=(2048 / (multiplying + WARPGROUP)) {
                let roles = Roles::of(multiplying, blocks, beside, target);
                let begun = registers_of_thread(multiplying + roles.loading, blocks);
                if !roles.handed_over {
                    assert_eq!(roles.registers, begun);
                    continue;
                }
                let all = begun * (multiplying + WARPGROUP);
                let taken = roles.registers * multiplying + roles.of_loading * WARPGROUP;
                assert!(roles.of_loading < begun && begun < roles.registers && taken <= all);
                for count in [roles.of_loading, roles.registers] {
                    assert!((24..=256).contains(&count) && count % REGISTERS_AT_ONCE == 0);
                }
            }
        }
    }
}
