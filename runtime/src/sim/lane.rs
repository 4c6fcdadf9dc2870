//! Registers of a warp, and functions of one lane lifted to 32.
//!
//! PTX registers of up to 32 bits live in the *word* file, those of 64 bits in the *wide* file,
//! predicates in masks with one bit a lane. [`Lane`] is a Rust type that a register can be read
//! as; [`map1`] to [`map4`] turn a function of such types into a [`LaneFn`], the executable form of
//! every instruction that works on each lane alone. The functions run for inactive lanes too
//! (their results are dropped), so they must be total.
//!
//! A word register declared with 16 bits has upper bits without meaning: readers take the type
//! they need.

/// Lanes of a warp.
pub(crate) const WARP: usize = 32;
/// Warps of a warpgroup (PTX ISA, "Warpgroup").
pub(crate) const WARPGROUP: usize = 4;

/// A value of 32 bits in each lane.
pub(crate) type Words = [u32; WARP];
/// A value of 64 bits in each lane.
pub(crate) type Wides = [u64; WARP];

/// What an instruction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Src {
    Word(u32),
    Wide(u32),
    /// In two's complement, floats as their bits.
    Imm(u64),
    Special(Special),
    /// Address of a module variable plus an offset; known at launch.
    Variable(u32, i64),
}

/// Where an instruction's result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dst {
    Word(u32),
    Wide(u32),
    /// `_`.
    Sink,
}

/// A predicate operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pred {
    Register { slot: u32, negated: bool },
    Const(bool),
}

/// A special register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Tid(usize),
    Ntid(usize),
    Ctaid(usize),
    Nctaid(usize),
    ClusterCtaid(usize),
    ClusterNctaid(usize),
    ClusterCtarank,
    ClusterNctarank,
    Clusterid(usize),
    Nclusterid(usize),
    LaneId,
    WarpId,
    NwarpId,
    /// `%lanemask_*`: which lanes relative to the own one.
    LaneMask(LaneMask),
    /// Instructions the warp has executed.
    Clock,
    DynamicShared,
    TotalShared,
    /// A constant, as of a GPU with one SM.
    Constant(u32),
}

/// The five lane masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneMask {
    Eq,
    Le,
    Lt,
    Ge,
    Gt,
}

/// Values of the special registers in one warp.
#[derive(Debug, Clone, Default)]
pub(crate) struct Specials {
    pub tid: [Words; 3],
    pub ntid: [u32; 3],
    pub ctaid: [u32; 3],
    pub nctaid: [u32; 3],
    pub cluster_ctaid: [u32; 3],
    pub cluster_nctaid: [u32; 3],
    pub cluster_ctarank: u32,
    pub clusterid: [u32; 3],
    pub nclusterid: [u32; 3],
    pub warp: u32,
    pub warps: u32,
    pub clock: u64,
    pub dynamic_shared: u32,
    pub total_shared: u32,
}

/// The registers of a warp.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    pub words: Vec<Words>,
    pub wides: Vec<Wides>,
    pub preds: Vec<u32>,
    /// The condition code of `add.cc` and the like, a bit a lane.
    pub carry: u32,
    pub specials: Specials,
    /// Addresses of module variables.
    pub variables: std::sync::Arc<[u64]>,
}

impl Registers {
    /// A predicate in every lane.
    #[inline]
    pub fn pred(&self, pred: Pred) -> u32 {
        match pred {
            Pred::Register { slot, negated } => {
                self.preds[slot as usize] ^ u32::from(negated).wrapping_neg()
            }
            Pred::Const(value) => u32::from(value).wrapping_neg(),
        }
    }

    /// Sets the lanes of `mask` of a predicate register.
    #[inline]
    pub fn set_pred(&mut self, slot: u32, mask: u32, value: u32) {
        let register = &mut self.preds[slot as usize];
        *register = *register & !mask | value & mask;
    }

