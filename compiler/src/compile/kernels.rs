//! The kernels of a file, each in a module of its own, on several threads.
//!
//! What comes out is in the order of the kernels and the same for any number of threads.

use super::STACK_BYTES;
use super::outcome::Outcome;
use super::run::{Reached, Run};
use crate::codegen::{Timings, join};
use crate::options::Options;
use cutec_frontend::Program;
use cutec_frontend::ast::Kernel;
use cutec_frontend::source::SourceMap;
use melior::Context;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Builder};

/// What a thread has done: PTX and outcome of the kernels with these numbers, and the times of its own.
type Share = (Vec<(usize, Option<String>, Outcome)>, Timings);

/// PTX of `kernels`. The calling thread works in `context`, each other one in a context of its own.
pub(super) fn compile(
    context: &Context,
    options: &Options,
    sources: &SourceMap,
    program: &Program,
    kernels: &[&Kernel],
    outcome: &mut Outcome,
) -> Option<String> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |context: &Context, timings: Timings| -> Share {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(kernel) = kernels.get(at) else {
                return (done, timings);
            };
            let mut run = Run::new(context, options, sources);
            let ptx = one(&mut run, program, kernel, &failed);
            done.push((at, ptx, run.outcome));
        }
    };
    let help = || {
        let mut timings = Timings::new();
        if next.load(Ordering::Relaxed) >= kernels.len() {
            return (Vec::new(), timings);
        }
        let context = timings.measure("set up MLIR", cutec_dialects::context);
        work(&context, timings)
    };
    let shares = thread::scope(|scope| {
        let helpers = (1..threads(options, kernels.len())).filter_map(|_| {
            let builder = Builder::new().stack_size(STACK_BYTES);
            // Where no thread is to be had, the others do its share.
            builder.spawn_scoped(scope, help).ok()
        });
        let helpers: Vec<_> = helpers.collect();
        let mut shares = vec![work(context, Timings::new())];
        for helper in helpers {
            shares.push(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        shares
    });
    let mut all = Vec::new();
    for (done, timings) in shares {
        outcome.timings.merge(&timings);
        all.extend(done);
    }
    all.sort_by_key(|(at, ..)| *at);
    let (texts, outcomes): (Vec<_>, Vec<_>) = all
        .into_iter()
        .map(|(_, ptx, outcome)| (ptx, outcome))
        .unzip();
    outcome.take(outcomes);
    let texts: Option<Vec<String>> = texts.into_iter().collect();
    let texts = texts?;
    Some(outcome.timings.measure("join", || join::join(&texts)))
}

/// PTX of one kernel. Once something is wrong with another, only what is wrong with this one is looked for, which
/// LLVM does not know.
fn one(
    run: &mut Run<'_, '_>,
    program: &Program,
    kernel: &Kernel,
    failed: &AtomicBool,
) -> Option<String> {
    let mut module = run.emit(program, &[kernel]);
    let reached = module.as_mut().and_then(|module| run.lower(module));
    match (module, reached) {
        (Some(_), Some(Reached::Asked(text))) => Some(text),
        (Some(module), Some(Reached::Llvm)) if !failed.load(Ordering::Relaxed) => {
            run.generate(module)
        }
        (Some(_), Some(Reached::Llvm)) => None,
        _ => {
            failed.store(true, Ordering::Relaxed);
            None
        }
    }
}

fn threads(options: &Options, kernels: usize) -> usize {
    let threads = match options.threads {
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    threads.min(kernels)
}
