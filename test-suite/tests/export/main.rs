//! Exported kernels: what the C code of `cutec-export` checks and launches is what `Abi::bind` says, on random arguments, for
//! all examples and for random expressions; and what it does with devices, threads, and wrong calls.
//!
//! The driver is a mock (`libcuda.c`): no GPU is needed, only a C compiler.

mod choice;
mod mock;
mod random;

use cutec_abi::embed::from_json;
use cutec_abi::expr::Make;
use cutec_abi::{Abi, AbiExpr, DType, KernelAbi, dlpack};
use cutec_test_suite::program;
use mock::{Any, Driver, Exported, expected};
use random::{Random, arguments};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Launches a kernel with random arguments, and compares with what binding says. How many launches there were, and how many
/// errors of each kind.
fn compare(
    driver: &Driver,
    exported: &Exported,
    library: &str,
    kernel: &KernelAbi,
    device: i32,
    random: &mut Random,
    said: &mut BTreeMap<String, usize>,
) {
    let arguments = arguments(kernel, random, device);
    let bound: Vec<_> = kernel
        .args
        .iter()
        .zip(&arguments)
        .map(|(abi, argument)| argument.bound(abi.dtype()))
        .collect();
    let packed: Vec<Any> = arguments.iter().map(random::Argument::any).collect();
    let addresses: Vec<u64> = arguments.iter().map(random::Argument::address).collect();
    driver.clear();
    let done = exported.call(&kernel.name, &packed);
    let log = driver.log();
    let log: String = log
        .lines()
        .filter(|line| !line.starts_with("load "))
        .map(|line| format!("{line}\n"))
        .collect();
    let name = &kernel.name;
    match kernel.bind(&bound) {
        Ok(launch) => {
            assert!(done, "{name} {bound:?}: {}", exported.last_error(library));
            assert_eq!(
                log,
                expected(kernel, &launch, &addresses, device as usize, 0),
                "{name} {bound:?}"
            );
            *said.entry("Ok".to_owned()).or_default() += 1;
        }
        Err(error) => {
            assert!(
                !done && log.is_empty(),
                "{name} {bound:?}: expected {error}, found {log}"
            );
            assert_eq!(
                exported.last_error(library),
                error.to_string(),
                "{name} {bound:?}"
            );
            assert_eq!(driver.raised(), format!("ValueError: `{name}`: {error}"));
            *said.entry(error.status().to_string()).or_default() += 1;
        }
    }
}

/// The ABIs of an example, as the compiler gives it.
fn abi_of(example: &Path, target: &str) -> Option<Abi> {
    let mut command = Command::new(program("cutec"));
    command
        .arg(example)
        .args(["--arch", target, "--emit", "abi", "-o", "-"]);
    let output = command.output().expect("cutec runs");
    output
        .status
        .success()
        .then(|| from_json(&String::from_utf8_lossy(&output.stdout)).expect("an ABI"))
}

#[test]
fn every_example_is_launched_as_binding_says() {
    let (driver, _one) = Driver::take();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut said = BTreeMap::new();
    let mut kernels = 0;
    for (folder, target, device) in [
        (examples.clone(), "sm_80", 0),
        (examples.join("hopper"), "sm_90a", 1),
    ] {
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .expect("examples")
            .map(|file| file.expect("a file").path())
            .collect();
        files.retain(|file| {
            file.extension()
                .is_some_and(|extension| extension == "cute")
        });
        files.sort();
        // One library of all, since compiling C takes longer than all else.
        let mut all = Vec::new();
        for file in &files {
            for mut kernel in abi_of(file, target).expect("it compiles").kernels {
                let stem = file
                    .file_stem()
                    .expect("a name")
                    .to_string_lossy()
                    .into_owned();
                kernel.name = format!("{stem}_{}", kernel.name);
                kernel.entry = kernel.name.clone();
                all.push(kernel);
            }
        }
        let abi = Abi::new(all);
        let library = format!("examples_{target}");
        let exported = Exported::new(driver, &library, &[(target, &abi)], &[]);
        for (index, kernel) in abi.kernels.iter().enumerate() {
            kernels += 1;
            let mut random = Random(index as u64);
            for _ in 0..300 {
                compare(
                    driver,
                    &exported,
                    &library,
                    kernel,
                    device,
                    &mut random,
                    &mut said,
                );
            }
        }
    }
    assert!(kernels > 60, "{kernels} kernels");
    // Launches and errors of most kinds were among them.
    for kind in [
        "Ok",
        "DType",
        "Rank",
        "NegativeExtent",
        "TooLarge",
        "TiedExtent",
        "Stride",
        "Divisibility",
        "Range",
        "Align",
    ] {
        assert!(
            said.get(kind).is_some_and(|count| *count > 20),
            "{kind}: {said:?}"
        );
    }
    assert!(said["Ok"] > 5000, "{said:?}");
}