    fn special(&self, special: Special) -> Wides {
        let s = &self.specials;
        let lanes = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| u64::from(f(lane as u32)));
        match special {
            Special::Tid(axis) => lanes(&|lane| s.tid[axis][lane as usize]),
            Special::Ntid(axis) => lanes(&|_| s.ntid[axis]),
            Special::Ctaid(axis) => lanes(&|_| s.ctaid[axis]),
            Special::Nctaid(axis) => lanes(&|_| s.nctaid[axis]),
            Special::ClusterCtaid(axis) => lanes(&|_| s.cluster_ctaid[axis]),
            Special::ClusterNctaid(axis) => lanes(&|_| s.cluster_nctaid[axis]),
            Special::ClusterCtarank => lanes(&|_| s.cluster_ctarank),
            Special::ClusterNctarank => lanes(&|_| s.cluster_nctaid.iter().product()),
            Special::Clusterid(axis) => lanes(&|_| s.clusterid[axis]),
            Special::Nclusterid(axis) => lanes(&|_| s.nclusterid[axis]),
            Special::LaneId => lanes(&|lane| lane),
            Special::WarpId => lanes(&|_| s.warp),
            Special::NwarpId => lanes(&|_| s.warps),
            Special::LaneMask(which) => lanes(&|lane| {
                let own = 1u32 << lane;
                match which {
                    LaneMask::Eq => own,
                    LaneMask::Lt => own - 1,
                    LaneMask::Le => own | (own - 1),
                    LaneMask::Ge => !(own - 1),
                    LaneMask::Gt => !(own | (own - 1)),
                }
            }),
            Special::Clock => [s.clock; WARP],
            Special::DynamicShared => lanes(&|_| s.dynamic_shared),
            Special::TotalShared => lanes(&|_| s.total_shared),
            Special::Constant(value) => lanes(&|_| value),
        }
    }

    fn variable(&self, index: u32, offset: i64) -> u64 {
        self.variables
            .get(index as usize)
            .copied()
            .unwrap_or(0)
            .wrapping_add_signed(offset)
    }

    /// An operand as 32-bit values; wider ones are truncated.
    #[inline]
    pub fn words_of(&self, src: Src) -> Words {
        match src {
            Src::Word(slot) => self.words[slot as usize],
            Src::Imm(value) => [value as u32; WARP],
            Src::Wide(slot) => self.wides[slot as usize].map(|v| v as u32),
            Src::Special(special) => self.special(special).map(|v| v as u32),
            Src::Variable(index, offset) => [self.variable(index, offset) as u32; WARP],
        }
    }

    /// An operand as 64-bit values; narrower registers are zero-extended.
    #[inline]
    pub fn wides_of(&self, src: Src) -> Wides {
        match src {
            Src::Word(slot) => self.words[slot as usize].map(u64::from),
            Src::Imm(value) => [value; WARP],
            Src::Wide(slot) => self.wides[slot as usize],
            Src::Special(special) => self.special(special),
            Src::Variable(index, offset) => [self.variable(index, offset); WARP],
        }
    }

    /// Sets the lanes of `mask` to 32-bit values, zero-extended in a 64-bit register.
    #[inline]
    pub fn set_words(&mut self, dst: Dst, mask: u32, values: &Words) {
        match dst {
            Dst::Word(slot) => merge(&mut self.words[slot as usize], mask, values),
            Dst::Wide(slot) => merge(&mut self.wides[slot as usize], mask, &values.map(u64::from)),
            Dst::Sink => {}
        }
    }

    /// Sets the lanes of `mask` to 64-bit values, truncated in a 32-bit register.
    #[inline]
    pub fn set_wides(&mut self, dst: Dst, mask: u32, values: &Wides) {
        match dst {
            Dst::Word(slot) => merge(
                &mut self.words[slot as usize],
                mask,
                &values.map(|v| v as u32),
            ),
            Dst::Wide(slot) => merge(&mut self.wides[slot as usize], mask, values),
            Dst::Sink => {}
        }
    }
}

