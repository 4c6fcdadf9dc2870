//! A PTX kernel with its ABI, from arguments to results, in the simulator.

use cutec_runtime::abi::{BindError, ScalarValue};
use cutec_runtime::argument::{ArgumentError, ArgumentSpec, make_arguments};
use cutec_runtime::sim::ErrorKind;
use cutec_runtime::{
    Artifact, Buffer, DType, Device, DeviceError, DevicePointer, DeviceTensor, DeviceValue, Loaded,
    RunError, SimDevice, Tensor, Value, open, run_kernel,
};

/// Where [`artifact`] lies, relative to the crate.
pub const AXPY: &str = "tests/runtime/axpy.ptx";

fn artifact() -> Artifact {
    Artifact::from_ptx(include_str!("axpy.ptx")).unwrap()
}

fn args(x: Tensor, y: Tensor, alpha: f64) -> Vec<Value> {
    vec![
        x.into(),
        y.into(),
        ScalarValue::new(DType::F32, alpha).into(),
    ]
}

fn normal(n: i64, seed: u64) -> Tensor {
    Tensor::normal(DType::F32, &[n], seed).unwrap()
}

fn result(args: &[Value]) -> Vec<f64> {
    args[1].as_tensor().unwrap().to_f64()
}

#[test]
fn results_come_back() {
    let mut device = open(Some("sim")).unwrap();
    for n in [1, 127, 128, 1000] {
        let (x, y) = (normal(n, 1), normal(n, 2));
        let mut values = args(x.clone(), y.clone(), 0.5);
        let report = run_kernel(device.as_mut(), &artifact(), "axpy", &mut values).unwrap();
        assert!(report.launched && report.report.stats.unwrap().warp_instructions > 0);
        assert_eq!(values[0].as_tensor(), Some(&x));
        let exact = x
            .to_f64()
            .into_iter()
            .zip(y.to_f64())
            .map(|(x, y)| 0.5 * x + y);
        let exact: Vec<f64> = exact.map(|value| f64::from(value as f32)).collect();
        assert_eq!(result(&values), exact);
    }
}

#[test]
fn tensors_may_be_pointers_shapes_and_strides() {
    let (artifact, mut device) = (artifact(), SimDevice::new());
    let loaded = Loaded::load(&mut device, &artifact).unwrap();
    // x and y lie one behind the other in one allocation.
    let bytes: Vec<u8> = (0..400).flat_map(|at| (at as f32).to_le_bytes()).collect();
    let buffer = device.alloc(1600, "both").unwrap();
    device.upload(&buffer, &bytes).unwrap();
    let tensor = |first: u64, count: i64, mutable: bool| DeviceTensor {
        memory: DevicePointer::Buffer {
            buffer: buffer.clone(),
            offset: 4 * first,
        },
        dtype: DType::F32,
        shape: vec![count],
        strides: vec![1],
        mutable,
    };
    let alpha = ScalarValue::new(DType::F32, 2.0);
    let args = |x: DeviceTensor, y: DeviceTensor| [x.into(), y.into(), alpha.into()];
    let good: [DeviceValue; 3] = args(tensor(0, 199, false), tensor(201, 199, true));
    let report = loaded.launch(&mut device, "axpy", &good).unwrap();
    device.synchronize().unwrap();
    assert!(report.stats.is_some());
    let mut found = vec![0; 1600];
    device.download(&buffer, &mut found).unwrap();
    let found: Vec<f32> = found
        .chunks(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    for (at, value) in found.iter().enumerate() {
        let at = at as f32;
        let expected = if at > 200.0 {
            2.0 * (at - 201.0) + at
        } else {
            at
        };
        assert_eq!(*value, expected, "element {at}");
    }

    let empty = args(tensor(0, 0, false), tensor(0, 0, true));
    assert_eq!(
        loaded.launch(&mut device, "axpy", &empty).unwrap().stats,
        None
    );
    let mut refused = |args: [DeviceValue; 3]| {
        let error = loaded.launch(&mut device, "axpy", &args).unwrap_err();
        assert!(matches!(error, RunError::Bind(_)), "{error}");
        error.to_string()
    };
    let read_only = refused(args(tensor(0, 8, true), tensor(8, 8, false)));
    assert!(read_only.contains("`y`"), "{read_only}");
    let mut odd = tensor(0, 8, true);
    odd.memory = DevicePointer::Address(buffer.address() + 2);
    let odd = refused(args(odd, tensor(8, 8, true)));
    assert!(odd.contains("`x`") && odd.contains("align"), "{odd}");
    let short = refused(args(tensor(0, 8, true), tensor(8, 7, true)));
    assert!(short.contains("`y`"), "{short}");
    let beyond = args(tensor(0, 300, true), tensor(201, 300, true));
    let error = loaded.launch(&mut device, "axpy", &beyond).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a tensor of 1200 bytes at byte 804 of buffer `both`: it has 1600 bytes"
    );
    // Of a bare address nobody knows how far memory goes, but the simulator sees who leaves it.
    let mut bare = tensor(0, 300, true);
    bare.memory = DevicePointer::Address(buffer.address() + 804);
    let beyond = args(tensor(0, 300, true), bare);
    let error = loaded.launch(&mut device, "axpy", &beyond).unwrap_err();
    assert!(
        matches!(error, RunError::Device(DeviceError::Sim(_))),
        "{error}"
    );
}