/// A random expression of three run-time integers.
fn expression(random: &mut Random, depth: usize) -> AbiExpr {
    if depth == 0 || random.below(6) == 0 {
        return match random.below(2) {
            0 => AbiExpr::Symbol(random.below(3)),
            _ => AbiExpr::Const(random.pick(&[
                0,
                1,
                2,
                -1,
                7,
                8,
                128,
                -3,
                1 << 40,
                i64::MAX,
                i64::MIN,
            ])),
        };
    }
    let operations: Vec<Make> = AbiExpr::operations().collect();
    let operation = random.pick(&operations);
    operation(
        Box::new(expression(random, depth - 1)),
        Box::new(expression(random, depth - 1)),
    )
}

#[test]
fn random_expressions_have_the_values_that_binding_computes() {
    let (driver, _one) = Driver::take();
    let mut random = Random(18);
    let template = from_json(
        r#"{"cutec_abi": 1, "kernels": [{"name": "k", "entry": "k", "target": "sm_80",
        "args": [{"kind": "scalar", "name": "x", "dtype": "i64"}, {"kind": "scalar", "name": "y", "dtype": "i64"},
                 {"kind": "scalar", "name": "z", "dtype": "i32"}],
        "symbols": [{"name": "x", "width": 64, "from": {"scalar": {"arg": 0}}},
                    {"name": "y%d", "width": 64, "from": {"scalar": {"arg": 1}}},
                    {"name": "z", "width": 32, "from": {"scalar": {"arg": 2}}}],
        "params": [{"symbol": {"index": 0}}, {"symbol": {"index": 1}}, {"symbol": {"index": 2}}],
        "grid": [{"const": 1}, {"const": 1}, {"const": 1}], "block": [{"const": 32}, {"const": 1}, {"const": 1}]}]}"#,
    )
    .expect("an ABI");
    let kernels = (0..150).map(|index| {
        let mut kernel = template.kernels[0].clone();
        kernel.name = format!("k{index}");
        kernel.entry = kernel.name.clone();
        kernel.grid[0] = expression(&mut random, 1 + index % 4);
        let expr = expression(&mut random, 1 + index % 4);
        let text = expr.to_string();
        kernel.promises = vec![cutec_abi::Promise { text, expr }];
        kernel
    });
    let abi = Abi::new(kernels.collect());
    let exported = Exported::new(driver, "random", &[("sm_80", &abi)], &["-w"]);
    let mut said = BTreeMap::new();
    for kernel in &abi.kernels {
        for _ in 0..60 {
            compare(
                driver,
                &exported,
                "random",
                kernel,
                0,
                &mut random,
                &mut said,
            );
        }
    }
    for kind in ["Ok", "Promise", "Expr", "Geometry"] {
        assert!(
            said.get(kind).is_some_and(|count| *count > 100),
            "{kind}: {said:?}"
        );
    }
}

/// Two builds of a kernel that differ in their launch.
fn two_builds() -> [Abi; 2] {
    let abi = |target: &str, tile: u32, smem: u32| {
        let json = format!(
            r#"{{"cutec_abi": 1, "kernels": [{{"name": "scale", "entry": "scale", "target": "{target}",
            "args": [{{"kind": "tensor", "name": "y", "dtype": "f32", "mutable": true, "align": 16,
                       "extents": [{{"symbol": 0}}], "strides": [{{"const": 1}}]}},
                     {{"kind": "scalar", "name": "by", "dtype": "bf16"}}],
            "symbols": [{{"name": "n", "width": 32, "from": {{"extent": {{"arg": 0, "mode": 0}}}}}}],
            "params": [{{"pointer": {{"arg": 0}}}}, {{"symbol": {{"index": 0}}}}, {{"scalar": {{"arg": 1}}}}],
            "grid": [{{"ceil_div": [{{"symbol": 0}}, {{"const": {tile}}}]}}, {{"const": 1}}, {{"const": 1}}],
            "block": [{{"const": 32}}, {{"const": 1}}, {{"const": 1}}], "smem_bytes": {smem}}}]}}"#
        );
        from_json(&json).expect("an ABI")
    };
    [abi("sm_80", 64, 1024), abi("sm_90a", 128, 200 << 10)]
}

