//! What a program relies on that makes kernels at run time: values that move between threads in one struct, places in its own
//! texts, entries that keep what was said.

use super::*;
use crate::build::syntax::{Block, Expr, File, Kernel, Param, Type};
use crate::build::{BuildError, DType, Extent, Loop, Module, Signature, SourceText, Value};
use crate::fault::Fault;
use crate::{Cache, CacheError, Cached};
use cutec_runtime::{
    Artifact, Buffer, Device, DeviceTensor, Loaded, RunError, SimDevice, Tensor, run_kernel,
};
use std::collections::HashMap;
use std::sync::mpsc::channel;

#[test]
fn what_a_jit_keeps_may_move_between_threads() {
    fn moves<T: Send + 'static>() {}
    fn is_shared<T: Send + Sync + 'static>() {}
    moves::<Compiler>();
    moves::<Box<dyn Device>>();
    moves::<SimDevice>();
    is_shared::<Artifact>();
    is_shared::<Buffer>();
    is_shared::<Cache>();
    is_shared::<Cached>();
    is_shared::<CacheError>();
    is_shared::<Compiled>();
    is_shared::<Diagnostics>();
    is_shared::<DeviceTensor>();
    is_shared::<Loaded>();
    is_shared::<Module>();
    is_shared::<Options>();
    is_shared::<RunError>();
    is_shared::<Source>();
    is_shared::<Tensor>();
}

#[test]
fn other_users_of_mlir_find_it_as_it_is() {
    use melior::Context;
    use melior::dialect::DialectRegistry;
    compile(&Source::cute("scale.cute", SCALE), &Options::default()).expect("it compiles");
    let registry = DialectRegistry::new();
    melior::utility::register_all_dialects(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    for name in ["tosa", "linalg", "spirv", "async"] {
        let dialect = context.get_or_load_dialect(name);
        assert_eq!(dialect.namespace().expect("a name"), name);
    }
    let count = context.registered_dialect_count();
    assert!(count > 30, "{count}");
}

#[test]
fn compiling_leaves_the_signals_of_the_process_alone() {
    let caught = || -> Vec<String> {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let lines = status.lines().filter(|line| line.starts_with("Sig"));
        let lines = lines.filter(|line| !line.starts_with("SigQ") && !line.starts_with("SigPnd"));
        lines.map(str::to_owned).collect()
    };
    let before = caught();
    assert!(before.len() >= 3, "{before:?}");
    compile(&Source::cute("scale.cute", SCALE), &Options::default()).expect("it compiles");
    assert_eq!(before, caught());
}

/// All of a JIT, in one struct without a lifetime.
struct Jit {
    compiler: Compiler,
    device: Box<dyn Device>,
    loaded: HashMap<(usize, i64), Loaded>,
    buffers: Vec<Buffer>,
}

/// y = the sum of all tensors, each scaled in `rounds` steps: how many there are the program knows when it runs.
fn sum_of(tensors: usize, rounds: i64) -> Result<Module, BuildError> {
    let mut signature = Signature::new("sum_of")?;
    let mut inputs = Vec::new();
    for at in 0..tensors {
        inputs.push(signature.tensor(&format!("x{at}"), DType::F32, ["n"])?);
    }
    let y = signature.tensor_mut("y", DType::F32, ["n"])?;
    let mut body = signature.tiles([Extent::name("n").tiles(64)])?;
    let at = body.tile_index(0)?;
    let mut tiles = Vec::new();
    for input in &inputs {
        tiles.push(body.load(input, [64], [&at])?);
    }
    let tiles = body.repeat(Loop::range(0, rounds), tiles, |body, _, tiles| {
        let doubled = tiles.iter().map(|tile| body.mul(tile, 2.0));
        doubled.collect::<Result<Vec<Value>, _>>()
    })?;
    let mut sum = body.zeros(DType::F32, [64])?;
    for tile in &tiles {
        sum = body.add(&sum, tile)?;
    }
    body.store(&y, [64], [&at], &sum)?;
    body.finish()
}

impl Jit {
    fn sum(&mut self, tensors: usize, rounds: i64) -> f64 {
        let Self {
            compiler,
            device,
            loaded,
            buffers,
        } = self;
        let loaded = loaded.entry((tensors, rounds)).or_insert_with(|| {
            let source = Source::from(sum_of(tensors, rounds).expect("a kernel"));
            let compiled = compiler.compile(&source, &NoImports, &Options::default());
            let artifact = compiled.expect("it compiles").artifact().expect("PTX");
            Loaded::load(device.as_mut(), &artifact).expect("it loads")
        });
        buffers.clear();
        let mut args = Vec::new();
        for at in 0..=tensors {
            let values = Tensor::from_f64(DType::F32, &[100], &[(at + 1) as f64; 100]);
            let values = values.expect("a tensor");
            let buffer = device.alloc(400, "x").expect("memory");
            device.upload(&buffer, values.bytes()).expect("an upload");
            args.push(
                DeviceTensor {
                    memory: (&buffer).into(),
                    dtype: DType::F32,
                    shape: vec![100],
                    strides: vec![1],
                    mutable: at == tensors,
                }
                .into(),
            );
            buffers.push(buffer);
        }
        let done = loaded.launch(device.as_mut(), "sum_of", &args);
        done.expect("a launch");
        let mut y = Tensor::zeros(DType::F32, &[100]).expect("a tensor");
        let written = buffers.last().expect("an output");
        device.download(written, y.bytes_mut()).expect("a download");
        assert!(y.to_f64().iter().all(|it| Some(*it) == y.get(&[0])));
        y.get(&[0]).expect("an element")
    }
}

#[test]
fn a_jit_is_one_struct_that_threads_hand_on() {
    let mut jit = Jit {
        compiler: Compiler::new(),
        device: Box::new(SimDevice::new()),
        loaded: HashMap::new(),
        buffers: Vec::new(),
    };
    // Set up on another thread, used here, dropped on a third one.
    for (tensors, rounds) in [(2, 1), (5, 2), (1, 0), (2, 1)] {
        let (send, receive) = channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let sum = jit.sum(tensors, rounds);
                send.send((jit, sum)).expect("somebody listens");
            });
        });
        let (back, sum) = receive.recv().expect("it was sent");
        let ones: f64 = (1..=tensors).map(|it| it as f64).sum();
        assert_eq!(sum, ones * f64::from(1 << rounds), "{tensors}, {rounds}");
        jit = back;
    }
    assert_eq!(jit.loaded.len(), 3);
    let dropped = std::thread::spawn(move || drop(jit));
    dropped.join().expect("no panic");
}

