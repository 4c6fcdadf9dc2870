//! Configurations on several threads.

use super::Request;
use super::launches::{Tuned, options};
use super::threads::{Count, on_threads};
use cutec::codegen::cubin::{CubinOptions, assemble};
use cutec::codegen::{CubinError, Timings};
use cutec::{Compiler, Diagnostics, Emit, FileLoader};
use cutec_runtime::abi::{KernelAbi, Resources};
use cutec_runtime::{Artifact, Code};
use cutec_tuning::Candidate;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Configurations that were compiled.
pub(super) struct Made {
    /// All of them, those that were asked for with their code.
    pub candidates: Vec<Candidate>,
    /// The PTX of these, of which the code is a cubin where it is assembled.
    pub ptx: Vec<Option<Arc<Artifact>>>,
}

/// The ABIs of all configurations, or the compiler's first message.
pub(super) fn abis(
    request: &Request<'_>,
    kernel: &Tuned,
    count: Count<'_>,
) -> Vec<Result<KernelAbi, String>> {
    let numbers: Vec<usize> = (0..kernel.space.configurations.len()).collect();
    compiled(request, &numbers, count, |compiler, number| {
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
) -> Made {
    let numbers: Vec<usize> = wanted.iter().copied().collect();
    let compiled = compiled(request, &numbers, count, |compiler, number| {
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
        let ptx = Arc::new(artifact);
        let code = match assembles {
            true => assembled(&ptx, &options)?,
            false => Arc::clone(&ptx),
        };
        Ok((code, ptx))
    });
    let configurations = kernel.space.configurations.iter().enumerate();
    let candidates = configurations.map(|(number, configuration)| Candidate {
        number,
        configuration: configuration.clone(),
        compiled: Err("it was not compiled".to_owned()),
    });
    let mut made = Made {
        candidates: candidates.collect(),
        ptx: vec![None; kernel.space.configurations.len()],
    };
    for (number, compiled) in numbers.into_iter().zip(compiled) {
        made.candidates[number].compiled = compiled.map(|(code, ptx)| {
            made.ptx[number] = Some(ptx);
            code
        });
    }
    made
}

/// The cubin of PTX with what the assembler says; the PTX itself where there is no assembler, for the driver's own.
fn assembled(artifact: &Arc<Artifact>, options: &cutec::Options) -> Result<Arc<Artifact>, String> {
    let Code::Ptx(ptx) = &artifact.code else {
        return Ok(Arc::clone(artifact));
    };
    let cubin = CubinOptions {
        arch: options.target.name.to_owned(),
        level: options.level.digit(),
        line_info: false,
    };
    let cubin = match assemble(ptx, &cubin, &mut Timings::new()) {
        Ok(cubin) => cubin,
        Err(CubinError::NoAssembler { .. }) => return Ok(Arc::clone(artifact)),
        Err(error) => return Err(error.to_string()),
    };
    let mut abi = artifact.abi.clone();
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
    Ok(Arc::new(Artifact { code, abi }))
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

/// Does something for each number, on several threads with a compiler each.
fn compiled<T: Send>(
    request: &Request<'_>,
    numbers: &[usize],
    count: Count<'_>,
    work: impl Fn(&Compiler, usize) -> Result<T, String> + Sync,
) -> Vec<Result<T, String>> {
    let threads = (request.threads, usize::MAX);
    let work = |compiler: &mut Compiler, number: &usize| work(compiler, *number);
    let results = on_threads(
        threads,
        &request.cancel,
        numbers,
        count,
        Compiler::new,
        work,
    );
    let lost = || Err("the compiler ended early".to_owned());
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(lost))
        .collect()
}
