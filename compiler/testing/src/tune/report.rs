//! What was found, as text.

use super::Findings;
use cutec_tuning::SizePlan;
use cutec_tuning::candidate::size_text;
use cutec_tuning::plan::MeasuredConfiguration;
use std::fmt::Write;

/// Configurations of each size that are shown, beside the defaults.
const SHOWN: usize = 5;

/// For each size the fastest configurations beside the defaults, and why how many others were dropped; with `all` every
/// configuration with its figure or its reason.
pub fn text(findings: &Findings, all: bool) -> String {
    let mut out = String::new();
    let mut dropped = findings.dropped.iter();
    for kernel in &findings.plan.kernels {
        let fixed: Vec<String> = kernel
            .fixed
            .iter()
            .map(|(n, v)| format!("{n} = {v}"))
            .collect();
        let fixed = match fixed.is_empty() {
            true => String::new(),
            false => format!("<{}>", fixed.join(", ")),
        };
        let _ = writeln!(
            out,
            "{}{fixed}: {} configurations",
            kernel.kernel, kernel.configurations
        );
        for size in &kernel.sizes {
            let symbols = kernel.symbols.iter().cloned();
            let symbols: Vec<(String, i64)> = symbols.zip(size.extents.iter().copied()).collect();
            let reasons: Vec<String> = size
                .dropped
                .iter()
                .map(|(reason, count)| format!("{reason} {count}"))
                .collect();
            let reasons = match reasons.is_empty() {
                true => String::new(),
                false => format!(" ({})", reasons.join(", ")),
            };
            let count: usize = size.dropped.values().sum();
            let _ = writeln!(
                out,
                "  {}: {} measured, {count} dropped{reasons}",
                size_text(&symbols),
                size.measured.len()
            );
            let defaults = defaults(size);
            let shown = if all { usize::MAX } else { SHOWN };
            for (index, measured) in size.measured.iter().enumerate() {
                let is_default = defaults == Some(index);
                if index < shown || is_default {
                    line(&mut out, size, measured, is_default);
                }
            }
            let Some((candidates, dropped)) = dropped.next() else {
                continue;
            };
            for one in dropped.iter().filter(|_| all) {
                let configuration = &candidates[one.number].configuration;
                let text = cutec_tuning::text(configuration);
                let _ = writeln!(out, "    {text}: {}", one.reason);
            }
        }
    }
    out
}

/// The position of the defaults among what was measured.
fn defaults(size: &SizePlan) -> Option<usize> {
    let mut measured = size.measured.iter();
    measured.position(|one| one.is_default)
}

fn line(out: &mut String, size: &SizePlan, measured: &MeasuredConfiguration, is_default: bool) {
    let figure = match (measured.figure, size.unit.as_str()) {
        (Some(seconds), "seconds") => format!("{:.2} µs", seconds * 1e6),
        (Some(clocks), unit) => format!("{clocks:.0} {unit}"),
        (None, _) => "wrong".to_owned(),
    };
    let speed = measured
        .relative
        .map_or(String::new(), |r| format!("{:.2} ×", 1.0 / r));
    let parameters = measured.parameters.iter();
    let parameters: Vec<String> = parameters.map(|(n, v)| format!("{n} = {v}")).collect();
    let mut notes = Vec::new();
    if is_default {
        notes.push("defaults".to_owned());
    }
    if let Some(registers) = measured.registers {
        notes.push(format!("{registers} registers"));
    }
    notes.push(format!("{} bytes shared", measured.shared));
    notes.extend(measured.wrong.clone());
    let _ = writeln!(
        out,
        "    {figure:>12} {speed:>8}  {} ({})",
        parameters.join(", "),
        notes.join(", ")
    );
}
