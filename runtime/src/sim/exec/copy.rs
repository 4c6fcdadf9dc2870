//! `cp.async` (PTX ISA 9.7.9.25.2): what is checked where it is issued, and what it does in flight.
//!
//! A copy reads its source and writes its target at some moment until it is complete; until then the target
//! counts as in flight wherever its bytes are.

use super::cta::Cta;
use super::in_flight::{Effect, with};
use super::race::Actor;
use super::touch::Touch;
use super::warp::Warp;
use super::{Fault, fault_at};
use crate::sim::Space;
use crate::sim::error::{Access, Act, ErrorKind};
use crate::sim::isa::{Address, CopyBytes, Order, Proxy};
use crate::sim::lane::{WARP, Wides, Words, lanes};

/// The copies of the lanes of a warp.
#[derive(Debug)]
pub(super) struct CopyAsync {
    bytes: u32,
    dst: Wides,
    src: Wides,
    /// Bytes that come from the source; zeros fill the rest.
    counts: Words,
}

impl CopyAsync {
    /// Moves the bytes of lanes.
    pub fn take_place(&self, cta: &mut Cta<'_>, mask: u32) -> Result<(), Fault> {
        for lane in lanes(mask) {
            let mut data = [0; 16];
            let count = self.counts[lane];
            if count > 0 {
                let place = cta.launch.memory.place(self.src[lane], count, Access::Read);
                let place = place.map_err(fault_at(lane))?;
                for i in 0..count.div_ceil(4) {
                    let word = place.plus(u64::from(4 * i)).load(4) as u32;
                    data[4 * i as usize..][..4].copy_from_slice(&word.to_le_bytes());
                }
                data[count as usize..].fill(0);
            }
            cta.shared
                .deposit(self.dst[lane], &data[..self.bytes as usize]);
        }
        Ok(())
    }

    /// The bytes of lanes may be used; the copies count as done at the clock.
    pub fn complete(&self, cta: &mut Cta<'_>, mask: u32, actor: Actor, clock: u32) {
        for lane in lanes(mask) {
            cta.shared.complete(self.dst[lane], self.bytes);
        }
        if let Some(races) = &mut cta.races {
            let done = lanes(mask).filter(|&lane| self.counts[lane] > 0);
            let read = done.fold(0, with);
            for (space, addresses, mask) in [
                (Space::Shared, &self.dst, mask),
                (Space::Global, &self.src, read),
            ] {
                let place = (space, addresses, self.bytes);
                races.settle(place, Proxy::Generic, mask, actor, clock);
            }
        }
    }
}

impl Warp {
    /// `cp.async`.
    pub(super) fn copy_async(
        &mut self,
        cta: &mut Cta<'_>,
        [dst, src]: [&Address; 2],
        bytes: u32,
        src_bytes: CopyBytes,
        mask: u32,
    ) -> Result<(), Fault> {
        let dst_at = self.addresses(dst);
        let src_at = self.addresses(src);
        let counts = match src_bytes {
            CopyBytes::All => [bytes; WARP],
            CopyBytes::Count(count) => self.registers.words_of(count),
            CopyBytes::Ignore(pred) => {
                let ignored = self.registers.pred(pred);
                std::array::from_fn(|lane| if ignored >> lane & 1 == 1 { 0 } else { bytes })
            }
        };
        for lane in lanes(mask) {
            check_source(cta, src_at[lane], bytes, counts[lane]).map_err(fault_at(lane))?;
            cta.shared
                .announce(dst_at[lane], bytes)
                .map_err(fault_at(lane))?;
        }
        self.touch_copy(cta, &dst_at, &src_at, bytes, &counts, mask)?;
        let effect = Effect::CopyAsync(Box::new(CopyAsync {
            bytes,
            dst: dst_at,
            src: src_at,
            counts,
        }));
        self.in_flight.begin(cta, effect, mask)
    }

    fn touch_copy(
        &self,
        cta: &mut Cta<'_>,
        dst: &Wides,
        src: &Wides,
        bytes: u32,
        counts: &Words,
        mask: u32,
    ) -> Result<(), Fault> {
        // Lanes that read equally much at a time: nearly always all of them.
        let mut rest = lanes(mask).filter(|&lane| counts[lane] > 0).fold(0, with);
        while rest != 0 {
            let count = counts[rest.trailing_zeros() as usize];
            let equal = lanes(rest)
                .filter(|&lane| counts[lane] == count)
                .fold(0, with);
            cta.touch(&Touch {
                space: Space::Global,
                act: Act::CopyRead,
                order: Order::WEAK,
                proxy: Proxy::Generic,
                addresses: src,
                bytes: count,
                mask: equal,
                changed: u32::MAX,
            })?;
            rest &= !equal;
        }
        cta.touch(&Touch {
            space: Space::Shared,
            act: Act::CopyWrite,
            order: Order::WEAK,
            proxy: Proxy::Generic,
            addresses: dst,
            bytes,
            mask,
            changed: u32::MAX,
        })
    }
}

fn check_source(cta: &Cta<'_>, from: u64, bytes: u32, count: u32) -> Result<(), ErrorKind> {
    if count > bytes {
        let (expected, found) = (format!("at most {bytes}"), u64::from(count));
        return Err(ErrorKind::Value {
            what: "src-size of cp.async",
            expected,
            found,
        });
    }
    let aligned = from & u64::from(bytes - 1) == 0;
    if !aligned {
        return Err(ErrorKind::Misaligned {
            space: Space::Global,
            access: Access::Read,
            address: from,
            align: bytes,
        });
    }
    if count == 0 {
        return Ok(());
    }
    let place = cta.launch.memory.place(from, count, Access::Read)?;
    if cta.launch.options.checks
        && let Some(byte) = place.unwritten(count)
    {
        return Err(super::access::uninitialised(&place, from, count, byte));
    }
    Ok(())
}
