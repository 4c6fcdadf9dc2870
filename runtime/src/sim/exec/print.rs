//! `vprintf`: what a thread prints goes to the output of the launch, a call at a time.

use super::access::resolve;
use super::cta::Cta;
use super::shared::value;
use super::warp::Warp;
use super::{Fault, fault_at};
use crate::sim::Space;
use crate::sim::error::{Access, ErrorKind};
use crate::sim::lane::{Src, lanes};

/// Bytes of a text that a kernel may print at once; more has lost its end.
const LONGEST: u64 = 1 << 16;

/// One conversion of a text: `%-8.3lld`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternative: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
    kind: u8,
}

impl Conversion {
    /// The conversion behind a `%`, and how many bytes it takes.
    fn parse(text: &[u8]) -> (Conversion, usize) {
        let mut conversion = Conversion::default();
        let mut at = 0;
        while let Some(flag) = text.get(at) {
            match flag {
                b'-' => conversion.left = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternative = true,
                b'0' => conversion.zeros = true,
                _ => break,
            }
            at += 1;
        }
        let number = |at: &mut usize| {
            let mut number = 0usize;
            while let Some(digit) = text.get(*at).filter(|digit| digit.is_ascii_digit()) {
                number = (10 * number + usize::from(digit - b'0')).min(1 << 12);
                *at += 1;
            }
            number
        };
        conversion.width = number(&mut at);
        if text.get(at) == Some(&b'.') {
            at += 1;
            conversion.precision = Some(number(&mut at));
        }
        while text.get(at) == Some(&b'l') {
            conversion.long = true;
            at += 1;
        }
        conversion.kind = text.get(at).copied().unwrap_or(0);
        (conversion, at + 1)
    }

    fn is_float(&self) -> bool {
        matches!(self.kind, b'f' | b'F' | b'e' | b'E' | b'g' | b'G')
    }

    /// Bytes of its argument.
    fn bytes(&self) -> u32 {
        if self.long || self.is_float() { 8 } else { 4 }
    }

    fn format(&self, bits: u64) -> String {
        let signed = if self.long {
            bits as i64
        } else {
            i64::from(bits as u32 as i32)
        };
        let unsigned = if self.long { bits } else { bits & 0xffff_ffff };
        let prefix = |text: &'static str| if self.alternative { text } else { "" };
        let (sign, digits) = match self.kind {
            b'd' | b'i' => (self.sign(signed < 0), signed.unsigned_abs().to_string()),
            b'u' => ("", unsigned.to_string()),
            b'x' => (prefix("0x"), format!("{unsigned:x}")),
            b'X' => (prefix("0X"), format!("{unsigned:X}")),
            b'o' => (prefix("0"), format!("{unsigned:o}")),
            b'c' => ("", char::from(bits as u8).to_string()),
            _ => {
                let number = f64::from_bits(bits);
                (
                    self.sign(number.is_sign_negative()),
                    self.float(number.abs()),
                )
            }
        };
        let digits = match self.precision {
            Some(precision) if !self.is_float() => format!("{digits:0>precision$}"),
            _ => digits,
        };
        let fill = self
            .width
            .saturating_sub(sign.len() + digits.chars().count());
        if self.left {
            format!("{sign}{digits}{}", " ".repeat(fill))
        } else if self.zeros && !digits.contains(['n', 'N']) {
            format!("{sign}{}{digits}", "0".repeat(fill))
        } else {
            format!("{}{sign}{digits}", " ".repeat(fill))
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (.., true) => " ",
            _ => "",
        }
    }

    /// A number without its sign.
    fn float(&self, number: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = match self.kind {
            _ if number.is_nan() => "nan".to_owned(),
            _ if number.is_infinite() => "inf".to_owned(),
            b'f' | b'F' => format!("{number:.precision$}"),
            b'e' | b'E' => exponential(number, precision),
            _ => {
                // As C has it: the exponent decides, and zeros at the end go.
                let precision = precision.max(1);
                let scientific = exponential(number, precision - 1);
                let exponent = scientific
                    .split_once('e')
                    .and_then(|(_, e)| e.parse::<i32>().ok());
                let exponent = exponent.unwrap_or(0);
                let (body, tail) = match (-4..precision as i32).contains(&exponent) {
                    true => {
                        let digits = (precision as i32 - 1 - exponent).max(0) as usize;
                        (format!("{number:.digits$}"), String::new())
                    }
                    false => match scientific.split_once('e') {
                        Some((body, tail)) => (body.to_owned(), format!("e{tail}")),
                        None => (scientific, String::new()),
                    },
                };
                match body.contains('.') && !self.alternative {
                    true => format!("{}{tail}", body.trim_end_matches('0').trim_end_matches('.')),
                    false => format!("{body}{tail}"),
                }
            }
        };
        match self.kind {
            b'F' | b'E' | b'G' => text.to_uppercase(),
            _ => text,
        }
    }
}

