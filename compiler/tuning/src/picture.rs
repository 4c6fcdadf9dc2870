//! The search as SVG: for each size how fast each configuration was that was measured, and how far it came.

use crate::plan::{KernelPlan, Plan, SizePlan};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 34.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 30.0;
/// Colours of configurations by the rounds that they were measured in.
const COLOURS: [&str; 5] = ["#c0392b", "#b8c4d0", "#7fa8d1", "#3d7ab8", "#134a86"];

/// A panel for each size of each kernel, one below the other.
pub fn svg(plan: &Plan) -> String {
    let panels: Vec<(&KernelPlan, &SizePlan)> = plan
        .kernels
        .iter()
        .flat_map(|kernel| kernel.sizes.iter().map(move |size| (kernel, size)))
        .collect();
    let height = HEIGHT * panels.len().max(1) as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (index, (kernel, size)) in panels.into_iter().enumerate() {
        let _ = writeln!(
            out,
            "<g transform=\"translate(0 {})\">",
            HEIGHT * index as f64
        );
        panel(&mut out, kernel, size);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// Speeds in multiples of the defaults', the fastest configuration on the left.
fn panel(out: &mut String, kernel: &KernelPlan, size: &SizePlan) {
    let symbols = kernel.symbols.iter().zip(&size.extents);
    let symbols: Vec<String> = symbols
        .map(|(name, extent)| format!("{name} = {extent}"))
        .collect();
    let dropped: usize = size.dropped.values().sum();
    let chosen: Vec<String> = size
        .chosen
        .iter()
        .map(|(n, v)| format!("{n} = {v}"))
        .collect();
    let title = format!(
        "{} {}: {} measured, {dropped} dropped",
        kernel.kernel,
        symbols.join(", "),
        size.measured.len()
    );
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"14\" font-weight=\"bold\">{}</text>",
        escaped(&title)
    );
    let best = format!("{:.2} × with {}", size.speedup, chosen.join(", "));
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"29\" fill=\"#134a86\">{}</text>",
        escaped(&best)
    );
    let speeds: Vec<(f64, usize, String)> = size
        .measured
        .iter()
        .filter_map(|measured| {
            let parameters = measured.parameters.iter();
            let text: Vec<String> = parameters.map(|(n, v)| format!("{n} = {v}")).collect();
            Some((1.0 / measured.relative?, measured.rounds, text.join(", ")))
        })
        .collect();
    let most = speeds.iter().map(|(speed, ..)| *speed).fold(1.0, f64::max) * 1.05;
    let (inner, floor) = (WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM);
    let y = |speed: f64| floor - (floor - TOP) * speed / most;
    let _ = writeln!(
        out,
        "<path d=\"M{LEFT} {TOP}V{floor}H{}\" fill=\"none\" stroke=\"#333\"/>",
        WIDTH - RIGHT
    );
    let step = inner / speeds.len().max(1) as f64;
    for (index, (speed, rounds, text)) in speeds.iter().enumerate() {
        let _ = writeln!(
            out,
            "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\"><title>{speed:.3} × with {}</title></rect>",
            LEFT + step * index as f64,
            y(*speed),
            (step * 0.85).max(0.5),
            floor - y(*speed),
            COLOURS[(*rounds).min(4)],
            escaped(text)
        );
    }
    for (speed, label) in [(1.0, "defaults"), (most / 1.05, "")] {
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {0:.2}H{1}\" stroke=\"#c0392b\" stroke-dasharray=\"4 3\"/><text x=\"{2}\" y=\"{3:.2}\" \
             text-anchor=\"end\">{speed:.2}</text><text x=\"{1}\" y=\"{4:.2}\" text-anchor=\"end\" fill=\"#c0392b\">{label}</text>",
            y(speed),
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(speed) + 4.0,
            y(speed) - 4.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{}\" fill=\"#555\">configurations, darker where they were measured in more rounds</text>",
        HEIGHT - 12.0
    );
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