#[inline]
fn merge<T: Copy>(register: &mut [T; WARP], mask: u32, values: &[T; WARP]) {
    if mask == u32::MAX {
        *register = *values;
    } else {
        for lane in 0..WARP {
            if mask >> lane & 1 == 1 {
                register[lane] = values[lane];
            }
        }
    }
}

/// The lanes of a mask, in order.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

/// A Rust type that registers are read and written as.
pub(crate) trait Lane: Copy + 'static {
    /// The operand's value in every lane.
    fn fetch(registers: &Registers, src: Src) -> [Self; WARP];
    /// Sets the lanes of `mask`; narrow signed values are sign-extended to the register.
    fn put(registers: &mut Registers, dst: Dst, mask: u32, values: [Self; WARP]);
}

macro_rules! word_lane {
    ($($ty:ty: |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Lane for $ty {
            #[inline]
            fn fetch(registers: &Registers, src: Src) -> [Self; WARP] {
                registers.words_of(src).map(|$bits| $from)
            }
            #[inline]
            fn put(registers: &mut Registers, dst: Dst, mask: u32, values: [Self; WARP]) {
                registers.set_words(dst, mask, &values.map(|$value| $to));
            }
        }
    )*};
}

macro_rules! wide_lane {
    ($($ty:ty: |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Lane for $ty {
            #[inline]
            fn fetch(registers: &Registers, src: Src) -> [Self; WARP] {
                registers.wides_of(src).map(|$bits| $from)
            }
            #[inline]
            fn put(registers: &mut Registers, dst: Dst, mask: u32, values: [Self; WARP]) {
                registers.set_wides(dst, mask, &values.map(|$value| $to));
            }
        }
    )*};
}

/// Two halves of a 32-bit register, the low one first.
pub(crate) type Pair<T> = [T; 2];

fn halves(bits: u32) -> Pair<u16> {
    [bits as u16, (bits >> 16) as u16]
}

fn join(halves: Pair<u16>) -> u32 {
    u32::from(halves[0]) | u32::from(halves[1]) << 16
}

word_lane! {
    u32: |bits| bits, |value| value;
    u16: |bits| bits as u16, |value| u32::from(value);
    u8: |bits| bits as u8, |value| u32::from(value);
    f32: |bits| f32::from_bits(bits), |value| value.to_bits();
    Pair<u16>: |bits| halves(bits), |value| join(value);
    Pair<i16>: |bits| halves(bits).map(|h| h as i16), |value| join(value.map(|h| h as u16));
}

wide_lane! {
    u64: |bits| bits, |value| value;
    i64: |bits| bits as i64, |value| value as u64;
    f64: |bits| f64::from_bits(bits), |value| value.to_bits();
}

macro_rules! signed_lane {
    ($($ty:ty)*) => {$(
        impl Lane for $ty {
            #[inline]
            fn fetch(registers: &Registers, src: Src) -> [Self; WARP] {
                registers.words_of(src).map(|bits| bits as $ty)
            }
            #[inline]
            fn put(registers: &mut Registers, dst: Dst, mask: u32, values: [Self; WARP]) {
                match dst {
                    Dst::Wide(_) => registers.set_wides(dst, mask, &values.map(|v| v as i64 as u64)),
                    _ => registers.set_words(dst, mask, &values.map(|v| v as u32)),
                }
            }
        }
    )*};
}

signed_lane!(i32 i16 i8);

/// An instruction that works on each lane alone: reads registers, writes the lanes of the mask.
pub(crate) type LaneFn = Box<dyn Fn(&mut Registers, u32) + Send + Sync>;

/// `d = f(a)`.
pub(crate) fn map1<A: Lane, D: Lane>(
    dst: Dst,
    a: Src,
    f: impl Fn(A) -> D + Send + Sync + 'static,
) -> LaneFn {
    Box::new(move |registers, mask| {
        let values = A::fetch(registers, a).map(&f);
        D::put(registers, dst, mask, values);
    })
}

