//! What a call from another language ends with, as a number that never changes: exported kernels and `libcutec` return it,
//! Python's exceptions have its name.

use std::fmt;

use crate::BindError;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
#[non_exhaustive]
pub enum Status {
    /// Done.
    Ok = 0,
    /// [`BindError::UnknownKernel`].
    UnknownKernel = 1,
    /// [`BindError::Count`].
    Count = 2,
    /// [`BindError::Kind`].
    Kind = 3,
    /// [`BindError::DType`].
    DType = 4,
    /// [`BindError::Rank`].
    Rank = 5,
    /// [`BindError::Malformed`].
    Malformed = 6,
    /// [`BindError::NegativeExtent`].
    NegativeExtent = 7,
    /// [`BindError::TooLarge`].
    TooLarge = 8,
    /// [`BindError::StaticExtent`].
    StaticExtent = 9,
    /// [`BindError::ComputedExtent`].
    ComputedExtent = 10,
    /// [`BindError::TiedExtent`].
    TiedExtent = 11,
    /// [`BindError::Stride`].
    Stride = 12,
    /// [`BindError::Divisibility`].
    Divisibility = 13,
    /// [`BindError::Range`], or a number beyond the type in which it is passed.
    Range = 14,
    /// [`BindError::Align`].
    Align = 15,
    /// [`BindError::ReadOnly`].
    ReadOnly = 16,
    /// [`BindError::TensorMap`].
    TensorMap = 17,
    /// [`BindError::Promise`].
    Promise = 18,
    /// [`BindError::Expr`].
    Expr = 19,
    /// [`BindError::Geometry`].
    Geometry = 20,
    /// [`BindError::Cluster`].
    Cluster = 21,
    /// [`BindError::BlockSize`].
    BlockSize = 22,
    /// [`BindError::Inconsistent`].
    Inconsistent = 23,
    /// A null pointer where a tensor, its data or another value is needed.
    Null = 24,
    /// Tensors that are not all on one device, or on one that the call is not for.
    Device = 25,
    /// No GPU can be used: there is no driver, or no device of this number.
    NoCuda = 40,
    /// A call of the CUDA driver failed.
    Cuda = 41,
    /// The driver refused the code.
    Load = 42,
    /// More shared memory than a block of this device can have.
    SharedMemory = 43,
    /// Compiled for other GPUs.
    Target = 44,
    /// Not enough memory.
    OutOfMemory = 45,
    /// The device cannot do what the kernel needs.
    Unsupported = 46,
    /// The simulator found that the kernel does what it must not.
    Fault = 47,
    /// Another error of a device.
    OtherDevice = 48,
    /// The source does not compile.
    Compile = 60,
    /// A file cannot be read or written.
    File = 61,
    /// An option that does not exist, or a value that it does not have.
    Option = 62,
    /// A bug of cutec: it panicked, and the call has done nothing.
    Panic = 63,
}

impl Status {
    /// All of them, in ascending order.
    pub const ALL: [Status; 39] = [
        Status::Ok,
        Status::UnknownKernel,
        Status::Count,
        Status::Kind,
        Status::DType,
        Status::Rank,
        Status::Malformed,
        Status::NegativeExtent,
        Status::TooLarge,
        Status::StaticExtent,
        Status::ComputedExtent,
        Status::TiedExtent,
        Status::Stride,
        Status::Divisibility,
        Status::Range,
        Status::Align,
        Status::ReadOnly,
        Status::TensorMap,
        Status::Promise,
        Status::Expr,
        Status::Geometry,
        Status::Cluster,
        Status::BlockSize,
        Status::Inconsistent,
        Status::Null,
        Status::Device,
        Status::NoCuda,
        Status::Cuda,
        Status::Load,
        Status::SharedMemory,
        Status::Target,
        Status::OutOfMemory,
        Status::Unsupported,
        Status::Fault,
        Status::OtherDevice,
        Status::Compile,
        Status::File,
        Status::Option,
        Status::Panic,
    ];

