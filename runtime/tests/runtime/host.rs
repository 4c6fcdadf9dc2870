//! Launches on memory of the caller's, in the simulator.

use cutec_runtime::abi::{ScalarValue, TensorDesc};
use cutec_runtime::host::{HostLaunch, HostTensor, HostValue};
use cutec_runtime::{Artifact, DType, Loaded, RunError, SimDevice};

/// Elements of an array, as an argument.
fn tensor(array: &[f32], first: usize, shape: i64) -> HostValue {
    let origin = array.as_ptr().expose_provenance() as u64;
    HostValue::Tensor(HostTensor {
        desc: TensorDesc {
            dtype: DType::F32,
            shape: vec![shape],
            strides: vec![1],
            align: 1,
            mutable: true,
        },
        address: origin + 4 * first as u64,
        origin,
    })
}

/// y = 2 x + y, on parts of one array.
fn axpy(array: &mut [f32], x: (usize, i64), y: (usize, i64)) -> Result<(), RunError> {
    let artifact = Artifact::from_ptx(include_str!("axpy.ptx")).unwrap();
    let mut device = SimDevice::new();
    let loaded = Loaded::load(&mut device, &artifact)?;
    let alpha = HostValue::Scalar(ScalarValue::new(DType::F32, 2.0));
    let args = [tensor(array, x.0, x.1), tensor(array, y.0, y.1), alpha];
    let launch = HostLaunch::new(artifact.kernel("axpy").unwrap(), &args)?;
    // SAFETY: both lie in the array, but where a test is about what does not.
    unsafe { launch.run(&mut device, &loaded) }
}

#[test]
fn tensors_of_one_array_are_where_they_lie() {
    let mut array: Vec<f32> = (0..300).map(|at| at as f32).collect();
    axpy(&mut array, (0, 100), (150, 100)).unwrap();
    for (at, found) in array.iter().enumerate() {
        let expected = match at {
            150..250 => 2.0 * (at - 150) as f32 + at as f32,
            _ => at as f32,
        };
        assert_eq!(*found, expected, "element {at}");
    }
    // They may overlap, and be the same.
    let mut array = vec![1.0; 130];
    axpy(&mut array, (0, 128), (0, 128)).unwrap();
    assert!(array[..128].iter().all(|found| *found == 3.0) && array[128..] == [1.0, 1.0]);
}

#[test]
fn what_is_refused_has_written_nothing() {
    let mut array = vec![1.0; 300];
    let error = axpy(&mut array, (0, 100), (150, 101)).unwrap_err();
    assert!(matches!(error, RunError::Bind(_)), "{error}");
    assert!(array.iter().all(|found| *found == 1.0));
}
