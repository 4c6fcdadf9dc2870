//! What the SMs of a target have, and a GPU built of them: for occupancy and for rooflines.

use serde::Serialize;

/// A GPU of a target architecture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Machine {
    /// Name as in `--arch`.
    pub target: &'static str,
    /// The GPU that the totals are of.
    pub gpu: &'static str,
    /// Multiprocessors of the GPU.
    pub sms: u32,
    /// Boost clock in MHz.
    pub clock_mhz: u32,
    /// Bandwidth of its memory in GB/s.
    pub dram_gbps: u32,
    /// Warps that an SM holds (CUDA C++ Programming Guide, "Compute Capabilities", as the next five).
    pub warps: u32,
    /// Blocks that an SM holds.
    pub blocks: u32,
    /// 32-bit registers of an SM.
    pub registers: u32,
    /// Registers are given to a warp in multiples of this.
    pub register_unit: u32,
    /// Shared memory of an SM in bytes.
    pub shared: u32,
    /// Shared memory that the system takes from each block.
    pub shared_reserved: u32,
    /// f32 lanes of an SM.
    pub f32_lanes: u32,
    /// Multiply-adds of 16-bit operands that the tensor cores of an SM do in a clock, dense, with f32
    /// accumulators (whitepapers of the architectures).
    pub tensor_rate: u32,
}

/// Warp schedulers of an SM, each of which issues an instruction in a clock.
pub const SCHEDULERS: u32 = 4;

const AMPERE: Machine = Machine {
    target: "sm_80",
    gpu: "A100 SXM 80 GB",
    sms: 108,
    clock_mhz: 1410,
    dram_gbps: 2039,
    warps: 64,
    blocks: 32,
    registers: 65536,
    register_unit: 256,
    shared: 164 << 10,
    shared_reserved: 1 << 10,
    f32_lanes: 64,
    tensor_rate: 1024,
};

const HOPPER: Machine = Machine {
    target: "sm_90",
    gpu: "H200 SXM",
    sms: 132,
    clock_mhz: 1830,
    dram_gbps: 4800,
    shared: 228 << 10,
    f32_lanes: 128,
    tensor_rate: 2048,
    ..AMPERE
};

/// The machines, oldest first.
pub const MACHINES: [Machine; 6] = [
    AMPERE,
    Machine {
        target: "sm_86",
        gpu: "RTX A6000",
        sms: 84,
        clock_mhz: 1800,
        dram_gbps: 768,
        warps: 48,
        blocks: 16,
        shared: 100 << 10,
        f32_lanes: 128,
        tensor_rate: 512,
        ..AMPERE
    },
    Machine {
        target: "sm_87",
        gpu: "Jetson AGX Orin",
        sms: 16,
        clock_mhz: 1300,
        dram_gbps: 204,
        warps: 48,
        blocks: 16,
        f32_lanes: 128,
        ..AMPERE
    },
    Machine {
        target: "sm_89",
        gpu: "L40S",
        sms: 142,
        clock_mhz: 2520,
        dram_gbps: 864,
        warps: 48,
        blocks: 24,
        shared: 100 << 10,
        f32_lanes: 128,
        tensor_rate: 512,
        ..AMPERE
    },
    HOPPER,
    Machine {
        target: "sm_90a",
        ..HOPPER
    },
];

/// How many blocks an SM holds at once, and what keeps it from more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Occupancy {
    /// Blocks.
    pub blocks: u32,
    /// Of the warps that an SM could hold, the part that it does.
    pub fraction: f64,
    /// `registers`, `shared memory`, `warps` or `blocks`.
    pub limit: &'static str,
}

impl Machine {
    /// The machine of a target such as `sm_80`.
    pub fn of(target: &str) -> Option<&'static Machine> {
        MACHINES.iter().find(|machine| machine.target == target)
    }

    /// Occupancy by blocks of `threads` threads, with `registers` each where that is known, and
    /// `shared` bytes of shared memory.
    pub fn occupancy(&self, threads: u32, registers: Option<u32>, shared: u32) -> Occupancy {
        let warps = threads.div_ceil(32).max(1);
        let of_registers = registers
            .filter(|&registers| registers > 0)
            .map(|registers| {
                let of_warp = (32 * registers).next_multiple_of(self.register_unit);
                // Each scheduler has a quarter of the registers.
                let held = self.registers / SCHEDULERS / of_warp * SCHEDULERS;
                (held / warps, "registers")
            });
        let of_shared = self.shared / (shared + self.shared_reserved).max(1);
        let limits = [
            Some((self.warps / warps, "warps")),
            Some((self.blocks, "blocks")),
            Some((of_shared, "shared memory")),
            of_registers,
        ];
        let (blocks, limit) = limits
            .into_iter()
            .flatten()
            .min_by_key(|(blocks, _)| *blocks)
            .unwrap_or((0, "blocks"));
        Occupancy {
            blocks,
            fraction: f64::from(blocks * warps) / f64::from(self.warps),
            limit,
        }
    }

    /// Multiply-adds and additions of f32 in a second, each multiply-add counted as two.
    pub fn f32_flops(&self) -> f64 {
        2.0 * f64::from(self.f32_lanes) * self.clocks()
    }

    /// Operations of the tensor cores on 16-bit operands in a second.
    pub fn tensor_flops(&self) -> f64 {
        2.0 * f64::from(self.tensor_rate) * self.clocks()
    }

    /// Clocks of all SMs in a second.
    fn clocks(&self) -> f64 {
        f64::from(self.sms) * f64::from(self.clock_mhz) * 1e6
    }

    /// Bytes from memory in a second.
    pub fn bandwidth(&self) -> f64 {
        f64::from(self.dram_gbps) * 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        let tera = |target: &str| (Machine::of(target).unwrap().tensor_flops() / 1e12).round();
        assert_eq!(tera("sm_80"), 312.0);
        assert_eq!(tera("sm_90a"), 989.0);
        assert_eq!((AMPERE.f32_flops() / 1e12 * 10.0).round(), 195.0);
    }

    #[test]
    fn occupancy_by_each_limit() {
        let limit = |threads, registers, shared| {
            let occupancy = AMPERE.occupancy(threads, registers, shared);
            (occupancy.blocks, occupancy.limit)
        };
        assert_eq!(limit(128, Some(250), 0), (2, "registers"));
        assert_eq!(limit(128, Some(32), 96 << 10), (1, "shared memory"));
        assert_eq!(limit(1024, None, 0), (2, "warps"));
        assert_eq!(limit(32, Some(16), 0), (32, "blocks"));
        assert_eq!(AMPERE.occupancy(1024, None, 0).fraction, 1.0);
    }
}