/// `d = f(a, b)`.
pub(crate) fn map2<A: Lane, B: Lane, D: Lane>(
    dst: Dst,
    [a, b]: [Src; 2],
    f: impl Fn(A, B) -> D + Send + Sync + 'static,
) -> LaneFn {
    Box::new(move |registers, mask| {
        let (a, b) = (A::fetch(registers, a), B::fetch(registers, b));
        D::put(
            registers,
            dst,
            mask,
            std::array::from_fn(|lane| f(a[lane], b[lane])),
        );
    })
}

/// `d = f(a, b, c)`.
pub(crate) fn map3<A: Lane, B: Lane, C: Lane, D: Lane>(
    dst: Dst,
    [a, b, c]: [Src; 3],
    f: impl Fn(A, B, C) -> D + Send + Sync + 'static,
) -> LaneFn {
    Box::new(move |registers, mask| {
        let (a, b, c) = (
            A::fetch(registers, a),
            B::fetch(registers, b),
            C::fetch(registers, c),
        );
        D::put(
            registers,
            dst,
            mask,
            std::array::from_fn(|lane| f(a[lane], b[lane], c[lane])),
        );
    })
}

/// `d = f(a, b, c, e)` with two 32-bit controls at the end.
pub(crate) fn map4<A: Lane, B: Lane, D: Lane>(
    dst: Dst,
    [a, b, c, e]: [Src; 4],
    f: impl Fn(A, B, u32, u32) -> D + Send + Sync + 'static,
) -> LaneFn {
    Box::new(move |registers, mask| {
        let (a, b) = (A::fetch(registers, a), B::fetch(registers, b));
        let (c, e) = (registers.words_of(c), registers.words_of(e));
        D::put(
            registers,
            dst,
            mask,
            std::array::from_fn(|lane| f(a[lane], b[lane], c[lane], e[lane])),
        );
    })
}

/// A mask of the lanes where `f(a, b)` holds.
pub(crate) fn test<A: Lane>(
    registers: &Registers,
    [a, b]: [Src; 2],
    f: impl Fn(A, A) -> bool,
) -> u32 {
    let (a, b) = (A::fetch(registers, a), A::fetch(registers, b));
    (0..WARP).fold(0, |mask, lane| {
        mask | u32::from(f(a[lane], b[lane])) << lane
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers() -> Registers {
        Registers {
            words: vec![[7; WARP]; 2],
            wides: vec![[0; WARP]; 1],
            preds: vec![0],
            ..Registers::default()
        }
    }

    #[test]
    fn only_the_lanes_of_the_mask_change() {
        let mut registers = registers();
        map1(Dst::Word(1), Src::Word(0), |a: u32| a + 1)(&mut registers, 0b101);
        assert_eq!(registers.words[1][..4], [8, 7, 8, 7]);
    }

    #[test]
    fn narrow_signed_results_are_sign_extended_in_wide_registers() {
        let mut registers = registers();
        map1(Dst::Wide(0), Src::Imm(0), |_: u32| -2i32)(&mut registers, 1);
        assert_eq!(registers.wides[0][0] as i64, -2);
    }

    #[test]
    fn lane_masks() {
        let registers = registers();
        let at =
            |which, lane: usize| registers.words_of(Src::Special(Special::LaneMask(which)))[lane];
        assert_eq!(at(LaneMask::Lt, 31), u32::MAX >> 1);
        assert_eq!(at(LaneMask::Le, 31), u32::MAX);
        assert_eq!(at(LaneMask::Gt, 31), 0);
        assert_eq!(at(LaneMask::Ge, 0), u32::MAX);
        assert_eq!(at(LaneMask::Eq, 5), 32);
    }

    #[test]
    fn lanes_of_a_mask() {
        assert_eq!(lanes(0x8000_0005).collect::<Vec<_>>(), [0, 2, 31]);
    }
}
