//! What a disassembler writes, as a listing to read: for each kernel its name, then its instructions and labels, and
//! beside the first instruction of each line of the source that line. Sections of debug information, tables of the
//! driver and encodings are left out.
//!
//! Reads `nvdisasm -c -g`, which says before instructions where they come from, and `cuobjdump -sass`, which does not:
//!
//! ```text
//! relu:                                                        Function : relu
//!     //## File "relu.cute", line 11
//!     /*0010*/    S2UR UR4, SR_CTAID.X ;              /*0010*/    S2UR UR4, SR_CTAID.X ;    /* 0x00000000000479c3 */
//! ```

use std::fmt::Write;

/// The column that lines of the source stand at.
const SOURCE_COLUMN: usize = 72;

/// The listing of a disassembler's text; `line` gives the text of a line of a file. What has no instructions is given
/// back as it is.
pub fn listing(disassembly: &str, line: impl Fn(&str, u32) -> Option<String>) -> String {
    let mut listing = String::new();
    // Where the next instructions come from, and whether that was said.
    let mut place: Option<(&str, u32)> = None;
    let mut said = None;
    let mut instructions = 0;
    for text in disassembly.lines().map(str::trim) {
        if let Some(found) = source_place(text) {
            place = Some(found);
        } else if let Some(name) = function(text) {
            let gap = if listing.is_empty() { "" } else { "\n" };
            let _ = writeln!(listing, "{gap}{name}:");
            (place, said) = (None, None);
        } else if text.starts_with(".L_") && text.ends_with(':') {
            let _ = writeln!(listing, "{text}");
        } else if let Some((address, instruction)) = instruction(text) {
            instructions += 1;
            let text = format!("  /*{address}*/  {instruction}");
            match place.filter(|_| place != said) {
                Some((file, number)) => {
                    let source = line(file, number).unwrap_or_default();
                    let source = source.trim();
                    let file = file.rsplit('/').next().unwrap_or(file);
                    let text = format!("{text:SOURCE_COLUMN$} // {file}:{number}  {source}");
                    let _ = writeln!(listing, "{}", text.trim_end());
                }
                None => {
                    let _ = writeln!(listing, "{text}");
                }
            }
            said = place;
        }
    }
    match instructions {
        0 => disassembly.to_owned(),
        _ => listing,
    }
}

/// `//## File "relu.cute", line 11`
fn source_place(text: &str) -> Option<(&str, u32)> {
    let rest = text.strip_prefix("//## File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((file, digits.parse().ok()?))
}

/// `relu:` or `Function : relu`
fn function(text: &str) -> Option<&str> {
    if let Some(name) = text.strip_prefix("Function : ") {
        return Some(name);
    }
    let name = text.strip_suffix(':')?;
    let symbol = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    (!name.is_empty() && name.chars().all(symbol)).then_some(name)
}

/// `/*0010*/  S2UR UR4, SR_CTAID.X ;`, with the encoding behind it or without.
fn instruction(text: &str) -> Option<(&str, &str)> {
    let (address, rest) = text.strip_prefix("/*")?.split_once("*/")?;
    if address.is_empty() || !address.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let instruction = rest.split("/*").next()?.trim();
    instruction.ends_with(';').then_some((address, instruction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_stand_beside_the_lines_that_they_come_from() {
        let text = r#"
	.target	sm_80

//--------------------- .text.relu                --------------------------
	.section	.text.relu,"ax",@progbits
	.align	128
        .global         relu
        .type           relu,@function
relu:
.text.relu:
	//## File "examples/relu.cute", line 4
        /*0000*/                   MOV R1, c[0x0][0x28] ;
	//## File "examples/relu.cute", line 11
        /*0010*/                   S2UR UR4, SR_CTAID.X ;
        /*0020*/                   S2R R3, SR_TID.X ;
.L_x_1:
	//## File "other.cute", line 2
        /*0030*/              @!P0 BRA `(.L_x_1) ;
"#;
        let line = |file: &str, line: u32| {
            let known = file == "examples/relu.cute";
            known.then(|| format!("    line {line};"))
        };
        let pad = |text: &str| format!("{text:SOURCE_COLUMN$}");
        let expected = [
            "relu:".to_owned(),
            pad("  /*0000*/  MOV R1, c[0x0][0x28] ;") + " // relu.cute:4  line 4;",
            pad("  /*0010*/  S2UR UR4, SR_CTAID.X ;") + " // relu.cute:11  line 11;",
            "  /*0020*/  S2R R3, SR_TID.X ;".to_owned(),
            ".L_x_1:".to_owned(),
            pad("  /*0030*/  @!P0 BRA `(.L_x_1) ;") + " // other.cute:2",
        ];
        assert_eq!(listing(text, line), expected.join("\n") + "\n");
    }

    #[test]
    fn another_disassembler_has_encodings_and_no_places() {
        let text = "
	code for sm_80
		Function : one
	.headerflags	@\"EF_CUDA_SM80\"
        /*0000*/                   EXIT ;      /* 0x000000000000794d */
                                               /* 0x000fea0003800000 */
		..........
		Function : two
        /*0000*/                   EXIT ;      /* 0x000000000000794d */
";
        let expected = "one:\n  /*0000*/  EXIT ;\n\ntwo:\n  /*0000*/  EXIT ;\n";
        assert_eq!(listing(text, |_, _| None), expected);
        assert_eq!(listing("nothing known\n", |_, _| None), "nothing known\n");
    }
}
