//! NumPy's `.npy` files, versions 1 to 3 of the header, in C and Fortran order.
//!
//! NumPy has no `bf16` and no 8-bit floating point: they are written as raw bytes (`<V2`, `|V1`), as
//! `numpy.save` does for the types of the package ml_dtypes. When such a file is read, or one of
//! unsigned integers of the same size, the caller says which type is meant.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use super::host::{col_major, row_major};
use super::{DType, ShapeError, Tensor};
use crate::regular_file::{self, RegularFileError};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Longest header that is read: that of version 1, which holds every shape a tensor can have.
const MAX_HEADER: u32 = 65535;

/// A file that is no readable `.npy`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file cannot be opened, or is none.
    #[error("{0}")]
    File(#[from] RegularFileError),
    /// The file does not begin as a `.npy` file does.
    #[error("no .npy file: expected it to begin with \\x93NUMPY, found {found:02x?}")]
    Magic {
        /// Its first bytes.
        found: Vec<u8>,
    },
    /// A version of the format that is not known.
    #[error(".npy version {major}.{minor}: expected 1.0, 2.0 or 3.0")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The file ends early.
    #[error("truncated: expected {expected} bytes of {part}, found {found}")]
    Truncated {
        /// `header` or `data`.
        part: &'static str,
        /// Bytes there should be.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// There is more after the data.
    #[error("bytes after the {expected} bytes of data")]
    Trailing {
        /// Bytes of data.
        expected: u64,
    },
    /// A header of unreasonable length.
    #[error("a header of {found} bytes: expected at most {MAX_HEADER}")]
    HeaderLength {
        /// Its length.
        found: u32,
    },
    /// The header is not the dictionary that it should be.
    #[error("header: expected {expected} at byte {at} of {header:?}")]
    Header {
        /// What should stand there.
        expected: &'static str,
        /// Byte offset in the header.
        at: usize,
        /// The header.
        header: String,
    },
    /// An element type that has no equal here.
    #[error("element type {descr:?} is none that is known here{}", hint(.expected))]
    DType {
        /// NumPy's description of it.
        descr: String,
        /// The type that the caller expects.
        expected: Option<DType>,
    },
    /// A shape that no tensor can have.
    #[error("{0}")]
    Shape(#[from] ShapeError),
}

/// Reads a tensor from a regular file, whose size is that of its header and of the data that the header
/// says; see [`read`] for `expected`.
pub fn read_file(path: &Path, expected: Option<DType>) -> Result<Tensor, NpyError> {
    let file = regular_file::open(path)?;
    let size = file.metadata()?.len();
    read_sized(BufReader::new(file), expected, Some(size))
}

/// Reads a tensor. `expected` says what raw or unsigned elements stand for; other types are read as
/// what they are, and it is for the caller to compare.
pub fn read(input: impl Read, expected: Option<DType>) -> Result<Tensor, NpyError> {
    read_sized(input, expected, None)
}

/// [`read`] of an input of `size` bytes, where that is known.
fn read_sized(
    mut input: impl Read,
    expected: Option<DType>,
    size: Option<u64>,
) -> Result<Tensor, NpyError> {
    let mut start = [0; 8];
    let found = fill(&mut input, &mut start)?;
    if found < MAGIC.len() || !start.starts_with(MAGIC) {
        return Err(NpyError::Magic {
            found: start[..found.min(MAGIC.len())].to_vec(),
        });
    }
    if found < start.len() {
        return Err(NpyError::Truncated {
            part: "header",
            expected: 8,
            found: found as u64,
        });
    }
    let (major, minor) = (start[6], start[7]);
    let length_bytes = match (major, minor) {
        (1, 0) => 2,
        (2, 0) | (3, 0) => 4,
        _ => return Err(NpyError::Version { major, minor }),
    };
    let mut length = [0; 4];
    exact(&mut input, &mut length[..length_bytes], "header")?;
    let length = u32::from_le_bytes(length);
    if length > MAX_HEADER {
        return Err(NpyError::HeaderLength { found: length });
    }
    let mut header = vec![0; length as usize];
    exact(&mut input, &mut header, "header")?;
    let header = Header::parse(&String::from_utf8_lossy(&header))?;
    let (dtype, swapped) = header.dtype(expected)?;
    let strides = if header.fortran {
        col_major(&header.shape)?
    } else {
        row_major(&header.shape)?
    };
    let before = start.len() as u64 + length_bytes as u64 + u64::from(length);
    let rest = size.map(|size| size.saturating_sub(before));
    let bytes = data(input, dtype, &header.shape, rest)?;
    let mut tensor = Tensor::from_bytes(dtype, &header.shape, &strides, bytes)?;
    if swapped {
        tensor
            .bytes_mut()
            .chunks_exact_mut(dtype.size())
            .for_each(<[u8]>::reverse);
    }
    Ok(tensor)
}

/// Writes a tensor in C order, with a header of version 1.
pub fn write(mut output: impl Write, tensor: &Tensor) -> Result<(), NpyError> {
    let compact;
    let tensor = if tensor.is_row_major() {
        tensor
    } else {
        compact = tensor.with_strides(&row_major(tensor.shape())?)?;
        &compact
    };
    let extents: Vec<String> = tensor.shape().iter().map(i64::to_string).collect();
    let shape = match extents.as_slice() {
        [only] => format!("({only},)"),
        _ => format!("({})", extents.join(", ")),
    };
    let descr = descr(tensor.dtype());
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The data begins at a multiple of 64 bytes; the header ends with a newline.
    let before = MAGIC.len() + 4;
    let padding = (before + header.len() + 1).next_multiple_of(64) - before - header.len() - 1;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let Ok(length) = u16::try_from(header.len()) else {
        return Err(NpyError::HeaderLength {
            found: header.len() as u32,
        });
    };
    output.write_all(MAGIC)?;
    output.write_all(&[1, 0])?;
    output.write_all(&length.to_le_bytes())?;
    output.write_all(header.as_bytes())?;
    output.write_all(tensor.bytes())?;
    Ok(output.flush()?)
}

#[derive(Debug)]
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<i64>,
}

impl Header {
    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, keys in any order.
    fn parse(text: &str) -> Result<Header, NpyError> {
        let mut cursor = Cursor { text, at: 0 };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        cursor.expect("{", "`{`")?;
        while !cursor.accept("}") {
            let key = cursor.string()?;
            cursor.expect(":", "`:`")?;
            match key.as_str() {
                "descr" => descr = Some(cursor.string()?),
                "fortran_order" => fortran = Some(cursor.boolean()?),
                "shape" => shape = Some(cursor.shape()?),
                _ => return Err(cursor.error("`descr`, `fortran_order` or `shape` before")),
            }
            if !cursor.accept(",") {
                cursor.expect("}", "`,` or `}`")?;
                break;
            }
        }
        if !cursor.rest().is_empty() {
            return Err(cursor.error("the end"));
        }
        match (descr, fortran, shape) {
            (Some(descr), Some(fortran), Some(shape)) => Ok(Header {
                descr,
                fortran,
                shape,
            }),
            _ => Err(cursor.error("`descr`, `fortran_order` and `shape` before the end")),
        }
    }

    /// The element type, and whether its bytes are big endian.
    fn dtype(&self, expected: Option<DType>) -> Result<(DType, bool), NpyError> {
        let unknown = || NpyError::DType {
            descr: self.descr.clone(),
            expected,
        };
        let (order, kind) = self.descr.split_at_checked(1).ok_or_else(unknown)?;
        let swapped = match order {
            "<" | "|" | "=" => false,
            ">" => true,
            _ => return Err(unknown()),
        };
        // Types that NumPy lacks travel as raw bytes or as unsigned integers of their size.
        if let Some(meant) = expected {
            let lacks = matches!(meant, DType::BF16 | DType::F8E4M3 | DType::F8E5M2);
            let size = meant.size();
            if lacks && (kind == format!("V{size}") || kind == format!("u{size}")) {
                return Ok((meant, swapped));
            }
            if meant == DType::TF32 && kind == "f4" {
                return Ok((meant, swapped));
            }
        }
        let dtype = match kind {
            "f2" => DType::F16,
            "f4" => DType::F32,
            "f8" => DType::F64,
            "i1" => DType::I8,
            "i2" => DType::I16,
            "i4" => DType::I32,
            "i8" => DType::I64,
            "u1" => DType::U8,
            "u2" => DType::U16,
            "u4" => DType::U32,
            "u8" => DType::U64,
            "b1" => DType::Bool,
            // The only type of 2 raw bytes that anyone saves.
            "V2" => DType::BF16,
            _ => return Err(unknown()),
        };
        Ok((dtype, swapped))
    }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// What is left, from the next character that is no blank.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start_matches([' ', '\n', '\t', '\r', '\0']);
        self.at = self.text.len() - rest.len();
        rest
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), NpyError> {
        if self.accept(token) {
            Ok(())
        } else {
            Err(self.error(expected))
        }
    }

    fn string(&mut self) -> Result<String, NpyError> {
        let rest = self.rest();
        let quoted = ['\'', '"'].into_iter().find_map(|quote| {
            let inside = rest.strip_prefix(quote)?;
            Some(&inside[..inside.find(quote)?])
        });
        let text = quoted.ok_or_else(|| self.error("a string"))?;
        self.at += text.len() + 2;
        Ok(text.to_string())
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        if self.accept("True") {
            return Ok(true);
        }
        self.expect("False", "`True` or `False`")?;
        Ok(false)
    }

    fn shape(&mut self) -> Result<Vec<i64>, NpyError> {
        self.expect("(", "`(`")?;
        let mut shape = Vec::new();
        while !self.accept(")") {
            let rest = self.rest();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let extent = rest[..digits]
                .parse()
                .map_err(|_| self.error("an extent"))?;
            shape.push(extent);
            self.at += digits;
            // Python 2 wrote `3L`.
            self.accept("L");
            if !self.accept(",") {
                self.expect(")", "`,` or `)`")?;
                break;
            }
        }
        Ok(shape)
    }

    fn error(&self, expected: &'static str) -> NpyError {
        NpyError::Header {
            expected,
            at: self.at,
            header: self.text.trim_end().to_string(),
        }
    }
}

