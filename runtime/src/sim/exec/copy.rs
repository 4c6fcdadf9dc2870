//! `cp.async` in flight.
//!
//! The source is read when the instruction is issued; the bytes arrive in shared memory when the
//! issuing thread waits for their group, not before. Groups are counted for each lane
//! (PTX ISA 9.7.9.25: "per-thread").

use super::cta::Cta;
use super::shared::Bytes;
use super::warp::Warp;
use super::{Fault, fault_at};
use crate::sim::Space;
use crate::sim::error::{Access, ErrorKind};
use crate::sim::isa::CopyBytes;
use crate::sim::lane::{Src, WARP, lanes};

/// One instruction's copies.
#[derive(Debug)]
struct Batch {
    /// Lanes whose copy has not arrived.
    mask: u32,
    bytes: u32,
    /// The group of each lane's copy: how many groups the lane had committed before.
    group: [u32; WARP],
    dst: [u64; WARP],
    data: [[u8; 16]; WARP],
}

/// Copies of a warp that have not arrived.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    batches: Vec<Batch>,
    committed: [u32; WARP],
}

impl Copies {
    pub fn clear(&mut self) {
        *self = Copies::default();
    }

    /// `cp.async.commit_group`.
    pub fn commit(&mut self, mask: u32) {
        for lane in lanes(mask) {
            self.committed[lane] = self.committed[lane].saturating_add(1);
        }
    }

    /// `cp.async.wait_group n`, or `wait_all`.
    pub fn wait(&mut self, mask: u32, groups: Option<u32>, shared: &mut Bytes) {
        for batch in &mut self.batches {
            for lane in lanes(batch.mask & mask) {
                let arrived = match groups {
                    None => true,
                    Some(in_flight) => {
                        batch.group[lane] < self.committed[lane].saturating_sub(in_flight)
                    }
                };
                if arrived {
                    shared.complete(batch.dst[lane], &batch.data[lane][..batch.bytes as usize]);
                    batch.mask &= !(1 << lane);
                }
            }
        }
        self.batches.retain(|batch| batch.mask != 0);
    }
}

impl Warp {
    /// `cp.async`.
    pub(super) fn copy_async(
        &mut self,
        cta: &mut Cta<'_>,
        dst: (Src, i64),
        src: (Src, i64),
        bytes: u32,
        src_bytes: CopyBytes,
        mask: u32,
    ) -> Result<(), Fault> {
        let dst_at = self
            .registers
            .wides_of(dst.0)
            .map(|a| a.wrapping_add_signed(dst.1));
        let src_at = self
            .registers
            .wides_of(src.0)
            .map(|a| a.wrapping_add_signed(src.1));
        let counts = match src_bytes {
            CopyBytes::All => [bytes; WARP],
            CopyBytes::Count(count) => self.registers.words_of(count),
            CopyBytes::Ignore(pred) => {
                let ignored = self.registers.pred(pred);
                std::array::from_fn(|lane| if ignored >> lane & 1 == 1 { 0 } else { bytes })
            }
        };
        let mut batch = Batch {
            mask,
            bytes,
            group: self.copies.committed,
            dst: dst_at,
            data: [[0; 16]; WARP],
        };
        for lane in lanes(mask) {
            let (from, to, count) = (src_at[lane], dst_at[lane], counts[lane]);
            read_source(cta, from, bytes, count, &mut batch.data[lane]).map_err(fault_at(lane))?;
            cta.shared.announce(to, bytes).map_err(fault_at(lane))?;
        }
        cta.count_shared(&dst_at, bytes, mask);
        self.copies.batches.push(batch);
        Ok(())
    }
}

fn read_source(
    cta: &mut Cta<'_>,
    from: u64,
    bytes: u32,
    count: u32,
    data: &mut [u8; 16],
) -> Result<(), ErrorKind> {
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
    cta.stats.global_read_bytes += u64::from(count);
    for i in 0..count.div_ceil(4) {
        let word = place.plus(u64::from(4 * i)).load(4) as u32;
        data[4 * i as usize..][..4].copy_from_slice(&word.to_le_bytes());
    }
    data[count as usize..].fill(0);
    Ok(())
}
