//! Launches in the simulator on tensors in memory of the host, which belongs to the caller: NumPy's arrays, a C program's.
//!
//! What the tensors span is copied into the simulator's memory, once where tensors overlap, at places as aligned as they are;
//! of what the kernel has written, the bytes that it changed are copied back. So the simulator sees every access, and an
//! error leaves the tensors as they were.

use crate::abi::{Arg, KernelAbi, ScalarValue, TensorDesc};
use crate::device::{ALLOCATION_ALIGN, Buffer, Device};
use crate::launch::{DevicePointer, DeviceTensor, DeviceValue, Loaded, RunError};
use crate::sim_device::SimDevice;

/// An argument in memory of the host.
#[derive(Clone, Debug, PartialEq)]
pub enum HostValue {
    /// A tensor.
    Tensor(HostTensor),
    /// A number.
    Scalar(ScalarValue),
}

/// A tensor in memory of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTensor {
    /// Element type, shape and strides; the alignment follows from the address.
    pub desc: TensorDesc,
    /// Address of the element at coordinate 0.
    pub address: u64,
    /// Where the allocation begins that it lies in, as far as that is known: its alignment is that of a device's memory.
    pub origin: u64,
}

/// Arguments that were checked, and the memory that they lie in.
#[derive(Debug)]
pub struct HostLaunch<'a> {
    kernel: &'a KernelAbi,
    args: Vec<Arg>,
    /// The address of each argument.
    addresses: Vec<u64>,
    spans: Vec<Span>,
}

/// Memory of the host that arguments lie in.
#[derive(Debug)]
struct Span {
    first: u64,
    end: u64,
    /// Bytes from a place as aligned as a device's memory to `first`.
    pad: u64,
    written: bool,
    buffer: Option<Buffer>,
    before: Vec<u8>,
}

impl<'a> HostLaunch<'a> {
    /// Checks arguments against a kernel.
    ///
    /// # Errors
    /// As [`KernelAbi::bind`].
    pub fn new(kernel: &'a KernelAbi, values: &[HostValue]) -> Result<HostLaunch<'a>, RunError> {
        let arg = |value: &HostValue, align: &dyn Fn(u64) -> u64| match value {
            HostValue::Tensor(tensor) => Arg::Tensor(TensorDesc {
                align: align(tensor.address),
                ..tensor.desc.clone()
            }),
            HostValue::Scalar(scalar) => Arg::Scalar(*scalar),
        };
        let spans = merged_spans(kernel, values);
        let align = |address: u64| {
            let offset =
                covering(&spans, address).map_or(0, |span| span.pad + (address - span.first));
            1 << offset
                .trailing_zeros()
                .min(ALLOCATION_ALIGN.trailing_zeros())
        };
        let args: Vec<Arg> = values.iter().map(|value| arg(value, &align)).collect();
        kernel.bind(&args)?;
        let address = |value: &HostValue| match value {
            HostValue::Tensor(tensor) => tensor.address,
            HostValue::Scalar(_) => 0,
        };
        Ok(HostLaunch {
            kernel,
            args,
            addresses: values.iter().map(address).collect(),
            spans,
        })
    }

    /// Runs the kernel; the tensors hold what it wrote.
    ///
    /// # Safety
    /// Each tensor's memory is there, and those that the kernel writes may be written. What other threads write to them
    /// meanwhile is theirs to order, as with every kernel.
    ///
    /// # Errors
    /// Where the kernel does something that it must not; the tensors are then as they were.
    pub unsafe fn run(mut self, device: &mut SimDevice, loaded: &Loaded) -> Result<(), RunError> {
        for span in &mut self.spans {
            let length = (span.end - span.first) as usize;
            span.before = vec![0; span.pad as usize + length];
            // SAFETY: of the caller; a tensor spans these bytes.
            unsafe {
                let from = std::ptr::with_exposed_provenance::<u8>(span.first as usize);
                let to = span.before.as_mut_ptr().add(span.pad as usize);
                std::ptr::copy_nonoverlapping(from, to, length);
            }
            let buffer = device.alloc(span.before.len() as u64, "arrays")?;
            device.upload(&buffer, &span.before)?;
            span.buffer = Some(buffer);
        }
        let values: Vec<DeviceValue> = self
            .args
            .iter()
            .zip(&self.addresses)
            .map(|(arg, address)| self.value(arg, *address))
            .collect();
        loaded.launch(device, &self.kernel.name, &values)?;
        for span in self.spans.iter().filter(|span| span.written) {
            let Some(buffer) = &span.buffer else {
                continue;
            };
            let mut after = vec![0; span.before.len()];
            device.download(buffer, &mut after)?;
            let pad = span.pad as usize;
            // SAFETY: of the caller; binding has checked that the tensor may be written.
            unsafe { write_changes(span.first, &span.before[pad..], &after[pad..]) };
        }
        Ok(())
    }

    /// An argument in the simulator's memory.
    fn value(&self, arg: &Arg, address: u64) -> DeviceValue {
        match arg {
            Arg::Scalar(scalar) => DeviceValue::Scalar(*scalar),
            Arg::Tensor(tensor) => {
                let place = covering(&self.spans, address).and_then(|span| {
                    let offset = span.pad + (address - span.first);
                    Some((span.buffer.clone()?, offset))
                });
                DeviceValue::Tensor(DeviceTensor {
                    memory: match place {
                        Some((buffer, offset)) => DevicePointer::Buffer { buffer, offset },
                        None => DevicePointer::Address(0),
                    },
                    dtype: tensor.dtype,
                    shape: tensor.shape.clone(),
                    strides: tensor.strides.clone(),
                    mutable: tensor.mutable,
                })
            }
        }
    }
}

/// The memory that the tensors lie in, once where they overlap.
fn merged_spans(kernel: &KernelAbi, values: &[HostValue]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (abi, value) in kernel.args.iter().zip(values) {
        let HostValue::Tensor(tensor) = value else {
            continue;
        };
        // Binding refuses what has no span, and what ends beyond the address space.
        let bytes = tensor.desc.span_bytes().unwrap_or(0);
        spans.push(Span {
            first: tensor.address,
            end: tensor.address.saturating_add(bytes),
            pad: tensor.address.wrapping_sub(tensor.origin) % ALLOCATION_ALIGN,
            written: abi.as_tensor().is_some_and(|tensor| tensor.mutable),
            buffer: None,
            before: Vec::new(),
        });
    }
    spans.sort_by_key(|span| span.first);
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.first < last.end => {
                last.end = last.end.max(span.end);
                last.written |= span.written;
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// The span that holds an address; tensors without elements may lie in none.
fn covering(spans: &[Span], address: u64) -> Option<&Span> {
    let covers = |span: &&Span| (span.first..span.end.max(span.first + 1)).contains(&address);
    spans.iter().find(covers)
}

/// Writes the bytes that changed: what lies between the elements of a tensor is another's.
///
/// # Safety
/// The bytes from `address` on may be written.
unsafe fn write_changes(address: u64, before: &[u8], after: &[u8]) {
    /// Compared at a time.
    const BLOCK: usize = 4096;
    let to = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    let blocks = before.chunks(BLOCK).zip(after.chunks(BLOCK)).enumerate();
    for (block, (before, after)) in blocks.filter(|(_, (before, after))| before != after) {
        for (at, (_, new)) in before
            .iter()
            .zip(after)
            .enumerate()
            .filter(|(_, (a, b))| a != b)
        {
            // SAFETY: of the caller.
            unsafe { to.add(block * BLOCK + at).write(*new) };
        }
    }
}
