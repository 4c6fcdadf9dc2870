//! How the ABI travels with the artifact.
//!
//! In PTX it is a block of comment lines, which any PTX reader skips:
//! ```text
//! // cutec-abi-begin
//! // {"cutec_abi":1,"kernels":[…]}
//! // cutec-abi-end
//! ```
//! Beside a cubin `NAME.cubin` it is the file `NAME.abi.json` with the same JSON: see [`side_path`].

use std::path::{Path, PathBuf};

use super::{ABI_VERSION, Abi, AbiError};

/// First line of the block, after `// `.
pub const BEGIN: &str = "cutec-abi-begin";
/// Last line of the block, after `// `.
pub const END: &str = "cutec-abi-end";

/// The PTX with the ABI in front; a block that it already has is replaced.
///
/// Lines keep their order, so PTX line numbers shift by the length of the block alone.
pub fn embed(ptx: &str, abi: &Abi) -> String {
    let json = to_json(abi);
    let mut text = String::with_capacity(ptx.len() + json.len() + 64);
    text.push_str("// ");
    text.push_str(BEGIN);
    text.push('\n');
    // One kernel a line keeps diffs of snapshots readable.
    for line in json.lines() {
        text.push_str("// ");
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("// ");
    text.push_str(END);
    text.push('\n');
    text.push_str(&strip(ptx));
    text
}

/// Reads and validates the ABI block of a PTX text.
pub fn extract(ptx: &str) -> Result<Abi, AbiError> {
    let mut found: Option<String> = None;
    let mut lines = ptx.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if !is_marker(line, BEGIN) {
            continue;
        }
        if found.is_some() {
            return Err(AbiError::Repeated { line: number + 1 });
        }
        let mut json = String::new();
        loop {
            let unterminated = AbiError::Unterminated { line: number + 1 };
            let Some((_, line)) = lines.next() else {
                return Err(unterminated);
            };
            if is_marker(line, END) {
                break;
            }
            let Some(text) = line.trim_start().strip_prefix("//") else {
                return Err(unterminated);
            };
            json.push_str(text);
            json.push('\n');
        }
        found = Some(json);
    }
    from_json(&found.ok_or(AbiError::Missing)?)
}

/// The ABI as JSON, a line for each kernel.
pub fn to_json(abi: &Abi) -> String {
    let mut text = format!("{{\"cutec_abi\":{},\"kernels\":[\n", abi.cutec_abi);
    for (index, kernel) in abi.kernels.iter().enumerate() {
        // Strings, integers and lists of them: writing these into memory does not fail.
        text.push_str(&serde_json::to_string(kernel).unwrap_or_default());
        text.push_str(if index + 1 < abi.kernels.len() {
            ",\n"
        } else {
            "\n"
        });
    }
    text.push_str("]}");
    text
}

/// Reads and validates an ABI from JSON.
pub fn from_json(json: &str) -> Result<Abi, AbiError> {
    // The version decides how the rest is read, so it is looked at first.
    #[derive(serde::Deserialize)]
    struct Version {
        cutec_abi: u64,
    }
    let version: Version = serde_json::from_str(json)?;
    if version.cutec_abi != u64::from(ABI_VERSION) {
        return Err(AbiError::Version {
            found: version.cutec_abi,
        });
    }
    let abi: Abi = serde_json::from_str(json)?;
    abi.validate()?;
    Ok(abi)
}

/// Where the ABI of a cubin lies: `dir/NAME.abi.json` for `dir/NAME.cubin`.
pub fn side_path(cubin: &Path) -> PathBuf {
    cubin.with_extension("abi.json")
}

/// The PTX without its ABI block; an unterminated block is left alone.
pub fn strip(ptx: &str) -> String {
    let Some(begin) = marker_offset(ptx, BEGIN) else {
        return ptx.to_string();
    };
    let Some(end) = marker_offset(&ptx[begin..], END) else {
        return ptx.to_string();
    };
    let after = &ptx[begin + end..];
    let rest = after.find('\n').map_or("", |newline| &after[newline + 1..]);
    format!("{}{rest}", &ptx[..begin])
}

/// Byte offset of the line that is this marker.
fn marker_offset(text: &str, marker: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        if is_marker(line, marker) {
            return Some(offset);
        }
        offset += line.len();
    }
    None
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.trim()
        .strip_prefix("//")
        .is_some_and(|text| text.trim() == marker)
}
