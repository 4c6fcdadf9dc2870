//! Who goes on when: the turns of warps, and the moments at which asynchronous operations take place.

use crate::sim::{CopyMoment, Options};

/// Instructions a warp runs before the next has its turn, unless it has to wait earlier.
const SLICE: u64 = 1 << 14;

/// Longest turn of a random schedule.
const SHORT_SLICE: u64 = 128;

/// The choices that a block's run has, made by a seed.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// State of a xorshift generator; 0, where it stays, is the fixed schedule.
    state: u64,
    copies: CopyMoment,
    /// Which of the members `elect.sync` chooses: the same ones the same each time.
    leader: u32,
}

impl Schedule {
    pub fn new(options: &Options, ctaid: [u32; 3]) -> Schedule {
        let mix = |state: u64, value: u32| {
            (state ^ u64::from(value))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        };
        let state = match options.seed {
            0 => 0,
            seed => ctaid.into_iter().fold(seed, mix) | 1,
        };
        Schedule {
            state,
            copies: options.copies,
            leader: (state >> 32) as u32,
        }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 16
    }

    /// The warp that begins a round.
    pub fn first(&mut self, warps: usize) -> usize {
        self.next() as usize % warps.max(1)
    }

    /// Instructions of a turn.
    pub fn slice(&mut self) -> u64 {
        match self.state {
            0 => SLICE,
            _ => 1 + self.next() % SHORT_SLICE,
        }
    }

    /// Which of several groups of diverged lanes goes on, where it is not the one that makes them
    /// meet soonest.
    pub fn stray_group(&mut self, groups: usize) -> Option<usize> {
        let stray = self.state != 0 && self.next().is_multiple_of(4);
        stray.then(|| self.next() as usize % groups.max(1))
    }

    /// The lane that `elect.sync` chooses among members.
    pub fn leader(&self, members: u32) -> u32 {
        let place = self.leader % members.count_ones().max(1);
        let others = (0..place).fold(members, |rest, _| rest & rest.wrapping_sub(1));
        others.trailing_zeros() % u32::BITS
    }

    /// Whether a `try_wait` comes back before it need.
    pub fn gives_up(&mut self) -> bool {
        self.state != 0 && self.next().is_multiple_of(8)
    }

    /// Whether an asynchronous operation takes place where it is issued.
    pub fn takes_place_at_once(&self) -> bool {
        self.copies == CopyMoment::Earliest
    }

    /// Whether operations take place at times of their own.
    pub fn is_random(&self) -> bool {
        self.copies == CopyMoment::Random
    }

    /// Whether an operation of a warpgroup takes place now, before anyone waits for it.
    pub fn takes_place_now(&mut self) -> bool {
        match self.copies {
            CopyMoment::Random => self.next().is_multiple_of(4),
            CopyMoment::Earliest => true,
            CopyMoment::Latest => false,
        }
    }

    /// The lanes whose operations take place now, before anyone waits for them.
    pub fn taking_place(&mut self) -> u32 {
        match self.copies {
            CopyMoment::Random => (self.next() & self.next()) as u32,
            CopyMoment::Earliest | CopyMoment::Latest => 0,
        }
    }
}
