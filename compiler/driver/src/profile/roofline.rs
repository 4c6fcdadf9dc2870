//! The roofline of a launch: operations in a second over operations for each byte of memory.

use super::report::LaunchReport;

/// The places of a figure, in powers of two of the intensity.
const LOWEST: f64 = -4.0;
const HIGHEST: f64 = 12.0;

/// What a roofline shows.
pub struct Roofline {
    /// Operations for each byte.
    pub intensity: f64,
    /// Operations in a second that the slowest unit allows.
    pub bound: f64,
    /// Operations in a second that the machine has.
    pub peak: f64,
    /// Bytes in a second from memory.
    pub bandwidth: f64,
}

impl Roofline {
    /// The roofline of a launch that computes something.
    pub fn of(launch: &LaunchReport) -> Option<Self> {
        let (machine, bounds) = (launch.machine.as_ref()?, launch.bounds.as_ref()?);
        let slowest = bounds.units.first()?.seconds;
        (slowest > 0.0 && launch.flops > 0 && bounds.intensity > 0.0).then(|| Self {
            intensity: bounds.intensity,
            bound: launch.flops as f64 / slowest,
            peak: bounds.peak,
            bandwidth: machine.bandwidth(),
        })
    }

    /// Operations in a second under the roof at an intensity.
    fn roof(&self, intensity: f64) -> f64 {
        self.peak.min(intensity * self.bandwidth)
    }

    /// As characters.
    pub fn draw(&self) -> String {
        const WIDTH: usize = 64;
        const HEIGHT: usize = 10;
        let column = |intensity: f64| {
            let part = (intensity.log2() - LOWEST) / (HIGHEST - LOWEST);
            (part.clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize
        };
        let top = self.peak.log2();
        let row = |flops: f64| {
            let part = (top - flops.log2()) / 10.0;
            (part.clamp(0.0, 1.0) * (HEIGHT - 1) as f64).round() as usize
        };
        let mut cells = vec![vec![b' '; WIDTH]; HEIGHT];
        let columns = (0..WIDTH).map(|x| (x, x as f64 / (WIDTH - 1) as f64));
        for (x, part) in columns {
            let flops = self.roof((LOWEST + (HIGHEST - LOWEST) * part).exp2());
            cells[row(flops)][x] = if flops < self.peak { b'/' } else { b'-' };
        }
        cells[row(self.bound)][column(self.intensity)] = b'X';
        let mut text = String::new();
        for (y, cells) in cells.iter().enumerate() {
            let label = match y {
                0 => rate(self.peak),
                _ if y == HEIGHT - 1 => rate((top - 10.0).exp2()),
                _ => String::new(),
            };
            let cells = String::from_utf8_lossy(cells);
            text.push_str(&format!("  {label:>13} |{}\n", cells.trim_end()));
        }
        text.push_str(&format!("  {:>13} +{}\n", "", "-".repeat(WIDTH)));
        text.push_str(&format!(
            "  {:>14} 1/16{:>59}\n",
            "", "4096 operations for each byte"
        ));
        text
    }

    /// As SVG.
    pub fn svg(&self) -> String {
        let (width, height, left, bottom) = (560.0, 260.0, 70.0, 30.0);
        let top = self.peak.log2().ceil() + 1.0;
        let x = |intensity: f64| {
            let part = (intensity.log2() - LOWEST) / (HIGHEST - LOWEST);
            left + part.clamp(0.0, 1.0) * (width - left - 10.0)
        };
        let y = |flops: f64| {
            let part = (top - flops.log2()) / 14.0;
            part.clamp(0.0, 1.0) * (height - bottom)
        };
        let ridge = self.peak / self.bandwidth;
        let lowest = LOWEST.exp2();
        let mut svg = format!(
            "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"Roofline\">"
        );
        svg.push_str(&format!(
            "<polyline class=\"roof\" points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\"/>",
            x(lowest),
            y(self.roof(lowest)),
            x(ridge),
            y(self.peak),
            x(HIGHEST.exp2()),
            y(self.peak)
        ));
        svg.push_str(&format!(
            "<line class=\"axis\" x1=\"{left}\" y1=\"0\" x2=\"{left}\" y2=\"{0}\"/>\
             <line class=\"axis\" x1=\"{left}\" y1=\"{0}\" x2=\"{width}\" y2=\"{0}\"/>",
            height - bottom
        ));
        for power in [-4, -2, 0, 2, 4, 6, 8, 10, 12] {
            let value = f64::from(power).exp2();
            svg.push_str(&format!(
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>",
                x(value),
                height - 12.0
            ));
        }
        svg.push_str(&format!(
            "<text x=\"4\" y=\"{:.1}\">{}</text><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">operations for each byte</text>",
            y(self.peak) + 4.0,
            rate(self.peak),
            width - 4.0,
            height - 1.0
        ));
        svg.push_str(&format!(
            "<circle class=\"point\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text></svg>",
            x(self.intensity),
            y(self.bound),
            x(self.intensity) + 8.0,
            y(self.bound) + 14.0,
            rate(self.bound)
        ));
        svg
    }
}

/// `312 TFLOP/s`
pub fn rate(flops: f64) -> String {
    for (unit, name) in [(1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s")] {
        if flops >= unit {
            return format!("{:.3} {name}", Short(flops / unit));
        }
    }
    format!("{flops:.0} FLOP/s")
}

/// A number in three digits or so.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            value if value >= 100.0 => write!(f, "{value:.0}"),
            value if value >= 10.0 => write!(f, "{value:.1}"),
            value => write!(f, "{value:.2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roofline(intensity: f64, bound: f64) -> Roofline {
        Roofline {
            intensity,
            bound,
            peak: 312e12,
            bandwidth: 2.039e12,
        }
    }

    #[test]
    fn the_point_stands_under_the_roof() {
        let drawing = roofline(341.0, 200e12).draw();
        let lines: Vec<&str> = drawing.lines().collect();
        assert!(
            lines[0].trim_start().starts_with("312 TFLOP/s |"),
            "{drawing}"
        );
        assert!(
            lines[0].ends_with("--") && drawing.contains('X'),
            "{drawing}"
        );
        assert_eq!(drawing.matches('X').count(), 1);
        assert!(roofline(0.25, 1e9).svg().contains("<circle"));
    }

    #[test]
    fn rates_have_units() {
        assert_eq!(rate(312e12), "312 TFLOP/s");
        assert_eq!(rate(1.5e9), "1.50 GFLOP/s");
        assert_eq!(rate(10.0), "10 FLOP/s");
    }
}
