//! What is printed.

use std::io::Write;
use std::path::Path;

use cutec_runtime::Value;
use cutec_runtime::output_file;
use cutec_runtime::sim::profile::Instruction;
use cutec_runtime::sim::{Profile, Stats};
use cutec_runtime::tensor::npy;

use super::call::{Call, CallError};

/// Instructions that a profile lists at most.
const LISTED: usize = 24;

/// Writes an argument to a file.
pub fn write(path: &Path, value: &Value) -> Result<(), CallError> {
    let failed = |reason: String| CallError::File {
        path: path.to_path_buf(),
        reason,
    };
    let tensor = value
        .as_tensor()
        .ok_or_else(|| failed("the argument is a number".to_string()))?;
    let mut bytes = Vec::new();
    npy::write(&mut bytes, tensor).map_err(|error| failed(error.to_string()))?;
    output_file::write(path, &bytes).map_err(|error| failed(error.to_string()))
}

/// A line for each tensor that changed, one for the run, and the profiles.
pub fn print(
    call: &Call,
    values: &[Value],
    stats: Stats,
    schedules: u64,
    profiles: &[Profile],
    json: bool,
) -> Result<(), CallError> {
    let mut out = std::io::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(profiles).map_err(std::io::Error::from)?;
        return Ok(writeln!(out, "{text}")?);
    }
    for (name, tensor) in call.changed(values) {
        let values = tensor.to_f64();
        let finite = values.iter().copied().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let extents: Vec<String> = tensor.shape().iter().map(i64::to_string).collect();
        let extents = extents.join("x");
        writeln!(
            out,
            "{name}: {} {extents}, from {low} to {high}",
            tensor.dtype()
        )?;
    }
    write!(
        out,
        "{}: {} warp instructions",
        call.kernel, stats.warp_instructions
    )?;
    match schedules {
        1 => writeln!(out)?,
        _ => writeln!(out, ", the same result in {schedules} schedules")?,
    }
    for profile in profiles {
        show(&mut out, profile)?;
    }
    Ok(())
}

fn show(out: &mut impl Write, profile: &Profile) -> std::io::Result<()> {
    let total = profile.total();
    writeln!(
        out,
        "shared: {} requests, {} passes over the banks, {} without conflicts",
        total.shared_requests, total.wavefronts, total.wavefronts_ideal
    )?;
    writeln!(
        out,
        "global: {} requests, {} sectors, {} at best; {} bytes read and {} written of different sectors",
        total.global_requests,
        total.sectors,
        total.sectors_ideal,
        profile.distinct_read_bytes,
        profile.distinct_written_bytes
    )?;
    for (class, executed) in profile.mix() {
        writeln!(out, "{executed:>12}  {class}")?;
    }
    let cost = |i: &&Instruction| i.counts.executed + i.counts.wavefronts + i.counts.sectors;
    let mut costly: Vec<&Instruction> = profile.instructions.iter().collect();
    costly.sort_by_key(|i| std::cmp::Reverse(cost(i)));
    costly.truncate(LISTED);
    costly.sort_by_key(|i| i.ptx_line);
    writeln!(out, "    executed      passes     sectors   line")?;
    for instruction in costly {
        let counts = &instruction.counts;
        writeln!(
            out,
            "{:>12}{:>12}{:>12} {:>6}  {}",
            counts.executed,
            counts.wavefronts,
            counts.sectors,
            instruction.ptx_line,
            instruction.text
        )?;
        let reasons = [&instruction.conflict, &instruction.uncoalesced];
        for reason in reasons.into_iter().flatten() {
            writeln!(out, "{:>44} {reason}", "^")?;
        }
    }
    Ok(())
}
