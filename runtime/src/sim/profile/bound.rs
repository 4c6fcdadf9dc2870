//! What limits a kernel on a machine, from what it counted: lower bounds of the time that each unit
//! needs for its share of the work.
//!
//! PTX is not machine code: ptxas removes and adds instructions, so the bound of issuing them is a
//! guide; those of memory and of the tensor cores do not depend on it.

use serde::Serialize;

use super::machine::{Machine, SCHEDULERS};
use super::{Class, Profile};

/// Bytes that an SM exchanges with the L2 cache in a clock (measured on A100 and H100).
const L2_BYTES: f64 = 64.0;

/// Bytes of a pass over the banks of shared memory.
const PASS_BYTES: f64 = 128.0;

/// A unit and the least time it needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// The unit.
    pub unit: &'static str,
    /// Seconds.
    pub seconds: f64,
}

/// What limits a kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bounds {
    /// The units, the slowest first.
    pub units: Vec<Bound>,
    /// Of the time that the slowest unit needs, the part in which the tensor cores work: no schedule
    /// uses them more.
    pub tensor_utilisation: f64,
    /// Floating-point operations for each byte that memory delivers at least.
    pub intensity: f64,
    /// Operations in a second that the roofline allows at this intensity.
    pub attainable: f64,
    /// The roof: operations in a second of the unit that does most of them.
    pub peak: f64,
}

impl Bounds {
    /// The bounds of a launch on a machine whose SMs all have the same number of blocks.
    pub fn of(profile: &Profile, machine: &Machine) -> Bounds {
        let total = profile.total();
        let count = |class: Class| {
            let of_class = profile.instructions.iter().filter(|i| i.class == class);
            of_class.map(|i| i.counts.executed).sum::<u64>() as f64
        };
        let tensor_work: u64 = profile
            .instructions
            .iter()
            .map(|i| i.tensor_work * i.counts.executed)
            .sum();
        let operand_bytes: u64 = profile
            .instructions
            .iter()
            .map(|i| i.operand_bytes * i.counts.executed)
            .sum();
        // Work that cannot be spread over more SMs than there are blocks.
        let blocks: u64 = profile.grid.iter().map(|&n| u64::from(n)).product();
        let waves = blocks.div_ceil(u64::from(machine.sms)).max(1);
        let busy = blocks as f64 / waves as f64;
        let clock = f64::from(machine.clock_mhz) * 1e6;
        let seconds = |clocks: f64| clocks / busy.max(1.0) / clock;
        let bytes = (profile.distinct_read_bytes + profile.distinct_written_bytes) as f64;
        let mut units = vec![
            Bound {
                unit: "tensor cores",
                seconds: seconds(tensor_work as f64 / f64::from(machine.tensor_rate)),
            },
            Bound {
                unit: "instruction issue",
                seconds: seconds(total.executed as f64 / f64::from(SCHEDULERS)),
            },
            Bound {
                unit: "f32 lanes",
                seconds: seconds(32.0 * count(Class::Float) / f64::from(machine.f32_lanes)),
            },
            Bound {
                unit: "shared memory",
                seconds: seconds(total.wavefronts as f64 + operand_bytes as f64 / PASS_BYTES),
            },
            Bound {
                unit: "L2 cache",
                seconds: seconds(32.0 * total.sectors as f64 / L2_BYTES),
            },
            Bound {
                unit: "memory",
                seconds: bytes / machine.bandwidth(),
            },
        ];
        let tensor = units[0].seconds;
        units.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let slowest = units[0].seconds;
        let flops = profile.flops() as f64;
        let on_tensor = 2.0 * tensor_work as f64 > flops / 2.0;
        let peak = match on_tensor {
            true => machine.tensor_flops(),
            false => machine.f32_flops(),
        };
        let intensity = if bytes > 0.0 { flops / bytes } else { 0.0 };
        Bounds {
            units,
            tensor_utilisation: if slowest > 0.0 { tensor / slowest } else { 0.0 },
            intensity,
            attainable: peak.min(intensity * machine.bandwidth()),
            peak,
        }
    }
}