/// A tensor of f32 on a device.
fn floats(shape: &[i64], address: usize, device: i32) -> dlpack::Tensor {
    dlpack::Tensor {
        data: std::ptr::without_provenance_mut(address),
        device: dlpack::Device {
            kind: dlpack::CUDA,
            id: device,
        },
        rank: shape.len() as i32,
        dtype: dlpack::DataType::of(DType::F32),
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    }
}

#[test]
fn each_gpu_gets_the_image_that_was_made_for_it_once() {
    let (driver, _one) = Driver::take();
    let [first, second] = two_builds();
    let exported = Exported::new(
        driver,
        "two",
        &[("sm_80", &first), ("sm_90a", &second)],
        &[],
    );
    type Launch = extern "C" fn(*const dlpack::Tensor, f32, usize) -> i32;
    let launch = exported.function::<Launch>("scale_launch");
    let before = driver.loads();
    for _ in 0..3 {
        for (device, grid, shared) in [(0, 4, 1024), (1, 2, 204800)] {
            driver.clear();
            let y = floats(&[256], 0x1000, device);
            assert_eq!(launch(&y, 1.5, 0x40), 0, "{}", exported.last_error("two"));
            let allowed = if shared > 48 << 10 { shared } else { 0 };
            let line = format!(
                "launch scale grid {grid} 1 1 block 32 1 1 shared {shared} allowed {allowed} stream 0x40 overlaps 0 \
                 device {device}: 0010000000000000 00010000 c03f\n"
            );
            assert!(driver.log().ends_with(&line), "{}", driver.log());
        }
    }
    assert_eq!(driver.loads() - before, 2);
    let load = exported.function::<extern "C" fn(i32) -> i32>("two_load");
    assert_eq!((load(0), load(1), load(2)), (0, 0, 40));
    assert_eq!(
        exported.last_error("two"),
        "no device cuda:2: this machine has 2"
    );
}

#[test]
fn the_current_context_and_the_stream_are_the_callers() {
    let (driver, _one) = Driver::take();
    let [abi, _] = two_builds();
    let exported = Exported::new(driver, "contexts", &[("sm_80", &abi)], &[]);
    driver.set_stream(0x500);
    let y = floats(&[64], 0x1000, 1);
    assert!(exported.call("scale", &[Any::tensor(&y), Any::int(1)]));
    // That of tvm-ffi's environment for this device.
    assert!(
        driver.log().contains("stream 0x501 overlaps 0 device 1"),
        "{}",
        driver.log()
    );
    // No context was current before, and none is afterwards.
    let other = std::thread::scope(|scope| {
        let current = scope.spawn(|| {
            let y = floats(&[64], 0x1000, 0);
            exported.call("scale", &[Any::tensor(&y), Any::float(0.5)])
        });
        current.join().expect("no panic")
    });
    assert!(other && driver.log().contains("device 0"));
}

#[test]
fn what_no_kernel_takes_is_said() {
    let (driver, _one) = Driver::take();
    let [abi, _] = two_builds();
    let exported = Exported::new(driver, "wrong", &[("sm_80", &abi)], &[]);
    let y = floats(&[64], 0x1000, 0);
    let good = Any::tensor(&y);
    let refused = |args: &[Any], expected: &str| {
        assert!(!exported.call("scale", args));
        assert_eq!(exported.last_error("wrong"), expected);
    };
    refused(&[good], "`scale` takes 2 arguments (`y`, `by`), found 1");
    refused(
        &[Any::int(1), Any::int(1)],
        "`y`: expected a tensor, found a scalar",
    );
    refused(
        &[good, good],
        "`by`: expected a number for bf16, found tvm-ffi's type 7",
    );
    let mut host = floats(&[64], 0x1000, 0);
    host.device.kind = dlpack::CPU;
    refused(
        &[Any::tensor(&host), Any::int(1)],
        "`y`: on a device of DLPack's kind 1: expected a CUDA GPU",
    );
    let nowhere = floats(&[64], 0, 0);
    refused(
        &[Any::tensor(&nowhere), Any::int(1)],
        "`y`: a null pointer to its data",
    );
    let mut shapeless = floats(&[64], 0x1000, 0);
    shapeless.shape = std::ptr::null();
    refused(
        &[Any::tensor(&shapeless), Any::int(1)],
        "`y`: a null pointer to its shape",
    );
    let empty = floats(&[0], 0, 0);
    assert!(exported.call("scale", &[Any::tensor(&empty), Any::int(1)]));
    let mut pairs = floats(&[64], 0x1000, 0);
    pairs.dtype.lanes = 2;
    let text = "`y`: expected element type f32, found DLPack's type 2 of 32 bits, 2 lanes";
    refused(&[Any::tensor(&pairs), Any::int(1)], text);
    type Launch = extern "C" fn(*const dlpack::Tensor, f32, usize) -> i32;
    let launch = exported.function::<Launch>("scale_launch");
    assert_eq!(
        (
            launch(std::ptr::null(), 1.0, 0),
            exported.last_error("wrong")
        ),
        (24, "`y`: a null pointer".to_owned())
    );
    driver.number("mock_fail_launch", 700);
    assert_eq!(launch(&y, 1.0, 0), 41);
    assert_eq!(
        exported.last_error("wrong"),
        "cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal access"
    );
    driver.number("mock_fail_launch", 0);
    assert_eq!(launch(&y, 1.0, 0), 0);
}

