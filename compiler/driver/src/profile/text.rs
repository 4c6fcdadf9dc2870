//! Profiles for a terminal.

use super::report::{File, LaunchReport, Line};
use super::roofline::{Roofline, rate};
use std::fmt::Write;

/// All launches: a summary of each; the source of the one of each kernel that executes most.
pub fn show(launches: &[LaunchReport]) -> String {
    let mut text = String::new();
    for (at, launch) in launches.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        summary(&mut text, launch);
        let heaviest = launches
            .iter()
            .filter(|other| (&other.kernel, &other.defines) == (&launch.kernel, &launch.defines))
            .map(|other| other.total.executed)
            .max();
        if heaviest == Some(launch.total.executed) {
            for file in &launch.files {
                source(&mut text, file);
            }
        }
    }
    text
}

fn summary(text: &mut String, launch: &LaunchReport) {
    let profile = &launch.profile;
    let ([gx, gy, gz], [x, y, z]) = (profile.grid, profile.block);
    let total = &launch.total;
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "{}  for {}: {} ({gx}, {gy}, {gz}) of {} ({x}, {y}, {z})",
        launch.title(),
        launch.target,
        count([gx, gy, gz].map(u64::from).iter().product(), "block"),
        count((x * y * z).into(), "thread")
    );
    let mut takes = Vec::new();
    match &launch.resources {
        Some(resources) => {
            takes.push(format!("{} registers", resources.registers));
            takes.push(match (resources.spill_stores, resources.spill_loads) {
                (0, 0) => "no spills".to_owned(),
                (stores, loads) => format!("spills of {stores} bytes stored, {loads} loaded"),
            });
        }
        None => takes.push("registers unknown: no ptxas".to_owned()),
    }
    takes.push(format!("{} bytes of shared memory", profile.shared_bytes));
    let _ = writeln!(text, "  takes       {}", takes.join(", "));
    if let Some(occupancy) = &launch.occupancy {
        let _ = writeln!(
            text,
            "  occupancy   {} on an SM, {:.0} % of its warps; limited by {}",
            count(occupancy.blocks.into(), "block"),
            100.0 * occupancy.fraction,
            occupancy.limit
        );
    }
    let _ = writeln!(
        text,
        "  executed    {} warp instructions, {:.1} of 32 threads at work, {:.1} % in diverged warps",
        total.executed,
        total.threads as f64 / total.executed.max(1) as f64,
        percent(total.divergent, total.executed)
    );
    let mix = launch.mix.iter();
    let mix: Vec<String> = mix
        .map(|(class, executed)| format!("{class} {:.1} %", percent(*executed, total.executed)))
        .collect();
    let _ = writeln!(text, "  mix         {}", mix.join(", "));
    if total.shared_requests > 0 {
        let _ = writeln!(
            text,
            "  shared      {} passes over the banks, {} without conflicts ({:.2} times); {}",
            total.wavefronts,
            total.wavefronts_ideal,
            ratio(total.wavefronts, total.wavefronts_ideal),
            bytes(total.shared_bytes)
        );
    }
    if total.global_requests > 0 {
        let _ = writeln!(
            text,
            "  global      {} requests, {:.1} sectors each, {:.1} at best; asked for {}, sectors {}, \
             different ones {} read and {} written",
            total.global_requests,
            total.sectors as f64 / total.global_requests as f64,
            total.sectors_ideal as f64 / total.global_requests as f64,
            bytes(total.global_bytes),
            bytes(32 * total.sectors),
            bytes(profile.distinct_read_bytes),
            bytes(profile.distinct_written_bytes)
        );
    }
    if let (Some(machine), Some(bounds)) = (&launch.machine, &launch.bounds) {
        let units = bounds.units.iter().filter(|unit| unit.seconds > 0.0);
        let units: Vec<String> = units
            .map(|unit| format!("{} {:.1} µs", unit.unit, 1e6 * unit.seconds))
            .collect();
        let _ = writeln!(text, "  at least    {} ({})", units.join(", "), machine.gpu);
        if bounds.tensor_utilisation > 0.0 {
            let _ = writeln!(
                text,
                "  tensor      at work {:.0} % of the time at most",
                100.0 * bounds.tensor_utilisation
            );
        }
    }
    if let Some(roofline) = Roofline::of(launch) {
        let _ = writeln!(
            text,
            "  roofline    {:.1} operations for each byte; at most {} of {}",
            roofline.intensity,
            rate(roofline.bound),
            rate(roofline.peak)
        );
        text.push_str(&roofline.draw());
    }
}

fn source(text: &mut String, file: &File) {
    let _ = writeln!(text, "\n{}", file.name);
    let _ = writeln!(
        text,
        "   issue     bank passes   sectors/request |\n       %  (ideal = 1.00)           (ideal) |"
    );
    for line in &file.lines {
        let Line {
            number,
            share,
            counts,
            remarks,
            ..
        } = line;
        let issue = match counts.executed {
            0 => String::new(),
            _ => format!("{:.1}", 100.0 * share),
        };
        let passes = match counts.wavefronts {
            0 => String::new(),
            passes => format!("{passes} {:.2}", ratio(passes, counts.wavefronts_ideal)),
        };
        let sectors = match counts.global_requests {
            0 => String::new(),
            requests => format!(
                "{:.1} ({:.1})",
                counts.sectors as f64 / requests as f64,
                counts.sectors_ideal as f64 / requests as f64
            ),
        };
        let row = format!(
            "{issue:>8} {passes:>15} {sectors:>17} |{number:>5}  {}",
            line.text
        );
        let _ = writeln!(text, "{}", row.trim_end());
        for remark in remarks {
            let _ = writeln!(text, "{:>44}       ^ {remark}", "|");
        }
    }
}

/// `1 block`, `2 blocks`
fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// How many times as much as is needed.
pub fn ratio(cost: u64, ideal: u64) -> f64 {
    cost as f64 / ideal.max(1) as f64
}

/// A part in percent.
pub fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// `1.5 MB`
pub fn bytes(number: u64) -> String {
    for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")] {
        if number >= unit {
            return format!("{:.2} {name}", number as f64 / unit as f64);
        }
    }
    format!("{number} B")
}
