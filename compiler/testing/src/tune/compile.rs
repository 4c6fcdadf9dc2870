//! Configurations on several threads.

use super::Request;
use super::launches::{Tuned, options};
use cutec::codegen::cubin::{CubinOptions, assemble};
use cutec::codegen::{CubinError, Timings};
use cutec::{Compiler, Diagnostics, Emit, FileLoader};
use cutec_runtime::abi::{KernelAbi, Resources};
use cutec_runtime::{Artifact, Code};
use cutec_tuning::Candidate;
use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};

/// What is told of the progress: so many of so many.
type Count<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The ABIs of all configurations, or the compiler's first message.
pub(super) fn abis(
    request: &Request<'_>,
    kernel: &Tuned,
    count: Count<'_>,
) -> Vec<Result<KernelAbi, String>> {
    let numbers: Vec<usize> = (0..kernel.space.configurations.len()).collect();
    on_threads(request.threads, &numbers, count, |compiler, number| {
        let options = options(request, &kernel.kernel, &defines(kernel, number), Emit::Abi);
        let compiled = compiler.compile(request.source, &FileLoader, &options);
        let abi = compiled.map_err(|error| first_message(&error))?.abi;
        let abi = abi.and_then(|abi| abi.kernel(&kernel.kernel).cloned());
        abi.ok_or_else(|| "it has no kernel ABI".to_owned())
    })
}

/// All configurations, those of `wanted` with their code.
pub(super) fn code(
    request: &Request<'_>,
    kernel: &Tuned,
    wanted: &BTreeSet<usize>,
    assembles: bool,
    count: Count<'_>,
) -> Vec<Candidate> {
    let numbers: Vec<usize> = wanted.iter().copied().collect();
    let compiled = on_threads(request.threads, &numbers, count, |compiler, number| {
        let options = options(request, &kernel.kernel, &defines(kernel, number), Emit::Ptx);
        let artifact = match request.cache {
            Some(cache) => {
                let cached = cache.ptx_with(request.source, &FileLoader, &options);
                cached.map_err(|error| message_of(&error))?.artifact
            }
            None => {
                let compiled = compiler.compile(request.source, &FileLoader, &options);
                let compiled = compiled.map_err(|error| first_message(&error))?;
                compiled.artifact().map_err(|error| error.to_string())?
            }
        };
        match assembles {
            true => assembled(artifact, &options),
            false => Ok(artifact),
        }
    });
    let mut code: Vec<Option<Result<Artifact, String>>> = Vec::new();
    code.resize_with(kernel.space.configurations.len(), || None);
    for (number, compiled) in numbers.into_iter().zip(compiled) {
        code[number] = Some(compiled);
    }
    let numbered = code.into_iter().enumerate();
    let candidates = numbered.map(|(number, code)| Candidate {
        number,
        configuration: kernel.space.configurations[number].clone(),
        compiled: match code {
            Some(compiled) => compiled.map(Into::into),
            None => Err("it was not compiled".to_owned()),
        },
    });
    candidates.collect()
}

/// The cubin of PTX with what the assembler says; the PTX itself where there is no assembler, for the driver's own.
fn assembled(artifact: Artifact, options: &cutec::Options) -> Result<Artifact, String> {
    let Code::Ptx(ptx) = &artifact.code else {
        return Ok(artifact);
    };
    let cubin = CubinOptions {
        arch: options.target.name.to_owned(),
        level: options.level.digit(),
        line_info: false,
    };
    let cubin = match assemble(ptx, &cubin, &mut Timings::new()) {
        Ok(cubin) => cubin,
        Err(CubinError::NoAssembler { .. }) => return Ok(artifact),
        Err(error) => return Err(error.to_string()),
    };
    let mut abi = artifact.abi;
    for kernel in &mut abi.kernels {
        let said = cubin.kernels.iter().find(|said| said.entry == kernel.entry);
        kernel.resources = said.map(|said| Resources {
            registers: said.registers,
            spill_stores: said.spill_stores,
            spill_loads: said.spill_loads,
            static_smem: said.shared,
        });
    }
    let code = Code::Cubin(cubin.bytes);
    Ok(Artifact { code, abi })
}

/// The fixed parameters and those of a configuration.
fn defines(kernel: &Tuned, number: usize) -> Vec<(String, String)> {
    let configuration = &kernel.space.configurations[number];
    kernel.fixed.iter().chain(configuration).cloned().collect()
}

fn first_message(error: &Diagnostics) -> String {
    let problem = error.problems.iter().find(|problem| problem.is_error());
    match (problem, error.failures.first()) {
        (Some(problem), _) => format!("{} {}", problem.code, problem.message),
        (None, Some(failure)) => failure.to_string(),
        (None, None) => "no reason is known".to_owned(),
    }
}

fn message_of(error: &cutec::CacheError) -> String {
    match error {
        cutec::CacheError::Source(error) => first_message(error),
        cutec::CacheError::Artifact(error) => error.to_string(),
    }
}

/// Does something for each number, on several threads with a compiler each; results are in the order of the numbers.
fn on_threads<T: Send>(
    threads: usize,
    numbers: &[usize],
    count: Count<'_>,
    work: impl Fn(&Compiler, usize) -> Result<T, String> + Sync,
) -> Vec<Result<T, String>> {
    let processors = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = match threads {
        0 => processors(),
        threads => threads,
    };
    let threads = threads.clamp(1, numbers.len().max(1));
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut slots: Vec<Option<Result<T, String>>> = Vec::new();
    slots.resize_with(numbers.len(), || None);
    let slots = Mutex::new(slots);
    let share = || {
        let compiler = Compiler::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(number) = numbers.get(at) else {
                return;
            };
            let result = work(&compiler, *number);
            let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots[at] = Some(result);
            drop(slots);
            count(done.fetch_add(1, Ordering::Relaxed) + 1, numbers.len());
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where no thread is to be had, the others do its share.
            let _ = Builder::new().spawn_scoped(scope, share);
        }
        share();
    });
    let slots = slots.into_inner().unwrap_or_else(PoisonError::into_inner);
    let lost = || Err("the compiler ended early".to_owned());
    slots
        .into_iter()
        .map(|slot| slot.unwrap_or_else(lost))
        .collect()
}