    /// Its number.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The name of C's constant without its prefix, such as `STATIC_EXTENT`.
    pub fn c_name(self) -> String {
        let mut name = String::new();
        let text = self.to_string();
        let letters: Vec<char> = text.chars().collect();
        for (index, letter) in letters.iter().enumerate() {
            let next = letters
                .get(index + 1)
                .is_some_and(|next| next.is_lowercase());
            let last = index > 0 && letters[index - 1].is_lowercase();
            if index > 0 && letter.is_uppercase() && last && next {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    }

    /// What it says, in one line.
    pub fn description(self) -> &'static str {
        match self {
            Status::Ok => "done",
            Status::UnknownKernel => "no kernel of this name",
            Status::Count => "too few or too many arguments",
            Status::Kind => "a tensor where a number is expected, or the other way round",
            Status::DType => "another element type",
            Status::Rank => "another number of modes",
            Status::Malformed => "shape and strides differ in number",
            Status::NegativeExtent => "a negative extent",
            Status::TooLarge => "a tensor beyond 64-bit addresses",
            Status::StaticExtent => "another extent than the one the kernel was compiled for",
            Status::ComputedExtent => "another extent than the signature computes",
            Status::TiedExtent => "extents that must be equal differ",
            Status::Stride => "a stride is not what the layout says",
            Status::Divisibility => "a number is not the multiple that the kernel relies on",
            Status::Range => "a number above its bound, or beyond its type",
            Status::Align => "the base address is not aligned",
            Status::ReadOnly => "a read-only tensor where the kernel writes",
            Status::TensorMap => "no tensor map can be made of a tensor",
            Status::Promise => "a condition behind `where` does not hold",
            Status::Expr => "an expression of the signature has no value",
            Status::Geometry => "grid or block beyond what a launch can have",
            Status::Cluster => "a grid that is not made of whole clusters",
            Status::BlockSize => "more threads in a block than there can be",
            Status::Inconsistent => "the kernel's description contradicts itself",
            Status::Null => "a null pointer",
            Status::Device => "tensors that are not all on one device, or not on a GPU",
            Status::NoCuda => "no driver, or no GPU of this number",
            Status::Cuda => "a call of the CUDA driver failed",
            Status::Load => "the driver refused the code",
            Status::SharedMemory => "more shared memory than a block can have",
            Status::Target => "compiled for other GPUs",
            Status::OutOfMemory => "not enough memory",
            Status::Unsupported => "the device cannot do what the kernel needs",
            Status::Fault => "the simulator found that the kernel does what it must not",
            Status::OtherDevice => "another error of a device",
            Status::Compile => "the source does not compile",
            Status::File => "a file cannot be read or written",
            Status::Option => "an unknown option, or a value that it does not have",
            Status::Panic => "a bug of cutec",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl BindError {
    /// Which of the ways it is, without the data.
    pub fn status(&self) -> Status {
        match self {
            BindError::UnknownKernel { .. } => Status::UnknownKernel,
            BindError::Count { .. } => Status::Count,
            BindError::Kind { .. } => Status::Kind,
            BindError::DType { .. } => Status::DType,
            BindError::Rank { .. } => Status::Rank,
            BindError::Malformed { .. } => Status::Malformed,
            BindError::NegativeExtent { .. } => Status::NegativeExtent,
            BindError::TooLarge { .. } => Status::TooLarge,
            BindError::StaticExtent { .. } => Status::StaticExtent,
            BindError::ComputedExtent { .. } => Status::ComputedExtent,
            BindError::TiedExtent { .. } => Status::TiedExtent,
            BindError::Stride { .. } => Status::Stride,
            BindError::Divisibility { .. } => Status::Divisibility,
            BindError::Range { .. } => Status::Range,
            BindError::Align { .. } => Status::Align,
            BindError::ReadOnly { .. } => Status::ReadOnly,
            BindError::TensorMap { .. } => Status::TensorMap,
            BindError::Promise { .. } => Status::Promise,
            BindError::Expr { .. } => Status::Expr,
            BindError::Geometry { .. } => Status::Geometry,
            BindError::Cluster { .. } => Status::Cluster,
            BindError::BlockSize { .. } => Status::BlockSize,
            BindError::Inconsistent { .. } => Status::Inconsistent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_names_are_those_of_c() {
        assert!(Status::ALL.is_sorted_by(|a, b| a.code() < b.code()));
        let names = [
            Status::Ok,
            Status::DType,
            Status::NegativeExtent,
            Status::NoCuda,
        ];
        let names = names.map(Status::c_name);
        assert_eq!(names, ["OK", "DTYPE", "NEGATIVE_EXTENT", "NO_CUDA"]);
    }
}