/// Two devices have equal addresses for different things; neither takes the other's.
#[test]
fn what_belongs_to_another_device_is_refused() {
    let (one, other) = (SimDevice::new(), SimDevice::new());
    refuses_what_is_not_its_own(Box::new(one), Box::new(other));
}

/// The same of two GPUs, or of a GPU and the simulator, on a machine that has them.
#[test]
fn what_belongs_to_another_gpu_is_refused() {
    let Ok(gpu) = open(Some("cuda:0")) else {
        return;
    };
    match open(Some("cuda:1")) {
        Ok(other) => refuses_what_is_not_its_own(gpu, other),
        Err(_) => refuses_what_is_not_its_own(gpu, Box::new(SimDevice::new())),
    }
}

fn refuses_what_is_not_its_own(mut one: Box<dyn Device>, mut other: Box<dyn Device>) {
    let (one, other) = (one.as_mut(), other.as_mut());
    let artifact = artifact();
    let loaded = Loaded::load(one, &artifact).unwrap();
    let twin = Loaded::load(other, &artifact).unwrap();
    let mine = one.alloc(64, "mine").unwrap();
    let theirs = other.alloc(64, "theirs").unwrap();
    one.upload(&mine, &[0; 64]).unwrap();
    other.upload(&theirs, &[0; 64]).unwrap();
    let names = [one.owner().to_string(), other.owner().to_string()];
    assert_ne!(names[0], names[1]);
    let is_refused = |what: &str, error: String| {
        let expected = format!("{what} belongs to {}: this is {}", names[0], names[1]);
        assert_eq!(error, expected);
    };

    let mut values = args(normal(8, 1), normal(8, 2), 1.0);
    let error = loaded.run(other, "axpy", &mut values).unwrap_err();
    is_refused("loaded code", error.to_string());
    loaded.run(one, "axpy", &mut values).unwrap();

    let tensor = |buffer: &Buffer, mutable| DeviceTensor {
        memory: buffer.into(),
        dtype: DType::F32,
        shape: vec![16],
        strides: vec![1],
        mutable,
    };
    let launch = |loaded: &Loaded, device: &mut dyn Device, x: &Buffer, y: &Buffer| {
        let alpha = ScalarValue::new(DType::F32, 1.0);
        let args = [
            tensor(x, false).into(),
            tensor(y, true).into(),
            alpha.into(),
        ];
        loaded.launch(device, "axpy", &args)
    };
    launch(&loaded, one, &mine, &mine).unwrap();
    launch(&twin, other, &theirs, &theirs).unwrap();
    let error = launch(&loaded, other, &theirs, &theirs).unwrap_err();
    is_refused("loaded code", error.to_string());
    for (x, y) in [(&mine, &theirs), (&theirs, &mine)] {
        let error = launch(&twin, other, x, y).unwrap_err();
        is_refused("buffer `mine`", error.to_string());
    }
    let mut bytes = [0; 64];
    for result in [
        other.upload(&mine, &[1; 64]),
        other.poison(&mine, &[1; 64]),
        other.download(&mine, &mut bytes),
    ] {
        is_refused("buffer `mine`", result.unwrap_err().to_string());
    }
}

