//! What is known about one launch: counts by line of the source, what the kernel takes of an SM, what
//! limits it.

use cutec::Options;
use cutec::codegen::cubin::{self, CubinOptions};
use cutec::codegen::{KernelResources, Timings};
use cutec_frontend::source::SourceMap;
use cutec_runtime::sim::Profile;
use cutec_runtime::sim::profile::bound::Bounds;
use cutec_runtime::sim::profile::machine::{Machine, Occupancy};
use cutec_runtime::sim::profile::{Class, Counts};
use cutec_runtime::{Artifact, Code};
use serde::Serialize;

/// One launch.
#[derive(Debug, Serialize)]
pub struct LaunchReport {
    /// The kernel.
    pub kernel: String,
    /// Its compile-time parameters, as far as they were set.
    pub defines: Vec<(String, String)>,
    /// What it was compiled for.
    pub target: String,
    /// A GPU of this target.
    pub machine: Option<Machine>,
    /// What ptxas says; nothing where there is none.
    pub resources: Option<Resources>,
    /// Blocks that an SM holds.
    pub occupancy: Option<Occupancy>,
    /// What limits it on that GPU.
    pub bounds: Option<Bounds>,
    /// Sums over the launch.
    pub total: Counts,
    /// Instructions by class.
    pub mix: Vec<(Class, u64)>,
    /// Floating-point operations.
    pub flops: u64,
    /// The files that its code comes from.
    pub files: Vec<File>,
    /// All counts.
    pub profile: Profile,
}

/// Registers and spills.
#[derive(Debug, Clone, Serialize)]
pub struct Resources {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of spill stores of a thread.
    pub spill_stores: u32,
    /// Bytes of spill loads of a thread.
    pub spill_loads: u32,
}

/// A file with what its lines cost.
#[derive(Debug, Serialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// The lines from the first that costs something to the last.
    pub lines: Vec<Line>,
}

/// A line of the source.
#[derive(Debug, Serialize)]
pub struct Line {
    /// Its number, from 1.
    pub number: u32,
    /// As written.
    pub text: String,
    /// Of all instructions that warps executed, the part that comes from here.
    pub share: f64,
    /// What its instructions did.
    pub counts: Counts,
    /// Why its accesses are slower than they could be; each once.
    pub remarks: Vec<String>,
}

impl LaunchReport {
    /// Gathers it.
    pub fn new(
        profile: Profile,
        defines: Vec<(String, String)>,
        artifact: &Artifact,
        sources: &SourceMap,
        options: &Options,
    ) -> Self {
        let target = options.target.name;
        let machine = Machine::of(target).copied();
        let resources = resources(artifact, &profile.entry, options);
        let threads = profile.block.iter().product();
        let registers = resources.as_ref().map(|resources| resources.registers);
        let total = profile.total();
        Self {
            kernel: profile.entry.clone(),
            defines,
            target: target.to_owned(),
            machine,
            resources,
            occupancy: machine.map(|m| m.occupancy(threads, registers, profile.shared_bytes)),
            bounds: machine.map(|machine| Bounds::of(&profile, &machine)),
            mix: profile.mix(),
            flops: profile.flops(),
            files: files(&profile, &total, sources),
            total,
            profile,
        }
    }

    /// The kernel with its compile-time parameters.
    pub fn title(&self) -> String {
        let pairs = self.defines.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        match pairs.is_empty() {
            true => self.kernel.clone(),
            false => format!("{}<{}>", self.kernel, pairs.join(", ")),
        }
    }
}

/// What ptxas makes of the kernel, where there is a ptxas.
fn resources(artifact: &Artifact, entry: &str, options: &Options) -> Option<Resources> {
    let Code::Ptx(ptx) = &artifact.code else {
        return None;
    };
    let cubin_options = CubinOptions {
        arch: options.target.name.to_owned(),
        level: options.level.digit(),
        line_info: false,
    };
    let cubin = cubin::assemble(ptx, &cubin_options, &mut Timings::default()).ok()?;
    let of_entry = |kernel: &&KernelResources| kernel.entry == entry;
    let kernel = cubin.kernels.iter().find(of_entry)?;
    Some(Resources {
        registers: kernel.registers,
        spill_stores: kernel.spill_stores,
        spill_loads: kernel.spill_loads,
    })
}

fn files(profile: &Profile, total: &Counts, sources: &SourceMap) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for instruction in &profile.instructions {
        let Some(source) = instruction.source.as_ref().filter(|source| source.line > 0) else {
            continue;
        };
        let file = match files.iter().position(|file| file.name == source.file) {
            Some(at) => &mut files[at],
            None => {
                files.push(File {
                    name: source.file.clone(),
                    lines: Vec::new(),
                });
                let last = files.len() - 1;
                &mut files[last]
            }
        };
        let at = match file.lines.binary_search_by_key(&source.line, |l| l.number) {
            Ok(at) => at,
            Err(at) => {
                let line = Line {
                    number: source.line,
                    text: String::new(),
                    share: 0.0,
                    counts: Counts::default(),
                    remarks: Vec::new(),
                };
                file.lines.insert(at, line);
                at
            }
        };
        let line = &mut file.lines[at];
        line.counts.add(&instruction.counts);
        let reasons = [&instruction.conflict, &instruction.uncoalesced];
        for reason in reasons.into_iter().flatten() {
            // One line makes many like instructions.
            if !line.remarks.contains(reason) && line.remarks.len() < 2 {
                line.remarks.push(reason.clone());
            }
        }
    }
    for file in &mut files {
        complete(file, total, sources);
    }
    files
}

/// Fills in the text, and the lines between.
fn complete(file: &mut File, total: &Counts, sources: &SourceMap) {
    let (Some(first), Some(last)) = (file.lines.first(), file.lines.last()) else {
        return;
    };
    let (first, last) = (first.number, last.number);
    let text = sources.find(&file.name).map(|id| sources.file(id).text());
    let mut texts = text.into_iter().flat_map(|text| text.lines());
    let mut counted = std::mem::take(&mut file.lines).into_iter().peekable();
    for _ in 1..first {
        texts.next();
    }
    for number in first..=last {
        let mut line = match counted.next_if(|line| line.number == number) {
            Some(line) => line,
            None => Line {
                number,
                text: String::new(),
                share: 0.0,
                counts: Counts::default(),
                remarks: Vec::new(),
            },
        };
        line.text = texts.next().unwrap_or_default().to_owned();
        line.share = line.counts.executed as f64 / (total.executed.max(1) as f64);
        file.lines.push(line);
    }
}
