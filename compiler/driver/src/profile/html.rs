//! Profiles as one page that needs nothing else.

use super::report::{LaunchReport, Line};
use super::roofline::Roofline;
use super::text::{bytes, percent, ratio};
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1e21;--paper:#fff;--soft:#6b7280;--line:#d8dbe0;--hot:220,60,30;--cool:40,110,200}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e7e9;--paper:#16181c;--soft:#9aa1ab;--line:#353a42;--hot:255,110,70;--cool:90,160,255}}\
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;max-width:76rem;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.2rem;border-top:1px solid var(--line);padding-top:1.2rem;margin-top:2rem}h3{font-size:1rem}\
table{border-collapse:collapse}td,th{padding:.1rem .6rem .1rem 0;text-align:left;vertical-align:top;font-weight:normal}\
th{color:var(--soft)}.row{display:flex;gap:2.5rem;flex-wrap:wrap}.source{overflow-x:auto}\
.source td{font:12.5px/1.5 ui-monospace,monospace;white-space:pre}.source .n{text-align:right;color:var(--soft)}\
.remark{color:rgb(var(--hot));white-space:normal!important;padding-left:3rem}\
.bar{background:rgba(var(--cool),.65);height:.75rem;display:inline-block}\
.banks{display:grid;grid-template-columns:repeat(16,2.1rem);gap:2px}.banks div{height:2.1rem;font-size:11px;display:grid;place-items:center}\
svg text{font-size:11px;fill:var(--ink)}.roof{fill:none;stroke:rgb(var(--cool));stroke-width:2}.axis{stroke:var(--line)}.point{fill:rgb(var(--hot))}";

/// The page.
pub fn page(launches: &[LaunchReport]) -> String {
    let mut html = String::new();
    let title = launches.first().map_or("", |launch| &launch.kernel);
    // Writing into a string cannot fail.
    let _ = write!(
        html,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>Profile of {0}</title><style>{STYLE}</style><h1>Profile of {0}</h1>",
        escape(title)
    );
    for launch in launches {
        summary(&mut html, launch);
        let _ = write!(html, "<div class=\"row\"><div>");
        mix(&mut html, launch);
        html.push_str("</div><div>");
        units(&mut html, launch);
        html.push_str("</div></div><div class=\"row\">");
        if let Some(roofline) = Roofline::of(launch) {
            let _ = write!(html, "<div><h3>Roofline</h3>{}</div>", roofline.svg());
        }
        banks(&mut html, launch);
        html.push_str("</div>");
        source(&mut html, launch);
    }
    html.push_str("</html>\n");
    html
}

fn summary(html: &mut String, launch: &LaunchReport) {
    let (profile, total) = (&launch.profile, &launch.total);
    let _ = write!(html, "<h2>{}</h2><table>", escape(&launch.title()));
    let mut row = |name: &str, value: String| {
        let _ = write!(html, "<tr><th>{name}<td>{}", escape(&value));
    };
    row("target", launch.target.clone());
    row(
        "grid, block",
        format!("{:?}, {:?}", profile.grid, profile.block),
    );
    row(
        "registers, spills",
        match &launch.resources {
            Some(r) => format!(
                "{}, {} bytes stored and {} loaded",
                r.registers, r.spill_stores, r.spill_loads
            ),
            None => "unknown: no ptxas".to_owned(),
        },
    );
    row(
        "shared memory of a block",
        format!("{} bytes", profile.shared_bytes),
    );
    if let Some(occupancy) = &launch.occupancy {
        row(
            "occupancy",
            format!(
                "{} blocks on an SM, {:.0} % of its warps, limited by {}",
                occupancy.blocks,
                100.0 * occupancy.fraction,
                occupancy.limit
            ),
        );
    }
    row("warp instructions", total.executed.to_string());
    row(
        "in diverged warps",
        format!("{:.1} %", percent(total.divergent, total.executed)),
    );
    row(
        "passes over the banks",
        format!(
            "{} ({:.2} times the {} without conflicts)",
            total.wavefronts,
            ratio(total.wavefronts, total.wavefronts_ideal),
            total.wavefronts_ideal
        ),
    );
    row(
        "sectors for each global request",
        format!(
            "{:.2} ({:.2} at best)",
            ratio(total.sectors, total.global_requests),
            ratio(total.sectors_ideal, total.global_requests)
        ),
    );
    row(
        "bytes: shared, global, sectors, different",
        format!(
            "{}, {}, {}, {}",
            bytes(total.shared_bytes),
            bytes(total.global_bytes),
            bytes(32 * total.sectors),
            bytes(profile.distinct_read_bytes + profile.distinct_written_bytes)
        ),
    );
    if let Some(bounds) = launch
        .bounds
        .as_ref()
        .filter(|b| b.tensor_utilisation > 0.0)
    {
        row(
            "tensor cores at work",
            format!(
                "{:.0} % of the time at most",
                100.0 * bounds.tensor_utilisation
            ),
        );
    }
    html.push_str("</table>");
}