#[test]
fn a_gpu_that_nothing_was_compiled_for_is_named() {
    let (driver, _one) = Driver::take();
    let [abi, second] = two_builds();
    let exported = Exported::new(
        driver,
        "targets",
        &[("sm_80", &abi), ("sm_90a", &second)],
        &[],
    );
    driver.capability(0, 7, 5);
    let load = exported.function::<extern "C" fn(i32) -> i32>("targets_load");
    assert_eq!(load(0), 44);
    assert_eq!(
        exported.last_error("targets"),
        "`targets` was compiled for sm_80 and sm_90a: cuda:0 is sm_75"
    );
    // A failure is not for ever.
    driver.capability(0, 10, 0);
    assert_eq!(load(0), 0);
    assert!(driver.log().contains("load sm_80"), "{}", driver.log());
    let exported = Exported::new(driver, "large", &[("sm_80", &second)], &[]);
    driver.capability(0, 8, 0);
    let y = floats(&[64], 0x1000, 0);
    assert!(!exported.call("scale", &[Any::tensor(&y), Any::int(1)]));
    let text = "`scale` needs 204800 bytes of shared memory a block: cuda:0 has 166912";
    assert_eq!(exported.last_error("large"), text);
    assert_eq!(driver.raised(), format!("RuntimeError: `scale`: {text}"));
}

#[test]
fn large_clusters_are_asked_for_and_have_room() {
    let (driver, _one) = Driver::take();
    let [_, mut abi] = two_builds();
    abi.kernels[0].cluster = Some([16, 1, 1]);
    let exported = Exported::new(driver, "clusters", &[("sm_90a", &abi)], &[]);
    let (y, short) = (floats(&[128 * 32], 0x1000, 1), floats(&[128], 0x1000, 1));
    driver.number("mock_set_resident_clusters", 0);
    assert!(!exported.call("scale", &[Any::tensor(&y), Any::int(1)]));
    let text = "`scale` is launched in clusters of 16 blocks: cuda:1 has room for none";
    assert_eq!(exported.last_error("clusters"), text);
    driver.number("mock_set_resident_clusters", 8);
    assert!(exported.call("scale", &[Any::tensor(&y), Any::int(1)]));
    assert!(driver.log().contains("grid 32 1 1"), "{}", driver.log());
    assert!(!exported.call("scale", &[Any::tensor(&short), Any::int(1)]));
    let text = "grid.x is 1: expected a multiple of 16, the blocks of a cluster";
    assert_eq!(exported.last_error("clusters"), text);
}

#[test]
fn threads_load_once_and_have_their_own_errors() {
    let (driver, _one) = Driver::take();
    let [abi, _] = two_builds();
    let exported = Exported::new(driver, "threads", &[("sm_80", &abi)], &[]);
    let before = driver.loads();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let exported = &exported;
            scope.spawn(move || {
                for length in 1..50 {
                    let y = floats(&[length], 0x1000 + 4 * (thread % 2), 0);
                    let done = exported.call("scale", &[Any::tensor(&y), Any::int(1)]);
                    assert_eq!(done, thread % 2 == 0);
                    let text = if done {
                        ""
                    } else {
                        "`y`: expected a base address aligned to 16 bytes, found alignment 4"
                    };
                    assert_eq!(exported.last_error("threads"), text);
                }
            });
        }
    });
    assert_eq!(driver.loads() - before, 1);
}