/// y[i + 1] = x[i], one thread an element: out of bounds at the last one.
fn shifted(model: &SourceText) -> Module {
    let mut body = Block::new();
    let thread = Expr::name("block_idx").field("x") * 64 + Expr::name("thread_idx").field("x");
    body.at(model.line(1)).bind("i", thread);
    body.at(model.line(2))
        .bind("value", Expr::name("x").index(["i"]));
    let place = Expr::name("y").index([Expr::name("i") + 1]);
    body.at(model.line(3)).assign(place, "value");
    let tensor = |mutable| Type::tensor("f32", "n").mutable(mutable);
    let kernel = Kernel::new("shifted", body)
        .param(Param::new("x", tensor(false)))
        .param(Param::new("y", tensor(true)))
        .launch("grid", [Expr::name("n") / 64])
        .launch("block", [64]);
    let mut file = File::new("shifted");
    file.add(kernel);
    file.finish().expect("a module")
}

const MODEL: &str = "i = index()\nv = x[i]\ny[i + 1] = v\n";

#[test]
fn code_and_faults_have_the_places_of_the_host() {
    let model = SourceText::new("model.py", MODEL);
    let source = Source::from(shifted(&model));
    let compiled = compile(&source, &Options::default()).expect("it compiles");
    let ptx = compiled.text().expect("PTX");
    let file = ptx
        .lines()
        .find(|line| line.starts_with(".file") || line.starts_with("\t.file"));
    assert!(ptx.contains("model.py"), "{file:?}");
    let x = Tensor::zeros(DType::F32, &[64]).expect("a tensor");
    let mut args = [x.clone().into(), x.into()];
    let artifact = compiled.artifact().expect("an artifact");
    let error = run_kernel(&mut SimDevice::new(), &artifact, "shifted", &mut args);
    let Err(RunError::Device(error)) = error else {
        panic!("it writes behind the end: {error:?}")
    };
    let place = error.source_location().expect("the simulator knows it");
    assert_eq!((&*place.file, place.line), ("model.py", 3), "{error}");
    let fault = Fault::of(&error, &compiled.sources, &compiled.calls);
    let span = fault.labels[0].span;
    assert_eq!(compiled.sources.file(span.file).name(), "model.py");
    assert_eq!(compiled.sources.line_column(span).line, 3);
}

#[test]
fn entries_of_built_kernels_keep_what_was_said_and_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::open(folder.path()).expect("a cache");
    let options = Options {
        remarks: true,
        ..Options::default()
    };
    let module = |model: &SourceText, line: usize| {
        let mut signature = Signature::new("copied").expect("a name");
        let x = signature
            .tensor("x", DType::F16, ["m", "k"])
            .expect("a tensor");
        let y = signature
            .tensor_mut("y", DType::F32, ["m", "m"])
            .expect("a tensor");
        signature.at(&model.line(1));
        let body = signature.tiles([Extent::name("m").tiles(64)]);
        let mut body = body.expect("a launch");
        let mut build = || {
            let at = [body.tile_index(0)?, 0.into()];
            let tile = body.at(&model.line(line)).load(&x, [64, 64], &at)?;
            let product = body.dot(&tile, &tile)?;
            body.store(&y, [64, 64], &at, &product)
        };
        build().expect("it is right");
        body.finish().expect("a module")
    };
    let model = SourceText::new("model.py", MODEL);
    let source = Source::from(module(&model, 2));
    let first = cache.ptx(&source, &options).expect("it compiles");
    let again = cache.ptx(&source, &options).expect("it is there");
    assert!(!first.found && again.found);
    assert!(!first.remarks.is_empty());
    assert_eq!(first.remarks, again.remarks);
    assert_eq!(first.warnings, again.warnings);
    let shown = |cached: &Cached| cached.render(crate::RenderOptions::PLAIN);
    assert_eq!(shown(&first), shown(&again));
    assert!(shown(&again).contains("model.py:2"), "{}", shown(&again));
    // The same text is the same source; another place, or another text, is another one.
    let same = SourceText::new("model.py", MODEL);
    let moved = Source::from(module(&model, 3));
    let other = SourceText::new("model.py", MODEL.replace('i', "j"));
    let found = |source| cache.ptx(&source, &options).expect("it compiles").found;
    assert!(found(Source::from(module(&same, 2))));
    assert!(!found(moved));
    assert!(!found(Source::from(module(&other, 2))));
}