/// Reads exactly the data of a shape, of which there are `rest` bytes where that is known. A header can
/// claim more than the file has: that is seen before there is memory for it, or else memory grows with
/// what is read.
fn data(
    mut input: impl Read,
    dtype: DType,
    shape: &[i64],
    rest: Option<u64>,
) -> Result<Vec<u8>, NpyError> {
    let elements = shape.iter().try_fold(1u64, |product, &extent| {
        product.checked_mul(u64::try_from(extent).ok()?)
    });
    let expected = elements
        .and_then(|n| n.checked_mul(dtype.size() as u64))
        .ok_or_else(|| {
            NpyError::Shape(ShapeError::Span {
                shape: shape.to_vec(),
                strides: Vec::new(),
            })
        })?;
    let mut bytes = Vec::new();
    match rest {
        Some(found) if found < expected => {
            return Err(NpyError::Truncated {
                part: "data",
                expected,
                found,
            });
        }
        Some(found) if found > expected => return Err(NpyError::Trailing { expected }),
        Some(_) => {
            let room = bytes.try_reserve_exact(usize::try_from(expected).unwrap_or(usize::MAX));
            room.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        }
        None => {}
    }
    input.by_ref().take(expected).read_to_end(&mut bytes)?;
    let found = bytes.len() as u64;
    if found < expected {
        return Err(NpyError::Truncated {
            part: "data",
            expected,
            found,
        });
    }
    if fill(&mut input, &mut [0])? > 0 {
        return Err(NpyError::Trailing { expected });
    }
    Ok(bytes)
}

