//! What the assembler says of a warpgroup's products and registers, `(C7510)` and its kin, and what PTX has of local memory: as warnings at
//! lines of the source.
//!
//! ptxas keeps several `wgmma` under way only where nothing else touches their registers between `wgmma.fence` and
//! `wgmma.wait_group`. Elsewhere it waits behind each, which is several times slower and no error; and every `setmaxnreg` of
//! a kernel it drops where it does not know with how many registers the kernel begins, or where code behind one needs
//! more than that leaves. It says so as information, with the line in the
//! PTX, whose `.loc` names the line in the source.
use super::messages::{Message, Place, Severity};
use crate::passes::user_error::user_error;
use cutec_frontend::diagnostics::codes;

/// What the assembler said.
struct Advice<'a> {
    /// `7514` of `(C7514)`.
    code: u32,
    /// The line in the PTX, from 1 on.
    line: Option<u32>,
    /// The kernel.
    function: Option<&'a str>,
}

/// Warnings of a log of the assembler. `place` is where a kernel stands, for what names no line.
pub fn warnings(log: &str, ptx: &str, place: impl Fn(&str) -> Option<Place>) -> Vec<Message> {
    let mut found: Vec<Message> = Vec::new();
    for advice in log.lines().filter_map(advice) {
        let Some(text) = text(advice.code) else {
            continue;
        };
        // Of registers that do not suffice it names neither a line nor a kernel.
        let line = advice.line.or_else(|| match advice.code {
            7507 => line_of(ptx, "setmaxnreg."),
            _ => None,
        });
        let at = line.and_then(|line| place_of_line(ptx, line));
        let place = at.or_else(|| advice.function.and_then(&place));
        let message = Message {
            severity: Severity::Warning,
            place,
            text,
            notes: Vec::new(),
        };
        if !found.contains(&message) {
            found.push(message);
        }
    }
    found
}

/// Warnings at what a kernel reads of its stack: fragments that LLVM could not keep in registers.
pub fn local_memory(ptx: &str) -> Vec<Message> {
    const READ: &str = "ld.local.";
    let mut places: Vec<Option<(u32, u32, u32)>> = Vec::new();
    if ptx.contains(READ) {
        let mut here = None;
        for line in ptx.lines() {
            here = located(line).or(here);
            if line.trim_start().starts_with(READ) && !places.contains(&here) {
                places.push(here);
            }
        }
    }
    let message = |at: Option<(u32, u32, u32)>| Message {
        severity: Severity::Warning,
        place: at.and_then(|at| place_of(ptx, at)),
        text: user_error(
            codes::SLOW,
            "the fragment that is read here lies in local memory: its index is known only when the kernel runs, and registers have no addresses",
            "let the index be known while compiling: `static for`, or a loop between numbers; or keep what is to be looked up in shared memory",
        ),
        notes: Vec::new(),
    };
    places.into_iter().map(message).collect()
}

/// `ptxas info : (C7514) Potential Performance Loss: … in the function 'k' in line 12`
fn advice(line: &str) -> Option<Advice<'_>> {
    let (_, rest) = line.split_once("(C")?;
    let (code, rest) = rest.split_once(')')?;
    let code = code.parse().ok()?;
    let number = rest.split_once(" line ").map(|(_, rest)| rest);
    let number = number.and_then(|rest| {
        let digits = rest.split(|character: char| !character.is_ascii_digit());
        digits.into_iter().next()?.parse().ok()
    });
    let function = rest.split_once("function '").map(|(_, rest)| rest);
    let function = function
        .and_then(|rest| rest.split_once('\''))
        .map(|(name, _)| name);
    Some(Advice {
        code,
        line: number,
        function,
    })
}

/// The message and the help of a code; `None` for what is none of ours.
fn text(code: u32) -> Option<String> {
    let serialized = |why: &str, help: &str| {
        let message = format!(
            "the assembler waits behind each `wgmma` of this kernel, which is several times slower: {why} (ptxas C{code})"
        );
        user_error(codes::SLOW, message, help)
    };
    Some(match code {
        7507 => user_error(
            codes::SLOW,
            "the assembler ignores every change of the number of registers: a role needs more than it has been given (ptxas C7507)",
            "give the role more registers, or let its threads hold less: a smaller tile, fewer values at a time",
        ),
        7508 => user_error(
            codes::SLOW,
            "the assembler ignores the change of the number of registers: it does not know with how many the kernel begins (ptxas C7508)",
            "launch with a block of a size that is known, and `min_blocks(1)`",
        ),
        7509 | 7510 => serialized(
            "a function is called between `wgmma_fence()` and `wgmma_wait(n)`",
            "move `printf` and what else calls a function behind the wait",
        ),
        7511 | 7512 => serialized(
            "there are too few registers for the products under way, or what they write is written between them",
            "make the tile of a warpgroup smaller, or give it more registers: `warpgroup_reg_alloc<n>()`, fewer threads",
        ),
        7513 => serialized(
            "the registers of A are written while a product may read them",
            "write them before `wgmma_fence()`, or behind the wait for the product that reads them",
        ),
        7514 | 7515 => serialized(
            "an accumulator is touched while a product may write it",
            "touch accumulators before `wgmma_fence()` or behind `wgmma_wait(n)` only, with indices known while compiling",
        ),
        7516 | 7518 | 7519 => serialized(
            "fence and wait do not stand around the same products on every way through the kernel",
            "let `wgmma_fence()`, `gemm`, `wgmma_commit()` and `wgmma_wait(n)` stand in one block, under no condition that differs between threads",
        ),
        7517 => user_error(
            codes::SLOW,
            "the assembler puts a wait for `wgmma` here, which the program lacks (ptxas C7517)",
            "write `wgmma_fence()` before the first product of a group, and `wgmma_wait(n)` before what touches its accumulators",
        ),
        _ => return None,
    })
}

