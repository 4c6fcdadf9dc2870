//! From the PTX of all kernels to what was asked for.

use super::outcome::{Outcome, Step};
use crate::codegen::listing::listing;
use crate::codegen::messages::Place;
use crate::codegen::{
    Cubin, CubinOptions, KernelResources, Message, Severity, advice, cubin, sass,
};
use crate::compiled::Content;
use crate::options::{Emit, Options};
use crate::report;
use cutec_abi::{Resources, embed};
use cutec_frontend::source::SourceMap;
use cutec_runtime::Abi;

/// PTX with the kernel ABI in front, a cubin, or its SASS.
pub(super) fn assemble(
    ptx: &str,
    options: &Options,
    sources: &SourceMap,
    outcome: &mut Outcome,
) -> Option<Content> {
    let abi = outcome.abi.get_or_insert_with(|| Abi::new(Vec::new()));
    if options.emit == Emit::Ptx {
        return Some(Content::Text(embed(ptx, abi)));
    }
    let cubin_options = CubinOptions {
        arch: options.target.name.to_owned(),
        level: options.level.digit(),
        line_info: options.line_info,
    };
    let cubin = match cubin::assemble(ptx, &cubin_options, &mut outcome.timings) {
        Ok(cubin) => cubin,
        Err(error) => return outcome.fail(Step::Assemble, error),
    };
    record_resources(abi, &cubin);
    let mut said = spills(&cubin, &outcome.places);
    let place = |entry: &str| place_of(entry, &outcome.places);
    said.extend(advice::warnings(&cubin.log, ptx, place));
    let placed = said
        .iter()
        .filter_map(|message| report::diagnostic(message, sources));
    outcome.say(Step::Assemble, placed);
    if options.emit == Emit::Cubin {
        return Some(Content::Binary(cubin.bytes));
    }
    let disassembled = outcome
        .timings
        .measure("disassemble", || sass::disassemble(&cubin.bytes));
    match disassembled {
        Ok(text) => {
            let line = |file: &str, number: u32| source_line(sources, file, number);
            Some(Content::Text(listing(&text, line)))
        }
        Err(error) => outcome.fail(Step::Assemble, error),
    }
}

/// The text of a line, of files that are at hand.
fn source_line(sources: &SourceMap, file: &str, number: u32) -> Option<String> {
    let text = sources.file(sources.find(file)?).text();
    let line = text.lines().nth(number.checked_sub(1)? as usize)?;
    Some(line.to_owned())
}

/// What the assembler had no registers for, as warnings at the kernels.
fn spills(cubin: &Cubin, places: &[(String, Option<Place>)]) -> Vec<Message> {
    let spilling = |kernel: &&KernelResources| kernel.spill_stores + kernel.spill_loads > 0;
    let message = |kernel: &KernelResources| Message {
        severity: Severity::Warning,
        place: place_of(&kernel.entry, places),
        text: format!(
            "each thread stores {} bytes to local memory and loads {}, for lack of registers: it has {}",
            kernel.spill_stores, kernel.spill_loads, kernel.registers
        ),
        notes: Vec::new(),
    };
    cubin.kernels.iter().filter(spilling).map(message).collect()
}

/// Where a kernel stands.
fn place_of(entry: &str, places: &[(String, Option<Place>)]) -> Option<Place> {
    let kernel = places.iter().find(|(name, _)| name == entry);
    kernel.and_then(|(_, place)| place.clone())
}

/// Puts what the assembler reported into the ABI.
fn record_resources(abi: &mut Abi, cubin: &Cubin) {
    for kernel in &mut abi.kernels {
        let found = cubin
            .kernels
            .iter()
            .find(|resources| resources.entry == kernel.entry);
        kernel.resources = found.map(|resources| Resources {
            registers: resources.registers,
            spill_stores: resources.spill_stores,
            spill_loads: resources.spill_loads,
            static_smem: resources.shared,
        });
    }
}