/// NumPy's description of an element type.
fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "<f2",
        DType::BF16 => "<V2",
        DType::TF32 | DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::F8E4M3 | DType::F8E5M2 => "|V1",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::U8 => "|u1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::Bool => "|b1",
    }
}

fn exact(input: &mut impl Read, bytes: &mut [u8], part: &'static str) -> Result<(), NpyError> {
    let found = fill(input, bytes)? as u64;
    let expected = bytes.len() as u64;
    if found == expected {
        Ok(())
    } else {
        Err(NpyError::Truncated {
            part,
            expected,
            found,
        })
    }
}

/// Reads until `bytes` is full or the input ends, and says how many bytes there were.
fn fill(input: &mut impl Read, bytes: &mut [u8]) -> Result<usize, NpyError> {
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

fn hint(expected: &Option<DType>) -> String {
    match expected {
        Some(dtype) => format!(" (expected {dtype}, {:?} in NumPy)", descr(*dtype)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        let length = (header.len() as u32).to_le_bytes();
        bytes.extend(if version == 1 { &length[..2] } else { &length });
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    const TWO: &str = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";

    #[test]
    fn every_type_survives_a_round_trip() {
        for dtype in DType::ALL {
            let tensor = Tensor::normal(dtype, &[3, 5], 1).unwrap();
            let mut bytes = Vec::new();
            write(&mut bytes, &tensor).unwrap();
            assert_eq!((bytes.len() - 15 * dtype.size()) % 64, 0);
            assert_eq!(
                read(bytes.as_slice(), Some(dtype)).unwrap(),
                tensor,
                "{dtype}"
            );
        }
    }

    #[test]
    fn shapes_and_strides() {
        for shape in [&[][..], &[0], &[7], &[2, 0, 3], &[2, 3, 4]] {
            let tensor = Tensor::normal(DType::F32, shape, 1).unwrap();
            let mut bytes = Vec::new();
            write(
                &mut bytes,
                &tensor.with_strides(&col_major(shape).unwrap()).unwrap(),
            )
            .unwrap();
            assert_eq!(read(bytes.as_slice(), None).unwrap(), tensor);
        }
    }

    #[test]
    fn versions_orders_and_byte_orders() {
        for version in [1, 2, 3] {
            let tensor = read(file(version, TWO, &[1, 0, 2, 0]).as_slice(), None).unwrap();
            assert_eq!(tensor.to_f64(), [1.0, 2.0]);
        }
        let fortran = "{\"shape\": (2, 2), 'fortran_order': True, 'descr': '>i2'}\n";
        let tensor = read(file(1, fortran, &[0, 1, 0, 2, 0, 3, 0, 4]).as_slice(), None).unwrap();
        assert_eq!(tensor.strides(), [1, 2]);
        assert_eq!(tensor.to_f64(), [1.0, 3.0, 2.0, 4.0]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |bytes: &[u8]| read(bytes, None).unwrap_err();
        assert!(matches!(error(b"PK\x03\x04...."), NpyError::Magic { .. }));
        assert!(matches!(error(b""), NpyError::Magic { .. }));
        assert!(matches!(
            error(b"\x93NUMPY\x01"),
            NpyError::Truncated { part: "header", .. }
        ));
        assert!(matches!(
            error(&file(4, TWO, &[])),
            NpyError::Version { major: 4, minor: 0 }
        ));
        let short = error(&file(1, TWO, &[1, 0, 2]));
        assert_eq!(
            short.to_string(),
            "truncated: expected 4 bytes of data, found 3"
        );
        assert!(matches!(
            error(&file(1, TWO, &[0; 5])),
            NpyError::Trailing { expected: 4 }
        ));
        let complex = TWO.replace("<i2", "<c8");
        assert!(matches!(
            error(&file(1, &complex, &[])),
            NpyError::DType { .. }
        ));
        let huge = TWO.replace("(2,)", "(99999999999, 99999999999)");
        assert!(matches!(error(&file(1, &huge, &[])), NpyError::Shape(_)));
        let claimed = TWO.replace("(2,)", "(400000000000,)");
        assert!(matches!(
            error(&file(1, &claimed, &[])),
            NpyError::Truncated { .. }
        ));
        for header in [
            "",
            "{",
            "{'descr': '<i2'}",
            "{'descr: 1}",
            "{'shape': (1;2)}",
            "[]",
        ] {
            assert!(
                matches!(error(&file(1, header, &[])), NpyError::Header { .. }),
                "{header}"
            );
        }
        let raw = TWO.replace("<i2", "|V1");
        let read_as = |dtype| read(file(1, &raw, &[0x38, 0]).as_slice(), Some(dtype));
        assert_eq!(read_as(DType::F8E4M3).unwrap().to_f64(), [1.0, 0.0]);
        assert!(
            read_as(DType::F16)
                .unwrap_err()
                .to_string()
                .contains("expected f16, \"<f2\"")
        );
    }

    #[test]
    fn files_are_regular_and_as_long_as_they_say() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        let read_as = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_file(&path, None)
        };
        assert_eq!(
            read_as(&file(1, TWO, &[1, 0, 2, 0])).unwrap().to_f64(),
            [1.0, 2.0]
        );
        // A terabyte is not asked for before the file is seen not to have it.
        let claimed = TWO.replace("(2,)", "(400000000000,)");
        let error = read_as(&file(1, &claimed, &[0; 4])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "truncated: expected 800000000000 bytes of data, found 4"
        );
        let error = read_as(&file(2, TWO, &[0; 5])).unwrap_err();
        assert!(matches!(error, NpyError::Trailing { expected: 4 }));
        for other in [folder.path(), Path::new("/dev/zero")] {
            let error = read_file(other, None).unwrap_err();
            assert!(
                error.to_string().contains("expected a regular file"),
                "{error}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(bytes.as_slice(), None);
            let mut with_magic = b"\x93NUMPY\x01\x00".to_vec();
            with_magic.extend(bytes);
            let _ = read(with_magic.as_slice(), Some(DType::BF16));
        }

        #[test]
        fn no_header_makes_it_panic(header in "[{}()',:<>|fiuVLTrue0-9é \n]{0,80}") {
            let _ = read(file(1, &header, &[]).as_slice(), None);
        }

        #[test]
        fn a_damaged_file_never_panics(at in 0usize..100, with in any::<u8>()) {
            let mut bytes = file(1, TWO, &[1, 0, 2, 0]);
            let at = at % bytes.len();
            bytes[at] = with;
            let _ = read(bytes.as_slice(), None);
            let _ = read(&bytes[..at], None);
        }
    }
}