/// The first line of PTX, from 1 on, with an instruction.
fn line_of(ptx: &str, instruction: &str) -> Option<u32> {
    let mut lines = ptx.lines();
    let index = lines.position(|line| line.trim_start().starts_with(instruction))?;
    u32::try_from(index + 1).ok()
}

/// The place in the source of a line of PTX: what the last `.loc` before it says that names one.
fn place_of_line(ptx: &str, line: u32) -> Option<Place> {
    let before = ptx.lines().take(line as usize);
    place_of(ptx, before.filter_map(located).last()?)
}

/// What a `.loc` says that names a line: file, line and column.
fn located(line: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = line.trim_start().strip_prefix(".loc")?.split_whitespace();
    let mut next = || numbers.next()?.parse::<u32>().ok();
    let (file, line, column) = (next()?, next()?, next()?);
    (line > 0).then_some((file, line, column))
}

/// A place by the number of its file.
fn place_of(ptx: &str, (file, line, column): (u32, u32, u32)) -> Option<Place> {
    let name = ptx.lines().find_map(|line| {
        let (number, name) = line
            .trim_start()
            .strip_prefix(".file")?
            .trim_start()
            .split_once(' ')?;
        (number.trim().parse() == Ok(file)).then(|| name.trim().trim_matches('"').to_owned())
    })?;
    Some(Place {
        file: name,
        line,
        column,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\t.loc\t1 7 9\n\twgmma.fence.sync.aligned;\n\t.loc\t1 0 9\n\tadd.f32 %f1, %f1, %f2;\n\t.file\t1 \"a b.cute\"\n";

    fn kernel(name: &str) -> Option<Place> {
        Some(Place {
            file: name.to_owned(),
            line: 1,
            column: 1,
        })
    }

    #[test]
    fn what_names_a_line_becomes_a_warning_there() {
        let log = "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non wgmma instructions reading accumulator registers of  a wgmma between start and end of the pipeline stage in the function 'k' in line 4\nptxas info    : 0 bytes gmem\n";
        let found = warnings(log, PTX, kernel);
        let [message] = found.as_slice() else {
            panic!("{found:?}")
        };
        let place = message.place.as_ref().expect("a place");
        assert_eq!(
            (place.file.as_str(), place.line, place.column),
            ("a b.cute", 7, 9)
        );
        assert!(
            message.text.contains("an accumulator is touched"),
            "{}",
            message.text
        );
        assert!(message.text.ends_with(&format!("[{}]", codes::SLOW)));
    }

    #[test]
    fn what_names_none_stands_at_the_kernel_once() {
        let line = "ptxas info : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the function 'k'\n";
        let found = warnings(&line.repeat(2), PTX, kernel);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, kernel("k"));
    }

    #[test]
    fn registers_that_do_not_suffice_are_said_where_they_are_set() {
        let log = "ptxas info    : (C7507) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.\n";
        let ptx = PTX.replace("wgmma.fence", "setmaxnreg.dec");
        let found = warnings(log, &ptx, kernel);
        assert_eq!(found[0].place.as_ref().map(|place| place.line), Some(7));
        assert_eq!(warnings(log, PTX, kernel)[0].place, None);
    }

    #[test]
    fn a_wait_that_was_put_in_is_said_where_it_is() {
        let log = "ptxas info    : (C7517) wgmma.wait_group is injected in around line 2 by compiler to allow use of registers defined by GMMA in function 'k'\n";
        let found = warnings(log, PTX, kernel);
        assert_eq!(found[0].place.as_ref().map(|place| place.line), Some(7));
        assert!(warnings("ptxas info : Used 168 registers", PTX, kernel).is_empty());
        assert!(warnings("ptxas info : (C9999) something", PTX, kernel).is_empty());
    }

    #[test]
    fn what_is_read_of_the_stack_is_said_once() {
        let read = "\tld.local.b32\t%r1, [%r2];\n".repeat(2);
        let ptx = PTX.replace("\twgmma", &format!("{read}\twgmma"));
        let found = local_memory(&ptx);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].place.as_ref().map(|place| place.line), Some(7));
        assert_eq!(local_memory(PTX), []);
    }
}