/// `1.5e+00`: an exponent of a sign and at least two digits.
fn exponential(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (body, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{body}e{sign}{:02}", exponent.unsigned_abs())
}

impl Warp {
    /// Prints for each lane, in their order.
    pub(super) fn print(
        &mut self,
        cta: &mut Cta<'_>,
        text: Src,
        arguments: Src,
        mask: u32,
    ) -> Result<(), Fault> {
        let (texts, arguments) = (
            self.registers.wides_of(text),
            self.registers.wides_of(arguments),
        );
        for lane in lanes(mask) {
            let line = self
                .line(cta, lane, texts[lane], arguments[lane])
                .map_err(fault_at(lane))?;
            if let Some(progress) = &cta.launch.options.progress {
                progress.make_way();
            }
            cta.launch.options.output.write(&line);
        }
        Ok(())
    }

    fn line(
        &self,
        cta: &Cta<'_>,
        lane: usize,
        text: u64,
        arguments: u64,
    ) -> Result<Vec<u8>, ErrorKind> {
        let mut format = Vec::new();
        for at in 0..LONGEST {
            match self.read_generic(cta, lane, text.wrapping_add(at), 1)? as u8 {
                0 => break,
                byte => format.push(byte),
            }
        }
        let (mut line, mut at, mut argument) = (Vec::new(), 0, arguments);
        while let Some(&byte) = format.get(at) {
            at += 1;
            if byte != b'%' {
                line.push(byte);
                continue;
            }
            if format.get(at) == Some(&b'%') {
                line.push(b'%');
                at += 1;
                continue;
            }
            let (conversion, length) = Conversion::parse(&format[at..]);
            at += length;
            let bytes = conversion.bytes();
            argument = argument.next_multiple_of(u64::from(bytes));
            let bits = self.read_generic(cta, lane, argument, bytes)?;
            argument += u64::from(bytes);
            line.extend(conversion.format(bits).into_bytes());
        }
        Ok(line)
    }

    /// Reads at a generic address.
    fn read_generic(
        &self,
        cta: &Cta<'_>,
        lane: usize,
        address: u64,
        bytes: u32,
    ) -> Result<u64, ErrorKind> {
        match resolve(Space::Generic, address) {
            (Space::Global, at) => Ok(cta.global(at, bytes, Access::Read)?.load(bytes)),
            (Space::Local, at) => match self.local.get(lane) {
                Some(local) => local.read(at, bytes).map(value),
                None => Err(super::access::no_local(at, bytes, Access::Read)),
            },
            (Space::Shared, at) => cta.shared.read(at, bytes).map(value),
            (_, at) => cta.launch.params.read(at, bytes).map(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Conversion;

    #[test]
    fn numbers_look_as_c_prints_them() {
        let format = |text: &str, bits: u64| {
            let (conversion, length) = Conversion::parse(text.as_bytes());
            assert_eq!(length, text.len());
            conversion.format(bits)
        };
        let float = |text: &str, number: f64| format(text, number.to_bits());
        assert_eq!(format("d", -5i32 as u32 as u64), "-5");
        assert_eq!(format("5d", 42), "   42");
        assert_eq!(format("-5d", 42), "42   ");
        assert_eq!(format("05d", -42i32 as u32 as u64), "-0042");
        assert_eq!(format("u", u64::from(u32::MAX)), "4294967295");
        assert_eq!(format("#x", 255), "0xff");
        assert_eq!(format("lld", -1i64 as u64), "-1");
        assert_eq!(format("c", 65), "A");
        assert_eq!(float("f", 1.5), "1.500000");
        assert_eq!(float("+8.2f", 3.144), "   +3.14");
        assert_eq!(float("e", 12345.678), "1.234568e+04");
        assert_eq!(float("g", 0.0001), "0.0001");
        assert_eq!(float("g", 1e-5), "1e-05");
        assert_eq!(float("g", 100000.0), "100000");
        assert_eq!(float("g", 1e6), "1e+06");
        assert_eq!(float("g", 0.5), "0.5");
        assert_eq!(float("5.1f", f64::NAN), "  nan");
    }
}