/// Memory lives as long as a clone of its buffer, whatever happens to the device; loaded code needs nobody.
#[test]
fn what_is_dropped_goes_back() {
    let mut device = SimDevice::new();
    let buffer = device.alloc(64, "shared").unwrap();
    device.upload(&buffer, &[0; 64]).unwrap();
    let artifact = artifact();
    let loaded = Loaded::load(&mut device, &artifact).unwrap();
    drop(artifact);
    let tensor = |mutable| DeviceTensor {
        memory: DevicePointer::Address(buffer.address()),
        dtype: DType::F32,
        shape: vec![16],
        strides: vec![1],
        mutable,
    };
    let alpha = ScalarValue::new(DType::F32, 1.0);
    let args: [DeviceValue; 3] = [tensor(false).into(), tensor(true).into(), alpha.into()];
    let clone = buffer.clone();
    assert_eq!(clone, buffer);
    drop(buffer);
    loaded.launch(&mut device, "axpy", &args).unwrap();
    drop(clone);
    let error = loaded.launch(&mut device, "axpy", &args).unwrap_err();
    assert!(
        matches!(error, RunError::Device(DeviceError::Sim(_))),
        "{error}"
    );

    let buffer = device.alloc(64, "outlives its device").unwrap();
    drop(device);
    assert_eq!(
        (buffer.bytes(), buffer.label()),
        (64, "outlives its device")
    );
}

#[test]
fn a_loaded_artifact_runs_again() {
    let (artifact, mut device) = (artifact(), SimDevice::new());
    let loaded = Loaded::load(&mut device, &artifact).unwrap();
    let mut values = args(
        normal(300, 1),
        Tensor::zeros(DType::F32, &[300]).unwrap(),
        1.0,
    );
    for count in 1..4 {
        loaded.run(&mut device, "axpy", &mut values).unwrap();
        let x = values[0].as_tensor().unwrap().get(&[299]).unwrap();
        assert!((result(&values)[299] - f64::from(count) * x).abs() < 1e-5);
    }
    let report = loaded
        .run_timed(&mut device, "axpy", &mut values, 3)
        .unwrap();
    assert!(report.times.is_empty(), "a simulated launch has no time");
    // One launch more, not four: each repetition began with what this one began with.
    let x = values[0].as_tensor().unwrap().get(&[299]).unwrap();
    assert!((result(&values)[299] - 4.0 * x).abs() < 1e-5);
}

#[test]
fn nothing_is_launched_for_empty_tensors() {
    let empty = Tensor::zeros(DType::F32, &[0]).unwrap();
    let mut values = args(empty.clone(), empty, 1.0);
    let report = run_kernel(&mut SimDevice::new(), &artifact(), "axpy", &mut values).unwrap();
    assert!(!report.launched);
}

#[test]
fn wrong_arguments_are_refused_before_anything_runs() {
    let mut values = args(normal(8, 1), normal(9, 1), 1.0);
    let before = values.clone();
    let error = run_kernel(&mut SimDevice::new(), &artifact(), "axpy", &mut values).unwrap_err();
    let RunError::Bind(error) = error else {
        panic!("expected a bind error, found {error}")
    };
    assert!(matches!(*error, BindError::TiedExtent { .. }));
    assert_eq!(values, before);
}