fn bar(html: &mut String, name: &str, part: f64, value: &str) {
    let _ = write!(
        html,
        "<tr><th>{name}<td><span class=\"bar\" style=\"width:{:.1}rem\"></span> {value}",
        14.0 * part.clamp(0.0, 1.0)
    );
}

fn mix(html: &mut String, launch: &LaunchReport) {
    html.push_str("<h3>Instructions</h3><table>");
    for (class, executed) in &launch.mix {
        let part = percent(*executed, launch.total.executed);
        bar(
            html,
            &class.to_string(),
            part / 100.0,
            &format!("{part:.1} %"),
        );
    }
    html.push_str("</table>");
}

fn units(html: &mut String, launch: &LaunchReport) {
    let (Some(machine), Some(bounds)) = (&launch.machine, &launch.bounds) else {
        return;
    };
    let _ = write!(
        html,
        "<h3>Least time of each unit ({})</h3><table>",
        machine.gpu
    );
    let slowest = bounds.units.first().map_or(0.0, |unit| unit.seconds);
    for unit in &bounds.units {
        let part = if slowest > 0.0 {
            unit.seconds / slowest
        } else {
            0.0
        };
        let value = format!("{:.1} µs", 1e6 * unit.seconds);
        bar(html, unit.unit, part, &value);
    }
    html.push_str("</table>");
}

/// How evenly the banks of shared memory are used.
fn banks(html: &mut String, launch: &LaunchReport) {
    let most = launch.profile.banks.iter().copied().max().unwrap_or(0);
    if most == 0 {
        return;
    }
    html.push_str("<div><h3>Words asked of each bank</h3><div class=\"banks\">");
    for (bank, &words) in launch.profile.banks.iter().enumerate() {
        let heat = words as f64 / most as f64;
        let _ = write!(
            html,
            "<div style=\"background:rgba(var(--hot),{heat:.2})\" title=\"{words} words\">{bank}</div>"
        );
    }
    html.push_str("</div></div>");
}

fn source(html: &mut String, launch: &LaunchReport) {
    for file in &launch.files {
        let _ = write!(
            html,
            "<h3>{}</h3><div class=\"source\"><table><tr><th>issue<th>bank passes<th>sectors/request<th><th>",
            escape(&file.name)
        );
        let hottest = file.lines.iter().map(|line| line.share).fold(0.0, f64::max);
        for line in &file.lines {
            source_line(html, line, hottest);
        }
        html.push_str("</table></div>");
    }
}

fn source_line(html: &mut String, line: &Line, hottest: f64) {
    let counts = &line.counts;
    let cell = |holds: bool, text: String| if holds { text } else { String::new() };
    let heat = if hottest > 0.0 {
        line.share / hottest
    } else {
        0.0
    };
    let _ = write!(
        html,
        "<tr style=\"background:rgba(var(--hot),{:.2})\"><td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td>{}",
        0.35 * heat,
        cell(counts.executed > 0, format!("{:.1} %", 100.0 * line.share)),
        cell(
            counts.wavefronts > 0,
            format!(
                "{} × {:.2}",
                counts.wavefronts_ideal,
                ratio(counts.wavefronts, counts.wavefronts_ideal)
            )
        ),
        cell(
            counts.global_requests > 0,
            format!(
                "{:.1} of {:.1}",
                ratio(counts.sectors, counts.global_requests),
                ratio(counts.sectors_ideal, counts.global_requests)
            )
        ),
        line.number,
        escape(&line.text)
    );
    for remark in &line.remarks {
        let _ = write!(
            html,
            "<tr><td colspan=\"4\"><td class=\"remark\">{}",
            escape(remark)
        );
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escape("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
    }
}
