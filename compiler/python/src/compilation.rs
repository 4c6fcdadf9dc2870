//! A kernel as it was compiled for one target.

use crate::arguments::{Rule, rules};
use crate::arrays::Arrays;
use crate::errors;
use crate::program::Built;
use cutec::runtime::DeviceError;
use cutec::runtime::abi::KernelAbi;
use pyo3::prelude::*;

/// A kernel, compiled.
pub struct Compilation {
    /// PTX, and what there is to say about it.
    pub built: Built,
    /// What a launch must know.
    pub abi: KernelAbi,
    /// What a launch does with each argument.
    pub rules: Vec<Rule>,
    /// Of the arguments that are arrays, those bits that an address may not have.
    misaligned: Vec<u64>,
    /// The number of each argument among the arrays, or among the numbers.
    slots: Vec<usize>,
}

impl std::fmt::Debug for Compilation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {}", self.abi.name, self.abi.target)
    }
}

impl Compilation {
    /// What is needed to launch `kernel`; `None` where it is not among what was compiled.
    pub fn new(built: Built, kernel: &str) -> Option<Self> {
        let abi = built.artifact.kernel(kernel)?.clone();
        let rules = rules(&abi);
        let (mut arrays, mut numbers) = (0, 0);
        let mut slots = Vec::new();
        let mut misaligned = Vec::new();
        for rule in &rules {
            let count = match rule {
                Rule::Tensor { misaligned: bits } => {
                    misaligned.push(*bits);
                    &mut arrays
                }
                Rule::Scalar { .. } => &mut numbers,
            };
            slots.push(*count);
            *count += 1;
        }
        Some(Self {
            built,
            abi,
            rules,
            misaligned,
            slots,
        })
    }

    /// The number of an argument among the arrays of a call, or among its numbers.
    pub fn slot(&self, arg: usize) -> usize {
        self.slots[arg]
    }

    /// Whether all addresses are as the kernel needs them.
    #[inline]
    pub fn aligned(&self, arrays: &Arrays) -> bool {
        let pairs = arrays.list.iter().zip(&self.misaligned);
        pairs.fold(0, |bits, (array, misaligned)| {
            bits | array.address & misaligned
        }) == 0
    }

    /// What a device says, as an exception.
    pub fn device_error(&self, py: Python<'_>, error: &DeviceError) -> PyErr {
        errors::device(py, &self.abi.name, error, &self.built)
    }
}
