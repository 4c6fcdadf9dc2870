//! What the lanes of a warp do together: waiting for each other, shuffles, votes, reductions.

use super::Fault;
use super::schedule::Schedule;
use super::warp::{Next, Warp};
use crate::sim::error::ErrorKind;
use crate::sim::isa::{Collective, Instr, ShuffleMode, VoteDst, VoteMode};
use crate::sim::lane::{Src, WARP, lanes};

impl Warp {
    /// For `.sync` instructions: the lanes of the member mask that have not left.
    ///
    /// Lanes with different masks meet separately, also when they stand at one instruction. Gives
    /// the sets that meet, or what to wait for.
    pub(super) fn rendezvous(
        &self,
        members: Src,
        mask: u32,
    ) -> Result<Result<Vec<u32>, Next>, Fault> {
        let members = self.registers.words_of(members);
        let mut sets = Vec::with_capacity(1);
        let mut rest = mask;
        let mut needed = 0;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let wanted = members[first];
            if wanted >> first & 1 == 0 {
                let expected = format!("lane {first} itself among the members");
                let kind = ErrorKind::Value {
                    what: "member mask",
                    expected,
                    found: wanted.into(),
                };
                return Err(Fault::new(kind, first as u32));
            }
            let set = lanes(rest)
                .filter(|&lane| members[lane] == wanted)
                .fold(0, |m, lane| m | 1 << lane);
            needed |= wanted & self.live;
            rest &= !set;
            sets.push(set);
        }
        match needed & !mask {
            0 => Ok(Ok(sets)),
            _ => Ok(Err(Next::Gather(mask, needed))),
        }
    }

    /// Executes a collective whose members are all in `mask`. Returns the first lane of a shuffle that reads one which does not execute it, and that.
    pub(super) fn collective(
        &mut self,
        schedule: &Schedule,
        kind: Collective,
        mask: u32,
    ) -> Option<(usize, u32)> {
        let mut lost = None;
        match kind {
            Collective::Shuffle {
                mode,
                dst,
                valid,
                a,
                b,
                c,
            } => {
                let (a, b, c) = (
                    self.registers.words_of(a),
                    self.registers.words_of(b),
                    self.registers.words_of(c),
                );
                let mut values = a;
                let mut in_range = 0;
                for lane in lanes(mask) {
                    let (source, valid) = shuffle_source(mode, lane as u32, b[lane], c[lane]);
                    if mask >> source & 1 == 0 {
                        lost.get_or_insert((lane, source));
                    }
                    in_range |= u32::from(valid) << lane;
                    values[lane] = a[source as usize];
                }
                self.registers.set_words(dst, mask, &values);
                if let Some(slot) = valid {
                    self.registers.set_pred(slot, mask, in_range);
                }
            }
            Collective::Vote { mode, dst, pred } => {
                let ballot = self.registers.pred(pred) & mask;
                let result = match mode {
                    VoteMode::Ballot => ballot,
                    VoteMode::All => u32::from(ballot == mask).wrapping_neg(),
                    VoteMode::Any => u32::from(ballot != 0).wrapping_neg(),
                    VoteMode::Uni => u32::from(ballot == mask || ballot == 0).wrapping_neg(),
                };
                match dst {
                    VoteDst::Pred(slot) => self.registers.set_pred(slot, mask, result),
                    VoteDst::Word(dst) => self.registers.set_words(dst, mask, &[result; WARP]),
                }
            }
            Collective::Match {
                all,
                dst,
                valid,
                value,
                wide,
            } => {
                let mut values = self.registers.wides_of(value);
                if !wide {
                    values = values.map(|v| v & u64::from(u32::MAX));
                }
                let equal = |lane: usize| {
                    lanes(mask)
                        .filter(|&l| values[l] == values[lane])
                        .fold(0u32, |m, l| m | 1 << l)
                };
                let mut result = [0; WARP];
                for lane in lanes(mask) {
                    result[lane] = match equal(lane) {
                        found if all && found != mask => 0,
                        found => found,
                    };
                }
                if let Some(slot) = valid {
                    let agreed =
                        lanes(mask).fold(0, |m, lane| m | u32::from(result[lane] != 0) << lane);
                    self.registers.set_pred(slot, mask, agreed);
                }
                self.registers.set_words(dst, mask, &result);
            }
            Collective::Reduce { f, dst, value } => {
                let values = self.registers.words_of(value);
                if let Some(result) = lanes(mask).map(|lane| values[lane]).reduce(f) {
                    self.registers.set_words(dst, mask, &[result; WARP]);
                }
            }
            Collective::Elect { dst, pred } => {
                let leader = schedule.leader(mask);
                self.registers.set_words(dst, mask, &[leader; WARP]);
                if let Some(slot) = pred {
                    self.registers.set_pred(slot, mask, 1 << leader);
                }
            }
            // It computes nothing.
            Collective::Barrier => {}
        }
        lost
    }

    /// What a lane gets of one that has left, or is no member, is undefined (PTX ISA 9.7.9.6).
    pub(super) fn lost(&self, instr: &Instr, mask: u32, (lane, source): (usize, u32)) -> Fault {
        let why = match self.live >> source & 1 {
            0 => "has left the kernel",
            _ => "is no member",
        };
        let kind = ErrorKind::LaneDivergence {
            instruction: instr.text.clone(),
            needed: mask | 1 << source,
            found: mask,
            others: format!("lane {source}, which it reads, {why}"),
        };
        Fault::new(kind, lane as u32)
    }
}

/// The lane that `shfl` reads, and whether it lies in the segment (PTX ISA 9.7.9.6).
fn shuffle_source(mode: ShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let b = b & 31;
    let clamp = c & 31;
    let segment = c >> 8 & 31;
    let max_lane = lane & segment | clamp & !segment;
    let min_lane = lane & segment;
    let (source, valid) = match mode {
        ShuffleMode::Up => (
            lane.wrapping_sub(b),
            lane as i32 - b as i32 >= max_lane as i32,
        ),
        ShuffleMode::Down => (lane + b, lane + b <= max_lane),
        ShuffleMode::Bfly => (lane ^ b, lane ^ b <= max_lane),
        ShuffleMode::Idx => {
            let source = min_lane | b & !segment;
            (source, source <= max_lane)
        }
    };
    if valid {
        (source & 31, true)
    } else {
        (lane, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_of_whole_warps() {
        assert_eq!(shuffle_source(ShuffleMode::Bfly, 5, 1, 31), (4, true));
        assert_eq!(shuffle_source(ShuffleMode::Down, 5, 3, 31), (8, true));
        assert_eq!(shuffle_source(ShuffleMode::Down, 30, 3, 31), (30, false));
        assert_eq!(shuffle_source(ShuffleMode::Up, 5, 3, 0), (2, true));
        assert_eq!(shuffle_source(ShuffleMode::Up, 2, 3, 0), (2, false));
        assert_eq!(shuffle_source(ShuffleMode::Idx, 9, 31, 31), (31, true));
    }

    #[test]
    fn shuffles_of_segments_of_eight() {
        let c = 0x1807;
        assert_eq!(shuffle_source(ShuffleMode::Down, 6, 1, c), (7, true));
        assert_eq!(shuffle_source(ShuffleMode::Down, 7, 1, c), (7, false));
        assert_eq!(shuffle_source(ShuffleMode::Idx, 13, 2, c), (10, true));
        assert_eq!(shuffle_source(ShuffleMode::Bfly, 13, 4, c), (9, true));
    }
}