#[test]
fn reading_poison_is_reported_with_its_source() {
    let mut values = args(normal(8, 1), Tensor::poison(DType::F32, &[8]).unwrap(), 1.0);
    let error = run_kernel(&mut SimDevice::new(), &artifact(), "axpy", &mut values).unwrap_err();
    let RunError::Device(DeviceError::Sim(inner)) = &error else {
        panic!("found {error}")
    };
    assert!(
        matches!(inner.kind, ErrorKind::Uninitialised { .. }),
        "{error}"
    );
    let RunError::Device(error) = error else {
        panic!("found {error}")
    };
    assert_eq!(
        error.source_location().unwrap().to_string(),
        "axpy.cute:5:27"
    );
    assert!(values[1].as_tensor().unwrap().is_poison());
}

#[test]
fn writing_beyond_a_tensor_is_reported_with_its_name() {
    let y = Tensor::poison(DType::F32, &[100]).unwrap();
    let mut values = vec![normal(100, 1).into(), y.into()];
    let error = run_kernel(&mut SimDevice::new(), &artifact(), "unguarded", &mut values);
    let RunError::Device(error) = error.unwrap_err() else {
        panic!("expected a device error")
    };
    assert_eq!(
        error.source_location().unwrap().to_string(),
        "axpy.cute:11:12"
    );
    assert!(error.to_string().contains("`x`"), "{error}");
    // Whole blocks are right.
    let y = Tensor::poison(DType::F32, &[256]).unwrap();
    let mut values = vec![normal(256, 1).into(), y.into()];
    run_kernel(&mut SimDevice::new(), &artifact(), "unguarded", &mut values).unwrap();
    assert_eq!(result(&values), normal(256, 1).to_f64());
}

#[test]
fn devices_by_name() {
    assert_eq!(open(Some("sim")).unwrap().name(), "simulator");
    assert!(open(None).is_ok());
    for spec in ["gpu", "cuda:", "cuda:x", ""] {
        let error = open(Some(spec)).err().unwrap();
        assert!(matches!(error, DeviceError::UnknownSpec { .. }), "{error}");
    }
    assert!(open(Some("cuda:99")).is_err());
}

#[test]
fn a_cubin_is_not_simulated() {
    let json = cutec_runtime::abi::embed::to_json(&artifact().abi);
    let cubin = Artifact::from_cubin(b"\x7fELF".to_vec(), &json).unwrap();
    let mut values = args(normal(8, 1), normal(8, 2), 1.0);
    let error = run_kernel(&mut SimDevice::new(), &cubin, "axpy", &mut values).unwrap_err();
    assert!(matches!(
        error,
        RunError::Device(DeviceError::CubinInSimulator)
    ));
}

#[test]
fn what_is_not_given_is_inferred() {
    let artifact = artifact();
    let kernel = artifact.kernel("axpy").unwrap();
    let specs = |specs: &[&str]| -> Vec<ArgumentSpec> {
        specs.iter().map(|spec| spec.parse().unwrap()).collect()
    };
    let make = |given: &[&str]| make_arguments(kernel, &specs(given), 3);
    let values = make(&["alpha=2", "x=normal:40"]).unwrap();
    let y = values[1].as_tensor().unwrap();
    assert!(y.is_poison() && y.shape() == [40]);
    let error = |given: &[&str]| make(given).unwrap_err();
    assert!(matches!(error(&["x=normal:4"]), ArgumentError::Missing { name } if name == "alpha"));
    assert!(matches!(error(&["z=1"]), ArgumentError::Unknown { .. }));
    assert!(matches!(
        error(&["alpha=1e39", "x=normal:4"]),
        ArgumentError::Number { name, .. } if name == "alpha"
    ));
    assert!(matches!(
        error(&["x=1", "alpha=1"]),
        ArgumentError::Kind { .. }
    ));
    assert!(matches!(
        error(&["alpha=1", "alpha=2"]),
        ArgumentError::Twice { .. }
    ));
    assert!(matches!(
        error(&["alpha=1", "x=normal:4x4"]),
        ArgumentError::Infer(_)
    ));
    assert!(matches!(
        error(&["alpha=1", "x=no/such.npy"]),
        ArgumentError::File { .. }
    ));
}
