//! What is wrong with `test` and `bench` blocks before any kernel runs, for editors and `cutec check`.

use super::interpret::Interpreter;
use super::launch::{
    KernelCall, Key, LaunchArgument, Launcher, at_argument, compiled_with, options_of, refused,
    refused_by,
};
use super::problem::Stop;
use super::program;
use cutec::{Compiler, Emit, Options, Source};
use cutec_frontend::ast::ItemKind;
use cutec_frontend::diagnostics::Diagnostic;
use cutec_frontend::source::SourceLoader;
use cutec_runtime::DType;
use cutec_runtime::abi::{Abi, Arg, ArgAbi, KernelAbi, ScalarValue};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// What is wrong with the blocks of `source` itself, not of what it imports. `known` is the ABI of its kernels with their
/// defaults, where they compile, and `told` what is wrong with them; kernels are compiled for launches with other
/// parameters. Before each block `go_on` is asked.
pub fn blocks(
    compiler: &Compiler,
    source: &Source,
    loader: &dyn SourceLoader,
    options: &Options,
    (known, told): (Option<&Abi>, &[Diagnostic]),
    go_on: &dyn Fn() -> bool,
) -> Vec<Diagnostic> {
    let Ok((sources, program)) = program::load(source, loader, &[]) else {
        return Vec::new();
    };
    let launcher = Binder {
        compiler,
        source,
        loader,
        options,
        known,
        kernels: RefCell::new(HashMap::new()),
        told: RefCell::new(told.to_vec()),
        found: RefCell::new(Vec::new()),
    };
    let interpreter = Interpreter::new(&sources, &program, &launcher);
    for item in program.root().into_iter().flat_map(|root| &root.items) {
        let body = match &item.kind {
            ItemKind::Test(test) => &test.body,
            ItemKind::Bench(bench) => &bench.body,
            ItemKind::Import(_)
            | ItemKind::Const(_)
            | ItemKind::Function(_)
            | ItemKind::Kernel(_)
            | ItemKind::Record(_)
            | ItemKind::Error => continue,
        };
        if !go_on() {
            break;
        }
        let stops = interpreter.check(body).into_iter();
        let mut found = launcher.found.borrow_mut();
        found.extend(stops.map(|stop| stop.diagnostic));
    }
    drop(interpreter);
    let mut found: Vec<Diagnostic> = Vec::new();
    for diagnostic in launcher.found.into_inner() {
        // Blocks call the same functions.
        if !found.iter().any(|known| diagnostic.repeats(known)) {
            found.push(diagnostic);
        }
    }
    found
}

/// Checks the arguments of launches, and launches nothing.
struct Binder<'a> {
    compiler: &'a Compiler,
    source: &'a Source,
    loader: &'a dyn SourceLoader,
    options: &'a Options,
    known: Option<&'a Abi>,
    /// `None` where a kernel does not compile.
    kernels: RefCell<HashMap<Key, Option<Rc<Abi>>>>,
    /// What was told of kernels.
    told: RefCell<Vec<Diagnostic>>,
    found: RefCell<Vec<Diagnostic>>,
}

impl Binder<'_> {
    /// Whether the arguments fit.
    fn bind(&self, call: &KernelCall<'_>, kernel: &KernelAbi) -> Result<(), Stop> {
        let mut args = Vec::with_capacity(call.arguments.len());
        for (position, argument) in call.arguments.iter().enumerate() {
            args.push(match (argument, kernel.args.get(position)) {
                (LaunchArgument::Tensor(tensor), _) => Arg::Tensor(tensor.desc().clone()),
                (LaunchArgument::Number(number), Some(ArgAbi::Scalar(scalar))) => {
                    let value = number.to_scalar(scalar.dtype).map_err(|error| {
                        let reason = format!("`{}`: {error}", scalar.name);
                        at_argument(call, &scalar.name, refused(call, reason, Vec::new()))
                    })?;
                    Arg::Scalar(value)
                }
                // Binding reports the wrong kind.
                (LaunchArgument::Number(_), _) => Arg::Scalar(ScalarValue::new(DType::F64, 0.0)),
            });
        }
        let bound = kernel.bind(&args);
        bound.map(|_| ()).map_err(|error| refused_by(call, &error))
    }
}

impl Launcher for Binder<'_> {
    fn launch(&self, call: &KernelCall<'_>) -> Result<(), Stop> {
        let known = self.known.filter(|_| call.defines.is_empty());
        if let Some(kernel) = known.and_then(|abi| abi.kernel(call.kernel)) {
            return self.bind(call, kernel);
        }
        let key = (call.kernel.to_owned(), call.defines.clone());
        let compiled = self.kernels.borrow().get(&key).cloned();
        let (compiled, told) = match compiled {
            Some(compiled) => (compiled, true),
            None => {
                let mut options =
                    options_of(self.options, call.kernel, &call.parameters, &call.defines);
                options.emit = Emit::Abi;
                let compiled = self.compiler.compile(self.source, self.loader, &options);
                let (abi, told) = match compiled {
                    Ok(compiled) => (compiled.abi.map(Rc::new), true),
                    Err(error) => {
                        let mut known = self.told.borrow_mut();
                        let mut new = error.problems;
                        new.retain(|found| !known.iter().any(|known| found.repeats(known)));
                        known.extend(new.iter().cloned());
                        let told = new.is_empty();
                        self.found.borrow_mut().extend(new);
                        (None, told)
                    }
                };
                self.kernels.borrow_mut().insert(key, abi.clone());
                (abi, told)
            }
        };
        let kernel = compiled.as_ref().and_then(|abi| abi.kernel(call.kernel));
        match kernel {
            Some(kernel) => self.bind(call, kernel),
            None => {
                let shown = "its errors are shown at the kernel".to_owned();
                let notes = compiled_with(call).into_iter().chain([shown]).collect();
                let mut stop = refused(call, "it does not compile".to_owned(), notes);
                // What is wrong was told without this launch.
                stop.inconclusive = told;
                Err(stop)
            }
        }
    }
}
